//! Frames of one scan as light, by its own flats and darks, or as the line integrals that they are.

use super::run::fit;
use super::{array, geometry, plan_of};
use crate::frames::field::Values;
use crate::frames::wide::Made;
use crate::memory::at_least;
use crate::plan::FlatField;
use crate::scan::Scan;
use crate::status;
use anyhow::{Context as _, Result, bail};
use isocenter::array::DType;
use isocenter::context::Context;
use isocenter::ct::{InputKind, Options, Transmissions};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Bytes that are read at a time; at least a frame for each thread is.
const BATCH: usize = 32 << 20;

/// A scan that will lie beside others.
pub struct Corrected {
    context: Arc<Context>,
    scan: Scan,
    /// In messages.
    name: String,
    flat: FlatField,
    /// Once it is wanted: its flats are read then.
    made: Mutex<Option<Arc<Transmissions>>>,
    stored: Mutex<Vec<u8>>,
}

impl Corrected {
    pub fn new(context: &Arc<Context>, scan: Scan, name: String, flat: FlatField) -> Self {
        let (context, made, stored) = (context.clone(), Mutex::default(), Mutex::default());
        Self { context, scan, name, flat, made, stored }
    }

    /// What is made of its frames.
    pub fn values(scan: &Scan) -> Result<Values> {
        Ok(match scan.input() {
            InputKind::Counts | InputKind::Transmission => Values::Transmissions,
            InputKind::Auto if scan.views.source.dtype() != DType::F32 => {
                bail!(
                    "projections are counts, which need flats: --flats names them, --input says it if they are something else"
                )
            }
            InputKind::LineIntegrals | InputKind::Auto => Values::LineIntegrals,
        })
    }

    /// By all flats and darks, so that rows are what they are whichever are read together.
    fn transmissions(&self) -> Result<Arc<Transmissions>> {
        let mut made = self.made.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(made) = &*made {
            return Ok(made.clone());
        }
        let (scan, all) = (&self.scan, self.scan.views.source.shape()[1]);
        let rows: Vec<usize> = (0..all).collect();
        let mut ct = plan_of(&self.context, scan, &self.flat, &rows, geometry(scan, all))?;
        ct.set_options(Options { input: scan.input(), ..Options::default() })?;
        if self.flat.eigenflats.is_some() {
            fit(&mut ct, scan, &rows)?;
        }
        let new = Arc::new(ct.transmissions(scan.views.source.dtype())?);
        *made = Some(new.clone());
        Ok(new)
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [f32], stored: &mut Vec<u8>) -> Result<()> {
        let views = &self.scan.views;
        let ([_, _, bins], dtype, made) = (views.source.shape(), views.source.dtype(), self.transmissions()?);
        let each = rows.len() * bins;
        let count = (BATCH / (each * dtype.size()).max(1)).max(rayon::current_num_threads()).min(frames.len());
        at_least(stored, count * each * dtype.size())?;
        for (frames, to) in frames.chunks(count.max(1)).zip(to.chunks_mut((count * each).max(1))) {
            let which: Vec<_> = frames.iter().map(|frame| views.which[*frame]).collect();
            let bytes = &mut stored[..frames.len() * each * dtype.size()];
            views.source.read(&which, rows.clone(), bytes).map_err(status::unreadable)?;
            let mut done = 0;
            // Each view has its own beam.
            for run in frames.chunk_by(|a, b| a + 1 == *b) {
                let of = array(&bytes[done * each * dtype.size()..], dtype, [run.len(), rows.len(), bins]);
                made.of(of, [run[0], rows.start], &mut to[done * each..][..run.len() * each])?;
                done += run.len();
            }
        }
        Ok(())
    }
}

impl Made for Corrected {
    fn shape(&self) -> [usize; 3] {
        let [_, rows, bins] = self.scan.views.source.shape();
        [self.scan.views.which.len(), rows, bins]
    }

    fn make(&self, frames: &[usize], rows: Range<usize>, to: &mut [f32]) -> Result<()> {
        let kept = || self.stored.lock().unwrap_or_else(|e| e.into_inner());
        let mut stored = std::mem::take(&mut *kept());
        self.read(frames, rows, to, &mut stored).with_context(|| self.name.clone())?;
        *kept() = stored;
        Ok(())
    }

    fn storage(&self) -> String {
        self.scan.views.source.storage()
    }

    fn waits(&self) -> bool {
        self.scan.views.source.waits()
    }

    fn decoded(&self) -> u64 {
        self.scan.views.source.decoded()
    }
}

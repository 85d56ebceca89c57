//! Frames of scans that lie side by side, as those of one wide detector.

use super::Source;
use super::field::{Field, Spare, Values};
use anyhow::{Context, Result};
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of one scan's values that are made at a time; at least a frame for each thread is.
const BATCH: usize = 32 << 20;

/// Frames whose values are made, not stored.
pub trait Made: Send + Sync {
    /// Frames, rows and bins.
    fn shape(&self) -> [usize; 3];

    /// Fills `to`, (frames, rows, bins), with some rows of some frames.
    fn make(&self, frames: &[usize], rows: Range<usize>, to: &mut [f32]) -> Result<()>;

    /// How they are stored of which they are made, in words.
    fn storage(&self) -> String;

    /// Whether that may wait for a disk.
    fn waits(&self) -> bool;

    /// Bytes that were decoded so far.
    fn decoded(&self) -> u64;
}

/// One of the scans.
pub struct Side {
    pub made: Arc<dyn Made>,
    /// Which of its frames belongs to each of the field's.
    pub frames: Vec<usize>,
}

/// (frames, rows, bins) of f32.
pub struct Wide {
    pub field: Field,
    values: Values,
    sides: Vec<Side>,
    /// Frames and rows, of which all have as many.
    frames: usize,
    rows: usize,
}

fn floats(count: usize) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).with_context(|| format!("no memory for {count} values of scans side by side"))?;
    values.resize(count, 0.0);
    Ok(values)
}

impl Wide {
    /// Of scans in the order of the field.
    pub fn new(field: Field, values: Values, sides: Vec<Side>) -> Self {
        let (frames, rows) = sides.first().map_or((0, 0), |side| (side.frames.len(), side.made.shape()[1]));
        Self { field, values, sides, frames, rows }
    }

    /// Some rows of some frames as a scan and the next one have them, line integrals of the bins that both have: (frames, rows, bins).
    pub fn both(&self, first: usize, bins: &Range<usize>, frames: &[usize], rows: &[usize]) -> Result<[Vec<f32>; 2]> {
        let one = |k: usize| -> Result<Vec<f32>> {
            let (side, strip) = (&self.sides[k], &self.field.strips[k]);
            let [own, wide] = [bins, &strip.bins].map(|bins| bins.len());
            let which: Vec<_> = frames.iter().map(|frame| side.frames[*frame]).collect();
            let stored = side.made.shape()[2];
            let mut seen = floats(frames.len() * rows.len() * own)?;
            let mut row_of = floats(frames.len() * stored)?;
            for (at, &row) in rows.iter().enumerate() {
                side.made.make(&which, row..row + 1, &mut row_of)?;
                let to = seen.par_chunks_exact_mut(rows.len() * own).zip(row_of.par_chunks_exact(stored));
                to.for_each_init(Spare::default, |spare, (to, row)| {
                    let from = bins.start - strip.bins.start;
                    let seen = &strip.seen(self.values, row, spare)[..wide][from..][..own];
                    let to = to[at * own..][..own].iter_mut().zip(seen);
                    match self.values {
                        Values::Transmissions => to.for_each(|(to, seen)| *to = super::field::integral(*seen)),
                        Values::LineIntegrals => to.for_each(|(to, seen)| *to = *seen),
                    }
                });
            }
            Ok(seen)
        };
        Ok([one(first)?, one(first + 1)?])
    }
}

impl Source for Wide {
    fn shape(&self) -> [usize; 3] {
        [self.frames, self.rows, self.field.bins]
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        if frames.is_empty() || rows.is_empty() {
            return Ok(());
        }
        let widest = self.sides.iter().map(|side| side.made.shape()[2]).max().unwrap_or(0) * rows.len();
        let count = (BATCH / DType::F32.size() / widest.max(1)).max(rayon::current_num_threads()).min(frames.len());
        let row = self.field.bins * DType::F32.size();
        let mut made = floats(count * widest)?;
        for (frames, to) in frames.chunks(count).zip(to.chunks_mut(count * rows.len() * row)) {
            to.fill(0);
            for (side, strip) in self.sides.iter().zip(&self.field.strips) {
                let which: Vec<_> = frames.iter().map(|frame| side.frames[*frame]).collect();
                let stored = side.made.shape()[2];
                let made = &mut made[..which.len() * rows.len() * stored];
                side.made.make(&which, rows.clone(), made)?;
                let to = to.par_chunks_exact_mut(row).zip(made.par_chunks_exact(stored));
                to.for_each_init(Spare::default, |spare, (to, made)| {
                    strip.add(self.values, made, to.as_chunks_mut().0, spare);
                });
            }
        }
        Ok(())
    }

    fn storage(&self) -> String {
        let mut told: Vec<_> = self.sides.iter().map(|side| side.made.storage()).collect();
        told.dedup();
        format!("{} scans side by side: {}", self.sides.len(), told.join(" and "))
    }

    // What has to be decoded was held before it was put together.

    fn waits(&self) -> bool {
        self.sides.iter().any(|side| side.made.waits())
    }

    fn decoded(&self) -> u64 {
        self.sides.iter().map(|side| side.made.decoded()).sum()
    }
}

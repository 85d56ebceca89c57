//! Frames that are made of stored ones some at a time, so that little memory is taken beside what is made.

use super::Source;
use crate::memory::at_least;
use anyhow::Result;
use std::ops::Range;
use std::sync::Mutex;

/// Bytes that are read at a time; at least a frame for each thread is.
const BATCH: usize = 32 << 20;

/// Stored frames for a layer over a source, and the memory for them, which it keeps between calls.
#[derive(Default)]
pub struct Batches(Mutex<Vec<u8>>);

impl Batches {
    /// Reads some rows of frames, and has each batch of them made into its part of `to`.
    pub fn read(
        &self,
        source: &dyn Source,
        frames: &[usize],
        rows: Range<usize>,
        to: &mut [u8],
        make: impl Fn(&[u8], &mut [u8]),
    ) -> Result<()> {
        let stored = rows.len() * source.shape()[2] * source.dtype().size();
        if stored == 0 || to.is_empty() || frames.is_empty() {
            return Ok(());
        }
        let made = to.len() / frames.len();
        let layer = source.together().unwrap_or(1);
        let most = (BATCH / stored).max(rayon::current_num_threads());
        let kept = || self.0.lock().unwrap_or_else(|e| e.into_inner());
        let mut buffer = std::mem::take(&mut *kept());
        let (mut frames, mut rest) = (frames, to);
        while let Some(first) = frames.first() {
            // Whole layers of chunks where they are in order: none is decoded twice.
            let end = (first / layer).saturating_add(most.div_ceil(layer)).saturating_mul(layer);
            let count = frames.iter().take_while(|frame| (*first..end).contains(frame)).count();
            let (some, behind) = frames.split_at(count);
            let (to, left) = rest.split_at_mut(count * made);
            (frames, rest) = (behind, left);
            at_least(&mut buffer, count * stored)?;
            source.read(some, rows.clone(), &mut buffer[..count * stored])?;
            make(&buffer[..count * stored], to);
        }
        *kept() = buffer;
        Ok(())
    }
}

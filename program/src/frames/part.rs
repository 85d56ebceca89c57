//! Some of the bins of frames, and rows and bins in the opposite order.

use super::Source;
use super::batches::Batches;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// (frames, rows, bins), bins as far as they are wanted.
pub struct Part {
    source: Arc<dyn Source>,
    bins: Range<usize>,
    /// Rows, and bins, the last of them first.
    turned: [bool; 2],
    batches: Batches,
}

impl Part {
    /// With these bins alone.
    pub fn of(source: Arc<dyn Source>, bins: Range<usize>) -> Self {
        Self { source, bins, turned: [false; 2], batches: Batches::default() }
    }

    /// With all of them, and the last of the rows, or of the bins, first.
    pub fn turned(source: Arc<dyn Source>, turned: [bool; 2]) -> Self {
        let bins = 0..source.shape()[2];
        Self { source, bins, turned, batches: Batches::default() }
    }
}

/// A row whose last element comes first.
fn reversed<const SIZE: usize>(from: &[u8], to: &mut [u8]) {
    let (from, to) = (from.as_chunks::<SIZE>().0, to.as_chunks_mut::<SIZE>().0);
    to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
}

impl Source for Part {
    fn shape(&self) -> [usize; 3] {
        let [frames, rows, _] = self.source.shape();
        [frames, rows, self.bins.len()]
    }

    fn dtype(&self) -> DType {
        self.source.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let ([_, all, bins], size) = (self.source.shape(), self.dtype().size());
        let (stored, made, count) = (bins * size, self.bins.len() * size, rows.len());
        let [upside_down, mirrored] = self.turned;
        let wanted = if upside_down { all - rows.end..all - rows.start } else { rows };
        self.batches.read(&*self.source, frames, wanted, to, |from, to| {
            to.par_chunks_exact_mut(made).enumerate().for_each(|(k, to)| {
                // In its frame.
                let row = if upside_down { k / count * count + (count - 1 - k % count) } else { k };
                let from = &from[row * stored + self.bins.start * size..][..made];
                match (mirrored, size) {
                    (false, _) => to.copy_from_slice(from),
                    (true, 1) => reversed::<1>(from, to),
                    (true, 2) => reversed::<2>(from, to),
                    (true, _) => reversed::<4>(from, to),
                }
            });
        })
    }

    fn storage(&self) -> String {
        let [_, _, all] = self.source.shape();
        let told = match self.turned {
            [false, false] => format!("bins {}..{} of {all}", self.bins.start, self.bins.end),
            [true, false] => "upside down".into(),
            [false, true] => "mirrored".into(),
            [true, true] => "upside down and mirrored".into(),
        };
        format!("{told}: {}", self.source.storage())
    }

    fn below(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }
}

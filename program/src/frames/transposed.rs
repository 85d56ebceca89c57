//! Frames of a detector whose rows are along the rotation axis: rows and bins are exchanged.

use super::Source;
use super::batches::Batches;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows and bins of a tile, which fits a cache.
const TILE: usize = 32;
/// Frames that are read together, at least: on all cores.
const TOGETHER: usize = 8;

/// (frames, rows, bins) of what is stored as (frames, bins, rows).
pub struct Transposed {
    source: Arc<dyn Source>,
    batches: Batches,
}

impl Transposed {
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source, batches: Batches::default() }
    }
}

/// Some columns of a frame as rows.
fn transpose<const SIZE: usize>(from: &[u8], columns: usize, some: Range<usize>, to: &mut [u8]) {
    let (from, to) = (from.as_chunks::<SIZE>().0, to.as_chunks_mut::<SIZE>().0);
    let rows = from.len() / columns;
    for first in (0..rows).step_by(TILE) {
        let tile = first..(first + TILE).min(rows);
        for (to, column) in to.chunks_exact_mut(rows).zip(some.clone()) {
            to[tile.clone()].iter_mut().zip(tile.clone()).for_each(|(to, row)| *to = from[row * columns + column]);
        }
    }
}

impl Source for Transposed {
    fn shape(&self) -> [usize; 3] {
        let [frames, rows, bins] = self.source.shape();
        [frames, bins, rows]
    }

    fn dtype(&self) -> DType {
        self.source.dtype()
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let ([_, high, columns], size) = (self.source.shape(), self.dtype().size());
        let stored = high * columns * size;
        self.batches.read(&*self.source, frames, 0..high, to, |from, to| {
            let frames = to.par_chunks_exact_mut(rows.len() * high * size).zip(from.par_chunks_exact(stored));
            frames.for_each(|(to, from)| {
                to.par_chunks_mut(TILE * high * size).enumerate().for_each(|(k, to)| {
                    let first = rows.start + k * TILE;
                    let some = first..(first + TILE).min(rows.end);
                    match size {
                        1 => transpose::<1>(from, columns, some, to),
                        2 => transpose::<2>(from, columns, some, to),
                        _ => transpose::<4>(from, columns, some, to),
                    }
                });
            });
        })
    }

    fn storage(&self) -> String {
        format!("rows and bins exchanged: {}", self.source.storage())
    }

    fn below(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }

    /// A row is in all rows that are stored: frames are read once, whole, and kept by rows.
    fn together(&self) -> Option<usize> {
        Some(TOGETHER.next_multiple_of(self.source.together().unwrap_or(1)))
    }
}

//! Means of detector pixels.

use super::Source;
use super::batches::Batches;
use anyhow::Result;
use isocenter::array::DType;
use rayon::prelude::*;
use std::ops::{AddAssign, Range};
use std::sync::Arc;

/// (frames, rows, bins) of f32, each the mean of n x n pixels. What is left of the last rows and bins, fewer than n, is left out.
pub struct Binned {
    source: Arc<dyn Source>,
    n: usize,
    batches: Batches,
}

impl Binned {
    /// Sums of so many 16-bit pixels a side, and no more, are exact in f32.
    pub const MOST: usize = 16;

    pub fn new(source: Arc<dyn Source>, n: usize) -> Self {
        Self { source, n, batches: Batches::default() }
    }
}

/// The means of some rows, one below the other, in `sums` and then in `to`.
fn means<const SIZE: usize, S: Copy + Default + AddAssign + Into<f64>>(
    n: usize,
    rows: &[u8],
    sums: &mut Vec<S>,
    value: impl Fn([u8; SIZE]) -> S,
    to: &mut [u8],
) {
    let (to, _) = to.as_chunks_mut::<{ DType::F32.size() }>();
    sums.clear();
    sums.resize(to.len() * n, S::default());
    for row in rows.chunks_exact(rows.len() / n) {
        sums.iter_mut().zip(row.as_chunks::<SIZE>().0).for_each(|(sum, pixel)| *sum += value(*pixel));
    }
    for (to, sums) in to.iter_mut().zip(sums.chunks_exact(n)) {
        let mut sum = S::default();
        sums.iter().for_each(|part| sum += *part);
        *to = ((sum.into() / (n * n) as f64) as f32).to_ne_bytes();
    }
}

impl Source for Binned {
    fn shape(&self) -> [usize; 3] {
        let [frames, rows, bins] = self.source.shape();
        [frames, rows / self.n, bins / self.n]
    }

    fn dtype(&self) -> DType {
        DType::F32
    }

    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()> {
        let (n, dtype) = (self.n, self.source.dtype());
        let stored = n * self.source.shape()[2] * dtype.size();
        let made = self.shape()[2] * DType::F32.size();
        self.batches.read(&*self.source, frames, rows.start * n..rows.end * n, to, |from, to| {
            let rows = to.par_chunks_exact_mut(made).zip(from.par_chunks_exact(stored));
            // Sums of integers are exact in f32, those of f32 are made in f64: the order of pixels has no say.
            match dtype {
                DType::U8 => {
                    rows.for_each_init(Vec::new, |sums, (to, from)| means(n, from, sums, |[v]| f32::from(v), to));
                }
                DType::U16 => rows.for_each_init(Vec::new, |sums, (to, from)| {
                    means(n, from, sums, |v| f32::from(u16::from_ne_bytes(v)), to);
                }),
                _ => rows.for_each_init(Vec::new, |sums, (to, from)| {
                    means(n, from, sums, |v| f64::from(f32::from_ne_bytes(v)), to);
                }),
            }
        })
    }

    fn storage(&self) -> String {
        format!("means of {n} x {n} pixels: {}", self.source.storage(), n = self.n)
    }

    fn below(&self) -> Option<&dyn Source> {
        Some(&*self.source)
    }
}

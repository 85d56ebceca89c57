//! What a sinogram's columns are on the whole.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;

/// Values that are summed in f32 at a time.
const RUN: usize = 64;

/// One number a column.
pub(super) struct Statistics {
    /// Means over views.
    pub(super) mean: Vec<f64>,
    /// Standard deviations of noise, of one value.
    pub(super) noise: Vec<f64>,
    sums: Vec<f32>,
    squares: Vec<f32>,
}

impl Statistics {
    pub(super) fn new(bins: usize) -> Result<Self> {
        Ok(Self { mean: zeros(bins)?, noise: zeros(bins)?, sums: zeros(bins)?, squares: zeros(bins)? })
    }

    /// What they take.
    pub(super) fn bytes(bins: usize) -> u64 {
        24 * bins as u64
    }

    /// Takes those of a sinogram, (views, bins); noise by second differences along the views, of which there are three at least.
    #[inline(always)]
    pub(super) fn take(&mut self, sinogram: &[f32], bins: usize) {
        let views = sinogram.len() / bins;
        self.mean.fill(0.0);
        self.noise.fill(0.0);
        let row = |v: usize| &sinogram[v * bins..][..bins];
        for first in (0..views).step_by(RUN) {
            self.sums.fill(0.0);
            self.squares.fill(0.0);
            for v in first..views.min(first + RUN) {
                let here = row(v);
                for (s, a) in self.sums.iter_mut().zip(here) {
                    *s += a;
                }
                if v >= 2 {
                    let (last, before) = (row(v - 1), row(v - 2));
                    for (((s, a), b), c) in self.squares.iter_mut().zip(here).zip(last).zip(before) {
                        let d = a - 2.0 * b + c;
                        *s += d * d;
                    }
                }
            }
            self.mean.iter_mut().zip(&self.sums).for_each(|(m, s)| *m += f64::from(*s));
            self.noise.iter_mut().zip(&self.squares).for_each(|(n, s)| *n += f64::from(*s));
        }
        self.mean.iter_mut().for_each(|m| *m /= views as f64);
        // 1 + 4 + 1 times the variance.
        self.noise.iter_mut().for_each(|n| *n = (*n / (6 * views.saturating_sub(2).max(1)) as f64).sqrt());
    }
}

//! What a sinogram's columns are on the whole, and in pieces of the scan.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;
use std::ops::Range;

/// Values that are summed in f32 at a time.
const RUN: usize = 64;

/// One number a column.
pub(super) struct Statistics {
    /// Means over views.
    pub(super) mean: Vec<f64>,
    /// Standard deviations of noise, of one value.
    pub(super) noise: Vec<f64>,
    /// The same of each piece, (piece, bin).
    pub(super) piece_mean: Vec<f64>,
    pub(super) piece_noise: Vec<f64>,
    pieces: usize,
    sums: Vec<f32>,
    squares: Vec<f32>,
}

impl Statistics {
    /// For scans in so many pieces.
    pub(super) fn new(bins: usize, pieces: usize) -> Result<Self> {
        Ok(Self {
            mean: zeros(bins)?,
            noise: zeros(bins)?,
            piece_mean: zeros(pieces * bins)?,
            piece_noise: zeros(pieces * bins)?,
            pieces,
            sums: zeros(bins)?,
            squares: zeros(bins)?,
        })
    }

    /// What they take.
    pub(super) fn bytes(bins: usize, pieces: usize) -> u64 {
        (24 + 16 * pieces as u64) * bins as u64
    }

    /// Takes those of a sinogram, (views, bins); noise by second differences along the views, of which there are three at least.
    #[inline(always)]
    pub(super) fn take(&mut self, sinogram: &[f32], bins: usize) {
        let (views, pieces) = (sinogram.len() / bins, self.pieces);
        self.mean.fill(0.0);
        self.noise.fill(0.0);
        for piece in 0..pieces {
            self.sum(sinogram, bins, piece, piece * views / pieces..(piece + 1) * views / pieces);
        }
        self.mean.iter_mut().for_each(|m| *m /= views as f64);
        self.noise.iter_mut().for_each(|n| *n = deviation(*n, 2..views));
    }

    /// Those of a piece; adds its sums to all.
    #[inline(always)]
    fn sum(&mut self, sinogram: &[f32], bins: usize, piece: usize, views: Range<usize>) {
        let row = |v: usize| &sinogram[v * bins..][..bins];
        let mean = &mut self.piece_mean[piece * bins..][..bins];
        let noise = &mut self.piece_noise[piece * bins..][..bins];
        mean.fill(0.0);
        noise.fill(0.0);
        for first in views.clone().step_by(RUN) {
            self.sums.fill(0.0);
            self.squares.fill(0.0);
            for v in first..views.end.min(first + RUN) {
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
            mean.iter_mut().zip(&self.sums).for_each(|(m, s)| *m += f64::from(*s));
            noise.iter_mut().zip(&self.squares).for_each(|(n, s)| *n += f64::from(*s));
        }
        for ((all, m), (all_noise, n)) in self.mean.iter_mut().zip(mean).zip(self.noise.iter_mut().zip(noise)) {
            *all += *m;
            *all_noise += *n;
            *m /= views.len() as f64;
            *n = deviation(*n, views.start.max(2)..views.end);
        }
    }
}

/// Of noise whose second differences at some views have this sum of squares: each has 1 + 4 + 1 times the variance.
#[inline(always)]
fn deviation(squares: f64, views: Range<usize>) -> f64 {
    (squares / (6 * views.len().max(1)) as f64).sqrt()
}

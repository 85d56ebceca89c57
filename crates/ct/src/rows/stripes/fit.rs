//! What a list of values, one a bin, would be at each bin by its neighbours: a robust local parabola.

use crate::rows::median::{NORMAL, median};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;

const ITERATIONS: usize = 6;
/// Residuals beyond so many standard deviations have no weight (Tukey's biweight).
const CUTOFF: f64 = 4.0;
/// What weights do not fall below, so that the equations stay regular.
const MIN_WEIGHT: f64 = 1e-9;
/// Bins that are worked on side by side.
const LANES: usize = 4;

/// Lists for values of so many bins.
pub(super) struct Fit {
    /// Values, with room for a window on either side, and 1 where there is a value.
    values: Vec<f64>,
    present: Vec<f64>,
    parabolas: Vec<[f64; 3]>,
    shuffled: Vec<f64>,
}

impl Fit {
    /// For windows of up to `half` bins on either side.
    pub(super) fn new(bins: usize, half: usize) -> Result<Self> {
        let padded = bins.next_multiple_of(LANES) + 2 * half;
        let (values, present) = (zeros(padded)?, zeros(padded)?);
        Ok(Self { values, present, parabolas: zeros(bins.next_multiple_of(LANES))?, shuffled: zeros(bins)? })
    }

    /// What they take, in bytes.
    pub(super) fn bytes(bins: usize, half: usize) -> u64 {
        8 * (2 * (bins + LANES + 2 * half) + 3 * (bins + LANES) + bins) as u64
    }

    /// Parabolas through the values up to `half` bins away, the bin itself left out, with weights that fall off with the distance
    /// (tricube; Cleveland 1979) and with the residual: gives what each is at its bin.
    #[inline(always)]
    pub(super) fn by_neighbours(&mut self, values: &[f64], half: usize, fitted: &mut [f64]) {
        let bins = values.len();
        self.values.fill(0.0);
        self.present.fill(0.0);
        self.values[half..half + bins].copy_from_slice(values);
        self.present[half..half + bins].fill(1.0);
        self.parabolas.fill([0.0; 3]);
        let mut cutoff = f64::INFINITY;
        for _ in 0..ITERATIONS {
            for first in (0..bins).step_by(LANES) {
                self.step(first, half, 1.0 / cutoff);
            }
            for ((f, p), (s, v)) in fitted.iter_mut().zip(&self.parabolas).zip(self.shuffled.iter_mut().zip(values)) {
                *f = p[0];
                *s = (v - p[0]).abs();
            }
            cutoff = CUTOFF * NORMAL * median(&mut self.shuffled).max(f64::MIN_POSITIVE);
        }
    }

    /// The next parabolas of a few bins, with weights by residuals from the last ones; `sharpness` is 0 for none.
    #[inline(always)]
    fn step(&mut self, first: usize, half: usize, sharpness: f64) {
        let last = &mut self.parabolas[first..first + LANES];
        let lane = |i: usize| -> [f64; LANES] { std::array::from_fn(|l| last[l][i]) };
        let (c0, c1, c2) = (lane(0), lane(1), lane(2));
        // Sums of weight x^i, and of weight x^i value.
        let (mut s, mut t) = ([[0.0; LANES]; 5], [[0.0; LANES]; 3]);
        let width = 2 * half + 1;
        for place in (0..width).filter(|p| *p != half) {
            let x = (place as f64 - half as f64) / half as f64;
            let distance = x.abs() * half as f64 / (half + 1) as f64;
            let tricube = (1.0 - distance.powi(3)).powi(3);
            let (v, p) = (&self.values[first + place..][..LANES], &self.present[first + place..][..LANES]);
            for l in 0..LANES {
                let residual = (v[l] - (c0[l] + x * (c1[l] + x * c2[l]))) * sharpness;
                let near = (1.0 - residual * residual).max(0.0);
                let w = tricube * p[l] * (near * near + MIN_WEIGHT);
                let (wx, wv) = (w * x, w * v[l]);
                let wxx = wx * x;
                s[0][l] += w;
                s[1][l] += wx;
                s[2][l] += wxx;
                s[3][l] += wxx * x;
                s[4][l] += wxx * x * x;
                t[0][l] += wv;
                t[1][l] += wv * x;
                t[2][l] += wv * x * x;
            }
        }
        for l in 0..LANES {
            last[l] = solved(std::array::from_fn(|i| s[i][l]), std::array::from_fn(|i| t[i][l]));
        }
    }
}

/// Solves for a parabola by its normal equations (Cholesky's way).
fn solved(s: [f64; 5], t: [f64; 3]) -> [f64; 3] {
    if s[0] <= 0.0 {
        return [0.0; 3];
    }
    // A little more than nothing, of what the sums are.
    let minimum = 1e-12 * s[0];
    let (l10, l20) = (s[1] / s[0], s[2] / s[0]);
    let d1 = (s[2] - l10 * s[1]).max(minimum);
    let e = s[3] - l20 * s[1];
    let l21 = e / d1;
    let d2 = (s[4] - l20 * s[2] - l21 * e).max(minimum);
    let y1 = t[1] - l10 * t[0];
    let y2 = t[2] - l20 * t[0] - l21 * y1;
    let c2 = y2 / d2;
    let c1 = y1 / d1 - l21 * c2;
    [t[0] / s[0] - l10 * c1 - l20 * c2, c1, c2]
}

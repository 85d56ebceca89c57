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
        self.load(values, half);
        for first in (0..values.len()).step_by(LANES) {
            self.step(first, half, 0.0);
        }
        for _ in 1..ITERATIONS {
            for ((s, v), p) in self.shuffled.iter_mut().zip(values).zip(&self.parabolas) {
                *s = (v - p[0]).abs();
            }
            let cutoff = CUTOFF * NORMAL * median(&mut self.shuffled).max(f64::MIN_POSITIVE);
            for first in (0..values.len()).step_by(LANES) {
                self.step(first, half, 1.0 / cutoff);
            }
        }
        fitted.iter_mut().zip(&self.parabolas).for_each(|(f, p)| *f = p[0]);
    }

    /// The same whatever the residuals: where a window has all of its bins, a sum of these with fixed weights.
    #[inline(always)]
    pub(super) fn by_all_neighbours(&mut self, values: &[f64], half: usize, fitted: &mut [f64]) {
        let bins = values.len();
        self.load(values, half);
        let whole = half..bins - half;
        for first in (0..bins).step_by(LANES).filter(|first| *first < whole.start || first + LANES > whole.end) {
            self.step(first, half, 0.0);
        }
        fitted.iter_mut().zip(&self.parabolas).for_each(|(f, p)| *f = p[0]);
        fitted[whole.clone()].fill(0.0);
        let place = |away: usize| {
            let x = away as f64 / half as f64;
            (x * x, tricube(x, half))
        };
        // What is odd of the window cancels.
        let (mut s0, mut s2, mut s4) = (0.0, 0.0, 0.0);
        for (xx, t) in (1..=half).map(place) {
            (s0, s2, s4) = (s0 + 2.0 * t, s2 + 2.0 * t * xx, s4 + 2.0 * t * xx * xx);
        }
        for away in 1..=half {
            let (xx, t) = place(away);
            let weight = t * (s4 - s2 * xx) / (s0 * s4 - s2 * s2);
            let (below, above) = (&values[whole.start - away..], &values[whole.start + away..]);
            for ((f, a), b) in fitted[whole.clone()].iter_mut().zip(below).zip(above) {
                *f += weight * (a + b);
            }
        }
    }

    /// Takes values, of whose parabolas nothing is known.
    #[inline(always)]
    fn load(&mut self, values: &[f64], half: usize) {
        let bins = values.len();
        self.values.fill(0.0);
        self.present.fill(0.0);
        self.values[half..half + bins].copy_from_slice(values);
        self.present[half..half + bins].fill(1.0);
        self.parabolas.fill([0.0; 3]);
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
            let tricube = tricube(x, half);
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

/// Weight of a bin that is a part x of the window away.
#[inline(always)]
fn tricube(x: f64, half: usize) -> f64 {
    let distance = x.abs() * half as f64 / (half + 1) as f64;
    (1.0 - distance.powi(3)).powi(3)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Anywhere, but for rounding of up to 50 values of 1, and for equations of windows that lie on one side, whose condition is some 1e4.
    #[test]
    fn a_parabola_is_its_own_fit() {
        for (bins, half) in [(16, 7), (40, 10), (41, 5), (64, 25), (51, 25), (200, 25)] {
            let values: Vec<f64> = (0..bins).map(|k| 1.0 + (k as f64 / bins as f64 - 0.3).powi(2)).collect();
            let mut seen = vec![f64::NAN; bins];
            Fit::new(bins, half).expect("memory").by_all_neighbours(&values, half, &mut seen);
            for (k, (s, v)) in seen.iter().zip(&values).enumerate() {
                assert!((s - v).abs() < 1e-9, "{bins} bins, half {half}, bin {k}: {s} {v}");
            }
        }
    }

    /// Where windows have all of their bins, and where they do not: weights of the sum are those of the normal equations.
    #[test]
    fn sums_are_the_equations() {
        let (bins, half) = (60, 25);
        let values: Vec<f64> = (0..bins).map(|k| ((7 * k % 13) as f64).sin()).collect();
        let mut fit = Fit::new(bins, half).expect("memory");
        let mut seen = vec![0.0; bins];
        fit.by_all_neighbours(&values, half, &mut seen);
        fit.load(&values, half);
        (0..bins).step_by(LANES).for_each(|first| fit.step(first, half, 0.0));
        for (k, (s, p)) in seen.iter().zip(&fit.parabolas).enumerate() {
            assert!((s - p[0]).abs() < 1e-12, "bin {k}: {s} {}", p[0]);
        }
    }
}

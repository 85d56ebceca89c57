//! How two scans differ where both have bins: by how much one is displaced, darker, and of larger line integrals, each with its error.

use crate::frames::field::{between, moved};
use rayon::prelude::*;

/// What is measured, with a standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    pub value: f64,
    pub error: f64,
}

/// Where the second scan fits the first best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// So many bins further right than it lies.
    At(Measured),
    /// There is nothing but noise.
    Nothing,
    /// There is something in both, and not the same.
    Unlike,
}

/// Of the second scan against the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Differences {
    pub shift: Found,
    /// Of line integrals, on average.
    pub level: Measured,
    /// By what part these are larger.
    pub slope: Measured,
}

/// Bins by which places may be off and are still found, at most; half of those that both have.
const FAR: usize = 128;
/// Parts that errors are told by.
const PARTS: usize = 16;
/// A correlation that so many of its errors lie above none is no chance.
const SURE: f64 = 6.0;
/// Of white noise 0.14 of the variance pass the smoothing, of what a sample shows nearly all.
const SOMETHING: f64 = 0.5;
/// Bins at either end that what is read between bins goes beyond.
const ENDS: usize = 7;
/// Steps of the search between bins, and where it ends.
const STEPS: usize = 12;
const NEAR: f64 = 1e-4;

/// Of line integrals of both, (views, rows, bins).
pub fn differences(both: &[Vec<f32>; 2], rows: usize, bins: usize) -> Differences {
    let [a, b] = [0, 1].map(|k| moving(&both[k], rows, bins));
    let [smooth_a, smooth_b] = [&a, &b].map(|values| smooth(values, bins));
    let something = |values: &[f32], smooth: &[f32]| energy(smooth) > SOMETHING * energy(values);
    let whole = coarse(&smooth_a, &smooth_b, bins);
    let shift = match whole {
        Some(whole) => fine(&smooth_a, &smooth_b, whole as f64, rows, bins).map_or(Found::Nothing, Found::At),
        None if something(&a, &smooth_a) && something(&b, &smooth_b) => Found::Unlike,
        None => Found::Nothing,
    };
    let at = if let Found::At(shift) = shift { shift.value } else { 0.0 };
    let [raw_a, raw_b] = [0, 1].map(|k| smooth(&both[k], bins));
    let (level, slope) = levels(&raw_a, &raw_b, at, bins);
    Differences { shift, level, slope }
}

fn energy(values: &[f32]) -> f64 {
    values.par_iter().map(|value| f64::from(*value).powi(2)).sum()
}

/// What changes from view to view, and along a row: neither a pixel's fault nor a beam's is left.
fn moving(values: &[f32], rows: usize, bins: usize) -> Vec<f32> {
    let views = values.len() / (rows * bins);
    let mut means = vec![0.0f64; rows * bins];
    for view in values.chunks_exact(rows * bins) {
        means.iter_mut().zip(view).for_each(|(mean, value)| *mean += f64::from(*value) / views as f64);
    }
    let mut left = values.to_vec();
    left.par_chunks_exact_mut(bins).enumerate().for_each(|(k, row)| {
        let means = &means[k % rows * bins..][..bins];
        row.iter_mut().zip(means).for_each(|(value, mean)| *value -= *mean as f32);
        let mean = row.iter().sum::<f32>() / bins as f32;
        row.iter_mut().for_each(|value| *value -= mean);
    });
    left
}

/// Each row twice through 1 4 6 4 1, its ends going on.
fn smooth(values: &[f32], bins: usize) -> Vec<f32> {
    let mut made = values.to_vec();
    made.par_chunks_exact_mut(bins).for_each(|row| {
        for _ in 0..2 {
            let from = row.to_vec();
            let at = |k: usize, by: usize| from[(k + by).saturating_sub(2).min(bins - 1)];
            for (k, value) in row.iter_mut().enumerate() {
                *value = (at(k, 0) + at(k, 4) + 4.0 * (at(k, 1) + at(k, 3)) + 6.0 * at(k, 2)) / 16.0;
            }
        }
    });
    made
}

/// Half the difference of the next and the one before; of both ends none.
fn slopes(row: &[f32]) -> impl Iterator<Item = f32> {
    row.windows(3).map(|near| 0.5 * (near[2] - near[0]))
}

/// Whole bins by which the second lies left of where it fits best; nothing where nothing fits.
fn coarse(a: &[f32], b: &[f32], bins: usize) -> Option<isize> {
    let far = (bins / 2).min(FAR) as isize;
    let [a, b] = [a, b].map(|of| of.chunks_exact(bins).map(|row| slopes(row).collect::<Vec<_>>()).collect::<Vec<_>>());
    let correlation = |by: isize| {
        let [mut product, mut of_a, mut of_b] = [0.0f64; 3];
        for (a, b) in a.iter().zip(&b) {
            let (a, b) = (&a[by.max(0) as usize..], &b[(-by).max(0) as usize..]);
            let [mut ab, mut aa, mut bb] = [0.0f32; 3];
            a.iter().zip(b).for_each(|(a, b)| (ab, aa, bb) = (ab + a * b, aa + a * a, bb + b * b));
            (product, of_a, of_b) = (product + f64::from(ab), of_a + f64::from(aa), of_b + f64::from(bb));
        }
        let norm = (of_a * of_b).sqrt();
        // About four neighbours say the same.
        let error = 1.0 / (a.len() as f64 * (bins as f64 - by.unsigned_abs() as f64) / 4.0).sqrt();
        (if norm > 0.0 { product / norm } else { 0.0 }, error)
    };
    let found: Vec<_> = (-far..=far).into_par_iter().map(|by| (by, correlation(by))).collect();
    let (by, (most, error)) = *found.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    // What barely fits fits anywhere.
    (most > (SURE * error).max(0.1)).then_some(by)
}

/// Sums of a part of the views, from which coefficients of least squares follow.
#[derive(Clone, Copy)]
struct Sums<const N: usize> {
    matrix: [[f64; N]; N],
    right: [f64; N],
}

impl<const N: usize> Sums<N> {
    const NONE: Self = Self { matrix: [[0.0; N]; N], right: [0.0; N] };

    fn add(&mut self, terms: [f64; N], value: f64) {
        for (k, term) in terms.iter().enumerate() {
            self.right[k] += term * value;
            self.matrix[k].iter_mut().zip(&terms).for_each(|(sum, other)| *sum += term * other);
        }
    }

    fn plus(mut self, other: &Self, sign: f64) -> Self {
        for k in 0..N {
            self.right[k] += sign * other.right[k];
            self.matrix[k].iter_mut().zip(&other.matrix[k]).for_each(|(sum, other)| *sum += sign * other);
        }
        self
    }

    /// By elimination; nothing where some term says nothing of its own.
    fn solved(mut self) -> Option<[f64; N]> {
        for k in 0..N {
            let pivot = self.matrix[k][k];
            let size = self.matrix[k].iter().map(|v| v.abs()).fold(0.0, f64::max);
            if !(pivot > 1e-9 * size && pivot > f64::MIN_POSITIVE) {
                return None;
            }
            for j in (0..N).filter(|j| *j != k) {
                let factor = self.matrix[j][k] / pivot;
                for i in 0..N {
                    self.matrix[j][i] -= factor * self.matrix[k][i];
                }
                self.right[j] -= factor * self.right[k];
            }
        }
        Some(std::array::from_fn(|k| self.right[k] / self.matrix[k][k]))
    }
}

/// Coefficients of all parts, and errors by how they change without each of them.
fn fitted<const N: usize>(parts: &[Sums<N>]) -> Option<[Measured; N]> {
    let all = parts.iter().fold(Sums::NONE, |all, part| all.plus(part, 1.0));
    let values = all.solved()?;
    let without = parts.iter().map(|part| all.plus(part, -1.0).solved()).collect::<Option<Vec<_>>>()?;
    let count = parts.len() as f64;
    Some(std::array::from_fn(|k| {
        let mean = without.iter().map(|values| values[k]).sum::<f64>() / count;
        let spread = without.iter().map(|values| (values[k] - mean).powi(2)).sum::<f64>();
        Measured { value: values[k], error: (spread * (count - 1.0) / count).sqrt() }
    }))
}

/// Rows of the first, each this many bins further on.
fn displaced(a: &[f32], by: f64, bins: usize) -> Vec<f32> {
    let (whole, weights) = (by.floor(), between(by - by.floor()));
    let mut made = vec![0.0; a.len()];
    made.par_chunks_exact_mut(bins).zip(a.par_chunks_exact(bins)).for_each_init(Vec::new, |wide, (to, row)| {
        let at = |k: usize| row[(k as isize + whole as isize).clamp(0, bins as isize - 1) as usize];
        moved((0..bins).map(at), &weights, wide, to);
    });
    made
}

/// Bins of rows that are displaced by so much that are no continued ends, nor near them.
fn seen(by: f64, bins: usize) -> std::ops::Range<usize> {
    let lost = by.abs().ceil() as usize + ENDS;
    let [left, right] = if by < 0.0 { [lost, ENDS] } else { [ENDS, lost] };
    left.min(bins)..bins.saturating_sub(right).max(left.min(bins))
}

/// The shift at which the second is like the first, by least squares; what is nearest to it in whole bins is known.
fn fine(a: &[f32], b: &[f32], whole: f64, rows: usize, bins: usize) -> Option<Measured> {
    let mut by = whole;
    let views = a.len() / (rows * bins);
    let part = views.div_ceil(PARTS).max(1) * rows * bins;
    for _ in 0..STEPS {
        let near = displaced(a, by, bins);
        let seen = seen(by, bins);
        let sums = |(a, b): (&[f32], &[f32])| {
            let mut sums = Sums::<1>::NONE;
            for (a, b) in a.chunks_exact(bins).zip(b.chunks_exact(bins)) {
                // Noise is in both, and does not go with its own slope: where both fit, no step follows from it.
                let slope = |k: usize| f64::from(0.25 * (a[k + 1] + b[k + 1] - a[k - 1] - b[k - 1]));
                let more = |k: usize| f64::from(b[k] - a[k]);
                // Rows had the means of other bins.
                let mean = |of: &dyn Fn(usize) -> f64| seen.clone().map(of).sum::<f64>() / seen.len() as f64;
                let means = [mean(&slope), mean(&more)];
                seen.clone().for_each(|k| sums.add([slope(k) - means[0]], more(k) - means[1]));
            }
            sums
        };
        let parts: Vec<_> = near.par_chunks(part).zip(b.par_chunks(part)).map(sums).collect();
        let [step] = fitted(&parts)?;
        by += step.value.clamp(-1.0, 1.0);
        if (by - whole).abs() > 3.0 {
            return None;
        }
        if step.value.abs() < NEAR.max(step.error / 100.0) {
            return Some(Measured { value: by, error: step.error });
        }
    }
    None
}

/// How much larger line integrals of the second are, and by what part of themselves; parts are of bins, since flats err in the same way in all views.
fn levels(a: &[f32], b: &[f32], by: f64, bins: usize) -> (Measured, Measured) {
    let near = displaced(a, by, bins);
    let seen = seen(by, bins);
    let mut parts = [Sums::<2>::NONE; PARTS];
    let mut means = [Sums::<1>::NONE; PARTS];
    for (a, b) in near.chunks_exact(bins).zip(b.chunks_exact(bins)) {
        for k in seen.clone() {
            let part = (k - seen.start) * PARTS / seen.len();
            let [a, b] = [a[k], b[k]].map(f64::from);
            parts[part].add([1.0, 0.5 * (a + b)], b - a);
            means[part].add([1.0], b - a);
        }
    }
    let level = fitted(&means).map_or_else(Measured::default, |[level]| level);
    let slope = fitted(&parts).map_or_else(Measured::default, |[_, slope]| slope);
    (level, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEWS: usize = 128;
    const ROWS: usize = 2;
    const BINS: usize = 60;

    /// Line integrals of rods, of a scan that is displaced, darker, and of larger ones, with noise that sixteen random numbers make.
    fn made(by: f64, level: f64, slope: f64, noise: f64, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
        };
        let mut values = Vec::new();
        for k in 0..VIEWS * ROWS * BINS {
            let (view, row, bin) = (k / (ROWS * BINS), k / BINS % ROWS, (k % BINS) as f64 + by);
            let angle = std::f64::consts::PI * view as f64 / VIEWS as f64;
            let rod = |x: f64, y: f64| {
                let s = bin - 30.0 - x * angle.cos() - y * angle.sin();
                (-s * s / 18.0).exp() * (1.0 + 0.2 * row as f64)
            };
            let error = noise * (0..12).map(|_| random()).sum::<f64>();
            values.push((level + (1.0 + slope) * (rod(14.0, 5.0) + 0.6 * rod(-20.0, 9.0)) + error) as f32);
        }
        values
    }

    fn of(a: &[f32], b: &[f32]) -> Differences {
        differences(&[a.to_vec(), b.to_vec()], ROWS, BINS)
    }

    /// Shifts are found as far as half of what both have, within what the estimate says of its error: of 24 noisy pairs 22 within twice that at least.
    #[test]
    fn shifts() {
        let mut within = 0;
        for k in 0..24u64 {
            let by = -15.3 + 1.37 * k as f64;
            let seen = of(&made(0.0, 0.0, 0.0, 0.05, 7 + k), &made(by, 0.0, 0.0, 0.05, 99 + k));
            let Found::At(shift) = seen.shift else { panic!("{by}: {seen:?}") };
            assert!(shift.error < 0.05 && (shift.value - by).abs() < 4.0 * shift.error, "{by}: {shift:?}");
            within += usize::from((shift.value - by).abs() < 2.0 * shift.error);
        }
        assert!(within >= 22, "{within}");
        // Without noise: to what lies between bins.
        let seen = of(&made(0.0, 0.0, 0.0, 0.0, 1), &made(0.37, 0.0, 0.0, 0.0, 1));
        assert!(matches!(seen.shift, Found::At(shift) if (shift.value - 0.37).abs() < 2e-3), "{seen:?}");
    }

    #[test]
    fn levels_and_slopes() {
        let a = made(0.0, 0.0, 0.0, 0.05, 3);
        let same = of(&a, &made(0.0, 0.0, 0.0, 0.05, 4));
        assert!(same.level.value.abs() < 4.0 * same.level.error && same.level.error < 0.003, "{same:?}");
        assert!(same.slope.value.abs() < 4.0 * same.slope.error && same.slope.error < 0.02, "{same:?}");
        let darker = of(&a, &made(0.0, 0.05, 0.0, 0.05, 5));
        assert!((darker.level.value - 0.05).abs() < 4.0 * darker.level.error, "{darker:?}");
        let larger = of(&a, &made(0.0, 0.0, 0.1, 0.05, 6));
        // Of the mean of both: 0.1 / 1.05.
        assert!((larger.slope.value - 0.1 / 1.05).abs() < 4.0 * larger.slope.error + 0.01, "{larger:?}");
        assert!(matches!(larger.shift, Found::At(shift) if shift.value.abs() < 4.0 * shift.error + 0.01), "{larger:?}");
    }

    #[test]
    fn what_tells_nothing() {
        let noise = |seed| made(1e6, 0.3, 0.0, 0.05, seed);
        assert_eq!(of(&noise(1), &noise(2)).shift, Found::Nothing);
        assert_eq!(of(&vec![0.5; VIEWS * ROWS * BINS], &vec![0.5; VIEWS * ROWS * BINS]).shift, Found::Nothing);
        // The same rods as they are seen from the other side.
        let mut mirrored = made(0.0, 0.0, 0.0, 0.02, 8);
        mirrored.chunks_exact_mut(BINS).for_each(|row| row.reverse());
        let shifted = made(-25.0, 0.0, 0.0, 0.02, 9);
        assert_eq!(of(&shifted, &mirrored).shift, Found::Unlike);
    }
}

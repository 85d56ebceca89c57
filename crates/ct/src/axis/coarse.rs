//! How well opposite views agree about each place of the detector: the whole range, to a fraction of some bins.
//!
//! Two views are compared where both see the object, mirrored about a place: half the squared difference over the variance of what is
//! compared, 1 for views that have nothing in common and 0 for equal ones. The score is n ln of it over all bins, n being those that are
//! compared: the logarithm of a likelihood, up to factors, so that few bins that agree by chance do not outweigh many that do.

use super::curve::{Curve, smallest};
use super::line::fit;
use super::rows::Rows;
use super::seams::Seams;
use isocenter_base::cpu::buffer::{append, collected, filled, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;

/// Bins that rows are averaged down to.
const BINS: usize = 768;
/// Views that agree better than this do so to rounding.
const FLOOR: f64 = 1e-9;

pub(super) struct Coarse {
    pub(super) curve: Curve,
    /// Bins that are compared at each place, as a part of all.
    parts: Vec<f64>,
    /// Mismatch of each row at each place, where the tilt is wanted.
    each: Vec<Vec<f64>>,
}

impl Coarse {
    pub(super) fn new(rows: &Rows, seams: &Seams, [low, high]: [f64; 2], tilt: bool) -> Result<Self> {
        // The views of a pair that are apart by an angle show features displaced by that part of a radius.
        let blurred = (seams.apart * rows.bins as f64 / 4.0).ceil() as usize;
        let factor = rows.bins.div_ceil(BINS).max(blurred.min(rows.bins / 32)).max(1);
        let bins = rows.bins / factor;
        // Places are half an averaged bin apart.
        let place = |axis: f64| 2.0 * ((axis + 0.5) / factor as f64 - 0.5);
        // Two averaged bins at least are compared.
        let first = place(low).floor().max(1.0) as usize;
        let last = (place(high).ceil() as usize).min(2 * bins - 3).max(first);
        let sums = (0..rows.lines.len()).into_par_iter().map(|k| mismatch(rows, seams, k, factor, first..last + 1));
        let sums = sums.collect::<Result<Vec<Vec<[f64; 2]>>>>()?;
        let ratio = |[difference, variance]: [f64; 2]| if variance > 0.0 { difference / variance } else { 1.0 };
        let all = |m: usize| ratio(sums.iter().fold([0.0; 2], |s, row| [s[0] + row[m][0], s[1] + row[m][1]]));
        let each = match tilt {
            true => sums.iter().map(|row| collected(row.iter().map(|s| ratio(*s)))).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let compared = |m: usize| (m.min(2 * (bins - 1) - m) + 1) as f64 / bins as f64;
        let parts = collected((first..=last).map(compared))?;
        let curve = Curve {
            first: (first as f64 / 2.0 + 0.5) * factor as f64 - 0.5,
            step: factor as f64 / 2.0,
            values: collected(parts.iter().enumerate().map(|(m, part)| score(*part, all(m))))?,
        };
        Ok(Self { curve, parts, each })
    }

    /// How much better views agree at the best place than they do at any that is not near it, where the curve has left its valley.
    pub(super) fn confidence(&self) -> f64 {
        let best = self.curve.best();
        let gain = self.curve.values[best] - self.curve.beside(best, 0);
        // A mean ratio of mismatches over the bins of the best place.
        1.0 - (gain.min(0.0) / self.parts[best]).exp()
    }

    /// Where each row's axis is, roughly: one place for all of them, or on a line.
    pub(super) fn centres(&self, rows: &Rows) -> Result<Vec<f64>> {
        if self.each.is_empty() {
            return filled(rows.lines.len(), self.curve.bin(self.curve.best()));
        }
        let mut places = Vec::new();
        for row in &self.each {
            let scores = collected(self.parts.iter().zip(row).map(|(part, mismatch)| score(*part, *mismatch)))?;
            append(&mut places, self.curve.bin(smallest(&scores)))?;
        }
        let weights = filled(places.len(), 1.0)?;
        let line = fit(&rows.lines, &places, &weights, true)?;
        collected(rows.lines.iter().map(|l| line.at(*l as f64)))
    }
}

fn score(part: f64, mismatch: f64) -> f64 {
    part * (mismatch + FLOOR).ln()
}

/// Sums of squared differences of opposite views of a row about each place, and of their variances.
fn mismatch(
    rows: &Rows,
    seams: &Seams,
    row: usize,
    factor: usize,
    places: std::ops::Range<usize>,
) -> Result<Vec<[f64; 2]>> {
    let bins = rows.bins / factor;
    let mut sums = filled(places.len(), [0.0; 2])?;
    let mut averaged: [Vec<f32>; 2] = [zeros(bins)?, zeros(bins)?];
    for seam in &seams.list {
        for (to, view) in averaged.iter_mut().zip(seam.pair) {
            for (mean, part) in to.iter_mut().zip(rows.row(row, view).chunks_exact(factor)) {
                *mean = part.iter().sum::<f32>() / factor as f32;
            }
        }
        // Bins from the second view's end, so that both run the same way.
        let [a, b] = &mut averaged;
        b.reverse();
        for (m, sum) in places.clone().zip(&mut sums) {
            let (from, to) = ((m + 1).saturating_sub(bins), m.min(bins - 1) + 1);
            let shift = (bins - 1) as isize - m as isize;
            let other = (from as isize + shift) as usize;
            let (a, b) = (&a[from..to], &b[other..other + to - from]);
            let [difference, variance] = compare(a, b);
            sum[0] += difference;
            sum[1] += variance;
        }
    }
    Ok(sums)
}

/// Sum of squared differences of two rows, and the sum of their own squared deviations from their means.
fn compare(a: &[f32], b: &[f32]) -> [f64; 2] {
    let mut sums = [[0.0f32; 8]; 5];
    let mut add = |lane: usize, x: f32, y: f32| {
        let [d, sx, sy, xx, yy] = &mut sums;
        d[lane] += (x - y) * (x - y);
        sx[lane] += x;
        sy[lane] += y;
        xx[lane] += x * x;
        yy[lane] += y * y;
    };
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = x.remainder().iter().zip(y.remainder()).enumerate();
    for (x, y) in x.zip(y) {
        (0..8).for_each(|lane| add(lane, x[lane], y[lane]));
    }
    rest.for_each(|(lane, (x, y))| add(lane, *x, *y));
    let [d, sx, sy, xx, yy] = sums.map(|lanes| lanes.iter().map(|v| f64::from(*v)).sum::<f64>());
    let n = a.len() as f64;
    // What is left of a constant is rounding.
    let variance = xx - sx * sx / n + (yy - sy * sy / n);
    [d, if variance > 1e-6 * (xx + yy) { variance } else { 0.0 }]
}

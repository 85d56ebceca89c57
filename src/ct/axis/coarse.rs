//! How well opposite views agree about each place of the detector: the whole range, to a fraction of some bins.
//!
//! Two views are compared where both see the object, mirrored about a place: half the squared difference over the variance of what is
//! compared, 1 for views that have nothing in common and 0 for equal ones. The score is n ln of it over all bins, n being those that are
//! compared: the logarithm of a likelihood, up to factors, so that few bins that agree by chance do not outweigh many that do.

use super::line::fit;
use super::rows::Rows;
use super::seams::Seams;
use crate::cpu::buffer::{collected, filled, zeros};
use crate::error::Result;
use rayon::prelude::*;

/// Bins that rows are averaged down to.
const BINS: usize = 768;
/// Views that agree better than this do so to rounding.
const FLOOR: f64 = 1e-9;

pub(super) struct Coarse {
    /// Bins averaged.
    factor: usize,
    /// Place of the first score; each next one is half an averaged bin on.
    first: usize,
    /// Bins that are compared at each place, as a part of all.
    parts: Vec<f64>,
    /// Mismatch at each place, of all rows.
    all: Vec<f64>,
    /// Of each row, where the tilt is wanted.
    each: Vec<Vec<f64>>,
}

impl Coarse {
    pub(super) fn new(rows: &Rows, seams: &Seams, [low, high]: [f64; 2], tilt: bool) -> Result<Self> {
        // The views of a pair that are apart by an angle show features displaced by that part of a radius.
        let blurred = (seams.apart * rows.bins as f64 / 4.0).ceil() as usize;
        let factor = rows.bins.div_ceil(BINS).max(blurred.min(rows.bins / 32)).max(1);
        let bins = rows.bins / factor;
        let place = |axis: f64| 2.0 * ((axis + 0.5) / factor as f64 - 0.5);
        // Two averaged bins at least are compared.
        let first = place(low).floor().max(1.0) as usize;
        let last = (place(high).ceil() as usize).min(2 * bins - 3).max(first);
        let sums = (0..rows.lines.len()).into_par_iter().map(|k| mismatch(rows, seams, k, factor, first..last + 1));
        let sums = sums.collect::<Result<Vec<Vec<[f64; 2]>>>>()?;
        let ratio = |[difference, variance]: [f64; 2]| if variance > 0.0 { difference / variance } else { 1.0 };
        let all = (0..=last - first)
            .map(|m| ratio(sums.iter().fold([0.0; 2], |s, row| [s[0] + row[m][0], s[1] + row[m][1]])));
        let all = collected(all)?;
        let each = match tilt {
            true => sums.iter().map(|row| collected(row.iter().map(|s| ratio(*s)))).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let compared = |m: usize| (m.min(2 * (bins - 1) - m) + 1) as f64 / bins as f64;
        Ok(Self { factor, first, parts: collected((first..=last).map(compared))?, all, each })
    }

    /// The score at a place of a curve.
    fn score_at(&self, mismatch: &[f64], k: usize) -> f64 {
        self.parts[k] * (mismatch[k] + FLOOR).ln()
    }

    fn best(&self, mismatch: &[f64]) -> usize {
        let score = |k: usize| self.score_at(mismatch, k);
        (0..mismatch.len()).min_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(0)
    }

    /// Bin of a place, between the points.
    fn bin(&self, place: f64) -> f64 {
        ((place + self.first as f64) / 2.0 + 0.5) * self.factor as f64 - 0.5
    }

    /// The score about a bin, by the line between its neighbours.
    pub(super) fn score(&self, bin: f64) -> f64 {
        let place = 2.0 * ((bin + 0.5) / self.factor as f64 - 0.5) - self.first as f64;
        let last = self.all.len() - 1;
        let place = place.clamp(0.0, last as f64);
        let k = (place as usize).min(last.saturating_sub(1));
        let t = place - k as f64;
        let score = |k: usize| self.score_at(&self.all, k.min(last));
        score(k) * (1.0 - t) + score(k + 1) * t
    }

    /// How much better views agree at the best place than they do at any that is not near it, where the curve has left its valley.
    pub(super) fn confidence(&self) -> f64 {
        let (all, best) = (&self.all, self.best(&self.all));
        let score = |k: usize| self.score_at(all, k);
        let mut ends = [best, best];
        while ends[0] > 0 && score(ends[0] - 1) >= score(ends[0]) {
            ends[0] -= 1;
        }
        while ends[1] + 1 < all.len() && score(ends[1] + 1) >= score(ends[1]) {
            ends[1] += 1;
        }
        let beside = (0..ends[0]).chain(ends[1] + 1..all.len()).map(score).fold(f64::INFINITY, f64::min);
        // A single valley: its rims are all that there is.
        let beside = beside.min(score(ends[0]).max(score(ends[1])));
        // A mean ratio of mismatches over the bins of the best place.
        1.0 - ((score(best) - beside).min(0.0) / self.parts[best]).exp()
    }

    /// Where each row's axis is, roughly: one place for all of them, or on a line.
    pub(super) fn centres(&self, rows: &Rows) -> Result<Vec<f64>> {
        if self.each.is_empty() {
            return filled(rows.lines.len(), self.bin(self.best(&self.all) as f64));
        }
        let places = collected(self.each.iter().map(|row| self.bin(self.best(row) as f64)))?;
        let weights = filled(places.len(), 1.0)?;
        let line = fit(&rows.lines, &places, &weights, true)?;
        collected(rows.lines.iter().map(|l| line.at(*l as f64)))
    }
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

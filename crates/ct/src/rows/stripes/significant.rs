//! Stripes that stand out from noise, and nothing else.
//!
//! A column's offset from what its neighbours say (a robust local parabola through the columns' means) is taken off where it is larger
//! than noise can make it, and than structure can; columns that are dead, that fluctuate, or that have an offset in some of the views
//! only, are replaced by their neighbours. All that is decided is one number a column: views are read three times and changed once.
//!
//! Structure moves through the columns as the object turns, while a stripe stays. So the scan is cut into pieces: what a column's means in
//! these are off by has a standard error, which is small for a stripe and large for structure, with noise or without; and a column is rough
//! if it is so in every piece.

use super::Remover;
use super::columns::{Between, Lists, replacements, stand_out};
use super::fit::Fit;
use super::median::{LANES, mirrored};
use super::statistics::Statistics;
use crate::rows::median::median;
use isocenter_base::cpu::buffer::{reserved, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use std::ops::Range;

/// Fewer views or bins than these tell nothing.
const MIN_VIEWS: usize = 16;
const MIN_BINS: usize = 16;
/// Half windows of the parabolas, for stripes of a few bins and for wide ones.
const NARROW: [usize; 2] = [10, 5];
const WIDE: usize = 25;
/// Offsets are significant from so many standard deviations of a column's mean on.
const SIGNIFICANT: f64 = 5.0;
/// Smaller offsets, as a part of the largest mean, are not stripes whatever the noise.
const FLOOR: f64 = 1e-4;
/// What values are rounded by, as a part of the largest mean: less is no roughness.
const ROUNDING: f64 = 1e-6;
/// Pieces of the scan.
const PIECES: usize = 8;
/// Offsets are no structure from so many standard errors by pieces on: by chance in one of 10,000 columns, with the 7 degrees of freedom
/// that there are (Student).
const STRUCTURE: f64 = 8.0;
/// The variance by pieces that noise explains, as a part of what noise of a value says. A mean of pieces less its neighbours has up to 1.5
/// times the variance, that of 8 is twice as large in one of 30 columns, and the noise of the quietest piece is 0.85 of the usual or so.
const BY_NOISE: f64 = 4.0;
/// A narrow stripe is off from the two bins beside it by so much of its offset: by half of it where it is two bins wide, less what noise takes.
const BESIDE: f64 = 1.0 / 3.0;
/// A wide stripe begins and ends with a step of so much of its largest offset.
const STEP: f64 = 0.7;
/// Where more bins drift than these, up to so far away, it is structure. Those count that drift by half as much or more: the median around a
/// column that is off in some views moves with it, by less.
const DRIFTING: usize = 4;
const CROWD: usize = 6;
const ALIKE: f64 = 0.5;
/// Neighbourhood of tests for columns that stand out, and their limit in standard deviations.
const NEIGHBOURHOOD: usize = 51;
const LIMIT: f64 = 6.0;
/// Logarithms that a column has to stand out by at least, in roughness and in drift.
const ROUGHER: f64 = 0.25;
const DRIFTS: f64 = 1.0;
/// Bins on either side that a column's drift is seen against.
const REACH: usize = 4;
/// Parts of the scan that drifts are followed in.
const PARTS: usize = 128;

/// What the work on a sinogram takes.
pub(super) struct Room {
    views: usize,
    bins: usize,
    fit: Fit,
    lists: Lists,
    statistics: Statistics,
    /// What parabolas leave, and what those of another width left.
    left: Vec<f64>,
    by_wider: Vec<f64>,
    /// Offsets that are significant.
    smallest: Vec<f64>,
    /// What structure can make of what is left by the bins beside, by narrow parabolas, and by wide ones.
    beside: Vec<f64>,
    narrow: [Vec<f64>; 2],
    wide: Vec<f64>,
    offset: Vec<f64>,
    drift: Vec<f64>,
    bad: Vec<bool>,
    /// Wide stripes; columns that drift.
    found: Vec<bool>,
    replaced: Vec<Between>,
    /// A corrected row, with room beyond its ends.
    row: Vec<f32>,
    /// Sums of differences from the median around, (part, bin).
    parts: Vec<f32>,
}

impl Room {
    pub(super) fn new(views: usize, bins: usize) -> Result<Self> {
        let list = || zeros::<f64>(bins);
        Ok(Self {
            views,
            bins,
            fit: Fit::new(bins, WIDE)?,
            lists: Lists::new(bins, NEIGHBOURHOOD)?,
            statistics: Statistics::new(bins, PIECES)?,
            left: list()?,
            by_wider: list()?,
            smallest: list()?,
            beside: list()?,
            narrow: [list()?, list()?],
            wide: list()?,
            offset: list()?,
            drift: list()?,
            bad: zeros(bins)?,
            found: zeros(bins)?,
            replaced: reserved(bins)?,
            row: zeros(bins.next_multiple_of(LANES) + 2 * REACH)?,
            parts: zeros(PARTS * bins.next_multiple_of(LANES))?,
        })
    }

    pub(super) fn bytes(bins: usize) -> u64 {
        let n = bins as u64;
        Statistics::bytes(bins, PIECES)
            + Fit::bytes(bins, WIDE)
            + Lists::bytes(bins, NEIGHBOURHOOD)
            + (9 * 8 + 2 + size_of::<Between>() as u64) * n
            + 4 * (PARTS as u64 + 1) * (n + LANES as u64)
    }

    /// Finds the replacements of bad columns, and replaces their statistics.
    fn replace(&mut self) {
        self.replaced.clear();
        self.replaced.extend(replacements(&self.bad));
        let Statistics { mean, noise, piece_mean, piece_noise, .. } = &mut self.statistics;
        for b in &self.replaced {
            mean[b.bin] = b.of(|k| mean[k]);
            noise[b.bin] = b.of(|k| noise[k]);
            for list in [&mut *piece_mean, &mut *piece_noise] {
                list.chunks_exact_mut(self.bins).for_each(|piece| piece[b.bin] = b.of(|k| piece[k]));
            }
        }
    }

    fn largest_mean(&self) -> f64 {
        self.statistics.mean.iter().fold(0.0, |l: f64, m| l.max(m.abs()))
    }

    /// The first piece whose noise is known: it takes three views.
    fn first_noisy(&self) -> usize {
        usize::from(self.views / PIECES <= 2)
    }

    /// Of columns that are rough on the whole, leaves those that are so among their neighbours in every piece.
    fn confirm_rough(&mut self) {
        let (bins, floor, first) = (self.bins, ROUNDING * self.largest_mean(), self.first_noisy());
        let pieces = || self.statistics.piece_noise.chunks_exact(bins).skip(first);
        let rougher = |piece: &[f64], k: usize| {
            let at = |j: usize| piece[mirrored((k + j) as isize - REACH as isize, bins)].max(floor);
            let mut around: [f64; 2 * REACH + 1] = std::array::from_fn(at);
            (piece[k].max(floor) / median(&mut around)).ln()
        };
        for (k, bad) in self.bad.iter_mut().enumerate().filter(|(_, bad)| **bad) {
            let all = |sign: f64| pieces().all(|piece| sign * rougher(piece, k) > 0.5 * ROUGHER);
            *bad = all(1.0) || all(-1.0);
        }
    }

    /// What structure can make of what is left, by the pieces.
    #[inline(always)]
    fn find_structure(&mut self) {
        let (bins, first) = (self.bins, self.first_noisy());
        let quietest = |k: usize| {
            let noise = self.statistics.piece_noise[k..].iter().step_by(bins).skip(first);
            noise.fold(f64::INFINITY, |least, n| least.min(*n))
        };
        // Of the mean of all views; no drifts are known that this could be in the place of.
        self.drift.iter_mut().enumerate().for_each(|(k, v)| *v = BY_NOISE * quietest(k).powi(2) / self.views as f64);
        let [wider, narrower] = &mut self.narrow;
        let halves = [None, Some(NARROW[0]), Some(NARROW[1]), Some(WIDE)];
        for (half, squares) in halves.into_iter().zip([&mut self.beside, wider, narrower, &mut self.wide]) {
            let sums = &mut self.by_wider;
            sums.fill(0.0);
            squares.fill(0.0);
            for piece in self.statistics.piece_mean.chunks_exact(bins) {
                match half {
                    None => (0..bins).for_each(|k| self.left[k] = between(piece, k)),
                    Some(half) => self.fit.by_all_neighbours(piece, half.min((bins - 1) / 2), &mut self.left),
                }
                for (((sum, square), left), mean) in sums.iter_mut().zip(&mut *squares).zip(&self.left).zip(piece) {
                    let off = mean - left;
                    *sum += off;
                    *square += off * off;
                }
            }
            const N: f64 = PIECES as f64;
            for ((square, sum), by_noise) in squares.iter_mut().zip(sums).zip(&self.drift) {
                let variance = (*square - *sum * *sum / N) / (N * (N - 1.0));
                *square = STRUCTURE * (variance - by_noise).max(0.0).sqrt();
            }
        }
    }

    /// What parabolas of a width leave of the means.
    #[inline(always)]
    fn leave(&mut self, half: usize) {
        let half = half.min((self.bins - 1) / 2);
        self.fit.by_neighbours(&self.statistics.mean, half, &mut self.left);
        self.left.iter_mut().zip(&self.statistics.mean).for_each(|(left, mean)| *left = mean - *left);
    }

    /// Adds what stands out of the means to the offsets, and takes it off the means.
    #[inline(always)]
    fn find_offsets(&mut self) {
        let floor = FLOOR * self.largest_mean();
        let noise = SIGNIFICANT / (self.views as f64).sqrt();
        self.smallest.iter_mut().zip(&self.statistics.noise).for_each(|(s, n)| *s = (noise * n).max(floor));
        // Each of the two misleads the other, so both come twice.
        for _ in 0..2 {
            self.find_wide();
            self.find_narrow();
        }
    }

    /// What narrow parabolas of both widths leave, the smaller of the two: structure escapes one of them at most. It is no structure where
    /// both are too large for that, or the step from the bins beside is.
    #[inline(always)]
    fn find_narrow(&mut self) {
        let [wide, narrow] = NARROW;
        self.leave(wide);
        self.by_wider.copy_from_slice(&self.left);
        self.leave(narrow);
        for k in 0..self.bins {
            let (a, b) = (self.by_wider[k], self.left[k]);
            let by = if a * b <= 0.0 { 0.0 } else { a.abs().min(b.abs()).copysign(a) };
            // In place of the wider one's, which has been read: the means of others are to stay until all have been looked at.
            let step = self.statistics.mean[k] - between(&self.statistics.mean, k);
            let narrow = a.abs() > self.narrow[0][k] && b.abs() > self.narrow[1][k];
            let steps = step * by > 0.0 && step.abs() > self.beside[k].max(BESIDE * by.abs());
            self.by_wider[k] = if by.abs() > self.smallest[k] && (narrow || steps) { by } else { 0.0 };
        }
        for (k, by) in self.by_wider.iter().enumerate() {
            self.offset[k] += by;
            self.statistics.mean[k] -= by;
        }
    }

    /// What a wide parabola leaves of neighbouring bins, where it begins and ends with a step.
    #[inline(always)]
    fn find_wide(&mut self) {
        self.leave(WIDE);
        let mut next = 0;
        while next < self.bins {
            let first = next;
            let rising = self.left[first] > 0.0;
            let significant = |k: usize| self.left[k].abs() > self.smallest[k].max(self.wide[k]);
            while next < self.bins && significant(next) && (self.left[next] > 0.0) == rising {
                next += 1;
            }
            if next == first {
                self.found[first] = false;
                next += 1;
                continue;
            }
            let stripe = begins_and_ends(&self.statistics.mean, &self.left, first..next);
            self.found[first..next].fill(stripe);
        }
        // Now that all means have been looked at.
        for k in (0..self.bins).filter(|k| self.found[*k]) {
            self.offset[k] += self.left[k];
            self.statistics.mean[k] -= self.left[k];
        }
    }

    /// A view without stripes, as far as they are known.
    #[inline(always)]
    fn corrected(&self, view: &[f32], row: &mut [f32]) {
        for ((r, v), o) in row.iter_mut().zip(view).zip(&self.offset) {
            *r = v - *o as f32;
        }
        for b in &self.replaced {
            row[b.bin] = b.of(|k| f64::from(row[k])) as f32;
        }
    }

    /// How far the sum of a column's differences from the median around strays from a straight line, over the views.
    #[inline(always)]
    fn find_drifts(&mut self, sinogram: &[f32]) {
        let (views, bins) = (self.views, self.bins);
        let (parts, width) = (PARTS.min(views), bins.next_multiple_of(LANES));
        self.parts.fill(0.0);
        let mut row = std::mem::take(&mut self.row);
        for v in 0..views {
            self.corrected(&sinogram[v * bins..][..bins], &mut row[REACH..REACH + bins]);
            for k in 1..=REACH {
                row[REACH - k] = row[REACH + mirrored(-(k as isize), bins)];
                row[REACH + bins + k - 1] = row[REACH + mirrored((bins + k) as isize - 1, bins)];
            }
            let sums = &mut self.parts[v * parts / views * width..][..width];
            for (first, sums) in sums.chunks_exact_mut(LANES).enumerate() {
                let at = first * LANES;
                let around: [[f32; LANES]; 9] = std::array::from_fn(|j| std::array::from_fn(|l| row[at + j + l]));
                let median = median_of_nine(around);
                for l in 0..LANES {
                    sums[l] += around[REACH][l] - median[l];
                }
            }
        }
        self.row = row;
        for k in 0..bins {
            let sum_of = |p: usize| f64::from(self.parts[p * width + k]);
            let mean = (0..parts).map(sum_of).sum::<f64>() / views as f64;
            let (mut sum, mut low, mut high) = (0.0, 0.0f64, 0.0f64);
            for p in 0..parts {
                let count = ((p + 1) * views).div_ceil(parts) - (p * views).div_ceil(parts);
                sum += sum_of(p) - mean * count as f64;
                (low, high) = (low.min(sum), high.max(sum));
            }
            self.drift[k] = high - low;
        }
    }
}

impl Remover for Room {
    fn correct(&mut self, sinogram: &mut [f32], level: Level) -> Result<()> {
        if self.views >= MIN_VIEWS && self.bins >= MIN_BINS {
            vectorised(level, Correct { room: self, sinogram });
        }
        Ok(())
    }
}

/// What the bins on either side say of one.
#[inline(always)]
fn between(mean: &[f64], k: usize) -> f64 {
    let at = |k: isize| mean[mirrored(k, mean.len())];
    0.5 * (at(k as isize - 1) + at(k as isize + 1))
}

/// Whether means have a step at either end of a run of offsets, of much of its largest. Where parabolas do not follow structure, such as
/// the edge of the object, what they leave may jump, and means do not.
fn begins_and_ends(mean: &[f64], left: &[f64], run: Range<usize>) -> bool {
    let largest = left[run.clone()].iter().fold(0.0, |l: f64, o| l.max(o.abs()));
    let rise = |k: usize| mean[k] - mean[k - 1];
    // From bin k - 1 to k, over what the two rises beside it say; at the end of the detector there is nothing to say.
    let step = |k: usize| match k {
        k if k < 2 || k + 2 > mean.len() => true,
        k => (rise(k) - 0.5 * (rise(k - 1) + rise(k + 1))).abs() >= STEP * largest,
    };
    step(run.start) && step(run.end)
}

/// Marks in `bad` what is marked in `found`, but for crowds of columns that drift alike; true if there is any.
fn add_but_crowds(found: &[bool], drift: &[f64], bad: &mut [bool]) -> bool {
    let mut any = false;
    for k in (0..found.len()).filter(|k| found[*k]) {
        let around = k.saturating_sub(CROWD)..(k + CROWD + 1).min(found.len());
        let alike = |j: &usize| found[*j] && drift[*j] >= ALIKE * drift[k];
        let alone = around.filter(alike).count() <= DRIFTING;
        bad[k] |= alone;
        any |= alone;
    }
    any
}

struct Correct<'a> {
    room: &'a mut Room,
    sinogram: &'a mut [f32],
}

impl Plain for Correct<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { room, sinogram } = self;
        let bins = room.bins;
        room.offset.fill(0.0);
        room.statistics.take(sinogram, bins);
        stand_out(&room.statistics.noise, (NEIGHBOURHOOD, LIMIT, ROUGHER, true), &mut room.lists, &mut room.bad);
        room.confirm_rough();
        room.replace();
        room.find_structure();
        room.find_offsets();
        room.find_drifts(sinogram);
        stand_out(&room.drift, (NEIGHBOURHOOD, LIMIT, DRIFTS, false), &mut room.lists, &mut room.found);
        // What the smallest offset makes in half of the views.
        let least = FLOOR * room.largest_mean() * room.views as f64 / 4.0;
        room.found.iter_mut().zip(&room.drift).for_each(|(found, drift)| *found &= *drift > least);
        if add_but_crowds(&room.found, &room.drift, &mut room.bad) {
            room.replace();
            room.find_structure();
            room.find_offsets();
        }
        let mut row = std::mem::take(&mut room.row);
        for view in sinogram.chunks_exact_mut(bins) {
            room.corrected(view, &mut row[..bins]);
            view.copy_from_slice(&row[..bins]);
        }
        room.row = row;
    }
}

/// Medians of nine, lane by lane.
#[inline(always)]
fn median_of_nine(v: [[f32; LANES]; 9]) -> [f32; LANES] {
    let min = |a: [f32; LANES], b: [f32; LANES]| std::array::from_fn(|l| if a[l] < b[l] { a[l] } else { b[l] });
    let max = |a: [f32; LANES], b: [f32; LANES]| std::array::from_fn(|l| if a[l] > b[l] { a[l] } else { b[l] });
    let middle = |a, b, c| max(min(a, b), min(max(a, b), c));
    let low = |i: usize| min(min(v[i], v[i + 1]), v[i + 2]);
    let high = |i: usize| max(max(v[i], v[i + 1]), v[i + 2]);
    let mid = |i: usize| middle(v[i], v[i + 1], v[i + 2]);
    let lowest = max(max(low(0), low(3)), low(6));
    let highest = min(min(high(0), high(3)), high(6));
    middle(lowest, middle(mid(0), mid(3), mid(6)), highest)
}

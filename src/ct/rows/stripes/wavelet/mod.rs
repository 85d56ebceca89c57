//! Wavelet and Fourier transforms: B. Munch, P. Trtik, F. Marone, M. Stampanoni, "Stripe and ring artifact removal with combined wavelet -
//! Fourier filtering", Optics Express 17, 8567 (2009).
//!
//! Only what is taken off is computed: the part of the bands high along bins and low along views that has low frequencies along views.

mod axis;
mod daubechies;
mod tables;
mod transform;

use super::Remover;
use crate::cpu::buffer::zeros;
use crate::cpu::level::Level;
use crate::cpu::simd::{Plain, vectorised};
use crate::error::{Result, fail};
use tables::ROWS;
pub(in crate::ct) use tables::{Sizes, Tables};
use transform::{analyse, synthesise};

/// Levels where the caller says nothing, if they fit.
const LEVELS: usize = 5;
/// Damping of more frequencies takes too much memory.
const SIGMAS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// Parameters, as the paper has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wavelet {
    /// Levels of the transform; 0: 5, or as many as fit.
    pub levels: usize,
    /// Frequencies that are damped: the standard deviation of the Gaussian, in whole waves over a band.
    pub sigma: f64,
    /// Of Daubechies' wavelet.
    pub order: usize,
}

impl Wavelet {
    /// Refuses numbers out of range, naming the field.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { sigma, order, .. } = self;
        if !sigma.is_finite() {
            fail!(NotFiniteParameter, "stripes.sigma is {sigma}; it must be finite");
        }
        if !SIGMAS.contains(sigma) {
            let (low, high) = (SIGMAS.start(), SIGMAS.end());
            fail!(OutOfRange, "stripes.sigma is {sigma}; it must be {low} to {high}");
        }
        let orders = daubechies::ORDERS;
        if !orders.contains(order) {
            let (low, high) = (orders.start(), orders.end());
            fail!(OutOfRange, "stripes.wavelet is {order}; it must be {low} to {high}");
        }
        Ok(())
    }

    /// Refuses more levels than fit.
    pub(super) fn check_size(&self, views: usize, bins: usize) -> Result<()> {
        let (levels, most) = (self.levels, axis::max_levels(views, bins));
        if levels > most {
            fail!(OutOfRange, "stripes.levels is {levels}; {views} views of {bins} bins have {most}");
        }
        Ok(())
    }

    fn levels_of(&self, views: usize, bins: usize) -> usize {
        if self.levels == 0 { LEVELS.min(axis::max_levels(views, bins)) } else { self.levels }
    }
}

/// Bins that are worked on together, and those of one vector.
const STRIP: usize = 32;
const LANES: usize = 16;
/// Views that are summed at a time: so that they stay in the cache, and sums stay exact.
const RUN: usize = 128;

/// What the work on a sinogram takes.
pub(super) struct Room<'a> {
    tables: &'a Tables,
    /// Some bins' values in some views, and their amplitudes.
    values: Vec<[f32; STRIP]>,
    amplitudes: Vec<[f32; STRIP]>,
    /// All amplitudes, those of one level after the other's: (vector of modes, bin).
    lines: Vec<[f32; LANES]>,
    /// One vector's bands.
    bands: [Vec<[f32; LANES]>; 2],
}

/// Vectors of modes that so many take.
fn vectors(counts: &[usize]) -> usize {
    counts.iter().map(|n| n.div_ceil(LANES)).sum()
}

impl<'a> Room<'a> {
    pub(super) fn new(tables: &'a Tables) -> Result<Self> {
        let Sizes { across, counts, modes, .. } = &tables.sizes;
        let band = || zeros(across.longest());
        Ok(Self {
            tables,
            values: zeros(RUN)?,
            amplitudes: zeros(modes.next_multiple_of(ROWS))?,
            lines: zeros(vectors(counts) * across.count)?,
            bands: [band()?, band()?],
        })
    }

    pub(super) fn bytes(wavelet: &Wavelet, views: usize, bins: usize) -> u64 {
        let Sizes { across, counts, modes, .. } = Sizes::new(wavelet, views, bins);
        let strips = STRIP * (RUN + modes.next_multiple_of(ROWS));
        (4 * (strips + LANES * (vectors(&counts) * bins + 2 * across.longest()))) as u64
    }
}

impl Remover for Room<'_> {
    fn correct(&mut self, sinogram: &mut [f32], level: Level) -> Result<()> {
        if self.tables.sizes.modes > 0 {
            vectorised(level, Correct { room: self, sinogram });
        }
        Ok(())
    }
}

struct Correct<'a, 'b> {
    room: &'a mut Room<'b>,
    sinogram: &'a mut [f32],
}

impl Plain for Correct<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { room, sinogram } = self;
        let Sizes { across, counts, .. } = &room.tables.sizes;
        let bins = across.count;
        for first in (0..bins).step_by(STRIP) {
            let width = STRIP.min(bins - first);
            room.sum(sinogram, first, width);
            each_mode(counts, |mode, vector, lane| {
                let lines = &mut room.lines[vector * bins + first..][..width];
                lines.iter_mut().zip(&room.amplitudes[mode]).for_each(|(line, a)| line[lane] = *a);
            });
        }
        room.along_bins();
        for first in (0..bins).step_by(STRIP) {
            let width = STRIP.min(bins - first);
            each_mode(counts, |mode, vector, lane| {
                let lines = &room.lines[vector * bins + first..][..width];
                room.amplitudes[mode].iter_mut().zip(lines).for_each(|(a, line)| *a = line[lane]);
            });
            room.subtract(sinogram, first, width);
        }
    }
}

/// Calls with each mode, the vector that it is in, and its lane.
#[inline(always)]
fn each_mode(counts: &[usize], mut call: impl FnMut(usize, usize, usize)) {
    let (mut mode, mut vector) = (0, 0);
    for count in counts {
        for k in 0..*count {
            call(mode + k, vector + k / LANES, k % LANES);
        }
        (mode, vector) = (mode + count, vector + count.div_ceil(LANES));
    }
}

impl Room<'_> {
    /// Amplitudes of some bins.
    #[inline(always)]
    fn sum(&mut self, sinogram: &[f32], first: usize, width: usize) {
        let Tables { sizes: Sizes { along, across, .. }, down, .. } = self.tables;
        let (views, bins) = (along.count, across.count);
        self.amplitudes.fill([0.0; STRIP]);
        for view in (0..views).step_by(RUN) {
            let count = RUN.min(views - view);
            let rows = sinogram[view * bins..].chunks_exact(bins);
            for (values, row) in self.values[..count].iter_mut().zip(rows) {
                values[..width].copy_from_slice(&row[first..][..width]);
            }
            add_products(down, (view, views), &self.values[..count], &mut self.amplitudes);
        }
    }

    /// Takes off some bins what their amplitudes make.
    #[inline(always)]
    fn subtract(&mut self, sinogram: &mut [f32], first: usize, width: usize) {
        let Tables { sizes: Sizes { along, across, modes, .. }, up, .. } = self.tables;
        let (views, bins) = (along.count, across.count);
        for view in (0..views).step_by(RUN) {
            let count = RUN.min(views - view);
            let off = &mut self.values[..count.next_multiple_of(ROWS)];
            off.fill([0.0; STRIP]);
            add_products(&up[view * modes..], (0, *modes), &self.amplitudes[..*modes], off);
            let rows = sinogram[view * bins..].chunks_exact_mut(bins).take(count);
            for (row, off) in rows.zip(off) {
                for (value, off) in row[first..][..width].iter_mut().zip(off) {
                    let left = *value - *off;
                    // Sums of values next to the largest that there are may not be finite.
                    *value = if left.is_finite() { left } else { *value };
                }
            }
        }
    }

    /// Bands of amplitudes that are high along bins, and what they are among the bins.
    #[inline(always)]
    fn along_bins(&mut self) {
        let Tables { sizes: Sizes { across, counts, .. }, filters, .. } = self.tables;
        let (bins, pad, lens, [a, b]) = (across.count, across.pad, &across.lens, &mut self.bands);
        let mut lines = self.lines.chunks_exact_mut(bins);
        for (level, count) in (1..).zip(counts) {
            for line in lines.by_ref().take(count.div_ceil(LANES)) {
                // Padding is the value at the end.
                let ends = |i: usize| i.saturating_sub(pad).min(bins - 1);
                a[..lens[0]].iter_mut().enumerate().for_each(|(i, a)| *a = line[ends(i)]);
                let filter = |step: usize, low| if step + 1 == level { &filters.high } else { low };
                for step in 0..level {
                    analyse(filter(step, &filters.down), &a[..lens[step]], &mut b[..lens[step + 1]]);
                    std::mem::swap(a, b);
                }
                for step in (0..level).rev() {
                    synthesise(filter(step, &filters.up), &a[..lens[step + 1]], &mut b[..lens[step]]);
                    std::mem::swap(a, b);
                }
                line.copy_from_slice(&a[pad..][..bins]);
            }
        }
    }
}

/// sums[i] += sum over k of matrix[i][first + k] values[k], rows `pitch` apart.
#[inline(always)]
fn add_products(matrix: &[f32], (first, pitch): (usize, usize), values: &[[f32; STRIP]], sums: &mut [[f32; STRIP]]) {
    for (group, sums) in sums.chunks_exact_mut(ROWS).enumerate() {
        let rows: [&[f32]; ROWS] =
            std::array::from_fn(|i| &matrix[(group * ROWS + i) * pitch + first..][..values.len()]);
        for part in (0..STRIP).step_by(LANES) {
            let mut sum = [[0.0f32; LANES]; ROWS];
            for (k, values) in values.iter().enumerate() {
                let values = &values[part..part + LANES];
                for (sum, row) in sum.iter_mut().zip(rows) {
                    let factor = row[k];
                    (0..LANES).for_each(|l| sum[l] += factor * values[l]);
                }
            }
            for (total, sum) in sums.iter_mut().zip(sum) {
                (0..LANES).for_each(|l| total[part + l] += sum[l]);
            }
        }
    }
}

//! Wavelet and Fourier transforms: B. Munch, P. Trtik, F. Marone, M. Stampanoni, "Stripe and ring artifact removal with combined wavelet -
//! Fourier filtering", Optics Express 17, 8567 (2009).
//!
//! Only what is taken off is computed: the part of the bands high along bins and low along views that has low frequencies along views.

mod axis;
mod daubechies;
mod products;
mod tables;
mod transform;

use super::Remover;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, dispatch, vectorised};
use isocenter_base::error::{Result, fail};
use products::{AddProducts, ROWS, STRIP};
pub(crate) use tables::{Sizes, Tables};
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
            fail!(OutOfRange, "stripes.levels is {levels}; {views} views of {bins} bins allow {most}");
        }
        Ok(())
    }

    fn levels_of(&self, views: usize, bins: usize) -> usize {
        if self.levels == 0 { LEVELS.min(axis::max_levels(views, bins)) } else { self.levels }
    }
}

/// Modes whose lines are transformed side by side.
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
        let Sizes { across, counts, modes, .. } = &self.tables.sizes;
        let bins = across.count;
        if *modes == 0 {
            return Ok(());
        }
        for first in (0..bins).step_by(STRIP) {
            let width = STRIP.min(bins - first);
            self.sum(sinogram, first, width, level);
            each_mode(counts, |mode, vector, lane| {
                let lines = &mut self.lines[vector * bins + first..][..width];
                lines.iter_mut().zip(&self.amplitudes[mode]).for_each(|(line, a)| line[lane] = *a);
            });
        }
        vectorised(level, AlongBins { room: self });
        for first in (0..bins).step_by(STRIP) {
            let width = STRIP.min(bins - first);
            each_mode(counts, |mode, vector, lane| {
                let lines = &self.lines[vector * bins + first..][..width];
                self.amplitudes[mode].iter_mut().zip(lines).for_each(|(a, line)| *a = line[lane]);
            });
            self.subtract(sinogram, first, width, level);
        }
        Ok(())
    }
}

/// Calls with each mode, the vector that it is in, and its lane.
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
    fn sum(&mut self, sinogram: &[f32], first: usize, width: usize, level: Level) {
        let Tables { sizes: Sizes { along, across, .. }, down, .. } = self.tables;
        let (views, bins) = (along.count, across.count);
        self.amplitudes.fill([0.0; STRIP]);
        for view in (0..views).step_by(RUN) {
            let count = RUN.min(views - view);
            let rows = sinogram[view * bins..].chunks_exact(bins);
            for (values, row) in self.values[..count].iter_mut().zip(rows) {
                values[..width].copy_from_slice(&row[first..][..width]);
            }
            let (values, sums) = (&self.values[..count], &mut self.amplitudes[..]);
            dispatch(level, AddProducts { matrix: &down[view..], pitch: views, values, sums });
        }
    }

    /// Takes off some bins what their amplitudes make.
    fn subtract(&mut self, sinogram: &mut [f32], first: usize, width: usize, level: Level) {
        let Tables { sizes: Sizes { along, across, modes, .. }, up, .. } = self.tables;
        let (views, bins) = (along.count, across.count);
        for view in (0..views).step_by(RUN) {
            let count = RUN.min(views - view);
            let sums = &mut self.values[..count.next_multiple_of(ROWS)];
            sums.fill([0.0; STRIP]);
            let values = &self.amplitudes[..*modes];
            dispatch(level, AddProducts { matrix: &up[view * modes..], pitch: *modes, values, sums });
            let rows = sinogram[view * bins..].chunks_exact_mut(bins).take(count);
            for (row, off) in rows.zip(&self.values) {
                for (value, off) in row[first..][..width].iter_mut().zip(off) {
                    let left = *value - *off;
                    // Sums of values next to the largest that there are may not be finite.
                    *value = if left.is_finite() { left } else { *value };
                }
            }
        }
    }
}

/// Bands of amplitudes that are high along bins, and what they are among the bins.
struct AlongBins<'a, 'b> {
    room: &'a mut Room<'b>,
}

impl Plain for AlongBins<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Room { tables, lines, bands: [a, b], .. } = self.room;
        let Tables { sizes: Sizes { across, counts, .. }, filters, .. } = tables;
        let (bins, pad, lens) = (across.count, across.pad, &across.lens);
        let mut lines = lines.chunks_exact_mut(bins);
        for (level, count) in (1..).zip(counts) {
            for line in lines.by_ref().take(count.div_ceil(LANES)) {
                // Padding is the value at the end.
                a[..pad].fill(line[0]);
                a[pad..pad + bins].copy_from_slice(line);
                a[pad + bins..lens[0]].fill(line[bins - 1]);
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

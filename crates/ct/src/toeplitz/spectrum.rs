//! The convolution's spectrum: h by a non-uniform transform from the frequencies of all views, then its transform on the doubled grid.

use crate::band_limited::BandLimited;
use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_fft::Planner;
use isocenter_nufft::{Plan, Settings};
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;
use std::ops::Range;

type C = Complex<f64>;

/// Of h, relative to it in the l2 norm: as good as f32 holds the spectrum.
const TOLERANCE: f64 = 1e-7;
/// Frequencies at a time: no more memory than that, and no more transforms.
const AT_A_TIME: usize = 1 << 23;
/// Columns that a task transforms: half a cache line of the spectrum, two cache lines of h.
const COLUMNS: usize = 8;

/// Values of the spectrum's half.
pub(super) fn len([gy, gx]: [usize; 2]) -> usize {
    (gx / 2 + 1) * gy
}

/// Bytes that `of` takes besides.
pub(super) fn making_bytes(g: &Geometry, band_limited: BandLimited, grid: [usize; 2], level: Level) -> Result<u64> {
    let frequencies = Frequencies::new(g, band_limited);
    let samples = frequencies.together() * frequencies.of_view;
    let plan = Plan::<f64>::new(settings(g.ny, grid, samples, level))?;
    let images = if frequencies.together() < g.views() { 2 } else { 1 };
    let numbers = samples as u64 + images * (g.ny * grid[1]) as u64;
    Ok(plan.memory(samples).saturating_add(16 * numbers))
}

/// As [`super::Toeplitz`] has it.
pub(super) fn of(g: &Geometry, band_limited: BandLimited, grid: [usize; 2], level: Level) -> Result<Vec<f32>> {
    let mut rows = differences(g, band_limited, grid, level)?;
    let [gy, gx] = grid;
    let mut planner = Planner::new();
    let (along, across) = (planner.plan_fft_forward(gx), planner.plan_fft_forward(gy));
    rows.par_chunks_mut(gx).try_for_each_init(
        || zeros(along.get_inplace_scratch_len()),
        |scratch, row| {
            let scratch = scratch.as_mut().map_err(|e| e.clone())?;
            row.iter_mut().for_each(|v| v.im = 0.0);
            // Difference 0 first.
            row.rotate_left(gx / 2);
            along.process_with_scratch(row, scratch);
            Ok(())
        },
    )?;
    let mut spectrum = zeros(len(grid))?;
    spectrum.par_chunks_mut(COLUMNS * gy).enumerate().try_for_each_init(
        || Ok((zeros(gy)?, zeros(across.get_inplace_scratch_len())?)),
        |room: &mut Result<_>, (k, to)| {
            let (line, scratch) = room.as_mut().map_err(|e| e.clone())?;
            for (pair, to) in to.chunks_mut(2 * gy).enumerate() {
                columns(&rows, gx, k * COLUMNS + 2 * pair, &*across, (line, scratch), to);
            }
            Ok(())
        },
    )?;
    Ok(spectrum)
}

/// Of two neighbouring columns, or of one. Row -y is the conjugate of row y, since h is real and even, so that their transforms are real:
/// two go as one complex line.
fn columns(
    rows: &[C],
    gx: usize,
    first: usize,
    fft: &dyn Fft<f64>,
    (line, scratch): (&mut [C], &mut [C]),
    to: &mut [f32],
) {
    let gy = fft.len();
    let two = to.len() > gy;
    line.fill(C::default());
    for (y, row) in rows.chunks_exact(gx).enumerate() {
        let (a, b) = (row[first], if two { row[first + 1] } else { C::default() });
        line[y] = a + b * C::i();
        if y > 0 {
            line[gy - y] = a.conj() + b.conj() * C::i();
        }
    }
    fft.process_with_scratch(line, scratch);
    let (a, b) = to.split_at_mut(gy);
    a.iter_mut().zip(&*line).for_each(|(to, v)| *to = v.re as f32);
    b.iter_mut().zip(&*line).for_each(|(to, v)| *to = v.im as f32);
}

fn settings(ny: usize, [_, gx]: [usize; 2], samples: usize, level: Level) -> Settings {
    Settings { shape: [1, ny, gx], tolerance: TOLERANCE, upsampling: None, samples, level }
}

/// h without its scale, over the doubled grid's positions, as real parts: differences 0 .. ny along y, -gx / 2 .. gx / 2 along x.
fn differences(g: &Geometry, band_limited: BandLimited, grid: [usize; 2], level: Level) -> Result<Buffer<C>> {
    let frequencies = Frequencies::new(g, band_limited);
    let (together, of_view) = (frequencies.together(), frequencies.of_view);
    let [gy, gx] = grid;
    let Some(count) = g.ny.checked_mul(gx).filter(|n| *n < isize::MAX as usize / 32) else {
        fail!(SizeOverflow, "a doubled grid of {grid:?} pixels is more than memory can be");
    };
    let scale = 1.0 / (band_limited.period as f64 * gy as f64 * gx as f64);
    let mut plan = Plan::<f64>::new(settings(g.ny, grid, together * of_view, level))?;
    let mut values = zeros(together * of_view)?;
    let mut sum = Buffer::zeroed(count)?;
    let mut part = Buffer::zeroed(if together < g.views() { count } else { 0 })?;
    for first in (0..g.views()).step_by(together) {
        let views = first..g.views().min(first + together);
        let values = &mut values[..views.len() * of_view];
        frequencies.values(views.clone(), scale, values);
        plan.set_points(values.len(), |m| frequencies.place(first + m / of_view, m % of_view))?;
        if first == 0 {
            plan.adjoint(values, &mut sum, &mut |_| Ok(()))?;
        } else {
            plan.adjoint(values, &mut part, &mut |_| Ok(()))?;
            sum.par_iter_mut().zip(part.par_iter()).for_each(|(sum, part)| *sum += part);
        }
    }
    Ok(sum)
}

/// Frequencies 0 .. F of views: those below 0 are their conjugates.
struct Frequencies<'a> {
    geometry: &'a Geometry,
    band_limited: BandLimited,
    /// As many as the view with the most has.
    of_view: usize,
}

impl<'a> Frequencies<'a> {
    fn new(geometry: &'a Geometry, band_limited: BandLimited) -> Self {
        let last = (0..geometry.views()).map(|v| band_limited.last(geometry, v)).max().unwrap_or(0);
        Self { geometry, band_limited, of_view: last + 1 }
    }

    /// Views that are transformed together.
    fn together(&self) -> usize {
        (AT_A_TIME / self.of_view).clamp(1, self.geometry.views())
    }

    /// Where one lies along z, y, x, in cycles per pixel: whole cycles more or less are the same to pixels.
    fn place(&self, view: usize, f: usize) -> [f64; 3] {
        let [x, y] = self.band_limited.spoke(self.geometry, view).step.map(|step| f as f64 * step);
        [0.0, y - y.round(), x - x.round()]
    }

    /// Their weights, both signs together: the real part of a sum is then that over both. They see the first row from the middle one, where
    /// the transform has its origin.
    fn values(&self, views: Range<usize>, scale: f64, values: &mut [C]) {
        let middle = (self.geometry.ny / 2) as f64;
        values.par_chunks_mut(self.of_view).zip(views).for_each(|(values, view)| {
            let last = self.band_limited.last(self.geometry, view);
            for (f, value) in values.iter_mut().enumerate() {
                let weight = match f {
                    0 => 1.0,
                    f if f < last => 2.0,
                    f if f == last => 0.5,
                    _ => 0.0,
                };
                let [_, y, _] = self.place(view, f);
                *value = C::from_polar(scale * weight, TAU * (y * middle).rem_euclid(1.0));
            }
        });
    }
}

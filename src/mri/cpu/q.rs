//! Q on the processor: F^H W F as a multiplication on a doubled grid, or with a field as several between factors of voxels.

use super::coils::{combine, multiply};
use crate::context::Job;
use crate::cpu::buffer::Buffer;
use crate::cpu::fft::{Axis, BoxFft};
use crate::cpu::simd::Real;
use crate::error::{Result, fail};
use crate::nufft::toeplitz::{differences, doubled};
use rayon::prelude::*;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

/// Q and what applies it.
pub(super) struct Q<T: Real> {
    plan: Plan<T>,
    /// Of each convolution, on the doubled grid.
    spectra: Vec<Buffer<T>>,
    factors: Option<Factors<T>>,
}

/// What stands on both sides of each convolution, with a field.
struct Factors<T: Real> {
    /// `[convolution][voxel]`
    voxels: Buffer<Complex<T>>,
    /// Workspace: an image times factors, and its convolution.
    image: Buffer<Complex<T>>,
    convolved: Buffer<Complex<T>>,
}

/// Convolutions of images on one grid.
struct Plan<T: Real> {
    grid: [usize; 3],
    /// The doubled grid's planes (of a stack), rows and columns.
    len: [usize; 3],
    /// Between planes, and between rows.
    strides: [usize; 2],
    to_spectrum: BoxFft<T>,
    to_image: BoxFft<T>,
    /// 1, and the inverse transform's scale.
    ones: [Vec<T>; 3],
    scale: [Vec<T>; 3],
    work: Buffer<Complex<T>>,
}

/// A plane is transformed as a stack of planes of one row, so that there is work for many threads.
fn stacked<V: Copy>(grid: [V; 3], flat: bool) -> [V; 3] {
    let [z, y, x] = grid;
    if flat { [y, z, x] } else { grid }
}

/// Between planes of `ly` rows, and between rows of `lx`: odd numbers of cache lines, so that they do not crowd the same
/// lines of the first-level cache.
fn strides(ly: usize, lx: usize) -> [usize; 2] {
    const LINE: usize = 8;
    let row = (lx.div_ceil(LINE) | 1) * LINE;
    [if ly == 1 { row } else { (ly | 1) * row }, row]
}

impl<T: Real> Q<T> {
    /// Bytes that so many convolutions hold, with factors of voxels or without, and those besides while they are made.
    pub(super) fn memory(grid: [usize; 3], convolutions: usize, factors: bool) -> [u64; 2] {
        let count = |g: [usize; 3]| g.iter().fold(1u64, |a, n| a.saturating_mul(*n as u64));
        let (complex, convolutions) = (size_of::<Complex<T>>() as u64, convolutions as u64);
        let [_, ly, lx] = stacked(doubled(grid), grid[0] == 1);
        let padded = count(doubled(grid)) / (ly * lx) as u64 * strides(ly, lx)[0] as u64;
        let spectra = (count(doubled(grid)) * size_of::<T>() as u64).saturating_mul(convolutions);
        let images = if factors { count(grid).saturating_mul((convolutions + 2) * complex) } else { 0 };
        let held = padded.saturating_mul(complex).saturating_add(spectra).saturating_add(images);
        [held, count(differences(grid)).saturating_mul(complex)]
    }

    /// Without convolutions yet; with a field, factors of voxels `[convolution][voxel]`.
    pub(super) fn new(grid: [usize; 3], factors: Option<Buffer<Complex<T>>>) -> Result<Self> {
        let voxels = grid.iter().product();
        let factors = match factors {
            Some(f) => Some(Factors { voxels: f, image: Buffer::zeroed(voxels)?, convolved: Buffer::zeroed(voxels)? }),
            None => None,
        };
        Ok(Self { plan: Plan::new(grid)?, spectra: Vec::new(), factors })
    }

    /// The next convolution, from q on the grid of differences.
    pub(super) fn push_kernel(&mut self, kernel: &[Complex<T>]) -> Result<()> {
        self.spectra.push(self.plan.spectrum(kernel)?);
        Ok(())
    }

    /// The next convolution, from Q as [`Q::spectrum`] gives it.
    pub(super) fn push_spectrum(&mut self, spectrum: Buffer<T>) -> Result<()> {
        if spectrum.len() != self.plan.len.iter().product::<usize>() {
            fail!(Internal, "a Q of {} values for a grid of {:?}", spectrum.len(), self.plan.len);
        }
        self.spectra.push(spectrum);
        Ok(())
    }

    /// The first convolution's Q on the doubled grid, frequency 0 first along every axis.
    pub(super) fn spectrum(&self) -> Option<&[T]> {
        self.spectra.first().map(|s| &**s)
    }

    /// to = F^H W F from.
    pub(super) fn apply(&mut self, from: &[Complex<T>], to: &mut [Complex<T>], job: &Job) -> Result<()> {
        let Self { plan, spectra, factors } = self;
        let Some(Factors { voxels, image, convolved }) = factors else {
            return spectra.iter().try_for_each(|spectrum| plan.convolve(spectrum, from, to));
        };
        to.fill(Complex::default());
        for (spectrum, factors) in spectra.iter().zip(voxels.chunks_exact(from.len())) {
            multiply(factors, from, image);
            plan.convolve(spectrum, image, convolved)?;
            combine(factors, convolved, to);
            job.check()?;
        }
        Ok(())
    }
}

impl<T: Real> Plan<T> {
    fn new(grid: [usize; 3]) -> Result<Self> {
        let len = doubled(grid);
        let axis = |d: usize| Axis { len: len[d], start: 0, count: grid[d] };
        let axes = stacked([axis(0), axis(1), axis(2)], grid[0] == 1);
        let len = axes.map(|a| a.len);
        let strides = strides(len[1], len[2]);
        let fft = |direction| BoxFft::new(axes, strides, direction);
        let ones = axes.map(|a| vec![T::of(1.0); a.count]);
        let scale = axes.map(|a| vec![T::of(1.0 / a.len as f64); a.count]);
        let (to_spectrum, to_image) = (fft(FftDirection::Forward)?, fft(FftDirection::Inverse)?);
        let work = Buffer::zeroed(to_spectrum.grid_len())?;
        Ok(Self { grid, len, strides, to_spectrum, to_image, ones, scale, work })
    }

    /// Q of q on the grid of differences.
    fn spectrum(&mut self, kernel: &[Complex<T>]) -> Result<Buffer<T>> {
        let (grid, len) = (self.grid, doubled(self.grid));
        let axis = |d: usize| Axis { len: len[d], start: (len[d] + 1 - grid[d]) % len[d], count: 2 * grid[d] - 1 };
        let axes = stacked([axis(0), axis(1), axis(2)], grid[0] == 1);
        let fft = BoxFft::new(axes, self.strides, FftDirection::Forward)?;
        fft.expand(kernel, &axes.map(|a| vec![T::of(1.0); a.count]), &mut self.work)?;
        let ([_, ly, lx], [plane, row]) = (self.len, self.strides);
        let mut spectrum: Buffer<T> = Buffer::zeroed(len.iter().product())?;
        spectrum.par_chunks_mut(ly * lx).zip(self.work.par_chunks(plane)).for_each(|(to, from)| {
            for (to, from) in to.chunks_exact_mut(lx).zip(from.chunks_exact(row)) {
                to.iter_mut().zip(from).for_each(|(s, w)| *s = w.re);
            }
        });
        Ok(spectrum)
    }

    /// to = from, convolved with what has this spectrum.
    fn convolve(&mut self, spectrum: &[T], from: &[Complex<T>], to: &mut [Complex<T>]) -> Result<()> {
        self.to_spectrum.expand(from, &self.ones, &mut self.work)?;
        let ([_, ly, lx], [plane, row]) = (self.len, self.strides);
        self.work.par_chunks_mut(plane).zip(spectrum.par_chunks(ly * lx)).for_each(|(work, spectrum)| {
            for (work, spectrum) in work.chunks_exact_mut(row).zip(spectrum.chunks_exact(lx)) {
                let (work, behind) = work.split_at_mut(lx);
                work.iter_mut().zip(spectrum).for_each(|(w, s)| *w = w.scale(*s));
                // It would be added to the row's beginning.
                behind.fill(Complex::default());
            }
        });
        self.to_image.crop(&mut self.work, &self.scale, to)
    }
}

#[cfg(test)]
#[path = "q_tests.rs"]
mod tests;

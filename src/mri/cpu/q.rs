//! Q on the processor: F^H W F as a multiplication on a doubled grid.

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
    /// The doubled grid's planes (of a stack), rows and columns.
    len: [usize; 3],
    /// Between planes, and between rows.
    strides: [usize; 2],
    spectrum: Buffer<T>,
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
    /// Bytes that it holds, and those besides while it is made.
    pub(super) fn memory(grid: [usize; 3]) -> [u64; 2] {
        let count = |g: [usize; 3]| g.iter().fold(1u64, |a, n| a.saturating_mul(*n as u64));
        let complex = size_of::<Complex<T>>() as u64;
        let [_, ly, lx] = stacked(doubled(grid), grid[0] == 1);
        let padded = count(doubled(grid)) / (ly * lx) as u64 * strides(ly, lx)[0] as u64;
        let held = padded.saturating_mul(complex).saturating_add(count(doubled(grid)) * size_of::<T>() as u64);
        [held, count(differences(grid)).saturating_mul(complex)]
    }

    /// From q on the grid of differences.
    pub(super) fn new(grid: [usize; 3], kernel: &[Complex<T>]) -> Result<Self> {
        let mut made = Self::from_spectrum(grid, Buffer::zeroed(doubled(grid).iter().product())?)?;
        let flat = grid[0] == 1;
        let len = doubled(grid);
        let axis = |d: usize| Axis { len: len[d], start: (len[d] + 1 - grid[d]) % len[d], count: 2 * grid[d] - 1 };
        let axes = stacked([axis(0), axis(1), axis(2)], flat);
        let fft = BoxFft::new(axes, made.strides, FftDirection::Forward)?;
        fft.expand(kernel, &axes.map(|a| vec![T::of(1.0); a.count]), &mut made.work)?;
        let ([_, ly, lx], [plane, row]) = (made.len, made.strides);
        made.spectrum.par_chunks_mut(ly * lx).zip(made.work.par_chunks(plane)).for_each(|(to, from)| {
            for (to, from) in to.chunks_exact_mut(lx).zip(from.chunks_exact(row)) {
                to.iter_mut().zip(from).for_each(|(s, w)| *s = w.re);
            }
        });
        Ok(made)
    }

    /// From Q as [`Q::spectrum`] gives it.
    pub(super) fn from_spectrum(grid: [usize; 3], spectrum: Buffer<T>) -> Result<Self> {
        let len = doubled(grid);
        if spectrum.len() != len.iter().product::<usize>() {
            fail!(Internal, "a Q of {} values for a grid of {len:?}", spectrum.len());
        }
        let flat = grid[0] == 1;
        let axis = |d: usize| Axis { len: len[d], start: 0, count: grid[d] };
        let axes = stacked([axis(0), axis(1), axis(2)], flat);
        let len = axes.map(|a| a.len);
        let strides = strides(len[1], len[2]);
        let fft = |direction| BoxFft::new(axes, strides, direction);
        let ones = axes.map(|a| vec![T::of(1.0); a.count]);
        let scale = axes.map(|a| vec![T::of(1.0 / a.len as f64); a.count]);
        let (to_spectrum, to_image) = (fft(FftDirection::Forward)?, fft(FftDirection::Inverse)?);
        let work = Buffer::zeroed(to_spectrum.grid_len())?;
        Ok(Self { len, strides, spectrum, to_spectrum, to_image, ones, scale, work })
    }

    /// Q on the doubled grid, frequency 0 first along every axis.
    pub(super) fn spectrum(&self) -> &[T] {
        &self.spectrum
    }

    /// to = F^H W F from.
    pub(super) fn apply(&mut self, from: &[Complex<T>], to: &mut [Complex<T>]) -> Result<()> {
        self.to_spectrum.expand(from, &self.ones, &mut self.work)?;
        let ([_, ly, lx], [plane, row]) = (self.len, self.strides);
        self.work.par_chunks_mut(plane).zip(self.spectrum.par_chunks(ly * lx)).for_each(|(work, spectrum)| {
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

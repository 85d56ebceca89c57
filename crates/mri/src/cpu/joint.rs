//! Smooth coils from their coefficients, axis by axis, and products of images.

use super::coils;
use super::engine::CpuEngine;
use super::separable_adjoint::numbers;
use crate::engine::Vector;
use crate::joint::{Joint, Part, PartMut, Smooth};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use isocenter_solve::cpu::GRAIN;
use rustfft::num_complex::Complex;

/// Numbers of a row that sums are made of at once: they stay in the nearest cache.
const BLOCK: usize = 1 << 10;

/// Tables of waves, and rooms for what is between two axes.
pub(crate) struct CpuWaves<T: Scalar> {
    level: Level,
    grid: [usize; 3],
    waves: [usize; 3],
    weights: Buffer<T>,
    /// Of z, y and x, `[voxel][wave]`, and the transposes.
    tables: [[Buffer<T>; 2]; 3],
    rooms: [Buffer<Complex<T>>; 2],
}

fn converted<T: Scalar>(values: &[f64]) -> Result<Buffer<T>> {
    let mut out = Buffer::zeroed(values.len())?;
    out.iter_mut().zip(values).for_each(|(o, v): (&mut T, _)| *o = T::of(*v));
    Ok(out)
}

/// Row after column.
fn transposed<T: Scalar>(table: &[T], columns: usize) -> Result<Buffer<T>> {
    let rows = table.len() / columns;
    let mut out = Buffer::zeroed(table.len())?;
    out.iter_mut().enumerate().for_each(|(i, o)| *o = table[i % rows * columns + i / rows]);
    Ok(out)
}

impl<T: Scalar> CpuWaves<T> {
    fn new(level: Level, smooth: &Smooth) -> Result<Self> {
        let Smooth { grid, waves, .. } = *smooth;
        let table = |axis: usize| -> Result<[Buffer<T>; 2]> {
            let table = converted(&smooth.table(axis)?)?;
            let other = transposed(&table, waves[axis])?;
            Ok([table, other])
        };
        let room = || Buffer::zeroed(smooth.room());
        Ok(Self {
            level,
            grid,
            waves,
            weights: converted(&smooth.weights()?)?,
            tables: [table(0)?, table(1)?, table(2)?],
            rooms: [room()?, room()?],
        })
    }

    /// x first, so that the longest sums are over whole rows.
    fn expand(&mut self, from: &[Complex<T>], coil: &mut [Complex<T>]) {
        let Self { level, grid: [nz, ny, nx], waves: [mz, my, mx], weights, tables: [z, y, x], rooms: [a, b] } = self;
        let (a, weighed) = (&mut a[..*mz * *my * *nx], &mut b[..*mz * *my * *mx]);
        weighed.iter_mut().zip(from).zip(&weights[..]).for_each(|((o, v), w)| *o = v.scale(*w));
        along_x(*level, &x[1], [*mx, *nx], weighed, a);
        let b = &mut b[..*mz * *ny * *nx];
        along(*level, &y[0], [*my, *ny], 2 * *nx, a, b);
        along(*level, &z[0], [*mz, *nz], 2 * *ny * *nx, b, coil);
    }

    fn contract(&mut self, coil: &[Complex<T>], to: &mut [Complex<T>]) {
        let Self { level, grid: [nz, ny, nx], waves: [mz, my, mx], weights, tables: [z, y, x], rooms: [a, b] } = self;
        let (a, b) = (&mut a[..*mz * *my * *nx], &mut b[..*mz * *ny * *nx]);
        along(*level, &z[1], [*nz, *mz], 2 * *ny * *nx, coil, b);
        along(*level, &y[1], [*ny, *my], 2 * *nx, b, a);
        along_x(*level, &x[0], [*nx, *mx], a, to);
        to.iter_mut().zip(&weights[..]).for_each(|(o, w)| *o = o.scale(*w));
    }
}

/// Real and imaginary parts, as they lie.
fn reals<T: Scalar>(values: &[Complex<T>]) -> &[T] {
    // SAFETY: a complex number is two numbers, without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), 2 * values.len()) }
}

/// out `[..][i][..length]` = sum over j of table `[i][j]` from `[..][j][..length]`, lengths in real numbers.
fn along<T: Scalar>(
    level: Level,
    table: &[T],
    [before, after]: [usize; 2],
    length: usize,
    from: &[Complex<T>],
    out: &mut [Complex<T>],
) {
    let (from, out) = (reals(from), numbers(out));
    out.par_chunks_exact_mut(length).enumerate().for_each(|(row, out)| {
        let (of, i) = (&from[row / after * before * length..][..before * length], row % after);
        let factors = &table[i * before..][..before];
        out.par_chunks_mut(BLOCK).with_min_len(4).enumerate().for_each(|(piece, out)| {
            vectorised(level, Sum { factors, rows: &of[piece * BLOCK..], pitch: length, out });
        });
    });
}

/// out = sum over j of a factor times row j, `pitch` numbers after the one before.
struct Sum<'a, T> {
    factors: &'a [T],
    rows: &'a [T],
    pitch: usize,
    out: &'a mut [T],
}

impl<T: Scalar> Plain for Sum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { factors, rows, pitch, out } = self;
        let length = out.len();
        out.fill(T::ZERO);
        // Four rows at once, so that sums are fetched and stored a quarter as often.
        let (fours, rest) = factors.as_chunks::<4>();
        for (k, f) in fours.iter().enumerate() {
            let [a, b, c, d] = std::array::from_fn(|j| &rows[(4 * k + j) * pitch..][..length]);
            for i in 0..length {
                out[i] = out[i] + (f[0] * a[i] + f[1] * b[i]) + (f[2] * c[i] + f[3] * d[i]);
            }
        }
        for (k, f) in rest.iter().enumerate() {
            let row = &rows[(4 * fours.len() + k) * pitch..][..length];
            out.iter_mut().zip(row).for_each(|(o, v)| *o = *o + *f * *v);
        }
    }
}

/// out `[..][i]` = sum over j of table `[j][i]` from `[..][j]`.
fn along_x<T: Scalar>(
    level: Level,
    table: &[T],
    [before, after]: [usize; 2],
    from: &[Complex<T>],
    out: &mut [Complex<T>],
) {
    out.par_chunks_exact_mut(after).zip(from.par_chunks_exact(before)).for_each(|(out, factors)| {
        vectorised(level, Row { factors, table, out });
    });
}

/// out = sum over j of a factor times row j of a table.
struct Row<'a, T> {
    factors: &'a [Complex<T>],
    table: &'a [T],
    out: &'a mut [Complex<T>],
}

impl<T: Scalar> Plain for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { factors, table, out } = self;
        out.fill(Complex::default());
        for (f, row) in factors.iter().zip(table.chunks_exact(out.len())) {
            out.iter_mut().zip(row).for_each(|(o, v)| *o = Complex::new(o.re + f.re * *v, o.im + f.im * *v));
        }
    }
}

impl<T: Scalar> Joint for CpuEngine<T> {
    type Waves = CpuWaves<T>;

    fn waves(&mut self, context: &Context, smooth: &Smooth) -> Result<CpuWaves<T>> {
        CpuWaves::new(context.level(), smooth)
    }

    fn expand(
        &mut self,
        waves: &mut CpuWaves<T>,
        (from, first): Part<'_, Self>,
        (coil, at): PartMut<'_, Self>,
    ) -> Result<()> {
        let (count, voxels) = (waves.weights.len(), waves.grid.iter().product::<usize>());
        waves.expand(&from[first..][..count], &mut coil[at..][..voxels]);
        Ok(())
    }

    fn contract(&mut self, waves: &mut CpuWaves<T>, coil: &Vector<Self>, (to, at): PartMut<'_, Self>) -> Result<()> {
        let count = waves.weights.len();
        waves.contract(coil, &mut to[at..][..count]);
        Ok(())
    }

    fn multiply(
        &mut self,
        (a, from): Part<'_, Self>,
        (b, first): Part<'_, Self>,
        out: &mut Vector<Self>,
        add: bool,
    ) -> Result<()> {
        let count = out.len();
        coils::add_products(&a[from..][..count], &b[first..][..count], out, add);
        Ok(())
    }

    fn multiply_conjugate(
        &mut self,
        (a, from): Part<'_, Self>,
        b: &Vector<Self>,
        out: &mut Vector<Self>,
        add: bool,
    ) -> Result<()> {
        let (a, out) = (&a[from..][..b.len()], &mut out[..b.len()]);
        if add {
            coils::combine(a, b, out);
        } else {
            coils::conjugate_products(a, b, out);
        }
        Ok(())
    }

    fn normalise(&mut self, maps: &mut Vector<Self>, image: &mut Vector<Self>, least: f64) -> Result<()> {
        let voxels = image.len();
        let mut lengths = Buffer::<T>::zeroed(voxels)?;
        for map in maps.chunks_exact(voxels) {
            lengths.par_iter_mut().zip(map).with_min_len(GRAIN).for_each(|(l, v)| *l = *l + v.norm_sqr());
        }
        let least = T::of(least);
        lengths.par_iter_mut().with_min_len(GRAIN).for_each(|l| *l = l.root().larger(least));
        for map in maps.chunks_exact_mut(voxels) {
            map.par_iter_mut().zip(&lengths[..]).with_min_len(GRAIN).for_each(|(v, l)| *v = v.unscale(*l));
        }
        image.par_iter_mut().zip(&lengths[..]).with_min_len(GRAIN).for_each(|(v, l)| *v = v.scale(*l));
        Ok(())
    }
}

#[cfg(test)]
#[path = "joint_tests.rs"]
mod tests;

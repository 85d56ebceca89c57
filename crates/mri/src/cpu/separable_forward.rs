//! Sums over a grid at samples.

use super::axis::{Axis, BLOCK, shift};
use super::product::{Factors, SCALARS, VECTORS};
use super::progress::{Check, TaskCounter};
use super::separable_problem::{Problem, ROWS};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::ops::Range;

/// out = sum over voxels of value exp(-2 pi i k . r). `grid` is `[nz, ny, nx]`, k is along x, y, z in cycles per voxel; values are
/// `[coil][z][y][x]`, out is `[coil][sample]`.
pub(crate) fn forward<T: Scalar>(
    level: Level,
    grid: [usize; 3],
    k: [&[f64]; 3],
    values: &[Complex<T>],
    coils: usize,
    out: &mut [Complex<T>],
    check: Check,
) -> Result<()> {
    let problem = Problem::new(grid, k, coils);
    assert!(out.len() == coils * problem.samples() && values.len() == coils * problem.voxels());
    if out.is_empty() || values.is_empty() {
        out.fill(Complex::default());
        return Ok(());
    }
    let width = problem.axes[0].0;
    let mut folded = Buffer::zeroed(2 * values.len())?;
    let rows = folded.par_chunks_exact_mut(2 * width).zip(values.par_chunks_exact(width));
    rows.for_each(|(to, row)| fold(problem.axes[0], row, to));

    let blocks = problem.samples().div_ceil(BLOCK);
    let plane = 2 * width * problem.axes[1].0;
    let counter = TaskCounter::new(check, blocks * folded.len() / plane);
    let (folded, out) = (&*folded, Shared::new(out));
    (0..blocks).into_par_iter().try_for_each_init(
        || Scratch::new(&problem),
        |scratch, block| {
            let scratch = scratch.as_mut().map_err(|error| error.clone())?;
            let samples = problem.block(block);
            scratch.fill(level, &problem, samples.clone());
            for (coil, folded) in folded.chunks_exact(folded.len() / coils).enumerate() {
                scratch.sums = [[T::ZERO; BLOCK]; 2];
                for (z, folded) in folded.chunks_exact(plane).enumerate() {
                    dispatch(level, Plane { problem, samples: samples.len(), scratch, folded, z });
                    counter.task()?;
                }
                for (i, m) in samples.clone().enumerate() {
                    let sum = Complex::new(scratch.sums[0][i].wide(), scratch.sums[1][i].wide());
                    let sum = sum * shift(problem.axes, problem.point(m)).conj();
                    // SAFETY: each sample belongs to one task.
                    unsafe { *out.at(coil * problem.samples() + m) = Complex::new(T::of(sum.re), T::of(sum.im)) };
                }
            }
            Ok(())
        },
    )
}

/// Maximum number of bytes that [`forward`] allocates.
pub(super) fn bytes<T: Scalar>([x, y, z]: [Axis; 3], coils: usize) -> u64 {
    let thread = x.table() + y.table() + z.table() + x.0 * BLOCK;
    let all = 2 * coils * x.0 * y.0 * z.0 + rayon::current_num_threads() * thread;
    (all * size_of::<T>()) as u64
}

/// What is multiplied by the sines and by the cosines of a row's places, in the order of a table: real parts and then
/// imaginary ones.
fn fold<T: Scalar>(axis: Axis, row: &[Complex<T>], to: &mut [T]) {
    let (re, im) = to.split_at_mut(axis.0);
    for place in 0..axis.half() {
        let right = row[axis.0 / 2 + place];
        let i = axis.0 / 2 + place;
        match place.checked_sub(axis.first()) {
            None => (re[i], im[i]) = (right.re, right.im),
            Some(sine) => {
                let left = row[axis.half() - 1 - place];
                (re[i], im[i]) = (right.re + left.re, right.im + left.im);
                (re[sine], im[sine]) = (right.im - left.im, left.re - right.re);
            }
        }
    }
}

/// What a thread needs for a block of samples.
struct Scratch<T: Scalar> {
    /// Along x, y, z.
    tables: [Buffer<T>; 3],
    /// The factors along x again: `[vector of samples][place][lane]`.
    samples: Buffer<T>,
    /// Scalar and imaginary parts.
    sums: [[T; BLOCK]; 2],
}

impl<T: Scalar> Scratch<T> {
    fn new(problem: &Problem) -> Result<Self> {
        let [x, y, z] = problem.axes;
        Ok(Self {
            tables: [Buffer::zeroed(x.table())?, Buffer::zeroed(y.table())?, Buffer::zeroed(z.table())?],
            samples: Buffer::zeroed(x.0 * BLOCK)?,
            sums: [[T::ZERO; BLOCK]; 2],
        })
    }

    fn fill(&mut self, level: Level, problem: &Problem, samples: Range<usize>) {
        for ((axis, table), k) in problem.axes.iter().zip(&mut self.tables).zip(problem.k) {
            axis.fill(level, &k[samples.clone()], table);
        }
        dispatch(level, Transpose { axis: problem.axes[0], table: &self.tables[0], samples: &mut self.samples });
    }
}

/// Puts samples in lanes.
struct Transpose<'a, T> {
    axis: Axis,
    table: &'a [T],
    samples: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Transpose<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let rows = self.table[self.axis.first() * BLOCK..].chunks_exact(BLOCK).take(self.axis.0);
        for (place, row) in rows.enumerate() {
            for (v, factors) in row.chunks_exact(V::LANES).enumerate() {
                self.samples[(v * self.axis.0 + place) * V::LANES..][..V::LANES].copy_from_slice(factors);
            }
        }
    }
}

/// Adds a plane's terms to the sums of a block of samples.
struct Plane<'a, T: Scalar> {
    problem: Problem<'a>,
    samples: usize,
    scratch: &'a mut Scratch<T>,
    folded: &'a [T],
    z: usize,
}

impl<T: Scalar> Kernel<T> for Plane<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let [x, y, z] = self.problem.axes;
        let Scratch { tables, samples, sums } = self.scratch;
        let mut of_plane = [[T::ZERO; BLOCK]; 2];
        for (rows, folded) in self.folded.chunks(2 * x.0 * ROWS).enumerate() {
            for v in (0..self.samples.div_ceil(V::LANES)).step_by(VECTORS) {
                for (part, scalars) in folded.chunks(2 * x.0 * SCALARS).enumerate() {
                    let factors = Factors {
                        depth: x.0,
                        vectors: samples[v * x.0 * V::LANES..].as_ptr(),
                        vector_pitch: x.0 * V::LANES,
                        scalars: scalars.as_ptr(),
                        scalar_pitch: x.0,
                    };
                    let along = Along { axis: y, table: &tables[1], first: rows * ROWS + part * SCALARS };
                    let m = v * V::LANES;
                    // SAFETY: a block has an even number of vectors, and the scalars are there; instructions by the caller's
                    // contract.
                    unsafe {
                        match scalars.len() / (2 * x.0) {
                            1 => along.add(&factors.product::<V, VECTORS, 2>(), m, &mut of_plane),
                            2 => along.add(&factors.product::<V, VECTORS, 4>(), m, &mut of_plane),
                            _ => along.add(&factors.product::<V, VECTORS, 6>(), m, &mut of_plane),
                        }
                    }
                }
            }
        }
        let along = Along { axis: z, table: &tables[2], first: self.z };
        for m in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: blocks are whole vectors; instructions by the caller's contract.
            unsafe { along.add(&of_plane.each_ref().map(|part| [V::load(part.as_ptr().add(m))]), m, sums) }
        }
    }
}

/// Factors of voxels `first`, `first + 1`, ... along an axis.
struct Along<'a, T> {
    axis: Axis,
    table: &'a [T],
    first: usize,
}

impl<T: Scalar> Along<'_, T> {
    /// Adds to the sums of sample m and those after it, real and imaginary parts by turns for each voxel, times its factor.
    ///
    /// # Safety
    /// The processor has the instructions of `V`.
    #[inline(always)]
    unsafe fn add<V: Vector<Element = T>, const W: usize, const C: usize>(
        &self,
        values: &[[V; W]; C],
        m: usize,
        sums: &mut [[T; BLOCK]; 2],
    ) {
        assert!(m + W * V::LANES <= BLOCK);
        let vectors = (m..BLOCK).step_by(V::LANES).take(W);
        for (w, m) in vectors.enumerate() {
            // SAFETY: W vectors of the block; instructions by the caller's contract.
            unsafe {
                let (mut re, mut im) = (V::load(sums[0].as_ptr().add(m)), V::load(sums[1].as_ptr().add(m)));
                for c in 0..C / 2 {
                    let (cosines, sines, sign) = self.axis.factors(self.table, self.first + c);
                    let cosine = V::load(cosines.as_ptr().add(m));
                    let sine = V::load(sines.as_ptr().add(m)).mul(V::splat(sign));
                    re = values[2 * c][w].fma(cosine, values[2 * c + 1][w].fma(sine, re));
                    im = values[2 * c + 1][w].fma(cosine, im.sub(values[2 * c][w].mul(sine)));
                }
                re.store(sums[0].as_mut_ptr().add(m));
                im.store(sums[1].as_mut_ptr().add(m));
            }
        }
    }
}

//! Sums over samples on a grid.

use super::axis::{Axis, BLOCK, shift};
use super::product::{Factors, SCALARS, VECTORS};
use super::progress::{Check, TaskCounter};
use super::separable_problem::{Problem, ROWS};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;

/// Blocks whose sums are added up before they are added to the result: sums of sums stay short, which keeps rounding small.
const PANEL: usize = 16;
/// Lanes of the widest vector.
const LANES: usize = 16;

/// out = sum over samples of value exp(+2 pi i k . r). `grid` is `[nz, ny, nx]`, k is along x, y, z in cycles per voxel; values
/// are `[coil][sample]`, out is `[coil][z][y][x]`.
pub(crate) fn adjoint<T: Scalar>(
    level: Level,
    grid: [usize; 3],
    k: [&[f64]; 3],
    values: &[Complex<T>],
    coils: usize,
    out: &mut [Complex<T>],
    check: Check,
) -> Result<()> {
    let problem = Problem::new(grid, k, coils);
    assert!(values.len() == coils * problem.samples() && out.len() == coils * problem.voxels());
    out.fill(Complex::default());
    if out.is_empty() || values.is_empty() {
        return Ok(());
    }
    let width = problem.axes[0].0;
    let blocks = problem.samples().div_ceil(BLOCK);
    let mut panel = (0..blocks.min(PANEL)).map(|_| Block::new(&problem)).collect::<Result<Vec<_>>>()?;
    let counter = TaskCounter::new(check, blocks.div_ceil(PANEL) * problem.rows().div_ceil(ROWS));
    for first in (0..blocks).step_by(PANEL) {
        let panel = &mut panel[..PANEL.min(blocks - first)];
        panel.par_iter_mut().enumerate().for_each(|(b, block)| block.fill(level, &problem, first + b, values));
        let panel = &*panel;
        let sums = || Buffer::zeroed(2 * ROWS * width.next_multiple_of(LANES));
        out.par_chunks_mut(ROWS * width).enumerate().try_for_each_init(sums, |sums, (tile, out)| {
            let sums = sums.as_mut().map_err(|error| error.clone())?;
            dispatch(level, Tile { blocks: panel, problem, first: tile * ROWS, sums, out: numbers(out) });
            counter.task()
        })?;
    }
    out.par_chunks_mut(width).try_for_each_init(
        || Buffer::zeroed(2 * width),
        |sums, row| {
            let sums = sums.as_mut().map_err(|error| error.clone())?;
            sums.copy_from_slice(numbers(row));
            unfold(problem.axes[0], sums, row);
            Ok(())
        },
    )
}

/// Maximum number of bytes that [`adjoint`] allocates.
pub(super) fn bytes<T: Scalar>([x, y, z]: [Axis; 3], samples: usize, coils: usize) -> u64 {
    let width = x.0.next_multiple_of(LANES);
    let block = x.table() + y.table() + z.table() + (width + 2 * coils * z.0) * BLOCK;
    let blocks = samples.div_ceil(BLOCK).min(PANEL);
    let all = blocks * block + rayon::current_num_threads() * 2 * ROWS * width;
    (all * size_of::<T>()) as u64
}

/// The real and imaginary parts, as they lie.
pub(super) fn numbers<T: Scalar>(values: &mut [Complex<T>]) -> &mut [T] {
    // SAFETY: a complex number is two numbers, without padding.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), 2 * values.len()) }
}

/// A row from its sums with sines and cosines: real parts and then imaginary ones, each in the order of a table.
fn unfold<T: Scalar>(axis: Axis, sums: &[T], row: &mut [Complex<T>]) {
    let (re, im) = sums.split_at(axis.0);
    for (j, out) in row.iter_mut().enumerate() {
        let (place, mirrored) = axis.place(j);
        let cosine = Complex::new(re[axis.0 / 2 + place], im[axis.0 / 2 + place]);
        *out = match place.checked_sub(axis.first()) {
            None => cosine,
            Some(i) if mirrored => Complex::new(cosine.re + im[i], cosine.im - re[i]),
            Some(i) => Complex::new(cosine.re - im[i], cosine.im + re[i]),
        };
    }
}

/// The factors of one block of samples.
struct Block<T: Scalar> {
    samples: usize,
    /// Along x, y, z.
    tables: [Buffer<T>; 3],
    /// The factors along x again: `[vector of places][sample][lane]`.
    places: Buffer<T>,
    /// Values times the factors along z: `[coil][z][re, im][sample]`.
    values: Buffer<T>,
}

impl<T: Scalar> Block<T> {
    fn new(problem: &Problem) -> Result<Self> {
        let [x, y, z] = problem.axes;
        Ok(Self {
            samples: 0,
            tables: [Buffer::zeroed(x.table())?, Buffer::zeroed(y.table())?, Buffer::zeroed(z.table())?],
            places: Buffer::zeroed(x.0.next_multiple_of(LANES) * BLOCK)?,
            values: Buffer::zeroed(2 * problem.coils * z.0 * BLOCK)?,
        })
    }

    fn fill(&mut self, level: Level, problem: &Problem, block: usize, values: &[Complex<T>]) {
        let samples = problem.block(block);
        self.samples = samples.len();
        for ((axis, table), k) in problem.axes.iter().zip(&mut self.tables).zip(problem.k) {
            axis.fill(level, &k[samples.clone()], table);
        }
        dispatch(level, Transpose { axis: problem.axes[0], table: &self.tables[0], places: &mut self.places });

        let z = problem.axes[2];
        let mut shifts = [Complex::default(); BLOCK];
        shifts.iter_mut().zip(samples.clone()).for_each(|(s, m)| *s = shift(problem.axes, problem.point(m)));
        let mut shifted = [Complex::<T>::default(); BLOCK];
        for (values, out) in values.chunks_exact(problem.samples()).zip(self.values.chunks_exact_mut(2 * z.0 * BLOCK)) {
            for ((to, value), shift) in shifted.iter_mut().zip(&values[samples.clone()]).zip(shifts) {
                let value = Complex::new(value.re.wide(), value.im.wide()) * shift;
                *to = Complex::new(T::of(value.re), T::of(value.im));
            }
            for (j, out) in out.chunks_exact_mut(2 * BLOCK).enumerate() {
                let (cosines, sines, sign) = z.factors(&self.tables[2], j);
                let (re, im) = out.split_at_mut(BLOCK);
                for (m, value) in shifted.iter().enumerate() {
                    let product = *value * Complex::new(cosines[m], sign * sines[m]);
                    (re[m], im[m]) = (product.re, product.im);
                }
            }
        }
    }
}

/// Puts places in lanes.
struct Transpose<'a, T> {
    axis: Axis,
    table: &'a [T],
    places: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Transpose<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let rows = &self.table[self.axis.first() * BLOCK..][..self.axis.0 * BLOCK];
        for (rows, places) in rows.chunks(V::LANES * BLOCK).zip(self.places.chunks_exact_mut(V::LANES * BLOCK)) {
            for (lane, row) in rows.chunks_exact(BLOCK).enumerate() {
                for (m, factor) in row.iter().enumerate() {
                    places[m * V::LANES + lane] = *factor;
                }
            }
        }
    }
}

/// Up to [`ROWS`] rows of the result, and a panel's terms.
struct Tile<'a, T: Scalar> {
    blocks: &'a [Block<T>],
    problem: Problem<'a>,
    first: usize,
    /// `[row][re, im]` and whole vectors of places.
    sums: &'a mut [T],
    out: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Tile<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(mut self) {
        let width = self.problem.axes[0].0;
        let vectors = width.div_ceil(V::LANES);
        let pitch = vectors * V::LANES;
        let rows = self.out.len() / (2 * width);
        self.sums[..2 * rows * pitch].fill(T::ZERO);
        // Values times the factors along y and z: `[row][re, im][sample]`.
        let mut scalars = [T::ZERO; 2 * ROWS * BLOCK];
        for block in self.blocks {
            for (row, scalars) in scalars.chunks_exact_mut(2 * BLOCK).enumerate().take(rows) {
                // SAFETY: instructions by the caller's contract.
                unsafe { self.row::<V>(block, self.first + row, scalars) }
            }
            for v in (0..vectors).step_by(VECTORS) {
                for row in (0..rows).step_by(SCALARS) {
                    let factors = Factors {
                        depth: block.samples,
                        vectors: block.places[v * V::LANES * BLOCK..].as_ptr(),
                        vector_pitch: V::LANES * BLOCK,
                        scalars: scalars[2 * row * BLOCK..].as_ptr(),
                        scalar_pitch: BLOCK,
                    };
                    let sums = &mut self.sums[2 * row * pitch + v * V::LANES..];
                    // SAFETY: `vectors` of places and `rows` of scalars and sums are there; instructions by the caller's contract.
                    unsafe {
                        match (vectors - v, rows - row) {
                            (1, 1) => add::<T, V, 1, 2>(factors, sums, pitch),
                            (1, 2) => add::<T, V, 1, 4>(factors, sums, pitch),
                            (1, _) => add::<T, V, 1, 6>(factors, sums, pitch),
                            (_, 1) => add::<T, V, 2, 2>(factors, sums, pitch),
                            (_, 2) => add::<T, V, 2, 4>(factors, sums, pitch),
                            _ => add::<T, V, 2, 6>(factors, sums, pitch),
                        }
                    }
                }
            }
        }
        for (out, sums) in self.out.chunks_exact_mut(width).zip(self.sums.chunks_exact(pitch)) {
            out.iter_mut().zip(sums).for_each(|(to, sum)| *to = *to + *sum);
        }
    }
}

impl<T: Scalar> Tile<'_, T> {
    /// Values times the factors of a row along y and z.
    ///
    /// # Safety
    /// The processor has the instructions of `V`.
    #[inline(always)]
    unsafe fn row<V: Vector<Element = T>>(&mut self, block: &Block<T>, row: usize, scalars: &mut [T]) {
        let [_, y, _] = self.problem.axes;
        let (cosines, sines, sign) = y.factors(&block.tables[1], row % y.0);
        let (re, im) = block.values[2 * (row / y.0) * BLOCK..][..2 * BLOCK].split_at(BLOCK);
        let (to_re, to_im) = scalars.split_at_mut(BLOCK);
        for m in (0..BLOCK).step_by(V::LANES) {
            // SAFETY: blocks are whole vectors; instructions by the caller's contract.
            unsafe {
                let load = |from: &[T]| V::load(from.as_ptr().add(m));
                let (re, im, c) = (load(re), load(im), load(cosines));
                let s = load(sines).mul(V::splat(sign));
                re.mul(c).sub(im.mul(s)).store(to_re.as_mut_ptr().add(m));
                re.fma(s, im.mul(c)).store(to_im.as_mut_ptr().add(m));
            }
        }
    }
}

/// Adds W vectors for each of C rows to sums that are `pitch` apart.
///
/// # Safety
/// The processor has the instructions of `V`; the factors can be read.
#[inline(always)]
unsafe fn add<T: Scalar, V: Vector<Element = T>, const W: usize, const C: usize>(
    factors: Factors<T>,
    sums: &mut [T],
    pitch: usize,
) {
    assert!(sums.len() >= (C - 1) * pitch + W * V::LANES);
    // SAFETY: the sums are there; the rest by the caller's contract.
    unsafe {
        let products = factors.product::<V, W, C>();
        for (c, products) in products.into_iter().enumerate() {
            for (w, product) in products.into_iter().enumerate() {
                let at = sums.as_mut_ptr().add(c * pitch + w * V::LANES);
                V::load(at).add(product).store(at);
            }
        }
    }
}

//! Interpolation: every point's value is the sum of the grid points that it touches, times the spreading function.

use super::fine_grid::FineGrid;
use super::sort::{Point, SortedPoints};
use super::taps::{Taps, vectors, with_vectors};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Real, Vector, dispatch};
use rustfft::num_complex::Complex;

/// Points of one task.
const PART: usize = 1024;

/// What all points share.
pub struct Interpolate<'a, T: Real> {
    pub fine_grid: &'a FineGrid,
    pub taps: &'a Taps<T>,
    pub sorted: &'a SortedPoints<T>,
    pub level: Level,
}

impl<T: Real> Interpolate<'_, T> {
    /// Every row of the grid goes on behind its end with its beginning.
    pub fn run(&self, grid: &[Complex<T>], values: &mut [Complex<T>]) {
        assert!(values.len() == self.sorted.len() && grid.len() == self.fine_grid.grid_len());
        assert!(self.sorted.fine_grid == *self.fine_grid && self.taps.width() == self.fine_grid.width);
        let [nz, ny, _] = self.fine_grid.len;
        let ([plane, row], width) = (self.fine_grid.strides(), self.fine_grid.width);
        let planes: Vec<usize> = (0..nz + width).map(|i| i % nz * plane).collect();
        let rows: Vec<usize> = (0..ny + width).map(|i| i % ny * row).collect();
        let values = Shared::new(values);
        self.sorted.points.par_chunks(PART).for_each(|points| {
            let (rows, depth) = ([planes.as_slice(), rows.as_slice()], self.fine_grid.reach()[0]);
            dispatch(self.level, Task { taps: self.taps, points, values, grid, rows, depth });
        });
    }
}

struct Task<'a, T: Real> {
    taps: &'a Taps<T>,
    points: &'a [Point<T>],
    values: Shared<'a, Complex<T>>,
    grid: &'a [Complex<T>],
    /// Offsets in the grid of the rows along z and y.
    rows: [&'a [usize]; 2],
    /// Planes that a point touches.
    depth: usize,
}

impl<T: Real> Kernel<T> for Task<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: by the caller's contract.
        unsafe { with_vectors!(self, V) }
    }
}

impl<T: Real> Task<'_, T> {
    #[inline(always)]
    unsafe fn points<V: Vector<Element = T>, const N: usize>(self) {
        let width = self.taps.width();
        for p in self.points {
            let [z, y, x] = p.start.map(|s| s as usize);
            let planes = &self.rows[0][z..][..self.depth];
            let rows = &self.rows[1][y..][..width];
            // SAFETY: rows and their margins lie in the grid; each point has its own value; instructions by the caller's contract.
            unsafe {
                let along_x: [V; N] = self.taps.double::<V, N>(p.place[2]);
                let along_y = self.taps.single::<V, N>(p.place[1]);
                let along_z = if self.depth == 1 { [T::one(); _] } else { self.taps.single::<V, N>(p.place[0]) };
                let zero = V::splat(T::zero());
                let mut total = [zero; N];
                for (plane, weight) in planes.iter().zip(along_z) {
                    let start = self.grid.as_ptr().add(*plane + x).cast::<T>();
                    // A sum of its own for each plane: fewer additions wait for one another.
                    let mut sums = [zero; N];
                    for (row, weight) in rows.iter().zip(along_y) {
                        let (row, weight) = (start.add(2 * *row), V::splat(weight));
                        for (v, sum) in sums.iter_mut().enumerate() {
                            *sum = weight.fma(V::load(row.add(v * V::LANES)), *sum);
                        }
                    }
                    let weight = V::splat(weight);
                    for (t, sum) in total.iter_mut().zip(sums) {
                        *t = weight.fma(sum, *t);
                    }
                }
                let mut sum = zero;
                for (t, weight) in total.into_iter().zip(along_x) {
                    sum = t.fma(weight, sum);
                }
                let mut lanes = [T::zero(); 16];
                sum.store(lanes.as_mut_ptr());
                let (mut re, mut im) = (lanes[0], lanes[1]);
                for lane in lanes[..V::LANES].chunks_exact(2).skip(1) {
                    (re, im) = (re + lane[0], im + lane[1]);
                }
                *self.values.at(p.index as usize) = Complex::new(re, im);
            }
        }
    }
}

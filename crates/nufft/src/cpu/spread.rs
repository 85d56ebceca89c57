//! Spreading: every point adds its value, times the spreading function, to the grid points that it touches.
//!
//! Tiles that never meet are done in parallel, straight onto the grid, in as many rounds as it takes (two a split axis), so
//! each grid point gets its terms in the same order whatever the number of threads. A tile with very many points is split:
//! each part has a copy of the tile of its own, and the copies are added in order.

use super::fine_grid::FineGrid;
use super::sort::{Point, SortedPoints};
use super::taps::{Taps, vectors, with_vectors};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Real, Vector, dispatch};
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;
use std::ops::Range;

/// Points of one part of a tile.
const PART: usize = 8192;

/// What all tiles share.
pub struct Spread<'a, T: Real> {
    pub fine_grid: &'a FineGrid,
    pub taps: &'a Taps<T>,
    pub sorted: &'a SortedPoints<T>,
    pub level: Level,
}

impl<T: Real> Spread<'_, T> {
    /// Bytes that split tiles may need.
    pub fn bytes(fine_grid: &FineGrid, samples: usize) -> u64 {
        let copies = if samples > 2 * PART { samples.div_ceil(PART).min(rayon::current_num_threads()) } else { 0 };
        // A tile is shorter than two of the minimum length, and as far again as points reach.
        let rows: usize = fine_grid.reach().iter().zip(fine_grid.len).map(|(r, n)| n.min(2 * r.max(&8) + r)).product();
        (copies * rows * fine_grid.strides()[1] * size_of::<Complex<T>>()) as u64
    }

    /// grid = sum over the points; what lies behind a row's end belongs to its beginning.
    pub fn run(&self, values: &[Complex<T>], grid: &mut [Complex<T>]) -> Result<()> {
        assert!(values.len() == self.sorted.len() && grid.len() == self.fine_grid.grid_len());
        assert!(self.sorted.fine_grid == *self.fine_grid && self.taps.width() == self.fine_grid.width);
        grid.par_chunks_mut(1 << 14).for_each(|part| part.fill(Complex::default()));
        let tiling = &self.sorted.tiling;
        let rows = [0, 1].map(|axis| self.rows(axis, 0..self.fine_grid.len[axis] + self.fine_grid.width));
        for colour in 0..4 {
            let of_colour = |a: usize, parity: usize| (parity..tiling.counts[a]).step_by(2);
            let tiles = of_colour(0, colour / 2).flat_map(|z| of_colour(1, colour % 2).map(move |y| [z, y]));
            let (split, whole): (Vec<_>, Vec<_>) =
                tiles.filter(|t| !self.points(*t).is_empty()).partition(|t| self.points(*t).len() > 2 * PART);
            for tile in split {
                self.split(tile, values, grid)?;
            }
            let shared = Shared::new(grid);
            whole.par_iter().with_max_len(1).for_each(|tile| {
                let (points, rows) = (self.points(*tile), rows.each_ref().map(|r| r.as_slice()));
                let task = Task {
                    taps: self.taps,
                    points,
                    values,
                    grid: shared,
                    rows,
                    origin: [0, 0],
                    depth: self.fine_grid.reach()[0],
                };
                dispatch(self.level, task);
            });
        }
        Ok(())
    }

    fn points(&self, [z, y]: [usize; 2]) -> &[Point<T>] {
        let tile = z * self.sorted.tiling.counts[1] + y;
        &self.sorted.points[self.sorted.ends[tile]..self.sorted.ends[tile + 1]]
    }

    /// Offsets in the grid of these rows along an axis, cyclic.
    fn rows(&self, axis: usize, rows: Range<usize>) -> Vec<usize> {
        let stride = self.fine_grid.strides()[axis];
        rows.map(|i| i % self.fine_grid.len[axis] * stride).collect()
    }

    fn split(&self, tile: [usize; 2], values: &[Complex<T>], grid: &mut [Complex<T>]) -> Result<()> {
        let (pitch, reach) = (self.fine_grid.strides()[1], self.fine_grid.reach());
        let bounds = [0, 1].map(|a| &self.sorted.tiling.bounds[a][tile[a]..]);
        let touched = [0, 1].map(|a| bounds[a][0]..bounds[a][1] + reach[a] - 1);
        let [depth, height] = touched.each_ref().map(|t| t.len());
        let inside =
            [(0..depth).map(|i| i * height * pitch).collect::<Vec<_>>(), (0..height).map(|i| i * pitch).collect()];
        let [planes, rows] = [0, 1].map(|a| self.rows(a, touched[a].clone()));

        let parts: Vec<&[Point<T>]> = self.points(tile).chunks(PART).collect();
        let copies = parts.len().min(rayon::current_num_threads());
        let mut copies =
            (0..copies).map(|_| Buffer::zeroed(depth * height * pitch)).collect::<Result<Vec<Buffer<Complex<T>>>>>()?;
        for parts in parts.chunks(copies.len()) {
            let copies = &mut copies[..parts.len()];
            copies.par_iter_mut().zip(parts).for_each(|(copy, points)| {
                copy.fill(Complex::default());
                let (rows, origin) = (inside.each_ref().map(|r| r.as_slice()), [bounds[0][0], bounds[1][0]]);
                let task =
                    Task { taps: self.taps, points, values, grid: Shared::new(copy), rows, origin, depth: reach[0] };
                dispatch(self.level, task);
            });
            let shared = Shared::new(grid);
            (0..depth * height).into_par_iter().for_each(|row| {
                // SAFETY: no two of the tile's rows are the same row of the grid, and the row lies in it.
                let sums = unsafe {
                    let start = shared.at(planes[row / height] + rows[row % height]);
                    std::slice::from_raw_parts_mut(start, pitch)
                };
                for copy in copies.iter() {
                    sums.iter_mut().zip(&copy[row * pitch..]).for_each(|(s, v)| *s = *s + *v);
                }
            });
        }
        Ok(())
    }
}

/// Points that are spread one after the other.
struct Task<'a, T: Real> {
    taps: &'a Taps<T>,
    points: &'a [Point<T>],
    values: &'a [Complex<T>],
    grid: Shared<'a, Complex<T>>,
    /// Offsets in the grid of the rows from `origin` on, along z and y.
    rows: [&'a [usize]; 2],
    origin: [usize; 2],
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
            let planes = &self.rows[0][z - self.origin[0]..][..self.depth];
            let rows = &self.rows[1][y - self.origin[1]..][..width];
            // SAFETY: rows and their margins lie in the grid, and the tile is this task's own; instructions by the caller's
            // contract.
            unsafe {
                let value = V::pairs(self.values.as_ptr().add(p.index as usize).cast());
                let along_x: [V; N] = self.taps.double::<V, N>(p.place[2]);
                let along_y = self.taps.single::<V, N>(p.place[1]);
                let along_z = if self.depth == 1 { [T::one(); _] } else { self.taps.single::<V, N>(p.place[0]) };
                let mut line = along_x;
                for l in line.iter_mut() {
                    *l = l.mul(value);
                }
                for (plane, weight) in planes.iter().zip(along_z) {
                    let start = self.grid.at(*plane + x).cast::<T>();
                    let weight = V::splat(weight);
                    let mut scaled = line;
                    for l in scaled.iter_mut() {
                        *l = l.mul(weight);
                    }
                    for (row, weight) in rows.iter().zip(along_y) {
                        let (row, weight) = (start.add(2 * *row), V::splat(weight));
                        for (v, l) in scaled.iter().enumerate() {
                            let to = row.add(v * V::LANES);
                            l.fma(weight, V::load(to)).store(to);
                        }
                    }
                }
            }
        }
    }
}

//! From the fine grid of several images to the images.

use crate::cpu::buffer::zeros;
use crate::cpu::shared::Shared;
use crate::error::Result;
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

type C = Complex<f32>;

/// Columns that are transformed together: two cache lines of every row.
const COLUMNS: usize = 16;

/// Transforms of grids `[y][x][image]`, of which the middle is asked for.
pub(in crate::nufft) struct LineFft {
    /// Along x, y: cells and pixels.
    len: [usize; 2],
    shape: [usize; 2],
    plans: [Arc<dyn Fft<f32>>; 2],
    /// What pixels are multiplied by.
    factors: [Vec<f32>; 2],
}

/// A grid's images: those that are asked for are the first of them.
#[derive(Clone, Copy)]
pub(in crate::nufft) struct Images {
    pub(in crate::nufft) used: usize,
    pub(in crate::nufft) count: usize,
    /// Cells from row to row, and those behind a row's end that belong to its beginning.
    pub(in crate::nufft) pitch: usize,
    pub(in crate::nufft) behind: usize,
}

struct Scratch {
    lines: Vec<C>,
    inner: Vec<C>,
    /// Real and imaginary part of a row.
    row: [Vec<f32>; 2],
}

impl LineFft {
    pub(in crate::nufft) fn new(len: [usize; 2], shape: [usize; 2], factors: [Vec<f32>; 2]) -> Self {
        let mut planner = FftPlanner::new();
        let plans = len.map(|n| planner.plan_fft_inverse(n));
        Self { len, shape, plans, factors }
    }

    /// Bytes of the tables: factors and rustfft's.
    pub(in crate::nufft) fn bytes(&self) -> u64 {
        let [x, y] = self.len;
        (4 * (self.shape[0] + self.shape[1]) + 16 * (x + y)) as u64
    }

    /// Bytes that one thread needs meanwhile.
    pub(in crate::nufft) fn scratch_bytes(&self, images: usize) -> u64 {
        let [lines, inner, row] = self.scratch_lens(images);
        (8 * (lines + inner) + 2 * 4 * row) as u64
    }

    fn scratch_lens(&self, images: usize) -> [usize; 3] {
        let columns = COLUMNS.max(images) * self.column_pitch();
        let inner = self.plans.iter().map(|p| p.get_inplace_scratch_len()).max().unwrap_or(0);
        [columns.max(images * self.len[0]), inner, self.shape[0]]
    }

    fn scratch(&self, images: usize) -> Result<Scratch> {
        let [lines, inner, row] = self.scratch_lens(images);
        Ok(Scratch { lines: zeros(lines)?, inner: zeros(inner)?, row: [zeros(row)?, zeros(row)?] })
    }

    /// An odd number of cache lines, so that columns do not get in each other's way.
    fn column_pitch(&self) -> usize {
        (self.len[1].div_ceil(8) | 1) * 8
    }

    /// Hands `write(y, image, [real, imaginary])` every row of every image. The grid's contents are lost.
    pub(in crate::nufft) fn run(
        &self,
        images: Images,
        cells: &mut [f32],
        write: impl Fn(usize, usize, [&[f32]; 2]) -> Result<()> + Sync,
    ) -> Result<()> {
        let Images { count, pitch, .. } = images;
        assert!(cells.len() >= self.len[1] * pitch * 2 * count);
        let at_a_time = (COLUMNS / count).max(1);
        let shared = Shared::new(cells);
        (0..self.len[0].div_ceil(at_a_time)).into_par_iter().try_for_each_init(
            || self.scratch(count),
            |s, k| {
                let s = s.as_mut().map_err(|e| e.clone())?;
                let first = k * at_a_time;
                let block = first..self.len[0].min(first + at_a_time);
                // SAFETY: each task has its own columns of the grid, and those behind the end that belong to them.
                unsafe { self.columns(images, shared, block, s) };
                Ok(())
            },
        )?;
        cells.par_chunks(pitch * 2 * count).take(self.shape[1]).enumerate().try_for_each_init(
            || self.scratch(count),
            |s, (y, row)| self.row(images, row, s.as_mut().map_err(|e| e.clone())?, |k, parts| write(y, k, parts)),
        )
    }

    /// Transforms columns; their pixels go to the first rows.
    ///
    /// # Safety
    /// The columns, and those behind the rows' ends that belong to them, are the caller's.
    unsafe fn columns(&self, images: Images, cells: Shared<f32>, block: std::ops::Range<usize>, s: &mut Scratch) {
        let Images { used, count, pitch, behind } = images;
        let ([nx, ny], apart) = (self.len, self.column_pitch());
        let row_len = block.len() * count;
        // SAFETY: by the caller's contract, and the block lies in the grid.
        let row = |y: usize, x: usize, len: usize| unsafe {
            std::slice::from_raw_parts_mut(cells.at((y * pitch + x) * 2 * count).cast::<C>(), len)
        };
        for y in 0..ny {
            for (c, v) in row(y, block.start, row_len).iter().enumerate() {
                s.lines[c * apart + y] = *v;
            }
        }
        if block.start < behind {
            let cells = behind.min(block.end) - block.start;
            for y in 0..ny {
                for (c, v) in row(y, nx + block.start, cells * count).iter().enumerate() {
                    s.lines[c * apart + y] += *v;
                }
            }
        }
        for c in (0..row_len).filter(|c| c % count < used) {
            self.plans[1].process_with_scratch(&mut s.lines[c * apart..][..ny], &mut s.inner);
        }
        let half = self.shape[1] / 2;
        for (y, factor) in self.factors[1].iter().enumerate() {
            let from = (y + ny - half) % ny;
            for (c, v) in row(y, block.start, row_len).iter_mut().enumerate() {
                *v = s.lines[c * apart + from].scale(*factor);
            }
        }
    }

    /// Transforms a row of every image.
    fn row(
        &self,
        images: Images,
        row: &[f32],
        s: &mut Scratch,
        write: impl Fn(usize, [&[f32]; 2]) -> Result<()>,
    ) -> Result<()> {
        let (n, count) = (self.len[0], images.count);
        for (x, cell) in row.chunks_exact(2 * count).take(n).enumerate() {
            for (k, v) in cell.chunks_exact(2).take(images.used).enumerate() {
                s.lines[k * n + x] = C::new(v[0], v[1]);
            }
        }
        let lines = &mut s.lines[..images.used * n];
        self.plans[0].process_with_scratch(lines, &mut s.inner);
        let half = self.shape[0] / 2;
        let [real, imaginary] = &mut s.row;
        for (k, line) in lines.chunks_exact(n).enumerate() {
            let (after, before) = (&line[..self.shape[0] - half], &line[n - half..]);
            let parts = real.iter_mut().zip(imaginary.iter_mut()).zip(&self.factors[0]);
            for (((re, im), factor), v) in parts.zip(before.iter().chain(after)) {
                (*re, *im) = (v.re * factor, v.im * factor);
            }
            write(k, [real, imaginary])?;
        }
        Ok(())
    }
}

//! Fourier transforms between the fine grid of several images and the images: what both ways share.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use isocenter_fft::Planner;
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::sync::Arc;

pub(super) type C = Complex<f32>;

/// Columns that are transformed together: four cache lines of every row.
pub(super) const COLUMNS: usize = 32;

/// Transforms of grids `[y][x][image]`, the middle of whose transform are the images.
pub(crate) struct LineFft {
    /// Along x, y: cells and pixels.
    pub(super) len: [usize; 2],
    pub(super) shape: [usize; 2],
    /// exp(+2 pi i ...), towards the images.
    pub(super) plans: [Arc<dyn Fft<f32>>; 2],
    /// What pixels are multiplied by.
    pub(super) factors: [Vec<f32>; 2],
    pub(super) level: Level,
}

/// A grid's images: those that there are, are the first of them.
#[derive(Clone, Copy)]
pub(crate) struct Images {
    pub used: usize,
    pub count: usize,
    /// Cells from row to row, and those behind a row's end that belong to its beginning.
    pub pitch: usize,
    pub behind: usize,
}

pub(super) struct Scratch {
    pub(super) lines: Vec<C>,
    pub(super) inner: Vec<C>,
    /// Real and imaginary part of a row.
    pub(super) row: [Vec<f32>; 2],
}

impl LineFft {
    pub(crate) fn new(len: [usize; 2], shape: [usize; 2], factors: [Vec<f32>; 2], level: Level) -> Self {
        let mut planner = Planner::new();
        let plans = len.map(|n| planner.plan_fft_inverse(n));
        Self { len, shape, plans, factors, level }
    }

    /// Bytes of the tables: factors and rustfft's.
    pub(crate) fn bytes(&self) -> u64 {
        let [x, y] = self.len;
        (4 * (self.shape[0] + self.shape[1]) + 16 * (x + y)) as u64
    }

    /// Bytes that one thread needs meanwhile.
    pub(crate) fn scratch_bytes(&self, images: usize) -> u64 {
        let [lines, inner, row] = self.scratch_lens(images);
        (8 * (lines + inner) + 2 * 4 * row) as u64
    }

    fn scratch_lens(&self, images: usize) -> [usize; 3] {
        let columns = COLUMNS.max(images) * self.column_pitch();
        let inner = self.plans.iter().map(|p| p.get_inplace_scratch_len()).max().unwrap_or(0);
        [columns.max(images * self.len[0]), inner, self.shape[0]]
    }

    pub(super) fn scratch(&self, images: usize) -> Result<Scratch> {
        let [lines, inner, row] = self.scratch_lens(images);
        Ok(Scratch { lines: zeros(lines)?, inner: zeros(inner)?, row: [zeros(row)?, zeros(row)?] })
    }

    /// An odd number of cache lines, so that columns do not get in each other's way.
    pub(super) fn column_pitch(&self) -> usize {
        (self.len[1].div_ceil(8) | 1) * 8
    }
}

//! From several images to their fine grid.
//!
//! The transform is exp(-2 pi i ...), by the plans for exp(+2 pi i ...): real and imaginary parts change places before it and after it.

use super::line_fft::{C, COLUMNS, Images, LineFft, Scratch};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::prefetch::prefetch;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;

impl LineFft {
    /// Asks `read(y, image, [real, imaginary])` for every row of every image. Each row of the grid goes on behind its end with its
    /// beginning.
    pub(crate) fn to_cells(
        &self,
        images: Images,
        cells: &mut [f32],
        read: impl Fn(usize, usize, [&mut [f32]; 2]) -> Result<()> + Sync,
    ) -> Result<()> {
        let Images { count, pitch, .. } = images;
        assert!(cells.len() >= self.len[1] * pitch * 2 * count);
        cells.par_chunks_mut(pitch * 2 * count).take(self.shape[1]).enumerate().try_for_each_init(
            || self.scratch(count),
            |s, (y, row)| self.pixels(images, row, s.as_mut().map_err(|e| e.clone())?, |k, parts| read(y, k, parts)),
        )?;
        let at_a_time = (COLUMNS / count).max(1);
        let shared = Shared::new(cells);
        (0..self.len[0].div_ceil(at_a_time)).into_par_iter().try_for_each_init(
            || self.scratch(count),
            |s, k| {
                let s = s.as_mut().map_err(|e| e.clone())?;
                let first = k * at_a_time;
                let block = first..self.len[0].min(first + at_a_time);
                // SAFETY: each task has its own columns of the grid, and those behind the end that belong to them.
                unsafe { self.pad_columns(images, shared, block, s) };
                Ok(())
            },
        )
    }

    /// Reads a row of every image, and transforms it with its zeros.
    fn pixels(
        &self,
        images: Images,
        row: &mut [f32],
        s: &mut Scratch,
        read: impl Fn(usize, [&mut [f32]; 2]) -> Result<()>,
    ) -> Result<()> {
        let (n, half) = (self.len[0], self.shape[0] / 2);
        let lines = &mut s.lines[..images.count * n];
        let [real, imaginary] = &mut s.row;
        for (k, line) in lines.chunks_exact_mut(n).enumerate() {
            if k >= images.used {
                line.fill(C::default());
                continue;
            }
            read(k, [real, imaginary])?;
            let (right, rest) = line.split_at_mut(self.shape[0] - half);
            let (zeros, left) = rest.split_at_mut(n - self.shape[0]);
            zeros.fill(C::default());
            let ((re_left, re_right), (im_left, im_right)) = (real.split_at(half), imaginary.split_at(half));
            let (weights_left, weights_right) = self.factors[0].split_at(half);
            vectorised(self.level, Exchanged { to: left, weights: weights_left, real: re_left, imaginary: im_left });
            vectorised(
                self.level,
                Exchanged { to: right, weights: weights_right, real: re_right, imaginary: im_right },
            );
        }
        self.plans[0].process_with_scratch(&mut lines[..images.used * n], &mut s.inner);
        vectorised(self.level, Together { lines, count: images.count, cells: row });
        Ok(())
    }

    /// Transforms columns of the first rows, with their zeros.
    ///
    /// # Safety
    /// The columns, and those behind the rows' ends that belong to them, are the caller's.
    unsafe fn pad_columns(&self, images: Images, cells: Shared<f32>, block: std::ops::Range<usize>, s: &mut Scratch) {
        let Images { used, count, pitch, behind } = images;
        let ([nx, ny], apart) = (self.len, self.column_pitch());
        let (pixels, half) = (self.shape[1], self.shape[1] / 2);
        let row_len = block.len() * count;
        // SAFETY: by the caller's contract, and the block lies in the grid.
        let row = |y: usize, x: usize, len: usize| unsafe {
            std::slice::from_raw_parts_mut(cells.at((y * pitch + x) * 2 * count).cast::<C>(), len)
        };
        let lines = &mut s.lines[..row_len * apart];
        for line in lines.chunks_exact_mut(apart) {
            line[pixels - half..ny - half].fill(C::default());
        }
        // Rows are far apart: they are asked for ahead.
        const AHEAD: usize = 16;
        for (y, factor) in self.factors[1].iter().enumerate() {
            if y + AHEAD < pixels {
                row(y + AHEAD, block.start, row_len).iter().step_by(8).for_each(|v| prefetch(v));
            }
            let to = if y < half { y + ny - half } else { y - half };
            for (v, line) in row(y, block.start, row_len).iter().zip(lines.chunks_exact_mut(apart)) {
                line[to] = v.scale(*factor);
            }
        }
        for c in (0..row_len).filter(|c| c % count < used) {
            self.plans[1].process_with_scratch(&mut lines[c * apart..][..ny], &mut s.inner);
        }
        let again = if block.start < behind { (behind.min(block.end) - block.start) * count } else { 0 };
        for y in 0..ny {
            let cells = row(y, block.start, row_len);
            for (v, line) in cells.iter_mut().zip(lines.chunks_exact(apart)) {
                *v = C::new(line[y].im, line[y].re);
            }
            if again > 0 {
                row(y, nx + block.start, again).copy_from_slice(&cells[..again]);
            }
        }
    }
}

/// Numbers times weights, their parts having changed places.
struct Exchanged<'a> {
    to: &'a mut [C],
    weights: &'a [f32],
    real: &'a [f32],
    imaginary: &'a [f32],
}

impl Plain for Exchanged<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let parts = self.real.iter().zip(self.imaginary);
        for ((z, weight), (re, im)) in self.to.iter_mut().zip(self.weights).zip(parts) {
            *z = C::new(im * weight, re * weight);
        }
    }
}

/// A row of cells from lines of the images.
struct Together<'a> {
    lines: &'a [C],
    count: usize,
    cells: &'a mut [f32],
}

impl Together<'_> {
    #[inline(always)]
    fn of<const L: usize>(self) {
        let n = self.lines.len() / L;
        let (cells, _) = self.cells.as_chunks_mut::<2>();
        let (cells, _) = cells.as_chunks_mut::<L>();
        let lines: [&[C]; L] = std::array::from_fn(|k| &self.lines[k * n..][..n]);
        for (x, cell) in cells[..n].iter_mut().enumerate() {
            for (v, line) in cell.iter_mut().zip(&lines) {
                *v = [line[x].re, line[x].im];
            }
        }
    }
}

impl Plain for Together<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.count {
            1 => self.of::<1>(),
            2 => self.of::<2>(),
            4 => self.of::<4>(),
            8 => self.of::<8>(),
            count => unreachable!("{count} images"),
        }
    }
}

//! From the fine grid of several images to the images.

use super::line_fft::{C, COLUMNS, Images, LineFft, Scratch};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::prefetch::prefetch;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;

impl LineFft {
    /// Hands `write(y, image, [real, imaginary])` every row of every image. The grid's contents are lost.
    pub(crate) fn to_images(
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
        // Rows are far apart: columns go together while these are near.
        const BLOCK: usize = 16;
        for first in (0..ny).step_by(BLOCK) {
            for y in (first + BLOCK..ny).take(BLOCK) {
                row(y, block.start, row_len).iter().step_by(8).for_each(|v| prefetch(v));
            }
            let rows: [&[C]; BLOCK] = std::array::from_fn(|y| &*row((first + y).min(ny - 1), block.start, row_len));
            let rows = &rows[..BLOCK.min(ny - first)];
            for c in 0..row_len {
                let line = &mut s.lines[c * apart + first..][..rows.len()];
                line.iter_mut().zip(rows).for_each(|(z, row)| *z = row[c]);
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
            let from = if y < half { y + ny - half } else { y - half };
            for (v, line) in row(y, block.start, row_len).iter_mut().zip(s.lines.chunks_exact(apart)) {
                *v = line[from].scale(*factor);
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
        let n = self.len[0];
        let lines = &mut s.lines[..images.count * n];
        vectorised(self.level, Apart { cells: row, count: images.count, lines });
        let lines = &mut lines[..images.used * n];
        self.plans[0].process_with_scratch(lines, &mut s.inner);
        let half = self.shape[0] / 2;
        let [real, imaginary] = &mut s.row;
        for (k, line) in lines.chunks_exact(n).enumerate() {
            let ((left, right), (weights_left, weights_right)) =
                (line.split_at(n - half), self.factors[0].split_at(half));
            let ((re_left, re_right), (im_left, im_right)) = (real.split_at_mut(half), imaginary.split_at_mut(half));
            vectorised(self.level, Parts { from: right, weights: weights_left, real: re_left, imaginary: im_left });
            vectorised(self.level, Parts { from: left, weights: weights_right, real: re_right, imaginary: im_right });
            write(k, [real, imaginary])?;
        }
        Ok(())
    }
}

/// Lines of the images of a row of cells.
struct Apart<'a> {
    cells: &'a [f32],
    count: usize,
    lines: &'a mut [C],
}

impl Apart<'_> {
    #[inline(always)]
    fn of<const L: usize>(self) {
        let n = self.lines.len() / L;
        let (cells, _) = self.cells.as_chunks::<2>();
        let (cells, _) = cells.as_chunks::<L>();
        let cells = &cells[..n];
        // Rows of a block stay near while it is taken apart, line by line.
        const BLOCK: usize = 64;
        for (b, block) in cells.chunks(BLOCK).enumerate() {
            for (k, line) in self.lines.chunks_exact_mut(n).enumerate().take(L) {
                let line = &mut line[b * BLOCK..][..block.len()];
                line.iter_mut().zip(block).for_each(|(z, cell)| *z = C::new(cell[k][0], cell[k][1]));
            }
        }
    }
}

impl Plain for Apart<'_> {
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

/// Real and imaginary parts of numbers times weights.
struct Parts<'a> {
    from: &'a [C],
    weights: &'a [f32],
    real: &'a mut [f32],
    imaginary: &'a mut [f32],
}

impl Plain for Parts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let parts = self.real.iter_mut().zip(self.imaginary);
        for (((re, im), weight), v) in parts.zip(self.weights).zip(self.from) {
            (*re, *im) = (v.re * weight, v.im * weight);
        }
    }
}

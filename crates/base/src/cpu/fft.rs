//! Fourier transforms of grids of which only a box is used: zero outside it before the transform ([`BoxFft::expand`]), or not
//! asked for outside it after the transform ([`BoxFft::crop`]). Lines that are all zero, or that nobody asks for, are skipped.
//!
//! The box is a compact array of the caller's; on the way to or from it every axis has its own real factors.

use super::buffer::zeros;
use super::shared::Shared;
use super::simd::Real;
use crate::cpu::parallel::*;
use crate::error::{Result, fail};
use isocenter_fft::Planner;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};
use std::ops::Range;
use std::sync::Arc;

/// Columns that are transformed together: one cache line, or two, of every row.
const BLOCK: usize = 8;

/// One axis: a box of `count` from `start` on, cyclic, on a grid of `len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub len: usize,
    pub start: usize,
    pub count: usize,
}

impl Axis {
    /// The box as at most two runs: places in the box, and the grid index of the first.
    fn runs(self) -> [(Range<usize>, usize); 2] {
        let first = self.count.min(self.len - self.start);
        [(0..first, self.start), (first..self.count, 0)]
    }

    /// Places of the grid that are not in the box, as at most two runs.
    fn gaps(self) -> [Range<usize>; 2] {
        let end = self.start + self.count;
        if end <= self.len { [0..self.start, end..self.len] } else { [end - self.len..self.start, 0..0] }
    }
}

/// Transforms between a box `[z][y][x]` and the grid around it. What lies behind a row's end, up to the next row, repeats its
/// beginning (after `expand`), or belongs to it (before `crop`).
pub struct BoxFft<T: Real> {
    axes: [Axis; 3],
    /// From plane to plane, and from row to row.
    strides: [usize; 2],
    plans: [Arc<dyn Fft<T>>; 3],
}

/// What one task needs: a block of lines, and rustfft's memory.
struct Scratch<T: Real> {
    lines: Vec<Complex<T>>,
    inner: Vec<Complex<T>>,
}

impl<T: Real> BoxFft<T> {
    pub fn new(axes: [Axis; 3], strides: [usize; 2], direction: FftDirection) -> Result<Self> {
        if let Some(a) = axes.iter().find(|a| a.count == 0 || a.count > a.len || a.start >= a.len) {
            fail!(Internal, "transform of {a:?}");
        }
        if strides[1] < axes[2].len || strides[0] < axes[1].len * strides[1] {
            fail!(Internal, "strides {strides:?} of {axes:?}");
        }
        let mut planner = Planner::new();
        let plans = axes.map(|a| planner.plan_fft(a.len, direction));
        Ok(Self { axes, strides, plans })
    }

    /// Numbers in the grid.
    pub fn grid_len(&self) -> usize {
        self.axes[0].len * self.strides[0]
    }

    /// Bytes that one thread needs meanwhile.
    pub fn scratch_bytes(&self) -> u64 {
        let [lines, inner] = self.scratch_lens();
        ((lines + inner) * size_of::<Complex<T>>()) as u64
    }

    fn scratch_lens(&self) -> [usize; 2] {
        let longest = self.axes.iter().map(|a| a.len).max().unwrap_or(0);
        let inner = self.plans.iter().map(|p| p.get_inplace_scratch_len()).max().unwrap_or(0);
        [BLOCK * longest, inner]
    }

    fn scratch(&self) -> Result<Scratch<T>> {
        let [lines, inner] = self.scratch_lens();
        Ok(Scratch { lines: zeros(lines)?, inner: zeros(inner)? })
    }

    /// grid = transform of the box, zero around it. The whole grid is written.
    pub fn expand(&self, from: &[Complex<T>], factors: &[Vec<T>; 3], grid: &mut [Complex<T>]) -> Result<()> {
        self.check(from.len(), factors, grid.len());
        let ([z, y, x], [plane, pitch]) = (self.axes, self.strides);
        let out = Shared::new(grid);
        let columns: Vec<Block> = self.row_blocks().collect();
        (0..y.count * columns.len()).into_par_iter().try_for_each_init(
            || self.scratch(),
            |s, i| {
                let s = s.as_mut().map_err(|e| e.clone())?;
                let (row, column) = (i / columns.len(), columns[i % columns.len()]);
                let (at, scale) = (y.runs().place(row), factors[1][row]);
                let lines = &mut s.lines[..column.count * z.len];
                for (k, line) in factors[0].iter().enumerate() {
                    let source = &from[(k * y.count + row) * x.count + column.place..][..column.count];
                    let (line, to) = (*line * scale, z.runs().place(k));
                    let weights = &factors[2][column.place..][..column.count];
                    for ((b, v), weight) in source.iter().enumerate().zip(weights) {
                        lines[b * z.len + to] = v.scale(line * *weight);
                    }
                }
                for gap in z.gaps() {
                    lines.chunks_exact_mut(z.len).for_each(|l| l[gap.clone()].fill(Complex::default()));
                }
                self.plans[0].process_with_scratch(lines, &mut s.inner);
                // SAFETY: each task has its own columns of the grid, which all lie in it.
                unsafe { scatter(lines, z.len, 0..z.len, out.at(at * pitch + column.at), plane, column.count) };
                Ok(())
            },
        )?;
        grid.par_chunks_mut(plane).with_min_len(self.planes_a_task()).try_for_each_init(
            || self.scratch(),
            |s, plane| {
                let s = s.as_mut().map_err(|e| e.clone())?;
                if y.len > 1 {
                    self.columns(plane, s, y.gaps(), true);
                }
                for row in plane.chunks_exact_mut(pitch).take(y.len) {
                    let (row, behind) = row.split_at_mut(x.len);
                    x.gaps().into_iter().for_each(|gap| row[gap].fill(Complex::default()));
                    self.plans[2].process_with_scratch(row, &mut s.inner);
                    behind.chunks_mut(x.len).for_each(|part| part.copy_from_slice(&row[..part.len()]));
                }
                Ok(())
            },
        )
    }

    /// to = the box of the grid's transform. The grid's contents are lost.
    pub fn crop(&self, grid: &mut [Complex<T>], factors: &[Vec<T>; 3], to: &mut [Complex<T>]) -> Result<()> {
        self.check(to.len(), factors, grid.len());
        let ([z, y, x], [plane, pitch]) = (self.axes, self.strides);
        grid.par_chunks_mut(plane).with_min_len(self.planes_a_task()).try_for_each_init(
            || self.scratch(),
            |s, plane| {
                let s = s.as_mut().map_err(|e| e.clone())?;
                for row in plane.chunks_exact_mut(pitch).take(y.len) {
                    let (row, behind) = row.split_at_mut(x.len);
                    for part in behind.chunks(x.len) {
                        row.iter_mut().zip(part).for_each(|(v, b)| *v = *v + *b);
                    }
                    self.plans[2].process_with_scratch(row, &mut s.inner);
                }
                if y.len > 1 {
                    self.columns(plane, s, [0..0, 0..0], false);
                }
                Ok(())
            },
        )?;
        let out = Shared::new(to);
        let grid = &*grid;
        let columns: Vec<Block> = self.row_blocks().collect();
        (0..y.count * columns.len()).into_par_iter().try_for_each_init(
            || self.scratch(),
            |s, i| {
                let s = s.as_mut().map_err(|e| e.clone())?;
                let (row, column) = (i / columns.len(), columns[i % columns.len()]);
                let (at, scale) = (y.runs().place(row), factors[1][row]);
                let lines = &mut s.lines[..column.count * z.len];
                gather(grid, at * pitch + column.at, plane, 0..z.len, lines, z.len, column.count);
                self.plans[0].process_with_scratch(lines, &mut s.inner);
                for (k, line) in factors[0].iter().enumerate() {
                    let (line, from) = (*line * scale, z.runs().place(k));
                    let weights = &factors[2][column.place..][..column.count];
                    // SAFETY: each task has its own part of the box's row, which lies in it.
                    let target = unsafe {
                        let start = out.at((k * y.count + row) * x.count + column.place);
                        std::slice::from_raw_parts_mut(start, column.count)
                    };
                    for ((b, v), weight) in target.iter_mut().enumerate().zip(weights) {
                        *v = lines[b * z.len + from].scale(line * *weight);
                    }
                }
                Ok(())
            },
        )
    }

    /// Transforms the box's columns along y, in one plane: rows in `gaps` are zero on the way in, and rows out of the box are not
    /// written unless `all` is set.
    fn columns(&self, plane: &mut [Complex<T>], s: &mut Scratch<T>, gaps: [Range<usize>; 2], all: bool) {
        let (y, pitch) = (self.axes[1], self.strides[1]);
        let runs = y.runs().map(|(places, at)| at..at + places.len());
        let whole = [0..y.len, 0..0];
        let (read, write) = if all { (runs, whole) } else { (whole, runs) };
        for column in self.row_blocks() {
            let lines = &mut s.lines[..column.count * y.len];
            for rows in read.clone() {
                gather(plane, column.at, pitch, rows, lines, y.len, column.count);
            }
            for gap in gaps.clone() {
                lines.chunks_exact_mut(y.len).for_each(|l| l[gap.clone()].fill(Complex::default()));
            }
            self.plans[1].process_with_scratch(lines, &mut s.inner);
            for rows in write.clone() {
                // SAFETY: the plane is borrowed mutably, and the columns lie in it.
                unsafe {
                    let start = plane.as_mut_ptr().add(column.at);
                    scatter(lines, y.len, rows, start, pitch, column.count);
                }
            }
        }
    }

    /// The box's part of a row, in blocks of columns that lie together in the grid.
    fn row_blocks(&self) -> impl Iterator<Item = Block> + use<T> {
        self.axes[2].runs().into_iter().flat_map(|(places, at)| {
            let first = places.start;
            places.clone().step_by(BLOCK).map(move |place| Block {
                place,
                at: at + place - first,
                count: BLOCK.min(places.end - place),
            })
        })
    }

    /// Planes of one row are too little for a task.
    fn planes_a_task(&self) -> usize {
        (1usize << 12).div_ceil(self.strides[0])
    }

    fn check(&self, compact: usize, factors: &[Vec<T>; 3], grid: usize) {
        assert_eq!(compact, self.axes.iter().map(|a| a.count).product::<usize>());
        assert_eq!(grid, self.grid_len());
        assert!(factors.iter().zip(&self.axes).all(|(f, a)| f.len() == a.count));
    }
}

/// Neighbouring columns: their place in the box's row, and in the grid's.
#[derive(Clone, Copy)]
struct Block {
    place: usize,
    at: usize,
    count: usize,
}

trait Runs {
    /// Grid index of a place in the box.
    fn place(&self, place: usize) -> usize;
}

impl Runs for [(Range<usize>, usize); 2] {
    fn place(&self, place: usize) -> usize {
        let (run, at) = &self[usize::from(place >= self[0].0.end)];
        at + place - run.start
    }
}

/// Element l of line b is column b of row l, for all l in `rows`.
fn gather<T: Real>(
    grid: &[Complex<T>],
    start: usize,
    pitch: usize,
    rows: Range<usize>,
    lines: &mut [Complex<T>],
    len: usize,
    count: usize,
) {
    if count == BLOCK {
        for l in rows {
            let row: &[Complex<T>; BLOCK] = grid[start + l * pitch..].first_chunk().unwrap_or_else(|| unreachable!());
            row.iter().enumerate().for_each(|(b, v)| lines[b * len + l] = *v);
        }
    } else {
        for l in rows {
            let row = &grid[start + l * pitch..][..count];
            row.iter().enumerate().for_each(|(b, v)| lines[b * len + l] = *v);
        }
    }
}

/// The other way round.
///
/// # Safety
/// Columns `0..count` of all `rows` from `start` on, `pitch` apart, are the caller's to write.
unsafe fn scatter<T: Real>(
    lines: &[Complex<T>],
    len: usize,
    rows: Range<usize>,
    start: *mut Complex<T>,
    pitch: usize,
    count: usize,
) {
    for l in rows {
        // SAFETY: by the caller's contract.
        let row = unsafe { std::slice::from_raw_parts_mut(start.add(l * pitch), count) };
        row.iter_mut().enumerate().for_each(|(b, v)| *v = lines[b * len + l]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    type C = Complex<f64>;

    fn numbers(len: usize) -> Vec<C> {
        (0..len).map(|k| C::new((k as f64 * 1.7).sin(), (k as f64 * 0.9).cos())).collect()
    }

    /// Transform along each axis by its definition.
    fn direct(grid: &[C], [nz, ny, nx]: [usize; 3], sign: f64) -> Vec<C> {
        let mut grid = grid.to_vec();
        for (n, stride) in [(nx, 1), (ny, nx), (nz, nx * ny)] {
            let old = grid.clone();
            for (i, v) in grid.iter_mut().enumerate() {
                let k = i / stride % n;
                let root = |j: usize| C::from_polar(1.0, sign * 2.0 * PI * (j * k % n) as f64 / n as f64);
                *v = (0..n).map(|j| old[i - k * stride + j * stride] * root(j)).sum();
            }
        }
        grid
    }

    fn cases() -> Vec<([Axis; 3], [usize; 2])> {
        let axis = |len, start, count| Axis { len, start, count };
        vec![
            ([axis(12, 9, 6), axis(10, 8, 5), axis(36, 27, 19)], [440, 40]),
            ([axis(8, 0, 4), axis(6, 0, 3), axis(14, 0, 7)], [84, 14]),
            ([axis(4, 3, 1), axis(4, 0, 4), axis(6, 5, 2)], [90, 20]),
            ([axis(30, 20, 21), axis(1, 0, 1), axis(18, 10, 18)], [20, 20]),
        ]
    }

    #[test]
    fn boxes_match_sums() {
        for (axes, strides) in cases() {
            let ([z, y, x], lens, counts) = (axes, axes.map(|a| a.len), axes.map(|a| a.count));
            let factors = counts.map(|n| (0..n).map(|k| 1.0 + 0.1 * k as f64).collect::<Vec<f64>>());
            let inside: Vec<(usize, f64)> = (0..counts.iter().product())
                .map(|i| {
                    let [k, j, i] = [i / (counts[2] * counts[1]), i / counts[2] % counts[1], i % counts[2]];
                    let [gz, gy, gx] = [(z, k), (y, j), (x, i)].map(|(a, k)| (a.start + k) % a.len);
                    ((gz * y.len + gy) * x.len + gx, factors[0][k] * factors[1][j] * factors[2][i])
                })
                .collect();
            let compact = numbers(inside.len());
            // Where an element of the grid belongs; spare rows do not.
            let place = |i: usize| {
                let (z, row, column) = (i / strides[0], i % strides[0] / strides[1], i % strides[0] % strides[1]);
                (row < y.len).then(|| (z * y.len + row) * x.len + column % x.len)
            };
            let close = |a: C, b: C| assert!((a - b).norm() < 1e-10, "{axes:?}: {a} {b}");

            let fft = BoxFft::new(axes, strides, FftDirection::Forward).expect("a plan");
            let mut grid = vec![C::new(f64::NAN, f64::NAN); fft.grid_len()];
            fft.expand(&compact, &factors, &mut grid).expect("memory");
            let mut padded = vec![C::default(); lens.iter().product()];
            inside.iter().zip(&compact).for_each(|((at, factor), v)| padded[*at] = v * factor);
            let expected = direct(&padded, lens, -1.0);
            for (i, v) in grid.iter().enumerate() {
                if let Some(at) = place(i) {
                    close(*v, expected[at]);
                }
            }

            let fft = BoxFft::new(axes, strides, FftDirection::Inverse).expect("a plan");
            let mut grid = numbers(fft.grid_len());
            let mut folded = vec![C::default(); padded.len()];
            for (i, v) in grid.iter().enumerate() {
                if let Some(at) = place(i) {
                    folded[at] += v;
                }
            }
            let expected = direct(&folded, lens, 1.0);
            let mut seen = vec![C::default(); compact.len()];
            fft.crop(&mut grid, &factors, &mut seen).expect("memory");
            inside.iter().zip(&seen).for_each(|((at, factor), v)| close(*v, expected[*at] * factor));
        }
    }
}

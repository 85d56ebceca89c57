//! Spreading of points on lines: every point adds the values of all images, times the spreading function, to the cells that it
//! touches. Its taps are computed once for all images, which lie side by side in vectors.
//!
//! Tiles that never meet are done in parallel, straight onto the grid, in four rounds. A cell's terms come in an order that
//! depends on lines and tiles alone.

use super::line_grid::Segment;
use super::line_points::{LINE, LinePoints, with_vectors};
use crate::kernel::MAX_WIDTH;
use isocenter_base::cpu::buffer::append;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::prefetch::prefetch;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Lookup, Vector, dispatch};
use isocenter_base::error::Result;

/// Floats behind the last value, which vectors read.
pub(crate) const BEHIND: usize = 16;

/// Adds lines to the grid; values are `[line][point][image]`, and [`BEHIND`] floats.
pub(crate) fn spread(points: &LinePoints, values: &[f32], cells: &mut [f32]) -> Result<()> {
    assert!(values.len() >= points.values_len() + BEHIND && cells.len() >= points.grid_len());
    let (of_tiles, rows) = (points.tiles()?, points.rows()?);
    let [columns, lines] = points.grid.tiles();
    let cells = Shared::new(cells);
    for colour in 0..4 {
        let of_colour = |count: usize, parity: usize| (parity..count).step_by(2);
        let tiles = of_colour(lines, colour / 2).flat_map(|y| of_colour(columns, colour % 2).map(move |x| (y, x)));
        let mut tasks: Vec<&[Segment]> = Vec::new();
        for (y, x) in tiles {
            let segments = of_tiles.of(y * columns + x);
            if !segments.is_empty() {
                append(&mut tasks, segments)?;
            }
        }
        (0..tasks.len()).into_par_iter().with_max_len(1).for_each(|k| {
            let (segments, next) = (tasks[k], tasks.get(k + 1).copied().unwrap_or(&[]));
            dispatch(points.level, Task { points, segments, next, values, cells, rows: &rows });
        });
    }
    Ok(())
}

/// Segments that are spread one after the other.
struct Task<'a> {
    points: &'a LinePoints<'a>,
    segments: &'a [Segment],
    /// Those of the tile that this thread will come to, as a rule.
    next: &'a [Segment],
    values: &'a [f32],
    cells: Shared<'a, f32>,
    /// Offsets of rows, those behind the end at the beginning again.
    rows: &'a [usize],
}

/// Points whose taps are computed ahead, so that cells need not wait for them.
const AHEAD: usize = 16;
/// Zeros before a point's weights: as far as the cells of a vector reach, and one for its neighbour.
const BEFORE: usize = 8;

/// A point's first cell along x and y, and its weights from there on.
#[derive(Clone, Copy)]
struct Point {
    start: [usize; 2],
    value: *const f32,
    along_x: [f32; BEFORE + 2 * MAX_WIDTH + BEFORE],
    along_y: [f32; 1 + 2 * MAX_WIDTH],
}

impl Kernel<f32> for Task<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let (floats, width) = (self.points.floats(), self.points.taps.width());
        // SAFETY: by the caller's contract.
        unsafe {
            if floats >= V::Singles::LANES {
                with_vectors!(self, V::Singles, true, width + 1, 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
            } else {
                let cells = V::Singles::LANES / floats;
                with_vectors!(self, V::Singles, false, width.div_ceil(cells) + 1, 2 3 4 5 6 7 8 9);
            }
        }
    }
}

impl Task<'_> {
    /// Two neighbours touch nearly the same cells, which are read and written once for both: N vectors a row, of several cells each, or,
    /// if WIDE, N cells of one or more vectors. Vectors lie at multiples of their length, so that none meets a part of another that
    /// is on its way to memory.
    #[inline(always)]
    unsafe fn points<V: Lookup, const N: usize, const WIDE: bool>(self) {
        let Self { points, segments, values, .. } = self;
        let (width, floats) = (points.taps.width(), points.floats());
        let count = width.div_ceil(V::LANES);
        let zeros = [0.0f32; 2 * MAX_WIDTH];
        let none = Point {
            start: [0; 2],
            value: zeros.as_ptr(),
            along_x: [0.0; BEFORE + 2 * MAX_WIDTH + BEFORE],
            along_y: [0.0; 1 + 2 * MAX_WIDTH],
        };
        let mut ahead = [none; AHEAD];
        points.prefetch(self.next, self.rows, |at| self.cells.at(at));
        for (k, s) in segments.iter().enumerate() {
            let line = points.first_value(s);
            if let Some(next) = segments.get(k + 1) {
                let first = points.first_value(next);
                for at in (first * floats..(first + next.count as usize) * floats).step_by(LINE) {
                    prefetch(&values[at]);
                }
            }
            let mut done = 0;
            while done < s.count as usize {
                let some = &mut ahead[..AHEAD.min(s.count as usize - done)];
                for (i, p) in (done..).zip(some.iter_mut()) {
                    let place;
                    (p.start, place) = points.point(s, i);
                    // SAFETY: values are those of the lines; there is room for two vectors of weights; instructions by the caller's
                    // contract.
                    unsafe {
                        p.value = values.as_ptr().add((line + i) * floats);
                        points.taps.store::<V>(count, place[0], p.along_x.as_mut_ptr().add(BEFORE));
                        points.taps.store::<V>(count, place[1], p.along_y.as_mut_ptr().add(1));
                    }
                }
                let mut next = 0;
                while next < some.len() {
                    let p = &some[next];
                    let near = |q: &&Point| p.start.iter().zip(q.start).all(|(a, b)| a.abs_diff(b) <= 1);
                    let (q, taken) = match some.get(next + 1).filter(near) {
                        Some(q) => (q, 2),
                        None => (&Point { start: p.start, ..none }, 1),
                    };
                    // SAFETY: by the caller's contract; the points are of this task's tile.
                    unsafe { self.pair::<V, N, WIDE>([p, q]) };
                    next += taken;
                }
                done += some.len();
            }
        }
    }

    /// # Safety
    /// The points are of the task's tile, and at most a cell apart along x and y; the processor has the instructions of V.
    #[inline(always)]
    unsafe fn pair<V: Lookup, const N: usize, const WIDE: bool>(&self, pair: [&Point; 2]) {
        let (width, floats) = (self.points.taps.width(), self.points.floats());
        let (parts, stride) = if WIDE { (floats / V::LANES, floats) } else { (1, V::LANES) };
        let cells = if WIDE { 1 } else { V::LANES / floats };
        let [x, y] = [pair[0].start[0].min(pair[1].start[0]), pair[0].start[1].min(pair[1].start[1])];
        let x = x / cells * cells;
        // SAFETY: points of a tile touch rows of the grid and the room behind them, and these are the task's own; values have room
        // behind, and weights zeros on both sides; instructions by the caller's contract.
        unsafe {
            let zero = V::splat(0.0);
            // Not `map`, which costs the compiler a page for each kind of vector and number of images.
            let weights_x = |p: &Point| p.along_x.as_ptr().add(BEFORE - (p.start[0] - x));
            let weights_y = |p: &Point| p.along_y.as_ptr().add(1 - (p.start[1] - y));
            let along_x = [weights_x(pair[0]), weights_x(pair[1])];
            let along_y = [weights_y(pair[0]), weights_y(pair[1])];
            let rows = &self.rows[y..][..width + 1];
            for part in 0..parts {
                let mut lines = [[zero; N]; 2];
                for ((line, weights), p) in lines.iter_mut().zip(along_x).zip(pair) {
                    if WIDE {
                        let value = V::load(p.value.add(part * V::LANES));
                        for (c, l) in line.iter_mut().enumerate() {
                            *l = V::splat(*weights.add(c)).mul(value);
                        }
                    } else {
                        // Where lanes find their cell's weight, and their image's value.
                        let cell = V::of_index(V::ramp().mul(V::splat(1.0 / floats as f32)).truncate());
                        let value = V::window(p.value, cell.nfma(V::splat(floats as f32), V::ramp()).truncate());
                        let index = cell.truncate();
                        for (v, l) in line.iter_mut().enumerate() {
                            *l = V::window(weights.add(v * cells), index).mul(value);
                        }
                    }
                }
                for (r, row) in rows.iter().enumerate() {
                    let to = self.cells.at(*row + x * floats + part * V::LANES);
                    let weights = [V::splat(*along_y[0].add(r)), V::splat(*along_y[1].add(r))];
                    for (v, (first, second)) in lines[0].iter().zip(&lines[1]).enumerate() {
                        let to = to.add(v * stride);
                        second.fma(weights[1], first.fma(weights[0], V::load(to))).store(to);
                    }
                }
            }
        }
    }
}

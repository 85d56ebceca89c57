//! Spreading of points on lines: every point adds the values of all images, times the spreading function, to the cells that it
//! touches. Its taps are computed once for all images, which lie side by side in vectors.
//!
//! Tiles that never meet are done in parallel, straight onto the grid, in four rounds. A cell's terms come in an order that
//! depends on lines and tiles alone.

use super::line_grid::{LineGrid, Segment};
use super::taps::Taps;
use crate::cpu::buffer::{append, zeros};
use crate::cpu::level::Level;
use crate::cpu::shared::Shared;
use crate::cpu::simd::{Kernel, Lookup, Vector, dispatch};
use crate::error::Result;
use crate::nufft::kernel::MAX_WIDTH;
use rayon::prelude::*;

/// What the points of some lines share.
pub(in crate::nufft) struct LineSpread<'a> {
    pub(in crate::nufft) grid: &'a LineGrid,
    pub(in crate::nufft) taps: &'a Taps<f32>,
    /// Cells from point to point of each line.
    pub(in crate::nufft) steps: &'a [[f64; 2]],
    /// Points of a line are -half..=half.
    pub(in crate::nufft) half: i32,
    pub(in crate::nufft) images: usize,
    pub(in crate::nufft) level: Level,
}

impl LineSpread<'_> {
    /// Adds lines to the grid; values are `[line][point][image]`, and [`LineSpread::BEHIND`] floats.
    pub(in crate::nufft) fn run(&self, values: &[f32], cells: &mut [f32]) -> Result<()> {
        let (points, floats) = (2 * self.half as usize + 1, 2 * self.images);
        assert!(values.len() >= self.steps.len() * points * floats + Self::BEHIND);
        assert!(cells.len() >= self.grid.pitch(self.images) * self.grid.len[1] * floats);
        let (segments, ends) = self.sorted()?;
        let rows: Vec<usize> = {
            let [_, ny] = self.grid.len;
            let pitch = self.grid.pitch(self.images) * floats;
            (0..ny + self.grid.width).map(|y| y % ny * pitch).collect()
        };
        let [columns, lines] = self.grid.tiles();
        let cells = Shared::new(cells);
        for colour in 0..4 {
            let of_colour = |count: usize, parity: usize| (parity..count).step_by(2);
            let tiles = of_colour(lines, colour / 2).flat_map(|y| of_colour(columns, colour % 2).map(move |x| (y, x)));
            let mut tasks: Vec<&[Segment]> = Vec::new();
            for (y, x) in tiles {
                let tile = y * columns + x;
                if ends[tile] < ends[tile + 1] {
                    append(&mut tasks, &segments[ends[tile] as usize..ends[tile + 1] as usize])?;
                }
            }
            tasks.into_par_iter().with_max_len(1).for_each(|segments| {
                dispatch(self.level, Task { spread: self, segments, values, cells, rows: &rows });
            });
        }
        Ok(())
    }

    /// Floats behind the last value, which vectors read.
    pub(in crate::nufft) const BEHIND: usize = 16;

    /// All segments in the order of their tiles, those of tile t from the list's element t on.
    fn sorted(&self) -> Result<(Vec<Segment>, Vec<u32>)> {
        let lines: Vec<Result<Vec<Segment>>> = (self.steps.par_iter().enumerate())
            .map(|(line, step)| self.grid.segments(line as u32, *step, self.half))
            .collect();
        let lines = lines.into_iter().collect::<Result<Vec<_>>>()?;
        let tiles: usize = self.grid.tiles().iter().product();
        let mut ends: Vec<u32> = zeros(tiles + 2)?;
        lines.iter().flatten().for_each(|s| ends[s.tile as usize + 2] += 1);
        for t in 0..tiles {
            ends[t + 2] += ends[t + 1];
        }
        let mut segments = zeros::<Segment>(ends[tiles + 1] as usize)?;
        for s in lines.iter().flatten() {
            let next = &mut ends[s.tile as usize + 1];
            segments[*next as usize] = *s;
            *next += 1;
        }
        Ok((segments, ends))
    }
}

/// Segments that are spread one after the other.
struct Task<'a> {
    spread: &'a LineSpread<'a>,
    segments: &'a [Segment],
    values: &'a [f32],
    cells: Shared<'a, f32>,
    /// Offsets of rows, those behind the end at the beginning again.
    rows: &'a [usize],
}

/// Calls `$self.points::<V, N, WIDE>()` with the number of vectors as a constant.
macro_rules! with_vectors {
    ($self:ident, $v:ty, $wide:literal, $count:expr, $($n:literal)*) => {
        match $count {
            $($n => $self.points::<$v, $n, $wide>(),)*
            count => unreachable!("{count} vectors"),
        }
    };
}

impl Kernel<f32> for Task<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let (floats, width) = (2 * self.spread.images, self.spread.taps.width());
        // SAFETY: by the caller's contract.
        unsafe {
            if floats >= V::Singles::LANES {
                with_vectors!(self, V::Singles, true, width, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
            } else {
                let vectors = (floats * width).div_ceil(V::Singles::LANES);
                with_vectors!(self, V::Singles, false, vectors, 1 2 3 4 5 6 7 8);
            }
        }
    }
}

impl Task<'_> {
    /// A row of taps is N vectors of several cells each, or, if WIDE, N cells of whole vectors.
    #[inline(always)]
    unsafe fn points<V: Lookup, const N: usize, const WIDE: bool>(self) {
        let Self { spread, segments, values, cells, rows } = self;
        let (width, floats) = (spread.taps.width(), 2 * spread.images);
        let points = 2 * spread.half as usize + 1;
        let count = width.div_ceil(V::LANES);
        let parts = if WIDE { floats / V::LANES } else { 1 };
        let stride = if WIDE { floats } else { V::LANES };
        // SAFETY: points of a tile touch rows of the grid and the room behind them, and these are the task's own; values are those
        // of the lines, with room behind; instructions by the caller's contract.
        unsafe {
            let zero = V::splat(0.0);
            // Where lanes find their cell's weight, and their image's value.
            let cell_of = |v: usize| V::ramp().add(V::splat((v * V::LANES) as f32)).mul(V::splat(1.0 / floats as f32));
            let mut weight_of = [zero.truncate(); N];
            if !WIDE {
                for (v, index) in weight_of.iter_mut().enumerate() {
                    *index = cell_of(v).truncate();
                }
            }
            let value_of = V::of_index(cell_of(0).truncate()).nfma(V::splat(floats as f32), V::ramp()).truncate();
            for s in segments {
                let step = spread.steps[s.line as usize];
                let line = s.line as usize * points + (s.first + spread.half) as usize;
                for i in 0..s.count {
                    let f = f64::from(s.first + i as i32);
                    let value = values.as_ptr().add((line + i as usize) * floats);
                    let mut start = [0; 2];
                    // Weights along x and y, with zeros as far as vectors read.
                    let mut weights = [[0.0f32; 2 * MAX_WIDTH]; 2];
                    for axis in 0..2 {
                        let at = f * step[axis];
                        let first = LineGrid::first_cell(width, at);
                        start[axis] = (first as i64 - s.wrap[axis]) as usize;
                        let place = (2.0 * (first - at) + (width as f64 - 1.0)) as f32;
                        spread.taps.store::<V>(count, place, &mut weights[axis]);
                    }
                    let rows = &rows[start[1]..][..width];
                    let first = start[0] * floats;
                    for part in 0..parts {
                        let mut line = [zero; N];
                        if WIDE {
                            let value = V::load(value.add(part * V::LANES));
                            for (l, weight) in line.iter_mut().zip(&weights[0]) {
                                *l = V::splat(*weight).mul(value);
                            }
                        } else {
                            let value = V::window(value, value_of);
                            for (l, index) in line.iter_mut().zip(weight_of) {
                                let weight = if width > V::LANES {
                                    V::wide_window(weights[0].as_ptr(), index)
                                } else {
                                    V::window(weights[0].as_ptr(), index)
                                };
                                *l = weight.mul(value);
                            }
                        }
                        for (row, weight) in rows.iter().zip(&weights[1]) {
                            let to = cells.at(*row + first + part * V::LANES);
                            let weight = V::splat(*weight);
                            for (v, l) in line.iter().enumerate() {
                                let to = to.add(v * stride);
                                l.fma(weight, V::load(to)).store(to);
                            }
                        }
                    }
                }
            }
        }
    }
}

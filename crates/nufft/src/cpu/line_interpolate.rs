//! Interpolation at points on lines: of all images, which lie side by side in vectors, every point's value is the sum of the cells
//! that it touches, times the spreading function.
//!
//! Each column of cells is summed from row to row, and then the columns from the first to the last, whether a vector holds a part of a
//! cell or several cells: an image's values do not depend on how many there are beside it.

use super::line_grid::Segment;
use super::line_points::{LinePoints, with_vectors};
use crate::kernel::MAX_WIDTH;
use isocenter_base::cpu::buffer::append;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::error::Result;
use std::mem::MaybeUninit;

/// Values `[line][point][image]` of the lines from a grid whose rows go on behind their ends with their beginnings.
pub(crate) fn interpolate(points: &LinePoints, cells: &[f32], values: &mut [f32]) -> Result<()> {
    assert!(values.len() >= points.values_len() && cells.len() >= points.grid_len());
    let (tiles, rows) = (points.tiles()?, points.rows()?);
    let mut tasks: Vec<&[Segment]> = Vec::new();
    for tile in 0..points.grid.tiles().iter().product() {
        let segments = tiles.of(tile);
        if !segments.is_empty() {
            append(&mut tasks, segments)?;
        }
    }
    let values = Shared::new(values);
    (0..tasks.len()).into_par_iter().with_max_len(1).for_each(|k| {
        let (segments, next) = (tasks[k], tasks.get(k + 1).copied().unwrap_or(&[]));
        dispatch(points.level, Task { points, segments, next, cells, values, rows: &rows });
    });
    Ok(())
}

/// Segments of a tile.
struct Task<'a> {
    points: &'a LinePoints<'a>,
    segments: &'a [Segment],
    /// Those of the tile that this thread will come to, as a rule.
    next: &'a [Segment],
    cells: &'a [f32],
    values: Shared<'a, f32>,
    /// Offsets of rows, those behind the end at the beginning again.
    rows: &'a [usize],
}

impl Kernel<f32> for Task<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let (floats, width) = (self.points.floats(), self.points.taps.width());
        // SAFETY: by the caller's contract.
        unsafe {
            if floats >= V::Singles::LANES {
                with_vectors!(self, V::Singles, true, width, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
            } else {
                let cells = V::Singles::LANES / floats;
                with_vectors!(self, V::Singles, false, width.div_ceil(cells), 1 2 3 4 5 6 7 8);
            }
        }
    }
}

impl Task<'_> {
    /// N vectors a row, of several cells each, or, if WIDE, N cells of one or more vectors.
    #[inline(always)]
    unsafe fn points<V: Vector<Element = f32>, const N: usize, const WIDE: bool>(self) {
        let Self { points, segments, .. } = self;
        let (width, floats) = (points.taps.width(), points.floats());
        let count = width.div_ceil(V::LANES);
        points.prefetch(self.next, self.rows, |at| &raw const self.cells[at]);
        let mut weights = [[0.0; MAX_WIDTH]; 2];
        for s in segments {
            let first = points.first_value(s) * floats;
            for i in 0..s.count as usize {
                let ([x, y], place) = points.point(s, i);
                let rows = &self.rows[y..][..width];
                let to = self.values.at(first + i * floats);
                // SAFETY: a point's columns lie in the rows and what goes on behind them, and rows have room for the vectors of the last; a
                // value belongs to one point; there is room for the vectors of its weights; instructions by the caller's contract.
                unsafe {
                    for (weights, place) in weights.iter_mut().zip(place) {
                        points.taps.store::<V>(count, place, weights.as_mut_ptr());
                    }
                    let [along_x, along_y] = weights.each_ref().map(|w| &w[..width]);
                    let from = self.cells.as_ptr().add(x * floats);
                    if WIDE {
                        for part in (0..floats).step_by(V::LANES) {
                            let columns: [V; N] = columns(from.add(part), rows, along_y, floats);
                            let mut sum = V::splat(along_x[0]).mul(columns[0]);
                            for (weight, column) in along_x.iter().zip(columns).skip(1) {
                                sum = sum.add(V::splat(*weight).mul(column));
                            }
                            sum.store(to.add(part));
                        }
                    } else {
                        let columns: [V; N] = columns(from, rows, along_y, V::LANES);
                        let mut apart = [const { MaybeUninit::<[f32; MAX_LANES]>::uninit() }; N];
                        let apart = apart.as_mut_ptr().cast::<f32>();
                        for (v, column) in columns.into_iter().enumerate() {
                            column.store(apart.add(v * V::LANES));
                        }
                        match floats {
                            2 => sum::<2>(apart, along_x, to),
                            4 => sum::<4>(apart, along_x, to),
                            8 => sum::<8>(apart, along_x, to),
                            floats => unreachable!("{floats} floats"),
                        }
                    }
                }
            }
        }
    }
}

/// Lanes of the longest vector.
const MAX_LANES: usize = 16;

/// Sums of N vectors of every row, `stride` floats apart, times the rows' weights.
///
/// # Safety
/// The vectors are readable; the processor has the instructions of V.
#[inline(always)]
unsafe fn columns<V: Vector<Element = f32>, const N: usize>(
    from: *const f32,
    rows: &[usize],
    weights: &[f32],
    stride: usize,
) -> [V; N] {
    // SAFETY: by the caller's contract.
    unsafe {
        let mut sums = [V::splat(0.0); N];
        for (row, weight) in rows.iter().zip(weights) {
            let (row, weight) = (from.add(*row), V::splat(*weight));
            for (v, sum) in sums.iter_mut().enumerate() {
                *sum = weight.fma(V::load(row.add(v * stride)), *sum);
            }
        }
        sums
    }
}

/// The sum of columns of F floats times their weights.
///
/// # Safety
/// There is a column for each weight, and `to` has room for one.
#[inline(always)]
unsafe fn sum<const F: usize>(columns: *const f32, weights: &[f32], to: *mut f32) {
    // SAFETY: by the caller's contract.
    let column = |c: usize| unsafe { columns.add(c * F).cast::<[f32; F]>().read() };
    let mut sum = column(0).map(|v| weights[0] * v);
    for (c, weight) in weights.iter().enumerate().skip(1) {
        sum.iter_mut().zip(column(c)).for_each(|(sum, v)| *sum += weight * v);
    }
    // SAFETY: as above.
    unsafe { to.cast::<[f32; F]>().write(sum) }
}

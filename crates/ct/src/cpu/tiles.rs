//! A slice in squares, and the terms that a square sums.

use super::groups::Lanes;
use super::single::Spread;
use super::term::{Grid, RowLayout, Term};
use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::append;
use isocenter_base::error::Result;

/// Where a pixel reads one view, in samples, and the slope of its tent, 1 / reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewLine {
    pub(super) origin: f64,
    pub(super) dx: f64,
    pub(super) dy: f64,
    pub(super) slope: f32,
}

/// A slice in squares.
pub(super) struct Tiles {
    lanes: Lanes,
    pub(super) side: usize,
    pub(super) columns: usize,
    ny: usize,
    nx: usize,
}

/// One square, smaller at the slice's edges.
pub(super) struct Tile {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) side: usize,
}

impl Tile {
    /// A row of a slice alone, whose sums are in two sets; or adds it to what is there.
    pub(super) fn single_row(&self, sums: &[f32], r: usize, add: bool, row: &mut [f32]) {
        let (by_rows, by_columns) = sums.split_at(self.side * self.side);
        let columns = by_columns[r..].iter().step_by(self.side);
        for ((out, a), b) in row.iter_mut().zip(&by_rows[r * self.side..]).zip(columns) {
            *out = a + b + if add { *out } else { 0.0 };
        }
    }
}

impl Tiles {
    pub(super) fn new(geometry: &Geometry, lanes: Lanes) -> Self {
        let side = if lanes == Lanes::Alone { 64 } else { 32 };
        Self { lanes, side, columns: geometry.nx.div_ceil(side), ny: geometry.ny, nx: geometry.nx }
    }

    pub(super) fn count(&self) -> usize {
        self.columns * self.ny.div_ceil(self.side)
    }

    /// Floats of a square's sums; a slice alone has two sets, by rows and by columns.
    pub(super) fn floats(&self) -> usize {
        let sets = match self.lanes {
            Lanes::Alone => 2,
            Lanes::Side(slices) => slices,
        };
        self.side * self.side * sets
    }

    pub(super) fn tile(&self, k: usize) -> Tile {
        let (x, y) = (k % self.columns * self.side, k / self.columns * self.side);
        Tile { x, y, columns: self.side.min(self.nx - x), rows: self.side.min(self.ny - y), side: self.side }
    }
}

/// A tile's terms, apart by what the kernel needs: for a slice alone, lanes along rows or columns, by spread.
#[derive(Default)]
pub(super) struct Terms<'a> {
    pub(super) lists: [Vec<Term<'a>>; 6],
}

impl<'a> Terms<'a> {
    pub(super) const SPREADS: [Spread; 3] = [Spread::Narrow, Spread::Wide, Spread::Any];

    pub(super) fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn push(
        &mut self,
        layout: &RowLayout,
        row: &'a [f32],
        line: &ViewLine,
        tile: &Tile,
        taps: usize,
    ) -> Result<()> {
        let first = line.origin + tile.x as f64 * line.dx + tile.y as f64 * line.dy;
        // Lanes run along the direction in which the position changes less, so that their window is narrow.
        let columns = layout.lanes == Lanes::Alone && line.dx.abs() > line.dy.abs();
        let grid = if columns {
            Grid { first, across: line.dx, along: line.dy, rows: tile.columns, len: tile.rows }
        } else {
            Grid { first, across: line.dy, along: line.dx, rows: tile.rows, len: tile.columns }
        };
        let Some(term) = layout.term(row, grid, taps, line.slope) else { return Ok(()) };
        let spread = match layout.lanes {
            Lanes::Alone if layout.inside(grid, taps) => Spread::of(grid.along),
            Lanes::Alone => Spread::Any,
            Lanes::Side(_) => Spread::Narrow,
        };
        append(&mut self.lists[usize::from(columns) * 3 + spread as usize], term)
    }
}

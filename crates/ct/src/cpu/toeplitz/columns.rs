//! Columns of a plane as lines of their own, and back, in tiles that registers hold.

use isocenter_base::cpu::prefetch::prefetch;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::Plain;
use rustfft::num_complex::Complex;
use std::ops::Range;

pub(super) type C = Complex<f32>;

/// Rows and columns of a tile.
const TILE: usize = 4;
/// Rows are far apart: they are asked for so many ahead.
const AHEAD: usize = 16;

/// Some columns of a plane's rows.
pub(super) struct Part<'a> {
    pub(super) plane: Shared<'a, C>,
    /// Numbers from row to row.
    pub(super) pitch: usize,
    pub(super) columns: Range<usize>,
    pub(super) rows: usize,
}

impl Part<'_> {
    /// # Safety
    /// The columns are the caller's, and the row is not held elsewhere.
    #[inline(always)]
    unsafe fn row<'r>(&self, y: usize) -> &'r mut [C] {
        let first = self.plane.at(y * self.pitch + self.columns.start);
        // SAFETY: by this function's contract; columns lie in the plane.
        unsafe { std::slice::from_raw_parts_mut(first, self.columns.len()) }
    }

    /// Asks for some rows further on, as far as there are any.
    ///
    /// # Safety
    /// As for `row`.
    #[inline(always)]
    unsafe fn ahead(&self, y: usize) {
        for y in y + AHEAD..(y + AHEAD + TILE).min(self.rows) {
            // SAFETY: by this function's contract.
            unsafe { self.row(y) }.iter().step_by(8).for_each(|v| prefetch(v));
        }
    }
}

#[inline(always)]
fn turned(rows: [&[C; TILE]; TILE]) -> [[C; TILE]; TILE] {
    std::array::from_fn(|c| std::array::from_fn(|r| rows[r][c]))
}

#[inline(always)]
fn tile(row: &[C]) -> &[C; TILE] {
    row.first_chunk().unwrap_or_else(|| unreachable!("columns come in multiples of {TILE}"))
}

/// Columns to lines.
pub(super) struct ToLines<'a> {
    part: &'a Part<'a>,
    lines: &'a mut [C],
    apart: usize,
}

impl<'a> ToLines<'a> {
    /// # Safety
    /// The part's columns are the caller's.
    pub(super) unsafe fn new(part: &'a Part<'a>, lines: &'a mut [C], apart: usize) -> Self {
        Self { part, lines, apart }
    }
}

impl Plain for ToLines<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { part, lines, apart } = self;
        // SAFETY: by the contract of `new`; rows are read alone.
        let row = |y: usize| -> &[C] { unsafe { part.row(y) } };
        let whole = part.rows / TILE * TILE;
        for y in (0..whole).step_by(TILE) {
            // SAFETY: as above.
            unsafe { part.ahead(y) };
            let rows: [&[C]; TILE] = std::array::from_fn(|r| row(y + r));
            for c in (0..part.columns.len()).step_by(TILE) {
                for (k, of_line) in turned(rows.map(|row| tile(&row[c..]))).iter().enumerate() {
                    lines[(c + k) * apart + y..][..TILE].copy_from_slice(of_line);
                }
            }
        }
        for y in whole..part.rows {
            row(y).iter().enumerate().for_each(|(c, v)| lines[c * apart + y] = *v);
        }
    }
}

/// Lines back to columns.
pub(super) struct FromLines<'a> {
    part: &'a Part<'a>,
    lines: &'a [C],
    apart: usize,
}

impl<'a> FromLines<'a> {
    /// # Safety
    /// The part's columns are the caller's.
    pub(super) unsafe fn new(part: &'a Part<'a>, lines: &'a [C], apart: usize) -> Self {
        Self { part, lines, apart }
    }
}

impl Plain for FromLines<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { part, lines, apart } = self;
        // SAFETY: by the contract of `new`; one row is held at a time.
        let row = |y: usize| -> &mut [C] { unsafe { part.row(y) } };
        let whole = part.rows / TILE * TILE;
        for y in (0..whole).step_by(TILE) {
            // SAFETY: as above.
            unsafe { part.ahead(y) };
            for c in (0..part.columns.len()).step_by(TILE) {
                let of_lines: [&[C; TILE]; TILE] = std::array::from_fn(|k| tile(&lines[(c + k) * apart + y..]));
                for (r, of_row) in turned(of_lines).iter().enumerate() {
                    row(y + r)[c..][..TILE].copy_from_slice(of_row);
                }
            }
        }
        for y in whole..part.rows {
            row(y).iter_mut().enumerate().for_each(|(c, v)| *v = lines[c * apart + y]);
        }
    }
}

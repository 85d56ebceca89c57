//! What both kernels sum: terms, each a row of packed samples read along a straight line of positions.

use super::groups::Lanes;
use isocenter_base::cpu::simd::Lookup;
use std::marker::PhantomData;

/// Elements that [`super::single`] sums in registers; every grid's rows are a multiple of this long in memory.
pub(super) const BLOCK: usize = 64;
/// Maximum number of samples that its windows read, at any level.
pub(super) const WINDOW: usize = 34;
/// Zeros on both sides of a row, so that windows partly outside need no clamping.
pub(super) const PAD: usize = 128;

/// How a position between samples is read. Position x falls in cell k = floor(x), fraction t = x - k.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Taps {
    /// Sample k. (The position carries the half sample that makes it the nearest.)
    Nearest,
    /// Samples k and k + 1, weighted 1 - t and t.
    Linear,
    /// Samples k to k + taps - 1, sample k + i weighted max(0, 1 - |i + 1 - reach - t| / reach): a tent of half-width
    /// `reach` about x + reach - 1.
    Tent { taps: usize },
}

impl Taps {
    /// Samples read from the cell on.
    pub(super) fn count(self) -> usize {
        match self {
            Taps::Nearest => 1,
            Taps::Linear => 2,
            Taps::Tent { taps } => taps,
        }
    }
}

/// One row of samples and the positions at which a grid of elements reads it: element e of row r reads position
/// `start + r * across + e * along`, in samples from `data`. Made by [`RowLayout::term`] and [`RowLayout::lines`] alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term<'a> {
    /// Somewhere about the row, which is borrowed: the kernels add positions to it.
    pub(super) data: *const f32,
    row: PhantomData<&'a [f32]>,
    pub(super) start: f64,
    pub(super) across: f64,
    pub(super) along: f64,
    /// Some positions lie outside the row.
    pub(super) clamped: bool,
    /// Positions are clamped to these; cells there read only padding, which is zero.
    pub(super) low: f32,
    pub(super) high: f32,
    /// 1 / half-width of a tent.
    pub(super) slope: f32,
}

// SAFETY: a term is a shared borrow of floats, with numbers.
unsafe impl Send for Term<'_> {}

/// Weight of tap `tap` of a tent of slope 1 / reach, at a fraction `t` of a cell: with u = (tap + 1 - t) slope, the lower of its
/// flanks u and 2 - u, at least 0.
#[inline(always)]
pub(crate) unsafe fn tent<V: Lookup>(tap: usize, slope: f32, t: V) -> V {
    // SAFETY: by the caller's contract: the processor has the instructions of V.
    unsafe {
        let u = V::fma(t, V::splat(-slope), V::splat((tap as f32 + 1.0) * slope));
        V::max(V::min(u, V::sub(V::splat(2.0), u)), V::splat(0.0))
    }
}

/// Positions of a run of neighbouring elements, relative to a cell at or below all of them: small numbers, so that f32 keeps
/// them to 1e-6 of a sample however long the row is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) cell: i32,
    pub(super) first: f32,
}

impl Term<'_> {
    /// Elements e to e + LEN - 1 of row r.
    #[inline(always)]
    pub(super) fn run<const LEN: usize>(&self, r: usize, e: usize) -> Run {
        let first = self.start + r as f64 * self.across + e as f64 * self.along;
        let min = first + self.along.min(0.0) * (LEN - 1) as f64;
        // SAFETY: positions lie within the tile's span of `start`, far below 2^31: its sides are at most 64 elements, and
        // steps at most 4096 samples.
        let cell = unsafe { min.to_int_unchecked::<i32>() };
        Run { cell, first: (first - f64::from(cell)) as f32 }
    }
}

/// Rows of samples with zeros on both sides: `pitch` samples of `lanes` floats a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowLayout {
    pub(super) samples: usize,
    pub(super) pad: usize,
    pub(super) lanes: Lanes,
}

impl RowLayout {
    /// Padding wide enough for `taps` (and for the windows that [`super::single`] reads where a slice is alone).
    pub(super) fn new(samples: usize, taps: usize, lanes: Lanes) -> Self {
        let pad = if lanes == Lanes::Alone { PAD + taps } else { taps };
        Self { samples, pad, lanes }
    }

    /// Floats from one row to the next, in whole cache lines.
    pub(super) fn pitch(&self) -> usize {
        ((self.samples + 2 * self.pad) * self.lanes.count()).next_multiple_of(16)
    }

    /// A grid of `rows` x `len` elements whose position at (0, 0) is `first` (samples, any size), as a term; None where every
    /// element reads only zeros. The term is made relative to the lowest cell.
    pub(super) fn term<'a>(&self, row: &'a [f32], grid: Grid, taps: usize, slope: f32) -> Option<Term<'a>> {
        assert!(row.len() >= self.pitch() && taps <= self.pad, "{} floats, {taps} taps: {self:?}", row.len());
        let Grid { first, across, along, rows, len } = grid;
        let (dr, de) = (across * (rows - 1) as f64, along * (len - 1) as f64);
        let min = first + dr.min(0.0) + de.min(0.0);
        let max = first + dr.max(0.0) + de.max(0.0);
        if min >= self.samples as f64 || max < -(taps as f64) {
            return None;
        }
        let base = min.floor();
        let cell = base as isize;
        Some(Term {
            data: row.as_ptr().wrapping_offset((self.pad as isize + cell) * self.lanes.count() as isize),
            row: PhantomData,
            start: first - base,
            across,
            along,
            clamped: min < -(taps as f64) || max > self.samples as f64,
            low: (-(taps as f64) - base) as f32,
            high: (self.samples as f64 - base) as f32,
            slope,
        })
    }

    /// A grid over as many lines as it has rows: row r of the grid reads line r alone. Terms of one row each.
    pub(super) fn lines<'a>(
        &self,
        lines: &'a [f32],
        grid: Grid,
        taps: usize,
        slope: f32,
    ) -> Option<impl Iterator<Item = Term<'a>>> {
        let (pitch, rows) = (self.pitch(), grid.rows);
        assert!(lines.len() >= rows * pitch, "{} floats for {rows} lines: {self:?}", lines.len());
        let base = self.term(lines, grid, taps, slope)?;
        Some((0..rows).map(move |l| Term {
            data: base.data.wrapping_add(l * pitch),
            start: base.start + l as f64 * base.across,
            across: 0.0,
            ..base
        }))
    }

    /// Whether [`super::single`] may read the term's windows without clamping.
    pub(super) fn inside(&self, grid: Grid, taps: usize) -> bool {
        let Grid { first, across, along, rows, len } = grid;
        let (dr, de) = (across * (rows - 1) as f64, along * (len - 1) as f64);
        // Elements beyond `len`, up to a whole vector block, are computed too and thrown away.
        let spare = along * BLOCK as f64;
        let min = first + dr.min(0.0) + (de + spare).min(0.0);
        let max = first + dr.max(0.0) + (de + spare).max(0.0);
        let room = (self.pad - taps) as f64 - WINDOW as f64;
        min >= -room && max <= self.samples as f64 + room
    }
}

/// Positions of a grid of elements, in f64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) first: f64,
    pub(super) across: f64,
    pub(super) along: f64,
    pub(super) rows: usize,
    pub(super) len: usize,
}

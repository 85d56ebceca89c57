//! One slice: neighbouring elements in SIMD lanes. Their positions lie close together, so one contiguous load and a lane
//! permutation replace a gather.

use super::term::{BLOCK, Run, Taps, Term, tent};
use isocenter_base::cpu::simd::{Kernel, Lookup, Vector};

/// How far apart neighbouring elements' positions are: what the widest lanes' window must span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Spread {
    /// Up to one sample an element: a window of LANES.
    Narrow,
    /// Up to two: a window of 2 LANES.
    Wide,
    /// Anything, clamped: a gather.
    Any,
}

impl Spread {
    /// The cheapest that serves a step of `along` samples an element.
    pub(super) fn of(along: f64) -> Self {
        // A little under 1 and 2, since positions are rounded.
        match along.abs() {
            a if a <= 0.98 => Spread::Narrow,
            a if a <= 1.98 => Spread::Wide,
            _ => Spread::Any,
        }
    }
}

/// Adds terms to a grid of sums, `sums[r * stride + e]`; `len` is a multiple of BLOCK, elements beyond the caller's own are
/// computed for nothing. All terms are of one spread.
pub(super) struct Single<'a> {
    terms: &'a [Term<'a>],
    taps: Taps,
    spread: Spread,
    rows: usize,
    len: usize,
    stride: usize,
    sums: &'a mut [f32],
}

impl<'a> Single<'a> {
    /// # Safety
    /// The terms were made for `taps`, a layout of one lane and a grid of `rows` x `len` elements or more, those beyond its own end
    /// up to a whole BLOCK left out; `spread` is that of all of them, and unless it is `Any`, [`RowLayout::inside`] holds.
    ///
    /// [`RowLayout::inside`]: super::term::RowLayout::inside
    pub(super) unsafe fn new(
        terms: &'a [Term<'a>],
        (taps, spread): (Taps, Spread),
        [rows, len]: [usize; 2],
        stride: usize,
        sums: &'a mut [f32],
    ) -> Self {
        assert!(len.is_multiple_of(BLOCK), "{len} elements");
        let floats = (rows.max(1) - 1) * stride + len;
        assert!(sums.len() >= floats, "{} floats for {rows} x {len} elements", sums.len());
        Self { terms, taps, spread, rows, len, stride, sums }
    }
}

impl Kernel<f32> for Single<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        // SAFETY: the dispatcher enabled the instructions of V.
        unsafe {
            match V::LANES {
                8 => self.spread::<V::Singles, 8>(),
                _ => self.spread::<V::Singles, 4>(),
            }
        }
    }
}

impl Single<'_> {
    #[inline(always)]
    unsafe fn spread<V: Lookup, const N: usize>(self) {
        // SAFETY: by the caller's contract.
        unsafe {
            match self.spread {
                Spread::Narrow => self.taps::<V, N, 0>(),
                Spread::Wide => self.taps::<V, N, 1>(),
                Spread::Any => self.taps::<V, N, 2>(),
            }
        }
    }

    #[inline(always)]
    unsafe fn taps<V: Lookup, const N: usize, const SPREAD: usize>(self) {
        // SAFETY: by the caller's contract.
        unsafe {
            match self.taps {
                Taps::Nearest => self.blocks::<V, N, SPREAD, 0>(1),
                Taps::Linear => self.blocks::<V, N, SPREAD, 2>(2),
                // Of a half-width between half a sample and a whole one, as where pixels are as wide as bins.
                Taps::Tent { taps: 2 } if self.terms.iter().all(|t| (1.0..=2.0).contains(&t.slope)) => {
                    self.blocks::<V, N, SPREAD, 3>(2)
                }
                Taps::Tent { taps: 2 } => self.blocks::<V, N, SPREAD, 4>(2),
                Taps::Tent { taps } => self.blocks::<V, N, SPREAD, 4>(taps),
            }
        }
    }

    /// `SPREAD`: 0 narrow, 1 wide, 2 any. `KIND`: 0 nearest, 2 linear, 3 tent of slopes between 1 and 2, 4 tent.
    #[inline(always)]
    unsafe fn blocks<V: Lookup, const N: usize, const SPREAD: usize, const KIND: usize>(self, taps: usize) {
        let mut windows = Windows::EMPTY;
        for r in 0..self.rows {
            for e0 in (0..self.len).step_by(BLOCK) {
                let at = self.sums[r * self.stride + e0..].as_mut_ptr();
                // SAFETY: `sums` holds a whole block here, as `new` checks; terms stay inside their rows, as their maker
                // checked for this spread.
                unsafe {
                    let mut sum = [V::splat(0.0); N];
                    for (n, sum) in sum.iter_mut().enumerate() {
                        *sum = V::load(at.add(n * V::LANES));
                    }
                    for terms in self.terms.chunks(TERMS) {
                        // All windows first: their chain of dependent steps is long, and would hold up the sums.
                        windows.find::<V, N, SPREAD>(terms, r, e0);
                        for (k, term) in terms.iter().enumerate() {
                            add::<V, N, SPREAD, KIND>(term, (&windows, k), taps, &mut sum);
                        }
                    }
                    for (n, s) in sum.iter().enumerate() {
                        V::store(*s, at.add(n * V::LANES));
                    }
                }
            }
        }
    }
}

/// Where a block of elements reads some terms, term beside term, so that vectors find them for several at a time.
struct Windows {
    runs: [Run; TERMS],
    /// Of the first element.
    first: [f32; TERMS],
    along: [f32; TERMS],
    /// Of each of the block's vectors: the lowest sample, and the first lane's position from there.
    start: [[i32; TERMS]; VECTORS],
    at: [[f32; TERMS]; VECTORS],
}

/// Terms whose windows are found together: a multiple of the widest vectors' lanes.
const TERMS: usize = 16;
/// Vectors of a block, where they are narrow.
const VECTORS: usize = 8;

impl Windows {
    const EMPTY: Self = Self {
        runs: [Run { cell: 0, first: 0.0 }; TERMS],
        first: [0.0; TERMS],
        along: [0.0; TERMS],
        start: [[0; TERMS]; VECTORS],
        at: [[0.0; TERMS]; VECTORS],
    };

    /// Up to TERMS terms; what is beyond them stays of others, and is not read.
    #[inline(always)]
    unsafe fn find<V: Lookup, const N: usize, const SPREAD: usize>(&mut self, terms: &[Term], r: usize, e0: usize) {
        for (k, term) in terms.iter().enumerate() {
            let run = term.run::<BLOCK>(r, e0);
            (self.runs[k], self.first[k], self.along[k]) = (run, run.first, term.along as f32);
        }
        if SPREAD == 2 {
            return;
        }
        for k in (0..TERMS).step_by(V::LANES) {
            // SAFETY: by the caller's contract; the arrays hold whole vectors.
            unsafe {
                let (first, along) = (V::load(self.first[k..].as_ptr()), V::load(self.along[k..].as_ptr()));
                let back = V::mul(V::min(along, V::splat(0.0)), V::splat((V::LANES - 1) as f32));
                for (n, (start, at)) in self.start.iter_mut().zip(&mut self.at).take(N).enumerate() {
                    let first = V::fma(along, V::splat((n * V::LANES) as f32), first);
                    let cell = V::truncate(V::add(first, back));
                    V::store_index(cell, start[k..].as_mut_ptr());
                    V::store(V::sub(first, V::of_index(cell)), at[k..].as_mut_ptr());
                }
            }
        }
    }
}

/// Adds one term to a block's sums.
#[inline(always)]
unsafe fn add<V: Lookup, const N: usize, const SPREAD: usize, const KIND: usize>(
    term: &Term,
    (windows, k): (&Windows, usize),
    taps: usize,
    sum: &mut [V; N],
) {
    let run = windows.runs[k];
    // SAFETY: by the caller's contract.
    unsafe {
        // It may lie outside the row, where positions are clamped.
        let data = term.data.wrapping_offset(run.cell as isize);
        let along = V::splat(windows.along[k]);
        for (n, s) in sum.iter_mut().enumerate() {
            // Positions from the vector's own window on, so that their cells are the lanes to take from it.
            let (start, at) = if SPREAD == 2 {
                let at = V::fma(V::add(V::ramp(), V::splat((n * V::LANES) as f32)), along, V::splat(run.first));
                let (low, high) = (term.low - run.cell as f32, term.high - run.cell as f32);
                (0, V::min(V::max(at, V::splat(low)), V::splat(high)))
            } else {
                (windows.start[n][k] as isize, V::fma(V::ramp(), along, V::splat(windows.at[n][k])))
            };
            let index = V::truncate(at);
            let fraction = V::sub(at, V::of_index(index));
            let window = data.wrapping_offset(start);
            let sample = |tap: usize| match SPREAD {
                0 => V::window(window.add(tap), index),
                1 => V::wide_window(window.add(tap), index),
                _ => V::gather(window.wrapping_add(tap), index),
            };
            match KIND {
                0 => *s = V::add(*s, sample(0)),
                2 => {
                    let (a, b) = (sample(0), sample(1));
                    *s = V::fma(V::sub(b, a), fraction, V::add(*s, a));
                }
                3 => {
                    // The second sample lies on the far flank, u >= 1; the first has weight, u > 0 and 2 - u >= 0. See `tent`.
                    let slope = V::splat(term.slope);
                    let near = V::fma(fraction, V::splat(-term.slope), slope);
                    let far = V::fma(fraction, slope, V::splat(2.0 - term.slope));
                    let second = V::fma(fraction, slope, V::splat(2.0 - 2.0 * term.slope));
                    *s = V::fma(V::min(near, far), sample(0), *s);
                    *s = V::fma(V::max(second, V::splat(0.0)), sample(1), *s);
                }
                _ => {
                    for tap in 0..taps {
                        *s = V::fma(tent::<V>(tap, term.slope, fraction), sample(tap), *s);
                    }
                }
            }
        }
    }
}

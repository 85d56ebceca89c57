//! One slice: neighbouring elements in SIMD lanes. Their positions lie close together, so one contiguous load and a lane
//! permutation replace a gather.

use super::term::{Taps, Term};
use crate::cpu::simd::{Kernel, Simd};

/// Elements summed in registers; every grid's rows are a multiple of this long in memory.
pub(in crate::ct) const BLOCK: usize = 32;
/// Most samples that a window reads, at any level.
pub(in crate::ct) const WINDOW: usize = 34;
/// Zeros on both sides of a row, so that windows partly outside need no clamping.
pub(in crate::ct) const PAD: usize = 128;

/// How far apart neighbouring elements' positions are: what the widest lanes' window must span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::ct) enum Spread {
    /// Up to one sample an element: a window of LANES.
    Narrow,
    /// Up to two: a window of 2 LANES.
    Wide,
    /// Anything, clamped: a gather.
    Any,
}

impl Spread {
    /// The cheapest that serves a step of `along` samples an element.
    pub(in crate::ct) fn of(along: f64) -> Self {
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
pub(in crate::ct) struct Single<'a> {
    pub(in crate::ct) terms: &'a [Term],
    pub(in crate::ct) taps: Taps,
    pub(in crate::ct) spread: Spread,
    pub(in crate::ct) rows: usize,
    pub(in crate::ct) len: usize,
    pub(in crate::ct) stride: usize,
    pub(in crate::ct) sums: &'a mut [f32],
}

impl Kernel for Single<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        debug_assert!(self.len.is_multiple_of(BLOCK));
        debug_assert!(self.sums.len() >= (self.rows - 1) * self.stride + self.len);
        // SAFETY: the dispatcher enabled the instructions of S.
        unsafe {
            match S::LANES {
                8 => self.spread::<S, 4>(),
                _ => self.spread::<S, 2>(),
            }
        }
    }
}

impl Single<'_> {
    #[inline(always)]
    unsafe fn spread<S: Simd, const N: usize>(self) {
        // SAFETY: by the caller's contract.
        unsafe {
            match self.spread {
                Spread::Narrow => self.taps::<S, N, 0>(),
                Spread::Wide => self.taps::<S, N, 1>(),
                Spread::Any => self.taps::<S, N, 2>(),
            }
        }
    }

    #[inline(always)]
    unsafe fn taps<S: Simd, const N: usize, const SPREAD: usize>(self) {
        // SAFETY: by the caller's contract.
        unsafe {
            match self.taps {
                Taps::Nearest => self.blocks::<S, N, SPREAD, 0>(1),
                Taps::Linear => self.blocks::<S, N, SPREAD, 2>(2),
                Taps::Tent { taps } => self.blocks::<S, N, SPREAD, 4>(taps),
            }
        }
    }

    /// `SPREAD`: 0 narrow, 1 wide, 2 any. `KIND`: 0 nearest, 2 linear, 4 tent.
    #[inline(always)]
    unsafe fn blocks<S: Simd, const N: usize, const SPREAD: usize, const KIND: usize>(self, taps: usize) {
        for r in 0..self.rows {
            for e0 in (0..self.len).step_by(BLOCK) {
                let at = self.sums[r * self.stride + e0..].as_mut_ptr();
                // SAFETY: `sums` holds a whole block here, as `run` checks; terms stay inside their rows, as their maker
                // checked for this spread.
                unsafe {
                    let mut sum: [S::F; N] = std::array::from_fn(|n| S::load(at.add(n * S::LANES)));
                    for term in self.terms {
                        add::<S, N, SPREAD, KIND>(term, r, e0, taps, &mut sum);
                    }
                    for (n, s) in sum.iter().enumerate() {
                        S::store(at.add(n * S::LANES), *s);
                    }
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn add<S: Simd, const N: usize, const SPREAD: usize, const KIND: usize>(
    term: &Term,
    r: usize,
    e0: usize,
    taps: usize,
    sum: &mut [S::F; N],
) {
    // SAFETY: by the caller's contract.
    unsafe {
        let run = term.run::<BLOCK>(r, e0);
        let (first, along) = (S::splat(run.first), S::splat(term.along as f32));
        let data = term.data.offset(run.cell as isize);
        // Positions rise or fall along the lanes; the window begins at the lowest.
        let back = match SPREAD {
            _ if term.along >= 0.0 => 0,
            0 => S::LANES as i32 - 1,
            _ => 2 * S::LANES as i32 - 1,
        };
        for (n, s) in sum.iter_mut().enumerate() {
            let mut at = S::fma(S::add(S::ramp(), S::splat((n * S::LANES) as f32)), along, first);
            if SPREAD == 2 {
                at = S::min(S::max(at, S::splat(term.low - run.cell as f32)), S::splat(term.high - run.cell as f32));
            }
            let cell = S::truncate(at);
            let fraction = S::sub(at, S::to_float(cell));
            let start = if SPREAD == 2 { 0 } else { S::first(cell) - back };
            let index = S::sub_i(cell, S::splat_i(start));
            let window = data.offset(start as isize);
            let sample = |tap: usize| match SPREAD {
                0 => S::window(window.add(tap), index),
                1 => S::wide_window(window.add(tap), index),
                _ => S::gather(window.add(tap), index),
            };
            match KIND {
                0 => *s = S::add(*s, sample(0)),
                2 => {
                    let (a, b) = (sample(0), sample(1));
                    *s = S::fma(S::sub(b, a), fraction, S::add(*s, a));
                }
                _ => {
                    let (slope, shift) = (S::splat(1.0 / term.reach), S::splat(1.0 - term.reach));
                    for tap in 0..taps {
                        let away = S::sub(S::add(S::splat(tap as f32), shift), fraction);
                        let away = S::max(away, S::sub(S::splat(0.0), away));
                        let weight = S::max(S::sub(S::splat(1.0), S::mul(away, slope)), S::splat(0.0));
                        *s = S::fma(weight, sample(tap), *s);
                    }
                }
            }
        }
    }
}

//! Many slices: sample k of all slices lies together, so an element's read is one or two vector loads a group of slices and
//! its weights are worked out once for all of them.

use super::term::{Taps, Term, tent};
use isocenter_base::cpu::simd::{Kernel, Lookup, Real, Vector};

/// Slices that a group may hold, where memory has room for so many; else one.
pub(super) const LANES: [usize; 3] = [32, 16, 8];
/// Elements are done in squares of this side, so that the samples that a square reads stay in the first-level cache.
const SQUARE: usize = 16;
/// Terms summed in registers before an element's sum is stored again.
pub(super) const TERMS: usize = 8;
/// Maximum number of taps whose weights are kept; wider tents are summed a few taps at a time.
const KEPT: usize = 4;
/// Rows of one call lie this close together, so that an offset between any two of them fits 32 bits.
pub(super) const MAX_DISTANCE: usize = 1 << 30;

/// Adds terms to a grid of sums: `sums[(r * stride + e) * lanes + slice]`.
pub(super) struct Interleaved<'a> {
    terms: &'a [Term<'a>],
    taps: Taps,
    rows: usize,
    len: usize,
    lanes: usize,
    stride: usize,
    sums: &'a mut [f32],
}

impl<'a> Interleaved<'a> {
    /// # Safety
    /// The terms are of one buffer, less than [`MAX_DISTANCE`] apart, made for `taps`, a layout of `lanes` and a grid of `rows` x
    /// `len` elements or more.
    pub(super) unsafe fn new(
        terms: &'a [Term<'a>],
        taps: Taps,
        [rows, len]: [usize; 2],
        [lanes, stride]: [usize; 2],
        sums: &'a mut [f32],
    ) -> Self {
        assert!(lanes == 1 || LANES.contains(&lanes), "{lanes} lanes");
        // Elements of one slice fill whole vectors.
        let whole = if lanes == 1 { len.next_multiple_of(SQUARE) } else { len };
        let floats = ((rows.max(1) - 1) * stride + whole) * lanes;
        assert!(sums.len() >= floats, "{} floats for {rows} x {len} elements of {lanes}", sums.len());
        Self { terms, taps, rows, len, lanes, stride, sums }
    }
}

/// A line of elements, for up to `TERMS` terms: offsets from the first term's row, and weights (linear: of the second sample
/// alone, since the first has the rest).
struct Line {
    offset: [[i32; SQUARE]; TERMS],
    weight: [[[f32; SQUARE]; KEPT]; TERMS],
}

impl Kernel<f32> for Interleaved<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        // SAFETY: the dispatcher enabled the instructions of V, which include those of AVX2 when V is wider than 8.
        unsafe {
            match self.lanes / V::LANES {
                _ if self.lanes == 1 => self.taps::<V::Singles, 0>(),
                0 => narrow(self),
                1 => self.taps::<V::Singles, 1>(),
                2 => self.taps::<V::Singles, 2>(),
                _ => self.taps::<V::Singles, 4>(),
            }
        }
    }
}

/// Fewer lanes than the level's vectors have: AVX-512 includes AVX2, whose vectors fit.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn narrow(kernel: Interleaved) {
    // SAFETY: by the caller's contract.
    unsafe { kernel.taps::<<f32 as Real>::Avx2, 1>() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn narrow(kernel: Interleaved) {
    // SAFETY: portable vectors need nothing.
    unsafe { kernel.taps::<<f32 as Real>::Portable, 1>() }
}

impl Interleaved<'_> {
    #[inline(always)]
    unsafe fn taps<V: Lookup, const N: usize>(self) {
        // SAFETY: by the caller's contract.
        unsafe {
            match self.taps {
                Taps::Nearest => self.squares::<V, N, 0>(1),
                Taps::Linear => self.squares::<V, N, 2>(2),
                Taps::Tent { taps } => self.squares::<V, N, 4>(taps),
            }
        }
    }

    /// `N`: vectors of an element; 0 where it has but one slice. `KIND`: 0 nearest, 2 linear, 4 tent.
    #[inline(always)]
    unsafe fn squares<V: Lookup, const N: usize, const KIND: usize>(self, taps: usize) {
        let mut line = Line { offset: [[0; SQUARE]; TERMS], weight: [[[0.0; SQUARE]; KEPT]; TERMS] };
        for terms in self.terms.chunks(TERMS) {
            for r0 in (0..self.rows).step_by(SQUARE) {
                for e0 in (0..self.len).step_by(SQUARE) {
                    let count = SQUARE.min(self.len - e0);
                    for r in r0..self.rows.min(r0 + SQUARE) {
                        let sums = self.sums[(r * self.stride + e0) * self.lanes..].as_mut_ptr();
                        for tap in (0..taps).step_by(KEPT) {
                            let kept = KEPT.min(taps - tap);
                            // SAFETY: offsets stay inside the terms' rows (clamped to the padding); `sums` holds `count`
                            // elements, as `new` checks.
                            unsafe {
                                prepare::<V, KIND>(terms, r, e0, count, self.lanes, tap..tap + kept, &mut line);
                                match (KIND, kept) {
                                    (0, _) => add::<V, N, 0, 0>(terms, &line, count, sums),
                                    (2, _) => add::<V, N, 2, 1>(terms, &line, count, sums),
                                    (_, 1) => add::<V, N, 1, 0>(terms, &line, count, sums),
                                    (_, 2) => add::<V, N, 2, 0>(terms, &line, count, sums),
                                    (_, 3) => add::<V, N, 3, 0>(terms, &line, count, sums),
                                    _ => add::<V, N, 4, 0>(terms, &line, count, sums),
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Offsets and weights of `count` elements from `e0` on, in row `r`, for some of the taps.
#[inline(always)]
unsafe fn prepare<V: Lookup, const KIND: usize>(
    terms: &[Term],
    r: usize,
    e0: usize,
    count: usize,
    lanes: usize,
    taps: std::ops::Range<usize>,
    line: &mut Line,
) {
    let shift = lanes.trailing_zeros();
    // SAFETY: stores go to whole vectors of `line`, whose rows are SQUARE long, a multiple of LANES. All terms point into one
    // buffer, MAX_DISTANCE apart at most.
    unsafe {
        for (t, term) in terms.iter().enumerate() {
            let run = term.run::<SQUARE>(r, e0);
            let (first, along) = (V::splat(run.first), V::splat(term.along as f32));
            // Both may lie outside the buffer, where rows are read from their middle on.
            let row = (term.data as isize).wrapping_sub(terms[0].data as isize) >> size_of::<f32>().trailing_zeros();
            let row = row as i32;
            let base = row + ((run.cell + taps.start as i32) << shift);
            for v in (0..count).step_by(V::LANES) {
                let mut at = V::fma(V::add(V::ramp(), V::splat(v as f32)), along, first);
                if term.clamped {
                    let (low, high) = (term.low - run.cell as f32, term.high - run.cell as f32);
                    at = V::min(V::max(at, V::splat(low)), V::splat(high));
                }
                let cell = V::truncate(at);
                let fraction = V::sub(at, V::of_index(cell));
                V::store_index(V::shift_add(cell, shift, base), line.offset[t].as_mut_ptr().add(v));
                match KIND {
                    0 => {}
                    2 => V::store(fraction, line.weight[t][0].as_mut_ptr().add(v)),
                    _ => {
                        for (i, tap) in taps.clone().enumerate() {
                            V::store(tent::<V>(tap, term.slope, fraction), line.weight[t][i].as_mut_ptr().add(v));
                        }
                    }
                }
            }
        }
    }
}

/// Adds `TAPS` weighted samples of each term (0: the sample itself) to each element's `N` vectors of slices.
#[inline(always)]
unsafe fn add<V: Lookup, const N: usize, const TAPS: usize, const LINEAR: usize>(
    terms: &[Term],
    line: &Line,
    count: usize,
    sums: *mut f32,
) {
    // SAFETY: by the caller's contract.
    unsafe {
        if N == 0 {
            add_alone::<V, TAPS, LINEAR>(terms, line, count, sums)
        } else {
            add_sides::<V, N, TAPS, LINEAR>(terms, line, count, sums)
        }
    }
}

/// The same for one slice, its elements side by side: the operations of [`add_term`] on each, in the same order.
#[inline(always)]
unsafe fn add_alone<V: Lookup, const TAPS: usize, const LINEAR: usize>(
    terms: &[Term],
    line: &Line,
    count: usize,
    sums: *mut f32,
) {
    let data = terms[0].data;
    let mut samples = [[[0.0f32; SQUARE]; KEPT]; TERMS];
    for (t, samples) in samples.iter_mut().enumerate().take(terms.len()) {
        for (tap, samples) in samples.iter_mut().enumerate().take(TAPS.max(1)) {
            for (to, offset) in samples.iter_mut().zip(&line.offset[t]).take(count) {
                // SAFETY: by the caller's contract: offsets lie inside the rows.
                *to = unsafe { *data.wrapping_offset(*offset as isize + tap as isize) };
            }
        }
    }
    for e in (0..count).step_by(V::LANES) {
        // SAFETY: by the caller's contract `sums` holds whole vectors, as `line` and `samples` do.
        unsafe {
            let mut sum = V::load(sums.add(e));
            for (t, samples) in samples.iter().enumerate().take(terms.len()) {
                let sample = |tap: usize| V::load(samples[tap].as_ptr().add(e));
                let kept = |tap: usize| V::load(line.weight[t][tap].as_ptr().add(e));
                if TAPS == 0 {
                    sum = V::add(sum, sample(0));
                }
                for tap in 0..TAPS {
                    sum = V::fma(weight::<V, LINEAR>(tap, kept), sample(tap), sum);
                }
            }
            V::store(sum, sums.add(e));
        }
    }
}

/// Weight of a tap, by what is kept of its term.
#[inline(always)]
unsafe fn weight<V: Lookup, const LINEAR: usize>(tap: usize, kept: impl Fn(usize) -> V) -> V {
    match (LINEAR, tap) {
        // SAFETY: by the caller's contract.
        (1, 0) => unsafe { V::sub(V::splat(1.0), kept(0)) },
        (1, _) => kept(0),
        _ => kept(tap),
    }
}

#[inline(always)]
unsafe fn add_sides<V: Lookup, const N: usize, const TAPS: usize, const LINEAR: usize>(
    terms: &[Term],
    line: &Line,
    count: usize,
    sums: *mut f32,
) {
    let lanes = N * V::LANES;
    let data = terms[0].data;
    for e in 0..count {
        // SAFETY: by the caller's contract: offsets lie inside the rows, `sums` holds `count` elements.
        unsafe {
            let at = sums.add(e * lanes);
            let mut sum = [V::splat(0.0); N];
            for (n, sum) in sum.iter_mut().enumerate() {
                *sum = V::load(at.add(n * V::LANES));
            }
            // A full set of terms is the usual case; its loop, of known length, is unrolled.
            if terms.len() == TERMS {
                for t in 0..TERMS {
                    add_term::<V, N, TAPS, LINEAR>(data, line, t, e, &mut sum);
                }
            } else {
                for t in 0..terms.len() {
                    add_term::<V, N, TAPS, LINEAR>(data, line, t, e, &mut sum);
                }
            }
            for (n, s) in sum.iter().enumerate() {
                V::store(*s, at.add(n * V::LANES));
            }
        }
    }
}

#[inline(always)]
unsafe fn add_term<V: Lookup, const N: usize, const TAPS: usize, const LINEAR: usize>(
    data: *const f32,
    line: &Line,
    t: usize,
    e: usize,
    sum: &mut [V; N],
) {
    let lanes = N * V::LANES;
    // SAFETY: by the caller's contract.
    unsafe {
        let sample = data.wrapping_offset(*line.offset.get_unchecked(t).get_unchecked(e) as isize);
        let kept = |tap: usize| V::splat(*line.weight.get_unchecked(t).get_unchecked(tap).get_unchecked(e));
        if TAPS == 0 {
            for (n, s) in sum.iter_mut().enumerate() {
                *s = V::add(*s, V::load(sample.add(n * V::LANES)));
            }
        }
        for tap in 0..TAPS {
            let weight = weight::<V, LINEAR>(tap, kept);
            for (n, s) in sum.iter_mut().enumerate() {
                *s = V::fma(weight, V::load(sample.add(tap * lanes + n * V::LANES)), *s);
            }
        }
    }
}

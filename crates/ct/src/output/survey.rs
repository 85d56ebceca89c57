//! A first pass over some slices, which finds percentiles of their values.
//!
//! Values are counted by the leading [`BITS`] bits of their floats, which sort as the values do: sign, exponent and 12 bits of the
//! mantissa, in one pass, with the same counts in whatever order values come. Between the ends of such a step ranks are interpolated, so a
//! value is within 2^-12 of its size of the sorted one at that rank, and much nearer where values lie densely. The smallest and the
//! largest value are kept as they are.

use super::mask::Mask;
use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, fail};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const BITS: u32 = 21;
const SHIFT: u32 = 32 - BITS;
/// What the counts take.
pub(super) const BYTES: u64 = (size_of::<AtomicU64>() as u64) << BITS;

/// Counts of the values in some slices.
pub(crate) struct Survey<'a> {
    mask: &'a Mask,
    slices: Vec<Range<usize>>,
    counts: Vec<AtomicU64>,
    /// Keys of the smallest and the largest value.
    least: AtomicU32,
    most: AtomicU32,
}

/// Finite floats as integers that sort as they do.
#[inline(always)]
fn key(v: f32) -> u32 {
    let bits = v.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The float of a key.
fn value(key: u32) -> f64 {
    f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key }).into()
}

impl<'a> Survey<'a> {
    /// Over so many slices, at the middles of as many equal parts of the volume; over all of them with None.
    pub(crate) fn new(g: &Geometry, mask: &'a Mask, slices: Option<usize>) -> Result<Self> {
        let slices = match slices.filter(|n| *n < g.slices) {
            Some(n) => collected((0..n).map(|k| {
                let slice = (2 * k + 1) * g.slices / (2 * n);
                slice..slice + 1
            }))?,
            None => std::iter::once(0..g.slices).collect(),
        };
        let counts = collected((0..1 << BITS).map(|_| AtomicU64::new(0)))?;
        Ok(Self { mask, slices, counts, least: AtomicU32::new(u32::MAX), most: AtomicU32::new(0) })
    }

    /// The slices, in order; all of them as one.
    pub(crate) fn slices(&self) -> &[Range<usize>] {
        &self.slices
    }

    /// Number of slices.
    pub(crate) fn count(&self) -> usize {
        self.slices.iter().map(Range::len).sum()
    }

    /// Adds a part of a row, from a column on.
    pub(crate) fn add(&self, row: usize, column: usize, values: &[f32]) {
        let inside = self.mask.inside(row);
        let (first, end) = (inside.start.max(column), inside.end.min(column + values.len()));
        if first >= end {
            return;
        }
        let (mut least, mut most) = (u32::MAX, 0);
        // Equal values beside each other are counted at once: other threads may be at the same ones.
        let (mut step, mut run) = (0, 0);
        for v in values[first - column..end - column].iter().filter(|v| v.is_finite()) {
            let key = key(*v);
            (least, most) = (least.min(key), most.max(key));
            if key >> SHIFT != step {
                self.count_step(step, run);
                (step, run) = (key >> SHIFT, 0);
            }
            run += 1;
        }
        self.count_step(step, run);
        if least < self.least.load(Ordering::Relaxed) {
            self.least.fetch_min(least, Ordering::Relaxed);
        }
        if most > self.most.load(Ordering::Relaxed) {
            self.most.fetch_max(most, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn count_step(&self, step: u32, values: u64) {
        if values > 0 {
            self.counts[step as usize].fetch_add(values, Ordering::Relaxed);
        }
    }

    /// Low and high of the window at these percentiles.
    pub(crate) fn window(&self, percentiles: [f64; 2]) -> Result<[f64; 2]> {
        let total: u64 = self.counts.iter().map(|n| n.load(Ordering::Relaxed)).sum();
        if total == 0 {
            fail!(NotFiniteData, "no value of the volume is finite, so there are no percentiles");
        }
        let [low, high] = percentiles.map(|p| {
            let rank = p / 100.0 * (total - 1) as f64;
            let (below, part) = (rank as u64, rank.fract());
            let [a, b] = [below, (below + 1).min(total - 1)].map(|k| self.sorted(k, total));
            a + part * (b - a)
        });
        if high - low < f64::from(f32::MIN_POSITIVE) {
            let [p, q] = percentiles;
            fail!(
                OutOfRange,
                "percentiles {p:?} and {q:?} of the volume are both {low:?}: a window of zero width; give output.low and output.high"
            );
        }
        Ok([low, high])
    }

    /// The value at a place among so many sorted ones, counted from 0.
    fn sorted(&self, place: u64, total: u64) -> f64 {
        let [least, most] = [&self.least, &self.most].map(|key| value(key.load(Ordering::Relaxed)));
        if place == 0 {
            return least;
        }
        if place + 1 == total {
            return most;
        }
        let mut before = 0;
        for (step, n) in self.counts.iter().enumerate() {
            let n = n.load(Ordering::Relaxed);
            if before + n > place {
                let edge = |step: usize| value(((step as u64) << SHIFT).min(u32::MAX.into()) as u32);
                // The steps of the smallest and the largest value end there: beyond the largest float is none.
                let (start, end) = (edge(step).max(least), edge(step + 1).min(most));
                return start + ((place - before) as f64 + 0.5) / n as f64 * (end - start);
            }
            before += n;
        }
        most
    }
}

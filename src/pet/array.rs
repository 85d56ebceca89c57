//! Rows of the caller's arrays in host memory, and what their values may be.

use super::engine::Least;
use crate::context::NanPolicy;
use crate::error::{Result, fail};
use crate::tensor::{Counts, Layout, Number};
use rayon::prelude::*;

/// Copies the row at `at`, whose last index is 0.
///
/// # Safety
/// The row is readable.
#[inline(always)]
pub(super) unsafe fn read_row<const N: usize>(from: &Layout<Counts, N>, at: [usize; N], row: &mut [f32]) {
    assert!(row.len() <= from.shape[N - 1]);
    let (start, stride) = (from.element(at), from.strides[N - 1]);
    // SAFETY: elements of the row, by this function's contract.
    unsafe {
        match (from.dtype, stride) {
            (Counts::F32, 1) => std::ptr::copy_nonoverlapping(start.cast::<f32>(), row.as_mut_ptr(), row.len()),
            (Counts::F32, _) => {
                for (k, v) in row.iter_mut().enumerate() {
                    *v = *start.cast::<f32>().wrapping_offset(k as isize * stride);
                }
            }
            (Counts::U32, _) => {
                for (k, v) in row.iter_mut().enumerate() {
                    *v = *start.cast::<u32>().wrapping_offset(k as isize * stride) as f32;
                }
            }
        }
    }
}

/// Writes the row at `at`, whose last index is 0.
///
/// # Safety
/// The row is one of f32, writable, and no other thread touches it.
pub(super) unsafe fn write_row<const N: usize>(to: &Layout<Counts, N>, at: [usize; N], row: &[f32]) {
    assert!(row.len() <= to.shape[N - 1] && to.dtype == Counts::F32);
    let (start, stride) = (to.element(at).cast_mut().cast::<f32>(), to.strides[N - 1]);
    for (k, v) in row.iter().enumerate() {
        // SAFETY: elements of the row, by this function's contract.
        unsafe { *start.wrapping_offset(k as isize * stride) = *v };
    }
}

/// One number of a real array.
///
/// # Safety
/// It is readable.
pub(super) unsafe fn number<const N: usize>(from: &Layout<Number, N>, at: [usize; N]) -> f64 {
    let p = from.element(at);
    // SAFETY: by this function's contract; of a complex array it is the real part.
    unsafe {
        match from.dtype {
            Number::F32 | Number::C64 => (*p.cast::<f32>()).into(),
            Number::F64 | Number::C128 => *p.cast::<f64>(),
        }
    }
}

/// What is not finite counts as 0.
#[inline(always)]
pub(super) fn replace(row: &mut [f32]) {
    for v in row {
        // Of bits: masked stores, which compilers make of a choice, are slow on many processors.
        *v = f32::from_bits(v.to_bits() & u32::from(v.is_finite()).wrapping_neg());
    }
}

/// Of an array's values, 0 in the place of what is not finite.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) sum: f64,
    pub(super) largest: f32,
    /// Some value is 0.
    pub(super) zero: bool,
    /// Values that are not finite.
    pub(super) replaced: u64,
}

/// Indices of all dimensions but the last.
fn place<const N: usize>(shape: &[usize; N], mut row: usize) -> [usize; N] {
    let mut at = [0; N];
    for d in (0..N - 1).rev() {
        at[d] = row % shape[d];
        row /= shape[d];
    }
    at
}

/// Of a row, side by side: one sum after the other would wait for each addition.
const LANES: usize = 8;

#[derive(Default)]
struct Lanes {
    sum: [f64; LANES],
    largest: [f32; LANES],
    zeros: [u32; LANES],
    replaced: [u32; LANES],
    bad: [u32; LANES],
}

impl Lanes {
    #[inline(always)]
    fn see(&mut self, values: &[f32], bad: impl Fn(f32) -> bool) {
        for (l, v) in values.iter().enumerate() {
            let finite = if v.is_finite() { *v } else { 0.0 };
            self.sum[l] += f64::from(finite);
            self.largest[l] = if finite > self.largest[l] { finite } else { self.largest[l] };
            self.zeros[l] += u32::from(finite == 0.0);
            self.replaced[l] += u32::from(!v.is_finite());
            self.bad[l] += u32::from(bad(*v));
        }
    }
}

/// Rows of a task.
const ROWS: usize = 64;

/// Looks at all values: those that are not finite, or too small, are errors that name the first one.
///
/// # Safety
/// The array is readable.
pub(super) unsafe fn look<const N: usize>(
    from: &Layout<Counts, N>,
    name: &str,
    policy: NanPolicy,
    least: Least,
) -> Result<Found> {
    let length = from.shape[N - 1];
    let rows = from.shape.iter().rev().skip(1).product::<usize>();
    let least = if least == Least::Zero { 0.0 } else { f32::NEG_INFINITY };
    let bad = |v: f32| if v.is_finite() { v < least } else { policy == NanPolicy::Error };
    let part = |first: usize| {
        let mut row = vec![0.0; length];
        let (mut found, mut wrong) = (Found::default(), None);
        for r in first..rows.min(first + ROWS) {
            // SAFETY: by this function's contract.
            unsafe { read_row(from, place(&from.shape, r), &mut row) };
            let mut lanes = Lanes::default();
            let (whole, rest) = row.as_chunks::<LANES>();
            whole.iter().for_each(|values| lanes.see(values, bad));
            lanes.see(rest, bad);
            found.sum += lanes.sum.iter().sum::<f64>();
            found.largest = lanes.largest.iter().fold(found.largest, |a, b| a.max(*b));
            found.zero |= lanes.zeros.iter().any(|n| *n > 0);
            found.replaced += lanes.replaced.iter().map(|n| u64::from(*n)).sum::<u64>();
            if wrong.is_none() && lanes.bad.iter().any(|n| *n > 0) {
                wrong = Some(r);
            }
        }
        (found, wrong)
    };
    let parts: Vec<_> = (0..rows.div_ceil(ROWS)).into_par_iter().map(|p| part(p * ROWS)).collect();
    if let Some(r) = parts.iter().find_map(|p| p.1) {
        let mut row = vec![0.0; length];
        let mut at = place(&from.shape, r);
        // SAFETY: as above.
        unsafe { read_row(from, at, &mut row) };
        at[N - 1] = row.iter().position(|v| bad(*v)).unwrap_or(0);
        let v = row[at[N - 1]];
        if !v.is_finite() {
            fail!(NotFiniteData, "{name}{at:?} is {v}; it must be finite (or set the NaN policy to replace)");
        }
        fail!(OutOfRange, "{name}{at:?} is {v}; it must not be below 0");
    }
    // In the order of the parts, whatever the threads.
    Ok(parts.into_iter().fold(Found::default(), |a, (b, _)| Found {
        sum: a.sum + b.sum,
        largest: a.largest.max(b.largest),
        zero: a.zero || b.zero,
        replaced: a.replaced + b.replaced,
    }))
}

//! Rows of the caller's arrays in host memory, and what their values may be.

use super::engine::Sign;
use crate::array::{DType, Layout};
use crate::context::NanPolicy;
use crate::error::{Result, fail};
use rayon::prelude::*;

/// Copies the row at `at`, whose last index is 0.
///
/// # Safety
/// The row is readable.
#[inline(always)]
pub(super) unsafe fn read_row<const N: usize>(from: &Layout<N>, at: [usize; N], row: &mut [f32]) {
    assert!(row.len() <= from.shape[N - 1]);
    let (start, stride) = (from.element(at), from.strides[N - 1]);
    // SAFETY: elements of the row, by this function's contract.
    unsafe {
        match (from.dtype, stride) {
            (DType::F32, 1) => std::ptr::copy_nonoverlapping(start.cast::<f32>(), row.as_mut_ptr(), row.len()),
            (DType::F32, _) => {
                for (k, v) in row.iter_mut().enumerate() {
                    *v = *start.cast::<f32>().wrapping_offset(k as isize * stride);
                }
            }
            _ => {
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
pub(super) unsafe fn write_row<const N: usize>(to: &Layout<N>, at: [usize; N], row: &[f32]) {
    assert!(row.len() <= to.shape[N - 1] && to.dtype == DType::F32);
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
pub(super) unsafe fn number<const N: usize>(from: &Layout<N>, at: [usize; N]) -> f64 {
    let p = from.element(at);
    // SAFETY: by this function's contract; of a complex array it is the real part.
    unsafe {
        match from.dtype {
            DType::F32 | DType::C64 => (*p.cast::<f32>()).into(),
            _ => *p.cast::<f64>(),
        }
    }
}

/// Non-finite values count as 0.
#[inline(always)]
pub(super) fn replace(row: &mut [f32]) {
    for v in row {
        // Of bits: masked stores, which compilers make of a choice, are slow on many processors.
        *v = f32::from_bits(v.to_bits() & u32::from(v.is_finite()).wrapping_neg());
    }
}

/// Of an array's values, 0 in the place of non-finite ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) sum: f64,
    pub(super) largest: f32,
    /// Some value is 0.
    pub(super) zero: bool,
    /// Non-finite values.
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

// One plain loop for each question about a row, so that compilers vectorise each.

#[inline(always)]
fn count(row: &[f32], of: impl Fn(f32) -> bool) -> u64 {
    row.iter().map(|v| u32::from(of(*v))).sum::<u32>().into()
}

/// Side by side: one after the other would wait for each addition.
fn sum(row: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (whole, rest) = row.as_chunks::<8>();
    whole.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += f64::from(*v)));
    sums.iter().sum::<f64>() + rest.iter().map(|v| f64::from(*v)).sum::<f64>()
}

/// Rows of a task.
const ROWS: usize = 64;

/// Looks at all values: refused ones are an error that names the first.
///
/// # Safety
/// The array is readable.
pub(super) unsafe fn look<const N: usize>(
    from: &Layout<N>,
    name: &str,
    policy: NanPolicy,
    sign: Sign,
) -> Result<Found> {
    let length = from.shape[N - 1];
    let rows = from.shape.iter().rev().skip(1).product::<usize>();
    let minimum = if sign == Sign::NonNegative { 0.0 } else { f32::NEG_INFINITY };
    let refused = policy == NanPolicy::Error;
    let unfit = |v: f32| v.is_finite() & (v < minimum) | !v.is_finite() & refused;
    let part = |first: usize| {
        let mut row = vec![0.0; length];
        let (mut found, mut wrong) = (Found::default(), None);
        for r in first..rows.min(first + ROWS) {
            // SAFETY: by this function's contract.
            unsafe { read_row(from, place(&from.shape, r), &mut row) };
            if wrong.is_none() && count(&row, unfit) > 0 {
                wrong = Some(r);
            }
            let infinite = count(&row, |v| !v.is_finite());
            if infinite > 0 {
                replace(&mut row);
            }
            found.sum += sum(&row);
            // Above 0 bits are in the order of the numbers.
            let largest = row.iter().fold(0, |largest, v| largest.max(v.to_bits() as i32));
            found.largest = found.largest.max(f32::from_bits(largest as u32));
            found.zero |= count(&row, |v| v == 0.0) > 0;
            found.replaced += infinite;
        }
        (found, wrong)
    };
    let parts: Vec<_> = (0..rows.div_ceil(ROWS)).into_par_iter().map(|p| part(p * ROWS)).collect();
    if let Some(r) = parts.iter().find_map(|p| p.1) {
        let mut row = vec![0.0; length];
        let mut at = place(&from.shape, r);
        // SAFETY: as above.
        unsafe { read_row(from, at, &mut row) };
        at[N - 1] = row.iter().position(|v| unfit(*v)).unwrap_or(0);
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

//! What the values of the caller's arrays in host memory may be.

use super::engine::Sign;
use isocenter_base::array::Array;
use isocenter_base::array::value::not_finite;
use isocenter_base::context::NanPolicy;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// What is not finite counts as 0.
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

// What is asked of a row goes by loops that do one thing each: compilers make vectors of them.

#[inline(always)]
fn count(row: &[f32], of: impl Fn(f32) -> bool) -> u64 {
    row.iter().map(|v| u32::from(of(*v))).sum::<u32>().into()
}

/// Side by side: one after the other would wait for each addition.
pub(super) fn sum(row: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (whole, rest) = row.as_chunks::<8>();
    whole.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += f64::from(*v)));
    sums.iter().sum::<f64>() + rest.iter().map(|v| f64::from(*v)).sum::<f64>()
}

/// Rows of a task.
const ROWS: usize = 64;

/// Looks at all values: those that are not finite, or too small, are errors that name the first one.
pub(super) fn look<const N: usize>(from: &Array<N>, name: &str, policy: NanPolicy, sign: Sign) -> Result<Found> {
    let layout = from.layout();
    let length = layout.shape[N - 1];
    let rows = layout.shape.iter().rev().skip(1).product::<usize>();
    let minimum = if sign == Sign::NonNegative { 0.0 } else { f32::NEG_INFINITY };
    let refused = policy == NanPolicy::Error;
    let unfit = |v: f32| v.is_finite() & (v < minimum) | !v.is_finite() & refused;
    let part = |first: usize| {
        let mut row = vec![0.0; length];
        let (mut found, mut wrong) = (Found::default(), None);
        for r in first..rows.min(first + ROWS) {
            from.read_row(layout.index(r * length), &mut row);
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
        let mut at = layout.index(r * length);
        from.read_row(at, &mut row);
        at[N - 1] = row.iter().position(|v| unfit(*v)).unwrap_or(0);
        let v = row[at[N - 1]];
        if !v.is_finite() {
            return not_finite(name, &at, v);
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

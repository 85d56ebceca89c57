//! What the values of the caller's arrays in host memory may be.

use isocenter_base::array::Array;
use isocenter_base::array::value::not_finite;
use isocenter_base::context::{Context, LogLevel, NanPolicy};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Signs that the values of an array may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Any,
    NonNegative,
}

/// What is not finite counts as 0.
#[inline(always)]
pub(super) fn replace(row: &mut [f32]) {
    for v in row {
        // Of bits: masked stores, which compilers make of a choice, are slow on many processors.
        *v = f32::from_bits(v.to_bits() & u32::from(v.is_finite()).wrapping_neg());
    }
}

/// What is not finite or below 0 counts as 0: of values that [`look`] took for counts, what is below is rounding.
#[inline(always)]
pub(super) fn replace_below(row: &mut [f32]) {
    for v in row {
        let kept = (*v >= 0.0) & v.is_finite();
        *v = f32::from_bits(v.to_bits() & u32::from(kept).wrapping_neg());
    }
}

/// Values below 0 that are no more than this part of the largest are rounding of 0.
pub(super) const ROUNDING: f32 = 1e-6;

/// Whether values that may not be below 0 are so by rounding alone.
pub(super) fn is_rounding(lowest: f32, largest: f32) -> bool {
    -lowest <= ROUNDING * largest
}

/// Makes 0 of values below it, if all are rounding next to the largest, which is `least` at least; how many.
pub(super) fn round(values: &mut [f32], least: f32) -> u64 {
    const PART: usize = 1 << 16;
    let of = |part: &[f32]| part.iter().fold((0.0f32, 0.0f32), |(low, high), v| (low.min(*v), high.max(*v)));
    let (lowest, largest) =
        values.par_chunks(PART).map(of).reduce(|| (0.0, least), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    if lowest == 0.0 || !is_rounding(lowest, largest) {
        return 0;
    }
    let below: Vec<u64> = values
        .par_chunks_mut(PART)
        .map(|part| {
            let below = count(part, |v| v < 0.0);
            part.iter_mut().for_each(|v| *v = v.max(0.0));
            below
        })
        .collect();
    below.iter().sum()
}

/// Tells of values that are taken for 0.
pub(super) fn tell_of_rounding(context: &Context, values: u64) {
    if values > 0 {
        context.log(LogLevel::Warning, || {
            format!("{values} values are below 0 by a millionth of their array's largest or less: they are taken for 0")
        });
    }
}

/// Of an array's values, 0 in the place of non-finite ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) sum: f64,
    pub(super) largest: f32,
    /// Some value is 0, or taken for it.
    pub(super) zero: bool,
    /// Non-finite values.
    pub(super) replaced: u64,
    /// Values below 0, which are rounding, and the lowest.
    pub(super) below: u64,
    pub(super) lowest: f32,
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
    let (counts, refused) = (sign == Sign::NonNegative, policy == NanPolicy::Error);
    let unfit = |v: f32| !v.is_finite() & refused;
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
            let below = if counts { count(&row, |v| v < 0.0) } else { 0 };
            if below > 0 {
                found.below += below;
                found.lowest = row.iter().fold(found.lowest, |lowest, v| lowest.min(*v));
            }
        }
        (found, wrong)
    };
    let parts: Vec<_> = (0..rows.div_ceil(ROWS)).into_par_iter().map(|p| part(p * ROWS)).collect();
    let first = |r: usize, is: &dyn Fn(f32) -> bool| {
        let mut row = vec![0.0; length];
        let mut at = layout.index(r * length);
        from.read_row(at, &mut row);
        row.iter().position(|v| is(*v)).map(|k| {
            at[N - 1] = k;
            (at, row[k])
        })
    };
    if let Some((at, v)) = parts.iter().find_map(|p| p.1).and_then(|r| first(r, &unfit)) {
        return not_finite(name, &at, v);
    }
    // In the order of the parts, whatever the threads.
    let found = parts.into_iter().fold(Found::default(), |a, (b, _)| Found {
        sum: a.sum + b.sum,
        largest: a.largest.max(b.largest),
        zero: a.zero || b.zero || b.below > 0,
        replaced: a.replaced + b.replaced,
        below: a.below + b.below,
        lowest: a.lowest.min(b.lowest),
    });
    if found.below > 0 && !is_rounding(found.lowest, found.largest) {
        let is_below = |v: f32| v.is_finite() && v < 0.0 && !is_rounding(v, found.largest);
        let wrong = (0..rows).find_map(|r| first(r, &is_below));
        let (at, v) = wrong.unwrap_or(([0; N], found.lowest));
        fail!(OutOfRange, "{name}{at:?} is {v}; it must not be below 0");
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_of_nothing_is_nothing() {
        let mut values = vec![0.5f32; 3 * 70 * 5];
        (values[17], values[200], values[201], values[900]) = (2.0, -1.9e-6, -1e-28, f32::NAN);
        let of = |values: &[f32], policy, sign| {
            look(&Array::new(values, [3, 70, 5]).expect("an array"), "x", policy, sign).map(|f| (f.below, f.replaced))
        };
        assert_eq!(of(&values, NanPolicy::Replace, Sign::NonNegative), Ok((2, 1)));
        assert_eq!(of(&values, NanPolicy::Replace, Sign::Any), Ok((0, 1)));
        let e = of(&values, NanPolicy::Error, Sign::NonNegative).expect_err("NaN");
        assert!(e.message.starts_with("x[2, 40, 0] is NaN"), "{e}");
        values[950] = -2.1e-6;
        let e = of(&values, NanPolicy::Replace, Sign::NonNegative).expect_err("more than rounding");
        assert_eq!(e.message, "x[2, 50, 0] is -0.0000021; it must not be below 0");
        let mut row = [1.0, -1.0, f32::NAN, f32::INFINITY, 0.0, -0.0];
        replace_below(&mut row);
        assert_eq!(row, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let mut map = vec![0.01f32; 200_000];
        (map[5], map[150_000]) = (-1e-9, -1e-8);
        assert_eq!((round(&mut map, 0.0), map[5], map[150_000]), (2, 0.0, 0.0));
        map[7] = -1e-3;
        assert_eq!((round(&mut map, 0.0), map[7]), (0, -1e-3));
        let mut air = vec![-1e-9f32; 10];
        assert_eq!((round(&mut air, 0.0), round(&mut air, 0.01), air[3]), (0, 10, 0.0));
    }
}

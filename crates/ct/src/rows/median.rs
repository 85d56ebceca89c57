//! The median of values, and what it tells of normal noise.

/// Normal noise has this many times its median size.
pub(crate) const NORMAL: f64 = 1.4826;

/// Median of values, which it puts out of order: the upper one of an even number; 0 if there are none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 { 0.0 } else { *values.select_nth_unstable_by(n / 2, f64::total_cmp).1 }
}

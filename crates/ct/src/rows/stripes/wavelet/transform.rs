//! One step of the discrete wavelet transform along an axis, for several lists side by side. Beyond either end a list goes on in mirror
//! image, the end repeated. Filters are indexed from their first coefficient.

use super::daubechies;
use crate::rows::stripes::median::mirrored;
use isocenter_base::cpu::simd::Real;

/// Filters of both ways. The low-pass ones are scaled so that one way takes means: values stay as large as they are at all levels.
#[derive(Clone, Debug)]
pub(crate) struct Filters<T> {
    /// Low pass on the way down, and on the way up.
    pub(crate) down: Vec<T>,
    pub(crate) up: Vec<T>,
    /// High pass, both ways.
    pub(crate) high: Vec<T>,
}

impl<T: Real> Filters<T> {
    pub(super) fn new(order: usize) -> Self {
        let low = daubechies::scaling(order);
        let scaled = |by: f64| low.iter().map(|h| T::of(h * by)).collect();
        let root = std::f64::consts::SQRT_2;
        let high = daubechies::wavelet(&low).iter().map(|g| T::of(*g)).collect();
        Self { down: scaled(1.0 / root), up: scaled(root), high }
    }
}

/// The place that coefficient k sees through tap 0.
fn first(k: usize, taps: usize) -> isize {
    2 * k as isize + 2 - taps as isize
}

/// coefficients[k] = sum over taps j of filter[j] values[2 k + 2 - taps + j]
#[inline(always)]
pub(super) fn analyse<T: Real, const L: usize>(filter: &[T], values: &[[T; L]], coefficients: &mut [[T; L]]) {
    for (k, coefficient) in coefficients.iter_mut().enumerate() {
        let first = first(k, filter.len());
        let inside = usize::try_from(first).ok().and_then(|first| values.get(first..first + filter.len()));
        let mut sum = [T::ZERO; L];
        match inside {
            Some(values) => {
                for (h, v) in filter.iter().zip(values) {
                    add(&mut sum, *h, v);
                }
            }
            None => {
                for (h, i) in filter.iter().zip(first..) {
                    add(&mut sum, *h, &values[mirrored(i, values.len())]);
                }
            }
        }
        *coefficient = sum;
    }
}

/// The transpose of [`analyse`].
#[inline(always)]
pub(super) fn transposed<T: Real, const L: usize>(filter: &[T], coefficients: &[[T; L]], values: &mut [[T; L]]) {
    values.fill([T::ZERO; L]);
    for (k, coefficient) in coefficients.iter().enumerate() {
        for (h, i) in filter.iter().zip(first(k, filter.len())..) {
            let place = mirrored(i, values.len());
            add(&mut values[place], *h, coefficient);
        }
    }
}

/// values[i] = sum over k of filter[i - (2 k + 2 - taps)] coefficients[k], for as many values as there are.
#[inline(always)]
pub(super) fn synthesise<T: Real, const L: usize>(filter: &[T], coefficients: &[[T; L]], values: &mut [[T; L]]) {
    let taps = filter.len();
    for (i, value) in values.iter_mut().enumerate() {
        let mut sum = [T::ZERO; L];
        // Every other tap: the first k whose taps reach i.
        let lowest = i / 2;
        let last = i + taps - 2 - 2 * lowest;
        let taps = filter[..=last].iter().rev().step_by(2);
        for (h, c) in taps.zip(&coefficients[lowest..]) {
            add(&mut sum, *h, c);
        }
        *value = sum;
    }
}

#[inline(always)]
fn add<T: Real, const L: usize>(sum: &mut [T; L], factor: T, values: &[T; L]) {
    for (s, v) in sum.iter_mut().zip(values) {
        *s = *s + factor * *v;
    }
}

//! The normal distribution, without branches or calls.

use std::f32::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// The part of a normal distribution between its middle and `u` sigmas, of the sign of `u`, to 3e-7 (M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 7.1.26).
#[inline(always)]
pub(super) fn half_normal(u: f32) -> f32 {
    const TERMS: [f32; 5] = [0.254_829_6, -0.284_496_74, 1.421_413_8, -1.453_152, 1.061_405_4];
    let x = u.abs() * FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = TERMS[..4].iter().rev().fold(TERMS[4], |sum, term| sum * t + term);
    (0.5 - 0.5 * sum * t * exp(-x * x)).copysign(u)
}

/// exp(x) for -80 to 0, to 2e-7 of it.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// From here on the distance of numbers is 1, so that the lowest bits are the whole part.
    const LARGE: f32 = 1.5 * (1u32 << 23) as f32;
    const TERMS: [f32; 7] = [1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0];
    let x = x.max(-80.0);
    let turned = x * LOG2_E + LARGE;
    let power = f32::from_bits(turned.to_bits().wrapping_sub(LARGE.to_bits()).wrapping_add(127) << 23);
    let rest = x - (turned - LARGE) * LN_2;
    power * TERMS[..6].iter().rev().fold(TERMS[6], |sum, term| sum * rest + term)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against Simpson's rule of 2000 parts: exact to 1e-13.
    #[test]
    fn parts_are_those_of_the_distribution() {
        let by_sums = |u: f64| {
            let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
            let weight = |k: u32| if k == 0 || k == 2000 { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
            (0..=2000).map(|k| weight(k) * density(u * f64::from(k) / 2000.0)).sum::<f64>() * u / 6000.0
        };
        for k in -700..=700 {
            let u = k as f32 / 100.0;
            let (found, right) = (f64::from(half_normal(u)), by_sums(f64::from(u)));
            assert!((found - right).abs() < 3e-7, "{u}: {found} {right}");
        }
        assert_eq!(half_normal(0.0).abs(), half_normal(-0.0).abs());
        assert!(half_normal(0.0).abs() < 1e-7);
        assert!((half_normal(60.0) - 0.5).abs() < 1e-7, "no NaN far away");
    }
}

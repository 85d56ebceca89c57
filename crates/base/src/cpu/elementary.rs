//! Elementary functions without branches or calls: compilers vectorise loops over them.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E};
use std::ops::{Add, Mul};

/// Rounded down, 0 to `max`, which 32 bits hold; NaN is 0.
#[inline(always)]
pub fn whole(v: f64, max: f64) -> i32 {
    // SAFETY: clamped, and not NaN, which `max` leaves out.
    unsafe { v.max(0.0).min(max).to_int_unchecked() }
}

/// Angle of (x, y), x, y >= 0, to 2e-14; NaN of (0, 0).
#[inline(always)]
pub fn angle(x: f64, y: f64) -> f64 {
    /// atan(t) / t over t^2, for t to tan(pi/8), exact in Chebyshev's points.
    const ATAN: [f64; 9] = [
        0.999_999_999_999_973_2,
        -0.333_333_333_308_034_44,
        0.199_999_996_048_917_24,
        -0.142_856_904_238_264_2,
        0.111_103_850_458_280_13,
        -0.090_783_920_686_488_91,
        0.075_637_035_201_589_15,
        -0.058_745_054_996_039_166,
        0.030_662_438_483_348_382,
    ];
    const TAN_PI_8: f64 = 0.414_213_562_373_095_03;
    let (low, high) = if y < x { (y, x) } else { (x, y) };
    // Above pi/8 the angle from pi/4.
    let (low, high, base) = if low > TAN_PI_8 * high { (low - high, low + high, FRAC_PI_4) } else { (low, high, 0.0) };
    let t = low / high;
    let angle = base + t * polynomial(&ATAN, t * t);
    if y < x { angle } else { FRAC_PI_2 - angle }
}

/// Angle of (x, y), x, y >= 0, to 3e-7; NaN of (0, 0).
#[inline(always)]
pub fn angle_single(x: f32, y: f32) -> f32 {
    /// As above, to 7e-9.
    const ATAN: [f32; 5] = [0.999_999_98, -0.333_327_86, 0.199_740_82, -0.138_484_9, 0.079_762_92];
    const TAN_PI_8: f32 = 0.414_213_57;
    const QUARTER: f32 = FRAC_PI_4 as f32;
    let (low, high) = if y < x { (y, x) } else { (x, y) };
    let (low, high, base) = if low > TAN_PI_8 * high { (low - high, low + high, QUARTER) } else { (low, high, 0.0) };
    let t = low / high;
    let angle = base + t * polynomial(&ATAN, t * t);
    if y < x { angle } else { FRAC_PI_2 as f32 - angle }
}

/// Rounded to the nearest whole number, for |x| below 2^22.
#[inline(always)]
pub fn nearest_single(x: f32) -> f32 {
    /// From here on the distance of numbers is 1.
    const LARGE: f32 = 1.5 * (1u32 << 23) as f32;
    (x + LARGE) - LARGE
}

/// exp(x) for |x| to 700, to 3e-10 of it.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    /// From here on the distance of numbers is 1, so that the lowest bits are the whole part.
    const LARGE: f64 = 1.5 * (1u64 << 52) as f64;
    const TERMS: [f64; 9] =
        [1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0];
    // Not `clamp`, whose NaN would stay.
    #[expect(clippy::manual_clamp, reason = "NaN becomes a number")]
    let x = x.max(-700.0).min(700.0);
    let turned = x * LOG2_E + LARGE;
    let power = turned.to_bits().wrapping_sub(LARGE.to_bits()).wrapping_add(1023) << 52;
    let rest = x - (turned - LARGE) * LN_2;
    f64::from_bits(power) * polynomial(&TERMS, rest)
}

/// ln(x) for normal x in 0..=1, to 1e-12.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    /// Bits of sqrt(1/2): mantissas are taken from there to sqrt(2).
    const START: u64 = 0x3FE6_A09E_667F_3BCD;
    const BIAS: u64 = 1024;
    const SHIFT: u64 = 1 << 52;
    const TERMS: [f64; 8] = [2.0, 2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0];
    let bits = x.to_bits();
    let power = bits.wrapping_sub(START).wrapping_add(BIAS << 52) >> 52;
    let mantissa = f64::from_bits(bits.wrapping_sub(power.wrapping_sub(BIAS) << 52));
    let power = f64::from_bits(power | (SHIFT as f64).to_bits()) - (SHIFT + BIAS) as f64;
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    power * LN_2 + s * polynomial(&TERMS, s * s)
}

/// ln(x) for normal x above 0, to 1e-7 and to 2e-7 of it.
#[inline(always)]
pub fn ln_single(x: f32) -> f32 {
    /// Bits of sqrt(1/2), as above.
    const START: u32 = 0x3F35_04F3;
    const TERMS: [f32; 5] = [2.0, 2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0];
    let power = (x.to_bits().wrapping_sub(START) as i32) >> 23;
    let mantissa = f32::from_bits(x.to_bits().wrapping_sub((power << 23) as u32));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    power as f32 * LN_2 as f32 + s * polynomial(&TERMS, s * s)
}

/// Lowest power first.
#[inline(always)]
fn polynomial<T: Copy + Mul<Output = T> + Add<Output = T>, const N: usize>(terms: &[T; N], x: T) -> T {
    let mut sum = terms[N - 1];
    for term in terms[..N - 1].iter().rev() {
        sum = sum * x + *term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_right() {
        for k in 1..=200_000 {
            let u = k as f64 / 200_000.0;
            assert!((ln(u) - u.ln()).abs() < 1e-12, "{u}");
            let x = 140.0 * (u - 0.5);
            assert!((exp(x) / x.exp() - 1.0).abs() < 3e-10, "{x}");
            let (y, x) = (1.6 * u).sin_cos();
            assert!((angle(x.abs(), y) - y.atan2(x.abs())).abs() < 2e-14, "{u}");
            // Rounding of the quotient and its terms, of the sum, and of the difference: some 4 halves of 1.2e-7.
            let (x, y) = (x.abs() as f32, y as f32);
            let error = f64::from(angle_single(x, y)) - f64::from(y).atan2(f64::from(x));
            assert!(error.abs() < 3e-7, "{u}: {error:e}");
        }
        for k in -4000..=4000 {
            let x = 1.02f32.powi(k);
            if x.is_normal() {
                let (found, right) = (f64::from(ln_single(x)), f64::from(x).ln());
                assert!((found - right).abs() < 1e-7 + 2e-7 * right.abs(), "{x}: {found} {right}");
            }
        }
        assert_eq!((ln(1.0), ln_single(1.0)), (0.0, 0.0));
        assert!((ln(2f64.powi(-33)) - 2f64.powi(-33).ln()).abs() < 1e-12);
        assert!(exp(-1e9) > 0.0 && exp(-1e9) < 1e-300 && exp(0.0) == 1.0);
        assert_eq!([0.49, 0.51, -7.51, 4.0e6].map(nearest_single), [0.0, 1.0, -8.0, 4.0e6]);
        assert_eq!([whole(f64::NAN, 5.0), whole(-1.0, 5.0), whole(2.9, 5.0), whole(1e300, 5.0)], [0, 0, 2, 5]);
    }
}

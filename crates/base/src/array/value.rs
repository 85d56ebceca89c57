//! What the caller's elements become in memory of our own, and how values are written back.

use crate::cpu::buffer::Plain;
use crate::cpu::simd::Real;
use crate::error::{Result, fail};
use rustfft::num_complex::Complex;
use std::fmt::Display;

/// A number that any element can become; of a complex element a real number keeps the real part.
pub trait Value: Plain + Send + Sync {
    const ZERO: Self;
    fn of_f32(v: f32) -> Self;
    fn of_f64(v: f64) -> Self;
    fn of_c64(v: [f32; 2]) -> Self;
    fn of_c128(v: [f64; 2]) -> Self;
    fn of_count(v: u32) -> Self;
    /// Real and imaginary part.
    fn parts(self) -> [f64; 2];
    fn is_finite(self) -> bool;
    /// As a message has it, of an array that is complex or not.
    fn text(self, is_complex: bool) -> String {
        let [re, im] = self.parts();
        if is_complex { format!("{re} + {im}i") } else { re.to_string() }
    }
}

macro_rules! real {
    ($real:ty) => {
        impl Value for $real {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn of_f32(v: f32) -> Self {
                v as $real
            }
            #[inline(always)]
            fn of_f64(v: f64) -> Self {
                v as $real
            }
            #[inline(always)]
            fn of_c64([re, _]: [f32; 2]) -> Self {
                re as $real
            }
            #[inline(always)]
            fn of_c128([re, _]: [f64; 2]) -> Self {
                re as $real
            }
            #[inline(always)]
            fn of_count(v: u32) -> Self {
                v as $real
            }
            #[inline(always)]
            fn parts(self) -> [f64; 2] {
                [self.into(), 0.0]
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$real>::is_finite(self)
            }
        }
    };
}

real!(f32);
real!(f64);

impl<T: Real> Value for Complex<T> {
    const ZERO: Self = Complex { re: T::ZERO, im: T::ZERO };
    #[inline(always)]
    fn of_f32(v: f32) -> Self {
        Complex::new(T::of(v.into()), T::ZERO)
    }
    #[inline(always)]
    fn of_f64(v: f64) -> Self {
        Complex::new(T::of(v), T::ZERO)
    }
    #[inline(always)]
    fn of_c64([re, im]: [f32; 2]) -> Self {
        Complex::new(T::of(re.into()), T::of(im.into()))
    }
    #[inline(always)]
    fn of_c128([re, im]: [f64; 2]) -> Self {
        Complex::new(T::of(re), T::of(im))
    }
    #[inline(always)]
    fn of_count(v: u32) -> Self {
        Complex::new(T::of(v.into()), T::ZERO)
    }
    #[inline(always)]
    fn parts(self) -> [f64; 2] {
        [self.re.wide(), self.im.wide()]
    }
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.re.wide().is_finite() && self.im.wide().is_finite()
    }
}

/// The error of a non-finite value at an index of an array.
pub fn not_finite<T>(name: &str, at: &[usize], value: impl Display) -> Result<T> {
    fail!(NotFiniteData, "{name}{at:?} is {value}; it must be finite (or set the NaN policy to replace)");
}

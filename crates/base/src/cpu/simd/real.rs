//! The numbers that vectors hold.

use super::vector::Vector;
use isocenter_fft::Planned;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// f32 or f64.
pub trait Real: Planned + Default + sealed::Sealed + crate::cpu::buffer::Plain {
    /// Unit round-off.
    const UNIT: f64;
    /// The vector that every processor has.
    type Portable: Vector<Element = Self>;
    /// AVX2 with FMA.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Vector<Element = Self>;
    /// AVX-512.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Vector<Element = Self>;
    /// NEON.
    #[cfg(target_arch = "aarch64")]
    type Neon: Vector<Element = Self>;

    /// 0.
    const ZERO: Self;

    /// Nearest.
    fn of(v: f64) -> Self;
    /// In double precision.
    fn wide(self) -> f64;
    /// Square root.
    fn root(self) -> Self;
    /// The larger of two; the other of a NaN and a number.
    fn larger(self, other: Self) -> Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    type Portable = wide::f32x8;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = std::arch::x86_64::__m256;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = std::arch::x86_64::__m512;
    #[cfg(target_arch = "aarch64")]
    type Neon = super::arm::Singles;

    fn of(v: f64) -> Self {
        v as f32
    }

    fn root(self) -> Self {
        self.sqrt()
    }

    fn larger(self, other: Self) -> Self {
        self.max(other)
    }

    fn wide(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const UNIT: f64 = f64::EPSILON / 2.0;
    type Portable = wide::f64x4;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = std::arch::x86_64::__m256d;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = std::arch::x86_64::__m512d;
    #[cfg(target_arch = "aarch64")]
    type Neon = super::arm::Doubles;

    fn of(v: f64) -> Self {
        v
    }

    fn root(self) -> Self {
        self.sqrt()
    }

    fn larger(self, other: Self) -> Self {
        self.max(other)
    }

    fn wide(self) -> f64 {
        self
    }
}

//! Vectors of f32 or f64 for kernels that are written once for both: few operations, three instruction-set levels.
//!
//! As in `simd`, a kernel is one `#[inline(always)]` generic function, and `dispatch` is called inside the parallel
//! task.

use super::level::{Instructions, Level};
use rustfft::FftNum;

/// # Safety (of every method)
/// The processor has the level's instructions; pointers are valid for a whole vector, unaligned.
#[allow(clippy::missing_safety_doc)]
pub trait Vector: Copy {
    /// What it holds.
    type Element: Copy;
    /// How many, an even number.
    const LANES: usize;

    /// The same in all lanes.
    unsafe fn splat(v: Self::Element) -> Self;
    /// Lane l is `p[l]`.
    unsafe fn load(p: *const Self::Element) -> Self;
    /// Lanes are `p[0], p[1], p[0], p[1]` and so on.
    unsafe fn pairs(p: *const Self::Element) -> Self;
    /// `p[l]` is lane l.
    unsafe fn store(self, p: *mut Self::Element);
    /// Sum.
    unsafe fn add(self, b: Self) -> Self;
    /// Difference.
    unsafe fn sub(self, b: Self) -> Self;
    /// Product.
    unsafe fn mul(self, b: Self) -> Self;
    /// self * b + c; one rounding where the level has it.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// c - self * b; one rounding where the level has it.
    unsafe fn nfma(self, b: Self, c: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// f32 or f64.
pub trait Real: FftNum + Default + sealed::Sealed + super::buffer::Plain {
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

    /// 0.
    const ZERO: Self;

    /// Nearest.
    fn of(v: f64) -> Self;
    /// In double precision.
    fn wide(self) -> f64;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    type Portable = wide::f32x8;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = std::arch::x86_64::__m256;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = std::arch::x86_64::__m512;

    fn of(v: f64) -> Self {
        v as f32
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

    fn of(v: f64) -> Self {
        v
    }

    fn wide(self) -> f64 {
        self
    }
}

macro_rules! portable {
    ($vector:ty, $element:ty, $lanes:literal) => {
        impl Vector for $vector {
            type Element = $element;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(v: $element) -> Self {
                Self::splat(v)
            }
            #[inline(always)]
            unsafe fn load(p: *const $element) -> Self {
                // SAFETY: by the trait's contract.
                Self::new(unsafe { p.cast::<[$element; $lanes]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn pairs(p: *const $element) -> Self {
                // SAFETY: by the trait's contract.
                let pair = unsafe { p.cast::<[$element; 2]>().read_unaligned() };
                Self::new(std::array::from_fn(|l| pair[l % 2]))
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $element) {
                // SAFETY: by the trait's contract.
                unsafe { p.cast::<[$element; $lanes]>().write_unaligned(self.to_array()) }
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                self + b
            }
            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                self - b
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            unsafe fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            unsafe fn nfma(self, b: Self, c: Self) -> Self {
                self.mul_neg_add(b, c)
            }
        }
    };
}

portable!(wide::f32x8, f32, 8);
portable!(wide::f64x4, f64, 4);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    macro_rules! x86 {
        ($vector:ty, $element:ty, $lanes:literal, $splat:ident, $load:ident, |$p:ident| $pairs:expr, $store:ident,
         $add:ident, $sub:ident, $mul:ident, $fma:ident, $nfma:ident) => {
            // SAFETY of every block below: the trait's contract gives the instructions and the pointers.
            #[allow(clippy::undocumented_unsafe_blocks)]
            impl Vector for $vector {
                type Element = $element;
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn splat(v: $element) -> Self {
                    unsafe { $splat(v) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $element) -> Self {
                    unsafe { $load(p) }
                }
                #[inline(always)]
                unsafe fn pairs($p: *const $element) -> Self {
                    unsafe { $pairs }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $element) {
                    unsafe { $store(p, self) }
                }
                #[inline(always)]
                unsafe fn add(self, b: Self) -> Self {
                    unsafe { $add(self, b) }
                }
                #[inline(always)]
                unsafe fn sub(self, b: Self) -> Self {
                    unsafe { $sub(self, b) }
                }
                #[inline(always)]
                unsafe fn mul(self, b: Self) -> Self {
                    unsafe { $mul(self, b) }
                }
                #[inline(always)]
                unsafe fn fma(self, b: Self, c: Self) -> Self {
                    unsafe { $fma(self, b, c) }
                }
                #[inline(always)]
                unsafe fn nfma(self, b: Self, c: Self) -> Self {
                    unsafe { $nfma(self, b, c) }
                }
            }
        };
    }

    /// Two f32 as the bits of one f64.
    // SAFETY of the block: as above.
    #[allow(clippy::undocumented_unsafe_blocks)]
    #[inline(always)]
    unsafe fn bits(p: *const f32) -> f64 {
        unsafe { p.cast::<f64>().read_unaligned() }
    }

    x86!(
        __m256,
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        |p| _mm256_castpd_ps(_mm256_set1_pd(bits(p))),
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_fmadd_ps,
        _mm256_fnmadd_ps
    );
    x86!(
        __m256d,
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        |p| _mm256_broadcast_pd(&_mm_loadu_pd(p)),
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_fmadd_pd,
        _mm256_fnmadd_pd
    );
    x86!(
        __m512,
        f32,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        |p| _mm512_castpd_ps(_mm512_set1_pd(bits(p))),
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps
    );
    x86!(
        __m512d,
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        |p| _mm512_castps_pd(_mm512_broadcast_f32x4(_mm_castpd_ps(_mm_loadu_pd(p)))),
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd
    );
}

/// A kernel: generic over the vector, called through [`dispatch`].
pub(crate) trait Kernel<T: Real> {
    /// # Safety
    /// The processor has the instructions of `V`.
    unsafe fn run<V: Vector<Element = T>>(self);
}

/// Runs the kernel with the instructions of `level`.
pub(crate) fn dispatch<T: Real, K: Kernel<T>>(level: Level, kernel: K) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<T: Real, K: Kernel<T>>(kernel: K) {
            // SAFETY: the instructions are enabled here.
            unsafe { kernel.run::<T::Avx2>() }
        }
        #[target_feature(enable = "avx512f,avx2,fma")]
        unsafe fn avx512<T: Real, K: Kernel<T>>(kernel: K) {
            // SAFETY: the instructions are enabled here.
            unsafe { kernel.run::<T::Avx512>() }
        }
        match level.instructions() {
            // SAFETY: levels are of this processor.
            Instructions::Avx512 => return unsafe { avx512(kernel) },
            // SAFETY: levels are of this processor.
            Instructions::Avx2 => return unsafe { avx2(kernel) },
            Instructions::Baseline => {}
        }
    }
    let _ = level;
    // SAFETY: the portable vector needs nothing.
    unsafe { kernel.run::<T::Portable>() }
}

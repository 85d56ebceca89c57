//! AVX2 with FMA, and AVX-512 F.

use super::vector::{Lookup, Vector};
use std::arch::x86_64::*;

macro_rules! x86 {
    ($vector:ty, $element:ty, $singles:ty, $lanes:literal, $splat:ident, $load:ident, |$p:ident| $pairs:expr, $store:ident,
     $add:ident, $sub:ident, $mul:ident, $fma:ident, $nfma:ident) => {
        // SAFETY of every block below: the trait's contract gives the instructions and the pointers.
        #[allow(clippy::undocumented_unsafe_blocks)]
        impl Vector for $vector {
            type Element = $element;
            type Singles = $singles;
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
    __m256,
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
    __m256,
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
    __m512,
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
    __m512,
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

// SAFETY of every block below: the trait's contract gives the instructions and the pointers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lookup for __m256 {
    type Index = __m256i;

    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        unsafe { _mm256_min_ps(self, b) }
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        unsafe { _mm256_max_ps(self, b) }
    }
    #[inline(always)]
    unsafe fn ramp() -> Self {
        unsafe { _mm256_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0) }
    }
    #[inline(always)]
    unsafe fn truncate(self) -> __m256i {
        unsafe { _mm256_cvttps_epi32(self) }
    }
    #[inline(always)]
    unsafe fn of_index(index: __m256i) -> Self {
        unsafe { _mm256_cvtepi32_ps(index) }
    }
    #[inline(always)]
    unsafe fn shift_add(index: __m256i, shift: u32, base: i32) -> __m256i {
        unsafe { _mm256_add_epi32(_mm256_sllv_epi32(index, _mm256_set1_epi32(shift as i32)), _mm256_set1_epi32(base)) }
    }
    #[inline(always)]
    unsafe fn store_index(index: __m256i, p: *mut i32) {
        unsafe { _mm256_storeu_si256(p.cast(), index) }
    }
    #[inline(always)]
    unsafe fn window(p: *const f32, index: __m256i) -> Self {
        unsafe { _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), index) }
    }
    #[inline(always)]
    unsafe fn wide_window(p: *const f32, index: __m256i) -> Self {
        unsafe {
            let low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), index);
            let high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p.add(8)), index);
            // Bit 3 of the index, moved to the sign, chooses the half.
            _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index)))
        }
    }
    #[inline(always)]
    unsafe fn gather(p: *const f32, index: __m256i) -> Self {
        unsafe { _mm256_i32gather_ps::<4>(p, index) }
    }
}

// SAFETY of every block below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lookup for __m512 {
    type Index = __m512i;

    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        unsafe { _mm512_min_ps(self, b) }
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        unsafe { _mm512_max_ps(self, b) }
    }
    #[inline(always)]
    unsafe fn ramp() -> Self {
        unsafe { _mm512_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0) }
    }
    #[inline(always)]
    unsafe fn truncate(self) -> __m512i {
        unsafe { _mm512_cvttps_epi32(self) }
    }
    #[inline(always)]
    unsafe fn of_index(index: __m512i) -> Self {
        unsafe { _mm512_cvtepi32_ps(index) }
    }
    #[inline(always)]
    unsafe fn shift_add(index: __m512i, shift: u32, base: i32) -> __m512i {
        unsafe { _mm512_add_epi32(_mm512_sllv_epi32(index, _mm512_set1_epi32(shift as i32)), _mm512_set1_epi32(base)) }
    }
    #[inline(always)]
    unsafe fn store_index(index: __m512i, p: *mut i32) {
        unsafe { _mm512_storeu_si512(p.cast(), index) }
    }
    #[inline(always)]
    unsafe fn window(p: *const f32, index: __m512i) -> Self {
        unsafe { _mm512_permutexvar_ps(index, _mm512_loadu_ps(p)) }
    }
    #[inline(always)]
    unsafe fn wide_window(p: *const f32, index: __m512i) -> Self {
        unsafe { _mm512_permutex2var_ps(_mm512_loadu_ps(p), index, _mm512_loadu_ps(p.add(16))) }
    }
    #[inline(always)]
    unsafe fn gather(p: *const f32, index: __m512i) -> Self {
        unsafe { _mm512_i32gather_ps::<4>(index, p) }
    }
}

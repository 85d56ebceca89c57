//! A vector of f32 with just the operations that the kernels use, at three instruction-set levels.
//!
//! A kernel is one `#[inline(always)]` generic function; [`dispatch`] compiles it once a level, with the level's
//! instructions enabled around all of it, and picks one when called. Call it inside the parallel task, not around it.

use super::level::{Instructions, Level};

/// # Safety (of every unsafe method)
/// The processor has the level's instructions; pointers are valid for what the method reads or writes, unaligned.
pub(crate) trait Simd: Copy {
    /// Floats in a vector.
    const LANES: usize;
    type F: Copy;
    type I: Copy;

    unsafe fn splat(v: f32) -> Self::F;
    unsafe fn load(p: *const f32) -> Self::F;
    unsafe fn store(p: *mut f32, v: Self::F);
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F;
    /// a * b + c; one rounding where the level has it.
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F;
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F;
    /// 0, 1, 2, ...
    unsafe fn ramp() -> Self::F;
    /// Towards zero; the value must fit.
    unsafe fn truncate(v: Self::F) -> Self::I;
    unsafe fn to_float(v: Self::I) -> Self::F;
    /// (v << shift) + base
    unsafe fn shift_add(v: Self::I, shift: u32, base: i32) -> Self::I;
    unsafe fn store_i(p: *mut i32, v: Self::I);
    /// Lane l is `p[index[l]]`, each index in 0..LANES; reads all LANES floats at `p`.
    unsafe fn window(p: *const f32, index: Self::I) -> Self::F;
    /// Lane l is `p[index[l]]`, each index in 0..2 LANES; reads all 2 LANES floats at `p`.
    unsafe fn wide_window(p: *const f32, index: Self::I) -> Self::F;
    /// Lane l is `p[index[l]]`, any index.
    unsafe fn gather(p: *const f32, index: Self::I) -> Self::F;
}

/// Portable vectors of eight: SSE2 or NEON, whatever the target always has.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Simd for Portable {
    const LANES: usize = 8;
    type F = wide::f32x8;
    type I = wide::i32x8;

    #[inline(always)]
    unsafe fn splat(v: f32) -> Self::F {
        wide::f32x8::splat(v)
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::F {
        // SAFETY: by the trait's contract.
        unsafe { wide::f32x8::new(p.cast::<[f32; 8]>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::F) {
        // SAFETY: by the trait's contract.
        unsafe { p.cast::<[f32; 8]>().write_unaligned(v.to_array()) }
    }
    #[inline(always)]
    unsafe fn add(a: Self::F, b: Self::F) -> Self::F {
        a + b
    }
    #[inline(always)]
    unsafe fn sub(a: Self::F, b: Self::F) -> Self::F {
        a - b
    }
    #[inline(always)]
    unsafe fn fma(a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        a.mul_add(b, c)
    }
    #[inline(always)]
    unsafe fn min(a: Self::F, b: Self::F) -> Self::F {
        a.fast_min(b)
    }
    #[inline(always)]
    unsafe fn max(a: Self::F, b: Self::F) -> Self::F {
        a.fast_max(b)
    }
    #[inline(always)]
    unsafe fn ramp() -> Self::F {
        wide::f32x8::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    }
    #[inline(always)]
    unsafe fn truncate(v: Self::F) -> Self::I {
        v.fast_trunc_int()
    }
    #[inline(always)]
    unsafe fn to_float(v: Self::I) -> Self::F {
        v.round_float()
    }
    #[inline(always)]
    unsafe fn shift_add(v: Self::I, shift: u32, base: i32) -> Self::I {
        (v << shift) + wide::i32x8::splat(base)
    }
    #[inline(always)]
    unsafe fn store_i(p: *mut i32, v: Self::I) {
        // SAFETY: by the trait's contract.
        unsafe { p.cast::<[i32; 8]>().write_unaligned(v.to_array()) }
    }
    #[inline(always)]
    unsafe fn window(p: *const f32, index: Self::I) -> Self::F {
        // SAFETY: by the trait's contract.
        unsafe { Self::gather(p, index) }
    }
    #[inline(always)]
    unsafe fn wide_window(p: *const f32, index: Self::I) -> Self::F {
        // SAFETY: by the trait's contract.
        unsafe { Self::gather(p, index) }
    }
    #[inline(always)]
    unsafe fn gather(p: *const f32, index: Self::I) -> Self::F {
        // SAFETY: by the trait's contract.
        wide::f32x8::new(index.to_array().map(|i| unsafe { *p.offset(i as isize) }))
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Simd;
    use std::arch::x86_64::*;

    /// AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2;

    // SAFETY of every block below: the trait's contract gives the instructions and the pointers.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Simd for Avx2 {
        const LANES: usize = 8;
        type F = __m256;
        type I = __m256i;

        #[inline(always)]
        unsafe fn splat(v: f32) -> __m256 {
            unsafe { _mm256_set1_ps(v) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m256 {
            unsafe { _mm256_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m256) {
            unsafe { _mm256_storeu_ps(p, v) }
        }
        #[inline(always)]
        unsafe fn add(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_add_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn sub(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_sub_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
            unsafe { _mm256_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn min(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_min_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn max(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_max_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn ramp() -> __m256 {
            unsafe { _mm256_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0) }
        }
        #[inline(always)]
        unsafe fn truncate(v: __m256) -> __m256i {
            unsafe { _mm256_cvttps_epi32(v) }
        }
        #[inline(always)]
        unsafe fn to_float(v: __m256i) -> __m256 {
            unsafe { _mm256_cvtepi32_ps(v) }
        }
        #[inline(always)]
        unsafe fn shift_add(v: __m256i, shift: u32, base: i32) -> __m256i {
            unsafe { _mm256_add_epi32(_mm256_sllv_epi32(v, _mm256_set1_epi32(shift as i32)), _mm256_set1_epi32(base)) }
        }
        #[inline(always)]
        unsafe fn store_i(p: *mut i32, v: __m256i) {
            unsafe { _mm256_storeu_si256(p.cast(), v) }
        }
        #[inline(always)]
        unsafe fn window(p: *const f32, index: __m256i) -> __m256 {
            unsafe { _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), index) }
        }
        #[inline(always)]
        unsafe fn wide_window(p: *const f32, index: __m256i) -> __m256 {
            unsafe {
                let low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p), index);
                let high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(p.add(8)), index);
                // Bit 3 of the index, moved to the sign, chooses the half.
                _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index)))
            }
        }
        #[inline(always)]
        unsafe fn gather(p: *const f32, index: __m256i) -> __m256 {
            unsafe { _mm256_i32gather_ps::<4>(p, index) }
        }
    }

    /// AVX-512 F.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512;

    // SAFETY of every block below: the trait's contract gives the instructions and the pointers.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Simd for Avx512 {
        const LANES: usize = 16;
        type F = __m512;
        type I = __m512i;

        #[inline(always)]
        unsafe fn splat(v: f32) -> __m512 {
            unsafe { _mm512_set1_ps(v) }
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m512 {
            unsafe { _mm512_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m512) {
            unsafe { _mm512_storeu_ps(p, v) }
        }
        #[inline(always)]
        unsafe fn add(a: __m512, b: __m512) -> __m512 {
            unsafe { _mm512_add_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn sub(a: __m512, b: __m512) -> __m512 {
            unsafe { _mm512_sub_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
            unsafe { _mm512_fmadd_ps(a, b, c) }
        }
        #[inline(always)]
        unsafe fn min(a: __m512, b: __m512) -> __m512 {
            unsafe { _mm512_min_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn max(a: __m512, b: __m512) -> __m512 {
            unsafe { _mm512_max_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn ramp() -> __m512 {
            unsafe {
                _mm512_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0)
            }
        }
        #[inline(always)]
        unsafe fn truncate(v: __m512) -> __m512i {
            unsafe { _mm512_cvttps_epi32(v) }
        }
        #[inline(always)]
        unsafe fn to_float(v: __m512i) -> __m512 {
            unsafe { _mm512_cvtepi32_ps(v) }
        }
        #[inline(always)]
        unsafe fn shift_add(v: __m512i, shift: u32, base: i32) -> __m512i {
            unsafe { _mm512_add_epi32(_mm512_sllv_epi32(v, _mm512_set1_epi32(shift as i32)), _mm512_set1_epi32(base)) }
        }
        #[inline(always)]
        unsafe fn store_i(p: *mut i32, v: __m512i) {
            unsafe { _mm512_storeu_si512(p.cast(), v) }
        }
        #[inline(always)]
        unsafe fn window(p: *const f32, index: __m512i) -> __m512 {
            unsafe { _mm512_permutexvar_ps(index, _mm512_loadu_ps(p)) }
        }
        #[inline(always)]
        unsafe fn wide_window(p: *const f32, index: __m512i) -> __m512 {
            unsafe { _mm512_permutex2var_ps(_mm512_loadu_ps(p), index, _mm512_loadu_ps(p.add(16))) }
        }
        #[inline(always)]
        unsafe fn gather(p: *const f32, index: __m512i) -> __m512 {
            unsafe { _mm512_i32gather_ps::<4>(index, p) }
        }
    }
}

/// A kernel: generic over the level, called through [`dispatch`].
pub(crate) trait Kernel {
    /// # Safety
    /// The processor has the instructions of `S`.
    unsafe fn run<S: Simd>(self);
}

/// Runs the kernel with the instructions of `level`.
pub(crate) fn dispatch<K: Kernel>(level: Level, kernel: K) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2<K: Kernel>(kernel: K) {
            // SAFETY: the instructions are enabled here.
            unsafe { kernel.run::<Avx2>() }
        }
        #[target_feature(enable = "avx512f,avx2,fma")]
        unsafe fn avx512<K: Kernel>(kernel: K) {
            // SAFETY: the instructions are enabled here.
            unsafe { kernel.run::<Avx512>() }
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
    // SAFETY: the portable level needs nothing.
    unsafe { kernel.run::<Portable>() }
}

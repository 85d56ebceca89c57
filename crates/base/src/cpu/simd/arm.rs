//! NEON: two registers of four floats, or of two doubles, as one vector.

use super::vector::{Lookup, Vector};
use std::arch::aarch64::*;

/// Eight floats.
#[derive(Clone, Copy)]
pub struct Singles([float32x4_t; 2]);

/// Four doubles.
#[derive(Clone, Copy)]
pub struct Doubles([float64x2_t; 2]);

macro_rules! arm {
    ($vector:ident, $element:ty, $lanes:literal, $splat:ident, $load:ident, |$p:ident| $pairs:expr, $store:ident, $add:ident, $sub:ident,
     $mul:ident, $fma:ident, $nfma:ident) => {
        // SAFETY of every block below: 64-bit Arm has NEON; the trait's contract gives the pointers.
        #[allow(clippy::undocumented_unsafe_blocks)]
        impl Vector for $vector {
            type Element = $element;
            type Singles = Singles;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(v: $element) -> Self {
                unsafe { Self([$splat(v); 2]) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $element) -> Self {
                unsafe { Self([$load(p), $load(p.add($lanes / 2))]) }
            }
            #[inline(always)]
            unsafe fn pairs($p: *const $element) -> Self {
                unsafe { Self([$pairs; 2]) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $element) {
                unsafe {
                    $store(p, self.0[0]);
                    $store(p.add($lanes / 2), self.0[1]);
                }
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                unsafe { Self([$add(self.0[0], b.0[0]), $add(self.0[1], b.0[1])]) }
            }
            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                unsafe { Self([$sub(self.0[0], b.0[0]), $sub(self.0[1], b.0[1])]) }
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                unsafe { Self([$mul(self.0[0], b.0[0]), $mul(self.0[1], b.0[1])]) }
            }
            #[inline(always)]
            unsafe fn fma(self, b: Self, c: Self) -> Self {
                unsafe { Self([$fma(c.0[0], self.0[0], b.0[0]), $fma(c.0[1], self.0[1], b.0[1])]) }
            }
            #[inline(always)]
            unsafe fn nfma(self, b: Self, c: Self) -> Self {
                unsafe { Self([$nfma(c.0[0], self.0[0], b.0[0]), $nfma(c.0[1], self.0[1], b.0[1])]) }
            }
        }
    };
}

arm!(
    Singles,
    f32,
    8,
    vdupq_n_f32,
    vld1q_f32,
    |p| vreinterpretq_f32_f64(vdupq_n_f64(p.cast::<f64>().read_unaligned())),
    vst1q_f32,
    vaddq_f32,
    vsubq_f32,
    vmulq_f32,
    vfmaq_f32,
    vfmsq_f32
);
arm!(
    Doubles,
    f64,
    4,
    vdupq_n_f64,
    vld1q_f64,
    |p| vld1q_f64(p),
    vst1q_f64,
    vaddq_f64,
    vsubq_f64,
    vmulq_f64,
    vfmaq_f64,
    vfmsq_f64
);

/// The bytes of floats in a table: of float i, 4 i to 4 i + 3.
// SAFETY of the block: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
#[inline(always)]
unsafe fn bytes(index: int32x4_t) -> uint8x16_t {
    unsafe { vreinterpretq_u8_s32(vmlaq_s32(vdupq_n_s32(0x0302_0100), index, vdupq_n_s32(0x0404_0404))) }
}

// SAFETY of every block below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lookup for Singles {
    type Index = [int32x4_t; 2];

    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        unsafe { Self([vminq_f32(self.0[0], b.0[0]), vminq_f32(self.0[1], b.0[1])]) }
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        unsafe { Self([vmaxq_f32(self.0[0], b.0[0]), vmaxq_f32(self.0[1], b.0[1])]) }
    }
    #[inline(always)]
    unsafe fn ramp() -> Self {
        const RAMP: [f32; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        unsafe { Self::load(RAMP.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn truncate(self) -> Self::Index {
        unsafe { self.0.map(|v| vcvtq_s32_f32(v)) }
    }
    #[inline(always)]
    unsafe fn of_index(index: Self::Index) -> Self {
        unsafe { Self(index.map(|i| vcvtq_f32_s32(i))) }
    }
    #[inline(always)]
    unsafe fn shift_add(index: Self::Index, shift: u32, base: i32) -> Self::Index {
        unsafe { index.map(|i| vaddq_s32(vshlq_s32(i, vdupq_n_s32(shift as i32)), vdupq_n_s32(base))) }
    }
    #[inline(always)]
    unsafe fn store_index(index: Self::Index, p: *mut i32) {
        unsafe {
            vst1q_s32(p, index[0]);
            vst1q_s32(p.add(4), index[1]);
        }
    }
    #[inline(always)]
    unsafe fn window(p: *const f32, index: Self::Index) -> Self {
        unsafe {
            let p = p.cast::<u8>();
            let table = uint8x16x2_t(vld1q_u8(p), vld1q_u8(p.add(16)));
            Self(index.map(|i| vreinterpretq_f32_u8(vqtbl2q_u8(table, bytes(i)))))
        }
    }
    #[inline(always)]
    unsafe fn wide_window(p: *const f32, index: Self::Index) -> Self {
        unsafe {
            let p = p.cast::<u8>();
            let table = uint8x16x4_t(vld1q_u8(p), vld1q_u8(p.add(16)), vld1q_u8(p.add(32)), vld1q_u8(p.add(48)));
            Self(index.map(|i| vreinterpretq_f32_u8(vqtbl4q_u8(table, bytes(i)))))
        }
    }
    #[inline(always)]
    unsafe fn gather(p: *const f32, index: Self::Index) -> Self {
        let mut found = [0.0; 8];
        unsafe {
            let mut at = [0i32; 8];
            Self::store_index(index, at.as_mut_ptr());
            for (found, at) in found.iter_mut().zip(at) {
                *found = *p.offset(at as isize);
            }
            Self::load(found.as_ptr())
        }
    }
}

//! SSE2 or NEON, whatever the target always has.

use super::vector::{Lookup, Vector};

macro_rules! portable {
    ($vector:ty, $element:ty, $lanes:literal) => {
        impl Vector for $vector {
            type Element = $element;
            type Singles = wide::f32x8;
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

impl Lookup for wide::f32x8 {
    type Index = wide::i32x8;

    #[inline(always)]
    unsafe fn min(self, b: Self) -> Self {
        self.fast_min(b)
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        self.fast_max(b)
    }
    #[inline(always)]
    unsafe fn ramp() -> Self {
        Self::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    }
    #[inline(always)]
    unsafe fn truncate(self) -> wide::i32x8 {
        self.fast_trunc_int()
    }
    #[inline(always)]
    unsafe fn of_index(index: wide::i32x8) -> Self {
        index.round_float()
    }
    #[inline(always)]
    unsafe fn shift_add(index: wide::i32x8, shift: u32, base: i32) -> wide::i32x8 {
        (index << shift) + wide::i32x8::splat(base)
    }
    #[inline(always)]
    unsafe fn store_index(index: wide::i32x8, p: *mut i32) {
        // SAFETY: by the trait's contract.
        unsafe { p.cast::<[i32; 8]>().write_unaligned(index.to_array()) }
    }
    #[inline(always)]
    unsafe fn window(p: *const f32, index: wide::i32x8) -> Self {
        // SAFETY: by the trait's contract.
        unsafe { Self::gather(p, index) }
    }
    #[inline(always)]
    unsafe fn wide_window(p: *const f32, index: wide::i32x8) -> Self {
        // SAFETY: by the trait's contract.
        unsafe { Self::gather(p, index) }
    }
    #[inline(always)]
    unsafe fn gather(p: *const f32, index: wide::i32x8) -> Self {
        // SAFETY: by the trait's contract.
        Self::new(index.to_array().map(|i| unsafe { *p.offset(i as isize) }))
    }
}

//! Between the caller's arrays, of any strides and precision, and contiguous ones.

use crate::array::{DType, Layout};
use crate::context::NanPolicy;
use crate::cpu::buffer::{Buffer, Plain};
use crate::cpu::simd::Real;
use crate::error::{Result, fail};
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a caller's number becomes.
pub(super) trait Value: Plain + Send + Sync {
    /// # Safety
    /// `p` is a readable, aligned number of this type.
    unsafe fn read(p: *const u8, dtype: DType) -> Self;
    /// # Safety
    /// `p` is a writable, aligned number of this type.
    unsafe fn write(self, p: *mut u8, dtype: DType);
    fn is_finite(self) -> bool;
    fn text(self, dtype: DType) -> String;
    const ZERO: Self;
}

impl<T: Real> Value for Complex<T> {
    unsafe fn read(p: *const u8, dtype: DType) -> Self {
        // SAFETY: by the trait's contract.
        unsafe {
            match dtype {
                DType::F32 => Complex::new(T::of((*p.cast::<f32>()).into()), T::of(0.0)),
                DType::F64 => Complex::new(T::of(*p.cast::<f64>()), T::of(0.0)),
                DType::C64 => {
                    let [re, im] = *p.cast::<[f32; 2]>();
                    Complex::new(T::of(re.into()), T::of(im.into()))
                }
                DType::C128 => {
                    let [re, im] = *p.cast::<[f64; 2]>();
                    Complex::new(T::of(re), T::of(im))
                }
                _ => unreachable!("{dtype:?} is no type of MRI's arrays"),
            }
        }
    }
    unsafe fn write(self, p: *mut u8, dtype: DType) {
        let (re, im) = (self.re.wide(), self.im.wide());
        // SAFETY: by the trait's contract. Only complex arrays are written as complex numbers; of a real one the real part.
        unsafe {
            match dtype {
                DType::F32 => *p.cast() = re as f32,
                DType::F64 => *p.cast() = re,
                DType::C64 => *p.cast() = [re as f32, im as f32],
                DType::C128 => *p.cast() = [re, im],
                _ => unreachable!("{dtype:?} is no type of MRI's arrays"),
            }
        }
    }
    fn is_finite(self) -> bool {
        self.re.wide().is_finite() && self.im.wide().is_finite()
    }
    fn text(self, dtype: DType) -> String {
        if dtype.is_complex() {
            format!("{} + {}i", self.re.wide(), self.im.wide())
        } else {
            self.re.wide().to_string()
        }
    }
    const ZERO: Self = Complex { re: T::ZERO, im: T::ZERO };
}

impl Value for f64 {
    unsafe fn read(p: *const u8, dtype: DType) -> Self {
        // SAFETY: by the trait's contract. Only real arrays are read as real numbers; of a complex one it is the real part.
        unsafe {
            match dtype {
                DType::F32 | DType::C64 => (*p.cast::<f32>()).into(),
                _ => *p.cast::<f64>(),
            }
        }
    }
    unsafe fn write(self, p: *mut u8, dtype: DType) {
        // SAFETY: by the trait's contract.
        unsafe { Complex::new(self, 0.0).write(p, dtype) };
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn text(self, _: DType) -> String {
        self.to_string()
    }
    const ZERO: Self = 0.0;
}

/// Elements of a row that a task takes at least.
const GRAIN: usize = 1 << 14;

/// Index of a row (all dimensions but the last) in every dimension.
fn place<const N: usize>(shape: &[usize; N], mut row: usize) -> [usize; N] {
    let mut at = [0; N];
    for d in (0..N - 1).rev() {
        at[d] = row % shape[d];
        row /= shape[d];
    }
    at
}

/// Copies a caller's array; what is not finite is an error, or becomes 0 and is counted.
///
/// # Safety
/// The layout's elements are readable for the call, in host memory.
pub(super) unsafe fn read<V: Value, const N: usize>(
    from: &Layout<N>,
    name: &str,
    policy: NanPolicy,
    replaced: &mut u64,
) -> Result<Buffer<V>> {
    let count: usize = from.shape.iter().product();
    let mut out = Buffer::<V>::zeroed(count)?;
    let n = from.shape[N - 1];
    let bad = AtomicU64::new(0);
    out.par_chunks_mut(n).with_min_len(GRAIN.div_ceil(n)).enumerate().for_each(|(row, out)| {
        let start = from.element(place(&from.shape, row));
        let step = from.strides[N - 1] * from.dtype.size() as isize;
        let mut seen = 0;
        for (k, v) in out.iter_mut().enumerate() {
            // SAFETY: element k of the row, by this function's contract.
            *v = unsafe { V::read(start.wrapping_offset(k as isize * step), from.dtype) };
            seen += u64::from(!v.is_finite());
        }
        bad.fetch_add(seen, Ordering::Relaxed);
    });
    let bad = bad.into_inner();
    if bad > 0 {
        if policy == NanPolicy::Error {
            let first = out.iter().position(|v| !v.is_finite()).unwrap_or_default();
            let mut at = place(&from.shape, first / n);
            at[N - 1] = first % n;
            let value = out[first].text(from.dtype);
            fail!(NotFiniteData, "{name}{at:?} is {value}; it must be finite (or set the NaN policy to replace)");
        }
        out.par_iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = V::ZERO);
        *replaced += bad;
    }
    Ok(out)
}

/// Copies into a caller's array.
///
/// # Safety
/// The layout's elements are writable for the call, in host memory, all apart from each other and used by nobody else.
pub(super) unsafe fn write<V: Value, const N: usize>(values: &[V], to: &Layout<N>) {
    let n = to.shape[N - 1];
    values.par_chunks(n).with_min_len(GRAIN.div_ceil(n)).enumerate().for_each(|(row, values)| {
        let start = to.element(place(&to.shape, row)).cast_mut();
        let step = to.strides[N - 1] * to.dtype.size() as isize;
        for (k, v) in values.iter().enumerate() {
            // SAFETY: element k of the row, by this function's contract.
            unsafe { v.write(start.wrapping_offset(k as isize * step), to.dtype) };
        }
    });
}

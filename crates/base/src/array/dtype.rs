//! Element types of the caller's arrays.

use crate::cpu::half::F16;
use crate::error::{Result, fail};
use rustfft::num_complex::Complex;

/// Type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DType {
    /// 16-bit float (IEEE 754 binary16).
    F16,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// Two 32-bit floats, real part first.
    C64,
    /// Two 64-bit floats, real part first.
    C128,
    /// 8-bit unsigned counts.
    U8,
    /// 16-bit unsigned counts.
    U16,
    /// 32-bit unsigned counts.
    U32,
}

impl DType {
    /// What images and projections of CT are, and PET's images.
    pub const FLOAT: &[Self] = &[Self::F32];
    /// Detector frames, which may be counts.
    pub const FRAMES: &[Self] = &[Self::F32, Self::U16, Self::U8];
    /// Finished volumes of CT.
    pub const VOLUMES: &[Self] = &[Self::F32, Self::U8, Self::U16, Self::F16];
    /// Histo-images, which may be counts.
    pub const HISTOS: &[Self] = &[Self::F32, Self::U32];
    /// Sums of counts.
    pub const SUMS: &[Self] = &[Self::F32, Self::F64, Self::U32];
    /// Numbers of crystals, labels.
    pub const COUNTS: &[Self] = &[Self::U8, Self::U16, Self::U32];
    /// Times of events: bins, or ps.
    pub const TIMES: &[Self] = &[Self::U8, Self::U16, Self::U32, Self::F32, Self::F64];
    /// Real numbers.
    pub const REAL: &[Self] = &[Self::F32, Self::F64];
    /// Complex numbers.
    pub const COMPLEX: &[Self] = &[Self::C64, Self::C128];
    /// Real or complex numbers.
    pub const NUMBERS: &[Self] = &[Self::F32, Self::F64, Self::C64, Self::C128];

    /// An error unless it is one of these; `name` is the array's.
    pub fn check(self, name: &str, allowed: &[Self]) -> Result<()> {
        if !allowed.contains(&self) {
            fail!(TensorDtype, "elements of {name} are {self:?}; this call takes {allowed:?}");
        }
        Ok(())
    }

    /// Bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            DType::U8 => 1,
            DType::F16 | DType::U16 => 2,
            DType::F32 | DType::U32 => 4,
            DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// An element's address is a multiple of this.
    pub const fn alignment(self) -> usize {
        if self.is_complex() { self.size() / 2 } else { self.size() }
    }

    /// Two floats.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// Unsigned integers: always finite, never below 0.
    pub const fn is_integer(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32)
    }
}

/// Rust's types that are elements.
pub trait Element: Copy {
    /// The type's name.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($element:ty: $dtype:ident),*) => {
        $(impl Element for $element {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}

elements!(F16: F16, f32: F32, f64: F64, Complex<f32>: C64, Complex<f64>: C128, u8: U8, u16: U16, u32: U32);

//! Real numbers that kernels compute with.

use crate::cpu::simd::Real;

/// Which numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    F32,
    F64,
}

impl Precision {
    /// In kernels' names.
    pub fn suffix(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }

    /// Of a real number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }

    /// Bytes of a complex number.
    pub fn complex(self) -> usize {
        2 * self.bytes()
    }
}

/// A real number, by its type.
pub trait DeviceReal: Real {
    const PRECISION: Precision;
}

impl DeviceReal for f32 {
    const PRECISION: Precision = Precision::F32;
}

impl DeviceReal for f64 {
    const PRECISION: Precision = Precision::F64;
}

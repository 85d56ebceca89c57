//! Fourier transforms of grids on the GPU, one axis a pass, with nothing but the driver. Windows of a grid stand for the parts
//! that are not zero, or that are wanted: only these are read and written.

mod grid;
mod line;
mod pass;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use grid::PrunedFft;
pub(crate) use line::{DeviceLine, DeviceWindow, Line, Window, good_length};
pub(crate) use pass::{Pass, Side, Sum};

/// Precision of elements, which are complex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    F32,
    F64,
}

impl Precision {
    /// In kernels' names.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }

    /// Of a real number.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

/// Sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// exp(-2 pi i j k / n).
    Forward,
    /// exp(+2 pi i j k / n), unscaled.
    Backward,
}

//! Fourier transforms of grids on the GPU, one axis a pass, with nothing but the driver. Windows of a grid stand for the parts
//! that are not zero, or that are wanted: only these are read and written.

mod direction;
mod grid;
mod line;
mod long;
#[cfg(test)]
mod long_tests;
mod pass;
#[cfg(test)]
pub mod tests;
mod transform;

pub use direction::Direction;
pub use grid::{Images, Maps, PrunedFft};
pub use line::{DeviceLine, DeviceWindow, Line, MAX_LENGTH, MAX_RADIX, Window, divisor, several_width};
pub use long::DeviceStep;
pub use pass::{Kernels, Pass, Side, Steps, Sum};
pub use transform::Transform;

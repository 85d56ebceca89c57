//! Spreading and interpolation on NVIDIA GPUs: points between the grid points of fine grids.

mod interpolate;
pub(crate) mod lines;
mod plan;
mod sort;
mod spread;
mod spreading;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use plan::{Choice, Plan};
pub(crate) use sort::Coordinates;
pub(crate) use spread::Values;

//! Spreading and interpolation on NVIDIA GPUs: points between the grid points of fine grids.

mod interpolate;
mod sort;
mod spread;
#[cfg(test)]
mod tests;
mod tile;

pub(crate) use sort::{Coordinates, Points};
pub(crate) use spread::Values;
pub(crate) use tile::{Precision, Spreading};

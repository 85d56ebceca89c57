//! Spreading and interpolation on NVIDIA GPUs: points between the grid points of fine grids.

mod interpolate;
mod line_choice;
mod line_images;
mod line_lists;
mod line_plan;
mod line_sizes;
mod lines;
mod plan;
mod sort;
mod spread;
mod spreading;
#[cfg(test)]
mod tests;
mod tile;
mod toeplitz;
mod transpose;

pub(crate) use line_choice::LineChoice;
pub(crate) use line_images::MAX_IMAGES;
pub(crate) use line_lists::LineLists;
pub(crate) use line_plan::{LinePlan, LineWorkspace};
pub(crate) use line_sizes::LineSizes;
pub(crate) use lines::DeviceLines;
pub(crate) use plan::{Choice, Plan};
pub(crate) use sort::Coordinates;
pub(crate) use spread::Values;
pub(crate) use toeplitz::{Buffers, MatrixSpectra, Spectra, Strided, Toeplitz, mixes};

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

pub use line_choice::LineChoice;
pub use line_images::MAX_IMAGES;
pub use line_lists::LineLists;
pub use line_plan::{LinePlan, LineWorkspace};
pub use line_sizes::LineSizes;
pub use lines::DeviceLines;
pub use plan::{Choice, Plan};
pub use sort::Coordinates;
pub use spread::Values;
pub use toeplitz::{Buffers, MatrixSpectra, Spectra, Strided, Toeplitz, mixes};

//! Receiver coils: noise whitening, virtual coils, and sensitivities from calibration data.
//!
//! Nothing here needs a plan. Data are taken apart in steps, each a file: sums over the calibration data (`calibration`,
//! `correlation`), their signal space (`espirit`), a coil-by-coil matrix at every voxel (`field`), and its strongest eigenvectors
//! (`voxels`).

mod adaptive;
mod apply;
mod arrays;
mod calibration;
mod compression;
mod correlation;
mod espirit;
mod field;
mod fourier;
mod geometric;
mod gram;
mod lags;
mod maps;
mod operators;
mod voxels;
mod whitening;

pub(crate) use apply::multiply;
pub(crate) use compression::principal_coils;
pub use maps::{Maps, Method};
pub use operators::{
    MAX_COILS, apply, apply_geometric, compression, geometric_compression, gpus, sensitivities, whitening,
};

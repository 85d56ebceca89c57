//! Non-Cartesian MRI: images from samples of k-space on any trajectory.
//!
//! Model, with voxel j of an axis of N at r = j - floor(N / 2) and k in cycles per voxel:
//! `s_c(k_m) = sum_r S_c(r) rho(r) exp(-2 pi i k_m . r)`, solved for rho by conjugate gradient on
//! `(F^H W F + lambda R^H R) rho = F^H W s`. S. S. Stone, J. P. Haldar, S. C. Tsao, W. W. Hwu, B. P. Sutton, Z. P. Liang,
//! "Accelerating advanced MRI reconstruction on GPUs", J. Parallel Distrib. Comput. 68, 2008.

mod basis;
mod call;
pub mod coils;
mod convolutions;
mod cpu;
pub mod delays;
mod density;
mod doubts;
mod engine;
mod frames;
mod gpu;
mod inputs;
pub mod joint;
mod low_rank;
mod matrix;
pub mod merit;
mod normal;
mod operators;
mod parts;
mod penalty;
pub mod phantom;
mod plan;
mod reach;
mod reader;
mod segments;
mod shared_frames;
mod solver;
mod sparse;
mod stack;
mod stream;
mod studies;
mod trajectory;
mod transform;
mod variation;
mod wavelets;

pub use density::Density;
pub use frames::MAX_FRAMES;
pub use penalty::{Algorithm, Penalty};
pub use plan::{Geometry, Info, MAX_SIDE, Mri, Normal, Options, Precision};
pub use reach::Unit;
pub use reader::Portion;
pub use stream::StreamMemory;
pub use trajectory::Trajectory;
pub use transform::Method;
pub use wavelets::Wavelet;

/// Kernels, compiled from `kernels/mri`.
#[allow(unreachable_pub)] // the build script writes one kind of static for all crates
mod images {
    use isocenter_base::gpu::Image;

    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}

//! Fourier transforms between a regular grid and points anywhere, by spreading onto a finer grid and a fast transform of it.
//!
//! Voxel j of an axis of N stands at j - floor(N / 2); points are in cycles per voxel, any |k| <= 0.5. The adjoint (type 1)
//! sums `exp(+2 pi i k . r)` over the points, the forward transform (type 2) `exp(-2 pi i k . r)` over the voxels; neither is scaled.
//!
//! J. A. Fessler, B. P. Sutton, "Nonuniform fast Fourier transforms using min-max interpolation", IEEE Trans. Signal Process. 51,
//! 2003; P. J. Beatty, D. G. Nishimura, J. M. Pauly, "Rapid gridding reconstruction with a minimal oversampling ratio", IEEE
//! Trans. Med. Imaging 24, 2005 (Kaiser-Bessel at low upsampling); A. H. Barnett, J. Magland, L. af Klinteberg, "A parallel
//! nonuniform fast Fourier transform library based on an exponential of semicircle kernel", SIAM J. Sci. Comput. 41, 2019.

mod choice;
pub mod course;
mod cpu;
pub mod gpu;
pub mod kernel;
pub mod lines;
mod plan;
mod scalar;
mod settings;
pub mod straight;
pub mod toeplitz;

pub use kernel::Kernel;
pub use plan::{Plan, Points, Progress};
pub use scalar::Scalar;
pub use settings::Settings;

/// Kernels, compiled from `kernels/nufft`.
#[allow(unreachable_pub)] // the build script writes one kind of static for all crates
mod images {
    use isocenter_base::gpu::Image;

    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}

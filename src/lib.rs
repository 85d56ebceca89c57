//! Isocenter: image reconstruction for scanners, behind a stable C ABI.
//!
//! The workspace, from the top down; a crate knows those below it alone.
//!
//! | crate | what it holds |
//! |---|---|
//! | `isocenter` | this one, the shared library: [`ffi`], the C boundary; `include/isocenter.h` is made from it |
//! | `isocenter-ct` | [`ct`]: parallel-beam X-ray CT |
//! | `isocenter-mri` | [`mri`]: non-Cartesian MRI |
//! | `isocenter-pet` | [`pet`]: DIRECT time-of-flight PET |
//! | `isocenter-solve` | iterative methods over vectors in any memory, small dense matrices |
//! | `isocenter-nufft` | [`nufft`]: non-uniform fast Fourier transforms |
//! | `isocenter-base` | [`error`], [`context`] (threads, memory cap, NaN policy, progress, log), [`mod@array`] (the caller's, of any strides), [`phantom`], [`cpu`] (instruction-set levels, SIMD, buffers), [`gpu`] (NVIDIA's driver: devices, memory, streams, kernels) |
//! | `isocenter-fft` | rustfft's plans, compiled once |
//! | `isocenter-nvcc` | CUDA's compiler, for build scripts |
//!
//! The Rust API is what the C API calls; C is the stable one.

pub mod ffi;

pub use isocenter_base::{array, context, cpu, error, gpu, phantom};
pub use isocenter_ct as ct;
pub use isocenter_mri as mri;
pub use isocenter_nufft as nufft;
pub use isocenter_pet as pet;

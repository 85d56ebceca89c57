//! Isocenter: image reconstruction for scanners, behind a stable C ABI.
//!
//! | module | what it holds |
//! |---|---|
//! | [`ffi`] | the C boundary; `include/isocenter.h` is made from it |
//! | [`context`] | threads, memory cap, NaN policy, progress, log |
//! | [`mod@array`] | the caller's arrays, of any strides |
//! | [`error`] | status codes and messages |
//! | [`ct`] | parallel-beam X-ray CT |
//! | [`mri`] | non-Cartesian MRI |
//! | [`pet`] | DIRECT time-of-flight PET |
//! | [`phantom`] | ellipses and ellipsoids: exact integrals, transforms and means |
//! | [`cpu`] | instruction-set levels, SIMD, buffers |
//! | [`gpu`] | NVIDIA driver: devices, memory, streams, kernels |
//! | [`nufft`] | nonuniform fast Fourier transform: shared numerics |
//! | `solve` | iterative solvers over vectors in any memory, small dense matrices: shared numerics |
//!
//! The Rust API is what the C API calls; C is the stable one.

pub mod array;
pub mod context;
pub mod cpu;
pub mod ct;
pub mod error;
pub mod ffi;
pub mod gpu;
pub mod mri;
pub mod nufft;
pub mod pet;
pub mod phantom;
mod solve;

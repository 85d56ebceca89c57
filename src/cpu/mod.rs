//! What every CPU path shares: instruction-set levels, SIMD kernels, elementary functions, sums of products, random numbers, Fourier transforms, and large buffers.

pub mod buffer;
pub(crate) mod elementary;
pub(crate) mod fft;
pub(crate) mod gram;
pub mod half;
pub(crate) mod lanes;
pub mod level;
pub mod memory;
pub(crate) mod prefetch;
pub(crate) mod random;
pub(crate) mod shared;
pub mod simd;
pub(crate) mod turns;

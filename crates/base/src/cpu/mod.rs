//! What every CPU path shares: instruction-set levels, SIMD kernels, elementary functions, sums of products, random numbers, Fourier transforms, and large buffers.

pub mod buffer;
pub mod elementary;
pub mod fft;
pub mod gram;
pub mod half;
pub mod lanes;
pub mod level;
pub mod memory;
pub mod parallel;
pub mod prefetch;
pub mod random;
pub mod shared;
pub mod simd;
pub mod turns;

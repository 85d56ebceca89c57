//! What every CPU path shares: instruction-set levels, the SIMD trait, and large buffers.

pub mod buffer;
pub mod level;
pub(crate) mod simd;

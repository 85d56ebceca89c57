//! What every modality stands on: errors, the context, the caller's arrays, phantoms, processors and NVIDIA GPUs. It never names a
//! modality.

pub mod array;
pub mod context;
pub mod cpu;
pub mod error;
pub mod gpu;
pub mod phantom;

/// Kernels that every modality launches, compiled from `kernels/common`.
pub mod images {
    use crate::gpu::Image;

    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}

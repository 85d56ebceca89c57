//! MRI on the GPU.

mod toeplitz;

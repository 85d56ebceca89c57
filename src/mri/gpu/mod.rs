//! MRI on NVIDIA GPUs.

pub(super) mod array;
mod direct;
mod direct_order;
pub(super) mod engine;
mod penalty;
mod separable;
mod separable_adjoint;
mod separable_forward;
mod toeplitz;
mod transform;
mod vector;

#[cfg(test)]
mod tests;

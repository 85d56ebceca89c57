//! MRI on NVIDIA GPUs.

pub(crate) mod direct;
mod direct_order;
pub(crate) mod separable;
pub(crate) mod separable_adjoint;
pub(crate) mod separable_forward;
mod toeplitz;

#[cfg(test)]
mod tests;

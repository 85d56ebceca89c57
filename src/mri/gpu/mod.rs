//! MRI on NVIDIA GPUs.

pub(crate) mod direct;
pub(crate) mod separable;
pub(crate) mod separable_adjoint;
pub(crate) mod separable_forward;

#[cfg(test)]
mod tests;

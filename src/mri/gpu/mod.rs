//! MRI on NVIDIA GPUs.

pub(super) mod array;
mod coils;
mod direct;
mod direct_order;
pub(super) mod engine;
mod field;
mod lines;
mod memory;
mod penalty;
mod place;
mod q;
pub(super) mod sensitivities;
mod separable;
mod separable_adjoint;
mod separable_forward;
mod sums;
mod transform;
mod variation;
mod wavelets;
mod workspace;

#[cfg(test)]
mod tests;

//! MRI on NVIDIA GPUs.

pub(super) mod array;
mod basis;
mod coils;
mod crew;
mod direct;
mod direct_order;
pub(super) mod engine;
mod fast;
mod field;
mod image_sums;
mod imaginary;
mod joint;
mod lines;
mod low_rank;
mod memory;
mod peers;
mod penalty;
mod place;
pub(super) mod points;
mod q;
mod room;
pub(super) mod sensitivities;
mod separable;
mod separable_adjoint;
mod separable_forward;
mod sets;
mod stack;
mod stack_kernels;
mod stack_sizes;
mod sums;
mod transform;
mod variation;
mod wavelets;
mod workspace;

#[cfg(test)]
mod tests;

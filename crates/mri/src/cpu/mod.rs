//! Exact Fourier sums on the processor: between samples and a grid, where they factorise, and between samples and voxels
//! anywhere, with off-resonance.
//!
//! The adjoint sums `exp(+2 pi i k . r)` over the samples, the forward sum `exp(-2 pi i k . r)` over the voxels; neither is
//! scaled. Results are the same bits for any number of threads.

mod axis;
mod basis;
mod coils;
pub(super) mod direct;
pub(super) mod engine;
mod field;
mod image_sums;
mod imaginary;
mod joint;
mod lines;
mod low_rank;
mod penalty;
mod product;
mod progress;
mod q;
pub(super) mod separable;
mod separable_adjoint;
mod separable_forward;
mod separable_problem;
mod stack;
mod stack_fft;
mod sums;
mod transform;
mod variation;
mod wavelets;

#[cfg(test)]
mod tests;

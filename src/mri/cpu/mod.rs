//! Exact Fourier sums on the processor: between samples and a grid, where they factorise, and between samples and voxels
//! anywhere, with off-resonance.
//!
//! The adjoint sums `exp(+2 pi i k . r)` over the samples, the forward sum `exp(-2 pi i k . r)` over the voxels; neither is
//! scaled. Results are the same bits for any number of threads.

mod axis;
mod coils;
pub(super) mod direct;
pub(super) mod engine;
mod product;
mod q;
pub(super) mod separable;
mod separable_adjoint;
mod separable_forward;
mod transform;

#[cfg(test)]
mod tests;

use crate::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Called by all threads, often, with the part done; an error ends the work.
pub(super) type Check<'a> = &'a (dyn Fn(f64) -> Result<()> + Sync);

/// Counts tasks for a [`Check`].
struct Progress<'a> {
    check: Check<'a>,
    done: AtomicUsize,
    tasks: usize,
}

impl<'a> Progress<'a> {
    fn new(check: Check<'a>, tasks: usize) -> Self {
        Self { check, done: AtomicUsize::new(0), tasks }
    }

    /// Another task is done.
    fn task(&self) -> Result<()> {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.check)(done as f64 / self.tasks as f64)
    }
}

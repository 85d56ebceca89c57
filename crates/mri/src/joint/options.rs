//! How image and coils are found.

use super::smooth::{Smooth, Sobolev};
use crate::engine::Engine;
use isocenter_base::cpu::simd::Real;
use isocenter_base::error::{Result, fail};

/// Maximum number of steps, and of iterations of one.
pub const MAX_STEPS: usize = 1000;

/// How image and coils are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joining {
    /// Gauss-Newton steps.
    pub steps: usize,
    /// Maximum number of conjugate-gradient iterations of a step.
    pub iterations: usize,
    /// Where these end: |residual| / |right-hand side|.
    pub residual: f64,
    /// The weight of the regularisation in the first step.
    pub alpha: f64,
    /// Its factor from step to step.
    pub reduction: f64,
    /// How smooth coils are.
    pub norm: Sobolev,
}

impl Default for Joining {
    fn default() -> Self {
        Self {
            steps: 10,
            iterations: 100,
            residual: 0.1,
            alpha: 1.0,
            reduction: 0.5,
            norm: Sobolev { scale: 220.0, order: 32.0 },
        }
    }
}

impl Joining {
    pub(super) fn check(&self) -> Result<()> {
        let Self { steps, iterations, residual, alpha, reduction, norm: Sobolev { scale, order } } = *self;
        for (name, n) in [("steps", steps), ("iterations", iterations)] {
            if !(1..=MAX_STEPS).contains(&n) {
                fail!(OutOfRange, "options.{name} is {n}; it must be 1 to {MAX_STEPS}");
            }
        }
        // What is allowed, and how a message says it.
        let named = [
            ("residual", residual, (0.0..1.0).contains(&residual), "at least 0 and below 1"),
            ("alpha", alpha, alpha > 0.0 && alpha <= 1e6, "above 0, and 1e6 at most"),
            ("reduction", reduction, reduction > 0.0 && reduction <= 1.0, "above 0, and 1 at most"),
            ("scale", scale, (1e-3..=1e9).contains(&scale), "0.001 to 1e9"),
            ("order", order, (2.0..=200.0).contains(&order), "2 to 200"),
        ];
        for (name, v, allowed, range) in named {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
            }
            if !allowed {
                fail!(OutOfRange, "options.{name} is {v}; it must be {range}");
            }
        }
        Ok(())
    }

    /// What coils of an engine's grid are made of.
    pub(super) fn smooth<E: Engine>(&self, e: &E) -> Smooth {
        Smooth::new(e.scan().grid, self.norm, <E::Scalar as Real>::UNIT)
    }
}

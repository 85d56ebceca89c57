//! Priors: what differences of neighbouring voxels cost.
//!
//! `R(f) = strength x sum over pairs of neighbours j, k of w_jk phi(f_j, f_k)`, each of the 26 about a voxel once, with `w_jk = k_j k_k g_jk x / |r_j - r_k|`: x is
//! the voxel's side along x, k the caller's weights, `g = exp(-((a_j - a_k) / s)^2 / 2)` for the caller's anatomical image a.
//!
//! Relative differences: J. Nuyts, D. Beque, P. Dupont, L. Mortelmans, IEEE Trans. Nucl. Sci. 49(1), 2002.

use super::lattice::Lattice;
use isocenter_base::error::{Result, fail};
use std::sync::Arc;

/// phi, of two neighbours f and g.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Potential {
    /// (f - g)^2 / (f + g + gamma |f - g| + epsilon)
    RelativeDifference {
        /// Keeps edges: differences beyond 1 / gamma of the sum cost in proportion to their size.
        gamma: f64,
        /// Makes it smooth at 0; in the image's unit.
        epsilon: f64,
    },
    /// (f - g)^2 / 2, and in proportion to |f - g| beyond `edge`: edge^2 (sqrt(1 + ((f - g) / edge)^2) - 1).
    Quadratic {
        /// In the image's unit; 0 keeps none.
        edge: f64,
    },
}

/// What is taken off the log-likelihood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Of a pair.
    pub potential: Potential,
    /// Of the sum.
    pub strength: f64,
    /// s of the weights by anatomy, in the unit of the anatomical image.
    pub anatomy_sigma: f64,
}

/// Sums whose inverse would leave the range of f32 are none.
pub(super) const MIN_SUM: f32 = 1e-30;

impl Prior {
    pub(super) fn check(&self, anatomy: bool) -> Result<()> {
        let Self { potential, strength, anatomy_sigma } = *self;
        let (first, second) = match potential {
            Potential::RelativeDifference { gamma, epsilon } => (("gamma", gamma), ("epsilon", epsilon)),
            Potential::Quadratic { edge } => (("edge", edge), ("edge", edge)),
        };
        for (name, value) in [("strength", strength), ("anatomy_sigma", anatomy_sigma), first, second] {
            if !value.is_finite() {
                fail!(NotFiniteParameter, "prior.{name} is {value}; it must be finite");
            }
            if !(value == 0.0 || (1e-30..=1e30).contains(&value)) {
                fail!(OutOfRange, "prior.{name} is {value}; it must be 0 or 1e-30 to 1e30");
            }
        }
        if anatomy != (anatomy_sigma > 0.0) {
            fail!(
                OutOfRange,
                "prior.anatomy_sigma is {anatomy_sigma} {} an anatomical image; one without the other has no effect",
                if anatomy { "with" } else { "without" }
            );
        }
        Ok(())
    }

    /// strength x / |r_j - r_k|; of neighbours dx, dy, dz away, each 0 or 1, at dx + 2 dy + 4 dz.
    pub(super) fn coupling(&self, lattice: &Lattice) -> [f32; 8] {
        let voxel = lattice.voxel();
        std::array::from_fn(|k| {
            let squares = (0..3).map(|axis| if k >> axis & 1 == 1 { voxel[axis] * voxel[axis] } else { 0.0 });
            let distance = squares.sum::<f64>().sqrt();
            if k == 0 { 0.0 } else { (self.strength * voxel[0] / distance) as f32 }
        })
    }

    /// 1 / (2 s^2), 0 without anatomy.
    pub(super) fn dissimilarity(&self) -> f64 {
        if self.anatomy_sigma > 0.0 { 0.5 / (self.anatomy_sigma * self.anatomy_sigma) } else { 0.0 }
    }
}

/// A plan's prior, with copies of what the caller gave, `[z][y][x]`.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) prior: Prior,
    pub(super) weights: Option<Vec<f32>>,
    pub(super) anatomy: Option<Vec<f32>>,
}

/// The same where an engine computes.
pub(super) struct Placed<V> {
    pub(super) prior: Prior,
    pub(super) weights: Option<Arc<V>>,
    pub(super) anatomy: Option<Arc<V>>,
}

impl<V> Clone for Placed<V> {
    fn clone(&self) -> Self {
        Self { prior: self.prior, weights: self.weights.clone(), anatomy: self.anatomy.clone() }
    }
}

impl Given {
    /// Volumes that it takes.
    pub(super) fn volumes(&self) -> usize {
        usize::from(self.weights.is_some()) + usize::from(self.anatomy.is_some())
    }
}

#[cfg(test)]
#[path = "prior_tests.rs"]
pub(crate) mod tests;

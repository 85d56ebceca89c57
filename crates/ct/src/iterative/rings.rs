//! Rings: an offset of each bin and slice, which all views share, found with the image: r in |A x + J r - b|^2 / 2 + weight TV(x) + ring
//! weight |r|_1, J r being r in every view.
//!
//! The unit of r is such that J^T J is [`SHARE`] of A's largest eigenvalue. |A x + J r|^2 is at most (1 + SHARE) |A x|^2 + (1 + 1 / SHARE)
//! |J r|^2, so that the steps are those without r, with an eigenvalue 1 + SHARE times as large.
//!
//! The objective's conjugate is finite where no |J^T q| is above the ring weight. Any q comes there by J d, with d what is above over the sum
//! of the weights of the bin's rays; that adds ring weight |r|_1 + <J^T q, r> to the gap, which is not below 0.

use super::Iteration;
use super::norms::Norms;
use super::space::{Limit, Offsets, Rows, Shift, Space, Sum};
use isocenter_base::error::Result;

pub(super) const FOUND: Offsets = Offsets(0);
/// J^T of the dual, and the next offsets afterwards.
const NEXT: Offsets = Offsets(1);
const AHEAD: Offsets = Offsets(2);
const EXCESS: Offsets = Offsets(3);
/// J^T W 1, where rays have weights.
const MASS: Offsets = Offsets(4);

/// So much of A's step goes to r, which its own eigenvalue, that of all bins alike, needs less of than A's smaller ones.
const SHARE: f64 = 0.1;

/// Offsets that the method takes.
pub(super) fn offsets(iteration: &Iteration) -> usize {
    match (iteration.options.ring_weight > 0.0, iteration.weights()) {
        (false, _) => 0,
        (true, None) => 4,
        (true, Some(_)) => 5,
    }
}

pub(super) struct Rings {
    weight: f32,
    /// Of the image's step, that of r.
    part: f32,
    views: usize,
    mass: Option<Offsets>,
    /// Ring weight |r|_1, and what it adds to the gap.
    sums: [Sum; 2],
}

impl Rings {
    /// `norms` are those of the weighted pair.
    pub(super) fn new(iteration: &Iteration, norms: Norms, sums: [Sum; 2]) -> Option<Self> {
        let (weight, views) = (iteration.ring_weight(), iteration.views);
        if weight == 0.0 {
            return None;
        }
        let largest = iteration.given.map_or(1.0, |given| given.largest);
        let mass = iteration.weights().map(|_| MASS);
        let part = (SHARE * norms.normal / (largest * views as f64)) as f32;
        Some(Self { weight: weight as f32, part, views, mass, sums })
    }

    /// Before anything else of slices that have come into memory.
    pub(super) fn begin<S: Space>(&self, space: &mut S, iteration: &Iteration) -> Result<()> {
        iteration.weights().map_or(Ok(()), |[roots, _]| space.gather(roots, MASS))
    }

    /// What the steps go by.
    pub(super) fn norms(norms: Norms) -> Norms {
        Norms { normal: (1.0 + SHARE) * norms.normal, ..norms }
    }

    /// The offsets' step, by the dual, and what lies ahead of it into what the image ahead projects to.
    pub(super) fn step<S: Space>(
        &self,
        space: &mut S,
        [dual, projected]: [Rows; 2],
        [step, relaxed]: [Sum; 2],
    ) -> Result<()> {
        let Self { weight, part, .. } = *self;
        space.gather(dual, NEXT)?;
        space.shift(Shift { offsets: FOUND, gradient: NEXT, ahead: AHEAD, step, relaxed, part, weight })?;
        space.spread(AHEAD, projected, 1.0)
    }

    /// Adds the next offsets to what the next image projects to.
    pub(super) fn project<S: Space>(&self, space: &mut S, projected: Rows) -> Result<()> {
        space.spread(NEXT, projected, 1.0)
    }

    /// Moves -q to where no |J^T q| is above the ring weight.
    pub(super) fn repair<S: Space>(&self, space: &mut S, rows: Rows) -> Result<()> {
        let Self { weight, views, mass, sums: [penalty, duality], .. } = *self;
        space.clear(penalty)?;
        space.clear(duality)?;
        space.gather(rows, EXCESS)?;
        space.limit(Limit { offsets: NEXT, sums: EXCESS, mass, views, weight, penalty, duality })?;
        space.spread(EXCESS, rows, -1.0)
    }

    /// What the objective and the gap have of them.
    pub(super) fn sums<S: Space>(&self, space: &mut S) -> Result<[Vec<f64>; 2]> {
        let [penalty, duality] = self.sums;
        Ok([space.read(penalty)?, space.read(duality)?])
    }
}

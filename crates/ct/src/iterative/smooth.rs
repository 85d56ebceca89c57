//! The smooth components of each view's row, of which A makes far more than of others: total variation's steps of the data's dual are smaller along
//! them, so that all others may be larger (diagonal preconditioning in a basis of its own: T. Pock and A. Chambolle, "Diagonal preconditioning for first
//! order primal-dual algorithms in convex optimization", ICCV 2011). As few as leave A as flat as the gradient lets it be: V views of N pixels sample the
//! lowest V / (4 pi) periods across the slice far more densely than others (`benches/results/2026-12-01-smooth.md`).

use super::options::{Algorithm, Fit, Iterative, Weighting};
use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use std::f64::consts::PI;

/// At most so many: each costs a multiplication and an addition of each bin, twice.
const MOST: usize = 64;
/// The part of a step that the mean gets, of the first component's.
const MEAN: f64 = 0.6;

/// An orthonormal set of cosines over a row's bins.
#[derive(Debug)]
pub(crate) struct Smooth {
    /// Component after component.
    pub(crate) table: Vec<f32>,
    pub(crate) bins: usize,
    /// Part of a step that each gets.
    pub(crate) parts: Vec<f64>,
}

impl Smooth {
    /// None where steps go by single rays: of Poisson's law, and of weights.
    pub(crate) fn of(algorithm: Algorithm, options: &Iterative, g: &Geometry) -> Result<Option<Self>> {
        let squares = options.fit == Fit::Squares && options.weighting == Weighting::Uniform;
        if algorithm != Algorithm::TotalVariation || !squares {
            return Ok(None);
        }
        let count = count(g);
        let one = |j: usize, k: usize| {
            let length = if j == 0 { 1.0 } else { 2.0 } / g.bins as f64;
            (length.sqrt() * (PI * j as f64 * (k as f64 + 0.5) / g.bins as f64).cos()) as f32
        };
        let table = collected((0..count * g.bins).map(|e| one(e / g.bins, e % g.bins)))?;
        let parts = (0..count).map(|j| if j == 0 { MEAN } else { j as f64 } / count as f64).collect();
        Ok(Some(Self { table, bins: g.bins, parts }))
    }

    /// Size of the table.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.table.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// How much less than `step / (1 + step)` of the way each component goes.
    pub(crate) fn less(&self, step: f64) -> impl Iterator<Item = f64> {
        let of = |step: f64| step / (1.0 + step);
        self.parts.iter().map(move |part| of(step) - of(part * step))
    }

    /// The same where steps are small, but for their size: what norms go by.
    pub(crate) fn less_of_small(&self) -> impl Iterator<Item = f64> {
        self.parts.iter().map(|part| 1.0 - part)
    }
}

/// How many components: two to a period of the row.
fn count(g: &Geometry) -> usize {
    let [least, most] = g.angles.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], t| [a.min(*t), b.max(*t)]);
    // Opposite views see the same.
    let turns = ((most - least) / PI).max(1.0);
    let wide = g.bins as f64 * g.bin_pitch / (g.nx.max(g.ny) as f64 * g.pixel_size);
    ((g.views() as f64 / turns * wide / (2.0 * PI)).round() as usize).clamp(2, MOST).min(g.bins)
}

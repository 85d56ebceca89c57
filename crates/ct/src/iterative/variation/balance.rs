//! How large the steps of the image and of the duals are.

use super::places::{FIELD_STEP, IMAGE_STEP, RELAXATION, RELAXED, ROW_PART};
use crate::iterative::norms::{DEPTH, GRADIENT, Norms};
use crate::iterative::space::Space;
use isocenter_base::error::Result;
use std::ops::Range;

/// The balance follows less and less from this iteration on, as convergence wants it.
const CALM: f64 = 1500.0;
/// The balance of squares over the root of both norms, to begin with.
const STEADY: f64 = 0.85;
/// That which takes the fewest iterations to 0.1 % of the image is this times the weight, in units of the noise that A^T makes of what is left of the data, to the power of [`OF_WEIGHT`]:
/// 30 and 90 views, 64 pixels across, noise of 0.3 to 3 %, weights of a tenth to 3 times what is suggested (`benches/results/2026-12-01-balance.md`).
const OF_NOISE: f64 = 1.8;
const OF_WEIGHT: f64 = 0.75;
/// Limits of the balance over the root of both norms.
const LEAST: f64 = 0.25;
const MOST: f64 = 6.0;

/// The balance between the steps of the image and of the duals, one a slice. It follows them where the curvature is not known beforehand: of Poisson's law,
/// of weights that are made of the data, and of offsets, which take from it.
pub(super) struct Balance {
    norms: Norms,
    /// At least the largest eigenvalue of D^T D.
    gradient: f64,
    first: Vec<f64>,
    now: Vec<f64>,
}

impl Balance {
    /// `units`: a number of each slice, how many times as large the unit of its dual is as that of its data; or the root of its rays' mean weight over the largest.
    pub(super) fn new(norms: Norms, depth: Option<f32>, units: &[f64]) -> Self {
        let depth = depth.map_or(0.0, |scale| DEPTH * f64::from(scale).powi(2));
        let gradient = GRADIENT + depth;
        // Of a slice's neighbours no more is known, nor is there much to gain.
        let norms = Norms { both: norms.both + depth / gradient, ..norms };
        let first: Vec<f64> = units.iter().map(|u| STEADY * u * (norms.typical * norms.normal).sqrt()).collect();
        Self { norms, gradient, now: first.clone(), first }
    }

    /// Goes to what suits a weight; `left`: of each slice, the mean square of what is left of the data.
    pub(super) fn settle(&mut self, weight: f32, left: impl Iterator<Item = f64>) {
        let typical = self.norms.typical;
        for ((left, balance), first) in left.zip(&mut self.now).zip(&self.first) {
            let parts = f64::from(weight) / (left * typical).sqrt();
            let suited = (OF_NOISE * parts.powf(OF_WEIGHT)).clamp(LEAST, MOST);
            // Not a number where there is neither weight nor anything left.
            if suited > 0.0 {
                *balance = first / STEADY * suited;
            }
        }
    }

    /// Goes half of the way to where image and duals move alike.
    pub(super) fn follow(&mut self, iteration: usize, moved: impl Iterator<Item = [f64; 3]>) {
        let Norms { normal, both, .. } = self.norms;
        let calm = (CALM / iteration as f64).powi(2).min(1.0);
        for (([image, rows, fields], balance), first) in moved.zip(&mut self.now).zip(&self.first) {
            let wanted = ((normal * rows + self.gradient * fields) / (both * image)).sqrt();
            if wanted.is_finite() && wanted > 0.0 {
                let change = (wanted / *balance).powf(0.5 * calm).clamp(0.25, 4.0);
                *balance = (*balance * change).clamp(0.02 * first, 1000.0 * first);
            }
        }
    }

    /// Tells some slices their steps.
    pub(super) fn apply<S: Space>(
        &self,
        space: &mut S,
        (slices, running): (Range<usize>, &[bool]),
        poisson: bool,
    ) -> Result<()> {
        let Norms { normal, both, .. } = self.norms;
        let all = |f: &dyn Fn(f64) -> f64| -> Vec<f64> { self.now[slices.clone()].iter().map(|t| f(*t)).collect() };
        space.set(IMAGE_STEP, &all(&|t| 1.0 / (both * t)))?;
        space.set(FIELD_STEP, &all(&|t| t / self.gradient))?;
        let part = |step: f64| if poisson { step } else { RELAXATION * step / (1.0 + step) };
        space.set(ROW_PART, &all(&|t| part(t / normal)))?;
        let relaxed: Vec<f64> = running[slices].iter().map(|runs| if *runs { RELAXATION } else { 0.0 }).collect();
        space.set(RELAXED, &relaxed)
    }
}

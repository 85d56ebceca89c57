//! How large the steps of the image and of the duals are.

use super::places::{FIELD_STEP, IMAGE_STEP, RELAXATION, RELAXED, ROW_PART};
use crate::iterative::norms::{DEPTH, GRADIENT, Norms};
use crate::iterative::space::Space;
use isocenter_base::error::Result;
use std::ops::Range;

/// The balance follows less and less from this iteration on, as convergence wants it.
const CALM: f64 = 1500.0;
/// The balance of squares over the root of both norms. Half of it takes up to 1.5 times the iterations, twice of it twice and more, for 30 to 120 views, 64 and 128
/// pixels across, noise of 0.3 to 3 %, and weights of 1 to 4 times what is suggested; smaller weights want a smaller one. One that follows what moves is ten to a thousand
/// times as large in the end, and the gap up to three times as late.
const STEADY: f64 = 0.85;

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

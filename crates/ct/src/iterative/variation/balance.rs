//! How large the steps of the image and of the duals are.

use super::places::{FIELD_STEP, IMAGE_STEP, LOOK, RELAXATION, RELAXED, ROW_STEP};
use crate::iterative::norms::{DEPTH, GRADIENT, Norms};
use crate::iterative::space::Space;
use isocenter_base::error::Result;
use std::ops::Range;

/// The balance follows less and less from this iteration on, as convergence wants it.
const CALM: f64 = 1500.0;
/// Of squares, the balance over the root of both norms.
struct Rule {
    /// To begin with.
    first: f64,
    /// That which takes the fewest iterations to the image is `of_noise` times the weight, in units of the noise that A^T makes of what is left of the
    /// data, to the power of `of_weight`, within limits.
    of_noise: f64,
    of_weight: f64,
    limits: [f64; 2],
    /// It becomes that after these iterations, when no more than noise is left of the data; convergence wants it to stay at last.
    settles: [usize; 3],
}

/// By weights of a tenth to 3 times what is suggested, 64 to 512 pixels across, 30 to 180 views, noise of 0.3 to 3 % (`benches/results/2026-12-01-smooth.md`).
const SMOOTH: Rule =
    Rule { first: 1.2, of_noise: 3.0, of_weight: 1.0, limits: [0.25, 60.0], settles: [LOOK, 2 * LOOK, 5 * LOOK] };
/// Where smooth components take the same steps (`benches/results/2026-12-01-balance.md`).
const PLAIN: Rule = Rule {
    first: 0.85,
    of_noise: 1.8,
    of_weight: 0.75,
    limits: [0.25, 6.0],
    settles: [5 * LOOK, 10 * LOOK, usize::MAX],
};

/// The balance between the steps of the image and of the duals, one a slice. It follows them where the curvature is not known beforehand: of Poisson's law,
/// of weights that are made of the data, and of offsets, which take from it.
pub(super) struct Balance {
    norms: Norms,
    rule: &'static Rule,
    /// At least the largest eigenvalue of D^T D.
    gradient: f64,
    first: Vec<f64>,
    now: Vec<f64>,
}

impl Balance {
    /// `smooth`: whether smooth components take smaller steps. `units`: a number of each slice, how many times as large the unit of its dual is as that of its data; or the root of its rays' mean weight over the largest.
    pub(super) fn new((norms, smooth): (Norms, bool), depth: Option<f32>, units: &[f64]) -> Self {
        let depth = depth.map_or(0.0, |scale| DEPTH * f64::from(scale).powi(2));
        let gradient = GRADIENT + depth;
        // Of a slice's neighbours no more is known, nor is there much to gain.
        let norms = Norms { both: norms.both + depth / gradient, ..norms };
        let rule = if smooth { &SMOOTH } else { &PLAIN };
        let first: Vec<f64> = units.iter().map(|u| rule.first * u * (norms.typical * norms.normal).sqrt()).collect();
        Self { norms, rule, gradient, now: first.clone(), first }
    }

    /// Whether to settle after so many iterations.
    pub(super) fn settles(&self, done: usize) -> bool {
        self.rule.settles.contains(&done)
    }

    /// Goes to what suits a weight; `left`: of each slice, the mean square of what is left of the data.
    pub(super) fn settle(&mut self, weight: f32, left: impl Iterator<Item = f64>) {
        let (typical, rule) = (self.norms.typical, self.rule);
        for ((left, balance), first) in left.zip(&mut self.now).zip(&self.first) {
            let parts = f64::from(weight) / (left * typical).sqrt();
            let suited = (rule.of_noise * parts.powf(rule.of_weight)).clamp(rule.limits[0], rule.limits[1]);
            // Not a number where there is neither weight nor anything left.
            if suited > 0.0 {
                *balance = first / rule.first * suited;
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

    /// Tells some slices their steps; `by_part`: that of rows as a part of the way.
    pub(super) fn apply<S: Space>(
        &self,
        space: &mut S,
        (slices, running): (Range<usize>, &[bool]),
        by_part: bool,
    ) -> Result<()> {
        let Norms { normal, both, .. } = self.norms;
        let all = |f: &dyn Fn(f64) -> f64| -> Vec<f64> { self.now[slices.clone()].iter().map(|t| f(*t)).collect() };
        space.set(IMAGE_STEP, &all(&|t| 1.0 / (both * t)))?;
        space.set(FIELD_STEP, &all(&|t| t / self.gradient))?;
        let part = |step: f64| if by_part { RELAXATION * step / (1.0 + step) } else { step };
        space.set(ROW_STEP, &all(&|t| part(t / normal)))?;
        let relaxed: Vec<f64> = running[slices].iter().map(|runs| if *runs { RELAXATION } else { 0.0 }).collect();
        space.set(RELAXED, &relaxed)
    }
}

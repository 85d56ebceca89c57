//! What the views about a seam say of the step from one side to the other, and of the value there.
//!
//! On both sides a row's transform at frequency f goes on smoothly with the angle: not faster than exp(2 pi i f r angle), with r the
//! object's radius in bins. (For half a turn that is what Vo's double wedge says: N. T. Vo et al., "Reliable method for calculating the
//! center of rotation in parallel-beam tomography", Opt. Express 22, 2014.) So a polynomial in the angle, the same for both sides, and a
//! step between them are fitted by least squares: more views make less noise, until the polynomial no longer follows. Coarse frequencies
//! change slowly, and take many views; fine ones take the nearest pair alone. A view half a turn later to the last bit leaves no error at
//! all, others what the fit leaves of such a wave, which is known as exactly.

use super::seams::Seam;
use isocenter_base::cpu::buffer::{append, zeros};
use isocenter_base::error::Result;
use isocenter_solve::dense::{cholesky, solve};
use std::f64::consts::TAU;

/// Weights of the first views of a seam.
pub(super) struct Kernel {
    /// Of the step, near side less far side, and of the value between them.
    pub(super) weights: Vec<[f64; 2]>,
}

/// Highest powers of the polynomials: odd ones, since what is left of even ones is the same on both sides.
const ORDERS: [usize; 3] = [0, 3, 5];
const MAX_ORDER: usize = 5;

/// All fits that a seam's views allow.
pub(super) fn kernels(seam: &Seam) -> Result<Vec<Kernel>> {
    let mut list = Vec::new();
    let mut count = 2;
    loop {
        let views = count.min(seam.near.len());
        for order in ORDERS {
            if let Some(weights) = fitted(seam, views, order)? {
                append(&mut list, Kernel { weights })?;
            }
        }
        if views == seam.near.len() {
            return Ok(list);
        }
        count = (count * 3).div_ceil(2).max(count + 2);
    }
}

impl Kernel {
    /// Variances of step and value for views of variance 1.
    pub(super) fn noise(&self) -> [f64; 2] {
        [0, 1].map(|k| self.weights.iter().map(|w| w[k] * w[k]).sum())
    }

    /// Mean square of the step that it sees where there is none: waves of `frequency` at radii up to `radius`.
    pub(super) fn bias(&self, seam: &Seam, frequency: f64, radius: f64) -> f64 {
        const RADII: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
        let mean = RADII.iter().map(|part| {
            let wave = TAU * frequency * radius * part;
            let [re, im] = self.weights.iter().zip(&seam.near).fold([0.0; 2], |[re, im], (w, near)| {
                let (sin, cos) = (wave * near.angle).sin_cos();
                [re + w[0] * cos, im + w[0] * sin]
            });
            re * re + im * im
        });
        mean.sum::<f64>() / RADII.len() as f64
    }
}

/// Least squares of a polynomial and a step over the first views; None where they do not determine them.
fn fitted(seam: &Seam, views: usize, order: usize) -> Result<Option<Vec<[f64; 2]>>> {
    let near = &seam.near[..views];
    let unknowns = order + 2;
    let reach = near.iter().map(|n| n.angle.abs()).fold(0.0, f64::max).max(1e-12);
    let design = |k: usize, column: usize| {
        let n = &near[k];
        match column {
            0 if n.far => -0.5,
            0 => 0.5,
            power => (n.angle / reach).powi(power as i32 - 1),
        }
    };
    if views < unknowns {
        return Ok(None);
    }
    let mut normal = [0.0f64; (MAX_ORDER + 2) * (MAX_ORDER + 2)];
    let normal = &mut normal[..unknowns * unknowns];
    for (at, sum) in normal.iter_mut().enumerate() {
        let (i, j) = (at / unknowns, at % unknowns);
        *sum = (0..views).map(|k| design(k, i) * design(k, j)).sum::<f64>() / views as f64;
    }
    // Singular to rounding.
    if !cholesky(normal, unknowns, 1e-10) {
        return Ok(None);
    }
    let mut weights: Vec<[f64; 2]> = zeros(views)?;
    for (k, weight) in weights.iter_mut().enumerate() {
        let mut right = [0.0; MAX_ORDER + 2];
        (0..unknowns).for_each(|i| right[i] = design(k, i) / views as f64);
        solve(normal, &mut right[..unknowns]);
        *weight = [right[0], right[1]];
    }
    Ok(Some(weights))
}

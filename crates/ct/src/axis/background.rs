//! Least squares of a shift from one part of a step, the even one or the odd one, beside smooth backgrounds.
//!
//! A beam whose profile drifts during the scan adds to line integrals what is smooth over a row and differs from view to view, and so
//! from one side of a seam to the other. Polynomials of low order over the window take it up, as far as they are seen to be there.

use std::ops::AddAssign;

/// Powers of each parity: 0 and 2 are even, 1 and 3 odd. (With 0 and 1 alone a moving beam of Gaussian flanks leaves 0.06 bins, so 0.02.)
pub(super) const BACKGROUNDS: usize = 2;
/// The shift is the first unknown.
const UNKNOWNS: usize = 1 + BACKGROUNDS;

/// Normal equations of a part.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    /// Of unknowns with each other.
    own: [[f64; UNKNOWNS]; UNKNOWNS],
    /// Of unknowns with the step.
    seen: [f64; UNKNOWNS],
}

impl Part {
    /// A frequency: its weight, the step there, what a shift by 1 makes of it and the part of that one's square that is noise, and what each
    /// background makes.
    pub(super) fn add(&mut self, weight: f64, step: f64, moved: f64, noise: f64, smooth: [f64; BACKGROUNDS]) {
        let mut made = [moved; UNKNOWNS];
        made[1..].copy_from_slice(&smooth);
        for (k, a) in made.iter().enumerate() {
            self.seen[k] += weight * a * step;
            made.iter().enumerate().for_each(|(j, b)| self.own[k][j] += weight * a * b);
        }
        self.own[0][0] -= weight * noise;
    }

    /// What is left for an unknown when the others have taken their part: the sums whose ratio it is, the second being its inverse variance.
    /// Backgrounds are expected to have these inverse variances without being seen.
    fn left(&self, unknown: usize, expected: [f64; BACKGROUNDS]) -> [f64; 2] {
        let Self { mut own, mut seen } = *self;
        for k in (0..UNKNOWNS).filter(|k| *k != unknown) {
            let pivot = own[k][k] + if k > 0 { expected[k - 1] } else { 0.0 };
            // One without weight takes nothing.
            if pivot <= 0.0 {
                continue;
            }
            for j in 0..UNKNOWNS {
                let factor = own[j][k] / pivot;
                if j != k {
                    seen[j] -= factor * seen[k];
                    (0..UNKNOWNS).filter(|i| *i != k).for_each(|i| own[j][i] -= factor * own[k][i]);
                }
            }
        }
        [seen[unknown], own[unknown][unknown]]
    }

    pub(super) fn shift(&self, expected: [f64; BACKGROUNDS]) -> [f64; 2] {
        self.left(0, expected)
    }
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Self) {
        self.seen.iter_mut().zip(other.seen).for_each(|(a, b)| *a += b);
        self.own.as_flattened_mut().iter_mut().zip(other.own.as_flattened()).for_each(|(a, b)| *a += b);
    }
}

/// Variances of backgrounds, as these parts show them beyond what noise makes: parts of one parity, about different seams.
pub(super) fn variances<'a>(parts: impl Iterator<Item = &'a Part> + Clone) -> [f64; BACKGROUNDS] {
    std::array::from_fn(|k| {
        let [mut excess, mut total] = [0.0; 2];
        for [seen, information] in parts.clone().map(|p| p.left(k + 1, [0.0; BACKGROUNDS])) {
            if information > 0.0 {
                // By the inverse square of its variance.
                excess += seen * seen - information;
                total += information * information;
            }
        }
        if total > 0.0 { (excess / total).max(0.0) } else { 0.0 }
    })
}

//! Least squares of a shift from one part of a step, the even one or the odd one, beside smooth backgrounds.
//!
//! A beam whose profile drifts during the scan adds to line integrals what is smooth over a row and differs from view to view, and so
//! from one side of a seam to the other. Polynomials of low order over the window take it up: what they explain does not count.

/// Powers of each parity: 0 and 2 are even, 1 and 3 odd.
pub(super) const BACKGROUNDS: usize = 2;

/// Normal equations of a part.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    /// Of the shift with the step, and with itself.
    shift: [f64; 2],
    /// Of each background with the step, and with the shift.
    seen: [[f64; 2]; BACKGROUNDS],
    /// Of backgrounds with each other.
    own: [[f64; BACKGROUNDS]; BACKGROUNDS],
}

impl Part {
    /// A frequency: its weight, the step there, what a shift by 1 makes of it and the part of that one's square that is noise, and what each
    /// background makes.
    pub(super) fn add(&mut self, weight: f64, step: f64, moved: f64, noise: f64, smooth: [f64; BACKGROUNDS]) {
        self.shift[0] += weight * moved * step;
        self.shift[1] += weight * (moved * moved - noise);
        for (k, s) in smooth.iter().enumerate() {
            self.seen[k][0] += weight * s * step;
            self.seen[k][1] += weight * s * moved;
            for (j, t) in smooth.iter().enumerate() {
                self.own[k][j] += weight * s * t;
            }
        }
    }

    /// What is left for the shift when the backgrounds have taken their part: the sums whose ratio is the shift.
    pub(super) fn left(mut self) -> [f64; 2] {
        for k in 0..BACKGROUNDS {
            let pivot = self.own[k][k];
            // One that earlier ones make up to rounding, or that has no weight.
            if pivot <= 0.0 {
                continue;
            }
            let (own, seen) = (self.own[k], self.seen[k]);
            let factor = seen[1] / pivot;
            self.shift[0] -= factor * seen[0];
            self.shift[1] -= factor * seen[1];
            for j in k + 1..BACKGROUNDS {
                let factor = own[j] / pivot;
                self.seen[j][0] -= factor * seen[0];
                self.seen[j][1] -= factor * seen[1];
                (0..BACKGROUNDS).for_each(|i| self.own[j][i] -= factor * own[i]);
            }
        }
        self.shift
    }
}

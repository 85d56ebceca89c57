//! Where lines have their points.

/// Of every line the same: point r lies at `r - twice_centre / 2` steps from the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    pub(crate) points: usize,
    /// No more than twice the last point's number.
    pub(crate) twice_centre: usize,
}

impl Course {
    /// Points at -half ..= half steps.
    pub(crate) fn symmetric(half: usize) -> Self {
        Self { points: 2 * half + 1, twice_centre: 2 * half }
    }

    /// Steps from the origin to the farthest point.
    pub(crate) fn farthest(&self) -> f64 {
        self.twice_centre.max(2 * (self.points - 1) - self.twice_centre) as f64 / 2.0
    }
}

//! Where lines have their points.

/// Of every line the same: point r lies at `r - twice_centre / 2` steps from the origin, which is `t + shift`, t from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    pub points: usize,
    /// No more than twice the last point's number.
    pub twice_centre: usize,
}

impl Course {
    /// Points at -half ..= half steps.
    pub fn symmetric(half: usize) -> Self {
        Self { points: 2 * half + 1, twice_centre: 2 * half }
    }

    pub fn first(&self) -> i32 {
        -(self.twice_centre.div_ceil(2) as i32)
    }

    pub fn last(&self) -> i32 {
        self.first() + self.points as i32 - 1
    }

    /// 0, or a half.
    pub fn shift(&self) -> f64 {
        (self.twice_centre % 2) as f64 / 2.0
    }

    /// Steps from the origin to the farthest point.
    pub fn farthest(&self) -> f64 {
        self.twice_centre.max(2 * (self.points - 1) - self.twice_centre) as f64 / 2.0
    }
}

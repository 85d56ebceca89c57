//! What a method says of the axis.

use super::curve::Curve;
use super::options::AxisMethod;
use isocenter_base::error::{Error, Result};

/// Where the axis is.
pub(super) struct Answer {
    pub(super) axis: f64,
    pub(super) tilt: f64,
    pub(super) error: f64,
    pub(super) confidence: f64,
    pub(super) method: AxisMethod,
    pub(super) curve: Curve,
    /// The axes that the curve is of.
    pub(super) range: [f64; 2],
}

/// What one method says.
pub(super) enum Told {
    Axis(Answer),
    /// It cannot know: this is why.
    Unclear(Error),
}

impl Told {
    /// The axis, or why it cannot be told.
    pub(super) fn axis(self) -> Result<Answer> {
        match self {
            Self::Axis(answer) => Ok(answer),
            Self::Unclear(why) => Err(why),
        }
    }
}

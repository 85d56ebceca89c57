//! Non-Cartesian MRI: what its results are checked against.

pub mod measures;
pub mod phantom;

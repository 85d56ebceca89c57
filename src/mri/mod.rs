//! Non-Cartesian MRI.

pub(crate) mod gpu;

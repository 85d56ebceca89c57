//! Non-Cartesian MRI.

mod gpu;

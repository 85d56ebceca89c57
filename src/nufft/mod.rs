//! Fourier transforms between a regular grid and points anywhere.

pub(crate) mod gpu;

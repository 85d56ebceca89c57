//! The CPU kernels of CT. All three operators are sums of interpolated reads along straight lines, so one pair of kernels
//! serves them: [`interleaved`] for many slices (slices in SIMD lanes), [`single`] for one (line elements in lanes).

pub(super) mod interleaved;
pub(super) mod pack;
pub(super) mod single;
pub(super) mod term;

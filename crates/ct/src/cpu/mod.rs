//! CT on the processor. All three operators are sums of interpolated reads along straight lines, so one pair of kernels
//! serves them: [`interleaved`] for many slices (slices in SIMD lanes), [`single`] for one (line elements in lanes).

mod band_limited;
mod band_limited_forward;
mod band_limited_sum;
mod division;
pub(super) mod engine;
mod filter;
mod forward;
mod frames;
mod gather;
mod groups;
mod interleaved;
mod iterative;
mod pack;
mod phase;
mod prepare;
mod single;
mod term;
mod tiles;
pub(super) mod toeplitz;
mod transmissions;
mod work;
mod worker;

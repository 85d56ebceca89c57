//! `isoc_ct_*`: parallel-beam CT.

mod axis;
mod data;
mod distortion;
mod flat_field;
mod flat_fit;
mod geometry;
mod half_acquisition;
mod info;
mod iterative;
mod noise;
mod operators;
mod options;
mod outliers;
mod output;
mod phase;
mod plan;
mod stripes;
mod tensors;

pub use axis::*;
pub use data::*;
pub use distortion::*;
pub use flat_field::*;
pub use flat_fit::*;
pub use geometry::*;
pub use half_acquisition::*;
pub use info::*;
pub use iterative::*;
pub use noise::*;
pub use operators::*;
pub use options::*;
pub use outliers::*;
pub use output::*;
pub use phase::*;
pub use plan::*;
pub use stripes::*;

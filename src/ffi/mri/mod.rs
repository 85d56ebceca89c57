//! `isoc_mri_*`: non-Cartesian MRI.

mod coils;
mod delays;
mod geometry;
mod info;
mod inputs;
mod maps;
mod measures;
mod operators;
mod options;
mod phantom;
mod plan;
mod q;
mod series;
mod stream;
mod tensors;

pub use coils::*;
pub use delays::*;
pub use geometry::*;
pub use info::*;
pub use inputs::*;
pub use maps::*;
pub use measures::*;
pub use operators::*;
pub use options::*;
pub use phantom::*;
pub use plan::*;
pub use q::*;
pub use series::*;
pub use stream::*;

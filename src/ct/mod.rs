//! Parallel-beam X-ray CT: filtered back projection, and the matched pair for iterative methods.

mod angular;
mod backproject;
mod cpu;
mod filter;
mod flat_field;
mod forward;
mod geometry;
mod gpu;
mod input;
mod kind;
mod operators;
mod phantom;
mod pipeline;
mod stream;
mod tiles;

pub use angular::Angular;
pub use filter::{Filter, Padding};
pub use geometry::{Geometry, Order};
pub(crate) use geometry::{MAX_SIDE, crop};
pub use gpu::{Kernel, Measured, Precision};
pub use kind::InputKind;
pub use operators::{Ct, Info, Interpolation, Options};
pub use stream::Slab;

//! `isoc_pet_*`: DIRECT time-of-flight PET.

mod background;
mod corrections;
mod detect;
mod events;
mod geometry;
mod info;
mod measures;
mod memory;
mod operators;
mod options;
mod phantom;
mod plan;
mod prior;
mod response;
mod scanner;
mod simulation;
mod tables;
mod tensors;

pub use background::*;
pub use corrections::*;
pub use detect::*;
pub use events::*;
pub use geometry::*;
pub use info::*;
pub use measures::*;
pub use memory::*;
pub use operators::*;
pub use options::*;
pub use phantom::*;
pub use plan::*;
pub use prior::*;
pub use response::*;
pub use scanner::*;
pub use simulation::*;
pub use tables::*;

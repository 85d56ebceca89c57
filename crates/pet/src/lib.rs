//! DIRECT time-of-flight PET: events are sorted by direction into views, each with a histo-image on the lattice of the image,
//! and a projection is a sum over the neighbourhood that timing and detectors blur.
//!
//! S. Ha, M. Ispiryan, S. Matej, K. Mueller, "GPU-Based spatially variant SR kernel modeling and projections in 3D DIRECT TOF
//! PET Reconstruction"; S. Matej et al., IEEE Trans. Med. Imag. 28(5), 2009. Millimetres, picoseconds and radians throughout.

pub mod background;
mod bits;
mod bytes;
#[cfg(test)]
mod cases;
mod climb;
mod compton;
pub mod corrections;
pub(crate) mod cpu;
pub mod deposit;
mod direction;
mod doubts;
pub mod dropped;
mod engine;
pub mod events;
mod expansion;
pub mod factors;
mod gpu;
mod histos;
mod input_doubts;
pub mod lattice;
pub mod lines;
mod list_mode;
mod locate;
mod memory;
pub mod merit;
pub mod normalisation;
mod operators;
pub mod phantom;
mod plan;
pub mod prior;
pub(crate) mod quadrature;
mod quick;
mod reconstruct;
pub mod response;
pub mod scanner;
pub mod scatter;
pub mod simulation;
mod solve;
mod spectrum;
mod stopping;
mod studies;
pub(crate) mod tables;
mod units;
mod values;
pub mod view;
mod view_search;
pub mod views;

pub use bytes::Memory;
pub use engine::{Method, Projector};
pub use histos::Histos;
pub use lattice::Lattice;
pub use plan::{Options, Pet};
pub use prior::{Potential, Prior};
pub use response::{Cut, Profile, Radial, Response, Shape};
pub use solve::{Algorithm, Iteration, Order};
pub use tables::Tables;
pub use view::View;
pub use views::Views;

/// Kernels, compiled from `kernels/pet`.
#[allow(unreachable_pub)] // the build script writes one kind of static for all crates
mod images {
    use isocenter_base::gpu::Image;

    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}

//! DIRECT time-of-flight PET: events are sorted by direction into views, each with a histo-image on the lattice of the image,
//! and a projection is a sum over the neighbourhood that timing and detectors blur.
//!
//! S. Ha, M. Ispiryan, S. Matej, K. Mueller, "GPU-Based spatially variant SR kernel modeling and projections in 3D DIRECT TOF
//! PET Reconstruction"; S. Matej et al., IEEE Trans. Med. Imag. 28(5), 2009. Millimetres, picoseconds and radians throughout.

pub(crate) mod cpu;
pub mod deposit;
mod elementary;
mod engine;
pub mod events;
pub mod lattice;
pub mod merit;
pub mod phantom;
pub(crate) mod quadrature;
pub mod response;
pub mod simulation;
mod simulation_draws;
pub mod simulation_expectation;
mod simulation_random;
pub mod simulation_source;
pub(crate) mod tables;
pub mod view;
mod view_search;
pub mod views;

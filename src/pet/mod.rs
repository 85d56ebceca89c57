//! DIRECT time-of-flight PET: events and their simulation.
//!
//! S. Ha, M. Ispiryan, S. Matej, K. Mueller, "GPU-Based spatially variant SR kernel modeling and projections in 3D DIRECT TOF
//! PET Reconstruction"; S. Matej et al., IEEE Trans. Med. Imag. 28, 2009. Millimetres, picoseconds and radians throughout.

pub mod deposit;
pub mod deposit_views;
pub mod merit;
pub mod phantom;
pub mod simulation;
pub mod simulation_expectation;
mod simulation_random;

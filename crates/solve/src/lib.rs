//! Iterative solvers, written once for vectors in any memory, and small dense matrices ([`dense`]).
//!
//! A solver sees vectors only through [`Vectors`], and a problem only through the trait that it declares beside itself: what it
//! has to apply, and the arithmetic of the vectors that it applies it to. `cpu` and `gpu` implement the arithmetic.

pub mod composite;
pub mod conjugate_gradient;
pub mod cpu;
pub mod dense;
pub mod fista;
pub mod gpu;
pub mod hermitian;
pub mod history;
pub mod leading;
pub mod primal_dual;
pub mod products;
mod stop;
#[cfg(test)]
mod tests;
mod tridiagonal;
mod vectors;

pub use stop::Stop;
pub use vectors::{Course, Momentum, Survey, Vectors};

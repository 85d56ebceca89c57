//! Iterative solvers, written once for vectors in any memory, and small dense matrices ([`dense`]).
//!
//! A solver sees vectors only through [`Vectors`], and a problem only through the trait that it declares beside itself: what it
//! has to apply, and the arithmetic of the vectors that it applies it to. `cpu` and `gpu` implement the arithmetic.

pub(crate) mod composite;
pub(crate) mod conjugate_gradient;
pub(crate) mod cpu;
pub(crate) mod dense;
pub(crate) mod fista;
pub(crate) mod gpu;
pub(crate) mod hermitian;
pub(crate) mod history;
pub(crate) mod leading;
pub(crate) mod primal_dual;
mod stop;
#[cfg(test)]
mod tests;
mod tridiagonal;
mod vectors;

pub(crate) use stop::Stop;
pub(crate) use vectors::{Course, Momentum, Survey, Vectors};

//! PET on NVIDIA GPUs.

mod arranged;
mod array;
mod data;
pub(super) mod deposit;
pub(super) mod engine;
pub(super) mod factors;
mod finish;
mod fourier;
mod gather;
mod lines;
mod pairs;
mod parts;
mod peers;
mod plain;
mod prior;
mod projection;
pub(super) mod scatter;
mod separable;
mod steps;
mod tails;
mod volume;

#[cfg(test)]
mod peers_tests;
#[cfg(test)]
mod prior_tests;
#[cfg(test)]
mod tests;

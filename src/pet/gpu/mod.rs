//! PET on NVIDIA GPUs.

mod array;
mod data;
pub(super) mod deposit;
pub(super) mod engine;
pub(super) mod factors;
mod finish;
mod fourier;
mod gather;
mod parts;
mod plain;
mod projection;
pub(super) mod scatter;
mod steps;

#[cfg(test)]
mod tests;

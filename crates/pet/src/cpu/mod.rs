//! Projections on the processor.

pub(crate) mod columns;
mod compare;
pub(crate) mod engine;
pub(crate) mod fourier;
pub(crate) mod gather;
mod lines;
mod prior;
mod projector;
mod taps;

#[cfg(test)]
mod tests;

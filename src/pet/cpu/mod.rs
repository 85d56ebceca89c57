//! Projections on the processor.

pub(crate) mod columns;
pub(crate) mod fourier;
mod fourier_kernel;
mod fourier_stages;
pub(crate) mod gather;
mod taps;

#[cfg(test)]
mod fourier_tests;
#[cfg(test)]
mod tests;

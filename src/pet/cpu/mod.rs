//! Projections on the processor.

pub(crate) mod columns;
pub(crate) mod gather;
mod taps;

#[cfg(test)]
mod tests;

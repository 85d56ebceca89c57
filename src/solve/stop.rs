//! When an iteration ends.

/// The bounds of an iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Maximum number of iterations.
    pub(crate) iterations: usize,
    /// Ends at this |residual| / |right-hand side|.
    pub(crate) tolerance: f64,
}

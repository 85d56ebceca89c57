//! When an iteration ends.

/// The bounds of an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Ends at this |residual| / |right-hand side|.
    pub tolerance: f64,
}

//! Forward or backward.

/// Sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// exp(-2 pi i j k / n).
    Forward,
    /// exp(+2 pi i j k / n), unscaled.
    Backward,
}

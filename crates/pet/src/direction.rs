//! Which of the two projections.

/// H or its transpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Adjoint,
    Forward,
}

//! Pairs of axes.

/// Delays in samples, or their errors: xx, yy, zz, xy, xz, yz of a symmetric matrix.
pub type Delays = [f64; 6];

/// Axes of each of them.
pub(super) const PAIRS: [[usize; 2]; 6] = [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]];

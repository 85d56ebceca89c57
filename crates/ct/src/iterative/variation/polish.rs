//! Before a bound below the minimum is told, fields are moved so that less of v = A^T q + D^T y is below 0: with a lower bound alone the bound goes by the
//! pixel where v is lowest, and fields are free wherever they are shorter than the weight. That takes no projections. The iterations go on from there.

use crate::iterative::Iteration;

/// Of each look.
pub(crate) const SWEEPS: usize = 8;
/// Pixels whose fields are moved at a time: (column + 2 row) modulo this is alike, so that they share no pixel of v.
pub(crate) const COLOURS: usize = 3;
/// One over the largest eigenvalue of D D^T of one pixel's field.
pub(crate) const STEP: f32 = 1.0 / 3.0;
/// Pixels of a tile's side; tiles are worked on without their neighbours.
pub(crate) const TILE: usize = 32;

/// Whether that is worth it: between bounds other sums count, fields of squared differences have a length that suits, and neighbouring slices may be elsewhere.
pub(super) fn polishes(iteration: &Iteration) -> bool {
    let o = iteration.options;
    !iteration.is_poisson() && !o.bounds[1].is_finite() && o.huber == 0.0 && iteration.depth.is_none()
}

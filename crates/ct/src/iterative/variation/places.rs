//! Which image, rows and sum is which.

use crate::iterative::Iteration;
use crate::iterative::space::{Depth, Fields, Image, Rows, Sum};

pub(super) const GRADIENTS: Image = Image(1);
pub(super) const AHEAD: Image = Image(2);
pub(super) const FIELDS: [Image; 2] = [Image(3), Image(4)];
pub(super) const DEPTH_FIELD: Image = Image(5);
/// -q: residuals are b - A x everywhere.
pub(super) const DUAL: Rows = Rows(1);
pub(super) const PROJECTED: Rows = Rows(2);
/// A dual that offsets allow.
pub(super) const REPAIRED: Rows = Rows(3);

pub(super) const IMAGE_STEP: Sum = Sum(0);
pub(super) const FIELD_STEP: Sum = Sum(1);
pub(super) const ROW_PART: Sum = Sum(2);
pub(super) const RELAXED: Sum = Sum(3);
pub(super) const MOVED: [Sum; 3] = [Sum(4), Sum(5), Sum(6)];
pub(super) const SQUARE: Sum = Sum(7);
pub(super) const VARIATION: Sum = Sum(8);
pub(super) const DUALITY: Sum = Sum(9);
pub(super) const BOUNDS: Sum = Sum(10);
pub(super) const MASS: Sum = Sum(11);
pub(super) const LOWEST: Sum = Sum(12);
pub(super) const ADOPTED: Sum = Sum(13);
pub(super) const DISTANCE: Sum = Sum(14);
pub(super) const DIFFERENCE: Sum = Sum(15);
pub(super) const RINGS: [Sum; 2] = [Sum(16), Sum(17)];

/// Each step goes so much further than the plain method's.
pub(super) const RELAXATION: f64 = 1.8;

/// The fields of an iteration.
pub(super) fn fields(iteration: &Iteration) -> Fields {
    Fields { plane: FIELDS, depth: iteration.depth.map(|scale| Depth { field: DEPTH_FIELD, scale }) }
}

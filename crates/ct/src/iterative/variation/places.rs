//! Which image, rows and sum is which.

use crate::iterative::Iteration;
use crate::iterative::base::Base;
use crate::iterative::space::{Depth, Fields, Image, Rows, Sum};

pub(super) const GRADIENTS: Image = Image(1);
pub(super) const AHEAD: Image = Image(2);
pub(super) const FIELDS: [Image; 2] = [Image(3), Image(4)];
/// Of squares: what images are added to.
const BASE: Image = Image(5);
/// -q: residuals are b - A x everywhere.
pub(super) const DUAL: Rows = Rows(1);
pub(super) const PROJECTED: Rows = Rows(2);
/// A dual that offsets allow.
pub(super) const REPAIRED: Rows = Rows(3);

pub(super) const IMAGE_STEP: Sum = Sum(0);
pub(super) const FIELD_STEP: Sum = Sum(1);
pub(super) const ROW_STEP: Sum = Sum(2);
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
const NUMBERS: [Sum; 4] = [Sum(18), Sum(19), Sum(20), Sum(21)];
pub(super) const SUMS: usize = 22;

/// Iterations from one look at the gap to the next; the balance follows then, too.
pub(super) const LOOK: usize = 20;
/// Each step goes so much further than the plain method's.
pub(super) const RELAXATION: f64 = 1.8;

/// The base of an iteration: Poisson's law has none, since the sum's projection is what it weighs.
pub(super) fn base(iteration: &Iteration) -> Option<Base> {
    (!iteration.is_poisson()).then_some(Base { base: BASE, projected: PROJECTED, numbers: NUMBERS, sum: SQUARE })
}

/// How many images there are, but for that along z.
fn images(iteration: &Iteration) -> usize {
    if iteration.is_poisson() { BASE.0 } else { BASE.0 + 1 }
}

/// How many images there are.
pub(super) fn all_images(iteration: &Iteration) -> usize {
    images(iteration) + usize::from(iteration.depth.is_some())
}

/// The fields of an iteration.
pub(super) fn fields(iteration: &Iteration) -> Fields {
    let field = Image(images(iteration));
    Fields { plane: FIELDS, depth: iteration.depth.map(|scale| Depth { field, scale }) }
}

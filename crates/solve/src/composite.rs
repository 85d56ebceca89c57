//! What a problem with a penalty that is not smooth has to know of itself.

use super::{Momentum, Vectors};
use isocenter_base::error::Result;

/// The problem |A x - d|^2 / 2 + penalty(x), with N = A^H A, and the arithmetic of the vectors that it is about.
pub trait Composite {
    type Vectors: Momentum;
    fn vectors(&mut self) -> &mut Self::Vectors;
    /// out = N x.
    fn normal(&mut self, x: &VectorOf<Self>, out: &mut VectorOf<Self>) -> Result<()>;
    /// Replaces v by the x that minimises |x - v|^2 / 2 + step penalty(x); gives penalty(x).
    fn prox(&mut self, step: f64, v: &mut VectorOf<Self>) -> Result<f64>;
    /// penalty(x), where [`Composite::prox`] did not make it.
    fn penalty(&mut self, x: &VectorOf<Self>) -> Result<f64>;
    /// The largest s for which s |r.y| is at most penalty(y) whatever y is, which makes s r a dual; None where that is not known, and where
    /// the penalty changes from iteration to iteration.
    fn within(&mut self, r: &VectorOf<Self>) -> Result<Option<f64>>;
    /// After each iteration; an error ends the solution.
    fn after(&mut self) -> Result<()>;
}

/// A vector of a problem.
pub type VectorOf<C> = <<C as Composite>::Vectors as Vectors>::Vector;

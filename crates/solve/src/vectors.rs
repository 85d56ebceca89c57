//! The arithmetic that solvers need.

use isocenter_base::error::Result;

/// Arithmetic of vectors, wherever they lie. Complex vectors serve as real ones of twice the length: factors are real, and of inner
/// products only the real part is needed.
pub trait Vectors {
    /// In whatever memory.
    type Vector: Send;

    /// Elements of a vector.
    fn len(&self, vector: &Self::Vector) -> usize;
    /// A vector whose elements are not set yet, for a result.
    fn uninitialised(&mut self, count: usize) -> Result<Self::Vector>;
    /// A vector of zeros.
    fn zeros(&mut self, count: usize) -> Result<Self::Vector>;
    /// A vector that has the same real value everywhere.
    fn filled(&mut self, count: usize, value: f64) -> Result<Self::Vector>;
    /// Copies `count` elements from a place in one vector to a place in another.
    fn copy(&mut self, from: (&Self::Vector, usize), to: (&mut Self::Vector, usize), count: usize) -> Result<()>;
    /// Real part of the inner product.
    fn dot(&mut self, a: &Self::Vector, b: &Self::Vector) -> Result<f64>;
    /// y = a x + b y.
    fn combine(&mut self, a: f64, x: &Self::Vector, b: f64, y: &mut Self::Vector) -> Result<()>;
    /// x = x + a direction and residual = residual - a product; gives |residual|^2.
    fn step(
        &mut self,
        a: f64,
        direction_and_product: (&Self::Vector, &Self::Vector),
        x: &mut Self::Vector,
        residual: &mut Self::Vector,
    ) -> Result<f64>;
}

/// What first-order methods with momentum ask of vectors besides, each in one pass over memory.
pub trait Momentum: Vectors {
    /// out = y - step (N y - right), where y = x + momentum (x - before), and N y the same of N x and N before.
    fn descend(
        &mut self,
        step: f64,
        momentum: f64,
        course: Course<&Self::Vector>,
        right: &Self::Vector,
        out: &mut Self::Vector,
    ) -> Result<()>;
    /// Products that tell how far a step from y to `next` went.
    fn survey(
        &mut self,
        momentum: f64,
        course: Course<&Self::Vector>,
        right: &Self::Vector,
        next: [&Self::Vector; 2],
    ) -> Result<Survey>;
}

/// Where an iteration is and where it was, each with its product with N.
#[derive(Clone, Copy, Debug)]
pub struct Course<V> {
    pub x: [V; 2],
    pub before: [V; 2],
}

/// Real parts of inner products.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Survey {
    /// |next - y|^2.
    pub step: f64,
    /// (next - y) . N (next - y).
    pub curvature: f64,
    /// (y - next) . (next - x).
    pub turn: f64,
    /// |next|^2.
    pub square: f64,
    /// next . N next.
    pub energy: f64,
    /// next . right.
    pub overlap: f64,
}

impl Survey {
    /// In the order of its fields.
    pub const SUMS: usize = 6;

    pub fn new([step, curvature, turn, square, energy, overlap]: [f64; Self::SUMS]) -> Self {
        Self { step, curvature, turn, square, energy, overlap }
    }
}

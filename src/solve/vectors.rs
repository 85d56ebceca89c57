//! The arithmetic that solvers need.

use crate::error::Result;

/// Arithmetic of vectors, wherever they lie. Complex vectors serve as real ones of twice the length: factors are real, and of inner
/// products only the real part is needed.
pub(crate) trait Vectors {
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

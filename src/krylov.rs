//! Conjugate gradient for Hermitian positive definite systems, wherever their vectors are.
//!
//! M. R. Hestenes, E. Stiefel, "Methods of conjugate gradients for solving linear systems", J. Res. Natl. Bur. Stand. 49, 1952.
//! Complex vectors serve as real ones of twice the length: of inner products only the real part is needed.

use crate::error::Result;

/// A system and its vectors.
pub(crate) trait LinearSystem {
    /// In whatever memory.
    type Vector;
    /// A vector of zeros.
    fn zeros(&mut self) -> Result<Self::Vector>;
    /// out = A x.
    fn apply(&mut self, x: &Self::Vector, out: &mut Self::Vector) -> Result<()>;
    /// Real part of the inner product.
    fn dot(&mut self, a: &Self::Vector, b: &Self::Vector) -> Result<f64>;
    /// y = a x + b y.
    fn combine(&mut self, a: f64, x: &Self::Vector, b: f64, y: &mut Self::Vector) -> Result<()>;
    /// x = x + a direction, residual = residual - a product, of `along`; gives |residual|^2.
    fn step(
        &mut self,
        a: f64,
        along: (&Self::Vector, &Self::Vector),
        x: &mut Self::Vector,
        residual: &mut Self::Vector,
    ) -> Result<f64>;
    /// After each iteration, with its number and |residual| / |right-hand side|; an error ends the solution.
    fn after(&mut self, iteration: usize, residual: f64) -> Result<()>;
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Most iterations.
    pub(crate) iterations: usize,
    /// At this |residual| / |right-hand side|.
    pub(crate) tolerance: f64,
}

/// Solves A x = b from the given x; `right` is b, and the residual afterwards. Returns |residual| / |b| before the first iteration
/// and after each.
pub(crate) fn conjugate_gradient<S: LinearSystem>(
    system: &mut S,
    right: &mut S::Vector,
    x: &mut S::Vector,
    start_is_zero: bool,
    stop: Stop,
) -> Result<Vec<f64>> {
    let norm = system.dot(right, right)?.sqrt();
    if norm == 0.0 {
        // The solution is 0 whatever the start.
        let zero = system.zeros()?;
        system.combine(1.0, &zero, 0.0, x)?;
        return Ok(vec![0.0]);
    }
    let mut product = system.zeros()?;
    if !start_is_zero {
        system.apply(x, &mut product)?;
        system.combine(-1.0, &product, 1.0, right)?;
    }
    let residual = right;
    let mut direction = system.zeros()?;
    system.combine(1.0, residual, 0.0, &mut direction)?;
    let mut square = system.dot(residual, residual)?;
    let mut history = vec![square.sqrt() / norm];
    for iteration in 1..=stop.iterations {
        if square.sqrt() <= stop.tolerance * norm {
            break;
        }
        system.apply(&direction, &mut product)?;
        let curvature = system.dot(&direction, &product)?;
        // Rounding can take the last direction's curvature away; what is there is as good as it gets.
        if curvature <= 0.0 || !curvature.is_finite() {
            break;
        }
        let step = square / curvature;
        let next = system.step(step, (&direction, &product), x, residual)?;
        system.combine(1.0, residual, next / square, &mut direction)?;
        square = next;
        history.push(square.sqrt() / norm);
        system.after(iteration, square.sqrt() / norm)?;
    }
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal system with a few different eigenvalues: conjugate gradient needs one iteration for each.
    struct Diagonal(Vec<f64>, usize);

    impl LinearSystem for Diagonal {
        type Vector = Vec<f64>;
        fn zeros(&mut self) -> Result<Vec<f64>> {
            Ok(vec![0.0; self.0.len()])
        }
        fn apply(&mut self, x: &Vec<f64>, out: &mut Vec<f64>) -> Result<()> {
            out.iter_mut().zip(x.iter().zip(&self.0)).for_each(|(o, (x, d))| *o = x * d);
            Ok(())
        }
        fn dot(&mut self, a: &Vec<f64>, b: &Vec<f64>) -> Result<f64> {
            Ok(a.iter().zip(b).map(|(a, b)| a * b).sum())
        }
        fn combine(&mut self, a: f64, x: &Vec<f64>, b: f64, y: &mut Vec<f64>) -> Result<()> {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = a * x + b * *y);
            Ok(())
        }
        fn step(&mut self, a: f64, along: (&Vec<f64>, &Vec<f64>), x: &mut Vec<f64>, r: &mut Vec<f64>) -> Result<f64> {
            self.combine(a, along.0, 1.0, x)?;
            self.combine(-a, along.1, 1.0, r)?;
            self.dot(r, r)
        }
        fn after(&mut self, iteration: usize, _: f64) -> Result<()> {
            self.1 = iteration;
            Ok(())
        }
    }

    #[test]
    fn as_many_iterations_as_eigenvalues() {
        let values = [1.0, 3.0, 10.0];
        let mut system = Diagonal((0..60).map(|k| values[k % 3]).collect(), 0);
        let expected: Vec<f64> = (0..60).map(|k| (k as f64 * 0.7).sin()).collect();
        for start in [0.0, 2.0] {
            let mut b: Vec<f64> = expected.iter().zip(&system.0).map(|(x, d)| x * d).collect();
            let mut x = vec![start; 60];
            let stop = Stop { iterations: 50, tolerance: 1e-13 };
            let history = conjugate_gradient(&mut system, &mut b, &mut x, start == 0.0, stop).expect("solution");
            assert_eq!((history.len(), system.1), (4, 3), "{history:?}");
            // Error at most residual / smallest eigenvalue.
            assert!(x.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-11));
        }
    }

    #[test]
    fn a_right_hand_side_of_zero_has_the_solution_zero() {
        let mut system = Diagonal(vec![2.0; 5], 0);
        let mut x = vec![1.0; 5];
        let stop = Stop { iterations: 5, tolerance: 0.0 };
        assert_eq!(conjugate_gradient(&mut system, &mut vec![0.0; 5], &mut x, false, stop), Ok(vec![0.0]));
        assert_eq!(x, vec![0.0; 5]);
    }
}

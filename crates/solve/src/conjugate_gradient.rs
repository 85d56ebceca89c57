//! Conjugate gradient for Hermitian positive definite systems, wherever their vectors are.
//!
//! M. R. Hestenes, E. Stiefel, "Methods of conjugate gradients for solving linear systems", J. Res. Natl. Bur. Stand. 49, 1952.
//! Complex vectors serve as real ones of twice the length: of inner products only the real part is needed.

use super::fista::MOST;
use super::{Stop, Vectors};
use isocenter_base::error::{Result, fail};

/// Lengths of right-hand sides that are taken as they are.
const ORDINARY: std::ops::Range<f64> = 1e-15..1e15;

/// A Hermitian positive definite operator A, and the arithmetic of the vectors that it is applied to.
pub trait LinearSystem {
    type Vectors: Vectors;
    fn vectors(&mut self) -> &mut Self::Vectors;
    /// out = A x.
    fn apply(&mut self, x: &VectorOf<Self>, out: &mut VectorOf<Self>) -> Result<()>;
    /// After each iteration, with its number and |residual| / |right-hand side|; an error ends the solution.
    fn after(&mut self, iteration: usize, residual: f64) -> Result<()>;
}

/// A vector of a system.
pub type VectorOf<S> = <<S as LinearSystem>::Vectors as Vectors>::Vector;

/// Solves A x = b from the given x; `right` is b, and the residual afterwards. Returns |residual| / |b| before the first iteration
/// and after each.
pub fn conjugate_gradient<S: LinearSystem>(
    system: &mut S,
    right: &mut VectorOf<S>,
    x: &mut VectorOf<S>,
    start_is_zero: bool,
    stop: Stop,
) -> Result<Vec<f64>> {
    let count = system.vectors().len(right);
    let mut norm = system.vectors().dot(right, right)?.sqrt();
    if norm == 0.0 {
        // The solution is 0 whatever the start.
        let zero = system.vectors().zeros(count)?;
        system.vectors().combine(1.0, &zero, 0.0, x)?;
        return Ok(vec![0.0]);
    }
    if !norm.is_finite() {
        fail!(
            OutOfRange,
            "samples are so large that their adjoint is beyond the range of this precision; divide them by 1e20"
        );
    }
    let mut product = system.vectors().zeros(count)?;
    // A x of very large or very small numbers would leave the range of single precision. A power of two takes no digit away.
    let scale = if ORDINARY.contains(&norm) { 1.0 } else { (-norm.log2().round()).clamp(-MOST, MOST).exp2() };
    if scale != 1.0 {
        system.vectors().combine(0.0, &product, scale, right)?;
        system.vectors().combine(0.0, &product, scale, x)?;
        norm *= scale;
    }
    if !start_is_zero {
        system.apply(x, &mut product)?;
        system.vectors().combine(-1.0, &product, 1.0, right)?;
    }
    let residual = right;
    let mut direction = system.vectors().zeros(count)?;
    system.vectors().combine(1.0, residual, 0.0, &mut direction)?;
    let mut square = system.vectors().dot(residual, residual)?;
    let mut history = vec![square.sqrt() / norm];
    for iteration in 1..=stop.iterations {
        if square.sqrt() <= stop.tolerance * norm {
            break;
        }
        system.apply(&direction, &mut product)?;
        let vectors = system.vectors();
        let curvature = vectors.dot(&direction, &product)?;
        if !curvature.is_finite() {
            fail!(
                OutOfRange,
                "products with the system are beyond the range of this precision; divide weights and options.lambda by a power of ten"
            );
        }
        // Rounding can take the last direction's curvature away; what is there is as good as it gets.
        if curvature <= 0.0 {
            break;
        }
        let step = square / curvature;
        let next = vectors.step(step, (&direction, &product), x, residual)?;
        vectors.combine(1.0, residual, next / square, &mut direction)?;
        square = next;
        history.push(square.sqrt() / norm);
        system.after(iteration, square.sqrt() / norm)?;
    }
    if scale != 1.0 {
        system.vectors().combine(0.0, residual, 1.0 / scale, x)?;
    }
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arithmetic in f64, one number after the other.
    struct Plain;

    impl Vectors for Plain {
        type Vector = Vec<f64>;
        fn len(&self, vector: &Vec<f64>) -> usize {
            vector.len()
        }
        fn uninitialised(&mut self, count: usize) -> Result<Vec<f64>> {
            self.filled(count, f64::NAN)
        }
        fn zeros(&mut self, count: usize) -> Result<Vec<f64>> {
            self.filled(count, 0.0)
        }
        fn filled(&mut self, count: usize, value: f64) -> Result<Vec<f64>> {
            Ok(vec![value; count])
        }
        fn copy(&mut self, from: (&Vec<f64>, usize), to: (&mut Vec<f64>, usize), count: usize) -> Result<()> {
            to.0[to.1..][..count].copy_from_slice(&from.0[from.1..][..count]);
            Ok(())
        }
        fn dot(&mut self, a: &Vec<f64>, b: &Vec<f64>) -> Result<f64> {
            Ok(a.iter().zip(b).map(|(a, b)| a * b).sum())
        }
        fn combine(&mut self, a: f64, x: &Vec<f64>, b: f64, y: &mut Vec<f64>) -> Result<()> {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = a * x + b * *y);
            Ok(())
        }
        fn step(
            &mut self,
            a: f64,
            (direction, product): (&Vec<f64>, &Vec<f64>),
            x: &mut Vec<f64>,
            residual: &mut Vec<f64>,
        ) -> Result<f64> {
            self.combine(a, direction, 1.0, x)?;
            self.combine(-a, product, 1.0, residual)?;
            self.dot(residual, residual)
        }
    }

    /// A diagonal system with a few different eigenvalues: conjugate gradient needs one iteration for each.
    struct Diagonal {
        diagonal: Vec<f64>,
        iterations: usize,
        vectors: Plain,
    }

    impl Diagonal {
        fn new(diagonal: Vec<f64>) -> Self {
            Self { diagonal, iterations: 0, vectors: Plain }
        }
    }

    impl LinearSystem for Diagonal {
        type Vectors = Plain;
        fn vectors(&mut self) -> &mut Plain {
            &mut self.vectors
        }
        fn apply(&mut self, x: &Vec<f64>, out: &mut Vec<f64>) -> Result<()> {
            out.iter_mut().zip(x.iter().zip(&self.diagonal)).for_each(|(o, (x, d))| *o = x * d);
            Ok(())
        }
        fn after(&mut self, iteration: usize, _: f64) -> Result<()> {
            self.iterations = iteration;
            Ok(())
        }
    }

    #[test]
    fn as_many_iterations_as_eigenvalues() {
        let values = [1.0, 3.0, 10.0];
        let mut system = Diagonal::new((0..60).map(|k| values[k % 3]).collect());
        let expected: Vec<f64> = (0..60).map(|k| (k as f64 * 0.7).sin()).collect();
        for start in [0.0, 2.0] {
            let mut b: Vec<f64> = expected.iter().zip(&system.diagonal).map(|(x, d)| x * d).collect();
            let mut x = vec![start; 60];
            let stop = Stop { iterations: 50, tolerance: 1e-13 };
            let history = conjugate_gradient(&mut system, &mut b, &mut x, start == 0.0, stop).expect("solution");
            assert_eq!((history.len(), system.iterations), (4, 3), "{history:?}");
            // Error at most residual / smallest eigenvalue.
            assert!(x.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-11));
        }
    }

    #[test]
    fn a_right_hand_side_of_any_size_has_the_same_solution() {
        let solved = |size: f64, start: f64| {
            let mut system = Diagonal::new((0..60).map(|k| [1.0, 3.0, 10.0][k % 3]).collect());
            let mut b: Vec<f64> = (0..60).map(|k| (k as f64 * 0.7).sin() * size).collect();
            let mut x = vec![start * size; 60];
            let stop = Stop { iterations: 50, tolerance: 1e-13 };
            let history = conjugate_gradient(&mut system, &mut b, &mut x, start == 0.0, stop).expect("solution");
            (x.into_iter().map(|v| v / size).collect::<Vec<f64>>(), history)
        };
        for start in [0.0, 2.0] {
            // By a power of two, so that all numbers are those of the ordinary one, to the bit.
            for size in [2.0f64.powi(110), 2.0f64.powi(-110)] {
                assert_eq!(solved(size, start), solved(1.0, start), "{size:e}");
            }
        }
        let mut system = Diagonal::new(vec![1.0; 2]);
        let stop = Stop { iterations: 5, tolerance: 0.0 };
        assert!(conjugate_gradient(&mut system, &mut vec![f64::INFINITY, 0.0], &mut vec![0.0; 2], true, stop).is_err());
    }

    #[test]
    fn a_right_hand_side_of_zero_has_the_solution_zero() {
        let mut system = Diagonal::new(vec![2.0; 5]);
        let mut x = vec![1.0; 5];
        let stop = Stop { iterations: 5, tolerance: 0.0 };
        assert_eq!(conjugate_gradient(&mut system, &mut vec![0.0; 5], &mut x, false, stop), Ok(vec![0.0]));
        assert_eq!(x, vec![0.0; 5]);
    }
}

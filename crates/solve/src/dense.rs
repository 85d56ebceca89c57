//! Small dense matrices, row after row: eigenvectors of symmetric ones, and systems of positive definite ones.

/// Of a symmetric matrix, largest eigenvalues first, each with its vector of unit length, by Jacobi's rotations.
pub fn eigenvectors(mut m: Vec<f64>, size: usize) -> Vec<(f64, Vec<f64>)> {
    let mut vectors: Vec<Vec<f64>> = (0..size).map(|i| (0..size).map(|j| f64::from(i == j)).collect()).collect();
    const SWEEPS: usize = 30;
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..size {
            for q in p + 1..size {
                let (app, aqq, apq) = (m[p * size + p], m[q * size + q], m[p * size + q]);
                if apq.abs() <= 1e-16 * (app * aqq).abs().sqrt() {
                    continue;
                }
                turned = true;
                let theta = (aqq - app) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for k in 0..size {
                    let (a, b) = (m[p * size + k], m[q * size + k]);
                    (m[p * size + k], m[q * size + k]) = (c * a - s * b, s * a + c * b);
                }
                for k in 0..size {
                    let (a, b) = (m[k * size + p], m[k * size + q]);
                    (m[k * size + p], m[k * size + q]) = (c * a - s * b, s * a + c * b);
                }
                let (low, high) = vectors.split_at_mut(q);
                for (a, b) in low[p].iter_mut().zip(&mut high[0]) {
                    (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
                }
            }
        }
        if !turned {
            break;
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|a, b| m[b * size + b].total_cmp(&m[a * size + a]));
    order.into_iter().map(|i| (m[i * size + i], std::mem::take(&mut vectors[i]))).collect()
}

/// Makes the lower factor of a positive definite matrix in place; false where a pivot is below `smallest`.
pub fn cholesky(a: &mut [f64], n: usize, smallest: f64) -> bool {
    for j in 0..n {
        let pivot = a[j * n + j] - (0..j).map(|k| a[j * n + k] * a[j * n + k]).sum::<f64>();
        // Not a number either.
        if pivot.is_nan() || pivot < smallest {
            return false;
        }
        a[j * n + j] = pivot.sqrt();
        for i in j + 1..n {
            let rest = a[i * n + j] - (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum::<f64>();
            a[i * n + j] = rest / a[j * n + j];
        }
    }
    true
}

/// Solves a system in place, of which this is the lower factor.
pub fn solve(l: &[f64], x: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        x[i] = (x[i] - (0..i).map(|k| l[i * n + k] * x[k]).sum::<f64>()) / l[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - (i + 1..n).map(|k| l[k * n + i] * x[k]).sum::<f64>()) / l[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B B^T + I of a matrix of cosines: symmetric and positive definite, its condition some n^2.
    fn matrix(n: usize) -> Vec<f64> {
        let b = |i: usize, j: usize| (1.7 * i as f64 + 0.9 * j as f64 * j as f64).cos();
        let product = |i, j| (0..n).map(|k| b(i, k) * b(j, k)).sum::<f64>() + f64::from(i == j);
        (0..n * n).map(|k| product(k / n, k % n)).collect()
    }

    #[test]
    fn matrices_are_taken_apart() {
        for n in [1, 2, 7, 20] {
            let m = matrix(n);
            let times = |x: &[f64]| -> Vec<f64> {
                m.chunks_exact(n).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
            };
            let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let pairs = eigenvectors(m.clone(), n);
            assert!(pairs.is_sorted_by(|a, b| a.0 >= b.0));
            for (value, vector) in &pairs {
                let expected: Vec<f64> = vector.iter().map(|v| value * v).collect();
                // Entries are up to n + 1, and rounding adds up over n of them.
                assert!(apart(&times(vector), &expected) < 1e-14 * (n * n + 1) as f64, "{n}");
            }
            let x: Vec<f64> = (0..n).map(|k| k as f64 - 2.0).collect();
            let (mut factor, mut solved) = (m.clone(), times(&x));
            assert!(cholesky(&mut factor, n, 1e-12));
            solve(&factor, &mut solved);
            assert!(apart(&solved, &x) < 1e-12 * (n * n) as f64, "{n}");
        }
        assert!(!cholesky(&mut [1.0, 2.0, 2.0, 1.0], 2, 0.0), "an indefinite one");
    }
}

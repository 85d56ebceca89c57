//! Dense Hermitian matrices, row after row: eigenvectors, Cholesky's factor, its inverse, and what it solves.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, MatRef, Par, c64};
use isocenter_base::cpu::buffer::{probe, reserved, zeros};
use isocenter_base::error::{Error, Result, Status};
use rustfft::num_complex::Complex;

/// Eigenvalues, largest first, and their vectors of unit length, one after another.
pub struct Eigen {
    pub values: Vec<f64>,
    pub vectors: Vec<Complex<f64>>,
}

/// Of a Hermitian matrix, of which the lower triangle is read. On one thread, in some 10 n^3 operations.
pub fn eigenvectors(matrix: &[Complex<f64>], n: usize) -> Result<Eigen> {
    let failed = |what: String| Error::new(Status::Internal, format!("eigenvalues of {n} x {n}: {what}"));
    let need = self_adjoint_evd_scratch::<c64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    // Matrices of the crate below abort where memory ends.
    probe((need.size_bytes() + 2 * n * n * size_of::<c64>()) as u64)?;
    let mut memory = MemBuffer::try_new(need).map_err(|_| {
        Error::new(Status::OutOfMemory, format!("could not allocate memory for eigenvalues of {n} x {n}"))
    })?;
    let (mut u, mut s) = (Mat::<c64>::zeros(n, n), Diag::<c64>::zeros(n));
    let from = MatRef::from_row_major_slice(matrix, n, n);
    self_adjoint_evd(from, s.as_mut(), Some(u.as_mut()), Par::Seq, MemStack::new(&mut memory), Default::default())
        .map_err(|e| failed(format!("{e:?}")))?;
    let (mut values, mut vectors) = (reserved(n)?, reserved(n * n)?);
    for k in (0..n).rev() {
        values.push(s.column_vector()[k].re);
        vectors.extend(u.col(k).iter().copied());
    }
    Ok(Eigen { values, vectors })
}

/// Lower factor L of a positive definite matrix L L^H; or the first row whose pivot is at most `relative` times its diagonal, because
/// it is, to that, a combination of those before it.
pub fn cholesky(
    matrix: &[Complex<f64>],
    n: usize,
    relative: f64,
) -> Result<std::result::Result<Vec<Complex<f64>>, usize>> {
    let mut l = zeros::<Complex<f64>>(n * n)?;
    for j in 0..n {
        let diagonal = matrix[j * n + j].re;
        let pivot = diagonal - l[j * n..][..j].iter().map(|v| v.norm_sqr()).sum::<f64>();
        // Not a number either.
        if pivot.is_nan() || pivot <= relative * diagonal {
            return Ok(Err(j));
        }
        let pivot = pivot.sqrt();
        l[j * n + j] = pivot.into();
        for i in j + 1..n {
            let known: Complex<f64> = (0..j).map(|k| l[i * n + k] * l[j * n + k].conj()).sum();
            l[i * n + j] = (matrix[i * n + j] - known) / pivot;
        }
    }
    Ok(Ok(l))
}

/// Inverse of a lower triangular matrix, which is one, too.
pub fn inverse_lower(l: &[Complex<f64>], n: usize) -> Result<Vec<Complex<f64>>> {
    let mut out = zeros::<Complex<f64>>(n * n)?;
    for i in 0..n {
        let (above, row) = out.split_at_mut(i * n);
        for (k, known) in above.chunks_exact(n).enumerate() {
            let factor = l[i * n + k];
            row[..=k].iter_mut().zip(known).for_each(|(sum, v)| *sum += factor * v);
        }
        let pivot = l[i * n + i];
        for (column, v) in row[..=i].iter_mut().enumerate() {
            *v = (Complex::from(f64::from(u8::from(i == column))) - *v) / pivot;
        }
    }
    Ok(out)
}

/// Solves a system in place, of which this is the lower factor.
pub fn solve(l: &[Complex<f64>], x: &mut [Complex<f64>]) {
    let n = x.len();
    for i in 0..n {
        let known: Complex<f64> = l[i * n..][..i].iter().zip(&x[..i]).map(|(l, x)| l * x).sum();
        x[i] = (x[i] - known) / l[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] /= l[i * n + i];
        let known = x[i];
        x[..i].iter_mut().zip(&l[i * n..]).for_each(|(x, l)| *x -= l.conj() * known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B B^H of a matrix of n x rank turns: Hermitian.
    fn matrix(n: usize, rank: usize) -> Vec<Complex<f64>> {
        let b = |i: usize, j: usize| Complex::cis(1.7 * i as f64 + 0.9 * (j * j * (i + 1)) as f64);
        let product = |i, j| (0..rank).map(|k| b(i, k) * b(j, k).conj()).sum::<Complex<f64>>();
        (0..n * n).map(|k| product(k / n, k % n)).collect()
    }

    #[test]
    fn hermitian_matrices_are_taken_apart() {
        for n in [1, 2, 7, 40] {
            let m = matrix(n, 2 * n);
            let Eigen { values, vectors } = eigenvectors(&m, n).expect("eigenvectors");
            assert!(values.is_sorted_by(|a, b| a >= b));
            // Entries are up to 2 n, and rounding adds up over n of them.
            let bound = 1e-14 * (2 * n * n + 1) as f64;
            for i in 0..n {
                for j in 0..n {
                    let again: Complex<f64> =
                        (0..n).map(|k| values[k] * vectors[k * n + i] * vectors[k * n + j].conj()).sum();
                    assert!((again - m[i * n + j]).norm() < bound, "{n}: {i}, {j}");
                }
            }
            let l = cholesky(&m, n, 1e-12).expect("memory").expect("positive definite");
            let inverse = inverse_lower(&l, n).expect("memory");
            for i in 0..n {
                for j in 0..n {
                    let product: Complex<f64> = (0..n).map(|k| inverse[i * n + k] * l[k * n + j]).sum();
                    assert!((product - f64::from(u8::from(i == j))).norm() < 1e-10, "{n}: {i}, {j}");
                }
            }
            let known: Vec<Complex<f64>> = (0..n).map(|k| Complex::cis(0.3 * k as f64)).collect();
            let mut x: Vec<Complex<f64>> =
                m.chunks_exact(n).map(|row| row.iter().zip(&known).map(|(m, x)| m * x).sum()).collect();
            solve(&l, &mut x);
            assert!(x.iter().zip(&known).all(|(x, k)| (x - k).norm() < 1e-10), "{n}");
        }
        assert_eq!(cholesky(&matrix(5, 3), 5, 1e-12).map(|l| l.err()), Ok(Some(3)), "rank 3");
    }
}

//! The largest eigenvalues of a dense Hermitian matrix, and their vectors: it is made tridiagonal, taken apart by divide and conquer, and only
//! the vectors that are wanted are taken back. On all threads, with the same results whatever their number.

use super::tridiagonal::{PANEL, Tridiagonal};
use faer::diag::{Diag, DiagRef};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd_scratch, tridiagonal_self_adjoint_evd};
use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, Mat, MatMut, MatRef, Par, c64};
use isocenter_base::cpu::buffer::{Buffer, probe, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Error, Result, Status, fail};
use rustfft::num_complex::Complex;

/// Eigenvalues, largest first, and vectors of unit length of the first of them, one after another.
pub struct Leading {
    pub values: Vec<f64>,
    pub vectors: Buffer<Complex<f64>>,
    /// How many vectors.
    pub count: usize,
}

/// Vectors that one task takes back: their numbers are in its cache.
const COLUMNS: usize = 32;

/// Of a Hermitian matrix, row after row, whose largest number is about 1 to 1e100 and of which the upper triangle is read; vectors of
/// eigenvalues above `relative` times the largest. `tell` hears of each part of the work, and may end it.
pub fn leading(
    matrix: Buffer<Complex<f64>>,
    n: usize,
    relative: f64,
    level: Level,
    tell: impl Fn(f64) -> Result<()>,
) -> Result<Leading> {
    // Divide and conquer does not tell.
    let reduced = Tridiagonal::new(&matrix, n, level, |part| tell(0.7 * part))?;
    drop(matrix);
    let (values, vectors) = taken_apart(&reduced)?;
    let values: Vec<f64> = values.column_vector().iter().rev().copied().collect();
    let count = values.iter().take_while(|v| **v > relative * values[0]).count();
    let mut out = Buffer::zeroed(count * n)?;
    let turns = turns(&reduced.below)?;
    let panels = Panels::new(&reduced)?;
    out.par_chunks_mut(COLUMNS * n).enumerate().try_for_each(|(k, out)| {
        for (j, out) in out.chunks_exact_mut(n).enumerate() {
            let from = vectors.col(n - 1 - (k * COLUMNS + j));
            out.iter_mut().zip(from.iter().zip(&turns)).for_each(|(o, (v, turn))| *o = turn * v);
        }
        panels.apply(out)
    })?;
    tell(0.3)?;
    Ok(Leading { values, vectors: out, count })
}

/// Eigenvalues, smallest first, and eigenvectors of the tridiagonal matrix with the moduli of its numbers beside the diagonal.
fn taken_apart(reduced: &Tridiagonal) -> Result<(Diag<f64>, Mat<f64>)> {
    let n = reduced.n;
    // As much again for the matrix before it is tridiagonal, which is not used.
    let need = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    // Matrices of the crate below abort where memory ends.
    probe((need.size_bytes() + n * n * size_of::<f64>()) as u64)?;
    let mut memory = MemBuffer::try_new(need).map_err(|_| {
        Error::new(Status::OutOfMemory, format!("could not allocate memory for eigenvalues of {n} x {n}"))
    })?;
    let (mut vectors, mut values) = (Mat::<f64>::zeros(n, n), Diag::<f64>::zeros(n));
    let mut beside = zeros(n)?;
    beside.iter_mut().zip(&reduced.below).for_each(|(b, v)| *b = v.norm());
    let found = tridiagonal_self_adjoint_evd(
        DiagRef::from_slice(&reduced.diagonal),
        DiagRef::from_slice(&beside),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    );
    match found {
        Ok(()) => Ok((values, vectors)),
        Err(e) => fail!(Internal, "eigenvalues of {n} x {n}: {e:?}"),
    }
}

/// Phases that make numbers below the diagonal real and positive.
fn turns(below: &[Complex<f64>]) -> Result<Vec<Complex<f64>>> {
    let mut turns = zeros(below.len() + 1)?;
    let mut turn = Complex::from(1.0);
    turns[0] = turn;
    for (to, v) in turns[1..].iter_mut().zip(below) {
        let size = v.norm();
        if size > 0.0 {
            turn *= v / size;
            // Products of phases wander off the unit circle.
            turn /= turn.norm();
        }
        *to = turn;
    }
    Ok(turns)
}

/// Reflections by panels: H_first ... H_last = 1 - V T V^H, T upper triangular (R. Schreiber, C. Van Loan, "A storage-efficient WY
/// representation for products of Householder transformations", SIAM J. Sci. Stat. Comput. 10:53-57, 1989).
struct Panels {
    n: usize,
    /// `[panel][reflection][row]`, and T `[panel][column][row]`.
    vectors: Buffer<Complex<f64>>,
    factors: Buffer<Complex<f64>>,
}

impl Panels {
    fn new(reduced: &Tridiagonal) -> Result<Self> {
        let n = reduced.n;
        let count = n.div_ceil(PANEL);
        let mut vectors = Buffer::<Complex<f64>>::zeroed(count * PANEL * n)?;
        let mut factors = Buffer::<Complex<f64>>::zeroed(count * PANEL * PANEL)?;
        let panels = vectors.par_chunks_exact_mut(PANEL * n).zip(factors.par_chunks_exact_mut(PANEL * PANEL));
        panels.enumerate().for_each(|(p, (vectors, t))| {
            let used = PANEL.min(n - p * PANEL);
            for (q, to) in vectors.chunks_exact_mut(n).take(used).enumerate() {
                let k = p * PANEL + q;
                to[k + 1..].iter_mut().zip(reduced.reflection(k)).for_each(|(to, v)| *to = v);
            }
            let own = MatRef::from_column_major_slice(vectors, n, PANEL).subrows(p * PANEL, n - p * PANEL);
            let mut products = [Complex::default(); PANEL * PANEL];
            let to = MatMut::from_column_major_slice_mut(&mut products, PANEL, PANEL);
            matmul(to, Accum::Replace, own.adjoint(), own, c64::new(1.0, 0.0), Par::Seq);
            for q in 0..used {
                // The last column of T: -T V^H v above the diagonal, 1 on it.
                let with = &products[q * PANEL..][..q];
                for i in 0..q {
                    t[q * PANEL + i] = -(i..q).map(|j| t[j * PANEL + i] * with[j]).sum::<Complex<f64>>();
                }
                t[q * PANEL + q] = 1.0.into();
            }
        });
        Ok(Self { n, vectors, factors })
    }

    /// Multiplies columns of n by all reflections.
    fn apply(&self, columns: &mut [Complex<f64>]) -> Result<()> {
        let (n, count) = (self.n, columns.len() / self.n);
        let mut dots = zeros::<Complex<f64>>(2 * PANEL * count)?;
        let (first, second) = dots.split_at_mut(PANEL * count);
        let [mut first, mut second] = [first, second].map(|d| MatMut::from_column_major_slice_mut(d, PANEL, count));
        let mut all = MatMut::from_column_major_slice_mut(columns, n, count);
        let one = c64::new(1.0, 0.0);
        let panels = self.vectors.chunks_exact(PANEL * n).zip(self.factors.chunks_exact(PANEL * PANEL));
        for (p, (v, t)) in panels.enumerate().rev() {
            // Reflections of a panel have zeros in the rows before it.
            let rows = n - p * PANEL;
            let v = MatRef::from_column_major_slice(v, n, PANEL).subrows(n - rows, rows);
            let t = MatRef::from_column_major_slice(t, PANEL, PANEL);
            let mut own = all.rb_mut().subrows_mut(n - rows, rows);
            matmul(first.rb_mut(), Accum::Replace, v.adjoint(), own.rb(), one, Par::Seq);
            matmul(second.rb_mut(), Accum::Replace, t, first.rb(), one, Par::Seq);
            matmul(own.rb_mut(), Accum::Add, v, second.rb(), -one, Par::Seq);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hermitian::{Eigen, eigenvectors};

    fn find(m: &[Complex<f64>], n: usize, relative: f64, level: Level, threads: usize) -> Leading {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut own = Buffer::zeroed(n * n).expect("memory");
        own.copy_from_slice(m);
        pool.install(|| leading(own, n, relative, level, |_| Ok(()))).expect("eigenvectors")
    }

    /// Turns of no order, divided by their number.
    fn some(n: usize) -> Vec<Complex<f64>> {
        (0..n * n).map(|k| Complex::cis((k * k % 1009) as f64 + 0.3 * (k % n) as f64) / n as f64).collect()
    }

    /// m m^H.
    fn squared(m: &[Complex<f64>], n: usize) -> Vec<Complex<f64>> {
        let row = |i: usize| &m[i * n..][..n];
        (0..n * n).map(|k| row(k / n).iter().zip(row(k % n)).map(|(a, b)| a * b.conj()).sum()).collect()
    }

    /// Sizes around blocks and panels, and some of several pieces.
    const SIZES: [usize; 12] = [1, 2, 3, 15, 16, 17, 32, 33, 49, 97, 150, 310];

    #[test]
    fn vectors_are_those_of_the_largest_eigenvalues() {
        for n in SIZES {
            let m = squared(&some(n), n);
            let Eigen { values, .. } = eigenvectors(&m, n).expect("eigenvectors");
            // Rounding of some n operations, in random directions, of numbers as large as the largest eigenvalue, with room.
            let bound = 1e-14 * (n as f64).sqrt() * values[0];
            for level in Level::available() {
                let found = find(&m, n, 0.1, level, 2);
                assert_eq!(found.count, values.iter().filter(|v| **v > 0.1 * values[0]).count(), "{level:?} {n}");
                for (seen, expected) in found.values.iter().zip(&values) {
                    assert!((seen - expected).abs() < bound, "{level:?} {n}: {seen} {expected}");
                }
                let vectors: Vec<_> = found.vectors.chunks_exact(n).collect();
                assert_eq!(vectors.len(), found.count);
                for (k, v) in vectors.iter().enumerate() {
                    for i in 0..n {
                        let product: Complex<f64> = m[i * n..][..n].iter().zip(*v).map(|(a, b)| a * b).sum();
                        assert!((product - found.values[k] * v[i]).norm() < bound, "{level:?} {n}: {k}");
                    }
                    for (l, other) in vectors.iter().enumerate() {
                        let dot: Complex<f64> = v.iter().zip(*other).map(|(a, b)| a.conj() * b).sum();
                        let expected = f64::from(u8::from(k == l));
                        assert!((dot - expected).norm() < 1e-14 * n as f64, "{level:?} {n}: {k} {l} {dot}");
                    }
                }
            }
        }
    }

    #[test]
    fn threads_change_no_bit() {
        for n in SIZES {
            let m = squared(&some(n), n);
            let one = find(&m, n, 0.01, Level::detect(), 1);
            for threads in [2, 5] {
                let many = find(&m, n, 0.01, Level::detect(), threads);
                assert!(many.values == one.values && many.vectors[..] == one.vectors[..], "{n}, {threads} threads");
            }
        }
    }

    #[test]
    fn the_threshold_is_sharp() {
        const RELATIVE: f64 = 4e-4;
        // Of the threshold, on both sides.
        const GAP: f64 = 1e-6;
        let (n, kept) = (120, 50);
        let value = |k: usize| match k {
            0 => 1.0,
            k if k < kept => RELATIVE * (1.0 + GAP * (kept - k) as f64),
            k => RELATIVE * (1.0 - GAP * (k - kept + 1) as f64),
        };
        // U = 1 - 2 u u^H of a vector of unit length.
        let u: Vec<Complex<f64>> = (0..n).map(|i| Complex::cis((i * i) as f64) / (n as f64).sqrt()).collect();
        let unitary = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * u[i] * u[j].conj();
        let entry = |i, j| (0..n).map(|k| unitary(i, k) * unitary(j, k).conj() * value(k)).sum::<Complex<f64>>();
        let m: Vec<_> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        for level in Level::available() {
            let found = find(&m, n, RELATIVE, level, 2);
            assert_eq!(found.count, kept, "{level:?}");
            // The last one that is kept and the first that is not: rounding over what is between their eigenvalues.
            let bound = 1e-15 * (n as f64).sqrt() / (2.0 * GAP * RELATIVE);
            for (k, expected) in [(kept - 1, 1.0), (kept, 0.0)] {
                let parts = found.vectors.chunks_exact(n).map(|v| {
                    v.iter().enumerate().map(|(i, v)| v.conj() * unitary(i, k)).sum::<Complex<f64>>().norm_sqr()
                });
                let length = parts.sum::<f64>().sqrt();
                assert!((length - expected).abs() < bound, "{level:?} {k}: {length}");
            }
        }
    }

    #[test]
    fn matrices_without_a_signal_have_no_vectors() {
        let found = find(&vec![Complex::default(); 40 * 40], 40, 0.1, Level::detect(), 1);
        assert!(found.count == 0 && found.vectors.is_empty() && found.values == [0.0; 40]);
    }

    #[test]
    fn who_is_told_may_end_it() {
        let n = 70;
        let m = || {
            let mut m = Buffer::zeroed(n * n).expect("memory");
            m.copy_from_slice(&squared(&some(n), n));
            m
        };
        let told = std::cell::Cell::new(0.0);
        let tell = |part| {
            told.set(told.get() + part);
            Ok(())
        };
        leading(m(), n, 0.1, Level::detect(), tell).expect("eigenvectors");
        assert!((told.get() - 1.0f64).abs() < 1e-12, "{}", told.get());
        let refused = leading(m(), n, 0.1, Level::detect(), |_| Err(Error::new(Status::Cancelled, String::new())));
        assert_eq!(refused.map(|f| f.count).map_err(|e| e.status), Err(Status::Cancelled));
    }
}

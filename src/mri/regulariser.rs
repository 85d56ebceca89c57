//! R of the penalty lambda |R rho|^2.

use crate::cpu::buffer::{Buffer, collected, copied, zeros};
use crate::cpu::simd::Real;
use crate::error::{Result, fail};
use rayon::prelude::*;
use rustfft::num_complex::Complex;

/// Which R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Penalty {
    /// R = 1: small values are preferred.
    #[default]
    Identity,
    /// Differences of neighbours along every axis: smooth images are preferred.
    Differences,
    /// The caller's matrix.
    Matrix,
}

/// What the penalties need; it stays, whichever is in use.
pub(super) struct Regulariser<T: Real> {
    /// Weights, squared, `[axis][voxel]`, x first, of the difference between a voxel and the next one; None means 1.
    pub(super) weights: Option<Buffer<T>>,
    pub(super) matrix: Option<Matrix<T>>,
}

impl<T: Real> Regulariser<T> {
    /// out = out + lambda R^H R x, for images on a grid `[nz, ny, nx]`.
    pub(super) fn add(
        &mut self,
        (penalty, lambda): (Penalty, T),
        grid: [usize; 3],
        x: &[Complex<T>],
        out: &mut [Complex<T>],
    ) {
        match (penalty, &mut self.matrix) {
            (Penalty::Identity, _) => {
                out.par_iter_mut().zip(x).with_min_len(1 << 14).for_each(|(o, x)| *o = *o + x.scale(lambda));
            }
            (Penalty::Differences, _) => differences(self.weights.as_deref(), lambda, grid, x, out),
            (Penalty::Matrix, Some(matrix)) => matrix.add(lambda, x, out),
            (Penalty::Matrix, None) => unreachable!("a plan refuses a matrix that was not set"),
        }
    }

    /// Bytes that it holds.
    pub(super) fn memory(&self) -> u64 {
        self.weights.as_ref().map_or(0, |w| size_of_val(&**w) as u64) + self.matrix.as_ref().map_or(0, Matrix::memory)
    }
}

/// R^H R gives each voxel, along each axis, w^2 (its value - the neighbour's) for both neighbours that it has.
fn differences<T: Real>(
    weights: Option<&[T]>,
    lambda: T,
    [nz, ny, nx]: [usize; 3],
    x: &[Complex<T>],
    out: &mut [Complex<T>],
) {
    let voxels = x.len();
    let axes = [(nx, 1), (ny, nx), (nz, nx * ny)];
    out.par_chunks_mut(nx).with_min_len((1usize << 13).div_ceil(nx)).enumerate().for_each(|(row, out)| {
        let first = row * nx;
        let place = [0, row % ny, row / ny];
        for (axis, (n, step)) in axes.into_iter().enumerate().filter(|(_, (n, _))| *n > 1) {
            let weight = |i: usize| weights.map_or(lambda, |w| w[axis * voxels + i] * lambda);
            for (k, o) in out.iter_mut().enumerate() {
                let i = first + k;
                let at = if axis == 0 { k } else { place[axis] };
                let mut sum = Complex::new(T::of(0.0), T::of(0.0));
                if at > 0 {
                    sum = sum + (x[i] - x[i - step]).scale(weight(i - step));
                }
                if at + 1 < n {
                    sum = sum + (x[i] - x[i + step]).scale(weight(i));
                }
                *o = *o + sum;
            }
        }
    });
}

/// A sparse matrix by rows.
pub(super) struct Rows<T: Real> {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Buffer<Complex<T>>,
}

impl<T: Real> Rows<T> {
    /// First entry of each row (and one past the last), columns, values.
    pub(super) fn parts(&self) -> (&[usize], &[usize], &[Complex<T>]) {
        (&self.starts, &self.columns, &self.values)
    }

    fn memory(&self) -> u64 {
        (size_of_val(&*self.starts) + size_of_val(&*self.columns) + size_of_val(&*self.values)) as u64
    }

    /// Row times vector.
    fn times(&self, row: usize, x: &[Complex<T>]) -> Complex<T> {
        let part = self.starts[row]..self.starts[row + 1];
        let terms = self.columns[part.clone()].iter().zip(&self.values[part]);
        terms.fold(Complex::new(T::of(0.0), T::of(0.0)), |sum, (c, v)| sum + *v * x[*c])
    }
}

/// A sparse matrix, and its conjugate transpose by rows, so that both products are gathers.
pub(super) struct Matrix<T: Real> {
    forward: Rows<T>,
    adjoint: Rows<T>,
    product: Buffer<Complex<T>>,
}

impl<T: Real> Matrix<T> {
    /// Compressed sparse rows: row i has the entries `starts[i]..starts[i + 1]` of columns and values.
    pub(super) fn new(starts: &[i64], columns: &[i64], values: &[Complex<f64>], voxels: usize) -> Result<Self> {
        let mut own = Buffer::<Complex<T>>::zeroed(values.len())?;
        own.iter_mut().zip(values).for_each(|(o, v)| *o = Complex::new(T::of(v.re), T::of(v.im)));
        let values = own;
        let rows = starts.len().saturating_sub(1);
        let entries = values.len();
        if starts.first() != Some(&0) || starts.last() != i64::try_from(entries).ok().as_ref() {
            fail!(OutOfRange, "matrix.row_starts must begin with 0 and end with the number of entries, {entries}");
        }
        if let Some(i) = starts.windows(2).position(|w| w[1] < w[0]) {
            fail!(
                OutOfRange,
                "matrix.row_starts[{}] is {}, below row_starts[{i}] ({})",
                i + 1,
                starts[i + 1],
                starts[i]
            );
        }
        let mut counts = zeros::<usize>(voxels + 1)?;
        for (i, c) in columns.iter().enumerate() {
            match usize::try_from(*c) {
                Ok(c) if c < voxels => counts[c + 1] += 1,
                _ => fail!(OutOfRange, "matrix.columns[{i}] is {c}; it must be 0 to {}, a voxel", voxels - 1),
            }
        }
        for c in 0..voxels {
            counts[c + 1] += counts[c];
        }
        let mut next = copied(&counts)?;
        let mut adjoint = Rows { starts: counts, columns: zeros(entries)?, values: Buffer::zeroed(entries)? };
        for row in 0..rows {
            for i in starts[row] as usize..starts[row + 1] as usize {
                let to = &mut next[columns[i] as usize];
                adjoint.columns[*to] = row;
                adjoint.values[*to] = values[i].conj();
                *to += 1;
            }
        }
        let whole = |list: &[i64]| collected(list.iter().map(|v| *v as usize));
        let forward = Rows { starts: whole(starts)?, columns: whole(columns)?, values };
        Ok(Self { forward, adjoint, product: Buffer::zeroed(rows)? })
    }

    /// The matrix and its conjugate transpose.
    pub(super) fn both(&self) -> (&Rows<T>, &Rows<T>) {
        (&self.forward, &self.adjoint)
    }

    fn memory(&self) -> u64 {
        self.forward.memory() + self.adjoint.memory() + size_of_val(&*self.product) as u64
    }

    fn add(&mut self, lambda: T, x: &[Complex<T>], out: &mut [Complex<T>]) {
        let Self { forward, adjoint, product } = self;
        product.par_iter_mut().enumerate().with_min_len(1 << 10).for_each(|(row, p)| *p = forward.times(row, x));
        let product = &**product;
        let rows = out.par_iter_mut().enumerate().with_min_len(1 << 10);
        rows.for_each(|(voxel, o)| *o = *o + adjoint.times(voxel, product).scale(lambda));
    }
}

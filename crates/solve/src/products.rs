//! Products of some rows of a matrix with the adjoint of others, and of its columns with each other.

use super::leading::Leading;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, c64};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;

/// Columns that one task makes.
const COLUMNS: usize = 32;

/// `A B^H` of blocks A and B of so many rows of one matrix.
pub struct RowsProduct<'a> {
    all: MatRef<'a, c64>,
    product: Mat<c64>,
}

impl<'a> RowsProduct<'a> {
    /// Of a matrix, column after column, of columns of `size` numbers.
    pub fn new(columns: &'a [Complex<f64>], size: usize, rows: usize) -> Self {
        let all = MatRef::from_column_major_slice(columns, size, columns.len() / size);
        Self { all, product: Mat::zeros(rows, rows) }
    }

    /// Of the blocks that begin with these rows. On one thread.
    pub fn compute(&mut self, a: usize, b: usize) {
        let [left, right] = [a, b].map(|first| self.all.subrows(first, self.product.nrows()));
        matmul(self.product.as_mut(), Accum::Replace, left, right.adjoint(), c64::new(1.0, 0.0), Par::Seq);
    }

    /// A column of the product.
    pub fn column(&self, k: usize) -> impl Iterator<Item = &Complex<f64>> {
        self.product.col(k).iter()
    }
}

/// A^H A, row after row, of a matrix A of columns of `size` numbers, column after column.
pub fn products_of_columns(columns: &[Complex<f64>], size: usize) -> Result<Buffer<Complex<f64>>> {
    let n = columns.len() / size;
    let all = MatRef::from_column_major_slice(columns, size, n);
    let mut out = Buffer::zeroed(n * n)?;
    out.par_chunks_mut(COLUMNS * n).enumerate().for_each(|(k, out)| {
        // A row of A^H A is a column of its transpose.
        let part = MatMut::from_column_major_slice_mut(out, n, out.len() / n);
        let right = all.subcols(k * COLUMNS, part.ncols());
        matmul(part, Accum::Replace, all.transpose(), right.conjugate(), c64::new(1.0, 0.0), Par::Seq);
    });
    Ok(out)
}

/// The left singular vectors of a matrix of columns of `size` numbers, one after another, of eigenvectors of its columns' products.
pub fn left_vectors(columns: &[Complex<f64>], size: usize, right: &Leading) -> Result<Buffer<Complex<f64>>> {
    let n = columns.len() / size;
    let all = MatRef::from_column_major_slice(columns, size, n);
    let mut out = Buffer::zeroed(right.count * size)?;
    out.par_chunks_mut(COLUMNS * size).enumerate().for_each(|(k, out)| {
        let count = out.len() / size;
        let vectors = MatRef::from_column_major_slice(&right.vectors[k * COLUMNS * n..][..count * n], n, count);
        let part = MatMut::from_column_major_slice_mut(out, size, count);
        matmul(part, Accum::Replace, all, vectors, c64::new(1.0, 0.0), Par::Seq);
        for (u, value) in out.chunks_exact_mut(size).zip(&right.values[k * COLUMNS..]) {
            u.iter_mut().for_each(|v| *v /= value.sqrt());
        }
    });
    Ok(out)
}

//! Products of some rows of a matrix with the adjoint of others.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, c64};
use rustfft::num_complex::Complex;

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

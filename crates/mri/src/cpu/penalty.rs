//! R of the penalty lambda |R rho|^2, on the processor.

use crate::matrix::Matrix;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// A matrix, and room for its product.
type WithRoom<T> = (Arc<Matrix<T>>, Buffer<Complex<T>>);

/// What the penalties need; it stays, whichever is in use.
pub(super) struct Regulariser<T: Scalar> {
    /// Weights, squared, `[axis][voxel]`, x first, of the difference between a voxel and the next one; None means 1.
    pub(super) weights: Option<Buffer<T>>,
    /// R, and workspace for its product with an image.
    matrix: Option<WithRoom<T>>,
}

impl<T: Scalar> Regulariser<T> {
    pub(super) fn new() -> Self {
        Self { weights: None, matrix: None }
    }

    pub(super) fn set_matrix(&mut self, matrix: Arc<Matrix<T>>) -> Result<()> {
        let product = Buffer::zeroed(matrix.both().0.count())?;
        self.matrix = Some((matrix, product));
        Ok(())
    }

    pub(super) fn has_matrix(&self) -> bool {
        self.matrix.is_some()
    }

    /// out = out + lambda R^H R x with weighted differences of neighbours, for images on a grid `[nz, ny, nx]`.
    pub(super) fn add_differences(&self, lambda: T, grid: [usize; 3], x: &[Complex<T>], out: &mut [Complex<T>]) {
        differences(self.weights.as_deref(), lambda, grid, x, out);
    }

    /// out = out + lambda R^H R x with the caller's matrix.
    pub(super) fn add_matrix(&mut self, lambda: T, x: &[Complex<T>], out: &mut [Complex<T>]) -> Result<()> {
        let Some((matrix, product)) = &mut self.matrix else {
            fail!(Internal, "a plan refuses a matrix that was not set")
        };
        let (forward, adjoint) = matrix.both();
        product.par_iter_mut().enumerate().with_min_len(1 << 10).for_each(|(row, p)| *p = forward.times(row, x));
        let product = &**product;
        let rows = out.par_iter_mut().enumerate().with_min_len(1 << 10);
        rows.for_each(|(voxel, o)| *o = *o + adjoint.times(voxel, product).scale(lambda));
        Ok(())
    }

    /// Bytes that it holds.
    pub(super) fn memory(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |w| size_of_val(&**w) as u64);
        let matrix =
            self.matrix.as_ref().map_or(0, |(matrix, product)| matrix.memory() + size_of_val(&**product) as u64);
        weights + matrix
    }
}

/// R^H R gives each voxel, along each axis, w^2 (its value - the neighbour's) for both neighbours that it has.
fn differences<T: Scalar>(
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

//! Exact sums between samples and a grid. `exp(2 pi i k . r)` is a product of a factor along each axis, so they are matrix
//! products over the samples: the factors along x by those along y and z.
//!
//! Voxels at x and -x share their products: sums with cosines and with sines of kx x, of the places at x >= 0 only, are a real
//! by complex product of half the work.

use super::axis::Axis;
pub(in crate::mri) use super::separable_adjoint::adjoint;
pub(in crate::mri) use super::separable_forward::forward;
use super::{separable_adjoint, separable_forward};
use crate::cpu::simd::Real;
use std::ops::Range;

/// Samples whose factors are made together: few enough for their products' factors to stay in the caches.
pub(super) const BLOCK: usize = 128;
/// Rows of a grid along x that are worked on together.
pub(super) const ROWS: usize = 12;

/// What both directions begin with.
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    /// Along x, y, z.
    pub(super) axes: [Axis; 3],
    pub(super) k: [&'a [f64]; 3],
    pub(super) coils: usize,
}

impl<'a> Problem<'a> {
    /// `grid` is `[nz, ny, nx]`; k is along x, y, z in cycles per voxel.
    pub(super) fn new(grid: [usize; 3], k: [&'a [f64]; 3], coils: usize) -> Self {
        assert!(k.iter().all(|axis| axis.len() == k[0].len()), "a sample has a place on each axis");
        let [z, y, x] = grid.map(Axis);
        Self { axes: [x, y, z], k, coils }
    }

    pub(super) fn samples(&self) -> usize {
        self.k[0].len()
    }

    pub(super) fn voxels(&self) -> usize {
        self.axes.iter().map(|axis| axis.0).product()
    }

    /// Rows along x of all coils.
    pub(super) fn rows(&self) -> usize {
        self.coils * self.axes[1].0 * self.axes[2].0
    }

    /// Samples of a block.
    pub(super) fn block(&self, block: usize) -> Range<usize> {
        block * BLOCK..self.samples().min((block + 1) * BLOCK)
    }

    pub(super) fn point(&self, m: usize) -> [f64; 3] {
        self.k.map(|k| k[m])
    }
}

/// Most bytes that either direction allocates, on this pool's threads.
pub(in crate::mri) fn bytes<T: Real>(grid: [usize; 3], samples: usize, coils: usize) -> u64 {
    let [z, y, x] = grid.map(Axis);
    let adjoint = separable_adjoint::bytes::<T>([x, y, z], samples, coils);
    adjoint.max(separable_forward::bytes::<T>([x, y, z], coils))
}

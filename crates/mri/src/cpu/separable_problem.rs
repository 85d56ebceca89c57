//! What exact sums on a grid begin with, in both directions.

use super::axis::{Axis, BLOCK};
use std::ops::Range;

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

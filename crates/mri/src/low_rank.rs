//! Blocks of images: a series is locally of low rank where each block's voxels by its images are a matrix of few large singular values.
//!
//! T. Zhang, J. M. Pauly, I. R. Levesque, "Accelerating parameter mapping with a locally low rank constraint", Magn. Reson. Med. 73, 2015;
//! J. D. Trzasko, A. Manduca, "Local versus global low-rank promotion in dynamic MRI series reconstruction", ISMRM 2011.

use isocenter_base::error::{Result, fail};

/// Voxels along an edge, where none is asked for.
pub(super) const EDGE: usize = 8;
/// Most of them.
pub(super) const MAX_EDGE: usize = 64;

/// A division of a grid into blocks, those at the faces cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Along z, y, x.
    pub(super) grid: [usize; 3],
    pub(super) edge: [usize; 3],
    /// Of the first block, at most 0.
    pub(super) begin: [isize; 3],
}

impl Blocks {
    /// Of `edge` voxels; 0 for the default. Planes have blocks of one plane.
    pub(super) fn new(edge: usize, grid: [usize; 3]) -> Result<Self> {
        if edge > MAX_EDGE {
            fail!(OutOfRange, "options.block is {edge}; it must be 0 to {MAX_EDGE} voxels, 0 for {EDGE}");
        }
        let edge = if edge == 0 { EDGE } else { edge };
        Ok(Self { grid, edge: grid.map(|n| n.min(edge)), begin: [0; 3] })
    }

    /// Those of an iteration, moved so that no grid of blocks shows: spread over all places by multiples of irrational numbers.
    pub(super) fn shifted(self, iteration: usize) -> Self {
        let mut blocks = self;
        for (axis, part) in super::wavelets::spread(iteration).into_iter().enumerate() {
            // A block that is all of an axis stays.
            if self.edge[axis] < self.grid[axis] {
                let shift = ((part * self.edge[axis] as f64) as usize).min(self.edge[axis] - 1);
                blocks.begin[axis] = -(shift as isize);
            }
        }
        blocks
    }

    /// How many there are along z, y, x.
    pub(super) fn counts(&self) -> [usize; 3] {
        std::array::from_fn(|a| (self.grid[a] + self.begin[a].unsigned_abs()).div_ceil(self.edge[a]))
    }

    /// First voxel and size of a block.
    pub(super) fn block(&self, at: [usize; 3]) -> ([usize; 3], [usize; 3]) {
        let end =
            |a: usize, k: usize| (k * self.edge[a]).saturating_sub(self.begin[a].unsigned_abs()).min(self.grid[a]);
        let first: [usize; 3] = std::array::from_fn(|a| end(a, at[a]));
        (first, std::array::from_fn(|a| end(a, at[a] + 1) - first[a]))
    }

    /// Voxels of a whole block.
    pub(super) fn voxels(&self) -> usize {
        self.edge.iter().product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_each_voxel_once() {
        for (grid, edge) in [([1, 20, 33], 8), ([5, 6, 7], 4), ([9, 9, 9], 3), ([2, 3, 70], 64), ([1, 8, 8], 8)] {
            for iteration in 0..20 {
                let blocks = Blocks::new(edge, grid).expect("blocks").shifted(iteration);
                let [nz, ny, nx] = blocks.counts();
                let mut seen = vec![0; grid.iter().product()];
                for k in 0..nz * ny * nx {
                    let (first, size) = blocks.block([k / (ny * nx), k / nx % ny, k % nx]);
                    assert!(size.iter().zip(blocks.edge).all(|(s, e)| (1..=e).contains(s)), "{blocks:?} {size:?}");
                    for v in 0..size.iter().product() {
                        let at = [v / (size[1] * size[2]), v / size[2] % size[1], v % size[2]];
                        let [z, y, x]: [usize; 3] = std::array::from_fn(|a| first[a] + at[a]);
                        seen[(z * grid[1] + y) * grid[2] + x] += 1;
                    }
                }
                assert!(seen.iter().all(|n| *n == 1), "{blocks:?}");
            }
        }
    }
}

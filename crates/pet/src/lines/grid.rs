//! An image as lines cross it: `[y][x][z]`, a voxel of zeros about it, so that no line has to look where the image ends.

use crate::lattice::Lattice;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Where voxels are, in the scanner and in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Voxels along x, y, z.
    pub(crate) sides: [usize; 3],
    /// mm
    pub(crate) voxel: [f64; 3],
    /// The place 0, 0, 0, in voxels from the middle of the first.
    pub(crate) origin: [f64; 3],
    /// From voxel to voxel in memory along x, y, z.
    pub(crate) strides: [usize; 3],
}

impl Grid {
    /// `shape` is nz, ny, nx; the middle of all is at `centre`, mm.
    pub(crate) fn new(shape: [usize; 3], voxel: [f64; 3], centre: [f64; 3]) -> Result<Self> {
        let [nz, ny, nx] = shape;
        let sides = [nx, ny, nz];
        // Odd: columns that a line crosses spread over the sets of the caches.
        let column = (nz + 2) | 1;
        let row = ((nx + 2) * column) | 1;
        // Kernels have 32 bits for an index, and GPUs two images.
        if (ny + 2).checked_mul(row).is_none_or(|len| len > (1 << 30) - 2) {
            fail!(SizeOverflow, "an image of {nz} x {ny} x {nx} voxels is more than lines are projected of: 2^30");
        }
        let origin = std::array::from_fn(|a| 0.5 * (sides[a] - 1) as f64 - centre[a] / voxel[a]);
        Ok(Self { sides, voxel, origin, strides: [column, row, 1] })
    }

    pub(crate) fn of(lattice: &Lattice) -> Result<Self> {
        Self::new(lattice.shape(), lattice.voxel(), [0.0; 3])
    }

    /// Values of an image with what is about it.
    pub(crate) fn len(&self) -> usize {
        (self.sides[1] + 2) * self.strides[1]
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.len() * size_of::<f32>()) as u64
    }

    /// The column at x, y, from the first voxel on.
    pub(crate) fn column(&self, x: usize, y: usize) -> usize {
        (y + 1) * self.strides[1] + (x + 1) * self.strides[0] + 1
    }

    /// Fills an image with columns: `read` fills the one at x, y.
    pub(crate) fn fill(&self, image: &mut [f32], read: impl Fn(usize, usize, &mut [f32]) + Sync) {
        let [nx, ny, nz] = self.sides;
        let rows = image.par_chunks_mut(self.strides[1]).skip(1).take(ny).enumerate();
        rows.for_each(|(y, row)| {
            for x in 0..nx {
                read(x, y, &mut row[(x + 1) * self.strides[0] + 1..][..nz]);
            }
        });
    }

    pub(crate) fn zeroed(&self) -> Result<Buffer<f32>> {
        Buffer::zeroed(self.len())
    }
}

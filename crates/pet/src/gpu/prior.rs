//! Launches `kernels/pet/prior.cu`: what neighbours' differences cost.

use super::array::Place;
use crate::lattice::Lattice;
use crate::prior::{Potential, Prior};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Image, Queue, mirrored};

const IMAGE: &Image = &crate::images::PRIOR;

/// Mirrors `Prior`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments {
    image: u64,
    weights: u64,
    anatomy: u64,
    gradient: u64,
    curvature: u64,
    sums: u64,
    nx: i32,
    ny: i32,
    nz: i32,
    column: i32,
    coupling: [f32; 8],
    potential: i32,
    sharpness: f32,
    epsilon: f32,
    dissimilarity: f32,
}
mirrored!(Arguments, 112);

impl Arguments {
    /// Of volumes; those of the caller's weights and anatomy are 0 where there are none.
    pub(super) fn new(
        Place { shape, column }: Place,
        lattice: &Lattice,
        prior: &Prior,
        [image, weights, anatomy]: [u64; 3],
    ) -> Self {
        // Sides are at most 4096.
        let [nz, ny, nx] = shape.map(|n| n as i32);
        let (potential, sharpness, epsilon) = match prior.potential {
            Potential::RelativeDifference { gamma, epsilon } => (0, gamma, epsilon),
            Potential::Quadratic { edge } => (1, if edge > 0.0 { 1.0 / edge } else { 0.0 }, 0.0),
        };
        Self {
            image,
            weights,
            anatomy,
            gradient: 0,
            curvature: 0,
            sums: 0,
            nx,
            ny,
            nz,
            column: column as i32,
            coupling: prior.coupling(lattice),
            potential,
            sharpness: sharpness as f32,
            epsilon: epsilon as f32,
            dissimilarity: (prior.dissimilarity() * std::f64::consts::LOG2_E) as f32,
        }
    }

    fn voxels(&self) -> usize {
        [self.nz, self.ny, self.nx].map(|n| n as usize).iter().product()
    }

    /// # Safety
    /// Volumes of the queue's GPU, which is current; `gradient` and `curvature` are this call's alone.
    pub(super) unsafe fn slopes(self, queue: &Queue, [gradient, curvature]: [u64; 2]) -> Result<()> {
        let arguments = Self { gradient, curvature, ..self };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { queue.each((IMAGE, "prior_slopes"), self.voxels(), &arguments) }
    }

    /// # Safety
    /// As for `slopes`.
    pub(super) unsafe fn value(self, queue: &Queue) -> Result<f64> {
        let blocks = queue.shape(self.voxels()).grid[0];
        let room = queue.pool.take(blocks * size_of::<f64>())?;
        let arguments = Self { sums: room.address(), ..self };
        // SAFETY: as for `slopes`; the kernel's blocks are those that there is room for.
        unsafe { queue.each((IMAGE, "prior_value"), self.voxels(), &arguments)? };
        let mut sums = vec![0.0; blocks];
        queue.fetch(room.address(), &mut sums)?;
        Ok(sums.iter().sum())
    }
}

//! Fast Fourier sums on the GPU: over points anywhere, and over points on lines.

use super::coils::CoilKernels;
use super::lines::LineSums;
use super::place::Place;
use super::workspace::{check_available, coils_at_once};
use isocenter_base::error::Result;
use isocenter_base::gpu::WorkspaceBytes;
use isocenter_base::gpu::fft::Images;
use isocenter_nufft::Scalar;
use isocenter_nufft::gpu::{Plan, Values};

/// The sums, both ways.
pub(super) enum FastSums<T: Scalar> {
    Points(Box<Plan<T>>),
    Lines(Box<LineSums>),
}

impl<T: Scalar> FastSums<T> {
    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Points(plan) => plan.point_bytes(),
            Self::Lines(lines) => lines.held_bytes(),
        }
    }

    /// Of a workspace for so many coils side by side.
    pub(super) fn workspace_bytes(&self, coils: usize) -> WorkspaceBytes {
        match self {
            Self::Points(plan) => plan.workspace_bytes(coils),
            Self::Lines(lines) => WorkspaceBytes::exactly(lines.workspace_bytes(coils)),
        }
    }

    /// The fine grid along z, y, x, and the spreading function's width.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match self {
            Self::Points(plan) => (plan.choice().grid(), plan.choice().width()),
            Self::Lines(lines) => lines.fine_grid(),
        }
    }

    /// `values[coil][m]` = F images: one for each coil, or with maps one that all see.
    ///
    /// # Safety
    /// All are device memory of these sizes until the stream has passed this; the GPU is current.
    pub(super) unsafe fn forward(
        &self,
        place: &Place,
        kernels: &CoilKernels,
        images: &Images,
        values: Values,
        coils: usize,
    ) -> Result<()> {
        let Place { queue, available } = *place;
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Self::Points(plan) => {
                    let workspace = plan.workspace(&queue.pool, group(plan, coils, available)?, available)?;
                    plan.forward(images, values, coils, &workspace, &queue.stream)
                }
                Self::Lines(lines) => lines.forward(place, kernels, images, values, coils),
            }
        }
    }

    /// images = F^H values; with maps the sum of what coils see.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn adjoint(
        &self,
        place: &Place,
        kernels: &CoilKernels,
        values: Values,
        images: &Images,
        coils: usize,
    ) -> Result<()> {
        let Place { queue, available } = *place;
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Self::Points(plan) => {
                    let workspace = plan.workspace(&queue.pool, group(plan, coils, available)?, available)?;
                    plan.adjoint(values, images, coils, &workspace, &queue.stream)
                }
                Self::Lines(lines) => lines.adjoint(place, kernels, values, images, coils),
            }
        }
    }
}

/// Coils that a transform takes side by side.
fn group<T: Scalar>(plan: &Plan<T>, coils: usize, available: u64) -> Result<usize> {
    check_available(available, plan.workspace_bytes(1).minimum)?;
    Ok(coils_at_once(coils, available, |c| plan.workspace_bytes(c).preferred))
}

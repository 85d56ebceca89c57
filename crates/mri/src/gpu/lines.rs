//! Fourier sums over samples on lines on the GPU, of coils side by side, in f32 and two dimensions.

use super::coils::CoilKernels;
use super::place::Place;
use super::workspace::{check_available, coils_at_once};
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::{Images, Maps};
use isocenter_base::gpu::{Device, Precision};
use isocenter_nufft::Scalar;
use isocenter_nufft::Settings;
use isocenter_nufft::gpu::{LinePlan, LineSizes, LineWorkspace, MAX_IMAGES, Values};
use std::sync::Arc;

/// Bytes of a sample and of a voxel.
const COMPLEX: usize = size_of::<[f32; 2]>();

/// Sizes of fast sums over lines; None where sorted points serve so many coils.
pub(super) fn line_sizes<'p, T: Scalar>(
    settings: &Settings,
    points: impl FnOnce() -> Result<[&'p [f64]; 3]>,
    coils: usize,
) -> Result<Option<LineSizes>> {
    // Whoever asks for an upsampling has that of sorted points.
    if T::PRECISION != Precision::F32 || settings.upsampling.is_some() {
        return Ok(None);
    }
    LineSizes::new(settings, points, coils)
}

/// The sums, both ways.
pub(super) struct LineSums {
    plan: LinePlan,
    voxels: usize,
}

impl LineSums {
    pub(super) fn new(device: &Arc<Device>, sizes: LineSizes) -> Result<Self> {
        let plan = LinePlan::new(device, sizes)?;
        let voxels = plan.sizes().pixels();
        Ok(Self { plan, voxels })
    }

    pub(super) fn held_bytes(&self) -> u64 {
        self.plan.sizes().held_bytes()
    }

    /// Of a workspace for so many coils side by side.
    pub(super) fn workspace_bytes(&self, coils: usize) -> u64 {
        self.plan.sizes().workspace_bytes(coils)
    }

    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        self.plan.fine_grid()
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
        let workspace = self.workspace(place, coils)?;
        for coil in (0..coils).step_by(workspace.images()) {
            let count = workspace.images().min(coils - coil);
            let (own, values) = self.of_coil(images, values, coil);
            // SAFETY: by this function's contract; the workspace has room for as many images.
            unsafe {
                if let Some(maps) = own.maps {
                    let sizes = [self.voxels, count];
                    kernels.multiply(place.queue, maps, own.address, workspace.room(), sizes)?;
                }
                let from = if own.maps.is_some() { workspace.room() } else { own.address };
                self.plan.forward(from, values, count, &workspace, &place.queue.stream)?;
            }
        }
        Ok(())
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
        let workspace = self.workspace(place, coils)?;
        for coil in (0..coils).step_by(workspace.images()) {
            let count = workspace.images().min(coils - coil);
            let (own, values) = self.of_coil(images, values, coil);
            let to = if own.maps.is_some() { workspace.room() } else { own.address };
            // SAFETY: as in `forward`.
            unsafe {
                self.plan.adjoint(values, to, count, &workspace, &place.queue.stream)?;
                if let Some(maps) = own.maps {
                    let sizes = [self.voxels, count];
                    kernels.combine(place.queue, maps, (own.address, coil > 0), to, sizes)?;
                }
            }
        }
        Ok(())
    }

    /// Memory for as many coils side by side as are of use.
    fn workspace(&self, place: &Place, coils: usize) -> Result<LineWorkspace> {
        let sizes = self.plan.sizes();
        check_available(place.available, sizes.workspace_bytes(1))?;
        let together = coils_at_once(coils.min(MAX_IMAGES), place.available, |c| sizes.workspace_bytes(c));
        self.plan.workspace(&place.queue.pool, together)
    }

    /// From a coil on.
    fn of_coil(&self, images: &Images, values: Values, coil: usize) -> (Images, Values) {
        let behind = |address: u64, stride: usize| address + (coil * stride * COMPLEX) as u64;
        let own = match images.maps {
            Some(m) => Images { maps: Some(Maps { address: behind(m.address, m.stride), ..m }), ..*images },
            None => Images { address: behind(images.address, self.voxels), ..*images },
        };
        (own, Values { address: behind(values.address, values.coil_stride), ..values })
    }
}

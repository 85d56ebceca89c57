//! Simulated scans, and figures of merit of images.

use super::engine::Engine;
use super::phantom::{self, Ellipsoid};
use super::plan::{Array, Mri, each};
use super::{array, merit};
use crate::context::NanPolicy;
use crate::cpu::buffer::collected;
use crate::error::Result;
use rustfft::num_complex::Complex;

impl Mri {
    /// Copies values into an array, wherever it is.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub(super) unsafe fn store<const N: usize>(&self, values: &[Complex<f64>], to: &Array<N>) -> Result<()> {
        match self.gpus().first().filter(|_| to.gpu.is_some()) {
            // SAFETY: by this function's contract.
            Some(gpu) => unsafe { super::gpu::array::write_host(gpu, self.stream(), values, to) },
            None => {
                // SAFETY: as above.
                self.context.install(|| unsafe { array::write(values, to) });
                Ok(())
            }
        }
    }

    /// What one coil measures of a phantom.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn phantom_samples<const D: usize>(&self, ellipsoids: &[Ellipsoid<D>], to: &Array<1>) -> Result<()> {
        let trajectory = each!(&self.plan()?.engine, e => e.scan().trajectory.clone());
        let axes = trajectory.axes();
        let at: Vec<[f64; D]> = collected((0..trajectory.samples()).map(|m| std::array::from_fn(|d| axes[d][m])))?;
        let values = self.context.install(|| phantom::kspace(ellipsoids, &at))?;
        // SAFETY: by this function's contract.
        unsafe { self.store(&values, to) }
    }

    /// Voxel means of a phantom, in a plane or a volume.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn phantom_image<const D: usize>(&self, ellipsoids: &[Ellipsoid<D>], to: &Array<4>) -> Result<()> {
        let grid = self.geometry()?.grid;
        let shape: [usize; D] = std::array::from_fn(|d| grid[d + 3 - D]);
        let values = self.context.install(|| phantom::voxel_means(ellipsoids, shape))?;
        let values = collected(values.into_iter().map(|v| Complex::new(v, 0.0)))?;
        // SAFETY: by this function's contract.
        unsafe { self.store(&values, to) }
    }

    /// Peak signal-to-noise ratio in dB, and error in percent.
    ///
    /// # Safety
    /// The arrays are readable for the call.
    pub unsafe fn compare(&mut self, image: &Array<4>, truth: &Array<4>) -> Result<(f64, f64)> {
        let policy = NanPolicy::Error;
        // SAFETY: by this function's contract.
        let image = unsafe { self.fetch(image, "image", policy) }?;
        // SAFETY: as above.
        let truth = unsafe { self.fetch(truth, "truth", policy) }?;
        Ok((merit::psnr(&image, &truth)?, merit::percent_error(&image, &truth)?))
    }
}

//! Simulated scans, and figures of merit of images.

use super::engine::Engine;
use super::merit;
use super::phantom;
use super::plan::{Mri, each};
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::NanPolicy;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::phantom::Ellipsoid;
use rustfft::num_complex::Complex;

impl Mri {
    /// Copies values into an array of this shape, wherever it is.
    pub(super) fn store<const N: usize>(
        &self,
        values: &[Complex<f64>],
        (mut to, shape): (ArrayMut<N>, [usize; N]),
    ) -> Result<()> {
        self.check(to.layout(), "the array", shape)?;
        match self.gpus().first().filter(|_| to.layout().gpu.is_some()) {
            Some(gpu) => super::gpu::array::write_host(gpu, self.stream(), values, &mut to),
            None => {
                self.context.install(|| host::write(values, &mut to));
                Ok(())
            }
        }
    }

    /// What one coil measures of a phantom.
    pub fn phantom_samples<const D: usize>(&self, ellipsoids: &[Ellipsoid<D>], to: ArrayMut<1>) -> Result<()> {
        let trajectory = each!(&self.plan()?.engine, e => e.scan().trajectory.clone());
        let axes = trajectory.axes()?;
        let at: Vec<[f64; D]> = collected((0..trajectory.samples()).map(|m| std::array::from_fn(|d| axes[d][m])))?;
        let values = self.context.install(|| phantom::kspace(ellipsoids, &at))?;
        self.store(&values, (to, [values.len()]))
    }

    /// Voxel means of a phantom, in a plane or a volume.
    pub fn phantom_image<const D: usize>(&self, ellipsoids: &[Ellipsoid<D>], to: ArrayMut<4>) -> Result<()> {
        let grid = self.geometry()?.grid;
        let shape: [usize; D] = std::array::from_fn(|d| grid[d + 3 - D]);
        let values = self.context.install(|| phantom::voxel_means(ellipsoids, shape))?;
        let values = collected(values.into_iter().map(|v| Complex::new(v, 0.0)))?;
        self.store(&values, (to, [1, grid[0], grid[1], grid[2]]))
    }

    /// Peak signal-to-noise ratio in dB, and error in percent.
    pub fn compare(&mut self, image: Array<4>, truth: Array<4>) -> Result<(f64, f64)> {
        let policy = NanPolicy::Error;
        let [nz, ny, nx] = self.geometry()?.grid;
        let shape = [1, nz, ny, nx];
        let image = self.fetch(&image, ("image", shape), policy)?;
        let truth = self.fetch(&truth, ("truth", shape), policy)?;
        Ok((merit::psnr(&image, &truth)?, merit::percent_error(&image, &truth)?))
    }
}

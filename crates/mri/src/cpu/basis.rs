//! Fourier sums of images that change while samples are taken, on the processor: sums of those of each image, times its column of the basis.

use super::coils::{add_products, conjugate_products};
use super::image_sums::ImageSums;
use crate::basis::Basis;
use crate::transform::Progress;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Sums for the images of one coil, both ways.
pub(super) struct BasisSums<T: Scalar> {
    basis: Arc<Basis>,
    samples: usize,
    /// Of one image; on lines it takes all side by side.
    sums: ImageSums<T>,
    made: Option<Factors<T>>,
}

/// What is made when it is first needed.
struct Factors<T: Scalar> {
    /// `[image][sample]`
    basis: Buffer<Complex<T>>,
    /// Samples of an image; of all on lines.
    values: Buffer<Complex<T>>,
}

impl<T: Scalar> BasisSums<T> {
    pub(super) fn new(basis: &Arc<Basis>, samples: usize, sums: ImageSums<T>) -> Self {
        Self { basis: basis.clone(), samples, sums, made: None }
    }

    /// Of one image.
    pub(super) fn of_one(&self) -> &ImageSums<T> {
        &self.sums
    }

    /// Makes it work in less memory, with the same results; false if it cannot.
    pub(super) fn take_less(&mut self) -> bool {
        self.sums.take_less()
    }

    pub(super) fn prepare(&mut self) -> Result<()> {
        self.sums.prepare()?;
        if self.made.is_none() {
            let at_once = if self.sums.lines().is_some() { self.basis.images() } else { 1 };
            let values = Buffer::zeroed(at_once * self.samples)?;
            self.made = Some(Factors { basis: self.basis.of_samples()?, values });
        }
        Ok(())
    }

    /// Maximum number of bytes that it holds at work.
    pub(super) fn memory(&self) -> u64 {
        let numbers = 2 * self.basis.images() * self.samples;
        self.sums.memory() + (numbers * size_of::<Complex<T>>()) as u64
    }

    /// samples = F images `[image][voxel]`.
    pub(super) fn forward(
        &mut self,
        images: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let Self { sums, made, basis, .. } = self;
        let Some(Factors { basis: factors, values }) = made else {
            fail!(Internal, "the sums of a basis were not prepared");
        };
        if let Some(lines) = sums.lines() {
            lines.forward(images, None, values, progress)?;
        }
        let (count, at_once) = (basis.images(), values.len() > samples.len());
        let voxels = images.len() / count;
        for (k, factors) in factors.chunks_exact(samples.len()).enumerate() {
            if !at_once {
                let image = &images[k * voxels..][..voxels];
                sums.forward(image, values, &mut |f| progress((k as f64 + f) / count as f64))?;
            }
            let values = &values[if at_once { k * samples.len() } else { 0 }..][..samples.len()];
            add_products(factors, values, samples, k > 0);
        }
        Ok(())
    }

    /// images = F^H samples.
    pub(super) fn adjoint(
        &mut self,
        samples: &[Complex<T>],
        images: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let Self { sums, made, basis, .. } = self;
        let Some(Factors { basis: factors, values }) = made else {
            fail!(Internal, "the sums of a basis were not prepared");
        };
        let factors = factors.chunks_exact(samples.len());
        if let Some(lines) = sums.lines() {
            for (values, factors) in values.chunks_exact_mut(samples.len()).zip(factors) {
                conjugate_products(factors, samples, values);
            }
            return lines.adjoint(values, None, images, progress);
        }
        let count = basis.images();
        let voxels = images.len() / count;
        for (k, (image, factors)) in images.chunks_exact_mut(voxels).zip(factors).enumerate() {
            conjugate_products(factors, samples, values);
            sums.adjoint(values, image, &mut |f| progress((k as f64 + f) / count as f64))?;
        }
        Ok(())
    }
}

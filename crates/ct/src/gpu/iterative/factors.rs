//! Factors of SIRT's, MLEM's and other methods' steps, and norms of the pair where steps go by them.

use super::change::Change;
use super::resident::Resident;
use super::slab::Factors;
use crate::iterative::space::LEAST;
use isocenter_base::error::Result;
use isocenter_base::gpu::{DeviceMemory, copy_device};

impl Resident<'_> {
    /// One over the sums of A along rays and over pixels: A and A^T of ones, for one slice.
    ///
    /// # Safety
    /// The vectors are of one slice at least, and nothing in them is wanted any more.
    pub(super) unsafe fn make_factors(&mut self) -> Result<Factors> {
        let (needs, device, stream) = (self.slab.iteration.needs(), self.state.device.clone(), self.stream);
        let mut factors = Factors { rays: None, pixels: Vec::new(), norms: None };
        let v = self.vectors;
        let (pixels, samples, subsets) = (v.pixels, v.samples, self.pairs.len());
        let ones = DeviceMemory::new(&device, 4 * pixels.max(samples))?;
        ones.fill(1.0, stream)?;
        let one = |count: usize| [count as i64, 0, count as i64];
        let lower = (LEAST * self.slab.geometry.pixel_size) as f32;
        factors.norms = self.slab.iteration.known_norms().filter(|_| needs.norms);
        if needs.norms && factors.norms.is_none() {
            // SAFETY: as above.
            let norms = unsafe { self.find_norms()? };
            self.slab.iteration.keep_norms(norms);
            factors.norms = Some(norms);
        }
        if needs.ray_factors {
            let rays = DeviceMemory::new(&device, 4 * samples)?;
            let image = self.mask.unwrap_or(&ones).address();
            for subset in 0..subsets {
                // SAFETY: an image and rows of one slice.
                unsafe { self.pairs.forward(self.state, subset, self.places(image, rays.address()), 1, stream)? };
            }
            let change = Change { lower, ..self.change([rays.address(); 2], one(samples)) };
            // SAFETY: as above.
            unsafe { change.launch(&self.kernels()?.inverse, 1, stream)? };
            factors.rays = Some(rays);
        }
        if needs.pixel_factors {
            if let Some(rays) = factors.rays.as_ref().filter(|_| needs.leaves_rays_out) {
                // SAFETY: both are of so many bytes.
                unsafe { copy_device(rays.address(), ones.address(), 4 * samples, stream)? };
                // SAFETY: as above.
                unsafe { self.change([ones.address(); 2], one(samples)).launch(&self.kernels()?.sign, 1, stream)? };
            }
            for subset in 0..subsets {
                let image = DeviceMemory::new(&device, 4 * pixels)?;
                let at = self.places(image.address(), ones.address());
                // SAFETY: as above.
                unsafe { self.pairs.adjoint(self.state, self.lines, subset, at, 1, stream)? };
                let shared = self.mask.map_or(0, DeviceMemory::address);
                let change = Change { shared, lower, ..self.change([image.address(); 2], one(pixels)) };
                // SAFETY: as above.
                unsafe { change.launch(&self.kernels()?.inverse, 1, stream)? };
                factors.pixels.push(image);
            }
        }
        // The ones are freed here.
        stream.synchronize()?;
        Ok(factors)
    }
}

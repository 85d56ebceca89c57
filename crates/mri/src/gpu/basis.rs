//! Fourier sums of images that change while samples are taken, on the GPU: sums of those of each image, times its column of the basis.
//! Images take the place of coils.

use super::coils::CoilKernels;
use super::image_sums::ImageSums;
use super::place::Place;
use super::room::Room;
use super::sums::SumsBytes;
use crate::basis::Basis;
use crate::transform::Progress;
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::{Images, Maps};
use isocenter_base::gpu::{Lent, Queue};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;

/// Sums, both ways.
pub(super) struct BasisSums<T: Scalar> {
    /// Of one image.
    sums: ImageSums<T>,
    images: usize,
    /// Conjugates, `[image][sample]`.
    basis: Lent,
    voxels: usize,
    samples: usize,
    coil_kernels: CoilKernels,
}

impl<T: Scalar> BasisSums<T> {
    pub(super) fn new(basis: &Basis, queue: &Queue, [voxels, samples]: [usize; 2], sums: ImageSums<T>) -> Result<Self> {
        let mut of_samples = basis.of_samples::<T>()?;
        of_samples.iter_mut().for_each(|b: &mut Complex<T>| *b = b.conj());
        Ok(Self {
            sums,
            images: basis.images(),
            basis: queue.upload(&of_samples)?,
            voxels,
            samples,
            coil_kernels: CoilKernels::new(&queue.device, T::PRECISION)?,
        })
    }

    /// Before they are there, from those of one image.
    pub(super) fn before(basis: &Basis, [voxels, samples]: [usize; 2], of_one: SumsBytes) -> SumsBytes {
        let bytes = |count: usize| (basis.images() * count * T::PRECISION.complex()) as u64;
        SumsBytes { held: of_one.held + bytes(samples), workspace: of_one.workspace.plus(bytes(samples + voxels)) }
    }

    /// Of one image.
    pub(super) fn of_one(&self) -> &ImageSums<T> {
        &self.sums
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.sums.bytes() + self.basis.bytes() as u64
    }

    /// samples `[coil][m]` = F images: `[coil][image]`, or with maps those that all coils see.
    ///
    /// # Safety
    /// As for [`ImageSums::forward`].
    pub(super) unsafe fn forward(
        &self,
        place: &Place,
        images: &Images,
        samples: u64,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let room = self.room(place, images)?;
        let (place, sizes) = (&room.place, [self.samples, self.images]);
        for coil in 0..coils {
            let seen = room.image(images, self.bytes_of(coil * self.images * self.voxels));
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            let to = samples + self.bytes_of(coil * self.samples);
            // SAFETY: by this function's contract; room for all images and their samples.
            unsafe {
                if let Some(maps) = images.maps {
                    let map = self.map_of(maps, coil);
                    for (from, to) in self.places(images.address).zip(self.places(seen)) {
                        self.coil_kernels.multiply(place.queue, map, from, to, [self.voxels, 1])?;
                    }
                }
                let own = Images { address: seen, maps: None };
                self.sums.forward(place, &own, room.values.address(), self.images, part)?;
                self.coil_kernels.combine(place.queue, self.factors(), (to, false), room.values.address(), sizes)?;
            }
        }
        Ok(())
    }

    /// images = F^H samples; with maps the sum of what coils see.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn adjoint(
        &self,
        place: &Place,
        samples: u64,
        images: &Images,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let room = self.room(place, images)?;
        let (place, sizes) = (&room.place, [self.samples, self.images]);
        for coil in 0..coils {
            let seen = room.image(images, self.bytes_of(coil * self.images * self.voxels));
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            let from = samples + self.bytes_of(coil * self.samples);
            // SAFETY: as for `forward`.
            unsafe {
                self.coil_kernels.multiply(place.queue, self.factors(), from, room.values.address(), sizes)?;
                let own = Images { address: seen, maps: None };
                self.sums.adjoint(place, room.values.address(), &own, self.images, part)?;
                if let Some(maps) = images.maps {
                    let map = self.map_of(maps, coil);
                    for (from, to) in self.places(seen).zip(self.places(images.address)) {
                        self.coil_kernels.combine(place.queue, map, (to, coil > 0), from, [self.voxels, 1])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn bytes_of(&self, count: usize) -> u64 {
        (count * T::PRECISION.complex()) as u64
    }

    /// Samples of all images, and the images as a coil sees them.
    fn room<'p>(&self, place: &Place<'p>, images: &Images) -> Result<Room<'p>> {
        let [values, seen] = [self.samples, self.voxels].map(|count| self.bytes_of(self.images * count));
        Room::new(place, values, images, seen)
    }

    /// Each image of some.
    fn places(&self, of: u64) -> impl Iterator<Item = u64> {
        let bytes = self.bytes_of(self.voxels);
        (0..self.images as u64).map(move |k| of + k * bytes)
    }

    fn factors(&self) -> Maps {
        Maps { address: self.basis.address(), stride: self.samples }
    }

    fn map_of(&self, maps: Maps, coil: usize) -> Maps {
        Maps { address: maps.address + self.bytes_of(coil * maps.stride), ..maps }
    }
}

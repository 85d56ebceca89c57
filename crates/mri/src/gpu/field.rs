//! Fourier sums with a field on the GPU: a sum of products of those without. Products take the place of coils, factors of voxels that of
//! their sensitivities.

use super::coils::CoilKernels;
use super::place::Place;
use super::room::Room;
use super::sums::{Sums, SumsBytes};
use crate::trajectory::Trajectory;
use crate::transform::{Progress, Taken};
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::{Images, Maps};
use isocenter_base::gpu::{Lent, Queue};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;

/// Sums, both ways.
pub(super) struct FieldSums<T: Scalar> {
    sums: Sums<T>,
    terms: usize,
    error: f64,
    /// Of voxels `[term][voxel]`, and conjugates of those of samples `[term][sample]`.
    of_voxels: Lent,
    of_samples: Lent,
    voxels: usize,
    samples: usize,
    coil_kernels: CoilKernels,
}

impl<T: Scalar> FieldSums<T> {
    pub(super) fn new(taken: &Taken, queue: &Queue, grid: [usize; 3], trajectory: &Trajectory) -> Result<Self> {
        let Taken { segments, field, fourier, effects } = taken;
        let terms = segments.terms();
        let mut of_samples = segments.of_samples::<T>(&field.seconds)?;
        of_samples.iter_mut().for_each(|b: &mut Complex<T>| *b = b.conj());
        Ok(Self {
            sums: Sums::new(fourier, queue, grid, (trajectory, effects), terms)?,
            terms,
            error: segments.error(),
            of_voxels: queue.upload(&segments.of_voxels::<T>(field)?)?,
            of_samples: queue.upload(&of_samples)?,
            voxels: field.hertz.len(),
            samples: field.seconds.len(),
            coil_kernels: CoilKernels::new(&queue.device, T::PRECISION)?,
        })
    }

    /// Before they are there.
    pub(super) fn bytes_of(
        taken: &Taken,
        queue: &Queue,
        grid: [usize; 3],
        trajectory: &Trajectory,
    ) -> Result<SumsBytes> {
        let Taken { segments, field, fourier, effects } = taken;
        let (terms, complex) = (segments.terms(), T::PRECISION.complex());
        let sums = SumsBytes::new::<T>(fourier, queue, grid, (trajectory, effects), terms)?;
        let (voxels, samples) = (field.hertz.len(), field.seconds.len());
        let held = sums.held + (terms * (voxels + samples) * complex) as u64;
        Ok(SumsBytes { held, workspace: sums.workspace.plus(((terms * samples + voxels) * complex) as u64) })
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.sums.bytes() + (self.of_voxels.bytes() + self.of_samples.bytes()) as u64
    }

    /// Products, and their relative l2 error.
    pub(super) fn terms(&self) -> (usize, f64) {
        (self.terms, self.error)
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        self.sums.fine_grid()
    }

    /// As [`Sums::forward`].
    ///
    /// # Safety
    /// As for that.
    pub(super) unsafe fn forward(
        &self,
        place: &Place,
        images: &Images,
        samples: u64,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let room = self.room(place, images)?;
        let place = &room.place;
        for coil in 0..coils {
            let image = room.image(images, self.bytes_of_complex(coil * self.voxels));
            if let Some(maps) = images.maps {
                let map = self.map_of(maps, coil);
                // SAFETY: by this function's contract; room for an image.
                unsafe { self.coil_kernels.multiply(place.queue, map, images.address, image, [self.voxels, 1])? };
            }
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            let values = samples + self.bytes_of_complex(coil * self.samples);
            // SAFETY: as above, and samples of all terms.
            unsafe {
                self.sums.forward(place, &self.as_coils(image), room.values.address(), self.terms, part)?;
                let [count, terms] = [self.samples, self.terms];
                let to = (values, false);
                self.coil_kernels.combine(place.queue, self.factors(), to, room.values.address(), [count, terms])?;
            }
        }
        Ok(())
    }

    /// As [`Sums::adjoint`].
    ///
    /// # Safety
    /// As for that.
    pub(super) unsafe fn adjoint(
        &self,
        place: &Place,
        samples: u64,
        images: &Images,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let room = self.room(place, images)?;
        let place = &room.place;
        for coil in 0..coils {
            let image = room.image(images, self.bytes_of_complex(coil * self.voxels));
            let part = &mut |f: f64| progress((coil as f64 + f) / coils as f64);
            let values = samples + self.bytes_of_complex(coil * self.samples);
            // SAFETY: as for `forward`.
            unsafe {
                let sizes = [self.samples, self.terms];
                self.coil_kernels.multiply(place.queue, self.factors(), values, room.values.address(), sizes)?;
                self.sums.adjoint(place, room.values.address(), &self.as_coils(image), self.terms, part)?;
                if let Some(maps) = images.maps {
                    let (map, to) = (self.map_of(maps, coil), (images.address, coil > 0));
                    self.coil_kernels.combine(place.queue, map, to, image, [self.voxels, 1])?;
                }
            }
        }
        Ok(())
    }

    fn bytes_of_complex(&self, count: usize) -> u64 {
        (count * T::PRECISION.complex()) as u64
    }

    /// Samples of all terms, and an image as a coil sees it.
    fn room<'p>(&self, place: &Place<'p>, images: &Images) -> Result<Room<'p>> {
        Room::new(place, self.bytes_of_complex(self.terms * self.samples), images, self.bytes_of_complex(self.voxels))
    }

    /// An image that all terms see, each by its factors.
    fn as_coils(&self, address: u64) -> Images {
        Images { address, maps: Some(Maps { address: self.of_voxels.address(), stride: self.voxels }) }
    }

    fn factors(&self) -> Maps {
        Maps { address: self.of_samples.address(), stride: self.samples }
    }

    fn map_of(&self, maps: Maps, coil: usize) -> Maps {
        Maps { address: maps.address + self.bytes_of_complex(coil * maps.stride), ..maps }
    }
}

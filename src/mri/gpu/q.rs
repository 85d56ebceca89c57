//! Q on the GPU: its spectra, and F^H W F of an image by them.

use super::coils::CoilKernels;
use super::workspace::{check_available, coils_at_once, side_by_side};
use crate::context::Job;
use crate::cpu::buffer::{Buffer, collected};
use crate::error::Result;
use crate::gpu::fft::{Direction, Images, Maps, PrunedFft};
use crate::gpu::{DeviceReal, Lent, Queue, WorkspaceBytes};
use crate::mri::convolutions::Convolutions;
use crate::nufft::gpu::{Buffers, Spectra, Toeplitz};
use crate::nufft::toeplitz::{differences, doubled};
use std::marker::PhantomData;

/// Q and what applies it, for images on one grid.
pub(super) struct Q<T> {
    grid: [usize; 3],
    toeplitz: Toeplitz,
    /// `[convolution][kz][ky][kx]`
    spectra: Lent,
    /// With a field, what stands on both sides of each convolution: `[convolution][voxel]`.
    factors: Option<Lent>,
    convolutions: usize,
    coil_kernels: CoilKernels,
    real: PhantomData<T>,
}

/// An image, its coils' sensitivities, and where their product with Q goes.
#[derive(Clone, Copy)]
pub(super) struct QArrays {
    pub(super) image: u64,
    pub(super) out: u64,
    /// None for an image that one coil sees as it is.
    pub(super) maps: Option<Maps>,
    pub(super) coils: usize,
}

impl<T: DeviceReal> Q<T> {
    /// From its values on the doubled grid, of so many convolutions.
    pub(super) fn new(
        queue: &Queue,
        grid: [usize; 3],
        spectra: Lent,
        (convolutions, factors): (usize, Option<Lent>),
    ) -> Result<Self> {
        let toeplitz = Toeplitz::new(&queue.device, grid, doubled(grid), T::PRECISION)?;
        let coil_kernels = CoilKernels::new(&queue.device, T::PRECISION)?;
        Ok(Self { grid, toeplitz, spectra, factors, convolutions, coil_kernels, real: PhantomData })
    }

    /// Of so many convolutions; `fill(index, kernel)` writes each one's q to complex numbers on the grid of differences. Waits until that
    /// has been read.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn from_kernels(
        queue: &Queue,
        grid: [usize; 3],
        (convolutions, factors): (usize, Option<Lent>),
        mut fill: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<Self> {
        let (from, double) = (differences(grid), doubled(grid));
        let spectra = queue.pool.take(convolutions * Self::spectrum_bytes(grid))?;
        let taken = |grid: [usize; 3]| queue.pool.take(grid.iter().product::<usize>() * T::PRECISION.complex());
        let (kernel, complex) = (taken(from)?, taken(double)?);
        let ones = from.map(|n| vec![1.0; n]);
        let fft = PrunedFft::new(&queue.device, from, double, ones.each_ref().map(Vec::as_slice), T::PRECISION)?;
        let scratch = queue.pool.take(fft.scratch_bytes(1))?;
        let made = Self::new(queue, grid, spectra, (convolutions, factors))?;
        let images = Images { address: kernel.address(), maps: None };
        let filled = (0..convolutions).try_for_each(|index| {
            fill(index, kernel.address())?;
            // SAFETY: memory of the sizes that are asked for; by this function's contract.
            unsafe {
                fft.pad(&images, complex.address(), scratch.address(), 1, Direction::Forward, &queue.stream)?;
                made.toeplitz.real_part(complex.address(), made.spectrum(index), &queue.stream)
            }
        });
        // Tables of the transforms are in use until then, whatever became of them.
        queue.stream.synchronize()?;
        filled.map(|()| made)
    }

    fn spectrum(&self, index: usize) -> u64 {
        self.spectra.address() + (index * Self::spectrum_bytes(self.grid)) as u64
    }

    fn spectrum_bytes(grid: [usize; 3]) -> usize {
        doubled(grid).iter().product::<usize>() * T::PRECISION.bytes()
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        (self.spectra.bytes() + self.factors.as_ref().map_or(0, |f| f.bytes())) as u64
    }

    /// Bytes that one for images on this grid holds.
    pub(super) fn bytes_of(grid: [usize; 3], of: &Convolutions) -> u64 {
        let voxels = if of.have_factors() { grid.iter().product() } else { 0 };
        (of.count() * (Self::spectrum_bytes(grid) + voxels * T::PRECISION.complex())) as u64
    }

    /// Bytes of q and its transform, while Q is made.
    pub(super) fn bytes_while_made(grid: [usize; 3]) -> u64 {
        let numbers = differences(grid).iter().product::<usize>() + 2 * doubled(grid).iter().product::<usize>();
        (numbers * T::PRECISION.complex()) as u64
    }

    /// Working memory of a product for an image that so many coils see, or with a field of one coil after the other.
    pub(super) fn workspace_bytes(grid: [usize; 3], coils: usize, of: &Convolutions) -> WorkspaceBytes {
        let toeplitz = |images| Toeplitz::workspace_bytes(grid, doubled(grid), T::PRECISION, images);
        if !of.have_factors() {
            return side_by_side(toeplitz(1), toeplitz(coils));
        }
        let images = (2 * grid.iter().product::<usize>() * T::PRECISION.complex()) as u64;
        side_by_side(toeplitz(1), toeplitz(of.count())).plus(images)
    }

    /// The first convolution's values on the doubled grid, frequency 0 first.
    pub(super) fn values(&self, queue: &Queue) -> Result<Vec<f64>> {
        let mut values = Buffer::<T>::zeroed(doubled(self.grid).iter().product())?;
        queue.fetch(self.spectra.address(), &mut values)?;
        collected(values.iter().map(|v| v.wide()))
    }

    /// out = F^H W F image, in so many bytes of working memory.
    ///
    /// # Safety
    /// Image and result are apart from each other and, like the maps of so many coils, on this GPU until the stream has passed
    /// this; the GPU is current.
    pub(super) unsafe fn apply(&mut self, queue: &Queue, arrays: QArrays, available: u64, job: &Job) -> Result<()> {
        if let Some(factors) = &self.factors {
            let factors = Maps { address: factors.address(), stride: self.grid.iter().product() };
            // SAFETY: by this function's contract.
            return unsafe { self.apply_between(queue, factors, arrays, available, job) };
        }
        let QArrays { image, out, maps, coils } = arrays;
        let (group, scratch) = self.scratch(queue, coils, available)?;
        let buffers = Buffers { input: image, output: out, scratch: scratch.address() };
        let (spectra, stream) = (Spectra::shared(self.spectra.address()), &queue.stream);
        let Some(maps) = maps else {
            // SAFETY: by this function's contract, with as much scratch memory as is asked for.
            return unsafe { self.toeplitz.apply(spectra, 1, buffers, stream) };
        };
        for coil in (0..coils).step_by(group) {
            job.check()?;
            let some = group.min(coils - coil);
            // SAFETY: as above, with maps of so many coils.
            unsafe { self.toeplitz.apply_coils(spectra, some, behind::<T>(maps, coil), buffers, coil > 0, stream)? };
        }
        Ok(())
    }

    /// The same of convolutions between factors of voxels, coil by coil: convolutions take the place of coils, factors that of their
    /// sensitivities.
    ///
    /// # Safety
    /// As for `apply`.
    unsafe fn apply_between(
        &mut self,
        queue: &Queue,
        factors: Maps,
        arrays: QArrays,
        available: u64,
        job: &Job,
    ) -> Result<()> {
        let QArrays { image, out, maps, coils } = arrays;
        let voxels = factors.stride;
        let bytes = voxels * T::PRECISION.complex();
        check_available(available, 2 * bytes as u64)?;
        let (group, scratch) = self.scratch(queue, self.convolutions, available - 2 * bytes as u64)?;
        let seen = match maps {
            Some(_) => Some([queue.pool.take(bytes)?, queue.pool.take(bytes)?]),
            None => None,
        };
        let [input, output] = seen.as_ref().map_or([image, out], |[input, output]| [input.address(), output.address()]);
        let buffers = Buffers { input, output, scratch: scratch.address() };
        for coil in 0..coils {
            if let Some(maps) = maps {
                // SAFETY: by this function's contract, with room for an image.
                unsafe { self.coil_kernels.multiply(queue, behind::<T>(maps, coil), image, input, [voxels, 1])? };
            }
            for first in (0..self.convolutions).step_by(group) {
                job.check()?;
                let some = group.min(self.convolutions - first);
                let spectra = Spectra {
                    address: self.spectrum(first),
                    stride: Self::spectrum_bytes(self.grid) / T::PRECISION.bytes(),
                };
                let factors = behind::<T>(factors, first);
                // SAFETY: as above, with factors and spectra of so many convolutions.
                unsafe { self.toeplitz.apply_coils(spectra, some, factors, buffers, first > 0, &queue.stream)? };
            }
            if let Some(maps) = maps {
                let to = (out, coil > 0);
                // SAFETY: as above.
                unsafe { self.coil_kernels.combine(queue, behind::<T>(maps, coil), to, output, [voxels, 1])? };
            }
        }
        Ok(())
    }

    /// How many of so many images are convolved side by side, and scratch memory for them.
    fn scratch(&mut self, queue: &Queue, images: usize, available: u64) -> Result<(usize, Lent)> {
        let toeplitz = &mut self.toeplitz;
        let group = coils_at_once(images, available, |c| toeplitz.scratch_bytes(c) as u64);
        toeplitz.limit_scratch(group, usize::try_from(available).unwrap_or(usize::MAX));
        check_available(available, toeplitz.scratch_bytes(group) as u64)?;
        Ok((group, queue.pool.take(toeplitz.scratch_bytes(group))?))
    }
}

/// Maps from this coil on.
fn behind<T: DeviceReal>(maps: Maps, coil: usize) -> Maps {
    Maps { address: maps.address + (coil * maps.stride * T::PRECISION.complex()) as u64, ..maps }
}

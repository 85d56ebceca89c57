//! Q on the GPU: its spectra, and F^H W F of a problem's images by them.

use super::coils::CoilKernels;
use super::workspace::{check_available, coils_at_once, side_by_side};
use crate::basis::Mixing;
use crate::convolutions::{self, Convolutions};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{Buffer, collected};
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::{Direction, Images, Maps, PrunedFft};
use isocenter_base::gpu::{Device, Lent, Queue, WorkspaceBytes, copy_between};
use isocenter_nufft::Scalar;
use isocenter_nufft::gpu::{Buffers, MatrixSpectra, Spectra, Strided, Toeplitz};
use isocenter_nufft::toeplitz::Grids;
use std::marker::PhantomData;

/// Q and what applies it, for images on one grid.
pub(super) struct Q<T> {
    grids: Grids,
    toeplitz: Toeplitz,
    /// `[convolution][kz][ky][kx]`, and of a matrix as [`MatrixSpectra`] says.
    spectra: Lent,
    kind: Kind,
    convolutions: usize,
    coil_kernels: CoilKernels,
    real: PhantomData<T>,
}

/// What convolutions are to each other.
pub(super) enum Kind {
    Alone,
    /// A sum between factors of voxels, `[convolution][voxel]`.
    Factors(Lent),
    /// A matrix between images.
    Mixed(Mixing),
}

/// The images of a problem, its coils' sensitivities, and where their product with Q goes.
#[derive(Clone, Copy)]
pub(super) struct QArrays {
    pub(super) image: u64,
    pub(super) out: u64,
    /// None for images that each coil has of its own.
    pub(super) maps: Option<Maps>,
    pub(super) coils: usize,
}

impl<T: Scalar> Q<T> {
    /// From its values, of so many convolutions.
    pub(super) fn new(queue: &Queue, grids: Grids, spectra: Lent, (convolutions, kind): (usize, Kind)) -> Result<Self> {
        let toeplitz = Toeplitz::new(&queue.device, grids.image, grids.spectrum, T::PRECISION)?;
        let coil_kernels = CoilKernels::new(&queue.device, T::PRECISION)?;
        Ok(Self { grids, toeplitz, spectra, kind, convolutions, coil_kernels, real: PhantomData })
    }

    /// Of so many convolutions; `fill(index, kernel)` writes each one's q to complex numbers on the grid of differences. Waits until that
    /// has been read.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn from_kernels(
        queue: &Queue,
        grids: Grids,
        (convolutions, kind): (usize, Kind),
        mut fill: impl FnMut(usize, u64) -> Result<()>,
    ) -> Result<Self> {
        let Grids { differences: from, spectrum: to, .. } = grids;
        let numbers = match &kind {
            Kind::Mixed(mixing) if !mixing.apart => Self::matrix(0, *mixing).numbers(),
            Kind::Mixed(mixing) => mixing.count(),
            Kind::Alone | Kind::Factors(_) => convolutions,
        };
        let spectra = queue.pool.take(numbers * Self::spectrum_bytes(grids))?;
        let taken = |grid: [usize; 3]| queue.pool.take(grid.iter().product::<usize>() * T::PRECISION.complex());
        let (kernel, complex) = (taken(from)?, taken(to)?);
        let ones = from.map(|n| vec![1.0; n]);
        let fft = PrunedFft::new(&queue.device, from, to, ones.each_ref().map(Vec::as_slice), T::PRECISION)?;
        let scratch = queue.pool.take(fft.scratch_bytes(1))?;
        let made = Self::new(queue, grids, spectra, (convolutions, kind))?;
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

    /// The same on another GPU, from the memory of the one that has it; that GPU is current.
    ///
    /// # Safety
    /// This Q stays until the queue's stream has passed its copy.
    pub(super) unsafe fn duplicate(&self, on: &Device, queue: &Queue) -> Result<Self> {
        let copied = |from: &Lent| -> Result<Lent> {
            let own = queue.pool.take(from.bytes())?;
            // SAFETY: as many bytes; by this function's contract.
            unsafe {
                copy_between((from.address(), on), (own.address(), &queue.device), from.bytes(), &queue.stream)?;
            }
            Ok(own)
        };
        let kind = match &self.kind {
            Kind::Alone => Kind::Alone,
            Kind::Factors(factors) => Kind::Factors(copied(factors)?),
            Kind::Mixed(mixing) => Kind::Mixed(*mixing),
        };
        Self::new(queue, self.grids, copied(&self.spectra)?, (self.convolutions, kind))
    }

    fn spectrum(&self, index: usize) -> Strided {
        match self.kind {
            Kind::Mixed(mixing) if !mixing.apart => Self::matrix(self.spectra.address(), mixing).spectrum(index),
            Kind::Mixed(_) | Kind::Alone | Kind::Factors(_) => {
                let address = self.spectra.address() + (index * Self::spectrum_bytes(self.grids)) as u64;
                Strided { address, stride: 1 }
            }
        }
    }

    fn matrix(address: u64, Mixing { images, complex, .. }: Mixing) -> MatrixSpectra {
        MatrixSpectra { address, images, complex, precision: T::PRECISION }
    }

    fn spectrum_bytes(grids: Grids) -> usize {
        let [_, _, spectrum] = grids.counts();
        spectrum * T::PRECISION.bytes()
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        let factors = if let Kind::Factors(factors) = &self.kind { factors.bytes() } else { 0 };
        (self.spectra.bytes() + factors) as u64
    }

    /// Bytes that one of these holds.
    pub(super) fn bytes_of(of: &Convolutions) -> u64 {
        let ([voxels, _, _], spectrum) = (of.grids.counts(), Self::spectrum_bytes(of.grids));
        let bytes = match of.kind() {
            convolutions::Kind::Alone => spectrum,
            convolutions::Kind::Factors => of.count() * (spectrum + voxels * T::PRECISION.complex()),
            convolutions::Kind::Mixed(mixing) if !mixing.apart => Self::matrix(0, mixing).numbers() * spectrum,
            convolutions::Kind::Mixed(mixing) => mixing.count() * spectrum,
        };
        bytes as u64
    }

    /// Bytes of q and its transform, while Q is made.
    pub(super) fn bytes_while_made(grids: Grids) -> u64 {
        let [_, differences, spectrum] = grids.counts();
        let numbers = differences + 2 * spectrum;
        (numbers * T::PRECISION.complex()) as u64
    }

    /// Working memory of a product for an image that so many coils see, or with a field of one coil after the other.
    pub(super) fn workspace_bytes(coils: usize, of: &Convolutions) -> WorkspaceBytes {
        let (Grids { image, spectrum, .. }, [voxels, _, _]) = (of.grids, of.grids.counts());
        let toeplitz = |images| Toeplitz::workspace_bytes(image, spectrum, T::PRECISION, images);
        let images = |count: usize| (count * voxels * T::PRECISION.complex()) as u64;
        match of.kind() {
            convolutions::Kind::Alone => side_by_side(toeplitz(1), toeplitz(coils)),
            convolutions::Kind::Factors => side_by_side(toeplitz(1), toeplitz(of.count())).plus(images(2)),
            convolutions::Kind::Mixed(Mixing { images: count, .. }) => {
                // All images at once: columns are what there can be fewer of.
                let least = Toeplitz::minimum_bytes(image, spectrum, T::PRECISION, count);
                WorkspaceBytes { minimum: least, ..toeplitz(count) }.plus(images(count))
            }
        }
    }

    /// The first convolution's values, frequency 0 first.
    pub(super) fn values(&self, queue: &Queue) -> Result<Vec<f64>> {
        let [_, _, count] = self.grids.counts();
        let mut values = Buffer::<T>::zeroed(count)?;
        queue.fetch(self.spectra.address(), &mut values)?;
        collected(values.iter().map(|v| v.wide()))
    }

    /// out = F^H W F image, in so many bytes of working memory.
    ///
    /// # Safety
    /// Image and result are apart from each other and, like the maps of so many coils, on this GPU until the stream has passed
    /// this; the GPU is current.
    pub(super) unsafe fn apply(&mut self, queue: &Queue, arrays: QArrays, available: u64, job: &Job) -> Result<()> {
        match &self.kind {
            Kind::Alone => {}
            Kind::Factors(factors) => {
                let factors = Maps { address: factors.address(), stride: self.grids.image.iter().product() };
                // SAFETY: by this function's contract.
                return unsafe { self.apply_between(queue, factors, arrays, available, job) };
            }
            Kind::Mixed(mixing) => {
                let mixing = *mixing;
                // SAFETY: by this function's contract.
                return unsafe { self.apply_matrix(queue, mixing, arrays, available, job) };
            }
        }
        let QArrays { image, out, maps, coils } = arrays;
        let (group, scratch) = self.scratch(queue, coils, available)?;
        let buffers = Buffers { input: image, output: out, scratch: scratch.address() };
        let (spectra, stream) = (Spectra::shared(self.spectra.address()), &queue.stream);
        for coil in (0..coils).step_by(group) {
            job.check()?;
            let some = group.min(coils - coil);
            // SAFETY: by this function's contract, with as much scratch memory as is asked for, and maps of so many coils.
            unsafe {
                match maps {
                    Some(maps) => {
                        let maps = behind::<T>(maps, coil);
                        self.toeplitz.apply_coils(spectra, some, maps, buffers, coil > 0, stream)?;
                    }
                    None => {
                        let [input, output] = self.images_of([image, out], coil);
                        self.toeplitz.apply(spectra, some, Buffers { input, output, ..buffers }, stream)?;
                    }
                }
            }
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
            let buffers = match maps {
                Some(_) => buffers,
                None => {
                    let [input, output] = self.images_of([image, out], coil);
                    Buffers { input, output, ..buffers }
                }
            };
            if let Some(maps) = maps {
                // SAFETY: by this function's contract, with room for an image.
                unsafe { self.coil_kernels.multiply(queue, behind::<T>(maps, coil), image, input, [voxels, 1])? };
            }
            for first in (0..self.convolutions).step_by(group) {
                job.check()?;
                let some = group.min(self.convolutions - first);
                let spectra = Spectra {
                    address: self.spectrum(first).address,
                    stride: Self::spectrum_bytes(self.grids) / T::PRECISION.bytes(),
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

    /// The same of a matrix of convolutions between images, coil by coil.
    ///
    /// # Safety
    /// As for `apply`.
    unsafe fn apply_matrix(
        &mut self,
        queue: &Queue,
        mixing: Mixing,
        arrays: QArrays,
        available: u64,
        job: &Job,
    ) -> Result<()> {
        let (QArrays { image, out, maps, coils }, images) = (arrays, mixing.images);
        let voxels: usize = self.grids.image.iter().product();
        let bytes = (voxels * T::PRECISION.complex()) as u64;
        let (seen, available) = match maps {
            Some(_) => {
                let taken = images as u64 * bytes;
                check_available(available, taken)?;
                (Some(queue.pool.take(taken as usize)?), available - taken)
            }
            None => (None, available),
        };
        self.toeplitz.limit_scratch(images, usize::try_from(available).unwrap_or(usize::MAX));
        check_available(available, self.toeplitz.scratch_bytes(images) as u64)?;
        let scratch = queue.pool.take(self.toeplitz.scratch_bytes(images))?;
        let stride = Self::spectrum_bytes(self.grids) / T::PRECISION.bytes();
        let convolve = |buffers| {
            // SAFETY: by this function's contract, with as much scratch memory as is asked for.
            unsafe {
                match mixing.apart {
                    true => {
                        let spectra = Spectra { address: self.spectra.address(), stride };
                        self.toeplitz.apply(spectra, images, buffers, &queue.stream)
                    }
                    false => {
                        let matrix = Self::matrix(self.spectra.address(), mixing);
                        self.toeplitz.apply_matrix(matrix, buffers, &queue.stream)
                    }
                }
            }
        };
        let (Some(maps), Some(seen)) = (maps, seen) else {
            for coil in 0..coils {
                job.check()?;
                let [input, output] = self.images_of([image, out], coil * images);
                let buffers = Buffers { input, output, scratch: scratch.address() };
                convolve(buffers)?;
            }
            return Ok(());
        };
        let buffers = Buffers { input: seen.address(), output: seen.address(), scratch: scratch.address() };
        let places = |of: u64| (0..images as u64).map(move |k| of + k * bytes);
        for coil in 0..coils {
            job.check()?;
            let map = behind::<T>(maps, coil);
            // SAFETY: as above, with room for all images.
            unsafe {
                for (from, to) in places(image).zip(places(seen.address())) {
                    self.coil_kernels.multiply(queue, map, from, to, [voxels, 1])?;
                }
                convolve(buffers)?;
                for (from, to) in places(seen.address()).zip(places(out)) {
                    self.coil_kernels.combine(queue, map, (to, coil > 0), from, [voxels, 1])?;
                }
            }
        }
        Ok(())
    }

    /// From so many images on.
    fn images_of(&self, of: [u64; 2], first: usize) -> [u64; 2] {
        let [voxels, _, _] = self.grids.counts();
        of.map(|address| address + (first * voxels * T::PRECISION.complex()) as u64)
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
fn behind<T: Scalar>(maps: Maps, coil: usize) -> Maps {
    Maps { address: maps.address + (coil * maps.stride * T::PRECISION.complex()) as u64, ..maps }
}

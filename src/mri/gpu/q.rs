//! Q on the GPU: its spectrum, and F^H W F of an image by it.

use super::workspace::{check_available, coils_at_once, side_by_side};
use crate::context::Job;
use crate::cpu::buffer::{Buffer, collected};
use crate::error::Result;
use crate::gpu::fft::{Direction, Images, Maps, PrunedFft};
use crate::gpu::{DeviceReal, Lent, Queue, WorkspaceBytes};
use crate::nufft::gpu::{Buffers, Toeplitz};
use crate::nufft::toeplitz::{differences, doubled};
use std::marker::PhantomData;

/// Q and what applies it, for images on one grid.
pub(super) struct Q<T> {
    grid: [usize; 3],
    toeplitz: Toeplitz,
    spectrum: Lent,
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
    /// From its values on the doubled grid.
    pub(super) fn new(queue: &Queue, grid: [usize; 3], spectrum: Lent) -> Result<Self> {
        let toeplitz = Toeplitz::new(&queue.device, grid, doubled(grid), T::PRECISION)?;
        Ok(Self { grid, toeplitz, spectrum, real: PhantomData })
    }

    /// From q on the grid of differences; waits until that has been read.
    ///
    /// # Safety
    /// `kernel` is the address of complex numbers of that grid; the GPU is current.
    pub(super) unsafe fn from_kernel(queue: &Queue, grid: [usize; 3], kernel: u64) -> Result<Self> {
        let (from, double) = (differences(grid), doubled(grid));
        let numbers: usize = double.iter().product();
        let spectrum = queue.pool.take(numbers * T::PRECISION.bytes())?;
        let complex = queue.pool.take(numbers * T::PRECISION.complex())?;
        let factors = from.map(|n| vec![1.0; n]);
        let fft = PrunedFft::new(&queue.device, from, double, factors.each_ref().map(Vec::as_slice), T::PRECISION)?;
        let scratch = queue.pool.take(fft.scratch_bytes(1))?;
        let made = Self::new(queue, grid, spectrum)?;
        let images = Images { address: kernel, maps: None };
        // SAFETY: memory of the sizes that are asked for; the kernel by this function's contract.
        unsafe {
            fft.pad(&images, complex.address(), scratch.address(), 1, Direction::Forward, &queue.stream)?;
            made.toeplitz.real_part(complex.address(), made.spectrum.address(), &queue.stream)?;
        }
        // Tables of the transform are in use until then.
        queue.stream.synchronize()?;
        Ok(made)
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.spectrum.bytes() as u64
    }

    /// Bytes that one for images on this grid holds.
    pub(super) fn bytes_of(grid: [usize; 3]) -> u64 {
        (doubled(grid).iter().product::<usize>() * T::PRECISION.bytes()) as u64
    }

    /// Bytes of q and its transform, while Q is made.
    pub(super) fn bytes_while_made(grid: [usize; 3]) -> u64 {
        let numbers = differences(grid).iter().product::<usize>() + 2 * doubled(grid).iter().product::<usize>();
        (numbers * T::PRECISION.complex()) as u64
    }

    /// Working memory of a product for an image that so many coils see.
    pub(super) fn workspace_bytes(grid: [usize; 3], coils: usize) -> WorkspaceBytes {
        let of = |coils| Toeplitz::workspace_bytes(grid, doubled(grid), T::PRECISION, coils);
        side_by_side(of(1), of(coils))
    }

    /// Its values on the doubled grid, frequency 0 first.
    pub(super) fn values(&self, queue: &Queue) -> Result<Vec<f64>> {
        let mut values = Buffer::<T>::zeroed(doubled(self.grid).iter().product())?;
        queue.fetch(self.spectrum.address(), &mut values)?;
        collected(values.iter().map(|v| v.wide()))
    }

    /// out = F^H W F image, in so many bytes of working memory.
    ///
    /// # Safety
    /// Image and result are apart from each other and, like the maps of so many coils, on this GPU until the stream has passed
    /// this; the GPU is current.
    pub(super) unsafe fn apply(&mut self, queue: &Queue, arrays: QArrays, available: u64, job: &Job) -> Result<()> {
        let Self { toeplitz, spectrum, .. } = self;
        let QArrays { image, out, maps, coils } = arrays;
        let group = coils_at_once(coils, available, |c| toeplitz.scratch_bytes(c) as u64);
        toeplitz.limit_scratch(group, usize::try_from(available).unwrap_or(usize::MAX));
        check_available(available, toeplitz.scratch_bytes(group) as u64)?;
        let scratch = queue.pool.take(toeplitz.scratch_bytes(group))?;
        let buffers = Buffers { input: image, output: out, scratch: scratch.address() };
        let (spectrum, stream) = (spectrum.address(), &queue.stream);
        let Some(maps) = maps else {
            // SAFETY: by this function's contract, with as much scratch memory as is asked for.
            return unsafe { toeplitz.apply(spectrum, 1, buffers, stream) };
        };
        for coil in (0..coils).step_by(group) {
            job.check()?;
            let address = maps.address + (coil * maps.stride * T::PRECISION.complex()) as u64;
            let some = group.min(coils - coil);
            // SAFETY: as above, with maps of so many coils.
            unsafe {
                toeplitz.apply_coils(spectrum, some, Maps { address, ..maps }, buffers, coil > 0, stream)?;
            }
        }
        Ok(())
    }
}

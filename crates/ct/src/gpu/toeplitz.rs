//! The normal operator as a convolution, on a GPU: launches `kernels/ct/toeplitz.cu` around the columns of `isocenter_nufft::gpu::Toeplitz`.

use crate::toeplitz::{Doubled, Toeplitz};
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::DeviceLine;
use isocenter_base::gpu::{Device, DeviceMemory, Function, Launch, Precision, Stream, mirrored};
use isocenter_nufft::gpu::{Spectra, Toeplitz as Columns};
use std::sync::Arc;

/// Mirrors `Pairs`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Pairs {
    line: DeviceLine,
    plane: u64,
    from: u64,
    to: u64,
    ny: i32,
    nx: i32,
    slices: i32,
    scale: f32,
    width: i32,
    unused: i32,
}
mirrored!(Pairs, 216);

/// Mirrors `Spectrum`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Spectrum {
    half: u64,
    all: u64,
    gy: i32,
    gx: i32,
}
mirrored!(Spectrum, 24);

/// Pairs of slices that are worked on at a time stay within so many bytes, near which caches are; two do in any case, since they share what is
/// read of the spectrum.
const TOGETHER: usize = 48 << 20;
const PAIRS: std::ops::RangeInclusive<usize> = 2..=8;

/// What applies the convolution.
#[derive(Debug)]
pub(crate) struct DeviceProduct {
    shape: Doubled,
    scale: f32,
    spectrum: DeviceMemory,
    columns: Columns,
    there: Function,
    back: Function,
}

impl DeviceProduct {
    pub(crate) fn new(device: &Arc<Device>, toeplitz: &Toeplitz) -> Result<Self> {
        let Doubled { image: [ny, nx], grid: [gy, gx] } = toeplitz.shape;
        let columns = Columns::new(device, [1, ny, nx], [1, gy, gx], Precision::F32)?;
        let kernel = |name: &str| device.function(&crate::images::TOEPLITZ, &format!("ct_toeplitz_{name}"));
        let half = DeviceMemory::from_slice(device, &toeplitz.spectrum)?;
        let spectrum = DeviceMemory::new(device, gy * gx * size_of::<f32>())?;
        let stream = Stream::new(device)?;
        let arguments = Spectrum { half: half.address(), all: spectrum.address(), gy: gy as i32, gx: gx as i32 };
        let launch = Launch { grid: [16 * device.multiprocessors(), 1, 1], block: [256, 1, 1], shared: 0 };
        let _current = device.enter()?;
        // SAFETY: the struct mirrors the kernel's; both are of the grid's sizes, and are waited for.
        unsafe { kernel("spectrum")?.launch(&stream, launch, &arguments)? };
        stream.synchronize()?;
        let (there, back) = (kernel("pairs_to_plane")?, kernel("plane_to_pairs")?);
        Ok(Self { shape: toeplitz.shape, scale: toeplitz.scale as f32, spectrum, columns, there, back })
    }

    /// Bytes that one holds, and those besides while it is made.
    pub(crate) fn held_bytes(Doubled { grid: [gy, gx], .. }: Doubled) -> [u64; 2] {
        [4 * (gy * gx) as u64, 4 * ((gx / 2 + 1) * gy) as u64]
    }

    /// Bytes of scratch memory for so many slices.
    pub(crate) fn bytes(shape: Doubled, slices: usize) -> u64 {
        let Doubled { image: [ny, _], grid: [_, gx] } = shape;
        (together(ny * gx).min(slices.div_ceil(2)) * ny * gx * size_of::<[f32; 2]>()) as u64
    }

    /// out = the convolution of each of so many slices `[slice][y][x]`. `out` may be `x`.
    ///
    /// # Safety
    /// All are device memory, of so many slices and of [`DeviceProduct::bytes`], scratch memory aligned to 16 bytes and apart from the
    /// others, until the stream has passed this; the GPU is current.
    pub(crate) unsafe fn apply(&self, x: u64, out: u64, slices: usize, scratch: u64, stream: &Stream) -> Result<()> {
        let Doubled { image: [ny, nx], grid: [_, gx] } = self.shape;
        let together = together(ny * gx);
        for first in (0..slices).step_by(2 * together) {
            let some = (slices - first).min(2 * together);
            let offset = (first * ny * nx * size_of::<f32>()) as u64;
            let batches = some.div_ceil(2);
            // SAFETY: by this function's contract.
            unsafe {
                self.ends(&self.there, [x + offset, out + offset], some, scratch, stream)?;
                self.columns.columns(Spectra::shared(self.spectrum.address()), batches, scratch, stream)?;
                self.ends(&self.back, [x + offset, out + offset], some, scratch, stream)?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for `apply`.
    unsafe fn ends(
        &self,
        kernel: &Function,
        [from, to]: [u64; 2],
        slices: usize,
        plane: u64,
        stream: &Stream,
    ) -> Result<()> {
        let ([ny, nx], line) = (self.shape.image, self.columns.x());
        let shape = line.along();
        let width = shape.width.min(ny);
        let chunks = ny.div_ceil(width);
        let [ny, nx, count, width] = [ny, nx, slices, width].map(|n| n as i32);
        let (line, scale) = (line.arguments(), self.scale);
        let arguments = Pairs { line, plane, from, to, ny, nx, slices: count, scale, width, unused: 0 };
        let grid = [chunks, slices.div_ceil(2), 1];
        let launch = Launch { grid, block: [shape.threads, 1, 1], shared: shape.shared };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { kernel.launch(stream, launch, &arguments) }
    }
}

/// Pairs at a time, by the numbers of a plane.
fn together(plane: usize) -> usize {
    (TOGETHER / (plane * size_of::<[f32; 2]>())).clamp(*PAIRS.start(), *PAIRS.end())
}

#[cfg(test)]
#[path = "toeplitz_tests.rs"]
mod tests;

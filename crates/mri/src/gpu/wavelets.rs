//! Launches `kernels/mri/wavelets.cu`: wavelet transforms of images, and thresholds between.

use crate::wavelets::{TAPS, Wavelets, halves};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Function, Lent, Queue, Sums, SumsArguments, mirrored};
use isocenter_nufft::Scalar;
use std::marker::PhantomData;
use std::mem::swap;

/// Mirrors `Pass`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Pass {
    from: u64,
    to: u64,
    filters: [[f64; TAPS]; 2],
    stride: i64,
    row: i64,
    plane: i64,
    n: i32,
    size: [i32; 3],
    axis: i32,
    shift: i32,
}
mirrored!(Pass, 192);

/// Mirrors `Copied`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Copied {
    from: u64,
    to: u64,
    row: i64,
    plane: i64,
    size: [i32; 3],
    pad: i32,
}
mirrored!(Copied, 48);

/// Mirrors `Coefficients`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Coefficients {
    values: u64,
    threshold: f64,
    count: i64,
    images: i64,
    sums: SumsArguments,
}
mirrored!(Coefficients, 56);

/// The two directions of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Split,
    Join,
}

/// Transforms of images of one size in one precision.
#[derive(Debug)]
pub(crate) struct DeviceWavelets<T> {
    /// By the length of filters, 2 and 8: split and join.
    passes: [[Function; 2]; 2],
    copied: Function,
    soften: Function,
    sums: Sums,
    /// Room for an image.
    work: Lent,
    real: PhantomData<T>,
}

impl<T: Scalar> DeviceWavelets<T> {
    pub(super) fn new(queue: &Queue, voxels: usize) -> Result<Self> {
        let device = &queue.device;
        let kernel = |name: &str| {
            device.function(&crate::images::WAVELETS, &format!("wavelets_{name}_{}", T::PRECISION.suffix()))
        };
        Ok(Self {
            passes: [[kernel("split_2")?, kernel("join_2")?], [kernel("split_8")?, kernel("join_8")?]],
            copied: kernel("copied")?,
            soften: kernel("soften")?,
            sums: Sums::new(device, 2)?,
            work: queue.pool.take(voxels * T::PRECISION.complex())?,
            real: PhantomData,
        })
    }

    /// Coefficients in the place of an image, or the other way round.
    unsafe fn transform(
        &self,
        queue: &Queue,
        wavelets: &Wavelets,
        shift: [usize; 3],
        way: Way,
        image: u64,
    ) -> Result<()> {
        let [_, ny, nx] = wavelets.grid;
        let (row, plane, last) = (nx as i64, (ny * nx) as i64, wavelets.levels.len());
        let [split, join] = &self.passes[usize::from(wavelets.taps > 2)];
        for turn in 0..last {
            let depth = if way == Way::Split { turn } else { last - 1 - turn };
            let level = wavelets.levels[depth];
            let (mut from, mut to) = (image, self.work.address());
            for axis in 0..3 {
                // Joined in the other order.
                let axis = if way == Way::Split { 2 - axis } else { axis };
                if !level.split[axis] {
                    continue;
                }
                let n = level.size[axis];
                let mut size = level.size;
                size[axis] = halves(n).0;
                let arguments = Pass {
                    from,
                    to,
                    filters: wavelets.filters,
                    stride: [plane, row, 1][axis],
                    row,
                    plane,
                    n: n as i32,
                    size: size.map(|n| n as i32),
                    axis: axis as i32,
                    shift: if depth == 0 { shift[axis] as i32 } else { 0 },
                };
                let kernel = if way == Way::Split { split } else { join };
                // SAFETY: by the contract of `soften`; the struct mirrors the kernel's.
                unsafe { queue.launch_each(kernel, size.iter().product(), &arguments)? };
                swap(&mut from, &mut to);
            }
            if from != image {
                let size = level.size.map(|n| n as i32);
                let arguments = Copied { from, to: image, row, plane, size, pad: 0 };
                // SAFETY: as above.
                unsafe { queue.launch_each(&self.copied, level.size.iter().product(), &arguments)? };
            }
        }
        Ok(())
    }

    /// The same of so many images, one after the other.
    unsafe fn transform_all(
        &self,
        queue: &Queue,
        (wavelets, shift): (&Wavelets, [usize; 3]),
        way: Way,
        (first, images): (u64, usize),
    ) -> Result<()> {
        let bytes = wavelets.grid.iter().product::<usize>() * T::PRECISION.complex();
        (0..images).try_for_each(|k| {
            // SAFETY: by the contract of `soften`.
            unsafe { self.transform(queue, wavelets, shift, way, first + (k * bytes) as u64) }
        })
    }

    unsafe fn coefficients(
        &self,
        queue: &Queue,
        (values, images): (u64, usize),
        threshold: f64,
        count: usize,
    ) -> Result<[f64; 2]> {
        let (count, images) = (count as i64, images as i64);
        let arguments = Coefficients { values, threshold, count, images, sums: self.sums.arguments() };
        // SAFETY: by the contract of `soften`; the struct mirrors the kernel's.
        unsafe { self.sums.launch(queue, &self.soften, &arguments) }
    }

    /// Replaces so many images by those whose coefficients are smaller by a threshold, down to 0, the length of those at one place over all
    /// images; the sum of what is left of these lengths.
    ///
    /// # Safety
    /// The images are of the wavelets' size and this precision, on this GPU until the stream has passed this; the GPU is current.
    pub(super) unsafe fn soften(
        &self,
        queue: &Queue,
        of: (&Wavelets, [usize; 3]),
        threshold: f64,
        images: (u64, usize),
    ) -> Result<f64> {
        let count = of.0.grid.iter().product();
        // SAFETY: by this function's contract, which has as much memory to work in.
        unsafe {
            self.transform_all(queue, of, Way::Split, images)?;
            let [sum, _] = self.coefficients(queue, images, threshold, count)?;
            self.transform_all(queue, of, Way::Join, images)?;
            Ok(sum)
        }
    }

    /// The sum of these lengths, and the largest; coefficients take the place of the images.
    ///
    /// # Safety
    /// As for `soften`.
    pub(super) unsafe fn sizes(
        &self,
        queue: &Queue,
        of: (&Wavelets, [usize; 3]),
        images: (u64, usize),
    ) -> Result<[f64; 2]> {
        let count = of.0.grid.iter().product();
        // SAFETY: by this function's contract, which has as much memory to work in.
        unsafe {
            self.transform_all(queue, of, Way::Split, images)?;
            self.coefficients(queue, images, -1.0, count)
        }
    }
}

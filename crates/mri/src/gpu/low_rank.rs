//! Launches `kernels/mri/low_rank.cu`: thresholds on singular values of blocks of images.

use crate::low_rank::Blocks;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Function, Queue, Sums, SumsArguments, mirrored};
use isocenter_nufft::Scalar;
use std::marker::PhantomData;

/// Samples that the kernel has in shared memory at a time.
const STAGE: usize = 16;

/// Mirrors `LowRank`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    images: u64,
    voxels: i64,
    threshold: f64,
    grid: [i32; 3],
    edge: [i32; 3],
    begin: [i32; 3],
    counts: [i32; 3],
    count: i32,
    most: i32,
    sums: SumsArguments,
}
mirrored!(Arguments, 104);

/// The kernel, for one precision.
#[derive(Debug)]
pub(crate) struct DeviceBlocks<T> {
    kernel: Function,
    sums: Sums,
    real: PhantomData<T>,
}

impl<T: Scalar> DeviceBlocks<T> {
    /// For so many images.
    pub(super) fn new(queue: &Queue, blocks: &Blocks, images: usize) -> Result<Self> {
        let (items, room) = (images.min(blocks.voxels()), queue.device.shared_bytes());
        if shared_bytes::<T>(items) > room {
            let most = (1..items).rev().find(|n| shared_bytes::<T>(*n) <= room).unwrap_or_default();
            fail!(
                OutOfRange,
                "blocks of {} voxels of {images} images are too large for this GPU's shared memory: one of both may be {most} at the most; options.block makes them smaller",
                blocks.voxels()
            );
        }
        Ok(Self {
            kernel: queue.device.function(&crate::images::LOW_RANK, &format!("low_rank_{}", T::PRECISION.suffix()))?,
            sums: Sums::new(&queue.device, 2)?,
            real: PhantomData,
        })
    }

    /// Replaces images by those whose blocks' singular values are smaller by a threshold, down to 0; the sum of what is left, and the
    /// largest there was. Without a threshold the images stay.
    ///
    /// # Safety
    /// So many images of the blocks' grid and this precision are on this GPU until the stream has passed this; the GPU is current.
    pub(super) unsafe fn shrink(
        &self,
        queue: &Queue,
        blocks: &Blocks,
        threshold: Option<f64>,
        (images, count): (u64, usize),
    ) -> Result<[f64; 2]> {
        let int = |v: [usize; 3]| v.map(|n| n as i32);
        let most = count.min(blocks.voxels());
        let arguments = Arguments {
            images,
            voxels: blocks.grid.iter().product::<usize>() as i64,
            threshold: threshold.unwrap_or(-1.0),
            grid: int(blocks.grid),
            edge: int(blocks.edge),
            begin: blocks.begin.map(|n| n as i32),
            counts: int(blocks.counts()),
            count: count as i32,
            most: most as i32,
            sums: self.sums.arguments(),
        };
        // SAFETY: by this function's contract; the struct mirrors the kernel's, which takes as much shared memory.
        unsafe { self.sums.launch_with(queue, &self.kernel, shared_bytes::<T>(most), &arguments) }
    }
}

/// Two matrices and rotations in f64, and samples.
fn shared_bytes<T: Scalar>(items: usize) -> usize {
    let pairs = items.div_ceil(2);
    let numbers = 2 * (2 * items * items + pairs) + pairs + items + (items + pairs) % 2;
    numbers * size_of::<f64>() + STAGE * items * T::PRECISION.complex()
}

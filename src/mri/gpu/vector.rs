//! Launches `kernels/mri/vector.cu`: arithmetic of images and samples.

use crate::error::Result;
use crate::gpu::fft::Maps;
use crate::gpu::{DeviceMemory, DeviceReal, Launch, Pinned, Queue};
use std::marker::PhantomData;

const IMAGE: &str = "mri/vector";
/// Blocks whose parts make an inner product; fixed, so that sums are the same on every GPU.
const PARTS: usize = 1024;

/// Mirrors `Combine`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Combine {
    x: u64,
    y: u64,
    a: f64,
    b: f64,
    count: i64,
}
crate::gpu::mirrored!(Combine, 40);

/// Mirrors `Dot`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Dot {
    direction: u64,
    product: u64,
    x: u64,
    residual: u64,
    a: f64,
    count: i64,
    parts: u64,
    done: u64,
    result: u64,
}
crate::gpu::mirrored!(Dot, 72);

/// Mirrors `Weigh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Weigh {
    weights: u64,
    samples: u64,
    count: i64,
    coils: i64,
}
crate::gpu::mirrored!(Weigh, 32);

/// Mirrors `Coils`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Coils {
    maps: u64,
    image: u64,
    coils: u64,
    voxels: i64,
    count: i64,
    add: i32,
}
crate::gpu::mirrored!(Coils, 48);

/// Mirrors `Fill`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Fill {
    to: u64,
    value: f64,
    count: i64,
}
crate::gpu::mirrored!(Fill, 24);

/// Addresses are of complex numbers on the queue's GPU; they stay valid until its stream has passed the call, and the GPU is
/// current: that is the contract of all methods.
#[derive(Debug)]
pub(super) struct Arithmetic<T> {
    parts: DeviceMemory,
    done: DeviceMemory,
    result: Pinned,
    real: PhantomData<T>,
}

impl<T: DeviceReal> Arithmetic<T> {
    pub(super) fn new(queue: &Queue) -> Result<Self> {
        let device = &queue.device;
        Ok(Self {
            parts: DeviceMemory::new(device, PARTS * size_of::<f64>())?,
            done: DeviceMemory::from_slice(device, &[0u32])?,
            result: Pinned::new(device, size_of::<f64>())?,
            real: PhantomData,
        })
    }

    unsafe fn launch<P: Copy>(queue: &Queue, verb: &str, count: usize, parameter: &P) -> Result<()> {
        let name = format!("vector_{verb}_{}", T::PRECISION.suffix());
        // SAFETY: structs mirror the kernels'; the rest by the methods' contract.
        unsafe { queue.each(IMAGE, &name, count, parameter) }
    }

    /// y = a x + b y.
    pub(super) unsafe fn combine(
        &self,
        queue: &Queue,
        (a, x): (f64, u64),
        (b, y): (f64, u64),
        count: usize,
    ) -> Result<()> {
        let arguments = Combine { x, y, a, b, count: count as i64 };
        // SAFETY: by the methods' contract.
        unsafe { Self::launch(queue, "combine", count, &arguments) }
    }

    /// Real part of the inner product.
    pub(super) unsafe fn dot(&self, queue: &Queue, a: u64, b: u64, count: usize) -> Result<f64> {
        // SAFETY: by the methods' contract.
        unsafe { self.sum(queue, "dot", (a, b), (0, 0, 0.0), count) }
    }

    /// x = x + a d, r = r - a p; the real part of r's product with itself.
    pub(super) unsafe fn step(
        &self,
        queue: &Queue,
        a: f64,
        (direction, product): (u64, u64),
        (x, residual): (u64, u64),
        count: usize,
    ) -> Result<f64> {
        // SAFETY: by the methods' contract.
        unsafe { self.sum(queue, "step", (direction, product), (x, residual, a), count) }
    }

    unsafe fn sum(
        &self,
        queue: &Queue,
        verb: &str,
        (direction, product): (u64, u64),
        (x, residual, a): (u64, u64, f64),
        count: usize,
    ) -> Result<f64> {
        let (parts, done) = (self.parts.address(), self.done.address());
        let result = self.result.data().addr() as u64;
        let arguments = Dot { direction, product, x, residual, a, count: count as i64, parts, done, result };
        let launch = Launch { grid: [PARTS, 1, 1], block: [256, 1, 1], shared: 0 };
        let name = format!("vector_{verb}_{}", T::PRECISION.suffix());
        // SAFETY: the struct mirrors the kernel's; page-locked memory is the GPU's as well, and is read after the wait.
        unsafe {
            queue.device.function(IMAGE, &name)?.launch(&queue.stream, launch, &arguments)?;
            queue.stream.synchronize()?;
            Ok(self.result.data().cast::<f64>().read())
        }
    }

    /// samples `[coil][count]` = weights times samples; the weights are real.
    pub(super) unsafe fn weigh(
        &self,
        queue: &Queue,
        weights: u64,
        samples: u64,
        count: usize,
        coils: usize,
    ) -> Result<()> {
        let arguments = Weigh { weights, samples, count: count as i64, coils: coils as i64 };
        // SAFETY: by the methods' contract.
        unsafe { Self::launch(queue, "weigh", count, &arguments) }
    }

    /// `coils[coil]` = maps times image.
    pub(super) unsafe fn see(
        &self,
        queue: &Queue,
        maps: Maps,
        image: u64,
        coils: u64,
        [voxels, count]: [usize; 2],
    ) -> Result<()> {
        let (voxels_there, count) = (voxels as i64, count as i64);
        let arguments = Coils { maps: maps.address, image, coils, voxels: voxels_there, count, add: 0 };
        // SAFETY: by the methods' contract.
        unsafe { Self::launch(queue, "see", voxels, &arguments) }
    }

    /// image = sum over coils of conj(maps) times coils, added to what is there if `add`.
    pub(super) unsafe fn merge(
        &self,
        queue: &Queue,
        maps: Maps,
        (image, add): (u64, bool),
        coils: u64,
        [voxels, count]: [usize; 2],
    ) -> Result<()> {
        let (voxels_there, count) = (voxels as i64, count as i64);
        let arguments = Coils { maps: maps.address, image, coils, voxels: voxels_there, count, add: add.into() };
        // SAFETY: by the methods' contract.
        unsafe { Self::launch(queue, "merge", voxels, &arguments) }
    }

    /// The same real number everywhere.
    pub(super) unsafe fn fill(&self, queue: &Queue, to: u64, value: f64, count: usize) -> Result<()> {
        // SAFETY: by the methods' contract.
        unsafe { Self::launch(queue, "fill", count, &Fill { to, value, count: count as i64 }) }
    }
}

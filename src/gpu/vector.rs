//! Launches `kernels/common/vector.cu`: arithmetic of vectors of complex numbers.

use super::device::Device;
use super::kernel::Function;
use super::launch::{Launch, mirrored};
use super::memory::{DeviceMemory, Pinned};
use super::precision::{DeviceReal, Precision};
use super::queue::Queue;
use crate::error::Result;
use std::marker::PhantomData;

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
mirrored!(Combine, 40);

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
mirrored!(Dot, 72);

/// Mirrors `Fill`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Fill {
    to: u64,
    value: f64,
    count: i64,
}
mirrored!(Fill, 24);

/// Addresses are of complex numbers on the queue's GPU; they stay valid until its stream has passed the call, and the GPU is
/// current: that is the contract of all methods.
#[derive(Debug)]
pub(crate) struct Arithmetic<T> {
    parts: DeviceMemory,
    done: DeviceMemory,
    result: Pinned,
    kernels: Kernels,
    real: PhantomData<T>,
}

/// Kernels for one precision.
#[derive(Debug)]
struct Kernels {
    combine: Function,
    dot: Function,
    step: Function,
    fill: Function,
}

impl Kernels {
    fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |verb| device.function("common/vector", &format!("vector_{verb}_{}", precision.suffix()));
        Ok(Self { combine: kernel("combine")?, dot: kernel("dot")?, step: kernel("step")?, fill: kernel("fill")? })
    }
}

impl<T: DeviceReal> Arithmetic<T> {
    pub(crate) fn new(queue: &Queue) -> Result<Self> {
        let device = &queue.device;
        Ok(Self {
            parts: DeviceMemory::new(device, PARTS * size_of::<f64>())?,
            done: DeviceMemory::from_slice(device, &[0u32])?,
            result: Pinned::new(device, size_of::<f64>())?,
            kernels: Kernels::new(device, T::PRECISION)?,
            real: PhantomData,
        })
    }

    /// y = a x + b y.
    pub(crate) unsafe fn combine(
        &self,
        queue: &Queue,
        (a, x): (f64, u64),
        (b, y): (f64, u64),
        count: usize,
    ) -> Result<()> {
        let arguments = Combine { x, y, a, b, count: count as i64 };
        // SAFETY: the struct mirrors the kernel's; the rest by the methods' contract.
        unsafe { queue.launch_each(&self.kernels.combine, count, &arguments) }
    }

    /// Real part of the inner product.
    pub(crate) unsafe fn dot(&self, queue: &Queue, a: u64, b: u64, count: usize) -> Result<f64> {
        // SAFETY: by the methods' contract.
        unsafe { self.sum(queue, &self.kernels.dot, (a, b), (0, 0, 0.0), count) }
    }

    /// x = x + a d, r = r - a p; the real part of r's product with itself.
    pub(crate) unsafe fn step(
        &self,
        queue: &Queue,
        a: f64,
        (direction, product): (u64, u64),
        (x, residual): (u64, u64),
        count: usize,
    ) -> Result<f64> {
        // SAFETY: by the methods' contract.
        unsafe { self.sum(queue, &self.kernels.step, (direction, product), (x, residual, a), count) }
    }

    unsafe fn sum(
        &self,
        queue: &Queue,
        kernel: &Function,
        (direction, product): (u64, u64),
        (x, residual, a): (u64, u64, f64),
        count: usize,
    ) -> Result<f64> {
        let (parts, done) = (self.parts.address(), self.done.address());
        let result = self.result.data().addr() as u64;
        let arguments = Dot { direction, product, x, residual, a, count: count as i64, parts, done, result };
        let launch = Launch { grid: [PARTS, 1, 1], block: [256, 1, 1], shared: 0 };
        // SAFETY: the struct mirrors the kernel's; page-locked memory is the GPU's as well, and is read after the wait.
        unsafe {
            kernel.launch(&queue.stream, launch, &arguments)?;
            queue.stream.synchronize()?;
            Ok(self.result.data().cast::<f64>().read())
        }
    }

    /// The same real number everywhere.
    pub(crate) unsafe fn fill(&self, queue: &Queue, to: u64, value: f64, count: usize) -> Result<()> {
        let arguments = Fill { to, value, count: count as i64 };
        // SAFETY: the struct mirrors the kernel's; the rest by the methods' contract.
        unsafe { queue.launch_each(&self.kernels.fill, count, &arguments) }
    }
}

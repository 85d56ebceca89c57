//! Launches `kernels/common/vector.cu`: arithmetic of vectors of complex numbers.

use super::device::Device;
use super::kernel::Function;
use super::launch::mirrored;
use super::precision::{DeviceReal, Precision};
use super::queue::Queue;
use super::sums::{Sums, SumsArguments};
use crate::error::Result;
use std::marker::PhantomData;

/// Sums of a survey, the most of them.
const SUMS: usize = 6;

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
    sums: SumsArguments,
}
mirrored!(Dot, 72);

/// Mirrors `Descent`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Descent {
    /// x, N x, before, N before, right.
    of: [u64; 5],
    out: u64,
    step: f64,
    momentum: f64,
    count: i64,
}
mirrored!(Descent, 72);

/// Mirrors `Surveyed`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Surveyed {
    of: [u64; 5],
    next: [u64; 2],
    momentum: f64,
    count: i64,
    sums: SumsArguments,
}
mirrored!(Surveyed, 96);

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
pub struct Arithmetic<T> {
    sums: Sums,
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
    descend: Function,
    survey: Function,
}

impl Kernels {
    fn new(device: &Device, precision: Precision) -> Result<Self> {
        let kernel = |verb| device.function(&crate::images::VECTOR, &format!("vector_{verb}_{}", precision.suffix()));
        Ok(Self {
            combine: kernel("combine")?,
            dot: kernel("dot")?,
            step: kernel("step")?,
            fill: kernel("fill")?,
            descend: kernel("descend")?,
            survey: kernel("survey")?,
        })
    }
}

impl<T: DeviceReal> Arithmetic<T> {
    pub fn new(queue: &Queue) -> Result<Self> {
        let device = &queue.device;
        Ok(Self { sums: Sums::new(device, SUMS)?, kernels: Kernels::new(device, T::PRECISION)?, real: PhantomData })
    }

    /// y = a x + b y.
    ///
    /// # Safety
    /// The contract of [`Arithmetic`] holds.
    pub unsafe fn combine(&self, queue: &Queue, (a, x): (f64, u64), (b, y): (f64, u64), count: usize) -> Result<()> {
        let arguments = Combine { x, y, a, b, count: count as i64 };
        // SAFETY: the struct mirrors the kernel's; the rest by the methods' contract.
        unsafe { queue.launch_each(&self.kernels.combine, count, &arguments) }
    }

    /// Real part of the inner product.
    ///
    /// # Safety
    /// The contract of [`Arithmetic`] holds.
    pub unsafe fn dot(&self, queue: &Queue, a: u64, b: u64, count: usize) -> Result<f64> {
        // SAFETY: by the methods' contract.
        unsafe { self.sum(queue, &self.kernels.dot, (a, b), (0, 0, 0.0), count) }
    }

    /// x = x + a d, r = r - a p; the real part of r's product with itself.
    ///
    /// # Safety
    /// The contract of [`Arithmetic`] holds.
    pub unsafe fn step(
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
        let arguments = Dot { direction, product, x, residual, a, count: count as i64, sums: self.sums.arguments() };
        // SAFETY: the struct mirrors the kernel's; the rest by the methods' contract.
        unsafe { self.sums.launch(queue, kernel, &arguments) }.map(|[sum]| sum)
    }

    /// out = y - step (N y - right), y = x + momentum (x - before); `of`: x, N x, before, N before, right.
    ///
    /// # Safety
    /// The contract of [`Arithmetic`] holds.
    pub unsafe fn descend(
        &self,
        queue: &Queue,
        [step, momentum]: [f64; 2],
        of: [u64; 5],
        out: u64,
        count: usize,
    ) -> Result<()> {
        let arguments = Descent { of, out, step, momentum, count: count as i64 };
        // SAFETY: the struct mirrors the kernel's; the rest by the methods' contract.
        unsafe { queue.launch_each(&self.kernels.descend, count, &arguments) }
    }

    /// Products that tell of a step to the first of `next`, whose product with N is the second.
    ///
    /// # Safety
    /// The contract of [`Arithmetic`] holds.
    pub unsafe fn survey(
        &self,
        queue: &Queue,
        momentum: f64,
        of: [u64; 5],
        next: [u64; 2],
        count: usize,
    ) -> Result<[f64; SUMS]> {
        let arguments = Surveyed { of, next, momentum, count: count as i64, sums: self.sums.arguments() };
        // SAFETY: the struct mirrors the kernel's; the rest by the methods' contract.
        unsafe { self.sums.launch(queue, &self.kernels.survey, &arguments) }
    }

    /// The same real number everywhere.
    ///
    /// # Safety
    /// The contract of [`Arithmetic`] holds.
    pub unsafe fn fill(&self, queue: &Queue, to: u64, value: f64, count: usize) -> Result<()> {
        let arguments = Fill { to, value, count: count as i64 };
        // SAFETY: the struct mirrors the kernel's; the rest by the methods' contract.
        unsafe { queue.launch_each(&self.kernels.fill, count, &arguments) }
    }
}

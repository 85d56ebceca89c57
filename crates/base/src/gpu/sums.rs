//! Sums and maxima over a launch's threads, for `kernels/common/sums.cuh`.

use super::device::Device;
use super::kernel::Function;
use super::launch::{Launch, mirrored};
use super::memory::{DeviceMemory, Pinned};
use super::queue::Queue;
use crate::error::{Result, fail};
use std::sync::Arc;

/// Blocks whose parts make a sum; fixed, so that sums are the same on every GPU.
const PARTS: usize = 1024;
const THREADS: usize = 256;

/// Mirrors `Sums`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SumsArguments {
    parts: u64,
    done: u64,
    result: u64,
}
mirrored!(SumsArguments, 24);

/// Memory for a launch's sums.
#[derive(Debug)]
pub struct Sums {
    parts: DeviceMemory,
    done: DeviceMemory,
    result: Pinned,
    most: usize,
}

impl Sums {
    /// For so many sums at the most.
    pub fn new(device: &Arc<Device>, most: usize) -> Result<Self> {
        Ok(Self {
            parts: DeviceMemory::new(device, most * PARTS * size_of::<f64>())?,
            done: DeviceMemory::from_slice(device, &[0u32])?,
            result: Pinned::new(device, most * size_of::<f64>())?,
            most,
        })
    }

    pub fn arguments(&self) -> SumsArguments {
        let result = self.result.data().addr() as u64;
        SumsArguments { parts: self.parts.address(), done: self.done.address(), result }
    }

    /// Launches a kernel that makes so many sums, and waits for them.
    ///
    /// # Safety
    /// As for `Queue::launch_each`, with a parameter that has these sums' arguments.
    pub unsafe fn launch<P: Copy, const N: usize>(
        &self,
        queue: &Queue,
        kernel: &Function,
        parameter: &P,
    ) -> Result<[f64; N]> {
        // SAFETY: by this function's contract.
        unsafe { self.launch_with(queue, kernel, 0, parameter) }
    }

    /// The same of a kernel whose blocks take so many bytes of shared memory.
    ///
    /// # Safety
    /// As for `launch`.
    pub unsafe fn launch_with<P: Copy, const N: usize>(
        &self,
        queue: &Queue,
        kernel: &Function,
        shared: usize,
        parameter: &P,
    ) -> Result<[f64; N]> {
        if N > self.most {
            fail!(Internal, "{N} sums where there is room for {}", self.most);
        }
        let launch = Launch { grid: [PARTS, 1, 1], block: [THREADS, 1, 1], shared };
        // SAFETY: by this function's contract; page-locked memory is the GPU's as well, and is read after the wait.
        unsafe {
            kernel.launch(&queue.stream, launch, parameter)?;
            queue.stream.synchronize()?;
            Ok(self.result.data().cast::<[f64; N]>().read())
        }
    }
}

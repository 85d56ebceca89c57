//! The GPU that a plan computes on: its stream, memory that is used again, and plain launches.

use super::device::Device;
use super::image::Image;
use super::kernel::Function;
use super::launch::Launch;
use super::memory::{self, DeviceMemory, Rows};
use super::pool::{Lent, Pool};
use super::staging::Staging;
use super::stream::{Event, Stream};
use crate::cpu::buffer::Plain;
use crate::error::Result;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

/// Maximum of a plain launch's blocks for each multiprocessor.
const BLOCKS: usize = 16;
const THREADS: usize = 256;

/// Runs a call's work, then `wait` whatever became of it: results, an error, or a panic, which goes on after that. A call must not
/// leave its caller's arrays to work that is still under way.
pub fn then_wait<E: ?Sized, R>(
    engine: &mut E,
    work: impl FnOnce(&mut E) -> Result<R>,
    wait: impl FnOnce(&mut E) -> Result<()>,
) -> Result<R> {
    let result = catch_unwind(AssertUnwindSafe(|| work(engine)));
    let waited = wait(engine);
    match result {
        Ok(result) => result.and_then(|done| waited.map(|()| done)),
        Err(panic) => resume_unwind(panic),
    }
}

/// One GPU's stream, memory pool, staging and plain launches.
#[derive(Debug)]
pub struct Queue {
    pub device: Arc<Device>,
    /// Waited for, when the queue is dropped, before the memory below goes.
    pub stream: Stream,
    pub pool: Arc<Pool>,
    /// For arrays in host memory.
    pub staging: Staging,
    /// How many NaN and infinite values a call has read since [`Queue::start`], where they are not replaced; kernels that write the
    /// caller's arrays do nothing unless this is 0.
    pub guard: DeviceMemory,
    /// The caller's stream is waited for by this.
    arrived: Event,
    /// Kernels of [`Queue::each`], looked up when they are first launched.
    kernels: Mutex<Vec<(Named, Function)>>,
}

/// A kernel's image and name.
type Named = (&'static Image, &'static str);

impl Queue {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        let (device, stream) = (device.clone(), Stream::new(device)?);
        let (pool, arrived) = (Pool::new(&device), Event::new(&device)?);
        let (staging, guard) = (Staging::new(&device), DeviceMemory::from_slice(&device, &[0u64])?);
        Ok(Self { device, stream, pool, staging, guard, arrived, kernels: Mutex::default() })
    }

    /// A call begins.
    pub fn start(&self) -> Result<()> {
        self.guard.clear(&self.stream)
    }

    /// Work from now on waits for what is in the caller's stream.
    pub fn follow(&self, stream: usize) -> Result<()> {
        self.arrived.record(&Stream::borrowed(stream))?;
        self.stream.wait(&self.arrived)
    }

    /// One block or more, up to [`BLOCKS`] for each multiprocessor, of [`THREADS`] threads, for `count` elements.
    pub fn shape(&self, count: usize) -> Launch {
        let blocks = count.div_ceil(THREADS).clamp(1, BLOCKS * self.device.multiprocessors());
        Launch { grid: [blocks, 1, 1], block: [THREADS, 1, 1], shared: 0 }
    }

    /// Launches a kernel whose threads share `count` elements out.
    ///
    /// # Safety
    /// `P` is laid out as the kernel's parameter; what it points to stays valid until the stream has passed the launch; the
    /// GPU is current.
    pub unsafe fn each<P: Copy>(&self, kernel: Named, count: usize, parameter: &P) -> Result<()> {
        let kernel = self.kernel(kernel)?;
        // SAFETY: by this function's contract.
        unsafe { self.launch_each(&kernel, count, parameter) }
    }

    fn kernel(&self, named: Named) -> Result<Function> {
        let mut kernels = self.kernels.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((_, kernel)) = kernels.iter().find(|(n, _)| *n == named) {
            return Ok(kernel.clone());
        }
        let kernel = self.device.function(named.0, named.1)?;
        kernels.push((named, kernel.clone()));
        Ok(kernel)
    }

    /// The same for a kernel that was looked up before.
    ///
    /// # Safety
    /// As for `each`.
    pub unsafe fn launch_each<P: Copy>(&self, kernel: &Function, count: usize, parameter: &P) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { kernel.launch(&self.stream, self.shape(count), parameter) }
    }

    /// Memory of the pool, with the host's values; they have been read when this returns.
    pub fn upload<V: Copy>(&self, values: &[V]) -> Result<Lent> {
        let bytes = size_of_val(values);
        let memory = self.pool.take(bytes)?;
        if bytes > 0 {
            let rows = Rows::one(values.as_ptr().addr() as u64, bytes);
            // SAFETY: both sides have as many bytes; the wait ends their use.
            unsafe { rows.upload(memory.address(), bytes, &self.stream)? };
            self.stream.synchronize()?;
        }
        Ok(memory)
    }

    /// The device's values to the host, once all work before is done.
    pub fn fetch<V: Plain>(&self, from: u64, to: &mut [V]) -> Result<()> {
        let bytes = size_of_val(to);
        if bytes == 0 {
            return Ok(());
        }
        let rows = Rows::one(from, bytes);
        // SAFETY: as for `upload`; all bit patterns are values.
        unsafe { rows.download(to.as_mut_ptr().addr() as u64, bytes, &self.stream)? };
        self.stream.synchronize()
    }

    /// Copies on the device.
    ///
    /// # Safety
    /// Both sides are device memory of as many bytes until the stream has passed the copy; the GPU is current.
    pub unsafe fn duplicate(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { memory::copy_device(from, to, bytes, &self.stream) }
    }
}

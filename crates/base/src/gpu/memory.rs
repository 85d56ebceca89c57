//! Device memory, pinned host memory, and copies of rows.

use super::device::Device;
use super::driver::check;
use super::launch::{Launch, mirrored};
use super::stream::Stream;
use crate::cpu::buffer::Buffer;
use crate::cpu::parallel::*;
use crate::error::Result;
use cudarc::driver::sys::{self, CUmemorytype};
use std::ffi::c_void;
use std::sync::Arc;

/// Memory of one GPU.
#[derive(Debug)]
pub struct DeviceMemory {
    address: u64,
    bytes: usize,
    device: Arc<Device>,
}

impl DeviceMemory {
    /// Uninitialised memory, aligned to 256 bytes.
    pub fn new(device: &Arc<Device>, bytes: usize) -> Result<Self> {
        let _current = device.enter()?;
        let mut address = 0;
        // SAFETY: a context is current; a local.
        check(&format!("cuMemAlloc({bytes} bytes on {device:?})"), unsafe {
            sys::cuMemAlloc_v2(&mut address, bytes.max(1))
        })?;
        Ok(Self { address, bytes, device: device.clone() })
    }

    /// Memory filled from the host, ready when this returns.
    pub fn from_slice<T: Copy>(device: &Arc<Device>, values: &[T]) -> Result<Self> {
        let memory = Self::new(device, size_of_val(values))?;
        let _current = device.enter()?;
        // SAFETY: the memory holds as many bytes; the call returns once the source has been read, and later work on any stream
        // of this GPU is issued after it.
        check("cuMemcpyHtoD", unsafe { sys::cuMemcpyHtoD_v2(memory.address, values.as_ptr().cast(), memory.bytes) })?;
        // SAFETY: pageable sources may still be on their way when the call returns.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) })?;
        Ok(memory)
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fills with zeros, in the stream's order.
    pub fn clear(&self, stream: &Stream) -> Result<()> {
        // SAFETY: all of this memory.
        unsafe { clear_device(self.address, self.bytes, stream) }
    }

    /// Fills with a number, in the stream's order.
    pub fn fill(&self, value: f32, stream: &Stream) -> Result<()> {
        let words = self.bytes / size_of::<f32>();
        // SAFETY: all whole words of this memory.
        check("cuMemsetD32Async", unsafe { sys::cuMemsetD32Async(self.address, value.to_bits(), words, stream.raw()) })
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: made in `new`, freed once. The call waits for work that uses it.
            unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}

/// Fills a part of a GPU's memory with zeros, in the stream's order.
///
/// # Safety
/// It is device memory of as many bytes until the stream has passed; the GPU is current.
pub unsafe fn clear_device(at: u64, bytes: usize, stream: &Stream) -> Result<()> {
    // SAFETY: by this function's contract.
    check("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(at, 0, bytes, stream.raw()) })
}

/// Copies within a GPU's memory, in the stream's order.
///
/// # Safety
/// Both sides are device memory of as many bytes until the stream has passed the copy; the GPU is current.
pub unsafe fn copy_device(from: u64, to: u64, bytes: usize, stream: &Stream) -> Result<()> {
    // SAFETY: by this function's contract.
    check("cuMemcpyDtoDAsync", unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.raw()) })
}

/// Copies between the memories of two GPUs (or of one), in the stream's order.
///
/// # Safety
/// Both sides are memory of their GPUs of as many bytes until the stream has passed the copy.
pub unsafe fn copy_between(
    (from, of): (u64, &Device),
    (to, on): (u64, &Device),
    bytes: usize,
    stream: &Stream,
) -> Result<()> {
    let [source, target] = [of, on].map(Device::raw_context);
    // SAFETY: by this function's contract; contexts are retained for as long as devices live.
    check("cuMemcpyPeerAsync", unsafe { sys::cuMemcpyPeerAsync(to, target, from, source, bytes, stream.raw()) })
}

/// Mirrors `Scatter` in `kernels/common/copy.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Scatter {
    from: u64,
    to: u64,
    sizes: [i64; 3],
    strides: [i64; 3],
}
mirrored!(Scatter, 64);

/// Copies contiguous f32 elements of this shape, last dimension fastest, to an address of the same GPU with any strides (in
/// elements).
///
/// # Safety
/// Both sides are valid until the stream has passed the copy; the GPU is current.
pub unsafe fn scatter(
    device: &Device,
    from: u64,
    to: u64,
    shape: [usize; 3],
    strides: [i64; 3],
    stream: &Stream,
) -> Result<()> {
    let scatter = Scatter { from, to, sizes: shape.map(|n| n as i64), strides };
    let launch = Launch { grid: [16 * device.multiprocessors(), 1, 1], block: [256, 1, 1], shared: 0 };
    // SAFETY: by this function's contract; the struct mirrors the kernel's.
    unsafe { device.function(&crate::images::COPY, "copy_scatter")?.launch(stream, launch, &scatter) }
}

/// Page-locked host memory, which every GPU copies to and from at full speed.
#[derive(Debug)]
pub struct Pinned {
    data: *mut u8,
    bytes: usize,
    /// What was locked; nothing where the driver made it.
    locked: Option<Buffer<u8>>,
    device: Arc<Device>,
}

// SAFETY: it owns its memory.
unsafe impl Send for Pinned {}
// SAFETY: shared access only reads.
unsafe impl Sync for Pinned {}

/// From so many bytes on the system's memory is locked, in huge pages that all cores have touched. The driver touches what it makes on one,
/// in small pages: that takes ten times as long, half a second a gigabyte.
const LOCKED: usize = 16 << 20;
/// Bytes that a thread touches at a time, and one of each page.
const PART: usize = 2 << 20;
const PAGE: usize = 4096;

impl Pinned {
    /// Uninitialised memory, usable with all GPUs. Large memory is touched by the pool that this is called in.
    pub fn new(device: &Arc<Device>, bytes: usize) -> Result<Self> {
        if cfg!(target_os = "linux")
            && bytes >= LOCKED
            && let Some(locked) = Self::locked(device, bytes)
        {
            return Ok(locked);
        }
        let _current = device.enter()?;
        let mut data: *mut c_void = std::ptr::null_mut();
        // SAFETY: a context is current; a local.
        check(&format!("cuMemHostAlloc({bytes} bytes)"), unsafe {
            sys::cuMemHostAlloc(&mut data, bytes.max(1), sys::CU_MEMHOSTALLOC_PORTABLE)
        })?;
        Ok(Self { data: data.cast(), bytes, locked: None, device: device.clone() })
    }

    /// The system's memory; nothing where that cannot be had, or locked.
    fn locked(device: &Arc<Device>, bytes: usize) -> Option<Self> {
        let mut memory = Buffer::<u8>::zeroed(bytes).ok()?;
        memory.par_chunks_mut(PART).for_each(|part| part.iter_mut().step_by(PAGE).for_each(|byte| *byte = 0));
        let _current = device.enter().ok()?;
        let data = memory.data();
        // SAFETY: a context is current; the memory is there until it is unlocked.
        let locked = unsafe { sys::cuMemHostRegister_v2(data.cast(), bytes, sys::CU_MEMHOSTREGISTER_PORTABLE) };
        check("cuMemHostRegister", locked).ok()?;
        Some(Self { data, bytes, locked: Some(memory), device: device.clone() })
    }

    pub fn data(&self) -> *mut u8 {
        self.data
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let Ok(_current) = self.device.enter() else {
            // What may still be locked is not given back.
            std::mem::forget(self.locked.take());
            return;
        };
        match &self.locked {
            // SAFETY: locked in `locked`, unlocked once; it is given back after that.
            Some(_) => unsafe { sys::cuMemHostUnregister(self.data.cast()) },
            // SAFETY: made in `new`, freed once.
            None => unsafe { sys::cuMemFreeHost(self.data.cast()) },
        };
    }
}

/// `count` rows of `bytes` bytes, `pitch` bytes apart, at an address of host or device.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    pub address: u64,
    pub pitch: usize,
    pub bytes: usize,
    pub count: usize,
}

impl Rows {
    /// All bytes as one row.
    pub fn one(address: u64, bytes: usize) -> Self {
        Self { address, pitch: bytes, bytes, count: 1 }
    }

    /// Copies these rows of pinned host memory to device rows at `to`, `pitch` apart.
    ///
    /// # Safety
    /// Both sides are valid for these rows until the stream has passed the copy.
    pub unsafe fn upload(&self, to: u64, pitch: usize, stream: &Stream) -> Result<()> {
        let (host, device) = (CUmemorytype::CU_MEMORYTYPE_HOST, CUmemorytype::CU_MEMORYTYPE_DEVICE);
        // SAFETY: by this function's contract.
        unsafe { self.copy((host, device), to, pitch, stream) }
    }

    /// Copies these rows of device memory to others of the same GPU at `to`, `pitch` apart.
    ///
    /// # Safety
    /// The contract is that of `upload`.
    pub unsafe fn across(&self, to: u64, pitch: usize, stream: &Stream) -> Result<()> {
        let device = CUmemorytype::CU_MEMORYTYPE_DEVICE;
        // SAFETY: by this function's contract.
        unsafe { self.copy((device, device), to, pitch, stream) }
    }

    /// Copies these rows of device memory to pinned host memory at `to`, `pitch` apart.
    ///
    /// # Safety
    /// As for `upload`.
    pub unsafe fn download(&self, to: u64, pitch: usize, stream: &Stream) -> Result<()> {
        let (host, device) = (CUmemorytype::CU_MEMORYTYPE_HOST, CUmemorytype::CU_MEMORYTYPE_DEVICE);
        // SAFETY: by this function's contract.
        unsafe { self.copy((device, host), to, pitch, stream) }
    }

    unsafe fn copy(
        &self,
        (from, into): (CUmemorytype, CUmemorytype),
        to: u64,
        pitch: usize,
        stream: &Stream,
    ) -> Result<()> {
        let mut rows = *self;
        let mut pitch = pitch;
        if rows.pitch == rows.bytes && pitch == rows.bytes {
            // One long row: a single copy.
            rows = Rows { pitch: rows.bytes * rows.count, bytes: rows.bytes * rows.count, count: 1, ..rows };
            pitch = rows.bytes;
        }
        if rows.count == 1 {
            let Rows { address, bytes, .. } = rows;
            let raw = stream.raw();
            // SAFETY: by the caller's contract.
            return unsafe {
                match (from, into) {
                    (_, CUmemorytype::CU_MEMORYTYPE_HOST) => {
                        check("cuMemcpyDtoHAsync", sys::cuMemcpyDtoHAsync_v2(to as *mut c_void, address, bytes, raw))
                    }
                    (CUmemorytype::CU_MEMORYTYPE_HOST, _) => {
                        check("cuMemcpyHtoDAsync", sys::cuMemcpyHtoDAsync_v2(to, address as *const c_void, bytes, raw))
                    }
                    _ => check("cuMemcpyDtoDAsync", sys::cuMemcpyDtoDAsync_v2(to, address, bytes, raw)),
                }
            };
        }
        let none = std::ptr::null_mut();
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: from,
            srcHost: rows.address as *const c_void,
            srcDevice: rows.address,
            srcArray: none,
            srcPitch: rows.pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: into,
            dstHost: to as *mut c_void,
            dstDevice: to,
            dstArray: none,
            dstPitch: pitch,
            WidthInBytes: rows.bytes,
            Height: rows.count,
        };
        // SAFETY: by the caller's contract.
        check("cuMemcpy2DAsync", unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream.raw()) })
    }
}

//! Sums of all elements before each: launches `kernels/common/scan.cu`.

use super::device::Device;
use super::kernel::Function;
use super::launch::{Launch, mirrored};
use super::stream::Stream;
use crate::error::Result;

const THREADS: usize = 256;
/// Elements of a block, as in the kernel.
const ELEMENTS: usize = 4096;

/// Mirrors `Scan`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    data: u64,
    sums: u64,
    count: i64,
}
mirrored!(Arguments, 24);

/// The kernels of one GPU.
#[derive(Clone, Debug)]
pub struct Scan {
    sums: Function,
    top: Function,
    apply: Function,
}

impl Scan {
    pub fn new(device: &Device) -> Result<Self> {
        let kernel = |name| device.function(&crate::images::SCAN, name);
        Ok(Self { sums: kernel("scan_sums")?, top: kernel("scan_top")?, apply: kernel("scan_apply")? })
    }

    /// Bytes that `run` needs beside its elements.
    pub fn scratch_bytes(count: usize) -> usize {
        count.div_ceil(ELEMENTS) * size_of::<u32>()
    }

    /// Replaces each of `count` u32 by the sum of those before it.
    ///
    /// # Safety
    /// The elements and the scratch memory are valid until the stream has passed the launches; the GPU is current.
    pub unsafe fn run(&self, data: u64, count: usize, scratch: u64, stream: &Stream) -> Result<()> {
        let arguments = Arguments { data, sums: scratch, count: count as i64 };
        let blocks = count.div_ceil(ELEMENTS);
        for (kernel, blocks) in [(&self.sums, blocks), (&self.top, 1), (&self.apply, blocks)] {
            let launch = Launch { grid: [blocks, 1, 1], block: [THREADS, 1, 1], shared: 0 };
            // SAFETY: Arguments mirrors the kernels' struct; the rest by this function's contract.
            unsafe { kernel.launch(stream, launch, &arguments)? };
        }
        Ok(())
    }
}

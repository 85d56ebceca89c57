//! Sorts 32-bit keys, and values with them: launches `kernels/common/radix_sort.cu`.

use super::device::Device;
use super::kernel::Function;
use super::launch::{Launch, mirrored};
use super::scan::Scan;
use super::stream::Stream;
use crate::error::Result;

const THREADS: usize = 256;
/// Keys of a block, as in the kernel.
const KEYS: usize = 4096;
const DIGIT_BITS: usize = 8;

/// Mirrors `Radix`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    keys: u64,
    values: u64,
    keys_out: u64,
    values_out: u64,
    counts: u64,
    count: i32,
    shift: i32,
}
mirrored!(Arguments, 48);

/// Keys and values, u32 each: where they are, or may go.
#[derive(Clone, Copy, Debug)]
pub struct Pairs {
    pub keys: u64,
    pub values: u64,
}

/// The kernels of one GPU.
#[derive(Clone, Debug)]
pub struct RadixSort {
    count: Function,
    scatter: Function,
    scan: Scan,
}

impl RadixSort {
    pub fn new(device: &Device) -> Result<Self> {
        let kernel = |name| device.function(&crate::images::RADIX_SORT, name);
        Ok(Self { count: kernel("radix_count")?, scatter: kernel("radix_scatter")?, scan: Scan::new(device)? })
    }

    /// Bytes that `run` needs beside its pairs.
    pub fn scratch_bytes(count: usize) -> usize {
        Self::count_bytes(count) + Scan::scratch_bytes(Self::counts(count))
    }

    /// Counts of each digit, for each block.
    fn counts(count: usize) -> usize {
        count.div_ceil(KEYS) << DIGIT_BITS
    }

    fn count_bytes(count: usize) -> usize {
        (Self::counts(count) * size_of::<u32>()).next_multiple_of(256)
    }

    /// Whether `run` leaves the sorted pairs in its second memory.
    pub const fn ends_in_second(bits: usize) -> bool {
        bits.div_ceil(DIGIT_BITS) % 2 == 1
    }

    /// Sorts at most `i32::MAX` pairs by the lowest `bits` bits of their keys, which stay in order where those are equal. The pairs are in
    /// the first of two memories; what is in the other one afterwards has no meaning.
    ///
    /// # Safety
    /// All memory is valid until the stream has passed the launches; the GPU is current.
    pub unsafe fn run(
        &self,
        [mut from, mut to]: [Pairs; 2],
        count: usize,
        bits: usize,
        scratch: u64,
        stream: &Stream,
    ) -> Result<()> {
        let launch = Launch { grid: [count.div_ceil(KEYS), 1, 1], block: [THREADS, 1, 1], shared: 0 };
        for pass in 0..bits.div_ceil(DIGIT_BITS) {
            let arguments = Arguments {
                keys: from.keys,
                values: from.values,
                keys_out: to.keys,
                values_out: to.values,
                counts: scratch,
                count: count as i32,
                shift: (pass * DIGIT_BITS) as i32,
            };
            let sums = scratch + Self::count_bytes(count) as u64;
            // SAFETY: Arguments mirrors the kernels' struct; the rest by this function's contract.
            unsafe {
                self.count.launch(stream, launch, &arguments)?;
                self.scan.run(scratch, Self::counts(count), sums, stream)?;
                self.scatter.launch(stream, launch, &arguments)?;
            }
            std::mem::swap(&mut from, &mut to);
        }
        Ok(())
    }
}

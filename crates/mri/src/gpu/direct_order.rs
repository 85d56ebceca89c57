//! Launches `kernels/mri/direct_order.cu`.

use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Function, Launch, Pairs, RadixSort, Regions, Stream, mirrored};

const THREADS: usize = 256;
/// Of a cell's number; sorting by them ends where it began.
const BITS: usize = 15;

/// Mirrors `DirectKeys`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct KeyArguments {
    places: u64,
    keys: u64,
    order: u64,
    count: i64,
}
mirrored!(KeyArguments, 32);

/// Sorts places by cell, always to the same order.
#[derive(Debug)]
pub(super) struct Order {
    count: usize,
    keys: Function,
    sort: RadixSort,
    /// Offsets in scratch memory: keys twice, the indices' second memory, and what sorting needs.
    scratch_keys: [usize; 2],
    scratch_order: usize,
    scratch_sort: usize,
    scratch_bytes: usize,
}

impl Order {
    pub(super) fn new(device: &Device, count: usize) -> Result<Self> {
        if count > i32::MAX as usize {
            fail!(OutOfRange, "{count} voxels or samples: at most {} are summed in single precision", i32::MAX);
        }
        let mut scratch = Regions::default();
        Ok(Self {
            count,
            keys: device.function(&crate::images::DIRECT_ORDER, "direct_order_keys")?,
            sort: RadixSort::new(device)?,
            scratch_keys: [(); 2].map(|()| scratch.add(size_of::<u32>() * count)),
            scratch_order: scratch.add(size_of::<u32>() * count),
            scratch_sort: scratch.add(RadixSort::scratch_bytes(count)),
            scratch_bytes: scratch.bytes(),
        })
    }

    /// Bytes of the order.
    pub(super) fn bytes(&self) -> usize {
        size_of::<u32>() * self.count
    }

    /// Bytes that `run` needs besides.
    pub(super) fn scratch_bytes(&self) -> usize {
        self.scratch_bytes
    }

    /// Writes the order of integer places.
    ///
    /// # Safety
    /// The places, the order and the scratch memory are valid until the stream has passed the launches; the GPU is current.
    pub(super) unsafe fn run(&self, places: u64, order: u64, scratch: u64, stream: &Stream) -> Result<()> {
        const { assert!(!RadixSort::ends_in_second(BITS)) };
        let at = |offset: usize| scratch + offset as u64;
        let [keys, spare_keys] = self.scratch_keys.map(at);
        let arguments = KeyArguments { places, keys, order, count: self.count as i64 };
        let launch = Launch { grid: [self.count.div_ceil(THREADS), 1, 1], block: [THREADS, 1, 1], shared: 0 };
        let pairs = [Pairs { keys, values: order }, Pairs { keys: spare_keys, values: at(self.scratch_order) }];
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe {
            self.keys.launch(stream, launch, &arguments)?;
            self.sort.run(pairs, self.count, BITS, at(self.scratch_sort), stream)
        }
    }
}

//! Finished slices on their way into the type that they are stored as, on a GPU.

use crate::output::code::Code;
use crate::output::writer::Writer;
use isocenter_base::array::DType;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Function, Launch, Stream, mirrored};
use std::sync::Arc;

/// Threads of a block.
const THREADS: usize = 256;
/// Blocks on a multiprocessor, at most.
const BLOCKS: usize = 8;
/// Bins that a block counts in shared memory of its own: more of them would leave room for fewer blocks.
const MAX_SHARED_BINS: usize = 4096;

/// Mirrors `Convert` in `kernels/ct/output.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Convert {
    volume: u64,
    target: u64,
    strides: [i64; 3],
    spans: u64,
    counts: u64,
    limits: [f64; 2],
    low: f64,
    scale: f64,
    floor: f64,
    top: f64,
    bin_scale: f64,
    outside: f32,
    kind: i32,
    bins: i32,
    shared_bins: i32,
    ny: i32,
    nx: i32,
    rows: i64,
}
mirrored!(Convert, 144);

/// `StoredType` of an element type.
fn stored_type(dtype: DType) -> i32 {
    match dtype {
        DType::F32 => 0,
        DType::U8 => 1,
        DType::U16 => 2,
        DType::F16 => 3,
        dtype => unreachable!("{dtype:?} is no type of finished volumes"),
    }
}

/// A part of the volume: f32 values, slice after slice, and where they go, with strides in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) volume: u64,
    pub(super) target: u64,
    pub(super) strides: [i64; 3],
    /// Slices, rows and columns.
    pub(super) shape: [usize; 3],
}

/// The conversion of a call on one GPU, and what it counts.
#[derive(Debug)]
pub(super) struct DeviceOutput {
    kernel: Function,
    code: Code,
    outside: f32,
    spans: Option<DeviceMemory>,
    /// Values below and above what can be stored, and the histogram.
    counts: DeviceMemory,
    blocks: usize,
}

impl DeviceOutput {
    pub(super) fn new(device: &Arc<Device>, writer: &Writer) -> Result<Self> {
        let (code, spans) = (*writer.code(), writer.mask().spans());
        Ok(Self {
            kernel: device.function(&crate::images::OUTPUT, "ct_output")?,
            code,
            outside: writer.outside(),
            spans: if spans.is_empty() { None } else { Some(DeviceMemory::from_slice(device, spans)?) },
            counts: DeviceMemory::from_slice(device, &zeros::<u64>(2 + code.bins)?)?,
            blocks: BLOCKS * device.multiprocessors(),
        })
    }

    /// Converts a part of the volume.
    ///
    /// # Safety
    /// Values and target are memory of this GPU, which is current, until the stream has passed the launch; so is this.
    pub(super) unsafe fn run(&self, part: &Part, stream: &Stream) -> Result<()> {
        let Code { dtype, limits, low, scale, floor, top, bins, bin_scale } = self.code;
        let [slices, ny, nx] = part.shape;
        let shared_bins = if bins <= MAX_SHARED_BINS { bins } else { 0 };
        let convert = Convert {
            volume: part.volume,
            target: part.target,
            strides: part.strides,
            spans: self.spans.as_ref().map_or(0, DeviceMemory::address),
            counts: self.counts.address(),
            limits,
            low,
            scale,
            floor,
            top,
            bin_scale,
            outside: self.outside,
            kind: stored_type(dtype),
            bins: bins as i32,
            shared_bins: shared_bins as i32,
            ny: ny as i32,
            nx: nx as i32,
            rows: (slices * ny) as i64,
        };
        let grid = [(slices * ny).min(self.blocks), 1, 1];
        let launch = Launch { grid, block: [THREADS, 1, 1], shared: shared_bins * size_of::<u32>() };
        // SAFETY: by this function's contract; the struct mirrors the kernel's.
        unsafe { self.kernel.launch(stream, launch, &convert) }
    }

    /// Tells the writer what has been counted; nothing is under way any more.
    pub(super) fn tell(&self, device: &Device, writer: &Writer) -> Result<()> {
        let mut counts = zeros::<u64>(2 + self.code.bins)?;
        device.read_into(self.counts.address(), &mut counts)?;
        writer.add([counts[0], counts[1]], &counts[2..]);
        Ok(())
    }
}

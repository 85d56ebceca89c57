//! Rows on their way from raw to packed, on a GPU. The structs mirror those of `kernels/ct/range.cu`.

use super::filter::{self, DeviceFilter};
use super::format::{Format, PackedRows, RawRows};
use super::state::{Scratch, State};
use isocenter_base::error::Result;
use isocenter_base::gpu::{DeviceMemory, Launch, Pinned, Stream, mirrored};

/// Mirrors `Range`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Range {
    raw: RawRows,
    largest: u64,
    first: u64,
    replaced: u64,
    view_weight: i64,
    slice_weight: i64,
    offset: i64,
}
mirrored!(Range, 120);

/// Mirrors `Report`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Report {
    largest: u64,
    findings: u64,
    host: u64,
    padded: i32,
}
mirrored!(Report, 32);

/// Mirrors `Scale`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Scale {
    largest: u64,
    up: u64,
    down: u64,
    bound: f32,
    half: i32,
    slices: i32,
    padded: i32,
}
mirrored!(Scale, 40);

/// What the host learns of a slab's data.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Findings {
    /// Index of the first value that is NaN or Inf, in the tensor's own order; u64::MAX if there is none.
    pub(super) first: u64,
    /// Values replaced by 0.
    pub(super) replaced: u64,
    /// Outliers replaced by the median of their neighbourhood.
    pub(super) outliers: u64,
}
mirrored!(Findings, 24);

impl Findings {
    pub(super) const NOTHING: Self = Self { first: u64::MAX, replaced: 0, outliers: 0 };
}

/// Weights of the indices in the caller's tensor, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexWeights {
    pub(super) view: i64,
    pub(super) slice: i64,
    pub(super) offset: i64,
}

/// One slab's rows on their way from raw to packed.
pub(super) struct Packing<'a> {
    pub(super) raw: RawRows,
    pub(super) format: Format,
    pub(super) filter: Option<&'a DeviceFilter>,
    /// What each view is multiplied by.
    pub(super) view_scale: u64,
    /// Filtered, weighted values are at most this times the largest value.
    pub(super) bound: f32,
    pub(super) indices: IndexWeights,
    /// Where packed rows go.
    pub(super) packed: u64,
    /// Where [`Findings`] go: on the device, and in page-locked host memory.
    pub(super) findings: &'a DeviceMemory,
    pub(super) found: &'a Pinned,
}

impl Packing<'_> {
    /// Looks for the largest values and for those that are no numbers, and tells the host.
    pub(super) fn look(&self, state: &State, scratch: &mut Scratch, stream: &Stream) -> Result<()> {
        let (views, slices) = (self.raw.views as usize, self.raw.slices as usize);
        let padded = self.format.groups(slices) * self.format.lanes;
        let device = &state.device;
        let kernels = state.kernels.rows(device)?;
        let largest = scratch.largest.take(device, 4 * padded)?.address();
        let findings = self.findings.address();
        let launch = Launch { grid: [1, 1, 1], block: [256, 1, 1], shared: 0 };
        // SAFETY: Report mirrors the kernel's struct; the buffers live until the stream is waited for.
        unsafe { kernels.begin.launch(stream, launch, &self.telling(largest, padded))? };
        let range = Range {
            raw: self.raw,
            largest,
            first: findings,
            replaced: findings + 8,
            view_weight: self.indices.view,
            slice_weight: self.indices.slice,
            offset: self.indices.offset,
        };
        // Enough blocks to fill the GPU, few enough that each has some views.
        let blocks = views.min((32 * device.multiprocessors()).div_ceil(slices));
        let launch = Launch { grid: [blocks, slices, 1], block: [256, 1, 1], shared: 0 };
        // SAFETY: as above.
        unsafe { kernels.range.launch(stream, launch, &range)? };
        self.tell(state, stream)
    }

    /// Tells the host what has been found so far.
    pub(super) fn tell(&self, state: &State, stream: &Stream) -> Result<()> {
        let launch = Launch { grid: [1, 1, 1], block: [1, 1, 1], shared: 0 };
        let report = self.telling(0, 0);
        // SAFETY: as above; page-locked memory has the same address on the device.
        unsafe { state.kernels.rows(&state.device)?.report.launch(stream, launch, &report) }
    }

    fn telling(&self, largest: u64, padded: usize) -> Report {
        let (findings, host) = (self.findings.address(), self.found.data().addr() as u64);
        Report { largest, findings, host, padded: padded as i32 }
    }

    /// Where outliers are counted.
    pub(super) fn outliers(&self) -> u64 {
        self.findings.address() + std::mem::offset_of!(Findings, outliers) as u64
    }

    /// Corrects, filters, weighs, converts and interleaves the rows; `scratch.down` undoes the slices' scales.
    pub(super) fn pack(&self, state: &State, scratch: &mut Scratch, stream: &Stream) -> Result<()> {
        let RawRows { views, slices, bins, .. } = self.raw;
        let (views, slices, bins) = (views as usize, slices as usize, bins as usize);
        let padded = self.format.groups(slices) * self.format.lanes;
        let device = &state.device;
        let largest = scratch.largest.address();
        let up = scratch.up.take(device, 4 * padded)?.address();
        let down = scratch.down.take(device, 4 * padded)?.address();
        let scale = Scale {
            largest,
            up,
            down,
            bound: self.bound,
            half: self.format.half.into(),
            slices: slices as i32,
            padded: padded as i32,
        };
        let launch = Launch { grid: [padded.div_ceil(128), 1, 1], block: [128, 1, 1], shared: 0 };
        // SAFETY: as above.
        unsafe { state.kernels.rows(device)?.scale.launch(stream, launch, &scale)? };

        let packed_rows = PackedRows {
            data: self.packed,
            view_scale: self.view_scale,
            slice_scale: up,
            views: views as i32,
            pitch: self.format.pitch(bins) as i32,
            lanes: self.format.lanes as i32,
            half: self.format.half.into(),
            split: self.format.split.into(),
            oversampling: self.format.oversampling as i32,
            zero: self.format.samples(bins).1 as i32,
        };
        filter::run(state, self.filter, self.raw, packed_rows, padded, &mut scratch.lines, stream)
    }
}

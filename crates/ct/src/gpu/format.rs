//! Rows on the GPU: raw ones as they were uploaded, and packed ones as a back projector reads them. The structs mirror those of
//! `kernels/ct/rows.cuh`.

use isocenter_base::array::DType;
use isocenter_base::gpu::mirrored;

/// Mirrors `RawRows`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRows {
    pub(super) data: u64,
    pub(super) view_stride: i64,
    pub(super) slice_stride: i64,
    pub(super) bin_stride: i64,
    pub(super) dark: u64,
    pub(super) gain: u64,
    pub(super) minimum: f32,
    pub(super) kind: i32,
    pub(super) views: i32,
    pub(super) slices: i32,
    pub(super) bins: i32,
    pub(super) transmission: i32,
}
mirrored!(RawRows, 72);

impl RawRows {
    /// Whether they are counts or transmissions, and no line integrals.
    pub(super) fn corrects(&self) -> bool {
        self.gain != 0 || self.transmission != 0
    }

    /// The same rows as line integrals of so many bins, (slice, view, bin), at an address.
    pub(super) fn replaced(self, data: u64, bins: usize) -> Self {
        Self {
            data,
            view_stride: bins as i64,
            slice_stride: i64::from(self.views) * bins as i64,
            bin_stride: 1,
            dark: 0,
            gain: 0,
            minimum: 1.0,
            kind: row_type(DType::F32),
            bins: bins as i32,
            transmission: 0,
            ..self
        }
    }
}

/// `RowType` of an element type.
pub(super) fn row_type(dtype: DType) -> i32 {
    match dtype {
        DType::F32 => 0,
        DType::U16 => 1,
        DType::U8 => 2,
        dtype => unreachable!("{dtype:?} is no type of projections"),
    }
}

/// Mirrors `PackedRows`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedRows {
    pub(super) data: u64,
    pub(super) view_scale: u64,
    pub(super) slice_scale: u64,
    pub(super) views: i32,
    pub(super) pitch: i32,
    pub(super) lanes: i32,
    pub(super) half: i32,
    pub(super) split: i32,
    pub(super) oversampling: i32,
    pub(super) zero: i32,
}
mirrored!(PackedRows, 56);

/// How packed rows are laid out: `[group][view][pitch][lanes]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Slices side by side: 1, 2, 4 or 8.
    pub(super) lanes: usize,
    /// f16 instead of f32.
    pub(super) half: bool,
    /// f16 in two parts, high and low: a group of each.
    pub(super) split: bool,
    /// Samples a bin.
    pub(super) oversampling: usize,
    /// Rows follow each other without gaps (one sample a bin).
    pub(super) tight: bool,
}

impl Format {
    /// Samples of a row, and samples before bin 0.
    pub(super) fn samples(&self, bins: usize) -> (usize, usize) {
        // The outermost samples lie between the edge bins and the zeros beyond them.
        let zero = self.oversampling - 1;
        (self.oversampling * bins + zero, zero)
    }

    /// Samples from one row to the next: aligned as textures need it whatever the texel, or none in between.
    pub(super) fn pitch(&self, bins: usize) -> usize {
        if self.tight { bins } else { self.samples(bins).0.next_multiple_of(128) }
    }

    /// Groups of `lanes` slices; an even number of slices, since rows are filtered in pairs.
    pub(super) fn groups(&self, slices: usize) -> usize {
        slices.next_multiple_of(2).div_ceil(self.lanes)
    }

    /// Bytes of the rows of some slices.
    pub(super) fn bytes(&self, slices: usize, views: usize, bins: usize) -> u64 {
        let element = if self.half { 2 } else { 4 } * if self.split { 2 } else { 1 };
        (self.groups(slices) * self.lanes) as u64 * views as u64 * self.pitch(bins) as u64 * element
    }
}

//! The matched pair of each subset, between vectors slice after slice.

use crate::array::DType;
use crate::ct::geometry::Geometry;
use crate::ct::gpu::adjoint::tents;
use crate::ct::gpu::case::{Arguments, Case, view_lines};
use crate::ct::gpu::filter;
use crate::ct::gpu::format::{Format, PackedRows, RawRows, row_type};
use crate::ct::gpu::forward::{self, DeviceForward, Slices};
use crate::ct::gpu::projector::Projector;
use crate::ct::gpu::state::{Slot, State};
use crate::ct::iterative::subsets::Subsets;
use crate::ct::options::Sampling;
use crate::error::Result;
use crate::gpu::{Device, DeviceMemory, Stream};
use std::sync::Arc;

/// One subset's.
#[derive(Debug)]
struct Pair {
    geometry: Geometry,
    /// Views of the subsets before it.
    first: usize,
    forward: DeviceForward,
    lines: DeviceMemory,
    tents: DeviceMemory,
}

/// Those of all subsets.
#[derive(Debug)]
pub(super) struct Pairs {
    pairs: Vec<Pair>,
    projector: Projector,
    views: usize,
    /// For views and slices that nothing scales.
    ones: DeviceMemory,
}

/// Packed rows as the adjoint reads them.
fn format(lanes: usize) -> Format {
    Projector::Adjoint { lanes }.format(Sampling::Linear)
}

/// Bytes of what the pair packs, of so many slices.
pub(super) fn packed_bytes(g: &Geometry, slices: usize, lanes: usize) -> u64 {
    forward::packed_bytes(g, slices, lanes).max(format(lanes).bytes(slices, g.views(), g.bins))
}

impl Pairs {
    /// For slabs of up to so many slices, `lanes` side by side.
    pub(super) fn new(device: &Arc<Device>, subsets: &Subsets, (slices, lanes): (usize, usize)) -> Result<Self> {
        let projector = Projector::Adjoint { lanes };
        let mut pairs = Vec::with_capacity(subsets.all().len());
        for subset in subsets.all() {
            let g = &subset.geometry;
            pairs.push(Pair {
                geometry: g.clone(),
                first: subset.first,
                forward: DeviceForward::new(device, g, lanes)?,
                lines: DeviceMemory::from_slice(device, &view_lines(g, &format(lanes), g.bins)?)?,
                tents: DeviceMemory::from_slice(device, &tents(g)?)?,
            });
        }
        let views: usize = subsets.all().iter().map(|s| s.views.len()).sum();
        let ones = DeviceMemory::from_slice(device, &vec![1.0f32; views.max(slices.next_multiple_of(8))])?;
        Ok(Self { pairs, projector, views, ones })
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// First and number of a subset's views.
    pub(super) fn views(&self, subset: usize) -> (usize, usize) {
        (self.pairs[subset].first, self.pairs[subset].geometry.views())
    }

    /// rows = A image of one subset; `packed` is what [`packed_bytes`] says.
    ///
    /// # Safety
    /// Vectors of so many slices on the device, until the stream has passed.
    pub(super) unsafe fn forward(
        &self,
        subset: usize,
        [image, rows, packed]: [u64; 3],
        count: usize,
        stream: &Stream,
    ) -> Result<()> {
        let Pair { geometry: g, first, forward, .. } = &self.pairs[subset];
        let slices = Slices {
            volume: image,
            volume_strides: [(g.ny * g.nx) as i64, g.nx as i64, 1],
            projections: rows + 4 * (first * g.bins) as u64,
            projection_strides: [g.bins as i64, (self.views * g.bins) as i64],
            count,
        };
        forward.run(g, &slices, packed, stream)
    }

    /// image = A^T rows of one subset.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn adjoint(
        &self,
        state: &mut State,
        lines: &mut Slot,
        subset: usize,
        [image, rows, packed]: [u64; 3],
        count: usize,
        stream: &Stream,
    ) -> Result<()> {
        let Pair { geometry: g, first, lines: view_lines, tents, .. } = &self.pairs[subset];
        let format = self.projector.format(Sampling::Linear);
        let raw = RawRows {
            data: rows + 4 * (first * g.bins) as u64,
            view_stride: g.bins as i64,
            slice_stride: (self.views * g.bins) as i64,
            bin_stride: 1,
            dark: 0,
            gain: 0,
            minimum: 1.0,
            kind: row_type(DType::F32),
            views: g.views() as i32,
            slices: count as i32,
            bins: g.bins as i32,
            transmission: 0,
        };
        let packed_rows = PackedRows {
            data: packed,
            view_scale: self.ones.address(),
            slice_scale: self.ones.address(),
            views: g.views() as i32,
            pitch: format.pitch(g.bins) as i32,
            lanes: format.lanes as i32,
            half: 0,
            split: 0,
            oversampling: 1,
            zero: format.samples(g.bins).1 as i32,
        };
        let padded = format.groups(count) * format.lanes;
        filter::run(state, None, raw, packed_rows, padded, lines, stream)?;
        let arguments = Arguments {
            data: packed,
            lines: view_lines.address(),
            scale: self.ones.address(),
            volume: image,
            slice_stride: (g.ny * g.nx) as i64,
            row_stride: g.nx as i64,
            views: g.views() as i32,
            bins: format.samples(g.bins).0 as i32,
            pitch: format.pitch(g.bins) as i32,
            slices: count as i32,
            nx: g.nx as i32,
            ny: g.ny as i32,
        };
        let shared = state.device.shared_bytes();
        let case = Case { geometry: g, sampling: Sampling::Linear, shared, tents: tents.address() };
        self.projector.launch(state, &case, arguments, stream)
    }
}

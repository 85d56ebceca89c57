//! The matched pair, Joseph's of each subset or the band-limited one, between vectors slice after slice.

use crate::geometry::Geometry;
use crate::gpu::adjoint::tents;
use crate::gpu::band_limited::{DeviceBandLimited, Sums, Volume, missing};
use crate::gpu::band_limited_sizes::BandLimitedSizes;
use crate::gpu::case::{Arguments, Case, view_lines};
use crate::gpu::filter;
use crate::gpu::format::{Format, PackedRows, RawRows, row_type};
use crate::gpu::forward::{self, DeviceForward, Slices};
use crate::gpu::projector::Projector;
use crate::gpu::state::{Slot, State};
use crate::iterative::Iteration;
use crate::options::Sampling;
use isocenter_base::array::DType;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Stream};
use std::sync::Arc;

/// Joseph's of one subset.
#[derive(Debug)]
struct Pair {
    geometry: Geometry,
    /// Views of the subsets before it.
    first: usize,
    forward: DeviceForward,
    lines: DeviceMemory,
    tents: DeviceMemory,
}

/// Of all subsets.
#[derive(Debug)]
enum Kind {
    Joseph {
        pairs: Vec<Pair>,
        projector: Projector,
    },
    /// Its tables are the GPU's.
    BandLimited,
}

/// What applies A and A^T.
#[derive(Debug)]
pub(super) struct Pairs {
    kind: Kind,
    geometry: Geometry,
    /// For views and slices that nothing scales.
    ones: DeviceMemory,
}

/// Rows as Joseph's adjoint reads them.
fn format(lanes: usize) -> Format {
    Projector::Adjoint { lanes }.format(Sampling::Linear)
}

/// Bytes of what the pair packs, of so many slices.
pub(super) fn packed_bytes(g: &Geometry, iteration: &Iteration, slices: usize, lanes: usize) -> u64 {
    match iteration.band_limited {
        None => forward::packed_bytes(g, slices, lanes).max(format(lanes).bytes(slices, g.views(), g.bins)),
        Some(_) => BandLimitedSizes::FORMAT.bytes(slices, g.views(), g.bins),
    }
}

/// Where the pair works, all of it on the device.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) image: u64,
    pub(super) rows: u64,
    /// [`packed_bytes`] of it.
    pub(super) packed: u64,
    /// Of band-limited sums.
    pub(super) workspace: u64,
}

impl Pairs {
    /// For slabs of up to so many slices, `lanes` side by side.
    pub(super) fn new(
        device: &Arc<Device>,
        (g, iteration): (&Geometry, &Iteration),
        (slices, lanes): (usize, usize),
    ) -> Result<Self> {
        let ones = DeviceMemory::from_slice(device, &vec![1.0f32; g.views().max(slices.next_multiple_of(8))])?;
        if iteration.band_limited.is_some() {
            return Ok(Self { kind: Kind::BandLimited, geometry: g.clone(), ones });
        }
        let subsets = iteration.subsets.all();
        let mut pairs = Vec::with_capacity(subsets.len());
        for subset in subsets {
            let g = &subset.geometry;
            pairs.push(Pair {
                geometry: g.clone(),
                first: subset.first,
                forward: DeviceForward::new(device, g, lanes)?,
                lines: DeviceMemory::from_slice(device, &view_lines(g, &format(lanes), g.bins)?)?,
                tents: DeviceMemory::from_slice(device, &tents(g)?)?,
            });
        }
        Ok(Self { kind: Kind::Joseph { pairs, projector: Projector::Adjoint { lanes } }, geometry: g.clone(), ones })
    }

    pub(super) fn len(&self) -> usize {
        match &self.kind {
            Kind::Joseph { pairs, .. } => pairs.len(),
            Kind::BandLimited => 1,
        }
    }

    /// First and number of a subset's views.
    pub(super) fn views(&self, subset: usize) -> (usize, usize) {
        match &self.kind {
            Kind::Joseph { pairs, .. } => (pairs[subset].first, pairs[subset].geometry.views()),
            Kind::BandLimited => (0, self.geometry.views()),
        }
    }

    /// rows = A image of one subset.
    ///
    /// # Safety
    /// Vectors of so many slices on the device, until the stream has passed.
    pub(super) unsafe fn forward(
        &self,
        state: &State,
        subset: usize,
        at: Places,
        count: usize,
        stream: &Stream,
    ) -> Result<()> {
        let Geometry { bins, nx, ny, .. } = self.geometry;
        let slices = Slices {
            volume: at.image,
            volume_strides: [(ny * nx) as i64, nx as i64, 1],
            projections: at.rows + 4 * (self.views(subset).0 * bins) as u64,
            projection_strides: [bins as i64, (self.geometry.views() * bins) as i64],
            count,
        };
        match &self.kind {
            Kind::Joseph { pairs, .. } => {
                let Pair { geometry, forward, .. } = &pairs[subset];
                forward.run(geometry, &slices, at.packed, stream)
            }
            // SAFETY: by this function's contract.
            Kind::BandLimited => unsafe { sums(state)?.forward(&slices, at.workspace, stream) },
        }
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
        at: Places,
        count: usize,
        stream: &Stream,
    ) -> Result<()> {
        let (first, views) = self.views(subset);
        let Geometry { bins, nx, ny, .. } = self.geometry;
        let format = match &self.kind {
            Kind::Joseph { projector, .. } => projector.format(Sampling::Linear),
            Kind::BandLimited => BandLimitedSizes::FORMAT,
        };
        let raw = RawRows {
            data: at.rows + 4 * (first * bins) as u64,
            view_stride: bins as i64,
            slice_stride: (self.geometry.views() * bins) as i64,
            bin_stride: 1,
            dark: 0,
            gain: 0,
            minimum: 1.0,
            kind: row_type(DType::F32),
            views: views as i32,
            slices: count as i32,
            bins: bins as i32,
            transmission: 0,
        };
        let packed_rows = PackedRows {
            data: at.packed,
            view_scale: self.ones.address(),
            slice_scale: self.ones.address(),
            views: views as i32,
            pitch: format.pitch(bins) as i32,
            lanes: format.lanes as i32,
            half: 0,
            split: 0,
            oversampling: 1,
            zero: format.samples(bins).1 as i32,
        };
        let padded = format.groups(count) * format.lanes;
        filter::run(state, None, raw, packed_rows, padded, lines, stream)?;
        let (slice_stride, row_stride) = ((ny * nx) as i64, nx as i64);
        let Kind::Joseph { pairs, projector } = &self.kind else {
            let volume = Volume { address: at.image, slice_stride, row_stride };
            // SAFETY: by this function's contract.
            return unsafe { sums(state)?.backproject(Sums::Adjoint, at.packed, volume, count, at.workspace, stream) };
        };
        let Pair { geometry: g, lines: view_lines, tents, .. } = &pairs[subset];
        let arguments = Arguments {
            data: at.packed,
            lines: view_lines.address(),
            scale: self.ones.address(),
            volume: at.image,
            slice_stride,
            row_stride,
            views: views as i32,
            bins: format.samples(bins).0 as i32,
            pitch: format.pitch(bins) as i32,
            slices: count as i32,
            nx: nx as i32,
            ny: ny as i32,
        };
        let shared = state.device.shared_bytes();
        let case = Case { geometry: g, sampling: Sampling::Linear, shared, tents: tents.address() };
        projector.launch(state, &case, arguments, stream)
    }
}

fn sums(state: &State) -> Result<&DeviceBandLimited> {
    state.band_limited.as_ref().ok_or_else(missing)
}

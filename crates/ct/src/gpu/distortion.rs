//! Frames without the detector's distortion, on a GPU. The struct mirrors that of `kernels/ct/distortion.cu`.

use super::state::State;
use crate::geometry::Geometry;
use crate::rows::distortion::{Distortion, MAX_RADIAL, Map};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Launch, Stream, mirrored};
use std::ops::Range;
use std::sync::Arc;

/// Mirrors `Distorted`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Distorted {
    frames: u64,
    to: u64,
    shifts: u64,
    middle: [f64; 2],
    turn: [f64; 2],
    centre: [f64; 2],
    perspective: [f64; 8],
    radial: [f64; MAX_RADIAL],
    rows: i32,
    bins: i32,
    views: i32,
    first: i32,
    count: i32,
    top: i32,
    has_perspective: i32,
    radial_count: i32,
    block: i32,
    logarithm: i32,
    minimum: f32,
    unused: i32,
}
mirrored!(Distorted, 264);

const TILE: usize = 256;
/// Views of a block, for which a pixel's place is found once.
const BLOCK: usize = 64;

/// Shifts of the views, which are all that is kept on the device.
#[derive(Debug)]
pub(super) struct DeviceDistortion {
    shifts: Option<DeviceMemory>,
}

/// What comes in: rows of the detector, (row, view, bin); and what goes out: others, likewise.
pub(super) struct Frames {
    pub(super) measured: u64,
    pub(super) there: Range<usize>,
    pub(super) to: u64,
    pub(super) wanted: Range<usize>,
    /// Line integrals of transmissions no smaller are wanted; None leaves values as they are.
    pub(super) minimum: Option<f32>,
}

impl DeviceDistortion {
    pub(super) fn new(device: &Arc<Device>, distortion: &Distortion) -> Result<Self> {
        let shifts = &distortion.shifts;
        Ok(Self { shifts: (!shifts.is_empty()).then(|| DeviceMemory::from_slice(device, shifts)).transpose()? })
    }

    /// Reads the pixels of frames where they were measured.
    pub(super) fn run(
        &self,
        state: &State,
        distortion: &Distortion,
        g: &Geometry,
        frames: &Frames,
        stream: &Stream,
    ) -> Result<()> {
        let Map { middle, turn, .. } = Map::new(distortion, [g.rows, g.bins]);
        let mut radial = [0.0; MAX_RADIAL];
        radial[..distortion.radial.len()].copy_from_slice(&distortion.radial);
        let arguments = Distorted {
            frames: frames.measured,
            to: frames.to,
            shifts: self.shifts.as_ref().map_or(0, DeviceMemory::address),
            middle,
            turn,
            centre: distortion.centre,
            perspective: distortion.perspective.unwrap_or_default(),
            radial,
            rows: g.rows as i32,
            bins: g.bins as i32,
            views: g.views() as i32,
            first: frames.there.start as i32,
            count: frames.there.len() as i32,
            top: frames.wanted.start as i32,
            has_perspective: distortion.perspective.is_some().into(),
            radial_count: distortion.radial.len() as i32,
            block: BLOCK as i32,
            logarithm: frames.minimum.is_some().into(),
            minimum: frames.minimum.unwrap_or(1.0),
            unused: 0,
        };
        let grid = [g.bins.div_ceil(TILE), frames.wanted.len(), g.views().div_ceil(BLOCK)];
        let kernel = state.kernels.distortion(&state.device)?;
        // SAFETY: Distorted mirrors the kernel's struct; the buffers live until the stream is waited for.
        unsafe { kernel.launch(stream, Launch { grid, block: [TILE, 1, 1], shared: 0 }, &arguments) }
    }
}

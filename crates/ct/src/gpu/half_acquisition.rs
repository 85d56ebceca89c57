//! The halves of a half acquisition on a GPU: launches of `kernels/ct/half_acquisition.cu`.

use super::format::RawRows;
use super::state::State;
use crate::rows::half_acquisition::{Halves, Rise};
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Launch, Stream, mirrored};
use std::sync::Arc;

/// Mirrors `Halves` in `kernels/ct/half_acquisition.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    raw: RawRows,
    rows: u64,
    axes: u64,
    scale: f64,
    bins: i32,
    first: i32,
    linear: i32,
    edge: i32,
}
mirrored!(Arguments, 112);

/// A call's half acquisition.
#[derive(Debug)]
pub(super) struct DeviceHalves {
    axes: DeviceMemory,
    scale: f64,
    bins: usize,
    first: usize,
    rise: Rise,
    edge: bool,
}

/// Widened rows of so many slices.
pub(super) fn bytes(halves: &Halves, slices: usize) -> u64 {
    4 * (slices * halves.geometry.views() * halves.geometry.bins) as u64
}

impl DeviceHalves {
    /// `edge` continues the detector's outer end.
    pub(super) fn new(device: &Arc<Device>, halves: &Halves, edge: bool) -> Result<Self> {
        let axes: Vec<f64> = collected((0..halves.geometry.views()).map(|view| halves.axis_of(view)))?;
        Ok(Self {
            axes: DeviceMemory::from_slice(device, &axes)?,
            scale: halves.scale(),
            bins: halves.geometry.bins,
            first: halves.first,
            rise: halves.rise,
            edge,
        })
    }

    /// Makes widened rows of line integrals, or of raw rows, at an address; gives them.
    pub(super) fn run(&self, state: &State, raw: RawRows, rows: u64, stream: &Stream) -> Result<RawRows> {
        let (views, bins) = (raw.views as usize, self.bins);
        let arguments = Arguments {
            raw,
            rows,
            axes: self.axes.address(),
            scale: self.scale,
            bins: bins as i32,
            first: self.first as i32,
            linear: (self.rise == Rise::Linear).into(),
            edge: self.edge.into(),
        };
        let grid = [bins.div_ceil(256), views.min(65535), raw.slices as usize];
        // SAFETY: Arguments mirrors the kernel's struct; the buffers live until the stream is waited for.
        unsafe {
            state.kernels.halves(&state.device)?.launch(
                stream,
                Launch { grid, block: [256, 1, 1], shared: 0 },
                &arguments,
            )?
        };
        Ok(raw.replaced(rows, bins))
    }
}

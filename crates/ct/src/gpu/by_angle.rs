//! Views into the order of their angles and back, on a GPU: launches of `stripes_move_views` in `kernels/ct/stripes.cu`.

use super::stripes::{Kernels, Sinograms, TILE};
use crate::rows::stripes::ByAngle;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Launch, Stream, mirrored};
use std::sync::Arc;

/// Mirrors `Moves` in `kernels/ct/stripes.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    sinograms: u64,
    moves: u64,
    count: i32,
    views: i32,
    bins: i32,
    unused: i32,
}
mirrored!(Arguments, 32);

/// Moves of rows, with their number.
#[derive(Debug)]
struct DeviceMoves {
    list: DeviceMemory,
    count: usize,
}

impl DeviceMoves {
    fn new(device: &Arc<Device>, moves: &[[u32; 2]]) -> Result<Self> {
        Ok(Self { list: DeviceMemory::from_slice(device, moves)?, count: moves.len() })
    }

    fn run(&self, kernels: &Kernels, s: &Sinograms, stream: &Stream) -> Result<()> {
        let arguments = Arguments {
            sinograms: s.address,
            moves: self.list.address(),
            count: self.count as i32,
            views: s.views as i32,
            bins: s.bins as i32,
            unused: 0,
        };
        let launch = Launch { grid: [s.bins.div_ceil(TILE), 1, s.slices], block: [TILE, 1, 1], shared: 0 };
        // SAFETY: Arguments mirrors the kernel's struct; the memory lives until the stream is waited for.
        unsafe { kernels.move_views.launch(stream, launch, &arguments) }
    }
}

/// A call's order of views.
#[derive(Debug)]
pub(super) struct DeviceOrder {
    there: DeviceMoves,
    back: DeviceMoves,
}

impl DeviceOrder {
    pub(super) fn new(device: &Arc<Device>, by_angle: &ByAngle) -> Result<Self> {
        let [there, back] = [&by_angle.there, &by_angle.back].map(|moves| DeviceMoves::new(device, moves));
        Ok(Self { there: there?, back: back? })
    }

    /// Puts views into the order of their angles.
    pub(super) fn there(&self, kernels: &Kernels, s: &Sinograms, stream: &Stream) -> Result<()> {
        self.there.run(kernels, s, stream)
    }

    /// Puts them back.
    pub(super) fn back(&self, kernels: &Kernels, s: &Sinograms, stream: &Stream) -> Result<()> {
        self.back.run(kernels, s, stream)
    }
}

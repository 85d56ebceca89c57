//! Launches `kernels/mri/direct_order.cu`.

use super::separable::Regions;
use crate::error::{Result, fail};
use crate::gpu::{Device, Launch, Stream, mirrored};

/// Places of a tile, tiles of a block, values of a digit.
const TILE: usize = 1024;
const WARPS: usize = 4;
const DIGITS: usize = 256;

/// Mirrors `DirectOrder`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct OrderArguments {
    places: u64,
    from: u64,
    to: u64,
    counts: u64,
    count: i64,
    tiles: i32,
    shift: i32,
}
mirrored!(OrderArguments, 48);

/// Sorts places by cell, always to the same order.
#[derive(Debug)]
pub(super) struct Order {
    count: usize,
    /// Offsets in the workspace.
    orders: [usize; 2],
    counts: usize,
}

impl Order {
    pub(super) fn new(count: usize, regions: &mut Regions) -> Result<Self> {
        if count > i32::MAX as usize {
            fail!(OutOfRange, "{count} voxels or samples: at most {} are summed in single precision", i32::MAX);
        }
        let orders = [(); 2].map(|()| regions.add(4 * count));
        let counts = regions.add(4 * DIGITS * count.div_ceil(TILE));
        Ok(Self { count, orders, counts })
    }

    /// The address of the order of integer places.
    ///
    /// # Safety
    /// The places and the workspace are valid until the stream has passed the launches; the GPU is current.
    pub(super) unsafe fn run(&self, device: &Device, places: u64, workspace: u64, stream: &Stream) -> Result<u64> {
        let tiles = self.count.div_ceil(TILE);
        let [first, last] = self.orders.map(|offset| workspace + offset as u64);
        // A cell's number has 15 bits.
        for (from, to, shift) in [(0, first, 0), (first, last, 8)] {
            let arguments = OrderArguments {
                places,
                from,
                to,
                counts: workspace + self.counts as u64,
                count: self.count as i64,
                tiles: tiles as i32,
                shift,
            };
            let each = Launch { grid: [tiles.div_ceil(WARPS), 1, 1], block: [32 * WARPS, 1, 1], shared: 0 };
            let one = Launch { grid: [1; 3], block: [1024, 1, 1], shared: 0 };
            for (name, launch) in [("count", each), ("scan", one), ("move", each)] {
                let function = device.function("mri/direct_order", &format!("direct_order_{name}"))?;
                // SAFETY: by this function's contract; the struct mirrors the kernel's.
                unsafe { function.launch(stream, launch, &arguments)? };
            }
        }
        Ok(last)
    }
}

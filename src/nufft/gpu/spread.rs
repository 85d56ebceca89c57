//! Launches `kernels/nufft/spread.cu`.

use super::sort::Points;
use super::tile::{Precision, Spreading};
use crate::error::{Result, fail};
use crate::gpu::{DeviceMemory, Launch, Stream};

const IMAGE: &str = "nufft/spread";

/// Mirrors `Spread`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SpreadArguments {
    points: u64,
    order: u64,
    parts: u64,
    coefficients: u64,
    values: u64,
    value_stride: i64,
    tiles: u64,
    coils: i32,
}

/// Mirrors `Sum`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SumArguments {
    tiles: u64,
    first_part: u64,
    grid: u64,
    size: [i32; 3],
    tile_count: [i32; 3],
    parts: i32,
    coils: i32,
}

impl<T: Precision> Spreading<T> {
    /// Bytes of the tiles that [`Self::spread`] sums, for the coils that it takes at once.
    pub(crate) fn tile_bytes(&self, points: &Points<T>) -> usize {
        points.part_count * self.tile.count * 2 * size_of::<T>()
    }

    /// `grid[coil][z][y][x]` = sum over the points of value times function; values `[coil][value_stride]`. `tiles` holds
    /// [`Self::tile_bytes`], once or several times.
    ///
    /// # Safety
    /// Values and grid are valid device memory of this GPU until the stream is there, and so is all that is passed.
    pub(crate) unsafe fn spread(
        &self,
        points: &Points<T>,
        values: u64,
        value_stride: usize,
        grid: u64,
        coils: usize,
        tiles: &DeviceMemory,
        stream: &Stream,
    ) -> Result<()> {
        let (need, complex) = (self.tile_bytes(points), 2 * size_of::<T>());
        if tiles.bytes() < need {
            fail!(Internal, "tiles take {need} bytes, got {}", tiles.bytes());
        }
        let _current = self.device.enter()?;
        let spread = self.device.function(IMAGE, &self.kernel("spread"))?;
        let sum = self.device.function(IMAGE, &self.kernel("sum"))?;
        let together = self.coils_at_once();
        // Blocks along the second dimension, as many as there is room for.
        let groups = (tiles.bytes() / need).min(MAX_GROUPS);
        let passes = if self.dims == 3 { self.window / self.tile.planes_at_once } else { 1 };
        for first in (0..coils).step_by(groups * together) {
            let some = (coils - first).min(groups * together);
            let arguments = SpreadArguments {
                points: points.points.address(),
                order: points.order.address(),
                parts: points.parts.address(),
                coefficients: self.coefficients.address(),
                values: values + (first * value_stride * complex) as u64,
                value_stride: value_stride as i64,
                tiles: tiles.address(),
                coils: some as i32,
            };
            let launch = Launch {
                grid: [points.part_count, some.div_ceil(together), passes],
                block: [self.tile.threads(), 1, 1],
                shared: self.spread_shared(),
            };
            // SAFETY: SpreadArguments mirrors the kernel's struct; the rest by this function's contract.
            unsafe { spread.launch(stream, launch, &arguments)? };
            let counts = self.tiles();
            let arguments = SumArguments {
                tiles: tiles.address(),
                first_part: points.first_part.address(),
                grid: grid + (first * self.size.iter().product::<usize>() * complex) as u64,
                size: self.size.map(|n| n as i32),
                tile_count: counts.map(|n| n as i32),
                parts: points.part_count as i32,
                coils: some as i32,
            };
            let grid = [counts.iter().product::<usize>() * self.tile.sum_blocks(self.dims), some.div_ceil(together), 1];
            // SAFETY: SumArguments mirrors the kernel's struct; as above.
            unsafe { sum.launch(stream, Launch { grid, block: [256, 1, 1], shared: 0 }, &arguments)? };
        }
        Ok(())
    }
}

/// Limit of a launch's second dimension.
const MAX_GROUPS: usize = 65535;

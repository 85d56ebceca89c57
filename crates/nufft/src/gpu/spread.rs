//! Launches `kernels/nufft/spread.cu`.

use super::sort::SortedPoints;
use super::spreading::Spreading;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{DeviceMemory, DeviceReal, Launch, Stream, mirrored};

/// Mirrors `Spread`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SpreadArguments {
    points: u64,
    order: u64,
    part_list: u64,
    coefficients: u64,
    values: u64,
    value_stride: i64,
    tiles: u64,
    coils: i32,
    first_part: i32,
    parts: i32,
}
mirrored!(SpreadArguments, 72);

/// Mirrors `Sum`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SumArguments {
    tiles: u64,
    first_part: u64,
    grid: u64,
    size: [i32; 3],
    tile_count: [i32; 3],
    first_tile: i32,
    first_slot: i32,
    slots: i32,
    parts: i32,
    coils: i32,
}
mirrored!(SumArguments, 72);

/// Layers of tiles that are made together, and the parts that reach into them, which may go round the end.
#[derive(Clone, Copy, Debug)]
struct Slab {
    layers: (usize, usize),
    first_part: usize,
    parts: usize,
}

/// `[coil][coil_stride]` complex values on the device.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    pub address: u64,
    pub coil_stride: usize,
}

impl<T: DeviceReal> Spreading<T> {
    /// Bytes of the tiles that [`Self::spread`] sums, for the coils that it takes at once: the minimum, and
    /// what lets it do all in one go.
    pub(super) fn tile_bytes(&self, points: &SortedPoints<T>) -> (usize, usize) {
        let each = self.tile.count * 2 * size_of::<T>();
        let layers = self.tiles()[2];
        let minimum = (0..layers).map(|z| self.slab(points, z, z + 1).parts).max().unwrap_or(0);
        (minimum * each, points.part_count * each)
    }

    fn slab(&self, points: &SortedPoints<T>, begin: usize, end: usize) -> Slab {
        let layers = self.tiles()[2];
        let part = |layer: usize| points.layers[layer];
        let all = Slab { layers: (begin, end), first_part: 0, parts: points.part_count };
        // Layers before the first that reach into it.
        let (mut first, mut distance, mut count) = (begin, 0, end - begin);
        loop {
            let previous = first.checked_sub(1).unwrap_or(layers - 1);
            distance += self.tile.own[2].min(self.size[2] - previous * self.tile.own[2]);
            if self.dims == 2 || distance >= self.tile.planes {
                break;
            }
            (first, count) = (previous, count + 1);
            if count >= layers {
                return all;
            }
        }
        let parts = if first < end { part(end) - part(first) } else { points.part_count - part(first) + part(end) };
        Slab { first_part: part(first), parts, ..all }
    }

    /// The grid in slabs for which there is room.
    fn slabs(&self, points: &SortedPoints<T>, room: usize) -> Result<Vec<Slab>> {
        let (layers, mut begin) = (self.tiles()[2], 0);
        let mut slabs = Vec::new();
        while begin < layers {
            let fitting = (begin + 1..=layers).map(|end| self.slab(points, begin, end)).take_while(|s| s.parts <= room);
            let Some(slab) = fitting.last() else {
                fail!(Internal, "no room for the tiles of a single layer");
            };
            begin = slab.layers.1;
            slabs.push(slab);
        }
        Ok(slabs)
    }

    /// `grid[coil][z][y][x]` = sum over the points of value times function. `tiles` has at least the minimum
    /// of [`Self::tile_bytes`]; with more it goes faster, with several times what is for one go it takes several coils at once. What it
    /// has does not change the result.
    ///
    /// # Safety
    /// Values and grid are valid device memory of this GPU until the stream is there, and so is all that is passed.
    pub(super) unsafe fn spread(
        &self,
        points: &SortedPoints<T>,
        values: Values,
        grid: u64,
        coils: usize,
        tiles: &DeviceMemory,
        stream: &Stream,
    ) -> Result<()> {
        let complex = 2 * size_of::<T>();
        let room = tiles.bytes() / (self.tile.count * complex);
        let slabs = self.slabs(points, room)?;
        let _current = self.device.enter()?;
        let together = self.coils_at_once();
        // Blocks along the second dimension.
        let groups = (room / points.part_count).clamp(1, MAX_GROUPS);
        let passes = if self.dims == 3 { self.window / self.tile.planes_at_once } else { 1 };
        let counts = self.tiles();
        for first in (0..coils).step_by(groups * together) {
            let some = (coils - first).min(groups * together);
            for slab in &slabs {
                let arguments = SpreadArguments {
                    points: points.points.address(),
                    order: points.order.address(),
                    part_list: points.parts.address(),
                    coefficients: self.coefficients.address(),
                    values: values.address + (first * values.coil_stride * complex) as u64,
                    value_stride: values.coil_stride as i64,
                    tiles: tiles.address(),
                    coils: some as i32,
                    first_part: slab.first_part as i32,
                    parts: points.part_count as i32,
                };
                let launch = Launch {
                    grid: [slab.parts, some.div_ceil(together), passes],
                    block: [self.tile.threads(), 1, 1],
                    shared: self.spread_shared(),
                };
                if slab.parts > 0 {
                    // SAFETY: SpreadArguments mirrors the kernel's struct; the rest by this function's contract.
                    unsafe { self.kernels.spread.launch(stream, launch, &arguments)? };
                }
                let layer = counts[0] * counts[1];
                let arguments = SumArguments {
                    tiles: tiles.address(),
                    first_part: points.first_part.address(),
                    grid: grid + (first * self.size.iter().product::<usize>() * complex) as u64,
                    size: self.size.map(|n| n as i32),
                    tile_count: counts.map(|n| n as i32),
                    first_tile: (slab.layers.0 * layer) as i32,
                    first_slot: slab.first_part as i32,
                    slots: slab.parts as i32,
                    parts: points.part_count as i32,
                    coils: some as i32,
                };
                let blocks = (slab.layers.1 - slab.layers.0) * layer * self.tile.sum_blocks(self.dims);
                let launch = Launch { grid: [blocks, some.div_ceil(together), 1], block: [256, 1, 1], shared: 0 };
                // SAFETY: SumArguments mirrors the kernel's struct; as above.
                unsafe { self.kernels.sum.launch(stream, launch, &arguments)? };
            }
        }
        Ok(())
    }
}

/// Limit of a launch's second dimension.
const MAX_GROUPS: usize = 65535;

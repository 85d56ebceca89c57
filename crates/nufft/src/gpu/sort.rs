//! Launches `kernels/nufft/sort.cu`.

use super::spreading::Spreading;
use super::tile::part_limit;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{
    DeviceMemory, DeviceReal, Image, Launch, Pairs, RadixSort, Regions, Rows, Scan, Stream, clear_device, mirrored,
};
use std::marker::PhantomData;

const IMAGE: &Image = &crate::images::SORT;
const THREADS: usize = 256;
/// Bytes of a `Part`.
const PART_BYTES: usize = 20;

/// Kernels look a little further, in 32 bits.
const MAX_POINTS: usize = i32::MAX as usize - 4096;

/// Coordinates of points on the device, f64, in cycles per voxel from -0.5 to 0.5: f32 would err by 1e-5 radians at 100 voxels.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates {
    /// Addresses of x, y, z; z is not used in two dimensions.
    pub axes: [u64; 3],
    /// From point to point, in elements.
    pub stride: i64,
    pub count: usize,
}

/// Mirrors `Locate`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct LocateArguments {
    coordinates: [u64; 3],
    stride: i64,
    count: i32,
    dims: i32,
    width: i32,
    size: [i32; 3],
    tile: [i32; 3],
    tile_count: [i32; 3],
    cell: i32,
    cells: [i32; 3],
    keys: u64,
    order: u64,
    bad: u64,
    points: u64,
}
mirrored!(LocateArguments, 128);

/// Mirrors `Parts`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PartsArguments {
    keys: u64,
    first_point: u64,
    first_part: u64,
    parts: u64,
    count: i32,
    tiles: i32,
    cells: i32,
    limit: i32,
    tile: [i32; 3],
    tile_count: [i32; 2],
}
mirrored!(PartsArguments, 72);

/// Points sorted by tile and cell, on the device.
#[derive(Debug)]
pub(super) struct SortedPoints<T> {
    pub(super) points: DeviceMemory,
    /// Where each of them was.
    pub(super) order: DeviceMemory,
    /// Neighbours of one tile that a block takes.
    pub(super) parts: DeviceMemory,
    pub(super) part_count: usize,
    /// Of each tile, and one more.
    pub(super) first_part: DeviceMemory,
    /// The same of each layer of tiles (z), on the host.
    pub(super) layers: Vec<usize>,
    precision: PhantomData<T>,
}

impl<T: DeviceReal> SortedPoints<T> {
    pub(super) fn bytes(&self) -> u64 {
        (self.points.bytes() + self.order.bytes() + self.parts.bytes() + self.first_part.bytes()) as u64
    }

    /// Sorts points for spreading; reads the coordinates in the stream's order, and is done with them on return.
    ///
    /// # Safety
    /// The coordinates are valid device memory of the spreading's GPU.
    pub(super) unsafe fn new(s: &Spreading<T>, at: &Coordinates, stream: &Stream) -> Result<Self> {
        let count = at.count;
        if !(1..=MAX_POINTS).contains(&count) {
            fail!(OutOfRange, "{count} points; between 1 and {MAX_POINTS} can be transformed on a GPU");
        }
        let device = &s.device;
        let _current = device.enter()?;
        let (tile, tiles) = (s.tile.own, s.tiles());
        let tile_total: usize = tiles.iter().product();
        if tile_total >= i32::MAX as usize {
            fail!(OutOfRange, "a fine grid of {:?} points is too large for the GPU", s.size);
        }
        let cell = s.window + 1 - s.width;
        let mut cells = tile.map(|n| n.div_ceil(cell));
        let mut bins = cells.iter().product::<usize>() as u64 * tile_total as u64;
        if bins > 1 << 32 {
            (cells, bins) = ([1; 3], tile_total as u64);
        }

        let bits = (u64::BITS - (bins - 1).leading_zeros()) as usize;
        let (points, order) =
            (DeviceMemory::new(device, count * 4 * size_of::<T>())?, DeviceMemory::new(device, count * 4)?);
        let first_part = DeviceMemory::new(device, (tile_total + 1) * 4)?;
        // What is of no use afterwards, in one piece: the driver takes its time for each.
        let mut scratch = Regions::default();
        let keys = [scratch.add(count * 4), scratch.add(count * 4)];
        let other = scratch.add(count * 4);
        let sorting = scratch.add(RadixSort::scratch_bytes(count));
        let first_point = scratch.add((tile_total + 1) * 4);
        let sums = scratch.add(Scan::scratch_bytes(tile_total + 1));
        let bad = scratch.add(4);
        let memory = DeviceMemory::new(device, scratch.bytes())?;
        let at_scratch = |offset: usize| memory.address() + offset as u64;
        let keys = keys.map(at_scratch);
        // The sort ends in the order that is kept.
        let mut orders = [order.address(), at_scratch(other)];
        let sorted = usize::from(RadixSort::ends_in_second(bits));
        orders.swap(0, sorted);

        let mut locate = LocateArguments {
            coordinates: at.axes,
            stride: at.stride,
            count: count as i32,
            dims: s.dims as i32,
            width: s.width as i32,
            size: s.size.map(|n| n as i32),
            tile: tile.map(|n| n as i32),
            tile_count: tiles.map(|n| n as i32),
            cell: cell as i32,
            cells: cells.map(|n| n as i32),
            keys: keys[0],
            order: orders[0],
            bad: at_scratch(bad),
            points: points.address(),
        };
        let mut list = PartsArguments {
            keys: keys[sorted],
            first_point: at_scratch(first_point),
            first_part: first_part.address(),
            parts: 0,
            count: count as i32,
            tiles: tile_total as i32,
            cells: cells.iter().product::<usize>() as i32,
            limit: part_limit(count) as i32,
            tile: tile.map(|n| n as i32),
            tile_count: [tiles[0] as i32, tiles[1] as i32],
        };
        let each = |n: usize| Launch { grid: [n.div_ceil(THREADS), 1, 1], block: [THREADS, 1, 1], shared: 0 };
        let kernel = |name: &str| device.function(IMAGE, name);
        let of_real = |name: &str| kernel(&format!("{name}_{}", T::PRECISION.suffix()));
        let pairs = [0, 1].map(|k| Pairs { keys: keys[k], values: orders[k] });
        // SAFETY: the structs mirror the kernels'; everything lives until the stream is waited for below.
        unsafe {
            clear_device(at_scratch(bad), 4, stream)?;
            of_real("keys")?.launch(stream, each(count), &locate)?;
        }
        let bad = !read(Rows { address: at_scratch(bad), pitch: 4, bytes: 4, count: 1 }, stream)?[0];
        if bad != u32::MAX {
            fail!(OutOfRange, "point {bad} is NaN or not within -0.5 to 0.5 cycles per voxel");
        }
        // SAFETY: as above.
        unsafe {
            RadixSort::new(device)?.run(pairs, count, bits, at_scratch(sorting), stream)?;
            locate.order = order.address();
            of_real("points")?.launch(stream, each(count), &locate)?;
            kernel("count_parts")?.launch(stream, each(tile_total + 1), &list)?;
            Scan::new(device)?.run(first_part.address(), tile_total + 1, at_scratch(sums), stream)?;
        }
        let layers =
            Rows { address: first_part.address(), pitch: tiles[0] * tiles[1] * 4, bytes: 4, count: tiles[2] + 1 };
        let layers: Vec<usize> = read(layers, stream)?.into_iter().map(|n| n as usize).collect();
        let part_count = layers[tiles[2]];
        let parts = DeviceMemory::new(device, part_count * PART_BYTES)?;
        list.parts = parts.address();
        // SAFETY: as above; the wait ends the use of what is freed here.
        unsafe { kernel("list_parts")?.launch(stream, each(tile_total), &list)? };
        stream.synchronize()?;
        Ok(Self { points, order, parts, part_count, first_part, layers, precision: PhantomData })
    }
}

/// Numbers from the device, one a row, after the stream's work.
fn read(rows: Rows, stream: &Stream) -> Result<Vec<u32>> {
    let mut numbers = vec![0u32; rows.count];
    // SAFETY: four bytes a row on either side, waited for.
    unsafe { rows.download(numbers.as_mut_ptr().addr() as u64, 4, stream)? };
    stream.synchronize()?;
    Ok(numbers)
}

//! Sums over points that lie evenly on straight lines through the origin, onto a fine grid and from it: launches `kernels/nufft/lines.cu`
//! and `kernels/nufft/line_values.cu`.

use super::line_choice::LineChoice;
use super::line_images::{MANY_IMAGES, MAX_IMAGES};
use super::line_lists::{LineLists, TILE};
use crate::course::Course;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, DeviceMemory, Function, Image, Launch, Stream, mirrored};
use std::sync::Arc;

/// As in the kernels.
const MARGIN: usize = 4;
const TAPS: usize = 16 + 2 * MARGIN;
const MAX_DEGREE: usize = 20;

/// Mirrors `Course`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct DeviceCourse {
    first: i32,
    last: i32,
    offset: i32,
}
mirrored!(DeviceCourse, 12);

impl DeviceCourse {
    fn new(course: Course) -> Self {
        Self { first: course.first(), last: course.last(), offset: (2.0 * course.shift()) as i32 }
    }
}

/// Mirrors `Spread`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SpreadArguments {
    items: u64,
    ranges: u64,
    directions: u64,
    coefficients: u64,
    values: u64,
    grid: u64,
    parts: u64,
    course: DeviceCourse,
    directions_count: i32,
    width: i32,
    degree: i32,
    size: [i32; 2],
    images: i32,
    reach: f32,
    unused: i32,
}
mirrored!(SpreadArguments, 104);

/// Mirrors `Values`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct ValuesArguments {
    items: u64,
    ranges: u64,
    directions: u64,
    coefficients: u64,
    grid: u64,
    values: u64,
    course: DeviceCourse,
    directions_count: i32,
    width: i32,
    degree: i32,
    size: [i32; 2],
    images: i32,
    slack: f32,
    unused: i32,
}
mirrored!(ValuesArguments, 96);

/// Mirrors `Sum`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct SumArguments {
    tiles: u64,
    parts: u64,
    grid: u64,
    size: [i32; 2],
    images: i32,
    unused: i32,
}
mirrored!(SumArguments, 40);

/// Lines on a fine grid, ready for sums.
#[derive(Debug)]
pub struct DeviceLines {
    /// Points of the fine grid along y, x.
    grid: [usize; 2],
    lines: usize,
    course: Course,
    width: usize,
    degree: usize,
    slack: f32,
    directions: DeviceMemory,
    ranges: DeviceMemory,
    items: DeviceMemory,
    tiles: DeviceMemory,
    coefficients: DeviceMemory,
    /// Of items, and of tiles made of parts.
    counts: [usize; 2],
    /// Of many images, some, few.
    spread: [Function; 3],
    sum: Function,
    values: [Function; 3],
}

/// A kernel, images and threads of its blocks, and blocks of a tile.
struct Shape {
    name: &'static str,
    images: usize,
    blocks: usize,
    threads: usize,
}

const SPREAD: [Shape; 3] = [
    Shape { name: "lines_64", images: MAX_IMAGES, blocks: 4, threads: 128 },
    Shape { name: "lines_8", images: 8, blocks: 1, threads: 128 },
    Shape { name: "lines_2", images: 2, blocks: 1, threads: 128 },
];
const VALUES: [Shape; 3] = [
    Shape { name: "line_values_32", images: 32, blocks: 4, threads: 128 },
    Shape { name: "line_values_8", images: 8, blocks: 1, threads: 128 },
    Shape { name: "line_values_2", images: 2, blocks: 1, threads: 128 },
];
/// Points whose taps such a block has in shared memory.
const POINTS: usize = 64;

impl Shape {
    fn launch(&self, items: usize, images: usize) -> Launch {
        let grid = [items * self.blocks, images.div_ceil(self.images), 1];
        Launch { grid, block: [self.threads, 1, 1], shared: 0 }
    }
}

fn functions(device: &Device, image: &'static Image, [many, some, few]: &[Shape; 3]) -> Result<[Function; 3]> {
    let function = |shape: &Shape| device.function(image, shape.name);
    Ok([function(many)?, function(some)?, function(few)?])
}

impl DeviceLines {
    pub fn new(device: &Arc<Device>, lists: &LineLists, choice: &LineChoice) -> Result<Self> {
        let LineLists { directions, course, slack, lists } = lists;
        let kernel = &choice.kernel;
        let (width, degree) = (kernel.width(), kernel.degree());
        if degree > MAX_DEGREE {
            fail!(Internal, "polynomials of degree {degree}");
        }
        let mut table = vec![0.0f32; (degree + 1) * TAPS];
        for (row, from) in table.chunks_exact_mut(TAPS).zip(kernel.coefficients().chunks_exact(width)) {
            row[MARGIN..].iter_mut().zip(from).for_each(|(to, v)| *to = *v as f32);
        }
        Ok(Self {
            grid: choice.grid,
            lines: directions.len(),
            course: *course,
            width,
            degree,
            slack: *slack as f32,
            directions: DeviceMemory::from_slice(device, directions)?,
            ranges: DeviceMemory::from_slice(device, &lists.ranges)?,
            items: DeviceMemory::from_slice(device, &lists.items)?,
            tiles: DeviceMemory::from_slice(device, &lists.tiles)?,
            coefficients: DeviceMemory::from_slice(device, &table)?,
            counts: [lists.items.len(), lists.tiles.len()],
            spread: functions(device, &crate::images::LINES, &SPREAD)?,
            sum: device.function(&crate::images::LINES, "lines_sum")?,
            values: functions(device, &crate::images::LINE_VALUES, &VALUES)?,
        })
    }

    /// `grid[y][x][image]` = sum over the points of `values[line][point][image]` times the spreading function.
    ///
    /// # Safety
    /// All are device memory for an even number of images, `parts` of [`LineLists::part_bytes`], until the stream has passed this; the GPU is
    /// current.
    pub unsafe fn spread(&self, values: u64, grid: u64, parts: u64, images: usize, stream: &Stream) -> Result<()> {
        let size = self.size(images)?;
        let arguments = SpreadArguments {
            items: self.items.address(),
            ranges: self.ranges.address(),
            directions: self.directions.address(),
            coefficients: self.coefficients.address(),
            values,
            grid,
            parts,
            course: DeviceCourse::new(self.course),
            directions_count: self.lines as i32,
            width: self.width as i32,
            degree: self.degree as i32,
            size,
            images: images as i32,
            reach: 0.5 * self.width as f32 + self.slack,
            unused: 0,
        };
        // Blocks of many count pairs of images in 32 bits.
        let pairs = (self.lines * self.course.points) as u64 * (images / 2) as u64;
        let which = if images > MANY_IMAGES && u32::try_from(pairs).is_ok() { 0 } else { usize::from(images <= 2) + 1 };
        let launch = SPREAD[which].launch(self.counts[0], images);
        // SAFETY: SpreadArguments mirrors the kernel's struct; the rest by this function's contract.
        unsafe { self.spread[which].launch(stream, launch, &arguments)? };
        if self.counts[1] == 0 {
            return Ok(());
        }
        let arguments =
            SumArguments { tiles: self.tiles.address(), parts, grid, size, images: images as i32, unused: 0 };
        let launch = Launch { grid: [self.counts[1], TILE, 1], block: [256, 1, 1], shared: 0 };
        // SAFETY: as above.
        unsafe { self.sum.launch(stream, launch, &arguments) }
    }

    /// `values[line][point][image]` = sum over `grid[y][x][image]` times the spreading function about the points: the transpose of `spread`.
    ///
    /// # Safety
    /// Both are device memory for an even number of images until the stream has passed this; the GPU is current.
    pub unsafe fn interpolate(&self, grid: u64, values: u64, images: usize, stream: &Stream) -> Result<()> {
        let arguments = ValuesArguments {
            items: self.items.address(),
            ranges: self.ranges.address(),
            directions: self.directions.address(),
            coefficients: self.coefficients.address(),
            grid,
            values,
            course: DeviceCourse::new(self.course),
            directions_count: self.lines as i32,
            width: self.width as i32,
            degree: self.degree as i32,
            size: self.size(images)?,
            images: images as i32,
            slack: self.slack,
            unused: 0,
        };
        // Blocks of many cost as much where they are half empty.
        let which = if images > 12 { 0 } else { usize::from(images <= 2) + 1 };
        let shape = &VALUES[which];
        // As in the kernel: a part of the grid as wide as the function more than its own; a place and taps of points.
        let side = TILE / shape.blocks.isqrt() + self.width;
        let shared = side * side * shape.images * 8 + POINTS * (16 + 4 * (2 * (self.width + 2) + 1));
        let launch = Launch { shared, ..shape.launch(self.counts[0], images) };
        // SAFETY: ValuesArguments mirrors the kernel's struct; the rest by this function's contract.
        unsafe { self.values[which].launch(stream, launch, &arguments) }
    }

    /// Of the grid along x, y, for kernels that take images in pairs.
    fn size(&self, images: usize) -> Result<[i32; 2]> {
        if !images.is_multiple_of(2) {
            fail!(Internal, "{images} images side by side");
        }
        Ok([self.grid[1] as i32, self.grid[0] as i32])
    }
}

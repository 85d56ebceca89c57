//! Launches `kernels/ct/forward.cu`.

use crate::geometry::Geometry;
use crate::ray::{Axis, Ray};
use isocenter_base::cpu::buffer::{append, collected};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Function, Launch, Stream, mirrored};
use std::f64::consts::PI;
use std::sync::Arc;

/// Lines of the volume in shared memory at a time, twice; and shared memory that the kernels may use on every GPU.
const LINES: usize = 8;
const SHARED: usize = 99 << 10;
/// Side of the tiles that packing works on.
const TILE: usize = 32;

/// Mirrors `Ray`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct DeviceRay {
    origin: f64,
    along: f64,
    across: f64,
    step: f32,
    view: i32,
}
mirrored!(DeviceRay, 32);

/// Mirrors `Forward`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    volume: u64,
    rays: u64,
    projections: u64,
    slice_stride: i64,
    view_stride: i64,
    ray_count: i32,
    bins: i32,
    slices: i32,
    lines: i32,
    samples: i32,
    width: i32,
}
mirrored!(Arguments, 64);

/// Mirrors `PackVolume`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct PackArguments {
    volume: u64,
    slice_stride: i64,
    row_stride: i64,
    column_stride: i64,
    packed: u64,
    slices: i32,
    nx: i32,
    ny: i32,
}
mirrored!(PackArguments, 56);

/// A slab's volume and projections on the device; strides in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slices {
    pub(super) volume: u64,
    /// Of slices, rows and columns.
    pub(super) volume_strides: [i64; 3],
    pub(super) projections: u64,
    /// Of views and slices; bins follow each other.
    pub(super) projection_strides: [i64; 2],
    pub(super) count: usize,
}

/// How the views of one direction are launched.
#[derive(Debug)]
struct Rays {
    rays: DeviceMemory,
    count: usize,
    /// Wider strips of fewer views.
    sparse: bool,
    /// Samples of a line that shared memory holds.
    width: usize,
    /// Packs the volume for them.
    pack: Function,
    kernel: Function,
}

/// A forward projection made ready for slabs of so many slices side by side.
#[derive(Debug)]
pub(super) struct DeviceForward {
    lanes: usize,
    rays: [Option<Rays>; 2],
}

/// Slices side by side: as many as there are, up to four.
pub(super) fn lanes(slices: usize) -> usize {
    [1, 2, 4, 4].get(slices.saturating_sub(1)).copied().unwrap_or(4)
}

/// Bytes of the packed volume of some slices.
pub(super) fn packed_bytes(g: &Geometry, slices: usize, lanes: usize) -> u64 {
    (slices.next_multiple_of(lanes) * g.ny * g.nx * 4) as u64
}

fn turn(angle: f64) -> f64 {
    angle.rem_euclid(2.0 * PI)
}

impl DeviceForward {
    pub(super) fn new(device: &Arc<Device>, g: &Geometry, lanes: usize) -> Result<Self> {
        let mut views = collected(0..g.views())?;
        // Modulo a whole turn: opposite rays meet the same pixels, but their bins run the other way.
        views.sort_unstable_by(|a, b| turn(g.angles[*a]).total_cmp(&turn(g.angles[*b])).then(a.cmp(b)));
        let mut lists = [Vec::new(), Vec::new()];
        for view in views {
            let (axis, ray) = Ray::new(g, view);
            append(&mut lists[axis as usize], ray)?;
        }
        let [rows, columns] = lists;
        let rays = |list: &[Ray], way, lines| {
            if list.is_empty() { Ok(None) } else { Rays::new(device, list, g.bins, (way, lines), lanes).map(Some) }
        };
        Ok(Self { lanes, rays: [rays(&rows, "rows", g.ny)?, rays(&columns, "columns", g.nx)?] })
    }

    /// `packed` is room for [`packed_bytes`].
    pub(super) fn run(&self, g: &Geometry, slices: &Slices, packed: u64, stream: &Stream) -> Result<()> {
        let (lanes, groups) = (self.lanes, slices.count.div_ceil(self.lanes));
        let [slice_stride, row_stride, column_stride] = slices.volume_strides;
        let pack = PackArguments {
            volume: slices.volume,
            slice_stride,
            row_stride,
            column_stride,
            packed,
            slices: slices.count as i32,
            nx: g.nx as i32,
            ny: g.ny as i32,
        };
        for axis in [Axis::Rows, Axis::Columns] {
            let Some(rays) = &self.rays[axis as usize] else { continue };
            let (lines, samples) = match axis {
                Axis::Rows => (g.ny, g.nx),
                Axis::Columns => (g.nx, g.ny),
            };
            let tiles = g.nx.div_ceil(TILE) * g.ny.div_ceil(TILE);
            let launch = Launch { grid: [tiles, groups, 1], block: [256, 1, 1], shared: 0 };
            // SAFETY: PackArguments mirrors the kernel's struct; the buffers live until the stream is there.
            unsafe { rays.pack.launch(stream, launch, &pack)? };
            let arguments = Arguments {
                volume: packed,
                rays: rays.rays.address(),
                projections: slices.projections,
                slice_stride: slices.projection_strides[1],
                view_stride: slices.projection_strides[0],
                ray_count: rays.count as i32,
                bins: g.bins as i32,
                slices: slices.count as i32,
                lines: lines as i32,
                samples: samples as i32,
                width: rays.width as i32,
            };
            let (bins, views) = block(rays.sparse);
            let grid = [g.bins.div_ceil(bins) * rays.count.div_ceil(views), groups, 1];
            let launch = Launch { grid, block: [512, 1, 1], shared: 2 * LINES * rays.width * 4 * lanes };
            // SAFETY: as above.
            unsafe { rays.kernel.launch(stream, launch, &arguments)? };
        }
        Ok(())
    }
}

/// Bins and views of a block.
fn block(sparse: bool) -> (usize, usize) {
    if sparse { (128, 4) } else { (64, 16) }
}

impl Rays {
    fn new(device: &Arc<Device>, list: &[Ray], bins: usize, (way, lines): (&str, usize), lanes: usize) -> Result<Self> {
        let room = SHARED / (2 * LINES * 4 * lanes);
        let [dense, sparse] = [false, true].map(|s| Fit::new(list, bins, lines, room, s));
        let (sparse, fit) = if dense.share >= 0.8 { (false, dense) } else { (true, sparse) };
        let ray = |r: &Ray| DeviceRay {
            origin: r.origin,
            along: r.along,
            across: r.across,
            step: r.step,
            view: r.view as i32,
        };
        let rays = DeviceMemory::from_slice(device, &collected(list.iter().map(ray))?)?;
        let pack = device.function(&crate::images::FORWARD, &format!("pack_{way}_{lanes}"))?;
        let kind = if sparse { "forward_sparse" } else { "forward" };
        let kernel = device.function(&crate::images::FORWARD, &format!("{kind}_{lanes}"))?;
        Ok(Self { rays, count: list.len(), sparse, width: fit.width, pack, kernel })
    }
}

/// How many blocks find the samples that they need in shared memory, and how much of it the widest of these takes.
struct Fit {
    share: f64,
    width: usize,
}

impl Fit {
    fn new(list: &[Ray], bins: usize, lines: usize, room: usize, sparse: bool) -> Self {
        let (block_bins, block_views) = block(sparse);
        let (mut fitting, mut width) = (0, 0);
        let blocks = list.chunks(block_views);
        let count = blocks.len();
        for rays in blocks {
            let need = strip(&rays[0], &rays[rays.len() - 1], bins, lines, block_bins);
            if need <= room as f64 {
                fitting += 1;
                width = width.max(need as usize);
            }
        }
        Self { share: fitting as f64 / count as f64, width }
    }
}

/// Samples of a line that a block needs whose first and last rays are these.
fn strip(a: &Ray, b: &Ray, bins: usize, lines: usize, block_bins: usize) -> f64 {
    let apart = |k: usize, l: usize| {
        (a.origin - b.origin + k as f64 * (a.along - b.along) + l as f64 * (a.across - b.across)).abs()
    };
    let spread =
        [(0, 0), (0, lines), (bins, 0), (bins, lines)].map(|(k, l)| apart(k, l)).into_iter().fold(0.0, f64::max);
    let along = a.along.abs().max(b.along.abs());
    let across = a.across.abs().max(b.across.abs());
    spread + (block_bins - 1) as f64 * along + LINES as f64 * across + 4.0
}

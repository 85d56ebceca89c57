//! The phase filter on a GPU: two views at a time, as real and imaginary part, which a real filter does not mix, and pairs of views side
//! by side. The struct mirrors that of `kernels/ct/phase.cu`.

use crate::geometry::Geometry;
use crate::rows::phase::Phase;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::fft::{Direction, Kernels as FftKernels, Pass, Side, Sum, Transform, Window};
use isocenter_base::gpu::{Device, DeviceMemory, Function, Launch, Precision, Stream, mirrored};
use std::sync::Arc;

/// Mirrors `Place`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Place {
    frames: u64,
    sinograms: u64,
    grid: u64,
    response: u64,
    views: i32,
    bins: i32,
    rows: i32,
    slices: i32,
    ny: i32,
    nx: i32,
    pairs: i32,
    first: i32,
    used: i32,
    above: i32,
    reach: i32,
    linear: i32,
    minimum: f32,
    unused: i32,
}
mirrored!(Place, 88);

const TILE: usize = 32;
const ROWS: usize = 8;
/// Pairs of views side by side, where there are so many and two grids of them take no more than this.
const PAIRS: usize = 64;
const GRIDS: u64 = 2 << 30;

/// Kernels of `ct/phase`.
#[derive(Debug)]
pub(super) struct Kernels {
    fill: Function,
    multiply: Function,
    store: Function,
    fft: FftKernels,
}

impl Kernels {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let kernel = |name| device.function(&crate::images::PHASE, name);
        Ok(Self {
            fill: kernel("phase_fill")?,
            multiply: kernel("phase_multiply")?,
            store: kernel("phase_store")?,
            fft: FftKernels::new(device, Precision::F32)?,
        })
    }
}

/// The length from `minimum` on whose transform is the fastest, of a few.
fn good_length(minimum: usize) -> usize {
    let minimum = minimum.max(2);
    let cost = |n: usize| Transform::passes(n).map(|passes| n * (passes + 3));
    let near = (minimum..=minimum + minimum / 4 + 8).filter_map(|n| Some((cost(n)?, n)));
    near.min().map_or(minimum.next_power_of_two(), |(_, n)| n)
}

/// How large grids are.
#[derive(Clone, Copy, Debug)]
struct Shape {
    ny: usize,
    nx: usize,
    pairs: usize,
}

impl Shape {
    fn new(phase: &Phase, g: &Geometry, slices: usize) -> Self {
        let beside = 2 * phase.reach();
        let [ny, nx] = [slices + beside, g.bins + beside].map(good_length);
        let most = (GRIDS / (2 * 8 * ny as u64 * nx as u64)) as usize;
        Self { ny, nx, pairs: g.views().div_ceil(2).min(PAIRS).min(most.max(1)) }
    }

    /// Bytes of a grid.
    fn bytes(&self) -> u64 {
        8 * self.ny as u64 * self.nx as u64 * self.pairs as u64
    }
}

/// What two grids take, for slabs of so many slices.
pub(super) fn grid_bytes(phase: &Phase, g: &Geometry, slices: usize) -> u64 {
    2 * Shape::new(phase, g, slices).bytes()
}

/// A filter for slabs of up to so many slices.
#[derive(Debug)]
pub(super) struct DevicePhase {
    shape: Shape,
    along_rows: Transform,
    along_bins: Transform,
    response: DeviceMemory,
}

/// A slab's data on the device: transmissions (row, view, bin), of which so many rows come before the first slice's; two grids.
pub(super) struct Slab {
    pub(super) frames: u64,
    pub(super) rows: usize,
    pub(super) above: usize,
    pub(super) slices: usize,
    pub(super) grids: u64,
    pub(super) sinograms: u64,
    pub(super) minimum: f32,
}

impl DevicePhase {
    pub(super) fn new(device: &Arc<Device>, phase: &Phase, g: &Geometry, slices: usize) -> Result<Self> {
        let shape = Shape::new(phase, g, slices);
        let Shape { ny, nx, .. } = shape;
        let transform = |n| Transform::new(device, n, Precision::F32);
        let response = DeviceMemory::from_slice(device, &phase.table([ny, nx])?)?;
        Ok(Self { shape, along_rows: transform(ny)?, along_bins: transform(nx)?, response })
    }

    /// Bytes of both grids.
    pub(super) fn grid_bytes(&self) -> u64 {
        2 * self.shape.bytes()
    }

    /// Line integrals of a slab, (slice, view, bin).
    pub(super) fn run(
        &self,
        (device, kernels): (&Device, &Kernels),
        phase: &Phase,
        g: &Geometry,
        slab: &Slab,
        stream: &Stream,
    ) -> Result<()> {
        let Shape { ny, nx, pairs } = self.shape;
        let (views, reach) = (g.views(), phase.reach());
        if slab.slices + 2 * reach > ny {
            fail!(Internal, "{} slices are more than the phase filter was made for", slab.slices);
        }
        let [a, b] = [slab.grids, slab.grids + self.shape.bytes()];
        let side = |address| Side::new(address, [ny, nx, pairs], Window::all(0));
        let pass = |axis: usize, from: u64, to: u64, direction: Direction| {
            let (transform, n) = if axis == 0 { (&self.along_rows, ny) } else { (&self.along_bins, nx) };
            let [from, to] = [from, to].map(|address| Side { window: Window::all(n), ..side(address) });
            let pass = Pass {
                kernels: &kernels.fft,
                steps: transform.steps(to),
                axis,
                lines: [ny, nx, pairs],
                batches: 1,
                from,
                to,
                direction,
                scale: 1.0,
                map_stride: 0,
                sum: Sum::No,
            };
            // SAFETY: both grids are whole; they and the tables live until the stream is waited for.
            unsafe { pass.launch(stream) }
        };
        let all = views.div_ceil(2);
        for first in (0..all).step_by(pairs) {
            let used = pairs.min(all - first);
            let place = Place {
                frames: slab.frames,
                sinograms: slab.sinograms,
                grid: a,
                response: self.response.address(),
                views: views as i32,
                bins: g.bins as i32,
                rows: slab.rows as i32,
                slices: slab.slices as i32,
                ny: ny as i32,
                nx: nx as i32,
                pairs: pairs as i32,
                first: first as i32,
                used: used as i32,
                above: (reach - slab.above) as i32,
                reach: reach as i32,
                linear: phase.is_linear().into(),
                minimum: slab.minimum,
                unused: 0,
            };
            let tiles = |n: usize, rows: usize| Launch {
                grid: [n.div_ceil(TILE), pairs.div_ceil(TILE), rows],
                block: [TILE, ROWS, 1],
                shared: 0,
            };
            // SAFETY: Place mirrors the kernels' struct; the buffers live until the stream is waited for.
            unsafe { kernels.fill.launch(stream, tiles(nx, ny), &place)? };
            pass(1, a, b, Direction::Forward)?;
            pass(0, b, a, Direction::Forward)?;
            let blocks = (ny * nx * pairs).div_ceil(256).min(32 * device.multiprocessors());
            let launch = Launch { grid: [blocks, 1, 1], block: [256, 1, 1], shared: 0 };
            // SAFETY: as above.
            unsafe { kernels.multiply.launch(stream, launch, &place)? };
            pass(0, a, b, Direction::Backward)?;
            pass(1, b, a, Direction::Backward)?;
            // SAFETY: as above.
            unsafe { kernels.store.launch(stream, tiles(g.bins, slab.slices), &place)? };
        }
        Ok(())
    }
}

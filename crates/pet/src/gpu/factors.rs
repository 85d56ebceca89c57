//! Launches `kernels/pet/factors.cu`: factors of all views, view by view.

use super::array::{Copies, Place};
use super::pairs::Measured;
use crate::bytes::Memory;
use crate::factors::{Between, Cone, FINE, Factors, Sizes, seed};
use crate::scanner::{Pairs, Plane};
use isocenter_base::array::ArrayMut;
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Image, Launch, Lent, Queue, mirrored, then_wait};
use std::sync::Arc;

const IMAGE: &Image = &crate::images::FACTORS;
/// Of a block, for kernels whose warps have a task each.
const WARPS: usize = 4;

/// Mirrors `Direction`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Direction {
    azimuth: f64,
    width: f64,
    sine: f64,
    height: f64,
    sin: f64,
    cos: f64,
    slope: f64,
    longer: f64,
    weight: f32,
    seed: u32,
    cone: i32,
    unused: i32,
}
mirrored!(Direction, 80);

/// Mirrors `Cone`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Middle {
    sin: f64,
    cos: f64,
    tangent: f64,
    longer: f64,
}
mirrored!(Middle, 32);

/// Mirrors `Factors`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    pitch: [f64; 2],
    lowest: f64,
    across: i32,
    along: i32,
    below: i32,
    directions: i32,
    cones: i32,
    unused: i32,
    direction: u64,
    cone: u64,
    planes: u64,
    seen: u64,
    efficiencies: u64,
    radius: f64,
    surface_lowest: f64,
    per_mm: f64,
    around: i32,
    rows: i32,
    map: u64,
    map_count: [i32; 3],
    unused_too: i32,
    map_lowest: [f64; 2],
    map_voxel: [f64; 3],
    map_first: f64,
    through: u64,
    measured: u64,
    between: u64,
    volume: u64,
    along_axes: [i32; 3],
    column: i32,
    first: [f64; 2],
    voxel: [f64; 2],
    accidental: f64,
    pairs: Measured,
    layers: i32,
    first_alone: i32,
}
mirrored!(Arguments, 320);
mirrored!(Plane, 96);

/// What all views have in common, on the GPU.
pub(super) struct Common {
    planes: Lent,
    seen: Lent,
    efficiencies: Lent,
    /// Members, groups and values.
    pairs: Option<[Lent; 3]>,
    map: Option<Lent>,
    pub(super) volume: Lent,
    through: Option<Lent>,
    measured: Lent,
    between: Lent,
}

/// Bytes that factors take.
pub(crate) fn memory(sizes: &Sizes, shape: [usize; 3]) -> Result<Memory> {
    let direction = size_of::<Direction>() + size_of::<Middle>();
    let gpu = sizes.gpu(Place::new(shape)?.bytes(), direction);
    Ok(Memory { host: sizes.host(Some(direction)), gpu })
}

/// Writes the factors of all views, `[view][z][y][x]` on this GPU or in host memory.
pub(crate) fn write(
    context: &Context,
    device: &Arc<Device>,
    factors: &Factors,
    to: &mut ArrayMut<4>,
    stream: usize,
) -> Result<()> {
    run(context, device, factors, stream, |job, copies| {
        let common = Common::new(copies.queue, factors, copies.place)?;
        each_view(job, copies, factors, &common, |view, volume| {
            // SAFETY: a volume's memory; the GPU is current.
            unsafe { copies.write(volume, &mut to.part(view)) }
        })
    })
}

/// Writes the sum over all views, as lines take it, `[z][y][x]` on this GPU or in host memory.
pub(crate) fn write_sum(
    context: &Context,
    device: &Arc<Device>,
    factors: &Factors,
    to: &mut ArrayMut<3>,
    stream: usize,
) -> Result<()> {
    run(context, device, factors, stream, |job, copies| {
        let &Copies { queue, place, .. } = copies;
        let (common, sum) = (Common::new(queue, factors, place)?, queue.pool.take(place.bytes())?);
        sum.clear(&queue.stream)?;
        each_view(job, copies, factors, &common, |_, volume| {
            // SAFETY: two volumes' memory; the GPU is current.
            unsafe { place.add(queue, sum.address(), volume) }
        })?;
        // SAFETY: as above.
        unsafe {
            super::lines::between(queue, place, sum.address(), common.volume.address())?;
            copies.write(common.volume.address(), to)
        }
    })
}

/// Does work on a queue of this GPU, which is current, and waits for it.
fn run(
    context: &Context,
    device: &Arc<Device>,
    factors: &Factors,
    stream: usize,
    work: impl FnOnce(&Job, &Copies) -> Result<()> + Send,
) -> Result<()> {
    let place = Place::new(factors.lattice.shape())?;
    let queue = Queue::new(device)?;
    context.run_waiting(|job| {
        job.enter(Stage::Factors);
        let _current = device.enter()?;
        let work = |queue: &mut &Queue| work(job, &Copies { context, queue, place, stream });
        then_wait(&mut &queue, work, |queue| queue.stream.synchronize())
    })
}

/// Passes on the address of each view's factors, which the next view's overwrite.
fn each_view(
    job: &Job,
    copies: &Copies,
    factors: &Factors,
    common: &Common,
    mut op: impl FnMut(usize, u64) -> Result<()>,
) -> Result<()> {
    for view in 0..factors.views.len() {
        job.check()?;
        // SAFETY: `run` has made the GPU current.
        unsafe { common.launch(copies.queue, factors, view, copies.place)? };
        op(view, common.volume.address())?;
        job.advance(1.0 / factors.views.len() as f64);
    }
    Ok(())
}

impl Common {
    pub(super) fn new(queue: &Queue, factors: &Factors, place: Place) -> Result<Self> {
        let (surface, floats) = (factors.detectors.surface.parts(), |n: usize| queue.pool.take(n * size_of::<f32>()));
        let most = &factors.sizes;
        Ok(Self {
            planes: queue.upload(surface.planes)?,
            seen: queue.upload(surface.seen)?,
            efficiencies: queue.upload(&factors.detectors.efficiencies)?,
            pairs: factors.detectors.pairs.map(|pairs| tables_of(queue, pairs)).transpose()?,
            map: factors.map.as_ref().map(|map| queue.upload(&map.values)).transpose()?,
            volume: queue.pool.take(place.bytes())?,
            through: factors.map.as_ref().map(|_| floats(most.cone_cells)).transpose()?,
            measured: floats(most.lines)?,
            between: queue.pool.take(most.across * size_of::<Between>())?,
        })
    }

    /// Fills the volume.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn launch(&self, queue: &Queue, factors: &Factors, view: usize, place: Place) -> Result<()> {
        let (cones, lines) = &factors.views[view];
        let lattice = &factors.lattice;
        let middles: Vec<Middle> = cones
            .iter()
            .map(|Cone { middle, .. }| {
                let (sin, cos) = middle.azimuth.sin_cos();
                Middle { sin, cos, tangent: middle.tangent(), longer: 1.0 / middle.cosine() }
            })
            .collect();
        let of_cones = cones.iter().enumerate().flat_map(|(c, cone)| cone.directions.iter().map(move |d| (c, d)));
        let directions: Vec<Direction> = of_cones
            .enumerate()
            .map(|(k, (cone, d))| {
                let (sin, cos) = d.azimuth.sin_cos();
                Direction {
                    azimuth: d.azimuth,
                    width: d.width,
                    sine: d.sine,
                    height: d.height,
                    sin,
                    cos,
                    slope: d.tangent() / lines.pitch[1],
                    longer: 1.0 / d.cosine(),
                    weight: (factors.scale * d.solid_angle()) as f32,
                    seed: seed(view, k),
                    cone: cone as i32,
                    unused: 0,
                }
            })
            .collect();
        let (middle, direction) = (queue.upload(&middles)?, queue.upload(&directions)?);
        let surface = factors.detectors.surface.parts();
        let map = factors.map.as_ref();
        let [nx, ny, nz] = lattice.along();
        let [vx, vy, _] = lattice.voxel();
        let arguments = Arguments {
            pitch: lines.pitch,
            lowest: lines.lowest,
            across: lines.count[0] as i32,
            along: lines.count[1] as i32,
            below: lines.below as i32,
            directions: directions.len() as i32,
            cones: middles.len() as i32,
            unused: 0,
            direction: direction.address(),
            cone: middle.address(),
            planes: self.planes.address(),
            seen: self.seen.address(),
            efficiencies: self.efficiencies.address(),
            radius: surface.radius,
            surface_lowest: surface.lowest,
            per_mm: surface.per_mm,
            around: surface.cells[0] as i32,
            rows: surface.cells[1] as i32,
            map: self.map.as_ref().map_or(0, |map| map.address()),
            map_count: map.map_or([0; 3], |map| map.count.map(|n| n as i32)),
            unused_too: 0,
            map_lowest: map.map_or([0.0; 2], |map| [map.lowest[0], map.lowest[1]]),
            map_voxel: map.map_or([1.0; 3], |map| map.voxel),
            map_first: map.map_or(0.0, |map| map.first as f64),
            through: self.through.as_ref().map_or(0, |through| through.address()),
            measured: self.measured.address(),
            between: self.between.address(),
            volume: self.volume.address(),
            along_axes: [nx, ny, nz].map(|n| n as i32),
            column: place.column as i32,
            first: [0, 1].map(|axis| lattice.position(axis, 0)),
            voxel: [vx, vy],
            accidental: factors.detectors.accidental.unwrap_or(0.0),
            pairs: match (factors.detectors.pairs, &self.pairs) {
                (Some(pairs), Some(tables)) => Measured::new(pairs, tables.each_ref().map(|table| table.address())),
                _ => Measured::default(),
            },
            layers: surface.layers as i32,
            first_alone: i32::from(factors.detectors.first_alone),
        };
        let warps = |count: usize| Launch { grid: [count.div_ceil(WARPS), 1, 1], block: [32 * WARPS, 1, 1], shared: 0 };
        let kernel = |name| queue.device.function(IMAGE, name);
        // SAFETY: the struct mirrors the kernels', whose memory is of these sizes; the lists go back to the pool, whose later users follow the
        // stream; the rest by this function's contract.
        unsafe {
            if map.is_some() {
                let tasks = middles.len() * lines.count[0] * lines.count[1].div_ceil(32);
                kernel("factors_through")?.launch(&queue.stream, warps(tasks), &arguments)?;
            }
            let tasks = directions.len() * FINE * lines.count[0];
            let of_layers = if surface.layers > 1 { "factors_measured_by_layers" } else { "factors_measured" };
            kernel(of_layers)?.launch(&queue.stream, warps(tasks), &arguments)?;
            queue.each((IMAGE, "factors_gather"), place.floats(), &arguments)
        }
    }
}

fn tables_of(queue: &Queue, pairs: &Pairs) -> Result<[Lent; 3]> {
    let (members, groups, values, _) = pairs.parts();
    Ok([queue.upload(members)?, queue.upload(groups)?, queue.upload(values)?])
}

#[cfg(test)]
#[path = "factors_tests.rs"]
mod tests;

//! Launches `kernels/pet/scatter.cu`: scatter of pairs of detectors, of views on a coarse lattice, and times factors.

use super::array::{Check, Copies, Place, Survey};
use super::factors::Common;
use super::tails;
use crate::bytes::Memory;
use crate::factors::Factors;
use crate::scatter::{self, Additive, Coarse, Found, Grid, Place as Scatterer, Ray, Scatter, Sums, Tails};
use crate::values::Sign;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Job, NanPolicy, Stage};
use isocenter_base::cpu::buffer::reserved;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Image, Launch, Lent, Queue, mirrored, then_wait};
use std::sync::Arc;

const IMAGE: &Image = &crate::images::SCATTER;
/// Threads of a block for a pair.
const CHUNK: usize = 128;

/// Mirrors `Grid`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Volume {
    values: u64,
    count: [i32; 3],
    unused: i32,
    lowest: [f32; 3],
    per_mm: [f32; 3],
}
mirrored!(Volume, 48);
mirrored!(Scatterer, 16);
mirrored!(Ray, 32);

/// Mirrors `Line`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Line {
    sin: f32,
    cos: f32,
    tangent: f32,
    longer: f32,
    weight: f32,
    unused: [i32; 3],
}
mirrored!(Line, 32);

/// Mirrors `Pair`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Pair {
    nodes: [i32; 2],
    scale: f32,
    unused: i32,
}
mirrored!(Pair, 16);

/// Mirrors `Scatter`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    activity: Volume,
    attenuation: Volume,
    nodes: u64,
    places: u64,
    table: u64,
    rays: u64,
    ways: u64,
    pairs: u64,
    blur: u64,
    values: u64,
    lines: u64,
    blurred: u64,
    points: u64,
    node_count: i32,
    place_count: i32,
    steps: i32,
    about: i32,
    table_last: i32,
    blur_count: i32,
    around: i32,
    rings: i32,
    line_count: i32,
    point_count: [i32; 3],
    step: f32,
    radius: f32,
    lowest_ring: f32,
    per_ring: f32,
    points_lowest: [f32; 3],
    points_apart: [f32; 3],
    edge: f32,
    beyond: f32,
}
mirrored!(Arguments, 280);

/// Mirrors `Apply`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Apply {
    volume: u64,
    points: u64,
    tails: u64,
    measured: u64,
    randoms: u64,
    sums: u64,
    along: [i32; 3],
    column: i32,
    points_along: [i32; 3],
    unused: i32,
    per_voxel: [f32; 3],
    scale: f32,
}
mirrored!(Apply, 96);

fn floats(n: usize) -> usize {
    n * size_of::<f32>()
}

/// Bytes that an estimate takes besides those of the factors, with measured counts and randoms.
pub(crate) fn memory(of: &Scatter) -> Result<Memory> {
    let (place, coarse) = (Place::new(of.lattice.shape())?, Coarse::new(of));
    let Scatter { nodes, places, times, activity, attenuation, lines, table, .. } = of;
    let (nodes, places) = (nodes.count() as u64, places.len() as u64);
    let rays = nodes * places * (size_of::<Ray>() + floats(times.along)) as u64;
    let pairs = nodes * nodes / 2 * size_of::<Pair>() as u64;
    let a_node = size_of::<[f32; 4]>() as u64;
    let times = nodes * nodes * floats(times.about) as u64;
    let grids = floats(activity.values.len() + 2 * attenuation.values.len());
    let most = lines.iter().map(|lines| lines.len() * size_of::<Line>()).max().unwrap_or(0);
    let lists = places * size_of::<Scatterer>() as u64 + nodes * a_node;
    // The body of tails is as large as the attenuation. Points and tails of all views, and those of one; measured counts and randoms with copies on their way.
    let points = (2 * lines.len() as u64 + 1) * floats(coarse.points()) as u64;
    let rest = (grids + size_of_val(&table.values[..]) + most + 4 * place.bytes()) as u64;
    let host = pairs + nodes * a_node + scatter::of_lines(lines) + most as u64;
    Ok(Memory { host, gpu: rays + pairs + times + lists + points + rest })
}

/// Writes the histo-images of all views, `[view][z][y][x]` on this GPU or in host memory.
pub(crate) fn write(
    context: &Context,
    device: &Arc<Device>,
    of: &Additive,
    to: &mut ArrayMut<4>,
    stream: usize,
) -> Result<Found> {
    let place = Place::new(of.scatter.lattice.shape())?;
    let coarse = Coarse::new(of.scatter);
    let queue = Queue::new(device)?;
    context.run_waiting(|job| {
        let _current = device.enter()?;
        let work = |queue: &mut &Queue| {
            job.enter(Stage::Scatter);
            let lines = &of.scatter.lines;
            // SAFETY: the GPU is current.
            let points = unsafe { points(queue, of.scatter, &coarse, job)? };
            let found = |(_, of): &(_, Tails)| {
                // SAFETY: as above.
                unsafe { tails::find(queue, of, lines, &coarse, job) }
            };
            let tails = of.measured.as_ref().map(found).transpose()?;
            job.enter(Stage::Factors);
            let histos = Histos {
                of,
                coarse: &coarse,
                points,
                tails,
                copies: Copies { context, queue, place, stream },
                common: Common::new(queue, of.factors, place)?,
                measured: of.measured.as_ref().map(|_| queue.pool.take(place.bytes())).transpose()?,
                randoms: of.randoms.as_ref().map(|_| queue.pool.take(place.bytes())).transpose()?,
            };
            histos.write(job, to)
        };
        then_wait(&mut &queue, work, |queue| queue.stream.synchronize())
    })
}

/// Scatter of all views on the coarse lattice, for a factor of 1.
///
/// # Safety
/// The GPU is current.
unsafe fn points(queue: &Queue, of: &Scatter, coarse: &Coarse, job: &Job) -> Result<Lent> {
    let nodes: Vec<[f32; 4]> = (0..of.nodes.count())
        .map(|node| {
            let [x, y, z] = of.nodes.place(node).map(|v| v as f32);
            [x, y, z, 0.0]
        })
        .collect();
    let mut pairs = reserved(nodes.len() * nodes.len() / 2)?;
    for first in 0..nodes.len() {
        for second in first + 1..nodes.len() {
            if let Some(scale) = of.pair(first, second) {
                pairs.push(Pair { nodes: [first as i32, second as i32], scale: scale as f32, unused: 0 });
            }
        }
    }
    let volume = |grid: &Grid| -> Result<(Volume, Lent)> {
        let values = queue.upload(&grid.values)?;
        let (count, lowest) = (grid.count.map(|n| n as i32), grid.lowest.map(|v| v as f32));
        let per_mm = grid.cell.map(|v| (1.0 / v) as f32);
        Ok((Volume { values: values.address(), count, unused: 0, lowest, per_mm }, values))
    };
    let (activity, _activity) = volume(&of.activity)?;
    let (attenuation, _attenuation) = volume(&of.attenuation)?;
    let (node_values, places, table) =
        (queue.upload(&nodes)?, queue.upload(&of.places)?, queue.upload(&of.table.values)?);
    let (blur, pair_values) = (of.times.blur(), queue.upload(&pairs)?);
    let blur_values = queue.upload(&blur)?;
    let ways = nodes.len() * of.places.len();
    let rays = queue.pool.take(ways * size_of::<Ray>())?;
    let way_values = queue.pool.take(floats(ways * of.times.along))?;
    let values = queue.pool.take(floats(nodes.len() * nodes.len() * of.times.about))?;
    values.clear(&queue.stream)?;
    let blurred = queue.pool.take(floats(coarse.points()))?;
    let points = queue.pool.take(floats(of.lines.len() * coarse.points()))?;
    let arguments = Arguments {
        activity,
        attenuation,
        nodes: node_values.address(),
        places: places.address(),
        table: table.address(),
        rays: rays.address(),
        ways: way_values.address(),
        pairs: pair_values.address(),
        blur: blur_values.address(),
        values: values.address(),
        lines: 0,
        blurred: blurred.address(),
        points: 0,
        node_count: nodes.len() as i32,
        place_count: of.places.len() as i32,
        steps: of.times.along as i32,
        about: of.times.about as i32,
        table_last: of.table.values.len() as i32 - 1,
        blur_count: blur.len() as i32,
        around: of.nodes.around as i32,
        rings: of.nodes.rings() as i32,
        line_count: 0,
        point_count: coarse.count.map(|n| n as i32),
        step: of.times.step as f32,
        radius: of.nodes.radius as f32,
        lowest_ring: of.nodes.heights[0] as f32,
        per_ring: (1.0 / of.nodes.apart()) as f32,
        points_lowest: coarse.lowest.map(|v| v as f32),
        points_apart: coarse.apart.map(|v| v as f32),
        edge: scatter::edge(&of.nodes) as f32,
        beyond: scatter::BEYOND as f32,
    };
    // SAFETY: the struct mirrors the kernels', whose memory is of these sizes and goes back to the pool, whose later users follow the stream; the rest by
    // this function's contract.
    unsafe {
        queue.each((IMAGE, "scatter_rays"), ways, &arguments)?;
        if !pairs.is_empty() {
            let launch = Launch { grid: [pairs.len(), 1, 1], block: [CHUNK, 1, 1], shared: 0 };
            queue.device.function(IMAGE, "scatter_pairs")?.launch(&queue.stream, launch, &arguments)?;
        }
        job.advance(0.3);
        for (view, lines) in of.lines.iter().enumerate() {
            job.check()?;
            let lines: Vec<Line> = lines
                .iter()
                .map(|line| {
                    let (sin, cos) = line.azimuth.sin_cos();
                    let longer = (1.0 + line.tangent * line.tangent).sqrt();
                    let [sin, cos, tangent, longer, weight] =
                        [sin, cos, line.tangent, longer, line.weight].map(|v| v as f32);
                    Line { sin, cos, tangent, longer, weight, unused: [0; 3] }
                })
                .collect();
            let values = queue.upload(&lines)?;
            let arguments = Arguments {
                lines: values.address(),
                line_count: lines.len() as i32,
                points: points.address() + floats(view * coarse.points()) as u64,
                ..arguments
            };
            queue.each((IMAGE, "scatter_points"), coarse.points(), &arguments)?;
            queue.each((IMAGE, "scatter_sharpen"), coarse.points(), &arguments)?;
            job.advance(0.2 / of.lines.len() as f64);
        }
    }
    Ok(points)
}

/// Histo-images on their way.
struct Histos<'a> {
    of: &'a Additive<'a>,
    coarse: &'a Coarse,
    points: Lent,
    tails: Option<Lent>,
    copies: Copies<'a>,
    common: Common,
    measured: Option<Lent>,
    randoms: Option<Lent>,
}

impl Histos<'_> {
    fn write(&self, job: &Job, to: &mut ArrayMut<4>) -> Result<Found> {
        let (queue, place) = (self.copies.queue, self.copies.place);
        let factors: &Factors = self.of.factors;
        let blocks = queue.shape(place.floats()).grid[0];
        let sums = queue.pool.take(4 * blocks * size_of::<f64>())?;
        sums.clear(&queue.stream)?;
        // Tails need the randoms of all views twice, and what is written once more.
        let (share, is_fitted) = (1.0 / factors.views.len() as f64, self.tails.is_some());
        for view in 0..factors.views.len() {
            job.check()?;
            let points = self.of_view(&self.points, view);
            let arguments = Apply {
                sums: sums.address(),
                points,
                tails: self.tails.as_ref().map_or(0, |tails| self.of_view(tails, view)),
                ..self.arguments()
            };
            // SAFETY: memory of these sizes, which stays until the stream has passed; the GPU is current.
            unsafe {
                self.common.launch(queue, factors, view, place)?;
                self.bring(self.of.measured.as_ref().map(|(from, _)| from), &self.measured, view, "measured")?;
                self.bring(self.of.randoms.as_ref(), &self.randoms, view, "randoms")?;
                queue.each((IMAGE, "scatter_apply"), place.floats(), &arguments)?;
                self.copies.write(self.common.volume.address(), &mut to.part(view))?;
            }
            job.advance(share * if is_fitted { 0.4 } else { 0.5 });
        }
        let mut of_blocks = vec![0.0; 4 * blocks];
        queue.fetch(sums.address(), &mut of_blocks)?;
        let total = |k: usize| of_blocks[k..].iter().step_by(4).sum::<f64>();
        let sums = Sums { scatter: total(0), tails: [1, 2, 3].map(total) };
        let found = Found::new(&sums, is_fitted, self.of.scatter.places.len());
        if is_fitted {
            let arguments = Apply { scale: found.scale as f32, ..self.arguments() };
            let check = Check::new(queue, NanPolicy::Replace, Sign::Any)?;
            for view in 0..factors.views.len() {
                job.check()?;
                // SAFETY: as above; what was written before is read.
                unsafe {
                    self.copies.read(&to.as_array().part(view), self.common.volume.address(), &check, 0)?;
                    self.bring(self.of.randoms.as_ref(), &self.randoms, view, "randoms")?;
                    queue.each((IMAGE, "scatter_scale"), place.floats(), &arguments)?;
                    self.copies.write(self.common.volume.address(), &mut to.part(view))?;
                }
                job.advance(0.1 * share);
            }
        }
        Ok(found)
    }

    fn of_view(&self, all: &Lent, view: usize) -> u64 {
        all.address() + floats(view * self.coarse.points()) as u64
    }

    fn arguments(&self) -> Apply {
        let lattice = &self.of.scatter.lattice;
        let address = |lent: &Option<Lent>| lent.as_ref().map_or(0, |lent| lent.address());
        let per_voxel = |d: usize| match self.coarse.count[d] {
            1 => 0.0,
            points => ((points - 1) as f64 / (lattice.along()[d] - 1) as f64) as f32,
        };
        Apply {
            volume: self.common.volume.address(),
            points: 0,
            tails: 0,
            measured: address(&self.measured),
            randoms: address(&self.randoms),
            sums: 0,
            along: lattice.along().map(|n| n as i32),
            column: self.copies.place.column as i32,
            points_along: self.coarse.count.map(|n| n as i32),
            unused: 0,
            per_voxel: [0, 1, 2].map(per_voxel),
            scale: 1.0,
        }
    }

    /// Brings a view of an array, if there is one, to a volume.
    ///
    /// # Safety
    /// The array is readable until the stream has passed this; the GPU is current.
    unsafe fn bring(&self, from: Option<&Array<4>>, to: &Option<Lent>, view: usize, name: &str) -> Result<()> {
        let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
        let queue = self.copies.queue;
        let check = Check::new(queue, NanPolicy::Error, Sign::NonNegative)?;
        let first = view * from.layout().count() / from.shape()[0];
        // SAFETY: a volume's memory; the rest by this function's contract.
        unsafe { self.copies.read(&from.part(view), to.address(), &check, first)? };
        let largest = || {
            let survey = Survey::new(queue, self.copies.place)?;
            // SAFETY: as above.
            unsafe { survey.look(queue, self.copies.place, to.address())? };
            Ok(survey.result(queue)?.1)
        };
        check.resolve(queue, from, name, largest).map(|_| ())
    }
}

#[cfg(test)]
#[path = "scatter_tests.rs"]
mod tests;

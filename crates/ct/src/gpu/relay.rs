//! Slabs of a stream that lie on their GPU: rows go up, and slices come down, in parts through little page-locked memory. Where stages look at
//! many rows beside a slab, these lie there from the slab before, and are neither read nor sent again.

use super::several::drive;
use super::worker::AtWork;
use crate::engine::Treated;
use crate::geometry::{Geometry, Order};
use crate::slab::{Arrays, Callbacks, Ends, Slab, rows_of, shapes};
use crate::task::{Operator, Task};
use isocenter_base::array::{DType, Layout};
use isocenter_base::context::{Context, HostMemory, Job};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, DeviceMemory, Event, Rows, Stream};
use std::ops::Range;
use std::sync::Arc;

/// Parts under way in each direction: one is filled, or emptied, while the other is copied.
const PARTS: usize = 2;
/// Bytes of a part, where one row or slice is not more.
const BYTES: usize = 128 << 20;

/// The driver's limit on distances between rows.
const MAX_PITCH: usize = (1 << 31) - 1;

/// What a stream may take of the host's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// At most, and where there is a choice.
    pub(super) cap: u64,
    pub(super) limit: u64,
    /// Of projections and volume.
    pub(super) dtypes: [DType; 2],
    /// Slabs under way.
    pub(super) places: usize,
}

/// Whether slabs of such a task can lie on a GPU: in filtered back projection of frames whose rows beside count.
pub(super) fn serves(task: &Task) -> bool {
    let g = task.detector;
    let pitch = g.rows.saturating_mul(g.bins).saturating_mul(size_of::<f32>());
    task.operator == Operator::Reconstruct && task.iteration.is_none() && task.rows.reach(g) > 0 && pitch <= MAX_PITCH
}

/// A stream whose slabs lie on GPUs.
pub(super) fn stream(
    (context, task): (&Context, &Task),
    (whole, host): (&Arrays, Host),
    workers: &mut [AtWork],
    kept: &mut Option<Parts>,
    callbacks: Callbacks,
) -> Result<Treated> {
    let (g, Host { cap, dtypes, places, .. }) = (task.detector, host);
    let (cut, reach) = (Cut::new(g, dtypes, host.limit), task.rows.reach(g));
    if cut.bytes() > cap {
        fail!(MemoryCap, "memory_cap is {cap} bytes; streaming needs at least {} of host memory", cut.bytes());
    }
    let sharing = workers.len();
    for gpu in &mut *workers {
        gpu.clear();
        gpu.sizes.on_gpu(task, reach, sharing);
        gpu.prepare(whole)?;
    }
    if kept.as_ref().is_none_or(|parts| parts.cut != cut) {
        *kept = None;
        *kept = Some(Parts::new(context, cut)?);
    }
    let Some(parts) = kept else { fail!(Internal, "a stream without memory") };
    let mut ends = Relay::new((context, g, reach), dtypes, parts, (workers, places), callbacks)?;
    context.report_part(task.pass.part, |job| {
        job.enter(task.operator.stage());
        drive(workers, &task.queue()?, &mut ends, job)
    })?;
    workers.iter().map(AtWork::done).sum()
}

/// How large parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Rows that go up together, and bytes of one, of all views.
    rows: usize,
    row: usize,
    /// Slices that come down together, and bytes of one.
    slices: usize,
    slice: usize,
}

impl Cut {
    /// Parts whose memory takes no more than `cap`, if one row and one slice are so small.
    fn new(g: &Geometry, dtypes: [DType; 2], cap: u64) -> Self {
        let each = BYTES.min(usize::try_from(cap / (2 * PARTS as u64)).unwrap_or(BYTES));
        let (row, slice) = (g.views() * g.bins * dtypes[0].size(), g.ny * g.nx * dtypes[1].size());
        Self { rows: (each / row).max(1), row, slices: (each / slice).max(1), slice }
    }

    /// Page-locked memory.
    fn bytes(&self) -> u64 {
        (PARTS * (self.rows * self.row + self.slices * self.slice)) as u64
    }
}

/// Page-locked memory of the parts.
#[derive(Debug)]
pub(super) struct Parts {
    cut: Cut,
    up: [HostMemory; PARTS],
    down: [HostMemory; PARTS],
}

impl Parts {
    fn new(context: &Context, cut: Cut) -> Result<Self> {
        let memory = |bytes: usize| Ok([context.host_memory(bytes)?, context.host_memory(bytes)?]);
        Ok(Self { cut, up: memory(cut.rows * cut.row)?, down: memory(cut.slices * cut.slice)? })
    }

    /// What they hold.
    pub(super) fn held(&self) -> u64 {
        self.cut.bytes()
    }
}

/// One GPU's streams, and marks of the copies of each part.
struct Lane {
    device: Arc<Device>,
    up: Stream,
    down: Stream,
    copied: [Event; PARTS],
}

impl Lane {
    fn new(device: &Arc<Device>) -> Result<Self> {
        let _current = device.enter()?;
        let copied = [Event::new(device)?, Event::new(device)?];
        Ok(Self { device: device.clone(), up: Stream::new(device)?, down: Stream::new(device)?, copied })
    }
}

/// A slab's arrays on its GPU.
struct Place {
    projections: DeviceMemory,
    volume: DeviceMemory,
    /// Detector rows that are there.
    rows: Range<usize>,
}

/// Between callbacks and slabs on GPUs.
struct Relay<'a, 'c> {
    context: &'a Context,
    geometry: &'a Geometry,
    reach: usize,
    dtypes: [DType; 2],
    parts: &'a Parts,
    lanes: Vec<Lane>,
    places: Vec<Option<Place>>,
    /// Slices of the largest slab.
    most: usize,
    callbacks: Callbacks<'c>,
}

impl<'a, 'c> Relay<'a, 'c> {
    /// For `places` slabs under way, whose rows reach so far beside them.
    fn new(
        (context, geometry, reach): (&'a Context, &'a Geometry, usize),
        dtypes: [DType; 2],
        parts: &'a Parts,
        (workers, places): (&[AtWork], usize),
        callbacks: Callbacks<'c>,
    ) -> Result<Self> {
        let lanes = workers.iter().map(|gpu| Lane::new(gpu.device())).collect::<Result<Vec<_>>>()?;
        let most = workers.iter().map(|gpu| gpu.sizes.slab).max().unwrap_or(0);
        let places = (0..places).map(|_| None).collect();
        Ok(Self { context, geometry, reach, dtypes, parts, lanes, places, most, callbacks })
    }

    /// Rows of an array of some of the detector's, as they are copied: those of `part` in an array of `all` at an address.
    fn rows(&self, address: u64, all: &Range<usize>, part: &Range<usize>) -> Rows {
        let (g, size) = (self.geometry, self.dtypes[0].size());
        let views = g.views();
        let (line, count) = match g.order {
            Order::Frames => (g.bins * size, views),
            Order::Sinograms => (views * g.bins * size, 1),
        };
        let address = address + ((part.start - all.start) * line) as u64;
        Rows { address, pitch: all.len() * line, bytes: part.len() * line, count }
    }

    /// The place of a turn, with memory for the largest slab.
    fn take(&mut self, place: usize, device: &Arc<Device>) -> Result<&mut Place> {
        let place = &mut self.places[place];
        if place.is_none() {
            let rows = rows_of(self.geometry, self.most, self.reach);
            let projections = DeviceMemory::new(device, rows * self.parts.cut.row)?;
            let volume = DeviceMemory::new(device, self.most * self.parts.cut.slice)?;
            *place = Some(Place { projections, volume, rows: 0..0 });
        }
        place.as_mut().map_or_else(|| fail!(Internal, "a place without memory"), Ok)
    }

    /// Has rows read and sent up, part by part.
    fn send(
        &mut self,
        lane: usize,
        slices: &Range<usize>,
        wanted: Range<usize>,
        to: (u64, &Range<usize>),
    ) -> Result<()> {
        let Cut { rows: step, .. } = self.parts.cut;
        for (k, start) in wanted.clone().step_by(step).enumerate() {
            let part = start..(start + step).min(wanted.end);
            let memory = self.parts.up[k % PARTS].data();
            if k >= PARTS {
                self.lanes[lane].copied[k % PARTS].synchronize()?;
            }
            let [shape, _] = shapes(self.geometry, part.len(), 0);
            let (first, count, first_row) = (slices.start, slices.len(), part.start);
            (self.callbacks.read)(Slab { first, count, first_row, data: memory, dtype: self.dtypes[0], shape })?;
            let Lane { up, copied, .. } = &self.lanes[lane];
            let from = self.rows(memory.addr() as u64, &part, &part);
            let there = self.rows(to.0, to.1, &part);
            // SAFETY: the part's memory holds these rows, the array has a place for them, and both are there until the stream is waited for.
            unsafe { from.upload(there.address, there.pitch, up)? };
            copied[k % PARTS].record(up)?;
        }
        self.lanes[lane].up.synchronize()
    }
}

impl<'a> Ends<'a> for Relay<'a, '_> {
    const STORES: bool = true;

    fn load(&mut self, turn: usize, slices: Range<usize>) -> Result<Arrays<'a>> {
        let (lanes, places) = (self.lanes.len(), self.places.len());
        let lane = turn % lanes;
        let device = self.lanes[lane].device.clone();
        let _current = device.enter()?;
        let rows = self.geometry.rows_around(&slices, self.reach);
        let Place { projections, volume, rows: held } = self.take(turn % places, &device)?;
        let (address, volume) = (projections.address(), volume.address());
        *held = 0..0;
        let mut wanted = rows.clone();
        // Of the slab before on this GPU: its data are there, and are only read.
        let before = turn.checked_sub(lanes).and_then(|turn| self.places[turn % places].as_ref());
        if let Some(Place { projections, rows: held, .. }) = before.filter(|place| place.rows.contains(&rows.start)) {
            wanted.start = held.end.min(rows.end);
            let both = rows.start..wanted.start;
            let to = self.rows(address, &rows, &both);
            // SAFETY: both arrays have these rows, and are there until the stream is waited for.
            unsafe {
                self.rows(projections.address(), held, &both).across(to.address, to.pitch, &self.lanes[lane].up)?
            };
        }
        self.send(lane, &slices, wanted, (address, &rows))?;
        if let Some(place) = &mut self.places[turn % places] {
            place.rows = rows.clone();
        }
        let [p, v] = shapes(self.geometry, rows.len(), slices.len());
        let on = |address: u64, dtype: DType, shape| {
            let origin = std::ptr::without_provenance(address as usize);
            Layout { gpu: Some(device.index()), ..Layout::new(origin, dtype, shape) }
        };
        let (source, target) = (on(address, self.dtypes[0], p), on(volume, self.dtypes[1], v));
        Ok(Arrays::part(source, target, slices.start, rows.start))
    }

    fn store(&mut self, arrays: &Arrays, slices: Range<usize>) -> Result<()> {
        let target = arrays.target();
        let lane = self.lanes.iter().find(|lane| Some(lane.device.index()) == target.gpu);
        let Some(Lane { device, down, copied, .. }) = lane else { fail!(Internal, "a slab of no GPU") };
        let _current = device.enter()?;
        let Cut { slices: step, slice, .. } = self.parts.cut;
        let count = slices.len().div_ceil(step);
        let part = |k: usize| k * step..((k + 1) * step).min(slices.len());
        let fetch = |k: usize| {
            let bytes = part(k).len() * slice;
            let from = Rows::one(target.origin.addr() as u64 + (k * step * slice) as u64, bytes);
            // SAFETY: slices that are there, and memory for them, until the stream is waited for.
            unsafe { from.download(self.parts.down[k % PARTS].data().addr() as u64, bytes, down)? };
            copied[k % PARTS].record(down)
        };
        (0..count.min(PARTS)).try_for_each(fetch)?;
        for k in 0..count {
            copied[k % PARTS].synchronize()?;
            let (some, data) = (part(k), self.parts.down[k % PARTS].data());
            let [_, shape] = shapes(self.geometry, 0, some.len());
            let (first, first_row) = (slices.start + some.start, arrays.first_row());
            (self.callbacks.write)(Slab { first, count: some.len(), first_row, data, dtype: self.dtypes[1], shape })?;
            if k + PARTS < count {
                fetch(k + PARTS)?;
            }
        }
        Ok(())
    }

    fn report(&self, job: &Job) {
        self.context.report(job);
    }
}

impl Drop for Relay<'_, '_> {
    /// The parts' memory stays: no copy may be under way when it is used again.
    fn drop(&mut self) {
        for Lane { device, up, down, .. } in &self.lanes {
            if let Ok(_current) = device.enter() {
                // An error of these has been told, or will be by the next call.
                let _ = up.synchronize();
                let _ = down.synchronize();
            }
        }
    }
}

//! Slabs of slices through the GPUs: while one is computed, the next comes up and the last goes down, each in a stream of its
//! own. Several GPUs take slabs from one queue, so a slow one takes fewer.

use super::choice::{ALL, Candidate, Kernel, Precision, Wish};
use super::forward::{self, Slices};
use super::plan::DevicePlan;
use super::projector::{Arguments, Case, Projector};
use super::rows::{Findings, Format, IndexWeights, Packing, RawRows, row_type};
use super::state::{Scratch, Slot, State};
use super::transfer::{Block, Transfer};
use super::{filter, measure};
use crate::context::{Context, Job, LogLevel, NanPolicy, Stage};
use crate::ct::filter::{Filter, Padding};
use crate::ct::flat_field::FlatField;
use crate::ct::geometry::{Geometry, Order};
use crate::ct::operators::Interpolation;
use crate::error::{Result, Status, fail};
use crate::gpu::{Device, DeviceMemory, Event, Pinned, Rows, Stream, scatter};
use crate::tensor::Layout;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ct) enum Operator {
    Reconstruct,
    Backproject,
    Filter,
    Adjoint,
    Forward,
}

/// One call, as the plan has it.
pub(in crate::ct) struct Task<'a> {
    pub(in crate::ct) operator: Operator,
    pub(in crate::ct) geometry: &'a Geometry,
    pub(in crate::ct) interpolation: Interpolation,
    pub(in crate::ct) filter: &'a Filter,
    pub(in crate::ct) padding: Padding,
    pub(in crate::ct) minimum: f64,
    /// What each view is multiplied by.
    pub(in crate::ct) weights: Option<&'a [f64]>,
    pub(in crate::ct) flat: Option<&'a FlatField>,
    pub(in crate::ct) kernel: Kernel,
    pub(in crate::ct) precision: Precision,
    pub(in crate::ct) stream: usize,
    /// Projections and volume (or filtered projections), in the caller's order of dimensions.
    pub(in crate::ct) source: &'a Layout,
    pub(in crate::ct) target: &'a Layout,
}

impl Task<'_> {
    /// The source with dimensions (view, row, bin).
    fn projections(layout: &Layout, order: Order) -> Layout {
        let mut l = *layout;
        if order == Order::Sinograms {
            l.shape.swap(0, 1);
            l.strides.swap(0, 1);
        }
        l
    }

    fn case(&self, device: &Device, tents: u64) -> Case<'_> {
        let interpolation = if self.operator == Operator::Adjoint { Interpolation::Linear } else { self.interpolation };
        Case { geometry: self.geometry, interpolation, shared: device.shared_bytes(), tents }
    }

    fn stage(&self) -> Stage {
        match self.operator {
            Operator::Filter => Stage::Filter,
            Operator::Reconstruct | Operator::Backproject => Stage::Backproject,
            Operator::Adjoint => Stage::Adjoint,
            Operator::Forward => Stage::Forward,
        }
    }

    /// Part of the source that `n` slices need.
    fn block(&self, first: usize, n: usize) -> Block {
        match self.operator {
            Operator::Forward => Block::new(self.source, 0, first, n),
            _ => {
                let source = Task::projections(self.source, self.geometry.order);
                Block::new(&source, 1, self.geometry.first_row + first, n)
            }
        }
    }
}

/// A plan's GPUs, and what it keeps on them.
#[derive(Debug, Default)]
pub(in crate::ct) struct Gpus {
    workers: Vec<Worker>,
}

impl Gpus {
    fn open(&mut self, context: &Context) -> Result<()> {
        if self.workers.is_empty() {
            self.workers = context.gpus().iter().map(Worker::new).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Measures every back projector that serves the plan, on every GPU; later choices go by that. Gives what was measured, in
    /// GU/s, for the first GPU.
    pub(in crate::ct) fn tune(
        &mut self,
        context: &Context,
        geometry: &Geometry,
        interpolation: Interpolation,
    ) -> Result<Vec<Measured>> {
        self.open(context)?;
        for worker in &mut self.workers {
            let case = Case { geometry, interpolation, shared: worker.state.device.shared_bytes(), tents: 0 };
            let mut rates = ALL.to_vec();
            for c in rates.iter_mut().filter(|c| c.projector.refusal(&case).is_none()) {
                let slices = c.projector.slices();
                let seconds = measure::seconds(&mut worker.state, &case, c.projector, slices)?;
                c.rate = slices as f64 * geometry.updates() / seconds / 1e9;
            }
            worker.rates = rates;
        }
        Ok(self.measured(geometry, interpolation))
    }

    /// What a call takes on the first GPU.
    pub(in crate::ct) fn needs(context: &Context, task: &Task) -> Result<Needs> {
        let gpus = context.gpus();
        let sizes = Sizes::new(context, task, &gpus[0], gpus.len(), &ALL)?;
        let padded_bins = filter::padded_bins(task.geometry.bins);
        Ok(Needs { slab: sizes.slab, bytes: sizes.bytes(task, sizes.slab), padded_bins })
    }

    fn measured(&self, geometry: &Geometry, interpolation: Interpolation) -> Vec<Measured> {
        let Some(worker) = self.workers.first() else { return Vec::new() };
        let case = Case { geometry, interpolation, shared: worker.state.device.shared_bytes(), tents: 0 };
        let served = worker.rates.iter().filter(|c| c.projector.refusal(&case).is_none());
        served
            .map(|c| Measured {
                name: c.projector.name(),
                kernel: c.kernel,
                precision: c.precision,
                slices: c.projector.slices(),
                rate: c.rate,
            })
            .collect()
    }

    /// Runs a call; gives the number of values replaced.
    pub(in crate::ct) fn run(&mut self, context: &Context, task: &Task) -> Result<u64> {
        self.open(context)?;
        let resident = [task.source.gpu, task.target.gpu].into_iter().flatten().collect::<Vec<_>>();
        if let [a, b] = resident[..]
            && a != b
        {
            fail!(
                TensorDevice,
                "input is on GPU {a} and output on GPU {b}; both must be on the same GPU (or on the host)"
            );
        }
        let at = resident.first().copied();
        let workers: Vec<&mut Worker> =
            self.workers.iter_mut().filter(|w| at.is_none_or(|gpu| gpu == w.state.device.index())).collect();
        if workers.is_empty() {
            fail!(TensorDevice, "a tensor is on GPU {}, which this context does not own", at.unwrap_or(0));
        }
        let queue = Queue { slices: task.geometry.slices, next: Mutex::new(0), failed: AtomicBool::new(false) };
        let replaced = AtomicU64::new(0);
        let sharing = workers.len();
        let mut jobs = Vec::with_capacity(sharing);
        for worker in workers {
            let rates = if worker.rates.is_empty() { &ALL[..] } else { &worker.rates };
            let sizes = Sizes::new(context, task, &worker.state.device, sharing, rates)?;
            log(context, task, &worker.state.device, &sizes);
            jobs.push((worker, sizes));
        }
        context.run_waiting(|job| {
            job.enter(task.stage());
            std::thread::scope(|scope| {
                let running: Vec<_> = jobs
                    .into_iter()
                    .map(|(worker, sizes)| {
                        let (queue, replaced) = (&queue, &replaced);
                        scope.spawn(move || {
                            let result = worker.run(&Call { context, task, job, sizes }, queue, replaced);
                            if result.is_err() {
                                queue.failed.store(true, Ordering::Relaxed);
                            }
                            result
                        })
                    })
                    .collect();
                let results: Vec<Result<()>> =
                    running.into_iter().map(|r| r.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect();
                results.into_iter().collect::<Result<()>>()
            })
        })?;
        Ok(replaced.into_inner())
    }
}

/// What a call takes on one GPU.
pub(in crate::ct) struct Needs {
    /// Slices of a slab.
    pub(in crate::ct) slab: usize,
    /// Memory of the slabs under way.
    pub(in crate::ct) bytes: u64,
    /// Length of the filter's transforms.
    pub(in crate::ct) padded_bins: usize,
}

/// What `tune` found of a back projector.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name in the table of results.
    pub name: String,
    /// Its family.
    pub kernel: Kernel,
    /// What it keeps.
    pub precision: Precision,
    /// Slices that it sums together, and with which it was measured.
    pub slices: usize,
    /// Giga-updates a second.
    pub rate: f64,
}

struct Call<'a> {
    context: &'a Context,
    task: &'a Task<'a>,
    job: &'a Job,
    sizes: Sizes,
}

/// Slices that wait for a GPU.
struct Queue {
    slices: usize,
    next: Mutex<usize>,
    failed: AtomicBool,
}

impl Queue {
    fn take(&self, most: usize) -> Option<(usize, usize)> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let first = *next;
        let count = most.min(self.slices - first);
        *next += count;
        (count > 0).then_some((first, count))
    }
}

/// Two slabs are under way at a time.
const SLOTS: usize = 2;

/// One GPU: its streams and the memory that is kept from slab to slab and from call to call.
#[derive(Debug)]
struct Worker {
    state: State,
    up: Transfer,
    down: Transfer,
    compute: Stream,
    slots: [SlabSlot; SLOTS],
    scratch: Scratch,
    /// Measured by `tune`; empty before.
    rates: Vec<Candidate>,
}

/// Buffers and marks of one slab.
#[derive(Debug)]
struct SlabSlot {
    raw: Slot,
    out: Slot,
    findings: DeviceMemory,
    found: Pinned,
    /// Raw data are there; raw data are used up; results are there; results have left.
    uploaded: Event,
    packed: Event,
    computed: Event,
    downloaded: Event,
}

impl SlabSlot {
    fn new(device: &Arc<Device>) -> Result<Self> {
        let event = || Event::new(device);
        let (uploaded, packed, computed, downloaded) = (event()?, event()?, event()?, event()?);
        let bytes = size_of::<Findings>();
        let (findings, found) = (DeviceMemory::new(device, bytes)?, Pinned::new(device, bytes)?);
        let (raw, out) = (Slot::default(), Slot::default());
        Ok(Self { raw, out, findings, found, uploaded, packed, computed, downloaded })
    }
}

/// A slab whose results are still on the GPU.
struct Pending {
    slot: usize,
    first: usize,
    count: usize,
}

impl Worker {
    fn new(device: &Arc<Device>) -> Result<Self> {
        let (up, down) = (Transfer::new(device)?, Transfer::new(device)?);
        let slots = [SlabSlot::new(device)?, SlabSlot::new(device)?];
        let (compute, scratch) = (Stream::new(device)?, Scratch::default());
        Ok(Self {
            state: State { device: device.clone(), textures: None },
            up,
            down,
            compute,
            slots,
            scratch,
            rates: Vec::new(),
        })
    }

    /// Takes slabs until there are none.
    fn run(&mut self, call: &Call, queue: &Queue, replaced: &AtomicU64) -> Result<()> {
        let device = self.state.device.clone();
        let _current = device.enter()?;
        let result = self.slabs(call, queue, replaced);
        // Whatever happened, nothing may run on when the caller's arrays are the caller's again.
        let waited = [&self.up.stream, &self.compute, &self.down.stream].map(Stream::synchronize);
        result?;
        waited.into_iter().collect()
    }

    fn slabs(&mut self, call: &Call, queue: &Queue, replaced: &AtomicU64) -> Result<()> {
        let task = call.task;
        if task.source.gpu.is_some() || task.target.gpu.is_some() {
            let ready = Event::new(&self.state.device)?;
            ready.record(&Stream::borrowed(task.stream))?;
            self.compute.wait(&ready)?;
        }
        let sizes = &call.sizes;
        let plan = DevicePlan::new(&self.state.device, task, sizes.projector, sizes.format.lanes)?;
        let mut count = sizes.slab;
        let mut pending: Option<Pending> = None;
        let mut turn = 0;
        while let Some((first, n)) = queue.take(count) {
            let (mut from, end) = (first, first + n);
            while from < end {
                call.job.check()?;
                let n = count.min(end - from);
                match self.start(call, &plan, turn, from, n) {
                    Ok(()) => {}
                    Err(e) if e.status == Status::OutOfMemory && count > 1 => {
                        // What is under way holds memory too.
                        if let Some(p) = pending.take() {
                            self.finish(call, p, replaced)?;
                        }
                        self.release()?;
                        count = smaller(count, sizes);
                        let device = &self.state.device;
                        call.job.note(format!("{device:?} is out of memory; slabs of {count} slices from here on"));
                        continue;
                    }
                    Err(e) => return Err(e),
                }
                let started = Pending { slot: turn, first: from, count: n };
                if let Some(p) = pending.replace(started) {
                    self.finish(call, p, replaced)?;
                }
                turn = (turn + 1) % SLOTS;
                from += n;
            }
        }
        if let Some(p) = pending {
            self.finish(call, p, replaced)?;
        }
        Ok(())
    }

    /// Gives all slab memory back.
    fn release(&mut self) -> Result<()> {
        for stream in [&self.up.stream, &self.compute, &self.down.stream] {
            stream.synchronize()?;
        }
        self.state.textures = None;
        self.scratch = Scratch::default();
        for slot in &mut self.slots {
            (slot.raw, slot.out) = (Slot::default(), Slot::default());
        }
        Ok(())
    }

    /// Sends a slab's data up and puts all of its work into the compute stream.
    fn start(&mut self, call: &Call, plan: &DevicePlan, turn: usize, first: usize, n: usize) -> Result<()> {
        let Self { state, up, compute, slots, scratch, .. } = self;
        let device = &state.device.clone();
        let (task, sizes, slot) = (call.task, &call.sizes, &mut slots[turn]);
        let g = task.geometry;
        let block = task.block(first, n);
        // Memory first: if there is too little, nothing has been started.
        let (data, strides) = match task.source.gpu {
            Some(_) => (block.address(), block.own_strides()),
            None => (slot.raw.take(device, block.bytes())?.address(), block.packed_strides()),
        };
        let out = slot.out.take(device, sizes.out_bytes(task, n))?.address();
        let packed = match task.operator {
            Operator::Filter | Operator::Forward => out,
            _ => scratch.packed.take(device, sizes.format.bytes(n, g.views(), g.bins) as usize)?.address(),
        };
        if task.source.gpu.is_none() {
            up.stream.wait(&slot.packed)?;
            // SAFETY: the caller's array is valid for the call, and `run` waits for the stream; the buffer holds the block.
            unsafe { up.upload(call.context, &block, data)? };
            slot.uploaded.record(&up.stream)?;
            compute.wait(&slot.uploaded)?;
        }
        let flat = plan.flat.as_ref().map(|f| f.each_ref().map(|m| m.address() + 4 * (first * g.bins) as u64));
        let [dark, gain] = flat.unwrap_or_default();
        // A volume's rows are looked at as if they were views.
        let forward = task.operator == Operator::Forward;
        let (view, slice, views, bins) = if forward { (1, 0, g.ny, g.nx) } else { (0, 1, g.views(), g.bins) };
        let raw = RawRows {
            data,
            view_stride: strides[view],
            slice_stride: strides[slice],
            bin_stride: strides[2],
            dark,
            gain,
            minimum: task.minimum as f32,
            kind: row_type(task.source.dtype),
            views: views as i32,
            slices: n as i32,
            bins: bins as i32,
        };
        let packing = Packing {
            raw,
            format: sizes.format,
            filter: plan.filter.as_ref(),
            view_scale: plan.view_scale.address(),
            bound: plan.bound,
            indices: indices(task, first),
            packed,
            findings: &slot.findings,
        };
        compute.wait(&slot.downloaded)?;
        packing.look(state, scratch, compute)?;
        match &plan.forward {
            None => packing.pack(state, scratch, compute)?,
            Some(forward) => {
                let (projections, s) = match sizes.in_place {
                    true => {
                        let target = sizes.target(task, first, n);
                        (target.address(), target.own_strides())
                    }
                    false => (out, sizes.target(task, first, n).packed_strides()),
                };
                let (volume, volume_strides, projection_strides) = (data, strides, [s[0], s[1]]);
                let slices = Slices { volume, volume_strides, projections, projection_strides, count: n };
                forward.run(state, g, &slices, scratch, compute)?;
            }
        }
        let bytes = size_of::<Findings>();
        let rows = Rows { address: slot.findings.address(), pitch: bytes, bytes, count: 1 };
        // SAFETY: the slot's own memory; `finish` waits for it.
        unsafe { rows.download(slot.found.data().addr() as u64, bytes, compute)? };
        slot.packed.record(compute)?;
        if let Some(projector) = sizes.projector {
            let (volume, slice_stride, row_stride) = match sizes.in_place {
                true => {
                    let block = sizes.target(task, first, n);
                    let s = block.own_strides();
                    (block.address(), s[0], s[1])
                }
                false => (out, (g.ny * g.nx) as i64, g.nx as i64),
            };
            let arguments = Arguments {
                data: packed,
                lines: plan.lines.address(),
                scale: scratch.down.address(),
                volume,
                slice_stride,
                row_stride,
                views: g.views() as i32,
                bins: sizes.format.samples(g.bins).0 as i32,
                pitch: sizes.format.pitch(g.bins) as i32,
                slices: n as i32,
                nx: g.nx as i32,
                ny: g.ny as i32,
            };
            let tents = plan.tents.as_ref().map_or(0, DeviceMemory::address);
            projector.launch(state, &task.case(device, tents), arguments, compute)?;
        }
        if task.target.gpu.is_some() && !sizes.in_place {
            let block = sizes.target(task, first, n);
            // SAFETY: the caller's tensor is valid for the call; the buffer holds the block.
            unsafe { scatter(device, out, block.address(), block.shape(), block.strides(), compute)? };
        }
        slot.computed.record(compute)
    }

    /// Looks at what was found in a slab's data, and brings its results to the caller.
    fn finish(&mut self, call: &Call, pending: Pending, replaced: &AtomicU64) -> Result<()> {
        let Self { down, slots, .. } = self;
        let (task, sizes, slot) = (call.task, &call.sizes, &mut slots[pending.slot]);
        slot.packed.synchronize()?;
        // SAFETY: pinned memory that holds the struct, written before the mark.
        let findings = unsafe { slot.found.data().cast::<Findings>().read() };
        if findings.first != u64::MAX && call.context.nan_policy() == NanPolicy::Error {
            return not_finite(task, findings.first);
        }
        replaced.fetch_add(findings.replaced, Ordering::Relaxed);
        down.stream.wait(&slot.computed)?;
        if task.target.gpu.is_none() {
            let block = sizes.target(task, pending.first, pending.count);
            // SAFETY: the caller's array is valid for the call, and `run` waits for the stream; the buffer holds the block.
            unsafe { down.download(call.context, &block, slot.out.address())? };
        }
        slot.downloaded.record(&down.stream)?;
        call.job.advance(pending.count as f64 / task.geometry.slices as f64);
        Ok(())
    }
}

/// How the work is cut.
struct Sizes {
    projector: Option<Projector>,
    format: Format,
    /// Slices of a slab.
    slab: usize,
    /// Results are written to the caller's device memory by the kernel itself.
    in_place: bool,
}

/// Slabs that a GPU should have at least, so that copies and work overlap.
const LEAST_SLABS: usize = 8;

impl Sizes {
    fn new(context: &Context, task: &Task, device: &Device, sharing: usize, rates: &[Candidate]) -> Result<Self> {
        let g = task.geometry;
        let share = g.slices.div_ceil(sharing);
        let side = forward::lanes(share);
        let projector = match task.operator {
            Operator::Filter | Operator::Forward => None,
            Operator::Adjoint => Some(Projector::Adjoint { lanes: side }),
            Operator::Reconstruct | Operator::Backproject => {
                let wish = Wish { kernel: task.kernel, precision: task.precision, rates };
                Some(wish.choose(&task.case(device, 0), share)?)
            }
        };
        let forward = task.operator == Operator::Forward;
        // Filtered rows go as they are; a volume to be projected is packed in its own way.
        let lanes = if forward { side } else { 1 };
        let planar = Format { lanes, half: false, split: false, oversampling: 1, tight: true };
        let format = projector.map_or(planar, |p| p.format(task.interpolation));
        let unit = projector.map_or(4, Projector::slices);
        let in_place = task.operator != Operator::Filter && task.target.gpu.is_some() && task.target.strides[2] == 1;
        let mut sizes = Self { projector, format, slab: 1, in_place };
        let cap = context.gpu_memory(device)?;
        let fits = |n: usize| sizes.bytes(task, n) <= cap;
        if !fits(1) {
            let needed = sizes.bytes(task, 1);
            fail!(MemoryCap, "{device:?} may use {cap} bytes; one slice needs at least {needed}");
        }
        let wanted = (share / LEAST_SLABS / unit).max(1) * unit;
        let mut slab = wanted.min(g.slices);
        while !fits(slab) {
            slab = smaller(slab, &sizes);
        }
        sizes.slab = slab;
        Ok(sizes)
    }

    /// Where the results of `n` slices go, in the order in which they lie on the device.
    fn target(&self, task: &Task, first: usize, n: usize) -> Block {
        match task.operator {
            Operator::Filter => {
                let target = Task::projections(task.target, task.geometry.order);
                Block::ordered(&target, 1, task.geometry.first_row + first, n, [1, 0, 2])
            }
            Operator::Forward => {
                // As they lie in the caller's memory, so that they are copied in one piece; bins always last.
                let target = Task::projections(task.target, task.geometry.order);
                let frames = target.strides[0].unsigned_abs() >= target.strides[1].unsigned_abs();
                let order = if frames { [0, 1, 2] } else { [1, 0, 2] };
                Block::ordered(&target, 1, task.geometry.first_row + first, n, order)
            }
            _ => Block::ordered(task.target, 0, first, n, [0, 1, 2]),
        }
    }

    fn out_bytes(&self, task: &Task, n: usize) -> usize {
        match task.operator {
            _ if self.in_place => 0,
            Operator::Filter => self.format.bytes(n, task.geometry.views(), task.geometry.bins) as usize,
            Operator::Forward => n * task.geometry.views() * task.geometry.bins * 4,
            _ => n * task.geometry.ny * task.geometry.nx * 4,
        }
    }

    /// Device memory for slabs of `n` slices, tables not counted.
    fn bytes(&self, task: &Task, n: usize) -> u64 {
        let g = task.geometry;
        let raw = match task.source.gpu {
            Some(_) => 0,
            None => task.block(0, n).bytes() as u64,
        };
        let packed = match task.operator {
            Operator::Filter => 0,
            Operator::Forward => forward::packed_bytes(g, n, self.format.lanes),
            _ => self.format.bytes(n, g.views(), g.bins),
        };
        SLOTS as u64 * (raw + self.out_bytes(task, n) as u64) + packed
    }
}

/// The next smaller slab: whole blocks of the kernel as long as there are several.
fn smaller(slab: usize, sizes: &Sizes) -> usize {
    let unit = sizes.projector.map_or(4, Projector::slices);
    if slab > unit { (slab / 2).next_multiple_of(unit).min(slab - 1) } else { (slab / 2).max(1) }
}

/// Weights of the indices in the caller's tensor.
fn indices(task: &Task, first: usize) -> IndexWeights {
    let g = task.geometry;
    if task.operator == Operator::Forward {
        let (rows, columns) = (g.ny as i64, g.nx as i64);
        return IndexWeights { view: columns, slice: rows * columns, offset: first as i64 * rows * columns };
    }
    let (views, rows, bins) = (g.views() as i64, g.rows as i64, g.bins as i64);
    let row = (g.first_row + first) as i64;
    match g.order {
        Order::Frames => IndexWeights { view: rows * bins, slice: bins, offset: row * bins },
        Order::Sinograms => IndexWeights { view: bins, slice: views * bins, offset: row * views * bins },
    }
}

fn not_finite(task: &Task, first: u64) -> Result<()> {
    let [_, b, c] = task.source.shape;
    let at = first as usize;
    let (i, j, k) = (at / (b * c), at / c % b, at % c);
    let name = if task.operator == Operator::Forward { "volume" } else { "projections" };
    fail!(NotFiniteData, "{name}[{i}, {j}, {k}] is NaN or Inf; it must be finite (or set the NaN policy to replace)");
}

/// Tells the log what was decided.
fn log(context: &Context, task: &Task, device: &Device, sizes: &Sizes) {
    context.log(LogLevel::Info, || {
        let what = format!("{:?}", task.operator).to_lowercase();
        let slab = sizes.slab;
        match sizes.projector {
            Some(p) => format!("{what} on {device:?}: slabs of up to {slab} slices, {p:?}"),
            None => format!("{what} on {device:?}: slabs of up to {slab} slices"),
        }
    });
}

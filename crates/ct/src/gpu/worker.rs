//! One GPU of a plan: while a slab is computed, the next comes up and the last goes down, each in a stream of its own.

use super::band_limited::{DeviceBandLimited, Sums, Volume, missing};
use super::band_limited_sizes::BandLimitedSizes;
use super::case::Arguments;
use super::format::{RawRows, row_type};
use super::forward::{self, Slices};
use super::frames;
use super::iterative::{self, Ends, Piece, Pieces, Slab};
use super::kept_filter::KeptFilter;
use super::kernels::Kernels;
use super::measure;
use super::output::{DeviceOutput, Part};
use super::prepare;
use super::rates::{Candidate, Multiprocessor, presumed};
use super::rows::{Findings, Packing};
use super::sizes::{SLOTS, Sizes, case, indices, not_finite, smaller, source};
use super::state::{Scratch, Slot, State};
use super::survey;
use super::tables::Tables;
use crate::engine::Treated;
use crate::geometry::Geometry;
use crate::iterative::norms::Norms;
use crate::iterative::options::Start;
use crate::iterative::variation::{Course, Seen};
use crate::output::Finish;
use crate::rows::kind::Correction;
use crate::slab::{Arrays, Worker};
use crate::task::{Operator, Task};
use isocenter_base::array::transfer::Transfer;
use isocenter_base::context::{Context, Job, NanPolicy};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, DeviceMemory, Event, Pinned, Stream, scatter};
use std::ops::Range;
use std::sync::Arc;

/// A call as a GPU sees it, at one slab.
#[derive(Clone, Copy)]
struct Call<'a> {
    context: &'a Context,
    task: &'a Task<'a>,
    arrays: &'a Arrays<'a>,
    sizes: &'a Sizes,
    output: Option<&'a DeviceOutput>,
    way: Way<'a>,
}

/// What becomes of a slab.
#[derive(Clone, Copy)]
pub(super) enum Way<'a> {
    /// It goes from the data to the volume.
    Through,
    /// From the data to pieces.
    Collect(&'a Pieces),
    /// From pieces to the volume.
    Deliver(&'a Pieces),
}

/// One GPU: its streams and the memory that is kept from slab to slab and from call to call.
#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) state: State,
    filter: KeptFilter,
    up: Transfer,
    down: Transfer,
    compute: Stream,
    slots: [SlabSlot; SLOTS],
    scratch: Scratch,
    /// The last slab's scratch memory has been read.
    begun: Event,
    /// A slice that is counted on the host.
    surveyed: Option<Pinned>,
    /// The slot of the next slab.
    turn: usize,
    /// Presumed for the GPU, or measured by `tune`.
    pub(super) rates: Vec<Candidate>,
}

/// Buffers and marks of one slab.
#[derive(Debug)]
struct SlabSlot {
    raw: Slot,
    out: Slot,
    findings: DeviceMemory,
    found: Pinned,
    /// The same of what stages made.
    prepared: (DeviceMemory, Pinned),
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
        let prepared = (DeviceMemory::new(device, bytes)?, Pinned::new(device, bytes)?);
        let (raw, out) = (Slot::default(), Slot::default());
        Ok(Self { raw, out, findings, found, prepared, uploaded, packed, computed, downloaded })
    }

    /// What was found in the data, once the packing has passed; an error where they are not finite and must be.
    fn check_data(&self, call: &Call, device: &Device) -> Result<Findings> {
        // SAFETY: pinned memory that holds the struct, written before the mark.
        let findings = unsafe { self.found.data().cast::<Findings>().read() };
        if findings.first != u64::MAX && call.context.nan_policy() == NanPolicy::Error {
            not_finite(call.task, call.arrays, device, findings.first)?;
        }
        Ok(findings)
    }
}

/// A slab whose results are still on the GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    slot: usize,
    first: usize,
    count: usize,
    /// Values that iterations could not take.
    replaced: u64,
}

impl Gpu {
    pub(super) fn new(device: &Arc<Device>) -> Result<Self> {
        let (up, down) = (Transfer::new(device)?, Transfer::new(device)?);
        let slots = [SlabSlot::new(device)?, SlabSlot::new(device)?];
        let (compute, scratch, begun) = (Stream::new(device)?, Scratch::default(), Event::new(device)?);
        Ok(Self {
            state: State {
                device: device.clone(),
                kernels: Kernels::default(),
                textures: None,
                band_limited: None,
                convolution: None,
                wavelet: None,
                counters: Slot::default(),
            },
            filter: KeptFilter::default(),
            up,
            down,
            compute,
            slots,
            scratch,
            begun,
            surveyed: None,
            turn: 0,
            rates: presumed(&Multiprocessor::of(device)),
        })
    }

    /// Waits for all of its streams; needs the GPU to be current.
    pub(super) fn wait(&self) -> Result<()> {
        let waited = [&self.up.stream, &self.compute, &self.down.stream].map(Stream::synchronize);
        waited.into_iter().collect()
    }

    /// Sizes of the band-limited sums that it has tables for.
    pub(super) fn known(&self) -> Option<&BandLimitedSizes> {
        self.state.band_limited.as_ref().map(DeviceBandLimited::sizes)
    }

    /// Makes tables of band-limited sums, unless it has them.
    fn prepare_band_limited(&mut self, geometry: &Geometry, sizes: &BandLimitedSizes) -> Result<()> {
        let state = &mut self.state;
        if state.band_limited.as_ref().is_none_or(|b| b.sizes().plan != sizes.plan) {
            state.band_limited = None;
            state.band_limited = Some(DeviceBandLimited::new(&state.device, geometry, sizes)?);
        }
        Ok(())
    }

    /// Seconds of the band-limited sums of so many slices.
    pub(super) fn measure_band_limited(&mut self, task: &Task, slices: usize) -> Result<f64> {
        let device = self.state.device.clone();
        let _current = device.enter()?;
        let Some(plan) = task.band_limited()? else { fail!(Internal, "a plan without band-limited sums") };
        let sizes = match self.known() {
            Some(known) if known.plan == plan => known.clone(),
            _ => BandLimitedSizes::new(task.geometry, plan)?,
        };
        self.prepare_band_limited(task.geometry, &sizes)?;
        let sums = self.state.band_limited.as_ref().ok_or_else(missing)?;
        measure::band_limited_seconds(&self.state, sums, task.geometry, slices)
    }

    /// What the caller's stream does comes first.
    fn follow(&self, stream: usize) -> Result<()> {
        let ready = Event::new(&self.state.device)?;
        ready.record(&Stream::borrowed(stream))?;
        self.compute.wait(&ready)
    }

    /// Waits until a slab's results are with the caller.
    fn arrived(&self, pending: &Pending) -> Result<()> {
        self.slots[pending.slot].downloaded.synchronize()
    }

    /// As it was before the first call.
    pub(super) fn forget(&mut self) {
        let device = self.state.device.clone();
        if let Ok(_current) = device.enter() {
            // Calls leave nothing running; an error of theirs has been told.
            let _ = self.release();
            // Whatever became of that: these were made for the geometry.
            (self.state.band_limited, self.state.convolution) = (None, None);
            (self.state.wavelet, self.filter) = (None, KeptFilter::default());
        }
        self.rates = presumed(&Multiprocessor::of(&device));
    }

    /// Bytes that it holds from earlier calls.
    pub(super) fn held(&self) -> u64 {
        let slots = self.slots.iter().map(|s| s.raw.bytes() + s.out.bytes()).sum::<u64>();
        let Scratch { packed, sums, frames, undistorted, grids, integrals, lists, widened, volume, .. } = &self.scratch;
        let Scratch { vectors, pair, numbers, watched, start, .. } = &self.scratch;
        let stages = [frames, undistorted, grids, integrals, lists, widened];
        let others = [packed, sums, volume, vectors, pair, numbers, watched, start];
        slots + stages.iter().chain(&others).map(|slot| slot.bytes()).sum::<u64>()
    }

    /// Gives all slab memory back.
    fn release(&mut self) -> Result<()> {
        self.wait()?;
        self.state.textures = None;
        (self.scratch, self.surveyed) = (Scratch::default(), None);
        for slot in &mut self.slots {
            (slot.raw, slot.out) = (Slot::default(), Slot::default());
        }
        Ok(())
    }

    /// Sends a slab's data up and puts all of its work into the compute stream; needs the GPU to be current.
    fn start(&mut self, call: &Call, tables: &mut Tables, job: &Job, first: usize, n: usize) -> Result<Pending> {
        let Self { state, up, down, compute, slots, scratch, turn, begun, .. } = self;
        let device = &state.device.clone();
        let (task, arrays, sizes, slot) = (call.task, call.arrays, call.sizes, &mut slots[*turn]);
        let g = task.geometry;
        let (block, beside) = source(task, arrays, first, n);
        // Memory first: if there is too little, nothing has been started.
        let (data, strides) = match arrays.source().gpu {
            Some(_) => (block.address(), block.own_strides()),
            None => (slot.raw.take(device, block.bytes())?.address(), block.packed_strides()),
        };
        let out = slot.out.take(device, sizes.out_bytes(task, n))?.address();
        let finished = match call.output {
            Some(_) => scratch.volume.take(device, sizes.volume_bytes(task, n))?.address(),
            None => out,
        };
        let packed = match task.operator {
            Operator::Filter | Operator::Forward => out,
            _ => scratch.packed.take(device, sizes.format.bytes(n, g.views(), g.bins) as usize)?.address(),
        };
        let band_limited = match &sizes.band_limited {
            Some(_) => {
                let sums = state.band_limited.as_ref().ok_or_else(missing)?;
                let convolution = task.iteration.map_or(0, |iteration| iterative::convolution_bytes(g, iteration, n));
                let bytes = sums.sizes().bytes(n).max(convolution) as usize;
                Some((sums, scratch.sums.take(device, bytes)?.address()))
            }
            None => None,
        };
        prepare::reserve(device, task, tables.phase.as_ref(), n, scratch)?;
        if arrays.source().gpu.is_none() {
            up.stream.wait(&slot.packed)?;
            // SAFETY: the caller's array is valid for the call, and `run` waits for the stream; the buffer holds the block.
            unsafe { up.upload(call.context, &block, data)? };
            slot.uploaded.record(&up.stream)?;
            compute.wait(&slot.uploaded)?;
        }
        let mut replaced = 0;
        let start = match task.iteration.filter(|iteration| iteration.options.start == Start::Volume) {
            None => None,
            Some(_) => {
                let block = sizes.target(task, arrays, first, n);
                match arrays.target().gpu {
                    Some(_) => Some((block.address(), block.own_strides())),
                    None => {
                        let address = scratch.start.take(device, block.bytes())?.address();
                        up.stream.wait(begun)?;
                        // SAFETY: as above; what used the buffer before is done.
                        unsafe { up.upload(call.context, &block, address)? };
                        slot.uploaded.record(&up.stream)?;
                        compute.wait(&slot.uploaded)?;
                        Some((address, block.packed_strides()))
                    }
                }
            }
        };
        let detector = task.detector;
        let [dark, gain] = tables.flat.as_ref().map_or([0, 0], |flat| flat.of(detector.first_row + first));
        // A volume's rows are looked at as if they were views.
        let forward = task.operator == Operator::Forward;
        let (view, slice, views, bins) = if forward { (1, 0, g.ny, g.nx) } else { (0, 1, g.views(), detector.bins) };
        // From the slab's first row on.
        let own = beside[0] as i64 * strides[slice] * arrays.source().dtype.size() as i64;
        let raw = RawRows {
            data: data.wrapping_add_signed(own),
            view_stride: strides[view],
            slice_stride: strides[slice],
            bin_stride: strides[2],
            dark,
            gain,
            minimum: task.rows.correction.minimum(),
            kind: row_type(arrays.source().dtype),
            views: views as i32,
            slices: n as i32,
            bins: bins as i32,
            transmission: matches!(task.rows.correction, Correction::Transmission(_)).into(),
        };
        let packing = Packing {
            raw,
            format: sizes.format,
            filter: tables.filter.as_deref(),
            view_scale: tables.view_scale.address(),
            bound: tables.bound,
            indices: indices(task, first),
            packed,
            findings: &slot.findings,
            found: &slot.found,
        };
        compute.wait(&slot.downloaded)?;
        packing.look(state, scratch, compute)?;
        let packing = match task.rows.stages {
            None => packing,
            Some(_) => {
                let flat = task.rows.correction.flat().zip(tables.flat.as_ref());
                let counter = packing.outliers();
                let slab = frames::Slab {
                    geometry: detector,
                    top: detector.first_row + first,
                    raw: packing.raw,
                    beside,
                    flat,
                    counter,
                    counted: [0, n],
                    transmissions: false,
                };
                let raw = prepare::run(state, task, tables, slab, scratch, compute)?;
                packing.tell(state, compute)?;
                // What the packing goes by is now the largest line integral.
                let prepared = Packing { raw, findings: &slot.prepared.0, found: &slot.prepared.1, ..packing };
                prepared.look(state, scratch, compute)?;
                prepared
            }
        };
        if forward {
            let (projections, s) = match sizes.in_place {
                true => {
                    let target = sizes.target(task, arrays, first, n);
                    (target.address(), target.own_strides())
                }
                false => (out, sizes.target(task, arrays, first, n).packed_strides()),
            };
            let (volume, volume_strides, projection_strides) = (data, strides, [s[0], s[1]]);
            let slices = Slices { volume, volume_strides, projections, projection_strides, count: n };
            match (band_limited, &tables.forward) {
                // SAFETY: volume and projections are as described; memory lives until the stream is waited for.
                (Some((sums, workspace)), _) => unsafe { sums.forward(&slices, workspace, compute)? },
                (None, Some(joseph)) => {
                    let bytes = forward::packed_bytes(g, n, sizes.format.lanes) as usize;
                    let packed = scratch.packed.take(device, bytes)?.address();
                    joseph.run(g, &slices, packed, compute)?;
                }
                (None, None) => fail!(Internal, "a forward projection was not prepared"),
            }
        } else {
            packing.pack(state, scratch, compute)?;
        }
        slot.packed.record(compute)?;
        let workspace = band_limited.map_or(0, |(_, workspace)| workspace);
        let volume = volume(call, (first, n), finished);
        if let Some((iteration, prepared)) = task.iteration.zip(tables.iterations.as_mut()) {
            let (context, rows) = (call.context, packed);
            let slab = Slab { context, job, geometry: g, iteration, first, count: n, own: n, workspace };
            let ends = Ends { rows, start, volume };
            // Iterations take their time: bad data are told of before.
            slot.packed.synchronize()?;
            slot.check_data(call, device)?;
            // SAFETY: rows and volume are as described; memory lives until the stream is waited for.
            replaced += unsafe {
                match call.way {
                    Way::Collect(pieces) => {
                        prepared.collect(state, scratch, (&slab, &ends), compute, (pieces, down))?
                    }
                    _ => prepared.run(state, scratch, (&slab, &ends), compute)?,
                }
            };
        } else if let Some((sums, workspace)) = band_limited.filter(|_| !forward) {
            let kind = if task.operator == Operator::Adjoint { Sums::Adjoint } else { Sums::Reading };
            // SAFETY: rows and volume are as described; memory lives until the stream is waited for.
            unsafe { sums.backproject(kind, packed, volume, n, workspace, compute)? };
        }
        if let Some(projector) = sizes.projector {
            let Volume { address, slice_stride, row_stride } = volume;
            let arguments = Arguments {
                data: packed,
                lines: tables.lines.address(),
                scale: scratch.down.address(),
                volume: address,
                slice_stride,
                row_stride,
                views: g.views() as i32,
                bins: sizes.format.samples(g.bins).0 as i32,
                pitch: sizes.format.pitch(g.bins) as i32,
                slices: n as i32,
                nx: g.nx as i32,
                ny: g.ny as i32,
            };
            let tents = tables.tents.as_ref().map_or(0, DeviceMemory::address);
            projector.launch(state, &case(task, device, tents), arguments, compute)?;
        }
        if let Way::Through = call.way {
            // SAFETY: slices as they are described; memory lives until the stream is waited for.
            unsafe { convert(call, device, (first, n), [finished, out], compute)? };
        }
        begun.record(compute)?;
        slot.computed.record(compute)?;
        let pending = Pending { slot: *turn, first, count: n, replaced };
        *turn = (*turn + 1) % SLOTS;
        Ok(pending)
    }

    /// Puts a slab of the pieces' images where its results belong; needs the GPU to be current.
    fn deliver(&mut self, call: &Call, tables: &mut Tables, job: &Job, (first, n): (usize, usize)) -> Result<Pending> {
        let Self { state, up, compute, slots, scratch, turn, begun, .. } = self;
        let device = &state.device.clone();
        let (task, sizes, slot) = (call.task, call.sizes, &mut slots[*turn]);
        let (Way::Deliver(pieces), Some(iteration), Some(prepared)) =
            (call.way, task.iteration, &mut tables.iterations)
        else {
            fail!(Internal, "pieces that are not there")
        };
        let g = task.geometry;
        let out = slot.out.take(device, sizes.out_bytes(task, n))?.address();
        let finished = match call.output {
            Some(_) => scratch.volume.take(device, sizes.volume_bytes(task, n))?.address(),
            None => out,
        };
        compute.wait(&slot.downloaded)?;
        let volume = volume(call, (first, n), finished);
        let slab = Slab { context: call.context, job, geometry: g, iteration, first, count: n, own: 0, workspace: 0 };
        // SAFETY: the volume is as described; memory lives until the stream is waited for.
        unsafe {
            prepared.deliver(state, scratch, (&slab, volume), compute, (pieces, up))?;
            convert(call, device, (first, n), [finished, out], compute)?;
        }
        slot.packed.record(compute)?;
        begun.record(compute)?;
        slot.computed.record(compute)?;
        let pending = Pending { slot: *turn, first, count: n, replaced: 0 };
        *turn = (*turn + 1) % SLOTS;
        Ok(pending)
    }

    /// A stretch of iterations of a piece; needs the GPU to be current.
    fn stretch(
        &mut self,
        call: &Call,
        (tables, sizes): (&mut Tables, &Sizes),
        job: &Job,
        (course, piece): (&Course, &mut Piece),
    ) -> Result<Vec<Seen>> {
        let Self { state, up, down, compute, scratch, .. } = self;
        let device = &state.device.clone();
        let (Some(iteration), Some(prepared)) = (call.task.iteration, &mut tables.iterations) else {
            fail!(Internal, "iterations that nobody asked for")
        };
        let (first, count, own) = (piece.first(), piece.count(), piece.owned().len());
        let workspace = match &sizes.band_limited {
            Some(sums) => scratch.sums.take(device, sums.bytes(count) as usize)?.address(),
            None => 0,
        };
        let (context, geometry) = (call.context, call.task.geometry);
        let slab = Slab { context, job, geometry, iteration, first, count, own, workspace };
        prepared.stretch(state, scratch, (&slab, compute), (course, piece), [up, down])
    }

    /// Looks at what was found in a slab's data, and brings its results to the caller. Needs the GPU to be current.
    fn finish(&mut self, call: &Call, pending: &Pending) -> Result<Treated> {
        let Self { state, down, slots, surveyed, .. } = self;
        let (task, arrays, sizes, slot) = (call.task, call.arrays, call.sizes, &mut slots[pending.slot]);
        slot.packed.synchronize()?;
        let findings = match call.way {
            Way::Deliver(_) => Findings::NOTHING,
            _ => slot.check_data(call, &state.device)?,
        };
        down.stream.wait(&slot.computed)?;
        if let Finish::Survey(counts) = task.pass.finish {
            let g = task.geometry;
            let slices = (slot.out.address(), [pending.count, g.ny, g.nx]);
            // SAFETY: the slab's results, which its slot holds.
            unsafe { survey::count((call.context, &state.device), counts, slices, &down.stream, surveyed)? };
        } else if arrays.target().gpu.is_none() && !matches!(call.way, Way::Collect(_)) {
            let block = sizes.target(task, arrays, pending.first, pending.count);
            // SAFETY: the caller's array is valid for the call, and `run` waits for the stream; the buffer holds the block.
            unsafe { down.download(call.context, &block, slot.out.address())? };
        }
        slot.downloaded.record(&down.stream)?;
        Ok(Treated { replaced: findings.replaced + pending.replaced, outliers: findings.outliers })
    }
}

/// Where a slab's slices are made, if not in the caller's memory from `finished` on.
fn volume(call: &Call, (first, n): (usize, usize), finished: u64) -> Volume {
    let g = call.task.geometry;
    match call.sizes.in_place && call.output.is_none() {
        true => {
            let block = call.sizes.target(call.task, call.arrays, first, n);
            let s = block.own_strides();
            Volume { address: block.address(), slice_stride: s[0], row_stride: s[1] }
        }
        false => Volume { address: finished, slice_stride: (g.ny * g.nx) as i64, row_stride: g.nx as i64 },
    }
}

/// Converts finished slices, or brings them to where the caller has the volume on this device.
///
/// # Safety
/// Slices are from `finished` on, and what is converted goes from `out` on, until the stream has passed; the caller's tensor is valid.
unsafe fn convert(
    call: &Call,
    device: &Arc<Device>,
    (first, n): (usize, usize),
    [finished, out]: [u64; 2],
    compute: &Stream,
) -> Result<()> {
    let (task, arrays, sizes, g) = (call.task, call.arrays, call.sizes, call.task.geometry);
    if let Some(output) = call.output {
        let (target, strides) = match sizes.in_place {
            true => {
                let block = sizes.target(task, arrays, first, n);
                (block.address(), block.own_strides())
            }
            false => (out, [(g.ny * g.nx) as i64, g.nx as i64, 1]),
        };
        let part = Part { volume: finished, target, strides, shape: [n, g.ny, g.nx] };
        // SAFETY: the caller's tensor is valid for the call; buffers live until the stream is waited for.
        unsafe { output.run(&part, compute)? };
    } else if arrays.target().gpu.is_some() && !sizes.in_place && !matches!(task.pass.finish, Finish::Survey(_)) {
        let block = sizes.target(task, arrays, first, n);
        // SAFETY: the caller's tensor is valid for the call; the buffer holds the block.
        unsafe { scatter(device, out, block.address(), block.shape(), block.strides(), compute)? };
    }
    Ok(())
}

/// A GPU at work on one call.
pub(super) struct AtWork<'a> {
    context: &'a Context,
    task: &'a Task<'a>,
    gpu: &'a mut Gpu,
    pub(super) sizes: Sizes,
    /// There once the work has begun.
    tables: Option<Tables>,
    output: Option<DeviceOutput>,
    treated: Treated,
    pub(super) way: Way<'a>,
}

impl<'a> AtWork<'a> {
    pub(super) fn new(context: &'a Context, task: &'a Task<'a>, gpu: &'a mut Gpu, sizes: Sizes) -> Self {
        Self { context, task, gpu, sizes, tables: None, output: None, treated: Treated::default(), way: Way::Through }
    }

    pub(super) fn device(&self) -> &Arc<Device> {
        &self.gpu.state.device
    }

    /// Gives back what slabs of host memory were copied to, before the first slab that lies on the GPU.
    pub(super) fn clear(&mut self) {
        self.gpu.slots.iter_mut().for_each(|slot| (slot.raw, slot.out) = (Slot::default(), Slot::default()));
    }

    /// What becomes of slabs from here on.
    pub(super) fn go(workers: &mut [Self], way: Way<'a>) {
        workers.iter_mut().for_each(|gpu| gpu.way = way);
    }

    /// Makes tables; waits for what the caller's stream does to the arrays.
    pub(super) fn prepare(&mut self, arrays: &Arrays) -> Result<()> {
        let device = self.gpu.state.device.clone();
        let _current = device.enter()?;
        if arrays.source().gpu.is_some() || arrays.target().gpu.is_some() {
            self.gpu.follow(self.task.stream)?;
        }
        let Sizes { projector, format, band_limited, side, .. } = &self.sizes;
        if let Some(sizes) = band_limited {
            self.gpu.prepare_band_limited(self.task.geometry, sizes)?;
        }
        if let Some(stages) = self.task.rows.stages {
            prepare::tables(&mut self.gpu.state, stages, self.task.detector, self.context.level())?;
        }
        self.tables = Some(Tables::new(
            &device,
            self.task,
            &mut self.gpu.filter,
            (*projector, format.lanes, *side, self.sizes.slab.max(self.sizes.piece.unwrap_or(0))),
        )?);
        if let Finish::Write(writer) = self.task.pass.finish {
            self.output = Some(DeviceOutput::new(&device, writer)?);
        }
        Ok(())
    }

    /// A stretch of iterations of a piece.
    pub(super) fn stretch(
        &mut self,
        arrays: &Arrays,
        job: &Job,
        course: &Course,
        piece: &mut Piece,
    ) -> Result<Vec<Seen>> {
        let Self { context, task, gpu, sizes, tables, output, way, .. } = self;
        let Some(tables) = tables else { fail!(Internal, "a GPU was not prepared") };
        let device = gpu.state.device.clone();
        let _current = device.enter()?;
        let call = Call { context, task, arrays, sizes, output: output.as_ref(), way: *way };
        gpu.stretch(&call, (tables, sizes), job, (course, piece))
    }

    /// Norms of the pair, once a slab has been worked on.
    pub(super) fn norms(&self) -> Option<Norms> {
        self.tables.as_ref()?.iterations.as_ref()?.norms()
    }

    /// What happened to values; tells the writer what was counted. When nothing is under way any more.
    pub(super) fn done(&self) -> Result<Treated> {
        if let (Finish::Write(writer), Some(output)) = (self.task.pass.finish, &self.output) {
            output.tell(&self.gpu.state.device, writer)?;
        }
        Ok(self.treated)
    }

    pub(super) fn wait(&self) -> Result<()> {
        let _current = self.gpu.state.device.enter()?;
        self.gpu.wait()
    }
}

impl Worker for AtWork<'_> {
    type Pending = Pending;
    const DEPTH: usize = SLOTS;

    fn share(&self) -> usize {
        self.sizes.slab
    }

    /// Bad data are found when a slab is finished.
    fn begin(&mut self, _: &Job, _: &Arrays, _: Range<usize>) -> Result<()> {
        Ok(())
    }

    fn start(&mut self, job: &Job, arrays: &Arrays, slices: Range<usize>) -> Result<(usize, Pending)> {
        let Self { context, task, gpu, sizes, tables, output, way, .. } = self;
        let Some(tables) = tables else { fail!(Internal, "a GPU was not prepared") };
        let device = gpu.state.device.clone();
        let _current = device.enter()?;
        let count = sizes.slab.min(slices.len());
        let call = Call { context, task, arrays, sizes, output: output.as_ref(), way: *way };
        let pending = match way {
            Way::Deliver(_) => gpu.deliver(&call, tables, job, (slices.start, count))?,
            _ => gpu.start(&call, tables, job, slices.start, count)?,
        };
        Ok((count, pending))
    }

    fn finish(&mut self, job: &Job, arrays: &Arrays, pending: &Pending) -> Result<()> {
        let Self { context, task, gpu, sizes, output, treated, way, .. } = self;
        let device = gpu.state.device.clone();
        let _current = device.enter()?;
        *treated += gpu.finish(&Call { context, task, arrays, sizes, output: output.as_ref(), way: *way }, pending)?;
        // Iterations have told of theirs.
        if task.iteration.is_none() {
            job.advance(pending.count as f64 / task.geometry.slices as f64);
        }
        Ok(())
    }

    fn arrived(&mut self, pending: &Pending) -> Result<()> {
        let device = self.gpu.state.device.clone();
        let _current = device.enter()?;
        self.gpu.arrived(pending)
    }

    fn shrink(&mut self, job: &Job) -> Result<bool> {
        if self.sizes.slab <= self.sizes.minimum {
            return Ok(false);
        }
        let device = self.gpu.state.device.clone();
        let _current = device.enter()?;
        self.gpu.release()?;
        self.sizes.slab = smaller(self.sizes.slab, &self.sizes);
        let count = self.sizes.slab;
        job.note(format!("{device:?} is out of memory; slabs of {count} slices from here on"));
        Ok(true)
    }
}

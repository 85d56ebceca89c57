//! CT on the GPUs of a context: several take slabs from one queue, so that a slow one takes fewer.

use super::band_limited_sizes::BandLimitedSizes;
use super::case::Case;
use super::rates::{Multiprocessor, presumed};
use super::relay::{self, Host, Parts};
use super::several::{drive, on_each, rounds};
use super::sizes::{SLOTS, Sizes, smaller};
use super::worker::{AtWork, Gpu, Way};
use super::{filter, measure, pieces};
use crate::engine::{Engine, Measured, Needs, Treated};
use crate::geometry::Geometry;
use crate::options::{Kernel, Precision, Sampling};
use crate::slab::{Arrays, Buffers, Callbacks, Lent, Whole};
use crate::task::Task;
use isocenter_base::array::DType;
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::gpu::Device;

/// A plan's GPUs, and what it keeps on them.
#[derive(Debug, Default)]
pub(crate) struct GpuEngine {
    gpus: Vec<Gpu>,
    /// Of the last stream, page-locked, which takes long: in the order in which slabs take turns.
    buffers: Vec<Buffers>,
    /// The same of slabs that lie on their GPU.
    parts: Option<Parts>,
}

/// Bytes of page-locked memory that a stream takes, if slabs can be so small.
const PINNED: u64 = 1 << 30;

impl GpuEngine {
    fn open(&mut self, context: &Context) -> Result<()> {
        if self.gpus.is_empty() {
            self.gpus = context.gpus().iter().map(Gpu::new).collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// What the first GPU has found out about band-limited sums.
    fn known(&self) -> Option<&BandLimitedSizes> {
        self.gpus.first().and_then(Gpu::known)
    }

    /// On the first GPU, with as many slices as it has memory for: there is nothing to choose from.
    fn tune_band_limited(&mut self, task: &Task) -> Result<Vec<Measured>> {
        let Some(worker) = self.gpus.first_mut() else { return Ok(Vec::new()) };
        let (kernel, precision) = (Kernel::Auto, Precision::Single);
        let mut slices = BandLimitedSizes::UNIT.min(task.geometry.slices.next_multiple_of(2));
        loop {
            match worker.measure_band_limited(task, slices) {
                Err(e) if e.status == Status::OutOfMemory && slices > 2 => slices = (slices / 2).next_multiple_of(2),
                seconds => {
                    let rate = slices as f64 * task.geometry.updates() / seconds? / 1e9;
                    let name = format!("band-limited f32 x{slices}");
                    return Ok(vec![Measured { name, kernel, precision, slices, rate }]);
                }
            }
        }
    }

    fn measured(&self, geometry: &Geometry, sampling: Sampling) -> Vec<Measured> {
        let Some(worker) = self.gpus.first() else { return Vec::new() };
        let case = Case { geometry, sampling, shared: worker.state.device.shared_bytes(), tents: 0 };
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
}

impl Engine for GpuEngine {
    /// On the first GPU.
    fn needs(&self, context: &Context, task: &Task) -> Result<Needs> {
        let (gpus, arrays) = (context.gpus(), Arrays::sizes(task.detector, DType::F32, task.pass.stored));
        let rates = presumed(&Multiprocessor::of(&gpus[0]));
        let sizes = Sizes::new(context, (task, &arrays), (&gpus[0], 0), (gpus.len(), &rates), self.known())?;
        let padded_bins = filter::padded_bins(task.geometry.bins);
        Ok(Needs { slab: sizes.slab, bytes: sizes.needed((task, &arrays)), padded_bins })
    }

    fn run(&mut self, context: &Context, task: &Task, arrays: &Arrays) -> Result<Treated> {
        self.open(context)?;
        let at = resident(arrays)?;
        let gpus: Vec<_> =
            self.gpus.iter_mut().filter(|w| at.is_none_or(|gpu| gpu == w.state.device.index())).collect();
        if gpus.is_empty() {
            fail!(TensorDevice, "a tensor is on GPU {}, which this context does not own", at.unwrap_or(0));
        }
        let sharing = gpus.len();
        let mut workers = Vec::with_capacity(sharing);
        for gpu in gpus {
            let sizes = sizes(context, (task, arrays), gpu, sharing)?;
            workers.push(AtWork::new(context, task, gpu, sizes));
        }
        let pieces = pieces::of(context, task, &mut workers)?;
        context.run_waiting_part(task.pass.part, |job| {
            job.enter(task.operator.stage());
            on_each((context, job), workers.iter_mut(), None, |gpu| gpu.prepare(arrays))?;
            let through = |workers: &mut [AtWork]| {
                let queue = task.queue()?;
                on_each((context, job), workers.iter_mut(), Some(&queue), |gpu| {
                    let mut ends = Whole { arrays: *arrays, context: None };
                    drive(std::slice::from_mut(gpu), &queue, &mut ends, job)
                })
            };
            match &pieces {
                None => through(&mut workers)?,
                Some(pieces) => {
                    AtWork::go(&mut workers, Way::Collect(pieces));
                    through(&mut workers)?;
                    pieces::iterate(context, (task, arrays), (&mut workers, pieces), job)?;
                    AtWork::go(&mut workers, Way::Deliver(pieces));
                    through(&mut workers)?;
                }
            }
            workers.iter().map(AtWork::done).sum()
        })
    }

    fn stream(&mut self, context: &Context, task: &Task, dtype: DType, callbacks: Callbacks) -> Result<Treated> {
        self.open(context)?;
        let Self { gpus, buffers, parts } = self;
        let held = buffers.iter().map(Buffers::held).chain(parts.iter().map(Parts::held)).sum();
        let (g, cap) = (task.detector, context.memory_cap(held));
        let (sharing, whole) = (gpus.len(), Arrays::sizes(g, dtype, task.pass.stored));
        let dtypes = [dtype, task.pass.stored];
        let reach = task.rows.reach(g);
        let mut workers = Vec::with_capacity(sharing);
        for gpu in gpus {
            workers.push(AtWork::new(context, task, gpu, sizes(context, (task, &whole), gpu, sharing)?));
        }
        let pieces = pieces::of(context, task, &mut workers)?;
        // All slices together are one slab.
        let places = if task.together() && pieces.is_none() { 1 } else { SLOTS * workers.len() };
        let host_bytes = |slices| places as u64 * Buffers::bytes(g, (slices, reach), dtypes);
        // The slabs' arrays are the host's memory, unless stages look at so many rows beside them that small slabs have more of these than slices.
        let (limit, few) =
            (cap.min(PINNED), workers.iter().map(|gpu| gpu.sizes.minimum).max().unwrap_or(1).max(2 * reach));
        if relay::serves(task) && host_bytes(few) > limit {
            let host = Host { cap, limit, dtypes, places };
            buffers.clear();
            return relay::stream((context, task), (&whole, host), &mut workers, parts, callbacks);
        }
        *parts = None;
        for worker in &mut workers {
            let sizes = &mut worker.sizes;
            // Neighbours of slabs are read for them alone.
            let few = sizes.minimum.max(2 * reach);
            let limit = |slab: usize| if slab > few { limit } else { cap };
            while sizes.slab > sizes.minimum && host_bytes(sizes.slab) > limit(sizes.slab) {
                sizes.slab = smaller(sizes.slab, sizes);
            }
            if host_bytes(sizes.slab) > cap {
                let needed = host_bytes(sizes.minimum);
                fail!(MemoryCap, "memory_cap is {cap} bytes; streaming needs at least {needed} of host memory");
            }
        }
        for gpu in &mut workers {
            gpu.prepare(&whole)?;
        }
        let slabs = (0..SLOTS).flat_map(|_| &workers).map(|gpu| (gpu.sizes.slab, reach)).take(places);
        let serve = buffers.len() == places
            && buffers.iter().zip(slabs.clone()).all(|(buffers, slab)| buffers.serve(g, slab, dtypes));
        if !serve {
            // First away with the old ones: both might not fit.
            buffers.clear();
            *buffers = slabs.map(|slab| Buffers::new(context, g, slab, dtypes)).collect::<Result<_>>()?;
        }
        let mut ends = Lent { context, geometry: g, reach, dtypes, buffers, callbacks, passes: [true; 2] };
        context.report_part(task.pass.part, |job| {
            job.enter(task.operator.stage());
            let Some(pieces) = &pieces else {
                let queue = task.queue()?;
                return match task.iteration {
                    Some(_) if workers.len() > 1 => rounds((context, job), &mut workers, &queue, &mut ends),
                    _ => drive(&mut workers, &queue, &mut ends, job),
                };
            };
            AtWork::go(&mut workers, Way::Collect(pieces));
            ends.passes = [true, false];
            drive(&mut workers, &task.queue()?, &mut ends, job)?;
            pieces::iterate(context, (task, &whole), (&mut workers, pieces), job)?;
            AtWork::go(&mut workers, Way::Deliver(pieces));
            ends.passes = [false, true];
            drive(&mut workers, &task.queue()?, &mut ends, job)
        })?;
        workers.iter().map(AtWork::done).sum()
    }

    fn forget(&mut self) {
        self.gpus.iter_mut().for_each(Gpu::forget);
    }

    /// Every back projector that serves the plan, on every GPU. Gives what was measured, in GU/s, for the first GPU.
    fn tune(&mut self, context: &Context, task: &Task) -> Result<Vec<Measured>> {
        self.open(context)?;
        let geometry = task.geometry;
        let Some(sampling) = task.interpolation.sampling() else { return self.tune_band_limited(task) };
        for worker in &mut self.gpus {
            let case = Case { geometry, sampling, shared: worker.state.device.shared_bytes(), tents: 0 };
            let mut rates = presumed(&Multiprocessor::of(&worker.state.device));
            for c in rates.iter_mut().filter(|c| c.projector.refusal(&case).is_none()) {
                let slices = c.projector.slices();
                let seconds = match measure::seconds(&mut worker.state, &case, c.projector, slices) {
                    // Too large to be measured with full blocks of slices: the usual rate stands.
                    Err(e) if e.status == Status::OutOfMemory => continue,
                    measured => measured?,
                };
                c.rate = slices as f64 * geometry.updates() / seconds / 1e9;
            }
            worker.rates = rates;
        }
        Ok(self.measured(geometry, sampling))
    }
}

/// The GPU that an array is on; both are on the same one, or on the host.
fn resident(arrays: &Arrays) -> Result<Option<usize>> {
    match (arrays.source().gpu, arrays.target().gpu) {
        (Some(a), Some(b)) if a != b => {
            fail!(
                TensorDevice,
                "input is on GPU {a} and output on GPU {b}; both must be on the same GPU (or on the host)"
            );
        }
        (a, b) => Ok(a.or(b)),
    }
}

/// How a GPU that shares the slices with others cuts its work; tells the log.
fn sizes(context: &Context, (task, arrays): (&Task, &Arrays), gpu: &Gpu, sharing: usize) -> Result<Sizes> {
    let device: &Device = &gpu.state.device;
    let sizes = Sizes::new(context, (task, arrays), (device, gpu.held()), (sharing, &gpu.rates), gpu.known())?;
    context.log(LogLevel::Info, || {
        let (what, slab) = (task.operator.name(), sizes.slab);
        match sizes.projector {
            Some(p) => format!("{what} on {device:?}: slabs of up to {slab} slices, {p:?}"),
            None => format!("{what} on {device:?}: slabs of up to {slab} slices"),
        }
    });
    Ok(sizes)
}

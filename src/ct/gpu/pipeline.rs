//! A plan's GPUs: several take slabs from one queue, so that a slow one takes fewer.

use super::choice::{ALL, Kernel, Precision};
use super::plan::DevicePlan;
use super::projector::Case;
use super::task::{Sizes, Task, smaller};
use super::worker::{Call, Pending, Queue, SLOTS, Worker};
use super::{filter, measure};
use crate::array::{DType, Layout};
use crate::context::{Context, HostMemory, LogLevel};
use crate::ct::geometry::{Geometry, Order};
use crate::ct::operators::Interpolation;
use crate::ct::stream::{Read, Write};
use crate::error::{Result, Status, fail};
use crate::gpu::Device;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;

/// A plan's GPUs, and what it keeps on them.
#[derive(Debug, Default)]
pub(in crate::ct) struct Gpus {
    workers: Vec<Worker>,
}

impl Gpus {
    /// Gives memory back, and forgets what was measured: both were for another geometry.
    pub(in crate::ct) fn forget(&mut self) {
        self.workers.iter_mut().for_each(Worker::forget);
    }

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
                let seconds = match measure::seconds(&mut worker.state, &case, c.projector, slices) {
                    // Too large to be measured with full blocks of slices: the usual rate stands.
                    Err(e) if e.status == Status::OutOfMemory => continue,
                    measured => measured?,
                };
                c.rate = slices as f64 * geometry.updates() / seconds / 1e9;
            }
            worker.rates = rates;
        }
        Ok(self.measured(geometry, interpolation))
    }

    /// What a call takes on the first GPU.
    pub(in crate::ct) fn needs(context: &Context, task: &Task) -> Result<Needs> {
        let gpus = context.gpus();
        let sizes = Sizes::new(context, task, (&gpus[0], 0), gpus.len(), &ALL)?;
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
        let queue = Queue::new(task.geometry.slices);
        let replaced = AtomicU64::new(0);
        let sharing = workers.len();
        let mut jobs = Vec::with_capacity(sharing);
        for worker in workers {
            let gpu = (&*worker.state.device, worker.held());
            let sizes = Sizes::new(context, task, gpu, sharing, &worker.rates)?;
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
                            let result = worker.run(&Call { context, task, job, sizes: &sizes }, queue, replaced);
                            if result.is_err() {
                                queue.stop();
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

    /// Reconstructs slab after slab between callbacks, which this thread calls while the GPUs work; gives the number of values
    /// replaced. `task` is of the whole; its arrays are not looked at, their type is.
    pub(in crate::ct) fn stream(
        &mut self,
        context: &Context,
        task: &Task,
        read: &mut Read,
        write: &mut Write,
    ) -> Result<u64> {
        self.open(context)?;
        let g = task.geometry;
        let sharing = self.workers.len();
        let cap = context.memory_cap(0);
        let host_bytes = |slab: usize| {
            let (p, v) = slab_layouts(g, slab, task.source.dtype, std::ptr::null(), std::ptr::null());
            (SLOTS * sharing * (p.bytes() + v.bytes())) as u64
        };
        let mut lanes = Vec::with_capacity(sharing);
        for worker in &self.workers {
            let device = &worker.state.device;
            let mut sizes = Sizes::new(context, task, (device, worker.held()), sharing, &worker.rates)?;
            // The slabs' arrays are the host's memory.
            while sizes.slab > 1 && host_bytes(sizes.slab) > cap {
                sizes.slab = smaller(sizes.slab, &sizes);
            }
            if host_bytes(sizes.slab) > cap {
                let needed = host_bytes(1);
                fail!(MemoryCap, "memory_cap is {cap} bytes; streaming needs at least {needed} of host memory");
            }
            log(context, task, device, &sizes);
            let plan = DevicePlan::new(device, task, sizes.projector, sizes.format.lanes)?;
            let buffers = || {
                let (p, v) = slab_layouts(g, sizes.slab, task.source.dtype, std::ptr::null(), std::ptr::null());
                Ok(Buffers { projections: context.host_memory(p.bytes())?, volume: context.host_memory(v.bytes())? })
            };
            lanes.push((plan, [buffers()?, buffers()?], sizes));
        }
        let replaced = AtomicU64::new(0);
        let workers = &mut self.workers;
        let mut result = context.report_while(|job| {
            job.enter(task.stage());
            let mut under_way: VecDeque<(usize, Pending)> = VecDeque::new();
            let (mut first, mut turn) = (0, 0);
            while first < g.slices || !under_way.is_empty() {
                let full = under_way.len() == SLOTS * sharing;
                if first == g.slices || full {
                    let Some((k, pending)) = under_way.pop_front() else { break };
                    let (worker, (_, buffers, sizes)) = (&mut workers[k], &lanes[k]);
                    let Pending { slot, first, count } = pending;
                    let (p, v) = buffers[slot].layouts(g, count, task.source.dtype);
                    let task = Task { source: &p, target: &v, part: Some(first), ..*task };
                    let device = worker.state.device.clone();
                    let _current = device.enter()?;
                    worker.finish(&Call { context, task: &task, job, sizes }, pending, &replaced)?;
                    worker.arrived(&pending)?;
                    write(first, count, &v)?;
                } else {
                    let k = turn % sharing;
                    let (worker, (plan, buffers, sizes)) = (&mut workers[k], &lanes[k]);
                    let (slot, count) = (turn / sharing % SLOTS, sizes.slab.min(g.slices - first));
                    let (p, v) = buffers[slot].layouts(g, count, task.source.dtype);
                    read(first, count, &p)?;
                    let task = Task { source: &p, target: &v, part: Some(first), ..*task };
                    let device = worker.state.device.clone();
                    let _current = device.enter()?;
                    worker.start(&Call { context, task: &task, job, sizes }, plan, slot, first, count)?;
                    under_way.push_back((k, Pending { slot, first, count }));
                    first += count;
                    turn += 1;
                }
                context.report(job);
                job.check()?;
            }
            Ok(())
        });
        // The buffers go now: nothing may still use them.
        for worker in workers {
            let device = worker.state.device.clone();
            let waited = device.enter().and_then(|_current| worker.wait());
            result = result.and(waited);
        }
        result?;
        Ok(replaced.into_inner())
    }
}

/// Buffers of one slab of a stream.
struct Buffers {
    projections: HostMemory,
    volume: HostMemory,
}

impl Buffers {
    fn layouts(&self, g: &Geometry, count: usize, dtype: DType) -> (Layout, Layout) {
        slab_layouts(g, count, dtype, self.projections.data(), self.volume.data())
    }
}

/// Contiguous arrays of some slices: projections in the geometry's order, and volume.
pub(in crate::ct) fn slab_layouts(
    g: &Geometry,
    count: usize,
    dtype: DType,
    projections: *const u8,
    volume: *const u8,
) -> (Layout, Layout) {
    let shape = match g.order {
        Order::Frames => [g.views(), count, g.bins],
        Order::Sinograms => [count, g.views(), g.bins],
    };
    (Layout::new(projections, dtype, shape), Layout::new(volume, DType::F32, [count, g.ny, g.nx]))
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

//! CT on the processor.

use super::division;
use super::filter::FilterRows;
use super::forward::Forward;
use super::gather::Gather;
use super::work::{Call, Work};
use crate::array::DType;
use crate::context::{Context, Job, LogLevel};
use crate::cpu::buffer::Workspace;
use crate::ct::engine::{Engine, Needs};
use crate::ct::geometry::Order;
use crate::ct::rows::filter::{RowFilter, padded_bins};
use crate::ct::rows::reader::Reader;
use crate::ct::slab::{self, Arrays, Buffers, Callbacks, Lent, Queue, Whole, Worker};
use crate::ct::task::{Operator, Task};
use crate::error::{Result, fail};
use std::ops::Range;

/// The processor, and the buffers that calls work in.
#[derive(Default)]
pub(in crate::ct) struct CpuEngine {
    workspace: Workspace,
}

/// The operator of a task, made ready.
fn work<'a>(context: &Context, task: &Task<'a>) -> Result<Box<dyn Work + 'a>> {
    let (g, threads) = (task.geometry, context.threads());
    let filter = || {
        let filter = task.rows.filter.map(|(filter, padding)| RowFilter::new(filter, padding, g.bins, g.bin_pitch));
        filter.transpose()
    };
    Ok(match task.operator {
        Operator::Forward => Box::new(Forward::new(g, threads)?),
        Operator::Adjoint => Box::new(Gather::adjoint(g, threads)?),
        Operator::Backproject | Operator::Reconstruct => {
            Box::new(Gather::backproject(g, threads, task.interpolation, task.rows.weights, filter()?)?)
        }
        Operator::Filter => match filter()? {
            Some(filter) => Box::new(FilterRows { geometry: g, threads, filter }),
            None => fail!(Internal, "a filter without a filter"),
        },
    })
}

/// Slices of a slab of a stream, and the memory for the work, where buffers and work together stay within `cap` bytes.
fn streamed(task: &Task, dtype: DType, cap: u64, threads: usize, work: &dyn Work) -> Result<(usize, u64)> {
    let g = task.geometry;
    let buffers = |slices| Buffers::bytes(g, slices, dtype);
    let left = |slices| cap.checked_sub(buffers(slices));
    // The buffers take half of it at most, where there is a choice.
    let most = usize::try_from(cap / 2 / buffers(1)).unwrap_or(usize::MAX);
    let mut slices = most.clamp(1, g.slices);
    loop {
        match left(slices).map(|cap| work.next(0..slices, cap, threads)) {
            Some(Ok(first)) => return Ok((first.count, left(first.count).unwrap_or(0))),
            _ if slices == 1 => {
                let needed = buffers(1) + work.bytes(1, 1);
                fail!(MemoryCap, "memory_cap is {cap} bytes; streaming needs at least {needed}");
            }
            _ => slices = slices.div_ceil(2),
        }
    }
}

impl Engine for CpuEngine {
    fn needs(&self, context: &Context, task: &Task) -> Result<Needs> {
        let (work, cap) = (work(context, task)?, context.memory_cap(self.workspace.bytes()));
        let slabs = division::all(task.geometry.slices, cap, context.threads(), &*work)?;
        let bytes = slabs.iter().map(|slab| work.slab_bytes(slab, cap)).max().unwrap_or(0);
        Ok(Needs { slab: slabs[0].count, bytes, padded_bins: padded_bins(task.geometry.bins) })
    }

    fn run(&mut self, context: &Context, task: &Task, arrays: &Arrays) -> Result<u64> {
        let (work, cap) = (work(context, task)?, context.memory_cap(self.workspace.bytes()));
        let slices = task.geometry.slices;
        division::log(context, task.operator.name(), &division::all(slices, cap, context.threads(), &*work)?);
        let processor = Processor::new(context, task, &*work, &mut self.workspace, cap, slices);
        let mut ends = Whole { arrays: *arrays, context: Some(context) };
        processor.run(&mut ends)
    }

    fn stream(&mut self, context: &Context, task: &Task, dtype: DType, callbacks: Callbacks) -> Result<u64> {
        let (g, work) = (task.geometry, work(context, task)?);
        let cap = context.memory_cap(self.workspace.bytes());
        let (slab, cap) = streamed(task, dtype, cap, context.threads(), &*work)?;
        let buffers = [Buffers::new(context, g, slab, dtype)?];
        context.log(LogLevel::Info, || format!("{}: streamed in slabs of up to {slab} slices", task.operator.name()));
        let processor = Processor::new(context, task, &*work, &mut self.workspace, cap, slab);
        let mut ends = Lent { context, geometry: g, dtype, buffers: &buffers, callbacks };
        processor.run(&mut ends)
    }

    fn forget(&mut self) {
        self.workspace = Workspace::default();
    }
}

/// The processor at work on one call.
struct Processor<'a> {
    context: &'a Context,
    task: &'a Task<'a>,
    work: &'a dyn Work,
    workspace: &'a mut Workspace,
    cap: u64,
    /// Slices that are loaded at a time.
    share: usize,
    /// Of the slab for which there was no memory, a cap under which it is smaller.
    smaller: Option<u64>,
    replaced: u64,
}

impl<'a> Processor<'a> {
    fn new(
        context: &'a Context,
        task: &'a Task<'a>,
        work: &'a dyn Work,
        workspace: &'a mut Workspace,
        cap: u64,
        share: usize,
    ) -> Self {
        Self { context, task, work, workspace, cap, share, smaller: None, replaced: 0 }
    }

    /// From the calling thread, which the worker threads let report.
    fn run<'e>(self, ends: &mut impl slab::Ends<'e>) -> Result<u64> {
        let (context, queue) = (self.context, Queue::new(self.task.geometry.slices));
        let mut workers = [self];
        context.report_while(|job| slab::run(&mut workers, &queue, ends, job))?;
        Ok(workers[0].replaced)
    }

    fn reader<'r>(&self, arrays: &Arrays<'r>, slices: Range<usize>) -> Reader<'r>
    where
        'a: 'r,
    {
        match self.task.operator {
            Operator::Forward => Reader::volume(arrays, slices, self.context),
            _ => Reader::projections(arrays, self.task.geometry, slices, self.task.rows.correction, self.context),
        }
    }
}

impl Worker for Processor<'_> {
    type Pending = ();
    const DEPTH: usize = 1;

    fn share(&self) -> usize {
        self.share
    }

    /// What is written before all data have been read needs a look ahead: bad data are found before anything is written.
    fn begin(&mut self, job: &Job, arrays: &Arrays, slices: Range<usize>) -> Result<()> {
        let first = self.work.next(slices.clone(), self.cap, self.context.threads())?;
        if self.work.reads_first() && first.count == slices.len() {
            return Ok(());
        }
        let input = self.reader(arrays, slices);
        self.context.on_workers(job, |job| input.check(job))
    }

    fn start(&mut self, job: &Job, arrays: &Arrays, slices: Range<usize>) -> Result<(usize, ())> {
        let slab = self.work.next(slices, self.cap, self.context.threads())?;
        let input = self.reader(arrays, slab.first..slab.first + slab.count);
        let target = match (self.task.operator, self.task.geometry.order) {
            (Operator::Filter | Operator::Forward, Order::Sinograms) => arrays.write().swapped(),
            _ => arrays.write(),
        };
        let (context, work, cap, workspace) = (self.context, self.work, self.cap, &mut *self.workspace);
        self.smaller = division::smaller(&slab, work);
        context.on_workers(job, |job| {
            work.run(&Call { context, job, input: &input, target: &target, arrays }, &slab, cap, workspace)
        })?;
        self.replaced += input.replaced();
        Ok((slab.count, ()))
    }

    fn finish(&mut self, _: &Job, _: &Arrays, (): (), _: bool) -> Result<()> {
        Ok(())
    }

    fn shrink(&mut self, _: &Job) -> Result<bool> {
        if let Some(cap) = self.smaller {
            self.cap = cap;
        }
        Ok(self.smaller.is_some())
    }
}

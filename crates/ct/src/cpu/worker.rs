//! The processor at work on slabs.

use super::division;
use super::prepare::Preparation;
use super::work::{Call, Work};
use crate::engine::Treated;
use crate::geometry::Order;
use crate::output::Finish;
use crate::rows::reader::Reader;
use crate::slab::{self, Arrays, Worker};
use crate::task::{Operator, Task};
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::buffer::Workspace;
use isocenter_base::error::Result;
use std::ops::Range;

/// The buffers that calls work in.
#[derive(Default)]
pub(super) struct Memory {
    work: Workspace,
    prepared: Workspace,
}

impl Memory {
    /// What it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.work.bytes() + self.prepared.bytes()
    }
}

/// The processor at work on one call.
pub(super) struct Processor<'a> {
    context: &'a Context,
    task: &'a Task<'a>,
    work: &'a dyn Work,
    /// Stages that come before it.
    preparation: Option<Preparation<'a>>,
    memory: &'a mut Memory,
    /// For the work.
    cap: u64,
    /// Slices that are loaded at a time.
    share: usize,
    /// Of the slab for which there was no memory, a cap under which it is smaller.
    smaller: Option<u64>,
    /// Line integrals of the first slice that was loaded, if stages made them.
    prepared: Option<(usize, *const f32)>,
    treated: Treated,
}

impl<'a> Processor<'a> {
    pub(super) fn new(
        context: &'a Context,
        task: &'a Task<'a>,
        work: &'a dyn Work,
        memory: &'a mut Memory,
        (cap, share): (u64, usize),
    ) -> Self {
        let preparation = Preparation::of(task, context.threads());
        Self {
            context,
            task,
            work,
            preparation,
            memory,
            cap,
            share,
            smaller: None,
            prepared: None,
            treated: Treated::default(),
        }
    }

    /// From the calling thread, which the worker threads let report.
    pub(super) fn run<'e>(self, ends: &mut impl slab::Ends<'e>) -> Result<Treated> {
        let (context, queue, part) = (self.context, self.task.queue()?, self.task.pass.part);
        let mut workers = [self];
        context.report_part(part, |job| slab::run(&mut workers, &queue, ends, job))?;
        Ok(workers[0].treated)
    }

    fn reader<'r>(&self, arrays: &Arrays<'r>, slices: Range<usize>) -> Reader<'r>
    where
        'a: 'r,
    {
        match self.task.operator {
            Operator::Forward => Reader::volume(arrays, slices, self.context),
            _ => Reader::projections(arrays, self.task.detector, slices, self.task.rows.correction, self.context),
        }
    }
}

impl Worker for Processor<'_> {
    type Pending = ();
    const DEPTH: usize = 1;

    fn share(&self) -> usize {
        self.share
    }

    /// Runs the stages that come before the work. What is written before all data have been read needs a look ahead: bad data are found
    /// before anything is written.
    fn begin(&mut self, job: &Job, arrays: &Arrays, slices: Range<usize>) -> Result<()> {
        let all = arrays.slices(&slices, self.task.geometry);
        let ahead = match &self.preparation {
            // A survey writes nothing.
            Some(_) if matches!(self.task.pass.finish, Finish::Survey(_)) => false,
            Some(_) => slices.start == all.start && slices.len() < all.len(),
            None => {
                let first = self.work.next(slices.clone(), self.cap, self.context.threads())?;
                !self.work.reads_first() || first.count < slices.len()
            }
        };
        if ahead {
            let input = self.reader(arrays, all);
            self.context.on_workers(job, |job| input.check(job))?;
        }
        let Some(preparation) = &self.preparation else { return Ok(()) };
        let (context, input) = (self.context, self.reader(arrays, slices.clone()));
        let (len, bytes) = (preparation.len(slices.len()), preparation.bytes(slices.len()));
        let [prepared, _] = self.memory.prepared.take([len, 0], bytes)?;
        self.treated.outliers +=
            context.on_workers(job, |job| preparation.run((context, job), &input, slices.clone(), prepared))?;
        self.prepared = Some((slices.start, prepared.as_ptr()));
        self.treated.replaced += input.replaced();
        Ok(())
    }

    fn start(&mut self, job: &Job, arrays: &Arrays, slices: Range<usize>) -> Result<(usize, ())> {
        let slab = self.work.next(slices, self.cap, self.context.threads())?;
        let slices = slab.first..slab.first + slab.count;
        let input = match self.prepared {
            Some((first, data)) => {
                let g = self.task.geometry;
                let data = data.wrapping_add((slab.first - first) * g.views() * g.bins);
                // SAFETY: `begin` has filled the buffer with these slices, and the next `begin` comes after this slab.
                unsafe { Reader::prepared(data, g, slices, self.context) }
            }
            None => self.reader(arrays, slices),
        };
        let target = match (self.task.operator, self.task.geometry.order) {
            (Operator::Filter | Operator::Forward, Order::Sinograms) => arrays.write().swapped(),
            _ => arrays.write(),
        };
        let (context, work, cap, workspace) = (self.context, self.work, self.cap, &mut self.memory.work);
        let finish = self.task.pass.finish;
        self.smaller = division::smaller(&slab, work);
        let result = context.on_workers(job, |job| {
            work.run(&Call { context, job, input: &input, target: &target, arrays, finish }, &slab, cap, workspace)
        });
        if let Finish::Write(writer) = finish {
            writer.settle(result.is_ok());
        }
        result?;
        self.treated.replaced += input.replaced();
        Ok((slab.count, ()))
    }

    fn finish(&mut self, _: &Job, _: &Arrays, (): &()) -> Result<()> {
        Ok(())
    }

    fn arrived(&mut self, (): &()) -> Result<()> {
        Ok(())
    }

    fn shrink(&mut self, _: &Job) -> Result<bool> {
        // Some rows of the slab may have been counted already.
        if let Finish::Survey(_) = self.task.pass.finish {
            return Ok(false);
        }
        if let Some(cap) = self.smaller {
            self.cap = cap;
        }
        Ok(self.smaller.is_some())
    }
}

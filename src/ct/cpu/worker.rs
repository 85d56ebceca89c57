//! The processor at work on slabs.

use super::division;
use super::work::{Call, Work};
use crate::context::{Context, Job};
use crate::cpu::buffer::Workspace;
use crate::ct::geometry::Order;
use crate::ct::output::Finish;
use crate::ct::rows::reader::Reader;
use crate::ct::slab::{self, Arrays, Worker};
use crate::ct::task::{Operator, Task};
use crate::error::Result;
use std::ops::Range;

/// The processor at work on one call.
pub(super) struct Processor<'a> {
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
    pub(super) fn new(
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
    pub(super) fn run<'e>(self, ends: &mut impl slab::Ends<'e>) -> Result<u64> {
        let (context, queue, part) = (self.context, self.task.queue()?, self.task.pass.part);
        let mut workers = [self];
        context.report_part(part, |job| slab::run(&mut workers, &queue, ends, job))?;
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
        let finish = self.task.pass.finish;
        self.smaller = division::smaller(&slab, work);
        let result = context.on_workers(job, |job| {
            work.run(&Call { context, job, input: &input, target: &target, arrays, finish }, &slab, cap, workspace)
        });
        if let Finish::Write(writer) = finish {
            writer.settle(result.is_ok());
        }
        result?;
        self.replaced += input.replaced();
        Ok((slab.count, ()))
    }

    fn finish(&mut self, _: &Job, _: &Arrays, (): (), _: bool) -> Result<()> {
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

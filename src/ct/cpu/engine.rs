//! CT on the processor.

use super::band_limited::Banded;
use super::division;
use super::filter::FilterRows;
use super::forward::Forward;
use super::gather::Gather;
use super::work::Work;
use super::worker::Processor;
use crate::array::DType;
use crate::context::{Context, LogLevel};
use crate::cpu::buffer::Workspace;
use crate::ct::engine::{Engine, Needs};
use crate::ct::rows::filter::{RowFilter, padded_bins};
use crate::ct::slab::{Arrays, Buffers, Callbacks, Lent, Whole};
use crate::ct::task::{Operator, Task};
use crate::error::{Result, fail};

/// The processor, and the buffers that calls work in.
#[derive(Default)]
pub(in crate::ct) struct CpuEngine {
    workspace: Workspace,
}

impl CpuEngine {
    /// Bytes that the work on slabs may take.
    fn cap(&self, context: &Context, task: &Task) -> Result<u64> {
        let (cap, counts) = (context.memory_cap(self.workspace.bytes()), task.pass.bytes);
        match cap.checked_sub(counts) {
            Some(left) => Ok(left),
            None => fail!(MemoryCap, "memory_cap is {cap} bytes; percentiles and histogram alone need {counts}"),
        }
    }
}

/// The operator of a task, made ready.
fn work<'a>(context: &Context, task: &Task<'a>) -> Result<Box<dyn Work + 'a>> {
    let (g, threads) = (task.geometry, context.threads());
    let filter = || {
        let filter = task.rows.filter.map(|(filter, padding)| RowFilter::new(filter, padding, g.bins, g.bin_pitch));
        filter.transpose()
    };
    let (level, weights) = (context.level(), task.rows.weights);
    Ok(match (task.operator, task.band_limited()?) {
        (Operator::Forward, Some(reading)) => Box::new(Banded::forward(g, level, threads, reading)?),
        (Operator::Forward, None) => Box::new(Forward::new(g, threads)?),
        (Operator::Adjoint, Some(reading)) => Box::new(Banded::adjoint(g, level, threads, reading)?),
        (Operator::Adjoint, None) => Box::new(Gather::adjoint(g, threads)?),
        (Operator::Backproject | Operator::Reconstruct, Some(reading)) => {
            Box::new(Banded::backproject(g, level, threads, reading, weights, filter()?)?)
        }
        (Operator::Backproject | Operator::Reconstruct, None) => match task.interpolation.sampling() {
            Some(sampling) => Box::new(Gather::backproject(g, threads, sampling, weights, filter()?)?),
            None => fail!(Internal, "an interpolation without samples and without a period"),
        },
        (Operator::Filter, _) => match filter()? {
            Some(filter) => Box::new(FilterRows { geometry: g, threads, filter }),
            None => fail!(Internal, "a filter without a filter"),
        },
    })
}

/// Slices of a slab of a stream, and the memory for the work, where buffers and work together stay within `cap` bytes.
fn streamed(task: &Task, dtype: DType, cap: u64, threads: usize, work: &dyn Work) -> Result<(usize, u64)> {
    let g = task.geometry;
    let buffers = |slices| Buffers::bytes(g, slices, [dtype, task.pass.stored]);
    let most = task.neighbours();
    let left = |slices| cap.checked_sub(buffers(slices));
    // The buffers take half of it at most, where there is a choice.
    let max = usize::try_from(cap / 2 / buffers(1)).unwrap_or(usize::MAX);
    let least = work.unit().min(most);
    let whole = |slices: usize| slices.next_multiple_of(work.unit()).min(most);
    let mut slices = whole(max.clamp(1, most));
    loop {
        match left(slices).map(|cap| work.next(0..slices, cap, threads)) {
            Some(Ok(first)) => return Ok((first.count, left(first.count).unwrap_or(0))),
            _ if slices == least => {
                let needed = buffers(least) + work.bytes(1, 1);
                fail!(MemoryCap, "memory_cap is {cap} bytes; streaming needs at least {needed}");
            }
            _ => slices = whole(slices.div_ceil(2)),
        }
    }
}

impl Engine for CpuEngine {
    fn needs(&self, context: &Context, task: &Task) -> Result<Needs> {
        let (work, cap) = (work(context, task)?, self.cap(context, task)?);
        let slabs = division::all(task.geometry.slices, cap, context.threads(), &*work)?;
        let slab_bytes = slabs.iter().map(|slab| work.slab_bytes(slab, cap)).max().unwrap_or(0);
        let bytes = slab_bytes + task.pass.bytes;
        Ok(Needs { slab: slabs[0].count, bytes, padded_bins: padded_bins(task.geometry.bins) })
    }

    fn run(&mut self, context: &Context, task: &Task, arrays: &Arrays) -> Result<u64> {
        let (work, cap) = (work(context, task)?, self.cap(context, task)?);
        let slices = task.neighbours();
        division::log(context, task.operator.name(), &division::all(slices, cap, context.threads(), &*work)?);
        let processor = Processor::new(context, task, &*work, &mut self.workspace, cap, slices);
        let mut ends = Whole { arrays: *arrays, context: Some(context) };
        processor.run(&mut ends)
    }

    fn stream(&mut self, context: &Context, task: &Task, dtype: DType, callbacks: Callbacks) -> Result<u64> {
        let (g, work) = (task.geometry, work(context, task)?);
        let (cap, dtypes) = (self.cap(context, task)?, [dtype, task.pass.stored]);
        let (slab, cap) = streamed(task, dtype, cap, context.threads(), &*work)?;
        let buffers = [Buffers::new(context, g, slab, dtypes)?];
        context.log(LogLevel::Info, || format!("{}: streamed in slabs of up to {slab} slices", task.operator.name()));
        let processor = Processor::new(context, task, &*work, &mut self.workspace, cap, slab);
        let mut ends = Lent { context, geometry: g, dtypes, buffers: &buffers, callbacks };
        processor.run(&mut ends)
    }

    fn forget(&mut self) {
        self.workspace = Workspace::default();
    }
}

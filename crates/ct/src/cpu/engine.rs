//! CT on the processor.

use super::band_limited::Banded;
use super::division;
use super::filter::FilterRows;
use super::forward::Forward;
use super::gather::Gather;
use super::iterative::Iterate;
use super::prepare::Preparation;
use super::work::Work;
use super::worker::{Memory, Processor};
use crate::engine::{Engine, Needs, Treated};
use crate::geometry::Geometry;
use crate::rows::filter::{RowFilter, padded_bins};
use crate::slab::{Arrays, Buffers, Callbacks, Lent, Whole};
use crate::task::{Operator, Task};
use isocenter_base::array::DType;
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::error::{Result, fail};

/// The processor, and the buffers that calls work in.
#[derive(Default)]
pub(crate) struct CpuEngine {
    memory: Memory,
}

impl CpuEngine {
    /// Bytes that the work on slabs may take.
    fn cap(&self, context: &Context, task: &Task) -> Result<u64> {
        let (cap, counts) = (context.memory_cap(self.memory.bytes()), task.pass.bytes);
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
        (Operator::Iterate, _) => match task.iteration {
            Some(iteration) => Box::new(Iterate::new(g, iteration, level, threads)?),
            None => fail!(Internal, "iterations that nobody asked for"),
        },
        (Operator::Filter, _) => match filter()? {
            Some(filter) => Box::new(FilterRows { geometry: g, threads, filter }),
            None => fail!(Internal, "a filter without a filter"),
        },
    })
}

/// What slabs are loaded into before the work, in bytes for so many slices.
struct Loaded<'a> {
    /// Buffers of streams, of these types, with rows on either side that reach so far.
    stream: Option<(&'a Geometry, usize, [DType; 2])>,
    preparation: Option<Preparation<'a>>,
}

/// Prepared slices are more than these bytes only where one slice is.
const PREPARED: u64 = 1 << 30;
/// The same of slabs of streams: callers read and write others while one is worked on, which takes many.
const STREAMED: u64 = 256 << 20;

impl Loaded<'_> {
    fn bytes(&self, slices: usize) -> u64 {
        let prepared = self.preparation.as_ref().map_or(0, |p| p.bytes(slices));
        prepared + self.stream.map_or(0, |(g, reach, dtypes)| Buffers::bytes(g, (slices, reach), dtypes))
    }

    /// Slices that are loaded at a time, and the memory for the work, where that and what they are loaded into stay within `cap` bytes.
    fn share(&self, slices: usize, cap: u64, threads: usize, work: &dyn Work) -> Result<(usize, u64)> {
        let left = |slices| cap.checked_sub(self.bytes(slices));
        let enough = if self.stream.is_some() { STREAMED } else { PREPARED };
        let wanted = self.preparation.as_ref().map_or(enough, |p| self.bytes(p.wanted()).max(enough));
        // Half of it at most, where there is a choice.
        let max = usize::try_from(wanted.min(cap / 2) / self.bytes(1)).unwrap_or(usize::MAX);
        let minimum = work.unit().min(slices);
        let whole = |n: usize| n.next_multiple_of(work.unit()).min(slices);
        let mut count = whole(max.clamp(1, slices));
        loop {
            match left(count).map(|cap| work.next(0..count, cap, threads)) {
                Some(Ok(first)) => return Ok((first.count, left(first.count).unwrap_or(0))),
                _ if count == minimum => {
                    let what = match self.stream {
                        Some(_) => "streaming needs",
                        None if minimum > 2 => "all slices together and their stages need",
                        None => "one slice and its stages need",
                    };
                    let needed = self.bytes(minimum) + work.least();
                    fail!(MemoryCap, "memory_cap is {cap} bytes; {what} at least {needed}");
                }
                _ => count = whole(count.div_ceil(2)),
            }
        }
    }
}

impl Engine for CpuEngine {
    fn needs(&self, context: &Context, task: &Task) -> Result<Needs> {
        let (work, cap, threads) = (work(context, task)?, self.cap(context, task)?, context.threads());
        let (slices, padded_bins) = (task.neighbours(), padded_bins(task.geometry.bins));
        let preparation = Preparation::of(task, threads);
        let (share, cap, loaded) = match preparation {
            Some(preparation) => {
                let loaded = Loaded { stream: None, preparation: Some(preparation) };
                let (share, cap) = loaded.share(slices, cap, threads, &*work)?;
                (share, cap, loaded.bytes(share))
            }
            None => (slices, cap, 0),
        };
        let slabs = division::all(share, cap, threads, &*work)?;
        let bytes = slabs.iter().map(|slab| work.slab_bytes(slab, cap)).max().unwrap_or(0);
        Ok(Needs { slab: slabs[0].count, bytes: loaded + bytes + task.pass.bytes, padded_bins })
    }

    fn run(&mut self, context: &Context, task: &Task, arrays: &Arrays) -> Result<Treated> {
        let (work, cap) = (work(context, task)?, self.cap(context, task)?);
        let (slices, threads) = (task.neighbours(), context.threads());
        let (share, cap) = match Preparation::of(task, threads) {
            Some(preparation) => {
                Loaded { stream: None, preparation: Some(preparation) }.share(slices, cap, threads, &*work)?
            }
            None => (slices, cap),
        };
        division::log(context, task.operator.name(), &division::all(share, cap, threads, &*work)?);
        let processor = Processor::new(context, task, &*work, &mut self.memory, (cap, share));
        let mut ends = Whole { arrays: *arrays, context: Some(context) };
        processor.run(&mut ends)
    }

    fn stream(&mut self, context: &Context, task: &Task, dtype: DType, callbacks: Callbacks) -> Result<Treated> {
        let (g, work) = (task.detector, work(context, task)?);
        let (cap, dtypes, threads) = (self.cap(context, task)?, [dtype, task.pass.stored], context.threads());
        let reach = task.rows.reach(g);
        let loaded = Loaded { stream: Some((g, reach, dtypes)), preparation: Preparation::of(task, threads) };
        let (slab, cap) = loaded.share(task.neighbours(), cap, threads, &*work)?;
        let buffers = [Buffers::new(context, g, (slab, reach), dtypes)?];
        context.log(LogLevel::Info, || format!("{}: streamed in slabs of up to {slab} slices", task.operator.name()));
        let processor = Processor::new(context, task, &*work, &mut self.memory, (cap, slab));
        let mut ends = Lent { context, geometry: g, reach, dtypes, buffers: &buffers, callbacks, passes: [true; 2] };
        processor.run(&mut ends)
    }

    fn forget(&mut self) {
        self.memory = Memory::default();
    }
}

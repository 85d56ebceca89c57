//! Slabs: how many slices are worked on at a time, so that the work fits the memory cap and keeps every thread busy.

use super::cpu::interleaved::LANES;
use super::input::Input;
use crate::array::ArrayMut;
use crate::context::{Context, Job, LogLevel};
use crate::error::{Result, Status, fail};

/// Slices first to first + count, in groups of `lanes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slab {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) lanes: usize,
}

impl Slab {
    pub(super) fn groups(&self) -> usize {
        self.count.div_ceil(self.lanes)
    }

    /// Slices of one group, relative to the slab.
    pub(super) fn slices(&self, group: usize) -> std::ops::Range<usize> {
        group * self.lanes..self.count.min((group + 1) * self.lanes)
    }
}

/// One call: where its data come from and go to.
pub(super) struct Call<'a> {
    pub(super) context: &'a Context,
    pub(super) job: &'a Job,
    pub(super) input: &'a Input<'a>,
    pub(super) target: &'a ArrayMut<'a>,
}

/// What the planner needs to know of an operator.
pub(super) trait Footprint {
    /// Least working memory, in bytes, for groups of these lanes at a time; u64::MAX where they cannot be done.
    fn bytes(&self, lanes: usize, groups: usize) -> u64;
    /// Independent tasks in a group.
    fn tasks(&self, lanes: usize) -> usize;
}

/// Divides `slices` into slabs, in order.
pub(super) fn slabs(slices: usize, cap: u64, threads: usize, footprint: &impl Footprint) -> Result<Vec<Slab>> {
    let widest = LANES.into_iter().chain([1]).find(|&lanes| footprint.bytes(lanes, 1) <= cap);
    let Some(widest) = widest else {
        let needed = footprint.bytes(1, 1);
        fail!(MemoryCap, "memory_cap is {cap} bytes; one slice needs at least {needed}");
    };
    let mut slabs = Vec::new();
    let mut first = 0;
    while first < slices {
        let (lanes, run) = next_run(slices - first, widest);
        let enough = (8 * threads).div_ceil(footprint.tasks(lanes)).max(1);
        let fitting = (1..=enough).rev().find(|&g| footprint.bytes(lanes, g) <= cap).unwrap_or(1);
        let count = run.min(fitting * lanes);
        slabs.push(Slab { first, count, lanes });
        first += count;
    }
    Ok(slabs)
}

/// Lanes for the next slices, and how many slices in a row they serve. A group costs nearly the same with idle lanes as
/// without, and about 14, 8 or 6 single slices at 32, 16 or 8 lanes.
fn next_run(slices: usize, widest: usize) -> (usize, usize) {
    let fill = [(32, 22), (16, 9), (8, 6)];
    for (lanes, least) in fill {
        if lanes <= widest && slices >= least {
            let whole = slices / lanes * lanes;
            let rest = slices - whole;
            return (lanes, if rest >= least { slices } else { whole });
        }
    }
    (1, slices)
}

/// Runs slab after slab; one for which the machine has no memory is retried smaller.
pub(super) fn run(
    context: &Context,
    slices: usize,
    mut cap: u64,
    footprint: &impl Footprint,
    mut work: impl FnMut(&Slab, u64) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    while done < slices {
        let from = done;
        for slab in slabs(slices - from, cap, context.threads(), footprint)? {
            match work(&Slab { first: from + slab.first, ..slab }, cap) {
                Ok(()) => done += slab.count,
                Err(e) if e.status == Status::OutOfMemory => {
                    cap = smaller(&slab, footprint).ok_or(e)?;
                    break;
                }
                Err(e) => return Err(e),
            }
        }
    }
    Ok(())
}

/// A cap under which the slab is divided further, if it can be.
fn smaller(slab: &Slab, footprint: &impl Footprint) -> Option<u64> {
    let cap = footprint.bytes(slab.lanes, slab.groups()) - 1;
    (cap >= footprint.bytes(1, 1)).then_some(cap)
}

/// Tells the log what was decided.
pub(super) fn log(context: &Context, what: &str, slabs: &[Slab]) {
    context.log(LogLevel::Info, || {
        let slab = slabs[0];
        let (n, count, lanes, threads) = (slabs.len(), slab.count, slab.lanes, context.threads());
        format!(
            "{what}: {n} slabs of up to {count} slices, {lanes} slices a vector group, {threads} threads, {}",
            context.level().name()
        )
    });
}

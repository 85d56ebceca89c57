//! How many slices the processor works on at a time, and how many of them side by side, so that the work fits the memory cap and
//! keeps every thread busy.

use super::groups::{Groups, Lanes};
use super::interleaved::LANES;
use super::work::Work;
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::error::{Result, fail};
use std::ops::Range;

/// The first of these slices, of a call of so many, as many as suit.
pub(super) fn next((slices, all): (Range<usize>, usize), cap: u64, threads: usize, work: &impl Work) -> Result<Groups> {
    let needed = work.least();
    if needed > cap {
        fail!(MemoryCap, "memory_cap is {cap} bytes; one slice needs at least {needed}");
    }
    let widest = LANES.into_iter().chain([1]).find(|&lanes| work.bytes(Lanes::Side(lanes), 1) <= cap).unwrap_or(0);
    let (lanes, run) = next_run(slices.len(), all, widest);
    let enough = (8 * threads).div_ceil(work.tasks(lanes)).max(1);
    let fitting = (1..=enough).rev().find(|&g| work.bytes(lanes, g) <= cap).unwrap_or(1);
    Ok(Groups { first: slices.start, count: run.min(fitting * lanes.count()), lanes })
}

/// Slices of a call that go side by side, one by one where memory has no room for more: what is rounded does not depend on slabs.
const MANY: usize = 6;
/// Slices that are worth a group: one costs nearly the same with idle lanes as without, and as much as about 14, 8 or 6 slices alone.
const FILL: [(usize, usize); 3] = [(32, 22), (16, 9), (8, MANY)];

/// [`Work::least`] of a call of so many slices.
pub(super) fn least(all: usize, work: &impl Work) -> u64 {
    let alone = work.bytes(Lanes::Alone, 1);
    if all < MANY { alone } else { work.bytes(Lanes::Side(1), 1).min(alone) }
}

/// Lanes for the next slices of so many, and how many slices in a row they serve.
fn next_run(slices: usize, all: usize, widest: usize) -> (Lanes, usize) {
    if all < MANY {
        return (Lanes::Alone, slices);
    }
    for (lanes, minimum) in FILL {
        if lanes <= widest && slices >= minimum {
            let whole = slices / lanes * lanes;
            let rest = slices - whole;
            return (Lanes::Side(lanes), if rest >= minimum { slices } else { whole });
        }
    }
    let lanes = match widest {
        8.. => Lanes::Side(8),
        1.. => Lanes::Side(1),
        _ => Lanes::Alone,
    };
    (lanes, slices)
}

/// All of these slices in one slab, in the lanes that take them soonest.
pub(super) fn together(slices: Range<usize>, cap: u64, work: &impl Work) -> Result<Groups> {
    let count = slices.len();
    let groups = LANES.into_iter().chain([1]).map(Lanes::Side).chain([Lanes::Alone]);
    let fitting = groups.map(|lanes| Groups { first: slices.start, count, lanes });
    let fitting = fitting.filter(|slab| work.bytes(slab.lanes, slab.len()) <= cap);
    let rank = |slab: &Groups| ((slab.lanes == Lanes::Alone) == (count >= MANY), slab.len() * cost(slab.lanes));
    let Some(slab) = fitting.min_by_key(rank) else {
        let needed =
            [Lanes::Side(1), Lanes::Alone].map(|lanes| work.bytes(lanes, count)).into_iter().min().unwrap_or(0);
        fail!(MemoryCap, "memory_cap is {cap} bytes; the {count} slices together need at least {needed}");
    };
    Ok(slab)
}

/// What a group of these lanes takes, whether idle or not, in slices alone.
fn cost(lanes: Lanes) -> usize {
    match lanes {
        Lanes::Side(32..) => 14,
        Lanes::Side(16..) => 8,
        Lanes::Side(_) => 6,
        Lanes::Alone => 1,
    }
}

/// All slabs of so many slices.
pub(super) fn all(slices: usize, cap: u64, threads: usize, work: &dyn Work) -> Result<Vec<Groups>> {
    let mut list = Vec::new();
    let mut first = 0;
    while first < slices {
        let groups = work.next(first..slices, cap, threads)?;
        first += groups.count;
        list.push(groups);
    }
    Ok(list)
}

/// A cap under which a slab is divided further, if it can be.
pub(super) fn smaller(groups: &Groups, work: &dyn Work) -> Option<u64> {
    let cap = work.bytes(groups.lanes, groups.len()).checked_sub(1)?;
    (cap >= work.least()).then_some(cap)
}

/// Tells the log what was decided.
pub(super) fn log(context: &Context, what: &str, slabs: &[Groups]) {
    context.log(LogLevel::Info, || {
        let (n, Groups { count, lanes, .. }, threads) = (slabs.len(), slabs[0], context.threads());
        let (level, lanes) = (context.level().name(), lanes.count());
        format!("{what}: {n} slabs of up to {count} slices, {lanes} slices a vector group, {threads} threads, {level}")
    });
}

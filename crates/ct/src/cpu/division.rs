//! How many slices the processor works on at a time, and how many of them side by side, so that the work fits the memory cap and
//! keeps every thread busy.

use super::groups::Groups;
use super::interleaved::LANES;
use super::work::Work;
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::error::{Result, fail};
use std::ops::Range;

/// The first of these slices, of a call of so many, as many as suit.
pub(super) fn next((slices, all): (Range<usize>, usize), cap: u64, threads: usize, work: &impl Work) -> Result<Groups> {
    let widest = LANES.into_iter().chain([1]).find(|&lanes| work.bytes(lanes, 1) <= cap);
    let Some(widest) = widest else {
        let needed = work.bytes(1, 1);
        fail!(MemoryCap, "memory_cap is {cap} bytes; one slice needs at least {needed}");
    };
    let (lanes, run) = next_run(slices.len(), all, widest);
    let enough = (8 * threads).div_ceil(work.tasks(lanes)).max(1);
    let fitting = (1..=enough).rev().find(|&g| work.bytes(lanes, g) <= cap).unwrap_or(1);
    Ok(Groups { first: slices.start, count: run.min(fitting * lanes), lanes })
}

/// Lanes for the next slices of so many, and how many slices in a row they serve. A group costs nearly the same with idle lanes as
/// without, and about 14, 8 or 6 single slices at 32, 16 or 8 lanes. Single slices are rounded otherwise than those of groups, so that all slices of a
/// call go in groups where they are enough for one and memory has room for it: what is rounded does not depend on slabs.
fn next_run(slices: usize, all: usize, widest: usize) -> (usize, usize) {
    let fill = [(32, 22), (16, 9), (8, 6)];
    for (lanes, minimum) in fill {
        if lanes <= widest && slices >= minimum {
            let whole = slices / lanes * lanes;
            let rest = slices - whole;
            return (lanes, if rest >= minimum { slices } else { whole });
        }
    }
    match fill[2] {
        (lanes, minimum) if lanes <= widest && all >= minimum => (lanes, slices),
        _ => (1, slices),
    }
}

/// All of these slices in one slab, in the lanes that take them soonest.
pub(super) fn together(slices: Range<usize>, cap: u64, work: &impl Work) -> Result<Groups> {
    let count = slices.len();
    let groups = LANES.into_iter().chain([1]).map(|lanes| Groups { first: slices.start, count, lanes });
    let fitting = groups.filter(|slab| work.bytes(slab.lanes, slab.len()) <= cap);
    let soonest = |slab: &Groups| slab.len() * cost(slab.lanes);
    let Some(slab) = fitting.min_by_key(|slab| (count >= cost(8) && slab.lanes == 1, soonest(slab))) else {
        let needed = work.bytes(1, count);
        fail!(MemoryCap, "memory_cap is {cap} bytes; the {count} slices together need at least {needed}");
    };
    Ok(slab)
}

/// What a group of so many lanes takes, whether idle or not, in single slices.
fn cost(lanes: usize) -> usize {
    match lanes {
        32.. => 14,
        16.. => 8,
        8.. => 6,
        _ => 1,
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
    (cap >= work.bytes(1, 1)).then_some(cap)
}

/// Tells the log what was decided.
pub(super) fn log(context: &Context, what: &str, slabs: &[Groups]) {
    context.log(LogLevel::Info, || {
        let (n, Groups { count, lanes, .. }, threads) = (slabs.len(), slabs[0], context.threads());
        let level = context.level().name();
        format!("{what}: {n} slabs of up to {count} slices, {lanes} slices a vector group, {threads} threads, {level}")
    });
}

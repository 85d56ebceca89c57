//! `isocenter recon` and `repeat`.

use super::decide::decide;
use super::run::Run;
use super::{context, room};
use crate::cli::{Machine, Recon, Repeat};
use crate::plan::Plan;
use crate::scan::Scan;
use crate::stopwatch::Stopwatch;
use crate::watch::Watch;
use anyhow::Result;

pub fn run(recon: &Recon) -> Result<()> {
    let (watch, mut stopwatch) = (Watch::new()?, Stopwatch::default());
    let context = context(&recon.machine, &watch)?;
    stopwatch.stage("devices");
    let mut scan = Scan::open(&recon.scan)?;
    stopwatch.stage("opening");
    hold(&mut scan, recon.rows, &recon.machine)?;
    stopwatch.stage("decoding");
    let (plan, axis) = decide(recon, &context, &scan, &mut stopwatch)?;
    Run { context, watch, plan, scan, axis, stopwatch }.go(true)
}

pub fn repeat(repeat: &Repeat) -> Result<()> {
    let (watch, mut stopwatch) = (Watch::new()?, Stopwatch::default());
    let context = context(&repeat.machine, &watch)?;
    stopwatch.stage("devices");
    let plan = Plan::read(&repeat.plan)?;
    let mut scan = Scan::open(&plan.scan)?;
    stopwatch.stage("opening");
    hold(&mut scan, Some(plan.rows), &repeat.machine)?;
    stopwatch.stage("decoding");
    Run { context, watch, plan, scan, axis: None, stopwatch }.go(false)
}

/// Rows on either side of those that are wanted, at which steps may look: they are decoded with them.
const BESIDE: usize = 64;

/// Decodes the rows that are wanted, all of them if none are named, and keeps them.
fn hold(scan: &mut Scan, wanted: Option<[usize; 2]>, machine: &Machine) -> Result<()> {
    let all = scan.views.source.shape()[1];
    let [first, end] = wanted.unwrap_or([0, all]);
    let rows: Vec<_> = (first.saturating_sub(BESIDE)..end.saturating_add(BESIDE).min(all)).collect();
    scan.hold(&rows, &mut room(machine))
}

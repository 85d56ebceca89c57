//! `isocenter recon` and `repeat`.

use super::decide::decide;
use super::run::Run;
use super::{context, room};
use crate::cli::{Machine, Recon, Repeat};
use crate::plan::Plan;
use crate::scan::Scan;
use crate::watch::Watch;
use anyhow::Result;
use std::time::Instant;

pub fn run(recon: &Recon) -> Result<()> {
    let (watch, start) = (Watch::new()?, Instant::now());
    let context = context(&recon.machine, &watch)?;
    let mut scan = Scan::open(&recon.scan, &recon.input)?;
    hold(&mut scan, recon.rows, &recon.machine)?;
    let (plan, axis) = decide(recon, &context, &scan)?;
    let run = Run { context, watch, plan, scan, axis, start };
    run.go(true)
}

pub fn repeat(repeat: &Repeat) -> Result<()> {
    let (watch, start) = (Watch::new()?, Instant::now());
    let context = context(&repeat.machine, &watch)?;
    let plan = Plan::read(&repeat.plan)?;
    let mut scan = Scan::open(&plan.scan, &plan.input)?;
    hold(&mut scan, Some(plan.rows), &repeat.machine)?;
    Run { context, watch, plan, scan, axis: None, start }.go(false)
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

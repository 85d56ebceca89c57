//! `isocenter recon` and `repeat`.

use super::context;
use super::decide::decide;
use super::run::Run;
use crate::cli::{Recon, Repeat};
use crate::plan::Plan;
use crate::scan::Scan;
use crate::watch::Watch;
use anyhow::Result;
use std::time::Instant;

pub fn run(recon: &Recon) -> Result<()> {
    let (watch, start) = (Watch::new()?, Instant::now());
    let context = context(&recon.machine, &watch)?;
    let scan = Scan::open(&recon.scan)?;
    let (plan, axis) = decide(recon, &context, &scan)?;
    let run = Run { context, watch, plan, scan, axis, start };
    let written = run.plan.write()?;
    run.go()?;
    println!("plan {}", written.display());
    Ok(())
}

pub fn repeat(repeat: &Repeat) -> Result<()> {
    let (watch, start) = (Watch::new()?, Instant::now());
    let context = context(&repeat.machine, &watch)?;
    let plan = Plan::read(&repeat.plan)?;
    let scan = Scan::open(&plan.scan)?;
    Run { context, watch, plan, scan, axis: None, start }.go()
}

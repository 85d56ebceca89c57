//! `isocenter recon` and `repeat`.

use super::bad_views::leave_out;
use super::decide::decide;
use super::run::{Run, Task};
use super::{context, probe, room, trial};
use crate::cli::{Machine, Recon, Repeat};
use crate::plan::Plan;
use crate::scan::{Input, Scan, chosen};
use crate::stopwatch::Stopwatch;
use crate::team::{self, Team};
use crate::watch::Watch;
use crate::{status, talk};
use anyhow::{Context as _, Result};
use serde_json::json;
use std::path::Path;

pub fn run(recon: &Recon) -> Result<()> {
    team::with(|team| {
        if let Some(taken) = &recon.taken {
            if team.rank() == 0 {
                let text = format!("{}: PyHST parameters\n{taken}", recon.scan.display());
                talk::tell("parameters", json!({"path": talk::path(&recon.scan), "text": taken.to_string()}), text);
            }
            taken.check().with_context(|| recon.scan.display().to_string())?;
        }
        let (watch, mut stopwatch) = (Watch::new()?, Stopwatch::default());
        let context = context(&recon.machine, recon.input.nan, &watch, team)?;
        stopwatch.stage("devices");
        let mut scan = opened(&recon.scan, &recon.input, recon.pixel, team)?;
        stopwatch.stage("opening");
        if recon.trial.wanted() {
            return trial::run(recon, &context, &mut scan, &watch, team);
        }
        if !recon.probe {
            hold(&mut scan, recon.rows, &recon.machine, team)?;
            stopwatch.stage("decoding");
        }
        // Found once, for all.
        let (plan, axis) = if team.rank() == 0 {
            let [_, all, _] = scan.views.source.shape();
            let rows = recon.rows.map_or(0..all, |[first, end]| first..end);
            let said = (&recon.input, &recon.steps.flats);
            // Others are refused below.
            let left_out =
                if rows.end <= all { leave_out(recon.bad_views, &context, &mut scan, said, rows)? } else { None };
            stopwatch.stage("bad views");
            let parts = recon.begin.unwrap_or(team.size()).max(1);
            let (plan, axis) = decide(recon, &context, (&scan, left_out), &mut stopwatch, parts)?;
            team.told(plan.text()?.into_bytes())?;
            (plan, axis)
        } else {
            let plan = Plan::parse(&String::from_utf8(team.told(Vec::new())?)?)?;
            chosen::leave_out(&mut scan, &recon.input, plan.input.left_out.as_deref())?;
            (plan, None)
        };
        if recon.probe {
            return probe::run(&context, &plan, &scan, team);
        }
        let task = if recon.begin.is_some() { Task::Begin } else { Task::All };
        Run { team, context, watch, plan, scan, axis, stopwatch }.go(true, task)
    })
}

pub fn repeat(repeat: &Repeat) -> Result<()> {
    team::with(|team| {
        let (watch, mut stopwatch) = (Watch::new()?, Stopwatch::default());
        let plan = Plan::read(&repeat.plan).map_err(status::unreadable)?;
        let context = context(&repeat.machine, plan.input.nan, &watch, team)?;
        stopwatch.stage("devices");
        let mut scan = opened(&plan.scan, &plan.input, plan.pixel, team)?;
        stopwatch.stage("opening");
        hold(&mut scan, Some(plan.rows), &repeat.machine, team)?;
        stopwatch.stage("decoding");
        let task = repeat.part.map_or(Task::All, Task::Part);
        Run { team, context, watch, plan, scan, axis: None, stopwatch }.go(false, task)
    })
}

/// A scan and the side of its pixels; the first of a team tells what was assumed.
fn opened(path: &Path, input: &Input, pixel: Option<f64>, team: &dyn Team) -> Result<Scan> {
    let mut scan = Scan::open(path, input).map_err(status::unreadable)?;
    scan.pixel.settle(pixel, input.detector.binning()).with_context(|| path.display().to_string())?;
    if team.rank() == 0 {
        scan.notes.iter().cloned().chain(scan.pixel.note()).for_each(talk::note);
    }
    Ok(scan)
}

/// Rows on either side of those that are wanted, at which steps may look: they are decoded with them.
const BESIDE: usize = 64;

/// Decodes the rows that are wanted, all of them if none are named, and keeps them.
pub fn hold(scan: &mut Scan, wanted: Option<[usize; 2]>, machine: &Machine, team: &dyn Team) -> Result<()> {
    let all = scan.views.source.shape()[1];
    let [first, end] = wanted.unwrap_or([0, all]);
    let rows: Vec<_> = (first.saturating_sub(BESIDE)..end.saturating_add(BESIDE).min(all)).collect();
    scan.hold(&rows, &mut room(machine, team), team).map_err(status::unreadable)
}

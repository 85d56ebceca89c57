//! `isocenter recon` and `repeat`.

use super::bad_views::leave_out;
use super::decide::decide;
use super::run::{Run, Task};
use super::{context, placed, probe, room, several, trial};
use crate::cli::{Machine, Recon, Repeat};
use crate::plan::{Piece, Plan};
use crate::scan::{Input, Scan, chosen};
use crate::stopwatch::Stopwatch;
use crate::team::{self, Alone, Team};
use crate::watch::Watch;
use crate::{status, talk};
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

pub fn run(recon: &Recon) -> Result<()> {
    team::with(|team| {
        let watch = Watch::new()?;
        match recon.lines.first() {
            Some(line) if line.place.is_none() => {
                ensure!(team.size() == 1, "a table of several volumes is for one process: start one run a scan");
                // Each begins to count the shares of its own.
                several::run(recon, |line| one(line, &watch, &Alone::default()))
            }
            _ => one(recon, &watch, team),
        }
    })
}

/// A volume, of one scan or of several.
fn one(recon: &Recon, watch: &Arc<Watch>, team: &dyn Team) -> Result<()> {
    let mut stopwatch = Stopwatch::default();
    let alone = std::slice::from_ref(recon);
    let lines = if recon.lines.is_empty() { alone } else { &recon.lines };
    if recon.lines.is_empty() && recon.overlap.is_some() {
        bail!("--overlap belongs to a table of scans that make one volume");
    }
    placed::alike(lines)?;
    for Recon { scan, taken, .. } in lines {
        let Some(taken) = taken else { continue };
        if team.rank() == 0 {
            let text = format!("{}: PyHST parameters\n{taken}", scan.display());
            talk::tell("parameters", json!({"path": talk::path(scan), "text": taken.to_string()}), text);
        }
        taken.check().with_context(|| scan.display().to_string())?;
    }
    let context = context(&recon.machine, recon.input.nan, watch, team)?;
    stopwatch.stage("devices");
    let opened = lines.iter().map(|line| opened(&line.scan, &line.input, line.pixel, team));
    let mut scans = opened.collect::<Result<Vec<_>>>()?;
    let mut pieces = placed::place(lines, &mut scans)?;
    stopwatch.stage("opening");
    if recon.trial.wanted() {
        ensure!(
            scans.len() == 1,
            "a sheet to choose from is of one scan, and these make one volume: name the scan itself"
        );
        return trial::run(recon, &context, &mut scans[0], watch, team);
    }
    if !recon.probe {
        let first = |k: usize| pieces.get(k).map_or(0, |(piece, _): &(Piece, _)| piece.row);
        hold(&mut scans, first, recon.rows, &recon.machine, team)?;
        stopwatch.stage("decoding");
    }
    // Found once, for all.
    let (plan, axis) = if team.rank() == 0 {
        for (k, (piece, _)) in pieces.iter_mut().enumerate() {
            let [_, all, _] = scans[k].views.source.shape();
            let rows = recon
                .rows
                .map_or(0..all, |[first, end]| first.saturating_sub(piece.row)..end.saturating_sub(piece.row));
            let rows = rows.start..if scans.len() > 1 { rows.end.min(all) } else { rows.end };
            // Others are refused below, or have none of the rows.
            if rows.end <= all && !rows.is_empty() {
                let said = (&piece.input, &recon.steps.flats);
                piece.input.left_out = leave_out(recon.bad_views, &context, &mut scans[k], said, rows)?;
            }
        }
        stopwatch.stage("bad views");
        let processes = recon.begin.unwrap_or(team.size()).max(1);
        let (plan, axis) = decide(recon, pieces, &context, &scans, &mut stopwatch, processes)?;
        team.told(plan.text()?.into_bytes())?;
        (plan, axis)
    } else {
        let plan = Plan::parse(&String::from_utf8(team.told(Vec::new())?)?)?;
        for (k, (piece, _)) in pieces.iter().enumerate() {
            let found = plan.scans.get(k).map_or(&plan.input, |piece| &piece.input).left_out.as_deref();
            chosen::leave_out(&mut scans[k], &piece.input, found)?;
        }
        (plan, None)
    };
    if recon.probe {
        return probe::run(&context, &plan, &scans, team);
    }
    let task = if recon.begin.is_some() { Task::Begin } else { Task::All };
    Run { team, context, watch: watch.clone(), plan, scans, axis, stopwatch }.go(true, task)
}

pub fn repeat(repeat: &Repeat) -> Result<()> {
    team::with(|team| {
        let (watch, mut stopwatch) = (Watch::new()?, Stopwatch::default());
        let plan = Plan::read(&repeat.plan).map_err(status::unreadable)?;
        let context = context(&repeat.machine, plan.input.nan, &watch, team)?;
        stopwatch.stage("devices");
        let mut scans = match plan.scans.is_empty() {
            true => vec![opened(&plan.scan, &plan.input, plan.pixel, team)?],
            false => {
                let opened = plan.scans.iter().map(|piece| opened(&piece.scan, &piece.input, plan.pixel, team));
                opened.collect::<Result<Vec<_>>>()?
            }
        };
        placed::whole(&plan, &scans)?;
        stopwatch.stage("opening");
        let first = |k: usize| plan.scans.get(k).map_or(0, |piece| piece.row);
        hold(&mut scans, first, Some(plan.rows), &repeat.machine, team)?;
        stopwatch.stage("decoding");
        let task = repeat.part.map_or(Task::All, Task::Part);
        Run { team, context, watch, plan, scans, axis: None, stopwatch }.go(false, task)
    })
}

/// A scan and the side of its pixels; the first of a team tells what was assumed.
fn opened(path: &Path, input: &Input, pixel: Option<f64>, team: &dyn Team) -> Result<Scan> {
    let mut scan = Scan::open(path, input).map_err(status::unreadable)?;
    let settled = scan.pixel.settle(pixel, input.detector.binning()).with_context(|| path.display().to_string());
    settled.map_err(status::unreadable)?;
    if team.rank() == 0 {
        scan.notes.iter().cloned().chain(scan.pixel.note()).for_each(talk::note);
    }
    Ok(scan)
}

/// Rows on either side of those that are wanted, at which steps may look: they are decoded with them.
const BESIDE: usize = 64;

/// Decodes the rows that are wanted of each scan, all of them if none are named, and keeps them; scans begin at these rows of the volume.
pub fn hold(
    scans: &mut [Scan],
    first: impl Fn(usize) -> usize,
    wanted: Option<[usize; 2]>,
    machine: &Machine,
    team: &dyn Team,
) -> Result<()> {
    let mut room = room(machine, team);
    for (k, scan) in scans.iter_mut().enumerate() {
        let all = scan.views.source.shape()[1];
        let [start, end] = wanted.map_or([0, all], |rows| rows.map(|at| at.saturating_sub(first(k)).min(all)));
        // Of others nothing is wanted.
        if start < end {
            let rows: Vec<_> = (start.saturating_sub(BESIDE)..end.saturating_add(BESIDE).min(all)).collect();
            scan.hold(&rows, &mut room, team).map_err(status::unreadable)?;
        }
    }
    Ok(())
}

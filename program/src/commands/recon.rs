//! `isocenter recon` and `repeat`.

use super::decide::decide;
use super::placed::Placed;
use super::run::{Run, Task};
use super::{context, placed, probe, room, several, sides, trial, wide};
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
            Some(line) if !line.place.is_told() => {
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
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let mut placed = placed::place(recon.axis, lines, opened)?;
    stopwatch.stage("opening");
    if recon.trial.wanted() {
        ensure!(
            lines.len() == 1,
            "a sheet to choose from is of one scan, and these make one volume: name the scan itself"
        );
        return trial::run(recon, &context, &mut placed[0].scans[0], watch, team);
    }
    if !recon.probe {
        let scans =
            placed.iter_mut().flat_map(|Placed { piece, scans, .. }| scans.iter_mut().map(|scan| (piece.row, scan)));
        hold(scans, recon.rows, &recon.machine, team)?;
        stopwatch.stage("decoding");
    }
    // Found once, for all.
    let (plan, scans, axis) = if team.rank() == 0 {
        let several = placed.len() > 1;
        for one in &mut placed {
            let ([_, all, _], row) = (one.scans[0].views.source.shape(), one.piece.row);
            let rows = recon.rows.map_or(0..all, |[first, end]| first.saturating_sub(row)..end.saturating_sub(row));
            let rows = rows.start..if several { rows.end.min(all) } else { rows.end };
            // Others are refused below, or have none of the rows.
            if rows.end <= all && !rows.is_empty() {
                wide::leave_out(recon.bad_views, &context, one, &recon.steps, rows)?;
            }
        }
        stopwatch.stage("bad views");
        let processes = recon.begin.unwrap_or(team.size()).max(1);
        let pieces: Vec<_> = placed.iter().map(|one| (one.piece.clone(), one.axis)).collect();
        let groups = placed.into_iter().map(|one| (one.piece, one.scans));
        let wholes = wide::joined(&context, &recon.steps, groups)?;
        if wholes.iter().any(|whole| whole.wide.is_some()) {
            sides::compare(&pieces, &wholes, recon.rows)?;
            stopwatch.stage("sides");
        }
        let scans: Vec<_> = wholes.into_iter().map(|whole| whole.scan).collect();
        let (plan, axis) = decide(recon, pieces, &context, &scans, &mut stopwatch, processes)?;
        team.told(plan.text()?.into_bytes())?;
        (plan, scans, axis)
    } else {
        let plan = Plan::parse(&String::from_utf8(team.told(Vec::new())?)?)?;
        for (k, Placed { piece, scans, .. }) in placed.iter_mut().enumerate() {
            let mut found = plan.scans.get(k).cloned().unwrap_or_else(|| piece.clone());
            if plan.scans.is_empty() {
                found.input = plan.input.clone();
            }
            for ((scan, said), found) in scans.iter_mut().zip(piece.inputs()).zip(found.inputs()) {
                chosen::leave_out(scan, said, found.left_out.as_deref())?;
            }
        }
        let groups = placed.into_iter().map(|one| (one.piece, one.scans));
        let wholes = wide::joined(&context, &plan.steps, groups)?;
        (plan, wholes.into_iter().map(|whole| whole.scan).collect(), None)
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
        let pieces = match plan.scans.is_empty() {
            true => vec![Piece {
                scan: plan.scan.clone(),
                row: 0,
                axis: plan.axis,
                input: plan.input.clone(),
                beside: Vec::new(),
            }],
            false => plan.scans.clone(),
        };
        let groups = pieces.iter().map(|piece| {
            let scans = piece.scans().map(|(scan, _, input)| opened(scan, input, plan.pixel, team));
            scans.collect::<Result<Vec<_>>>()
        });
        let mut groups = groups.collect::<Result<Vec<_>>>()?;
        stopwatch.stage("opening");
        let scans =
            pieces.iter().zip(&mut groups).flat_map(|(piece, scans)| scans.iter_mut().map(|scan| (piece.row, scan)));
        hold(scans, Some(plan.rows), &repeat.machine, team)?;
        stopwatch.stage("decoding");
        let wholes = wide::joined(&context, &plan.steps, pieces.into_iter().zip(groups))?;
        let scans: Vec<_> = wholes.into_iter().map(|whole| whole.scan).collect();
        placed::whole(&plan, &scans)?;
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
pub fn hold<'a>(
    scans: impl IntoIterator<Item = (usize, &'a mut Scan)>,
    wanted: Option<[usize; 2]>,
    machine: &Machine,
    team: &dyn Team,
) -> Result<()> {
    let mut room = room(machine, team);
    for (first, scan) in scans {
        let all = scan.views.source.shape()[1];
        let [start, end] = wanted.map_or([0, all], |rows| rows.map(|at| at.saturating_sub(first).min(all)));
        // Of others nothing is wanted.
        if start < end {
            let rows: Vec<_> = (start.saturating_sub(BESIDE)..end.saturating_add(BESIDE).min(all)).collect();
            scan.hold(&rows, &mut room, team).map_err(status::unreadable)?;
        }
    }
    Ok(())
}

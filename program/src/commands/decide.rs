//! The plan of what was said on the command line: what was left to be found is found, so that the rest of a run follows from its plan.

use super::axis::{Search, tell};
use super::noise;
use super::overlap;
use super::run::prepared;
use super::{geometry, shares};
use crate::cli::Recon;
use crate::plan::{Halves, Overlap, Piece, Plan, Steps};
use crate::scan::{Input, Scan};
use crate::stopwatch::Stopwatch;
use crate::talk;
use crate::volume::{self, Format, journal, unfinished};
use anyhow::{Context as _, Result, bail};
use isocenter::context::Context;
use isocenter::ct::{Ct, FoundAxis, Output, Suggested};
use serde_json::json;
use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Slices whose values tell the window of integers, and how many of these are next to each other: steps may need rows beside them, of which phase
/// retrieval needs some hundred.
const SLICES: usize = 16;
const GROUP: usize = 4;
const PHASE_GROUP: usize = 8;
/// Values that are looked at, at most.
const VALUES: usize = 8 << 20;
/// Angles that views have to cover before rows are asked whether they are halves: most have an opposite one then.
const HALVES_FROM: f64 = 1.4 * PI;
/// Bins to either side of an axis that is given where rows are looked at.
const BESIDE_AXIS: f64 = 2.0;

/// Of a scan, or of several that make one volume, each with its axis where that is given.
pub fn decide(
    recon: &Recon,
    pieces: Vec<(Piece, Option<f64>)>,
    context: &Arc<Context>,
    scans: &[Scan],
    stopwatch: &mut Stopwatch,
    processes: usize,
) -> Result<(Plan, Option<FoundAxis>)> {
    let (mut pieces, mut given): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
    let high = |k: usize| scans[k].views.source.shape()[1];
    let all = pieces[scans.len() - 1].row + high(scans.len() - 1);
    let rows = recon.rows.unwrap_or([0, all]);
    if rows[1] > all {
        bail!("--rows {}..{}: the scan has {all}", rows[0], rows[1]);
    }
    let mut steps = recon.steps.clone();
    let (output, format) = output(recon);
    steps.volume.format = Some(format);
    steps.volume.kind(&output)?;
    volume::free(&output, format)?;
    let mut plan = begun(recon, output, rows, steps);
    plan.axis = given[0].unwrap_or_default();
    plan.block = block(&plan.steps, rows[1] - rows[0], processes);
    plan.overlap = recon.overlap.unwrap_or_default();
    plan.input = match recon.lines.is_empty() {
        true => pieces.remove(0).input,
        // Each has its own.
        false => Input { nan: recon.input.nan, ..Input::default() },
    };
    plan.scans = pieces;
    // Of others none of their rows are wanted.
    let wanted: Vec<_> = (0..scans.len()).filter(|k| !plan.of(*k, high(*k)).is_empty()).collect();
    for &k in &wanted {
        let own = plan.of(k, high(k));
        own.check(&mut Ct::new(context.clone()), &scans[k])?;
        own.whole(&scans[k], &mut geometry(&scans[k], high(k)))?;
    }
    notes(&plan, context, processes);
    let percentiles = plan.steps.volume.open()?;
    // What they were stays in the plan, beside what is found by them.
    plan.steps.volume.percentiles = percentiles.map(Vec::from);
    if let Some(earlier) = earlier(&plan, &given) {
        let told = format!("axis {:.3}, as the run has it that ended early", earlier.axis);
        talk::tell("axis", json!({"axis": earlier.axis}), told);
        return Ok((earlier, None));
    }
    let (mut found, mut halves) = (None, Vec::new());
    for &k in &wanted {
        let own = plan.of(k, high(k));
        if !plan.scans.is_empty() {
            let others: Vec<_> = plan.scans[k].beside.iter().map(|other| talk::path(&other.scan)).collect();
            let event = json!({"path": talk::path(&own.scan), "beside": others});
            talk::tell("scan", event, format_args!("{}:", plan.name(k)));
        }
        let (axis, joined) = match axis(context, &own, &scans[k], given[k]) {
            Err(error) if !plan.scans.is_empty() => Err(error).with_context(|| plan.name(k)),
            axis => axis,
        }?;
        if let Some(axis) = axis {
            tell(&axis, false);
            stopwatch.stage("axis");
            given[k] = Some(axis.axis);
            found = Some(axis);
        }
        halves.push(joined);
    }
    plan.scans.iter_mut().zip(&given).for_each(|(piece, axis)| piece.axis = axis.unwrap_or_default());
    plan.axis = given[0].unwrap_or_default();
    let is = |joined: &Option<bool>| joined.unwrap_or(false);
    if plan.steps.slices.half_acquisition == Halves::Auto && halves.windows(2).any(|pair| is(&pair[0]) != is(&pair[1]))
    {
        bail!("some of the scans are half acquisitions, and some are not: --half-acquisition on or off says it of all");
    }
    let joined = halves.iter().flatten().next().copied();
    plan.steps.slices.half_acquisition = plan.steps.slices.half_acquisition.decided(joined);
    if !plan.scans.is_empty() {
        overlap::compare(context, &plan, scans)?;
        stopwatch.stage("overlaps");
    }
    if plan.steps.method.lacks_weight() {
        // One for all: that of the first scan.
        let first = wanted[0];
        let Suggested { weight, noise } = noise::suggested(context, &plan.of(first, high(first)), &scans[first])?;
        let text = format_args!("regularisation {weight:.4e}, by a noise of {noise:.3e} in line integrals");
        talk::tell("regularisation", json!({"weight": weight, "noise": noise}), text);
        stopwatch.stage("noise");
        plan.steps.method.regularisation = Some(weight);
    }
    if let Some(percentiles) = percentiles {
        let [low, high] = window(context, &plan, scans, percentiles)?;
        talk::tell("window", json!({"low": low, "high": high}), format_args!("window {low:.6e} to {high:.6e}"));
        stopwatch.stage("window");
        plan.steps.volume.window = Some(vec![low, high]);
    }
    Ok((plan, found))
}

/// The axis of a scan, if it is not given; and whether rows say that they are halves, if they are asked.
fn axis(
    context: &Arc<Context>,
    plan: &Plan,
    scan: &Scan,
    given: Option<f64>,
) -> Result<(Option<FoundAxis>, Option<bool>)> {
    let Some(axis) = given else {
        let axis = search(context, scan, plan, plan.rows, None)?;
        let half = axis.half_acquisition;
        return Ok((Some(axis), Some(half)));
    };
    Ok((None, joined_about(context, scan, plan, axis)))
}

/// Tells what is asked for and makes no difference here.
fn notes(plan: &Plan, context: &Context, processes: usize) {
    if plan.steps.slices.of_gpus() && context.gpus().is_empty() {
        talk::note("--precision half is for GPUs, of which there is none here: all is computed in 32 bits");
    }
    if plan.steps.method.together() && processes > 1 {
        let text = format_args!("--variation volume makes all slices together: one of {processes} processes does it");
        talk::note(text);
    }
}

/// Slices that are made and recorded together: all of them, where none is made without the others.
fn block(steps: &Steps, slices: usize, processes: usize) -> usize {
    if steps.method.together() { slices.next_multiple_of(2) } else { shares::block(slices, processes) }
}

/// What is said, before anything is found.
pub fn begun(recon: &Recon, output: PathBuf, rows: [usize; 2], mut steps: Steps) -> Plan {
    steps.method = steps.method.settled();
    let (scan, input, axis) = (recon.scan.clone(), recon.input.clone(), recon.axis.unwrap_or_default());
    Plan {
        scan,
        output,
        axis,
        rows,
        block: shares::block(rows[1] - rows[0], 1),
        pixel: recon.pixel,
        input,
        steps,
        overlap: Overlap::default(),
        scans: Vec::new(),
    }
}

/// Searches the axis in some rows.
pub fn search(
    context: &Arc<Context>,
    scan: &Scan,
    plan: &Plan,
    rows: [usize; 2],
    range: Option<[f64; 2]>,
) -> Result<FoundAxis> {
    let (flat, distortion) = (&plan.steps.flats, plan.steps.distortion.wanted(scan, &plan.input.detector)?);
    Search { scan, flat, distortion, range, tilt: false }.run(context, rows[0]..rows[1])
}

/// Whether rows are halves about an axis that is given, where they are to be asked, and tell.
pub fn joined_about(context: &Arc<Context>, scan: &Scan, plan: &Plan, axis: f64) -> Option<bool> {
    if plan.steps.slices.half_acquisition != Halves::Auto || scan.turn() <= HALVES_FROM {
        return None;
    }
    let near = search(context, scan, plan, plan.rows, Some([axis - BESIDE_AXIS, axis + BESIDE_AXIS]));
    near.ok().map(|near| near.half_acquisition)
}

/// The plan of a run that ended early, if it is the one that is wanted now, but for what it has found; axes as far as they are given.
fn earlier(wanted: &Plan, given: &[Option<f64>]) -> Option<Plan> {
    let earlier = Plan::read(&wanted.path()).ok()?;
    journal::begun(&unfinished(&wanted.output).ok()?, &earlier.text().ok()?).ok()?;
    let mut same = wanted.clone();
    (same.axis, same.block) = (given[0].unwrap_or(earlier.axis), earlier.block);
    for ((piece, earlier), given) in same.scans.iter_mut().zip(&earlier.scans).zip(given) {
        piece.axis = given.unwrap_or(earlier.axis);
    }
    if same.steps.slices.half_acquisition == Halves::Auto {
        same.steps.slices.half_acquisition = earlier.steps.slices.half_acquisition;
    }
    if same.steps.method.lacks_weight() {
        same.steps.method.regularisation = earlier.steps.method.regularisation;
    }
    if same.steps.volume.percentiles.is_some() {
        same.steps.volume.window = earlier.steps.volume.window.clone();
    }
    (same == earlier).then_some(earlier)
}

/// The volume's name, made of the scan's where none is given, and its kind.
pub fn output(recon: &Recon) -> (PathBuf, Format) {
    let format = recon.steps.volume.format;
    let beside = |format: Format| PathBuf::from(format!("{}_volume{}", stem(&recon.scan), format.ending()));
    let output = recon.output.clone().unwrap_or_else(|| beside(format.unwrap_or(Format::Hdf5)));
    let format = format.unwrap_or_else(|| Format::of(&output));
    (output, format)
}

/// A name for what is made of a scan.
pub fn stem(scan: &Path) -> String {
    let folder = scan.is_dir().then(|| scan.canonicalize().ok()).flatten();
    let name = match &folder {
        Some(folder) => folder.file_name(),
        None => scan.file_stem(),
    };
    // Of a pattern what comes before its signs.
    let name = name.unwrap_or_default().to_string_lossy();
    let stem = name.split(['*', '?']).next().unwrap_or_default().trim_end_matches(['_', '-', '.']);
    if stem.is_empty() { "scan".into() } else { stem.into() }
}

/// Percentiles of some slices, spread evenly.
fn window(context: &Arc<Context>, plan: &Plan, scans: &[Scan], percentiles: [f64; 2]) -> Result<[f64; 2]> {
    let output = Output::default();
    let mut prepared = prepared(context, plan, scans, &output)?;
    if plan.steps.method.together() {
        bail!(
            "--variation volume makes all slices together, and some of them do not tell percentiles: --window LOW HIGH gives the window"
        );
    }
    let [first, end] = plan.rows;
    let count = SLICES.min(end - first);
    let [_, ny, nx] = prepared.shape();
    // Odd, so that columns take turns.
    let step = (count * ny * nx).div_ceil(VALUES) | 1;
    let part = prepared.any().part.clone();
    let radius = plan.steps.volume.mask_radius.unwrap_or(f64::INFINITY) * part.whole[0].min(part.whole[1]) as f64 / 2.0;
    let mut values: Vec<f32> = Vec::new();
    let phase = plan.steps.phase.method.is_some();
    let groups = count.div_ceil(if phase { PHASE_GROUP } else { GROUP });
    let each = count / groups.max(1);
    for k in 0..groups {
        let row = (first + (2 * k + 1) * (end - first) / (2 * groups)).saturating_sub(each / 2);
        let inside = |at: usize| {
            let [y, x] = part.off_axis([at / nx % ny, at % nx]);
            x.hypot(y) <= radius
        };
        prepared.stream(row..row + each, |_, bytes| {
            let float = |at: usize| bytes[4 * at..][..4].try_into().map(f32::from_ne_bytes);
            values.extend((0..bytes.len() / 4).step_by(step).filter(|at| inside(*at)).flat_map(float));
            Ok(())
        })?;
    }
    if values.is_empty() {
        bail!("there are no values to take percentiles of");
    }
    let last = (values.len() - 1) as f64;
    let window = percentiles.map(|p| {
        let at = (p / 100.0 * last).round().clamp(0.0, last) as usize;
        f64::from(*values.select_nth_unstable_by(at, f32::total_cmp).1)
    });
    if window[0] >= window[1] {
        bail!("percentiles {percentiles:?} are both {}: give a window", window[0]);
    }
    Ok(window)
}

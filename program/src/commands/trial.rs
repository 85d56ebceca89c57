//! `isocenter recon --try-axis` and `--try-stripes`: a slice with each value, to choose from.

use super::axis::tell;
use super::bad_views::leave_out;
use super::decide::{begun, joined_about, search, stem};
use super::recon::hold;
use super::run::Prepared;
use crate::cli::Recon;
use crate::plan::{Plan, Stripes};
use crate::scan::Scan;
use crate::sheet::{Sheet, Tile};
use crate::talk;
use crate::team::Team;
use crate::watch::Watch;
use anyhow::{Result, bail, ensure};
use isocenter::context::Context;
use isocenter::ct::{Ct, FoundAxis, Output};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows on either side of the one that is made in which the axis is searched, if it is not given.
const BESIDE: usize = 12;

pub fn run(recon: &Recon, context: &Arc<Context>, scan: &mut Scan, watch: &Watch, team: &dyn Team) -> Result<()> {
    ensure!(team.size() == 1, "a sheet of one slice is made by one process");
    let all = scan.views.source.shape()[1];
    let [first, end] = recon.rows.unwrap_or([0, all]);
    ensure!(end <= all, "--rows {first}..{end}: the scan has {all}");
    let row = (first + end) / 2;
    let base = base(recon);
    Sheet::free(&base)?;
    let mut plan = begun(recon, base.clone(), [row, row + 1], recon.steps.clone());
    if plan.steps.volume.depth != Default::default() {
        bail!("--depth is for volumes: sheets are of 32-bit floating point, in the picture as greys");
    }
    plan.check(&mut Ct::new(context.clone()), scan)?;
    if plan.steps.method.lacks_weight() {
        bail!("--regularisation is wanted: a sheet's slices are all made with one weight");
    }
    let output = plan.steps.volume.wanted()?;
    // These rows and some beside, for all that is tried.
    hold([(0, &mut *scan)], Some(plan.rows), &recon.machine, team)?;
    let near = row.saturating_sub(BESIDE)..(row + BESIDE + 1).min(all);
    plan.input.left_out = leave_out(recon.bad_views, context, scan, (&recon.input, &recon.steps.flats), near)?;
    let (trials, found) = match &recon.trial.try_axis {
        Some(axes) => (by_axis(&plan, context, scan, &axes.0), between(context, scan, &plan, &axes.0)),
        None => (by_stripes(recon, &mut plan, context, scan)?, None),
    };
    let (tiles, pixel) = made(&trials, context, scan, &output, watch)?;
    let advice = if recon.trial.try_axis.is_some() {
        "the axis that is chosen goes on: isocenter recon with --axis as it is written above the slice"
    } else {
        "what is chosen goes on: isocenter recon with the options that are written above the slice"
    };
    let name = talk::path(&recon.scan);
    let title = format!("row {row} of {all}, {} to choose from", trials.len());
    let sheet = Sheet { title: title.clone(), advice: format!("{name}; {advice}"), tiles, pixel, found };
    let [page, picture, stack] = sheet.write(&base)?.map(|path| talk::path(&path));
    let labels: Vec<_> = trials.iter().map(|(label, _)| label).collect();
    let event = json!({"row": row, "labels": labels, "page": page, "picture": picture, "stack": stack});
    talk::tell("sheet", event, format_args!("{title}: {page}\npicture {picture}\nslices {stack}"));
    Ok(())
}

/// What sheets are called, but for their extensions: as the scan, unless it is said.
fn base(recon: &Recon) -> PathBuf {
    let what = if recon.trial.try_axis.is_some() { "axis" } else { "stripes" };
    match &recon.output {
        Some(path) if path.extension().is_some_and(|e| ["html", "png", "tif"].iter().any(|own| e == *own)) => {
            path.with_extension("")
        }
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}_{what}", stem(&recon.scan))),
    }
}

/// What is tried, as on the command line, and the plan that it makes.
type Trials = Vec<(String, Plan)>;

fn by_axis(plan: &Plan, context: &Arc<Context>, scan: &Scan, axes: &[(String, f64)]) -> Trials {
    let of = |(label, axis): &(String, f64)| {
        let mut plan = Plan { axis: *axis, ..plan.clone() };
        let joined = joined_about(context, scan, &plan, *axis);
        plan.steps.slices.half_acquisition = plan.steps.slices.half_acquisition.decided(joined);
        (format!("--axis {label}"), plan)
    };
    axes.iter().map(of).collect()
}

/// What the search says of the axes that are tried; nothing where it cannot be.
fn between(context: &Arc<Context>, scan: &Scan, plan: &Plan, axes: &[(String, f64)]) -> Option<FoundAxis> {
    let range = [axes.first()?.1, axes.last()?.1];
    let found = search(context, scan, plan, plan.rows, Some(range)).ok()?;
    tell(&found, false);
    Some(found)
}

fn by_stripes(recon: &Recon, plan: &mut Plan, context: &Arc<Context>, scan: &Scan) -> Result<Trials> {
    let joined = match recon.axis {
        Some(axis) => joined_about(context, scan, plan, axis),
        None => {
            let all = scan.views.source.shape()[1];
            let rows = [plan.rows[0].saturating_sub(BESIDE), (plan.rows[1] + BESIDE).min(all)];
            let found = search(context, scan, plan, rows, None)?;
            tell(&found, false);
            plan.axis = found.axis;
            Some(found.half_acquisition)
        }
    };
    plan.steps.slices.half_acquisition = plan.steps.slices.half_acquisition.decided(joined);
    let of = |(label, stripes)| {
        let mut plan = plan.clone();
        plan.steps.stripes = stripes;
        (label, plan)
    };
    Ok(Stripes::trials().into_iter().map(of).collect())
}

/// A slice of each, and the side of its pixels in millimetres.
fn made(
    trials: &Trials,
    context: &Arc<Context>,
    scan: &Scan,
    output: &Output,
    watch: &Watch,
) -> Result<(Vec<Tile>, Option<f64>)> {
    let mut prepared = Prepared::new(context, &trials[0].1, scan, output)?;
    let (mut tiles, share) = (Vec::new(), 1.0 / trials.len() as f64);
    watch.begin();
    for (k, (label, plan)) in trials.iter().enumerate() {
        watch.part(k as f64 * share, share);
        let mut values = Vec::new();
        let slice = prepared.change(plan, output).and_then(|()| {
            prepared.stream(plan.rows[0]..plan.rows[1], |_, bytes| {
                values.extend(bytes.as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v)));
                Ok(())
            })
        });
        slice.inspect_err(|_| watch.end())?;
        let [_, rows, columns] = prepared.shape();
        tiles.push(Tile { label: label.clone(), values, sides: [rows, columns] });
    }
    watch.end();
    Ok((tiles, prepared.side()))
}

//! Scans that make one volume, one below the other and side by side: where each lies, and whether they fit each other.

use super::run::rows_of;
use crate::cli::Recon;
use crate::frames::field::Field;
use crate::plan::{Beside, Piece, Plan};
use crate::scan::Scan;
use crate::seams::shared;
use crate::table::Length;
use crate::talk;
use anyhow::{Context, Result, bail, ensure};
use std::ops::Range;

/// Sides of pixels that differ by less are the same, told otherwise.
const SAME: f64 = 1e-4;
/// Parts of a row that nobody needs to know of.
const LITTLE: f64 = 0.02;
/// Scans side by side may lie so many rows apart: their rows are put on each other.
const BESIDE: f64 = 0.5;
/// Axes of scans side by side may be so many bins apart.
const AXES: f64 = 1.0;

/// Scans that are the same rows of a volume, from left to right.
pub struct Placed {
    pub piece: Piece,
    /// In bins of all of them, where it is given.
    pub axis: Option<f64>,
    pub scans: Vec<Scan>,
}

/// A line's scan, and where it lies.
struct Lying<'a> {
    line: &'a Recon,
    scan: Scan,
    row: f64,
    bin: f64,
}

/// That what is not of a scan alone is the same in all lines of a table.
pub fn alike(lines: &[Recon]) -> Result<()> {
    let of = |line: &Recon| {
        let Recon { output, rows, probe, begin, pixel, overlap, bad_views, input, steps, machine, .. } = line.clone();
        ((output, rows, probe, begin, pixel, overlap), (bad_views, input.nan), steps, machine)
    };
    for line in &lines[1..] {
        ensure!(
            of(line) == of(&lines[0]),
            "{} and {} make one volume, and their lines differ in more than scan, axis and what belongs to a scan: say the rest on the command line",
            lines[0].scan.display(),
            line.scan.display()
        );
    }
    Ok(())
}

/// Sorts scans by their places, and gives these in rows and bins, with the axis where it is given: by the lines, each in bins of its scan, or by all
/// (`axis`), in bins from the first of all scans on.
pub fn place(axis: Option<f64>, lines: &[Recon], scans: Vec<Scan>) -> Result<Vec<Placed>> {
    let mut lying = lines.iter().zip(scans).map(|(line, scan)| lies(line, scan)).collect::<Result<Vec<_>>>()?;
    lying.sort_by(|a, b| a.row.total_cmp(&b.row));
    let top = lying.first().map_or(0.0, |first| first.row);
    let left = lying.iter().map(|lying| lying.bin).fold(f64::INFINITY, f64::min);
    let sideways = lines.iter().any(|line| line.place.x.is_some());
    let mut groups: Vec<Vec<Lying>> = Vec::new();
    for one in lying {
        match groups.last_mut() {
            Some(group) if sideways && one.row - group[0].row < BESIDE => group.push(one),
            _ => groups.push(vec![one]),
        }
    }
    let mut placed: Vec<Placed> = Vec::new();
    for group in groups {
        let row = row(&group, top)?;
        let first = group.iter().map(|lying| lying.bin).fold(f64::INFINITY, f64::min);
        let own = if sideways { axis.map(|axis| axis - (first - left)) } else { None };
        let one = beside(group, row, own)?;
        fits(placed.last(), &one)?;
        placed.push(one);
    }
    let rows: Vec<_> = placed.iter().map(|one| of(one.piece.row, &one.scans[0])).collect();
    shared(&rows, "rows").with_context(|| {
        let told = |(one, rows): (&Placed, &Range<usize>)| {
            format!("{} has rows {}..{}", one.piece.name(), rows.start, rows.end)
        };
        placed.iter().zip(&rows).map(told).collect::<Vec<_>>().join(", ")
    })?;
    Ok(placed)
}

/// Where a line says that its scan lies.
fn lies(line: &Recon, scan: Scan) -> Result<Lying<'_>> {
    let pixels = |length: Option<Length>, column: &str, other: &str| match length {
        Some(Length::Pixels(pixels)) => Ok::<_, anyhow::Error>(pixels),
        Some(Length::Millimetres(length)) => {
            let side = scan.pixel.millimetres().with_context(|| {
                let name = line.scan.display();
                format!("{name}: {column} needs the side of a pixel: --pixel MM, or {other} in its place")
            })?;
            Ok(length / side)
        }
        // It is alone.
        None => Ok(0.0),
    };
    let (row, bin) = (pixels(line.place.z, "z-mm", "z-rows")?, pixels(line.place.x, "x-mm", "x-bins")?);
    Ok(Lying { line, scan, row, bin })
}

/// The row of the volume that scans begin with, from the top of all.
fn row(group: &[Lying], top: f64) -> Result<usize> {
    let row = (group[0].row - top).round();
    for lying in group {
        let (at, name) = (lying.row - top, lying.line.scan.display());
        ensure!(at < 1e9, "{name} lies {at} rows below the first: is its place in the right unit?");
        let off = (at - row).abs();
        if off > LITTLE {
            talk::note(format_args!("{name} is put at row {row}, {off:.2} rows from where it lies"));
        }
    }
    Ok(row as usize)
}

/// Scans of the same rows, from left to right; `axis` wins over those of the lines.
fn beside(mut group: Vec<Lying>, row: usize, axis: Option<f64>) -> Result<Placed> {
    group.sort_by(|a, b| a.bin.total_cmp(&b.bin));
    let left = group[0].bin;
    let names = group.iter().map(|lying| lying.line.scan.display().to_string()).collect::<Vec<_>>().join(", ");
    let shape = |lying: &Lying| lying.scan.views.source.shape();
    for pair in group.windows(2) {
        let rows = [&pair[0], &pair[1]].map(|lying| shape(lying)[1]);
        let name = [&pair[0], &pair[1]].map(|lying| lying.line.scan.display());
        ensure!(
            rows[0] == rows[1],
            "{} and {} lie side by side, and have {} and {} rows",
            name[0],
            name[1],
            rows[0],
            rows[1]
        );
        pixels(&pair[0].scan, &pair[1].scan, || format!("{} and {} make one volume", name[0], name[1]))?;
    }
    if group.len() > 1 {
        let places: Vec<_> = group.iter().map(|lying| (lying.bin - left, shape(lying)[2])).collect();
        Field::new(&places).with_context(|| format!("{names} side by side"))?;
    }
    let axis = axis.map_or_else(|| axis_of(&group, left), |axis| Ok(Some(axis)))?;
    let of = |lying: &Lying| (lying.line.scan.clone(), lying.line.input.clone());
    let others = group[1..].iter().map(|lying| {
        let (scan, input) = of(lying);
        Beside { scan, bin: lying.bin - left, input }
    });
    let (scan, input) = of(&group[0]);
    let piece = Piece { scan, row, axis: 0.0, input, beside: others.collect() };
    Ok(Placed { piece, axis, scans: group.into_iter().map(|lying| lying.scan).collect() })
}

/// The axis that lines of scans side by side give, in bins from the first of them on: each is that of all.
fn axis_of(group: &[Lying], left: f64) -> Result<Option<f64>> {
    let given: Vec<_> = group.iter().filter_map(|lying| Some((lying.line.axis? + lying.bin - left, lying))).collect();
    let Some(((a, first), others)) = given.split_first() else { return Ok(None) };
    for (b, other) in others {
        let told = |lying: &Lying| {
            format!("{} ({} at bin {})", lying.line.scan.display(), lying.line.axis.unwrap_or_default(), lying.bin)
        };
        ensure!(
            (a - b).abs() <= AXES,
            "axes of {} and {} are {:.2} bins apart, and scans side by side have one: of each scan's place and axis one is enough",
            told(first),
            told(other),
            (a - b).abs()
        );
    }
    Ok(Some(given.iter().map(|(axis, _)| axis).sum::<f64>() / given.len() as f64))
}

/// Rows of a scan that begins at this one.
fn of(row: usize, scan: &Scan) -> Range<usize> {
    row..row + scan.views.source.shape()[1]
}

/// An error unless scans have bins like the ones before them, where these are alone.
fn fits(before: Option<&Placed>, one: &Placed) -> Result<()> {
    let Some(before) = before else { return Ok(()) };
    let names = format!("{} and {} make one volume", before.piece.name(), one.piece.name());
    let bins = [before, one].map(|placed| placed.scans[0].views.source.shape()[2]);
    let alone = before.scans.len() == 1 && one.scans.len() == 1;
    ensure!(!alone || bins[0] == bins[1], "{names}, and have {} and {} bins", bins[0], bins[1]);
    pixels(&before.scans[0], &one.scans[0], || names.clone())
}

/// An error unless pixels are of one size.
fn pixels(a: &Scan, b: &Scan, names: impl Fn() -> String) -> Result<()> {
    match [a, b].map(|scan| scan.pixel.millimetres()) {
        [Some(a), Some(b)] if (a / b - 1.0).abs() < SAME => Ok(()),
        [None, None] => Ok(()),
        [a, b] => {
            let told = [a, b].map(|side| side.map_or("none that is told".into(), |side| format!("{side} mm")));
            let names = names();
            bail!("{names}, and sides of their pixels are {} and {}: --pixel MM tells that of all", told[0], told[1]);
        }
    }
}

/// That all rows of a plan are in its scans.
pub fn whole(plan: &Plan, scans: &[Scan]) -> Result<()> {
    for pair in plan.scans.windows(2) {
        ensure!(pair[0].row < pair[1].row, "scans of a plan stand from the first row on");
    }
    shared(&rows_of(plan, scans), "rows").map(drop)
}

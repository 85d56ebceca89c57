//! Scans that make one volume, one below the other: where each lies, and whether they fit each other.

use super::joined::shared;
use super::run::rows_of;
use crate::cli::Recon;
use crate::plan::{Piece, Plan};
use crate::scan::Scan;
use crate::table::Place;
use crate::talk;
use anyhow::{Context, Result, bail, ensure};
use std::ops::Range;

/// Sides of pixels that differ by less are the same, told otherwise.
const SAME: f64 = 1e-4;
/// Parts of a row that nobody needs to know of.
const LITTLE: f64 = 0.02;

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

/// Sorts scans by their places, and gives these in rows, with the axis of each where it is given.
pub fn place(lines: &[Recon], scans: &mut Vec<Scan>) -> Result<Vec<(Piece, Option<f64>)>> {
    let mut placed = Vec::new();
    for (line, scan) in lines.iter().zip(scans.drain(..)) {
        let told = || line.scan.display().to_string();
        let row = match line.place {
            Some(Place::Rows(row)) => row,
            Some(Place::Millimetres(z)) => {
                let side = scan.pixel.millimetres().with_context(|| {
                    format!("{}: z-mm needs the side of a pixel: --pixel MM, or z-rows in its place", told())
                })?;
                z / side
            }
            // It is alone.
            None => 0.0,
        };
        placed.push((row, line, scan));
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let first = placed.first().map_or(0.0, |first| first.0);
    let mut pieces = Vec::new();
    for (row, line, scan) in placed {
        let (at, name) = (row - first, line.scan.display());
        ensure!(at < 1e9, "{name} lies {at} rows below the first: is its place in the right unit?");
        let off = at - at.round();
        if off.abs() > LITTLE {
            talk::note(format_args!("{name} is put at row {}, {:.2} rows from where it lies", at.round(), off.abs()));
        }
        fits(&pieces, scans, line, &scan)?;
        let (scan_path, input) = (line.scan.clone(), line.input.clone());
        pieces.push((Piece { scan: scan_path, row: at.round() as usize, axis: 0.0, input }, line.axis));
        scans.push(scan);
    }
    let rows: Vec<_> = pieces.iter().zip(&*scans).map(|((piece, _), scan)| of(piece.row, scan)).collect();
    shared(&rows).with_context(|| {
        let told = |((piece, _), rows): (&(Piece, _), &Range<usize>)| {
            format!("{} has rows {}..{}", piece.scan.display(), rows.start, rows.end)
        };
        pieces.iter().zip(&rows).map(told).collect::<Vec<_>>().join(", ")
    })?;
    Ok(pieces)
}

/// Rows of a scan that begins at this one.
fn of(row: usize, scan: &Scan) -> Range<usize> {
    row..row + scan.views.source.shape()[1]
}

/// An error unless a scan has bins like the one before it.
fn fits(pieces: &[(Piece, Option<f64>)], scans: &[Scan], line: &Recon, scan: &Scan) -> Result<()> {
    let (Some((before, _)), Some(of)) = (pieces.last(), scans.last()) else { return Ok(()) };
    let names = format!("{} and {} make one volume", before.scan.display(), line.scan.display());
    let bins = [of, scan].map(|scan| scan.views.source.shape()[2]);
    ensure!(bins[0] == bins[1], "{names}, and have {} and {} bins", bins[0], bins[1]);
    match [of, scan].map(|scan| scan.pixel.millimetres()) {
        [Some(a), Some(b)] if (a / b - 1.0).abs() < SAME => {}
        [None, None] => {}
        [a, b] => {
            let told = [a, b].map(|side| side.map_or("none that is told".into(), |side| format!("{side} mm")));
            bail!("{names}, and sides of their pixels are {} and {}: --pixel MM tells that of all", told[0], told[1]);
        }
    }
    Ok(())
}

/// That all rows of a plan are in its scans.
pub fn whole(plan: &Plan, scans: &[Scan]) -> Result<()> {
    for pair in plan.scans.windows(2) {
        ensure!(pair[0].row < pair[1].row, "scans of a plan stand from the first row on");
    }
    shared(&rows_of(plan, scans)).map(drop)
}

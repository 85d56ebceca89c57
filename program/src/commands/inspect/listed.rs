//! `isocenter inspect` of a table of scans: each of them, and what they make together.

use super::{Said, tell};
use crate::cli::Recon;
use crate::commands::decide::output;
use crate::commands::placed::{self, Placed};
use crate::commands::wide;
use crate::scan::Scan;
use crate::seams::shared;
use crate::table::Length;
use crate::{status, talk};
use anyhow::{Context, Result};
use serde_json::json;
use std::ops::Range;

pub fn run(table: &Recon) -> Result<()> {
    let mut scans = Vec::new();
    let mut failed = None;
    for line in &table.lines {
        match opened(line) {
            Ok(scan) => {
                tell(&line.scan, &scan, Some(said(table, line)))?;
                scans.push(scan);
            }
            Err(error) => {
                if let Some(before) = failed.replace(error) {
                    talk::remark(status::told(&before));
                }
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    if !table.lines.iter().any(|line| line.place.is_told()) {
        return Ok(());
    }
    placed::alike(&table.lines)?;
    joined(table, &placed::place(table.axis, &table.lines, scans)?)
}

fn opened(line: &Recon) -> Result<Scan> {
    let mut scan = Scan::open(&line.scan, &line.input).map_err(status::unreadable)?;
    let settled = scan.pixel.settle(line.pixel, line.input.detector.binning());
    settled.with_context(|| line.scan.display().to_string())?;
    Ok(scan)
}

/// What a line tells beside its scan.
fn said(table: &Recon, line: &Recon) -> Said {
    let told = |length: Option<Length>, pixels: &str| match length {
        Some(Length::Millimetres(length)) => Some((format!("{length} mm"), json!({"mm": length}))),
        Some(Length::Pixels(length)) => Some((format!("{length} {pixels}"), json!({pixels: length}))),
        None => None,
    };
    let (z, x) = (told(line.place.z, "rows"), told(line.place.x, "bins"));
    // Of scans side by side the command line has that of all of them.
    let axis = line.axis.filter(|_| line.place.x.is_none() || table.axis.is_none());
    let mut lines = vec![match axis {
        Some(axis) => format!("  axis        {axis}, as it is given"),
        None if line.place.is_told() => "  axis        not given for this scan alone".into(),
        None => "  axis        not given: recon searches it".into(),
    }];
    for (name, place) in [("z", &z), ("x", &x)] {
        lines.extend(place.as_ref().map(|(text, _)| format!("  {name}           {text}, as the table has it")));
    }
    let mut event = vec![("axis", json!(axis))];
    if line.place.is_told() {
        event.extend([("z", z), ("x", x)].map(|(name, place)| (name, json!(place.map(|(_, place)| place)))));
    } else {
        let volume = output(line).0;
        lines.push(format!("  volume      {}", volume.display()));
        event.push(("volume", talk::path(&volume).into()));
    }
    Said { lines, event }
}

/// What scans make together, as far as their places and the axis are told.
fn joined(table: &Recon, placed: &[Placed]) -> Result<()> {
    let high = |one: &Placed| one.scans[0].views.source.shape()[1];
    let rows: Vec<_> = placed.iter().map(|one| one.piece.row..one.piece.row + high(one)).collect();
    let all = rows.last().map_or(0, |last| last.end);
    let (mut lines, mut events) = (vec![format!("together: {all} rows")], Vec::new());
    for (one, rows) in placed.iter().zip(&rows) {
        let (bins, seams) = match one.scans.len() {
            1 => (one.scans[0].views.source.shape()[2], Vec::new()),
            _ => {
                let field = wide::fit(&table.steps, &one.piece, &one.scans)?.field;
                (field.bins, field.seams()?)
            }
        };
        let axis = match one.axis {
            Some(axis) => format!("axis {axis:.3}, as it is given"),
            None => "axis not given: recon searches it".into(),
        };
        lines.push(format!("  rows {}..{}: {bins} bins, {axis}", rows.start, rows.end));
        if one.scans.len() > 1 {
            lines
                .extend(one.piece.scans().map(|(scan, bin, _)| format!("    {} from bin {bin:.3} on", scan.display())));
        }
        lines.extend(seams.iter().map(|seam| format!("    bins {}..{} are in two of them", seam.start, seam.end)));
        events.push(json!({
            "rows": [rows.start, rows.end], "bins": bins, "axis": one.axis,
            "scans": one.piece.scans().map(|(scan, bin, _)| json!({"path": talk::path(scan), "bin": bin})).collect::<Vec<_>>(),
            "seams": ranges(&seams),
        }));
    }
    let seams = shared(&rows, "rows")?;
    lines.extend(seams.iter().map(|seam| format!("  rows {}..{} are in two of these", seam.start, seam.end)));
    lines.push("  places are what the table says: recon compares what scans have in common".into());
    let volume = output(table).0;
    lines.push(format!("  volume {}", volume.display()));
    let event = json!({"rows": all, "parts": events, "seams": ranges(&seams), "volume": talk::path(&volume)});
    talk::tell("together", event, lines.join("\n"));
    Ok(())
}

fn ranges(of: &[Range<usize>]) -> Vec<[usize; 2]> {
    of.iter().map(|range| [range.start, range.end]).collect()
}

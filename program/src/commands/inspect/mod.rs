//! `isocenter inspect`.

use crate::cli::Inspect;
use crate::scan::pyhst::{self, Parameters};
use crate::scan::{Pixel, Scan};
use crate::{status, talk};
use anyhow::Result;
use isocenter::array::DType;
use isocenter::ct::InputKind;
use serde_json::{Value, json};
use std::path::Path;

mod listed;

pub fn run(inspect: &Inspect) -> Result<()> {
    let Inspect { scan: path, input, table } = inspect;
    match table {
        Some(table) => listed::run(table),
        None => tell(path, &Scan::open(path, input).map_err(status::unreadable)?, None),
    }
}

/// What is said of a scan elsewhere.
struct Said {
    lines: Vec<String>,
    event: Vec<(&'static str, Value)>,
}

/// Says what a scan holds, and what else is said of it.
fn tell(path: &Path, scan: &Scan, said: Option<Said>) -> Result<()> {
    let [_, rows, bins] = scan.views.source.shape();
    let (views, dtype, storage) = (scan.views.which.len(), scan.views.source.dtype(), scan.views.source.storage());
    let (first, last) = (scan.angles[0].to_degrees(), scan.angles[views - 1].to_degrees());
    let flats = scan.flats.iter().map(|f| format!("{} after {} views", f.frames.which.len(), f.position));
    let flats = flats.collect::<Vec<_>>().join(", ");
    let darks = scan.darks.as_ref().map_or(0, |darks| darks.which.len());
    let taken_for = taken_for(scan);
    let pixel = match &scan.pixel {
        Pixel::Millimetres(pixel) => format!("{pixel} mm"),
        Pixel::Untold => "not told".into(),
        Pixel::Unread(told) | Pixel::Doubtful(told) => format!("{told}; --pixel MM gives it to recon"),
    };
    let mut lines = vec![format!("{}: {}", path.display(), scan.format)];
    lines.extend(scan.title.iter().map(|title| format!("  title       {title}")));
    lines.push(format!("  projections {views} of {rows} rows x {bins} bins, {dtype:?}, {storage}"));
    lines.push(format!("  taken for   {taken_for}"));
    lines.push(format!("  angles      {first:.4} to {last:.4} degrees"));
    lines.push(format!("  flats       {}", if flats.is_empty() { "none" } else { &flats }));
    lines.push(format!("  darks       {darks}"));
    lines.push(format!("  pixel       {pixel}"));
    let mut event = json!({
        "path": talk::path(path), "format": scan.format, "title": scan.title,
        "projections": views, "rows": rows, "bins": bins, "dtype": format!("{dtype:?}").to_lowercase(), "storage": storage,
        "taken_for": taken_for, "angles_degrees": [first, last],
        "flats": scan.flats.iter().map(|f| json!({"frames": f.frames.which.len(), "position": f.position})).collect::<Vec<_>>(),
        "darks": darks, "pixel_mm": scan.pixel.millimetres(), "pixel": pixel, "notes": scan.notes,
    });
    if pyhst::is(path) {
        let taken = Parameters::read(path)?.taken(|_| false)?;
        lines.extend(taken.to_string().lines().map(str::to_string));
        event["parameters"] = taken.to_string().into();
        if let Err(refused) = taken.check() {
            event["refused"] = refused.to_string().into();
            lines.push(refused.to_string());
        }
    }
    if let Some(Said { lines: more, event: fields }) = said {
        lines.extend(more);
        fields.into_iter().for_each(|(name, value)| event[name] = value);
    }
    lines.extend(scan.notes.iter().map(|note| format!("  note        {note}")));
    talk::tell("scan", event, lines.join("\n"));
    Ok(())
}

/// What projections are, in words.
fn taken_for(scan: &Scan) -> &'static str {
    match scan.input() {
        InputKind::Counts => "counts",
        InputKind::Transmission => "transmissions",
        InputKind::LineIntegrals => "line integrals",
        InputKind::Auto if scan.views.source.dtype() == DType::F32 => {
            "line integrals, as there are no flats; --input says it otherwise"
        }
        InputKind::Auto => "counts, which need flats; --input says it otherwise",
    }
}

//! Whether scans side by side show the same in bins that both have: places that are wrong, and flats of another beam, make volumes that look right but for a
//! ring.

use super::wide::Whole;
use crate::frames::Source;
use crate::frames::wide::Wide;
use crate::plan::Piece;
use crate::talk;
use anyhow::Result;
use seam::{Differences, Found, differences};
use serde_json::json;

mod seam;

/// Views and rows that are compared.
const VIEWS: usize = 256;
const ROWS: usize = 8;
/// Fewer bins tell nothing.
const FEWEST: usize = 24;
/// What lies beyond so many errors is no chance, and what a person need know of: bins, parts of the beam, parts of a line integral.
const SURE: f64 = 4.0;
const SHIFT: f64 = 0.1;
const LEVEL: f64 = 0.01;
const SLOPE: f64 = 0.02;

/// Tells how scans differ in what both have, of those that have some of the rows.
pub fn compare(pieces: &[(Piece, Option<f64>)], wholes: &[Whole], rows: Option<[usize; 2]>) -> Result<()> {
    for ((piece, _), whole) in pieces.iter().zip(wholes) {
        let Some(wide) = &whole.wide else { continue };
        let all = wide.shape()[1];
        let [first, end] = rows.map_or([0, all], |rows| rows.map(|at| at.saturating_sub(piece.row).min(all)));
        let scans: Vec<_> = piece.scans().map(|(scan, bin, _)| (scan.display().to_string(), bin)).collect();
        let told = scans.iter().zip(&wide.field.strips).map(|((name, bin), _)| format!("{name} from bin {bin:.3} on"));
        let told = told.collect::<Vec<_>>().join(", ");
        let event = json!({
            "bins": wide.field.bins, "row": piece.row,
            "scans": scans.iter().map(|(name, bin)| json!({"path": name, "bin": bin})).collect::<Vec<_>>(),
        });
        talk::tell("field", event, format_args!("{} bins side by side: {told}", wide.field.bins));
        if first < end {
            for k in 0..scans.len() - 1 {
                seam(wide, k, [&scans[k], &scans[k + 1]], [first, end], whole.scan.pixel.millimetres())?;
            }
        }
    }
    Ok(())
}

/// So many of a range, evenly spread.
fn spread(range: [usize; 2], count: usize) -> Vec<usize> {
    let all = range[1] - range[0];
    let count = count.min(all);
    (0..count).map(|k| range[0] + (2 * k + 1) * all / (2 * count)).collect()
}

/// Of a scan and the next one.
fn seam(wide: &Wide, k: usize, scans: [&(String, f64); 2], rows: [usize; 2], side: Option<f64>) -> Result<()> {
    let bins = wide.field.seams()?[k].clone();
    let [a, b] = scans.map(|(name, _)| name);
    if bins.len() < FEWEST {
        let text =
            format_args!("{a} and {b} have {} bins in common, too few to tell whether they fit each other", bins.len());
        talk::note(text);
        return Ok(());
    }
    let (views, rows) = (spread([0, wide.shape()[0]], VIEWS), spread(rows, ROWS));
    let both = wide.both(k, &bins, &views, &rows)?;
    let Differences { shift, level, slope } = differences(&both, rows.len(), bins.len());
    let range = format!("bins {}..{}", bins.start, bins.end);
    let mut event = json!({
        "scans": [a, b], "bins": [bins.start, bins.end], "level": level.value, "level_error": level.error,
        "slope": slope.value, "slope_error": slope.error,
    });
    let told = match &shift {
        Found::At(shift) => {
            event["shift"] = shift.value.into();
            event["shift_error"] = shift.error.into();
            format!("{:+.3} +- {:.3} bins from where they lie", shift.value, shift.error)
        }
        Found::Nothing => "too little to tell their places by".into(),
        Found::Unlike => "nothing alike".into(),
    };
    let [percent, error] = [level.value, level.error].map(|level| 100.0 * (1.0 - (-level).exp()));
    let text = format_args!(
        "{a} and {b} both have {range}: {told}; {b} is {percent:+.2} +- {:.2} % darker, its line integrals {:+.2} +- {:.2} % larger",
        error.abs(),
        100.0 * slope.value,
        100.0 * slope.error
    );
    talk::tell("side", event, text);
    match shift {
        Found::At(shift) if shift.value.abs() > SHIFT.max(SURE * shift.error) => {
            let length = side.map_or_else(String::new, |side| format!(", {:+.6} mm", shift.value * side));
            talk::warning(format_args!(
                "{b} fits {a} best {:+.2} +- {:.2} bins{length} from where the table has it, at bin {:.2} of the field in place of {:.2}: that place in the \
                 table mends it",
                shift.value,
                shift.error,
                scans[1].1 + shift.value,
                scans[1].1
            ));
        }
        Found::Unlike => talk::warning(format_args!(
            "{a} and {b} show different things in bins that both have: x grows from each bin to the next; where positions are those of a stage that moves \
             the sample, or the other way, their signs are the opposite"
        )),
        _ => {}
    }
    if level.value.abs() > LEVEL.max(SURE * level.error) {
        talk::warning(format_args!(
            "{b} is {percent:+.1} % darker than {a} where both have {range}, which leaves a ring: flats that were taken beside each scan, as columns flats and \
             darks of the table, make them alike, and so do scans with the same exposure and the beam of their flats"
        ));
    }
    if slope.value.abs() > SLOPE.max(SURE * slope.error) {
        talk::warning(format_args!(
            "line integrals of {b} are {:+.1} % larger than those of {a} in {range}: another energy, light that is scattered, or another sample's height; \
             one volume of them has two scales",
            100.0 * slope.value
        ));
    }
    Ok(())
}

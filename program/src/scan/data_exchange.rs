//! Data Exchange: `/exchange/data`, `data_white`, `data_dark`, `theta`.

use super::{Flats, Scan, half_turn, in_millimetres, in_radians, numbers, text, units};
use crate::frames::{Frames, of_dataset};
use anyhow::{Context, Result};
use hdf5_metno::File;

pub fn read(file: &File) -> Result<Scan> {
    let exchange = file.group("exchange")?;
    let frames = |name: &str| -> Result<Option<Frames>> {
        if !exchange.link_exists(name) {
            return Ok(None);
        }
        Ok(Some(Frames::all(of_dataset(exchange.dataset(name)?)?)))
    };
    let views = frames("data")?.context("there is no exchange/data")?;
    let count = views.which.len();
    let mut notes = Vec::new();
    let angles = match numbers(&exchange, "theta")? {
        Some(theta) => in_radians(theta, units(&exchange, "theta").as_deref())?,
        None => {
            notes.push("angles are half a turn, its end left out, as the format says of files without theta".into());
            half_turn(count)
        }
    };
    let flats = frames("data_white")?.map(|frames| Flats { frames, position: 0 }).into_iter().collect();
    let title = text(&exchange, "title");
    let pixel = pixel(file)?;
    Ok(Scan { format: "Data Exchange", title, views, angles, flats, darks: frames("data_dark")?, pixel, notes })
}

/// Side of a pixel at the sample, where the Advanced Photon Source's files have it; in micrometres unless units say otherwise.
fn pixel(file: &File) -> Result<Option<f64>> {
    let Ok(objective) = file.group("measurement/instrument/detection_system/objective") else { return Ok(None) };
    let Some(length) = numbers(&objective, "resolution")?.and_then(|v| v.first().copied()) else { return Ok(None) };
    let units = units(&objective, "resolution").unwrap_or_default();
    let units = if units.is_empty() { "um" } else { &units };
    Ok(Some(in_millimetres(length, Some(units))?).filter(|pixel| *pixel > 0.0))
}

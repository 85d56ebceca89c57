//! Data Exchange: `/exchange/data`, `data_white`, `data_dark`, `theta`; flats before and after as the Swiss Light Source names them,
//! `data_white_pre` and `data_white_post`.

use super::angles::Angles;
use super::numbers::numbers;
use super::pixel::Pixel;
use super::units::text;
use super::{Flats, Input, Scan, half_turn, length};
use crate::frames::{Frames, Source, joined, of_dataset};
use anyhow::{Context, Result};
use hdf5_metno::{File, Group};
use std::sync::Arc;

/// Frames of a name; nothing where a writer has made the dataset without any.
fn frames(exchange: &Group, name: &str) -> Result<Option<Arc<dyn Source>>> {
    if !exchange.link_exists(name) {
        return Ok(None);
    }
    let dataset = exchange.dataset(name).with_context(|| format!("opening exchange/{name}"))?;
    (dataset.size() > 0).then(|| of_dataset(dataset)).transpose()
}

pub fn read(file: &File, input: &Input) -> Result<Scan> {
    let exchange = file.group("exchange")?;
    let views = frames(&exchange, "data")?.context("there is no exchange/data, or it is empty")?;
    let views = Frames::all(input.projections(views));
    let count = views.which.len();
    let mut notes = Vec::new();
    let angles = match theta(file, &exchange, count) {
        // Others that are given go before them, whatever they are.
        _ if input.angles.is_some() => vec![0.0; count],
        Ok(Some(theta)) => theta.radians(input.angle_unit)?,
        Ok(None) => {
            notes.push("angles are half a turn, its end left out, as the format says of files without theta".into());
            half_turn(count)
        }
        Err(error) => return Err(error),
    };
    let mut flats = Vec::new();
    for (name, position) in [("data_white", 0), ("data_white_pre", 0), ("data_white_post", count)] {
        let frames = frames(&exchange, name)?.map(Frames::all);
        flats.extend(frames.map(|frames| Flats { frames, position }));
    }
    let mut darks = Vec::new();
    for name in ["data_dark", "data_dark_pre", "data_dark_post"] {
        darks.extend(frames(&exchange, name)?);
    }
    let darks = if darks.is_empty() { None } else { Some(Frames::all(joined(darks).context("darks")?)) };
    let title = text(&exchange, "title");
    let pixel = side(file);
    Ok(Scan { format: "Data Exchange", title, views, angles, flats, darks, pixel, kind: None, notes })
}

/// Angles of so many projections: a list, or, as the Advanced Photon Source writes them too, a first one and a step.
fn theta(file: &File, exchange: &Group, count: usize) -> Result<Option<Angles>> {
    if exchange.link_exists("theta") {
        let theta = exchange.dataset("theta").context("opening exchange/theta")?;
        return Angles::of_dataset(&theta).map(Some);
    }
    let Ok(rotation) = file.group("process/acquisition/rotation") else { return Ok(None) };
    let number = |name: &str| -> Result<_> { Ok(numbers(&rotation, name)?.and_then(|values| values.first().copied())) };
    let (Some(first), Some(step)) = (number("rotation_start")?, number("rotation_step")?) else { return Ok(None) };
    Ok(Some(Angles::new((0..count).map(|k| first + k as f64 * step).collect())))
}

/// Side of a pixel at the sample, where the Advanced Photon Source's files have it; in micrometres unless units say otherwise.
fn side(file: &File) -> Pixel {
    match file.group("measurement/instrument/detection_system/objective") {
        Ok(objective) => length(&objective, "resolution", "um"),
        Err(_) => Pixel::Untold,
    }
}

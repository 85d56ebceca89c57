//! Data Exchange: `/exchange/data`, `data_white`, `data_dark`, `theta`.

use super::pixel::Pixel;
use super::units::{in_radians, text, units};
use super::{Flats, Input, Scan, half_turn, length, numbers};
use crate::frames::{Frames, of_dataset};
use anyhow::{Context, Result};
use hdf5_metno::File;

pub fn read(file: &File, input: &Input) -> Result<Scan> {
    let exchange = file.group("exchange")?;
    let frames = |name: &str| -> Result<Option<Frames>> {
        if !exchange.link_exists(name) {
            return Ok(None);
        }
        let dataset = exchange.dataset(name).with_context(|| format!("opening exchange/{name}"))?;
        // As writers leave it that make all datasets, whether there are frames or not.
        if dataset.size() == 0 {
            return Ok(None);
        }
        Ok(Some(Frames::all(of_dataset(dataset)?)))
    };
    let views = frames("data")?.context("there is no exchange/data, or it is empty")?;
    let views = Frames::all(input.projections(views.source));
    let count = views.which.len();
    let mut notes = Vec::new();
    let angles = match numbers(&exchange, "theta") {
        // Others that are given go before them, whatever they are.
        _ if input.angles.is_some() => vec![0.0; count],
        Ok(Some(theta)) => in_radians(theta, units(&exchange, "theta").as_deref())?,
        Ok(None) => {
            notes.push("angles are half a turn, its end left out, as the format says of files without theta".into());
            half_turn(count)
        }
        Err(error) => return Err(error),
    };
    let flats = frames("data_white")?.map(|frames| Flats { frames, position: 0 }).into_iter().collect();
    let title = text(&exchange, "title");
    let pixel = side(file);
    Ok(Scan {
        format: "Data Exchange",
        title,
        views,
        angles,
        flats,
        darks: frames("data_dark")?,
        pixel,
        kind: None,
        notes,
    })
}

/// Side of a pixel at the sample, where the Advanced Photon Source's files have it; in micrometres unless units say otherwise.
fn side(file: &File) -> Pixel {
    match file.group("measurement/instrument/detection_system/objective") {
        Ok(objective) => length(&objective, "resolution", "um"),
        Err(_) => Pixel::Untold,
    }
}

//! A dataset of an HDF5 file.

use super::Opened;
use crate::frames::of_dataset;
use crate::volume::DATASET;
use anyhow::{Context, Result};
use hdf5_metno::types::{VarLenAscii, VarLenUnicode};
use hdf5_metno::{Dataset, File};
use std::path::Path;

pub fn open(path: &Path, data: Option<&str>) -> Result<Opened> {
    let file = File::open(path)?;
    let dataset = file.dataset(data.unwrap_or(DATASET)).with_context(|| match data {
        Some(name) => name.to_string(),
        None => format!("there is no {DATASET}, which volumes of this program have; --data names another dataset"),
    })?;
    let number = |name: &str, none: f64| match dataset.attr(name) {
        Ok(attribute) => attribute.read_scalar::<f64>().with_context(|| format!("the attribute {name}")),
        Err(_) => Ok(none),
    };
    let scale = [number("scale_factor", 1.0)?, number("add_offset", 0.0)?];
    let pixel = pixel(&file, &dataset);
    Ok(Opened { source: of_dataset(dataset)?, pixel, scale: Some(scale), attenuation: data.is_none() })
}

/// Of the places of columns beside it, where these are in millimetres.
fn pixel(file: &File, dataset: &Dataset) -> Option<f64> {
    let name = dataset.name();
    let places = file.dataset(&format!("{}/x", name.rsplit_once('/')?.0)).ok()?;
    let units = places.attr("units").ok()?;
    let text = units.read_scalar::<VarLenUnicode>().map(|text| text.to_string());
    let text = text.or_else(|_| units.read_scalar::<VarLenAscii>().map(|text| text.to_string())).ok()?;
    let columns = *dataset.shape().last()?;
    if text != "mm" || places.shape() != [columns] || columns < 2 {
        return None;
    }
    let places = places.read_raw::<f64>().ok()?;
    let step = (places[columns - 1] - places[0]) / (columns - 1) as f64;
    Some(step).filter(|step| *step > 0.0 && step.is_finite())
}

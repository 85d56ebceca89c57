//! A dataset of an HDF5 file.

use super::Opened;
use crate::frames::of_dataset;
use crate::volume::{DATASET, Places};
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
    let places = places(&file, &dataset);
    let opened = Opened::new(of_dataset(dataset)?, places, None);
    Ok(Opened { scale: Some(scale), attenuation: data.is_none(), ..opened })
}

/// As arrays beside it tell them, in millimetres or in pixels.
fn places(file: &File, dataset: &Dataset) -> Option<Places> {
    let name = dataset.name();
    let (group, _) = name.rsplit_once('/')?;
    let axes = [("z", 0), ("y", 1), ("x", 2)].map(|(name, direction)| {
        let axis = file.dataset(&format!("{group}/{name}")).ok()?;
        line(&axis, *dataset.shape().get(direction)?)
    });
    let [z, y, x] = axes.map(|axis| axis.filter(|axis| axis.unit == "mm" || axis.unit == "pixel"));
    let axes = [z?, y?, x?];
    // Where there is one slice nobody tells how thick it is.
    let sides = axes.each_ref().map(|axis| axis.step);
    let side = sides[2].or(sides[1]).or(sides[0])?;
    let step = sides.map(|step| step.unwrap_or(side));
    let known = axes[0].unit == "mm";
    let alike = axes.iter().all(|axis| axis.unit == axes[0].unit);
    alike.then(|| Places { step, first: [0, 1, 2].map(|k| axes[k].first / step[k]), known })
}

/// Places along one direction.
struct Line {
    unit: String,
    first: f64,
    /// From one to the next, where there are two.
    step: Option<f64>,
}

fn line(axis: &Dataset, length: usize) -> Option<Line> {
    let units = axis.attr("units").ok()?;
    let unit = units.read_scalar::<VarLenUnicode>().map(|text| text.to_string());
    let unit = unit.or_else(|_| units.read_scalar::<VarLenAscii>().map(|text| text.to_string())).ok()?;
    if axis.shape() != [length] {
        return None;
    }
    let places = axis.read_raw::<f64>().ok()?;
    let (first, last) = (*places.first()?, *places.last()?);
    let step = (length > 1).then(|| (last - first) / (length - 1) as f64);
    let sound = first.is_finite() && step.is_none_or(|step| step > 0.0 && step.is_finite());
    sound.then_some(Line { unit, first, step })
}

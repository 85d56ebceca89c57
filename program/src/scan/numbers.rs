//! Lists of numbers in HDF5 files, and their units.

use super::units::first;
use crate::frames::sound;
use anyhow::{Context, Result, ensure};
use hdf5_metno::{Dataset, Group};

/// Numbers of a list, at most: one a frame.
const MOST: usize = 1 << 24;

/// All of a dataset.
pub fn all(dataset: &Dataset) -> Result<Vec<f64>> {
    let count = dataset.get_shape()?.into_iter().try_fold(1usize, |n, side| n.checked_mul(side));
    ensure!(count.is_some_and(|count| count <= MOST), "it has more than {MOST} values");
    ensure!(dataset.dtype()?.conv_to::<f64>().is_some(), "its values are no numbers");
    sound(dataset)?;
    Ok(dataset.read_raw::<f64>()?)
}

/// A list of numbers, or nothing where there is no such dataset.
pub fn numbers(group: &Group, name: &str) -> Result<Option<Vec<f64>>> {
    if !group.link_exists(name) {
        return Ok(None);
    }
    let read = || all(&group.dataset(name)?);
    read().map(Some).with_context(|| format!("reading {}/{name}", group.name()))
}

/// The attribute `units` of a dataset; nothing where it is empty.
pub fn units(dataset: &Dataset) -> Option<String> {
    first(&*dataset.attr("units").ok()?).filter(|units| !units.is_empty())
}

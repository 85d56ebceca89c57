//! Datasets of a frame each, as one stack.

use super::element::Element;
use super::files::{self, Files};
use super::images::{Images, Place};
use super::{Source, complete, joined, of_dataset};
use anyhow::{Context, Result};
use hdf5_metno::Dataset;
use std::path::PathBuf;
use std::sync::Arc;

/// Frames of some datasets, each of one image, (1, rows, bins) or (rows, bins).
pub fn of_datasets(datasets: Vec<Dataset>) -> Result<Arc<dyn Source>> {
    if let Some(images) = in_place(&datasets)? {
        return Ok(Arc::new(images));
    }
    // Each of them opens its file.
    files::as_many_as_can_be();
    joined(datasets.into_iter().map(of_dataset).collect::<Result<_>>()?)
}

/// Where they lie, if all of them lie in one file as they are.
fn in_place(datasets: &[Dataset]) -> Result<Option<Images>> {
    let first = datasets.first().context("there are no frames")?;
    let side = |dataset: &Dataset| -> Option<[usize; 2]> {
        match dataset.shape()[..] {
            [1, rows, bins] | [rows, bins] => Some([rows, bins]),
            _ => None,
        }
    };
    let about = |dataset: &Dataset| Some((side(dataset)?, Element::of(&dataset.dtype().ok()?)?, dataset.filename()));
    let Some(same) = about(first) else { return Ok(None) };
    let mut places = Vec::new();
    for dataset in datasets {
        let (Some(offset), true) = (dataset.offset(), about(dataset).as_ref() == Some(&same)) else { return Ok(None) };
        complete(dataset)?;
        places.push(Place { file: 0, piece: same.0, offsets: vec![offset] });
    }
    let (side, element, path) = same;
    Images::new("datasets", Files::new([PathBuf::from(path)]), side, element, places).map(Some)
}

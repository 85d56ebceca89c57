//! Frames in files: read by rows, on all cores, each part of a file once.

mod contiguous;
mod library;

use anyhow::{Context, Result, bail};
use isocenter::array::DType;
use std::ops::Range;
use std::sync::Arc;

/// A stack of images, (frames, rows, bins), in a file.
pub trait Source: Send + Sync {
    /// Frames, rows and bins.
    fn shape(&self) -> [usize; 3];

    /// What `read` gives.
    fn dtype(&self) -> DType;

    /// Fills `to`, (frames, rows, bins), with some rows of some frames.
    fn read(&self, frames: &[usize], rows: Range<usize>, to: &mut [u8]) -> Result<()>;

    /// How it is stored, in words.
    fn storage(&self) -> String;
}

/// Some frames of a source, in their order.
#[derive(Clone)]
pub struct Frames {
    pub source: Arc<dyn Source>,
    pub which: Vec<usize>,
}

impl Frames {
    /// All of them.
    pub fn all(source: Arc<dyn Source>) -> Self {
        let which = (0..source.shape()[0]).collect();
        Self { source, which }
    }

    /// Some of the detector's rows of them, (frames, rows, bins).
    pub fn rows(&self, rows: &[usize]) -> Result<Vec<u8>> {
        let [_, _, bins] = self.source.shape();
        let row = bins * self.source.dtype().size();
        let mut values = vec![0; self.which.len() * rows.len() * row];
        let mut done = 0;
        // Those that follow each other at once.
        for run in rows.chunk_by(|a, b| a + 1 == *b) {
            let range = run[0]..run[0] + run.len();
            if run.len() == rows.len() {
                self.source.read(&self.which, range, &mut values)?;
                break;
            }
            let mut part = vec![0; self.which.len() * run.len() * row];
            self.source.read(&self.which, range, &mut part)?;
            let frames = values.chunks_exact_mut(rows.len() * row).zip(part.chunks_exact(run.len() * row));
            frames.for_each(|(to, from)| to[done * row..][..from.len()].copy_from_slice(from));
            done += run.len();
        }
        Ok(values)
    }
}

/// A dataset of an HDF5 file, by the quickest way to its values.
pub fn of_dataset(dataset: hdf5_metno::Dataset) -> Result<Arc<dyn Source>> {
    let name = dataset.name();
    let shape = match dataset.shape().as_slice() {
        &[frames, rows, bins] => [frames, rows, bins],
        &[rows, bins] => [1, rows, bins],
        other => bail!("{name} has {} dimensions; it must have 3: frames, rows, bins", other.len()),
    };
    if let Some(source) = contiguous::Contiguous::open(&dataset, shape).with_context(|| format!("reading {name}"))? {
        return Ok(Arc::new(source));
    }
    Ok(Arc::new(library::Library::new(dataset, shape)?))
}

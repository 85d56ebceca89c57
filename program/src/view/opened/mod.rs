//! A finished volume, of whatever kind, of which parts are read.

mod hdf5;
mod tiff;
mod vol;

use crate::frames::Source;
use crate::volume::{Format, Places, open_zarr, unfinished};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::sync::Arc;

/// What is read, and what it means.
pub struct Opened {
    /// (slices, rows, columns).
    pub source: Arc<dyn Source>,
    pub places: Places,
    /// They are told; else the volume lies about the axis.
    pub placed: bool,
    /// What numbers mean, slope and offset; nothing where that is not told.
    pub scale: Option<[f64; 2]>,
    /// They are attenuation a unit of length, as this program makes it.
    pub attenuation: bool,
}

impl Opened {
    /// With places, or with the sides of voxels along slices and within them alone, in millimetres, if these are told.
    fn new(source: Arc<dyn Source>, places: Option<Places>, sides: Option<[f64; 2]>) -> Self {
        let middle = Places::about_the_middle(source.shape(), sides);
        Self { source, places: places.unwrap_or(middle), placed: places.is_some(), scale: None, attenuation: false }
    }

    /// By what there is of this name. In an HDF5 file `data` names a dataset, where it is another than the one that is written here.
    pub fn open(path: &Path, data: Option<&str>) -> Result<Self> {
        let shown = || path.display().to_string();
        if !path.exists() {
            if unfinished(path).is_ok_and(|unfinished| unfinished.exists()) {
                bail!(
                    "{0} is not finished: {0}.unfinished is there, of a run that goes on or has ended early",
                    shown()
                );
            }
            bail!("{} is not there", shown());
        }
        let format = found(path);
        ensure!(
            data.is_none() || format == Format::Hdf5,
            "--data names a dataset of an HDF5 file, and {} is none",
            shown()
        );
        let opened = match format {
            Format::Hdf5 => hdf5::open(path, data),
            Format::Tiff => tiff::open(path),
            Format::Vol => vol::open(path),
            Format::Zarr => open_zarr(path).map(|(reader, told)| Self {
                scale: Some(told.scale),
                attenuation: told.own,
                ..Self::new(Arc::new(reader), told.places, None)
            }),
        };
        let opened = opened.with_context(shown)?;
        let shape = opened.source.shape();
        ensure!(shape.iter().all(|&side| side > 0), "{} has {shape:?} slices, rows and columns", shown());
        Ok(opened)
    }
}

/// The kind of what has a name.
fn found(path: &Path) -> Format {
    if path.is_dir() {
        return if path.join("zarr.json").exists() { Format::Zarr } else { Format::Tiff };
    }
    Format::of(path)
}

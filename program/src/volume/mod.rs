//! Volumes in files.

pub mod behind;
mod contiguous;
mod direct;
mod disk;
mod folder;
mod format;
mod hdf5;
pub mod journal;
mod large;
mod places;
mod planes;
mod range;
mod reserve;
mod tiff;
mod vol;
mod zarr;

pub use format::{Compression, Format};

pub use contiguous::Contiguous;
pub use direct::PAGE;
pub use hdf5::PATH as DATASET;
pub use places::Places;
pub use planes::{Sliced, Through};
pub use zarr::reader::open as open_zarr;

use crate::names;
use anyhow::{Context, Result, bail};
use disk::{parent, room, sync_folder};
use folder::replaceable;
use format::one_file;
use isocenter::array::DType;
use std::path::{Path, PathBuf};

/// A volume that is written: whole slices, in any order, from any thread and process. Until it is finished it has another name.
pub trait Volume: Sync {
    /// Writes slices, from the one of this number on.
    fn write(&self, first: usize, slices: &[u8]) -> Result<()>;

    /// Whether writing may wait for a disk.
    fn waits(&self) -> bool {
        true
    }

    /// Where in a page of memory a slice should begin, so that it is written without another copy.
    fn inside_page(&self, _slice: usize) -> usize {
        0
    }

    /// Has what was written on disk.
    fn sync(&self) -> Result<()>;

    /// Reads a slice that was written.
    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()>;

    /// Gives the volume its name.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// What is written.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The volume's own name.
    pub path: &'a Path,
    pub format: Format,
    /// Of Zarr.
    pub compression: Compression,
    /// Slices, rows, columns.
    pub shape: [usize; 3],
    pub dtype: DType,
    /// Slices that are made and noted together. What is written of several slices at once never crosses from one block into the next.
    pub block: usize,
    pub about: About<'a>,
}

/// What stands beside the values.
#[derive(Clone, Copy)]
pub struct About<'a> {
    pub title: Option<&'a str>,
    /// Where voxels are.
    pub places: Places,
    /// Detector row of the first slice.
    pub row: usize,
    /// What integers mean: slope and offset.
    pub scale: [f64; 2],
    /// The plan.
    pub plan: &'a str,
    /// What slices are called, one a slice, or none: pages of one TIFF file have it for ImageJ.
    pub labels: &'a [String],
}

impl Wanted<'_> {
    /// Begins the volume anew, with room for all of it.
    pub fn create(&self) -> Result<Box<dyn Volume>> {
        let unfinished = unfinished(self.path)?;
        self.place()?;
        room(parent(self.path), if self.format == Format::Zarr { 0 } else { self.bytes() })?;
        let made = self.made(&unfinished).with_context(|| format!("making {}", unfinished.display()))?;
        sync_folder(parent(&unfinished))?;
        Ok(made)
    }

    fn made(&self, unfinished: &Path) -> Result<Box<dyn Volume>> {
        Ok(match self.format {
            Format::Hdf5 => Box::new(hdf5::create(unfinished, self)?),
            Format::Vol => Box::new(vol::create(unfinished, self)?),
            Format::Tiff if one_file(self.path) => Box::new(tiff::pages::create(unfinished, self)?),
            Format::Tiff => Box::new(tiff::slices::create(unfinished, self)?),
            Format::Zarr => Box::new(zarr::create(unfinished, self)?),
        })
    }

    /// Goes on with a volume that an earlier run, or another process, has begun.
    pub fn resume(&self) -> Result<Box<dyn Volume>> {
        let unfinished = unfinished(self.path)?;
        if !unfinished.exists() {
            bail!("{0} is gone, of which {0}.journal tells: remove that to begin again", unfinished.display());
        }
        self.place()?;
        self.found(&unfinished).with_context(|| format!("reading {}", unfinished.display()))
    }

    fn found(&self, unfinished: &Path) -> Result<Box<dyn Volume>> {
        Ok(match self.format {
            Format::Hdf5 => Box::new(hdf5::resume(unfinished, self)?),
            Format::Vol => Box::new(vol::resume(unfinished, self)?),
            Format::Tiff if one_file(self.path) => Box::new(tiff::pages::resume(unfinished, self)?),
            Format::Tiff => Box::new(tiff::slices::resume(unfinished, self)?),
            Format::Zarr => Box::new(zarr::resume(unfinished, self)?),
        })
    }

    /// That the volume can have its name: what has it is replaced if it is of the same kind, and a folder only if it holds a volume.
    fn place(&self) -> Result<()> {
        free(self.path, self.format)?;
        match self.format {
            Format::Tiff if !one_file(self.path) => replaceable(self.path, tiff::slices::ours),
            Format::Zarr => replaceable(self.path, zarr::ours),
            _ => Ok(()),
        }
    }

    /// Bytes of a slice.
    fn slice(&self) -> usize {
        self.shape[1] * self.shape[2] * self.dtype.size()
    }

    /// Bytes of all values.
    fn bytes(&self) -> u64 {
        self.shape[0] as u64 * self.slice() as u64
    }
}

/// What a volume is called until it is finished.
pub fn unfinished(path: &Path) -> Result<PathBuf> {
    path.file_name().context("the volume's path has no file name")?;
    Ok(disk::ending(path, ".unfinished"))
}

/// That a volume and what comes beside it can have their names: nothing is replaced but regular files, and folders that hold a volume.
pub fn free(path: &Path, format: Format) -> Result<()> {
    // Without a slash at its end, behind which a link would be looked at as the folder that it leads to.
    let (name, unfinished) = (disk::ending(path, ""), unfinished(path)?);
    let folder = format == Format::Zarr || format == Format::Tiff && !one_file(path);
    for path in [&name, &unfinished] {
        if folder { names::folder(path)? } else { names::file(path)? }
    }
    let beside = ["toml", "html"].map(|extension| path.with_extension(extension));
    if let Some(same) = beside.iter().find(|beside| **beside == name) {
        bail!("{}: the plan and the report are written beside the volume, which needs another name", same.display());
    }
    let more = [disk::ending(path, ".info"), range::beside(&unfinished)];
    let more = more.into_iter().filter(|_| format == Format::Vol);
    let own = [unfinished.with_added_extension("journal"), planes::beside(&unfinished)];
    beside.into_iter().chain(more).chain(own).try_for_each(|path| names::file(&path))
}

/// Removes what was begun; what cannot be removed is written over by the next run.
pub fn discard(path: &Path) {
    if let Ok(path) = unfinished(path) {
        let _ = [range::beside(&path), planes::beside(&path)].map(std::fs::remove_file);
        let _ = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}

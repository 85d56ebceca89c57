//! Volumes in files.

pub mod behind;
mod contiguous;
mod hdf5;
pub mod journal;
mod reserve;

pub use contiguous::Contiguous;

use anyhow::{Context, Result, bail};
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

    /// Has what was written on disk.
    fn sync(&self) -> Result<()>;

    /// Reads a slice that was written.
    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()>;

    /// Notes what integers mean, slope times value plus offset, and gives the volume its name.
    fn finish(self: Box<Self>, slope: f64, offset: f64) -> Result<()>;
}

/// What is written.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The volume's own name.
    pub path: &'a Path,
    /// Slices, rows, columns.
    pub shape: [usize; 3],
    pub dtype: DType,
    pub about: About<'a>,
}

/// What stands beside the values.
#[derive(Clone, Copy)]
pub struct About<'a> {
    pub title: Option<&'a str>,
    /// Side of a pixel in millimetres.
    pub pixel: Option<f64>,
    /// The plan.
    pub plan: &'a str,
}

impl Wanted<'_> {
    /// Begins the volume anew, with room for all of it.
    pub fn create(&self) -> Result<Box<dyn Volume>> {
        let unfinished = unfinished(self.path)?;
        let made = hdf5::create(&unfinished, self);
        Ok(Box::new(made.with_context(|| format!("making {}", unfinished.display()))?))
    }

    /// Goes on with a volume that an earlier run, or another process, has begun.
    pub fn resume(&self) -> Result<Box<dyn Volume>> {
        let unfinished = unfinished(self.path)?;
        if !unfinished.exists() {
            bail!("{0} is gone, of which {0}.journal tells: remove that to begin again", unfinished.display());
        }
        let found = hdf5::resume(&unfinished, self);
        Ok(Box::new(found.with_context(|| format!("reading {}", unfinished.display()))?))
    }

    /// Bytes of a slice.
    fn slice(&self) -> usize {
        self.shape[1] * self.shape[2] * self.dtype.size()
    }
}

/// What a volume is called until it is finished.
pub fn unfinished(path: &Path) -> Result<PathBuf> {
    let mut name = path.file_name().context("the volume's path has no file name")?.to_owned();
    name.push(".unfinished");
    Ok(path.with_file_name(name))
}

/// Removes what was begun; what cannot be removed is written over by the next run.
pub fn discard(path: &Path) {
    if let Ok(path) = unfinished(path) {
        let _ = std::fs::remove_file(path);
    }
}

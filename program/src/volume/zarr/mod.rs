//! OME-Zarr 0.5 (Zarr 3): a folder of arrays, each of half the sides of the one before, by means of 2 x 2 x 2 values.
//!
//! An array's chunks lie in shards of one chunk's slices. They are made where these slices are whole, and with them those of the smaller
//! arrays: slices of a block make whole chunks of each of them, so that nothing is read again, and processes never share a chunk.
//!
//! Shards are written here, and not by the crate `zarrs`, for a chunk is compressed and written once, by a thread of its own, and what that
//! takes is small beside a general library: the chunks, their places, and a checksum.

mod buffers;
mod halves;
mod level;
mod metadata;
pub mod reader;
mod shard;

use super::folder::Folder;
use super::{Volume, Wanted};
use anyhow::{Context, Result, bail};
use buffers::Buffers;
use level::Level;
use metadata::METADATA;
use std::path::{Path, PathBuf};

pub struct Zarr {
    folder: Folder,
    path: PathBuf,
    levels: Vec<Level>,
    halves_free: Buffers,
}

/// Makes a folder.
pub fn create(unfinished: &Path, wanted: &Wanted) -> Result<Zarr> {
    let zarr = at(Folder::create(unfinished)?, wanted);
    for (name, text) in metadata::files(wanted, &zarr.levels)? {
        zarr.folder.write(&name, &[text.as_bytes()])?;
    }
    // Others may be the ones that write the rest.
    zarr.folder.sync()?;
    Ok(zarr)
}

/// Opens one.
pub fn resume(unfinished: &Path, wanted: &Wanted) -> Result<Zarr> {
    let zarr = at(Folder::open(unfinished), wanted);
    for (name, text) in metadata::files(wanted, &zarr.levels)? {
        let path = zarr.folder.path(&name);
        if std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))? != text {
            bail!("it holds another volume than its journal says");
        }
    }
    Ok(zarr)
}

fn at(folder: Folder, wanted: &Wanted) -> Zarr {
    Zarr { folder, path: wanted.path.to_owned(), levels: level::all(wanted), halves_free: Buffers::default() }
}

/// Whether files and folders of this name are in such folders.
pub fn ours(name: &str) -> bool {
    name == METADATA || name.bytes().all(|b| b.is_ascii_digit())
}

impl Zarr {
    /// Adds slices of a level, and of those below it.
    fn add(&self, k: usize, first: usize, slices: &[u8]) -> Result<()> {
        let level = &self.levels[k];
        level.layers(first, slices, |layer, values| {
            level.write(layer, values, &self.folder)?;
            if k + 1 == self.levels.len() {
                return Ok(());
            }
            let half = halves::of(values, level.rows(), level.dtype, &self.halves_free)?;
            self.add(k + 1, layer * level.depth() / 2, &half)?;
            self.halves_free.give_back(half);
            Ok(())
        })
    }
}

impl Volume for Zarr {
    fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        self.add(0, first, slices)
    }

    fn sync(&self) -> Result<()> {
        self.folder.sync()
    }

    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        self.levels[0].read(slice, &self.folder.path(""), to)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        if let Some(slice) = self.levels.iter().find_map(Level::waiting) {
            bail!("{}: not all slices about number {slice} were written", self.path.display());
        }
        self.folder.finish(&self.path, ours)
    }
}

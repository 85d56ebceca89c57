//! Slices that lie in a file one after the other.

use super::disk::{in_memory, reserve};
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes that a thread writes at a time.
const PART: usize = 4 << 20;

/// The part of a file that holds a volume's values.
pub struct Contiguous {
    file: File,
    path: PathBuf,
    /// Of the first value.
    offset: u64,
    /// Bytes of a slice.
    slice: usize,
    /// The file is in memory, where one thread at a time may write to a file, but any number to pages of it.
    mapped: bool,
}

impl Contiguous {
    /// A file that is as long as the volume needs.
    pub fn open(path: &Path, offset: u64, slice: usize) -> Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let mapped = in_memory(&file);
        Ok(Self { file, path: path.to_owned(), offset, slice, mapped })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of a slice.
    pub fn slice(&self) -> usize {
        self.slice
    }

    /// Has room for so many slices set aside.
    pub fn reserve(&self, slices: usize) -> Result<()> {
        reserve(&self.file, &self.path, self.offset + slices as u64 * self.slice as u64)
    }

    /// Writes slices, from the one of this number on, on all cores.
    pub fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        let start = self.offset + first as u64 * self.slice as u64;
        let write = |(k, part): (usize, &[u8])| {
            let at = start + (k * PART) as u64;
            if self.mapped && map(&self.file, at, part) { Ok(()) } else { self.file.write_all_at(part, at) }
        };
        let written = slices.par_chunks(PART).enumerate().try_for_each(write);
        written.with_context(|| format!("writing {}", self.path.display()))
    }

    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().with_context(|| format!("writing {}", self.path.display()))
    }

    pub fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        let at = self.offset + slice as u64 * self.slice as u64;
        self.file.read_exact_at(to, at).with_context(|| format!("reading {}", self.path.display()))
    }
}

/// Writes to pages of a file; says no where that cannot be done, as where there is no room for them.
#[cfg(target_os = "linux")]
fn map(file: &File, at: u64, part: &[u8]) -> bool {
    use memmap2::{Advice, MmapOptions};
    // SAFETY: the file is this run's own; nobody shortens it.
    let Ok(mut pages) = (unsafe { MmapOptions::new().offset(at).len(part.len()).map_mut(file) }) else { return false };
    // All pages at once, and an error in place of a signal where there are none left.
    if pages.advise(Advice::PopulateWrite).is_err() {
        return false;
    }
    pages.copy_from_slice(part);
    true
}

#[cfg(not(target_os = "linux"))]
fn map(_: &File, _: u64, _: &[u8]) -> bool {
    false
}

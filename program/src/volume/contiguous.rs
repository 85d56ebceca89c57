//! Slices that lie in a file one after the other.

use super::reserve::Reserve;
use crate::memory::in_memory;
use anyhow::{Context, Result};
use memmap2::MmapOptions;
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
    /// Of a file in memory.
    room: Option<Reserve>,
}

impl Contiguous {
    /// A file that is as long as the volume needs.
    pub fn open(path: &Path, offset: u64, slice: usize) -> Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let bytes = file.metadata()?.len();
        let room = in_memory(&file).then(|| Reserve::begin(&file, bytes)).transpose()?;
        Ok(Self { file, path: path.to_owned(), offset, slice, room })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes slices, from the one of this number on, on all cores.
    pub fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        let start = self.offset + first as u64 * self.slice as u64;
        let paged = self.room.as_ref().is_some_and(|room| room.until(start + slices.len() as u64));
        let write = |(k, part): (usize, &[u8])| {
            let at = start + (k * PART) as u64;
            if paged && map(&self.file, at, part) { Ok(()) } else { self.file.write_all_at(part, at) }
        };
        let written = slices.par_chunks(PART).enumerate().try_for_each(write);
        written.with_context(|| format!("writing {}", self.path.display()))
    }

    /// Whether writing may wait for a disk.
    pub fn waits(&self) -> bool {
        self.room.is_none()
    }

    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().with_context(|| format!("writing {}", self.path.display()))
    }

    pub fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        let at = self.offset + slice as u64 * self.slice as u64;
        self.file.read_exact_at(to, at).with_context(|| format!("reading {}", self.path.display()))
    }
}

/// Writes to pages that a file has; says no where that cannot be done.
fn map(file: &File, at: u64, part: &[u8]) -> bool {
    // SAFETY: the file is this run's own; nobody shortens it.
    let Ok(mut pages) = (unsafe { MmapOptions::new().offset(at).len(part.len()).map_mut(file) }) else { return false };
    pages.copy_from_slice(part);
    true
}

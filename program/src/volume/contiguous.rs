//! Slices that lie in a file one after the other.

use super::direct::{Direct, PAGE, pages};
use super::disk::reserve;
use super::reserve::{Reserve, Room};
use crate::disk::in_memory;
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
    /// Of a file on a disk.
    direct: Option<Direct>,
}

impl Contiguous {
    /// A file with room for so many slices, which is set aside.
    pub fn open(path: &Path, offset: u64, slice: usize, slices: usize) -> Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        let bytes = offset + slices as u64 * slice as u64;
        reserve(&file, path, bytes)?;
        let room = in_memory(&file).then(|| Reserve::begin(&file, bytes)).transpose()?;
        let direct = if room.is_none() { Direct::open(path) } else { None };
        Ok(Self { file, path: path.to_owned(), offset, slice, room, direct })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of a slice.
    pub fn slice(&self) -> usize {
        self.slice
    }

    /// Where a slice begins.
    fn place(&self, slice: usize) -> u64 {
        self.offset + slice as u64 * self.slice as u64
    }

    /// Where in a page of memory a slice should begin, so that it is written without another copy.
    pub fn inside_page(&self, slice: usize) -> usize {
        (self.place(slice) % PAGE as u64) as usize
    }

    /// Writes slices, from the one of this number on: on all cores, or without a copy.
    pub fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        let start = self.place(first);
        if let (Some(direct), Some(pages)) = (&self.direct, pages(slices, start)) {
            let at = |byte: usize| start + byte as u64;
            let written = self
                .file
                .write_all_at(&slices[..pages.start], start)
                .and_then(|()| direct.write(&slices[pages.clone()], at(pages.start)))
                .and_then(|()| self.file.write_all_at(&slices[pages.end..], at(pages.end)));
            return written.with_context(|| format!("writing {}", self.path.display()));
        }
        let room = self.room.as_ref().map_or(Room::No, |room| room.until(start + slices.len() as u64));
        let write = |(k, part): (usize, &[u8])| {
            let at = start + (k * PART) as u64;
            match &room {
                // SAFETY: the file is this run's own, and these are slices of this call.
                Room::Mapped(mapped) => unsafe { mapped.write(at, part) },
                Room::Pages if map(&self.file, at, part) => {}
                _ => return self.file.write_all_at(part, at),
            }
            Ok(())
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
        self.file.read_exact_at(to, self.place(slice)).with_context(|| format!("reading {}", self.path.display()))
    }
}

/// Writes to pages that a file has; says no where that cannot be done.
fn map(file: &File, at: u64, part: &[u8]) -> bool {
    // SAFETY: the file is this run's own; nobody shortens it.
    let Ok(mut pages) = (unsafe { MmapOptions::new().offset(at).len(part.len()).map_mut(file) }) else { return false };
    pages.copy_from_slice(part);
    true
}

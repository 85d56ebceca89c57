//! A folder of one file a slice, numbered by detector rows: `NAME/NAME_01000.tif`.

use super::super::folder::Folder;
use super::super::{Volume, Wanted};
use super::head::Head;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

pub struct Slices {
    folder: Folder,
    path: PathBuf,
    /// What stands in front of the values of each file.
    head: Vec<u8>,
    slice: usize,
    row: usize,
    digits: usize,
}

/// Digits of numbers, at least.
const DIGITS: usize = 5;

/// Makes a folder.
pub fn create(unfinished: &Path, wanted: &Wanted) -> Result<Slices> {
    Ok(at(Folder::create(unfinished)?, wanted))
}

/// Opens one.
pub fn resume(unfinished: &Path, wanted: &Wanted) -> Result<Slices> {
    if !unfinished.is_dir() {
        bail!("it is no folder");
    }
    Ok(at(Folder::open(unfinished), wanted))
}

fn at(folder: Folder, wanted: &Wanted) -> Slices {
    let row = wanted.about.row;
    let digits = (row + wanted.shape[0]).to_string().len().max(DIGITS);
    let head = Head::new(wanted, 1).bytes(wanted);
    Slices { folder, path: wanted.path.to_owned(), head, slice: wanted.slice(), row, digits }
}

/// Whether files of this name are in such folders.
pub fn ours(name: &str) -> bool {
    let number = name.strip_suffix(".tif").and_then(|stem| stem.rsplit_once('_'));
    number.is_some_and(|(_, digits)| digits.len() >= DIGITS && digits.bytes().all(|b| b.is_ascii_digit()))
}

impl Slices {
    fn name(&self, slice: usize) -> String {
        let stem = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{stem}_{:0digits$}.tif", self.row + slice, digits = self.digits)
    }
}

impl Volume for Slices {
    fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        let write = |(k, slice): (usize, &[u8])| self.folder.write(&self.name(first + k), &[&self.head, slice]);
        slices.par_chunks(self.slice).enumerate().try_for_each(write)
    }

    fn waits(&self) -> bool {
        self.folder.waits()
    }

    fn sync(&self) -> Result<()> {
        self.folder.sync()
    }

    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        let path = self.folder.path(&self.name(slice));
        let read = File::open(&path).and_then(|file| file.read_exact_at(to, self.head.len() as u64));
        read.with_context(|| format!("reading {}", path.display()))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.folder.finish(&self.path, ours)
    }
}

//! One file, a page a slice.

use super::super::contiguous::Contiguous;
use super::super::disk::rename;
use super::super::{Volume, Wanted};
use super::head::Head;
use anyhow::{Result, bail};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

pub struct Pages {
    values: Contiguous,
    path: PathBuf,
}

/// Makes a file.
pub fn create(unfinished: &Path, wanted: &Wanted) -> Result<Pages> {
    let head = head(wanted);
    File::create(unfinished)?.write_all(&head)?;
    at(unfinished, wanted, head.len())
}

/// Opens one.
pub fn resume(unfinished: &Path, wanted: &Wanted) -> Result<Pages> {
    let head = head(wanted);
    let mut there = Vec::new();
    File::open(unfinished)?.take(head.len() as u64).read_to_end(&mut there)?;
    if there != head {
        bail!("it holds another volume than its journal says");
    }
    at(unfinished, wanted, head.len())
}

fn head(wanted: &Wanted) -> Vec<u8> {
    Head::new(wanted, wanted.shape[0]).bytes(wanted)
}

fn at(unfinished: &Path, wanted: &Wanted, head: usize) -> Result<Pages> {
    let values = Contiguous::open(unfinished, head as u64, wanted.slice(), wanted.shape[0])?;
    Ok(Pages { values, path: wanted.path.to_owned() })
}

impl Volume for Pages {
    fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        self.values.write(first, slices)
    }

    fn waits(&self) -> bool {
        self.values.waits()
    }

    fn inside_page(&self, slice: usize) -> usize {
        self.values.inside_page(slice)
    }

    fn sync(&self) -> Result<()> {
        self.values.sync()
    }

    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        self.values.read(slice, to)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.values.sync()?;
        rename(self.values.path(), &self.path)
    }
}

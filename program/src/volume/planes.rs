//! The middle line and the middle column of each slice, kept in a file beside a volume that is not finished, so that runs and processes can add to
//! it: for the report, which shows slices along other planes without another look at all of the volume.

use super::disk::ending;
use super::{Volume, Wanted};
use crate::names;
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A volume that keeps them while it is written.
pub struct Sliced {
    volume: Box<dyn Volume>,
    planes: Planes,
}

/// Two planes through the middle of a volume, as numbers of its type.
pub struct Through {
    /// (slices, columns), of the middle line.
    pub line: Vec<u8>,
    /// (slices, lines), of the middle column.
    pub column: Vec<u8>,
    /// Whether each slice is there.
    pub there: Vec<bool>,
}

struct Planes {
    file: File,
    path: PathBuf,
    shape: [usize; 3],
    /// Bytes of a number.
    size: usize,
}

/// Before the numbers of a slice that is there.
const THERE: u8 = 1;

/// Where they are kept.
pub fn beside(unfinished: &Path) -> PathBuf {
    ending(unfinished, ".planes")
}

impl Sliced {
    /// A volume that begins anew.
    pub fn create(wanted: &Wanted) -> Result<Self> {
        let volume = wanted.create()?;
        Ok(Self { volume, planes: Planes::open(wanted, true)? })
    }

    /// One that goes on.
    pub fn resume(wanted: &Wanted) -> Result<Self> {
        let volume = wanted.resume()?;
        Ok(Self { volume, planes: Planes::open(wanted, false)? })
    }

    /// What all runs and processes have added, and is on disk.
    pub fn through(&self) -> Result<Through> {
        self.planes.read()
    }
}

impl Volume for Sliced {
    fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        self.planes.add(first, slices)?;
        self.volume.write(first, slices)
    }

    fn waits(&self) -> bool {
        self.volume.waits()
    }

    fn inside_page(&self, slice: usize) -> usize {
        self.volume.inside_page(slice)
    }

    fn sync(&self) -> Result<()> {
        self.planes.file.sync_data().with_context(|| self.planes.writing())?;
        self.volume.sync()
    }

    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        self.volume.read(slice, to)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { volume, planes } = *self;
        volume.finish()?;
        std::fs::remove_file(&planes.path).with_context(|| format!("removing {}", planes.path.display()))
    }
}

impl Planes {
    fn open(wanted: &Wanted, anew: bool) -> Result<Self> {
        let path = beside(&super::unfinished(wanted.path)?);
        names::file(&path)?;
        let (shape, size) = (wanted.shape, wanted.dtype.size());
        let file = File::options().read(true).write(true).create(true).truncate(anew).open(&path);
        let file = file.with_context(|| format!("making {}", path.display()))?;
        let planes = Self { file, path, shape, size };
        // One that was lost has holes, which read as slices that are not there.
        planes.file.set_len((shape[0] * planes.each()) as u64).with_context(|| planes.writing())?;
        Ok(planes)
    }

    fn writing(&self) -> String {
        format!("writing {}", self.path.display())
    }

    /// Bytes of what is kept of a slice.
    fn each(&self) -> usize {
        let [_, lines, columns] = self.shape;
        1 + (columns + lines) * self.size
    }

    /// Looks at slices, from the one of this number on.
    fn add(&self, first: usize, slices: &[u8]) -> Result<()> {
        let ([_, lines, columns], size) = (self.shape, self.size);
        let line = columns * size;
        let of = |slice: &[u8]| {
            let mut kept = Vec::with_capacity(self.each());
            kept.push(THERE);
            kept.extend(&slice[lines / 2 * line..][..line]);
            slice.chunks_exact(line).for_each(|line| kept.extend(&line[columns / 2 * size..][..size]));
            kept
        };
        let kept: Vec<_> = slices.par_chunks(lines * line).map(of).collect();
        self.file.write_all_at(&kept.concat(), (first * self.each()) as u64).with_context(|| self.writing())
    }

    fn read(&self) -> Result<Through> {
        let [slices, lines, columns] = self.shape;
        let bytes = std::fs::read(&self.path).with_context(|| format!("reading {}", self.path.display()))?;
        let mut through = Through {
            line: Vec::with_capacity(slices * columns * self.size),
            column: Vec::with_capacity(slices * lines * self.size),
            there: Vec::with_capacity(slices),
        };
        for kept in bytes.chunks_exact(self.each()) {
            let (line, column) = kept[1..].split_at(columns * self.size);
            through.line.extend(line);
            through.column.extend(column);
            through.there.push(kept[0] == THERE);
        }
        Ok(through)
    }
}

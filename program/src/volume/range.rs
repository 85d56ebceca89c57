//! The smallest and the largest value of each slice, kept in a file beside a volume that is not finished, so that runs and processes can add to it.

use super::disk::ending;
use anyhow::{Context, Result};
use isocenter::array::DType;
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a slice's two numbers.
const EACH: usize = 8;

pub struct Ranges {
    file: File,
    path: PathBuf,
}

/// Where they are kept.
pub fn beside(unfinished: &Path) -> PathBuf {
    ending(unfinished, ".range")
}

impl Ranges {
    /// Of so many slices.
    pub fn create(unfinished: &Path, slices: usize) -> Result<Self> {
        let path = beside(unfinished);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.and_then(|file| file.set_len((slices * EACH) as u64).map(|()| file));
        Ok(Self { file: file.with_context(|| format!("making {}", path.display()))?, path })
    }

    pub fn open(unfinished: &Path) -> Result<Self> {
        let path = beside(unfinished);
        let file = File::options().read(true).write(true).open(&path);
        Ok(Self { file: file.with_context(|| format!("opening {}", path.display()))?, path })
    }

    /// Looks at slices of so many bytes, from the one of this number on.
    pub fn add(&self, first: usize, dtype: DType, slice: usize, slices: &[u8]) -> Result<()> {
        let numbers: Vec<u8> = slices.par_chunks(slice).flat_map_iter(|slice| told(of(slice, dtype))).collect();
        let written = self.file.write_all_at(&numbers, (first * EACH) as u64);
        written.with_context(|| format!("writing {}", self.path.display()))
    }

    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().with_context(|| format!("writing {}", self.path.display()))
    }

    /// Of all slices.
    pub fn all(&self) -> Result<[f32; 2]> {
        let bytes = std::fs::read(&self.path).with_context(|| format!("reading {}", self.path.display()))?;
        let number = |v: &[u8]| f32::from_le_bytes([v[0], v[1], v[2], v[3]]);
        let slices = bytes.chunks_exact(EACH).map(|both| [number(&both[..4]), number(&both[4..])]);
        let [low, high] = slices.fold(NONE, |[a, b], [low, high]| [a.min(low), b.max(high)]);
        Ok(if low <= high { [low, high] } else { [0.0, 0.0] })
    }

    /// They are not needed any more.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("removing {}", self.path.display()))
    }
}

const NONE: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

fn told([low, high]: [f32; 2]) -> impl Iterator<Item = u8> {
    low.to_le_bytes().into_iter().chain(high.to_le_bytes())
}

/// Of values that are finite.
fn of(bytes: &[u8], dtype: DType) -> [f32; 2] {
    let both = |[low, high]: [f32; 2], v: f32| [low.min(v), high.max(v)];
    match dtype {
        DType::U8 => bytes.iter().map(|v| f32::from(*v)).fold(NONE, both),
        DType::U16 => bytes.as_chunks().0.iter().map(|v| f32::from(u16::from_ne_bytes(*v))).fold(NONE, both),
        _ => {
            let values = bytes.as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v));
            values.fold(NONE, |all, v| if v.is_finite() { both(all, v) } else { all })
        }
    }
}

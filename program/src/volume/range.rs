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

/// Numbers that are compared at once.
const LANES: usize = 16;

/// Of values that are finite.
fn of(bytes: &[u8], dtype: DType) -> [f32; 2] {
    match dtype {
        DType::U8 => integers(bytes.iter().copied()),
        DType::U16 => integers(bytes.as_chunks().0.iter().map(|v| u16::from_ne_bytes(*v))),
        _ => floats(bytes.as_chunks().0),
    }
}

fn integers<T: Ord + Copy + Into<f32>>(mut values: impl Iterator<Item = T>) -> [f32; 2] {
    let Some(first) = values.next() else { return NONE };
    let (low, high) = values.fold((first, first), |(low, high), v| (low.min(v), high.max(v)));
    [low.into(), high.into()]
}

fn floats(values: &[[u8; 4]]) -> [f32; 2] {
    let mut both = [[NONE[0]; LANES], [NONE[1]; LANES]];
    let [low, high] = &mut both;
    for values in values.chunks(LANES) {
        for ((low, high), v) in low.iter_mut().zip(high.iter_mut()).zip(values) {
            let v = f32::from_ne_bytes(*v);
            let finite = v.abs() < f32::INFINITY;
            *low = if finite && v < *low { v } else { *low };
            *high = if finite && v > *high { v } else { *high };
        }
    }
    let [low, high] = both;
    [low.into_iter().fold(NONE[0], f32::min), high.into_iter().fold(NONE[1], f32::max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_finite() {
        let mut values: Vec<f32> = (0..37).map(|k| (k as f32 - 20.0) * if k % 2 == 0 { 1.0 } else { -0.5 }).collect();
        (values[3], values[18], values[36]) = (f32::NAN, f32::NEG_INFINITY, f32::INFINITY);
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(of(&bytes(&values), DType::F32), [-20.0, 14.0]);
        assert_eq!(of(&bytes(&values[3..4]), DType::F32), NONE);
        assert_eq!(of(&[7, 3, 200], DType::U8), [3.0, 200.0]);
        let wide: Vec<u8> = [700u16, 65535, 3].iter().flat_map(|v| v.to_ne_bytes()).collect();
        assert_eq!(of(&wide, DType::U16), [3.0, 65535.0]);
    }
}

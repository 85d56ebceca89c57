//! NumPy's files, <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use super::{Image, bytes};
use crate::names;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// What values begin at a multiple of.
const ALIGNMENT: usize = 64;

pub fn write(path: &Path, image: &Image) -> Result<Vec<PathBuf>> {
    let shape: Vec<_> = image.frames.into_iter().chain(image.shape).map(|n| n.to_string()).collect();
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape.join(", "));
    let before = 10;
    let whole = (before + header.len() + 1).next_multiple_of(ALIGNMENT);
    header.push_str(&" ".repeat(whole - before - header.len() - 1));
    header.push('\n');
    let mut all = b"\x93NUMPY\x01\0".to_vec();
    all.extend((header.len() as u16).to_le_bytes());
    all.extend(header.as_bytes());
    all.extend(bytes(image.values));
    names::write(path, all)?;
    Ok(vec![path.into()])
}

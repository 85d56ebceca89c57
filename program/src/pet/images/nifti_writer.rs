//! NIfTI files, version 1.

use super::affine::quaternion;
use super::{About, Image, bytes, gzip};
use crate::names;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

/// Where values begin.
const BEGIN: usize = 352;
/// Sides of frames, s, that differ by less are the same.
const ALIKE: f64 = 1e-3;
const FLOAT: i16 = 16;
/// Millimetres and seconds.
const UNITS: u8 = 2 | 8;
/// Of directions: the scanner's.
const SCANNER: i16 = 1;

/// A header that is filled in.
struct Header([u8; BEGIN]);

impl Header {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn short(&mut self, at: usize, value: i16) {
        self.put(at, &value.to_le_bytes());
    }

    fn real(&mut self, at: usize, value: f64) {
        self.put(at, &(value as f32).to_le_bytes());
    }

    /// As much of a text as there is room for.
    fn text(&mut self, at: usize, room: usize, text: &str) {
        let end = (0..=text.len().min(room - 1)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.put(at, &text.as_bytes()[..end]);
    }
}

pub fn write(path: &Path, image: &Image, about: &About, is_packed: bool) -> Result<Vec<PathBuf>> {
    let [nz, ny, nx] = image.shape;
    let most = [nx, ny, nz, image.frames.unwrap_or(1)].into_iter().max().unwrap_or(0);
    ensure!(
        most <= i16::MAX as usize,
        "NIfTI has {} voxels along a side at most, and frames; there are {most}",
        i16::MAX
    );
    let mut all = header(image, about).0.to_vec();
    all.extend(bytes(image.values));
    let all = if is_packed { gzip::packed(&all)? } else { all };
    names::write(path, all)?;
    Ok(vec![path.into()])
}

fn header(image: &Image, about: &About) -> Header {
    let mut header = Header([0; BEGIN]);
    header.put(0, &348i32.to_le_bytes());
    header.put(344, b"n+1\0");
    let [nz, ny, nx] = image.shape;
    let sizes = [if image.frames.is_some() { 4 } else { 3 }, nx, ny, nz, image.frames.unwrap_or(1), 1, 1, 1];
    sizes.into_iter().enumerate().for_each(|(k, n)| header.short(40 + 2 * k, n as i16));
    header.short(70, FLOAT);
    header.short(72, 32);
    header.real(108, BEGIN as f64);
    header.real(112, 1.0);
    header.0[123] = UNITS;
    let [low, high] = [f64::min, f64::max].map(|of| about.durations.iter().copied().reduce(of).unwrap_or(0.0));
    (4..8).for_each(|k| header.real(76 + 4 * k, 1.0));
    header.real(92, if high - low < ALIKE { high } else { 0.0 });
    header.real(136, about.starts.first().copied().unwrap_or(0.0));
    header.text(148, 80, &format!("PET {} [{}]", about.isotope.name, about.unit));
    header.text(328, 16, about.unit);
    place(&mut header, image.shape, about);
    header
}

fn place(header: &mut Header, [nz, ny, nx]: [usize; 3], about: &About) {
    let turn = about.position.to_nifti();
    let first = [(0, nx), (1, ny), (2, nz)].map(|(k, n)| about.centre[k] - (n as f64 - 1.0) / 2.0 * about.voxel[k]);
    let (q, factor) = quaternion(turn);
    header.short(252, SCANNER);
    header.short(254, SCANNER);
    header.real(76, factor);
    for k in 0..3 {
        header.real(80 + 4 * k, about.voxel[k]);
        header.real(256 + 4 * k, q[k]);
        // Not -0.
        let offset = (0..3).map(|axis| turn[k][axis] * first[axis]).sum::<f64>() + 0.0;
        header.real(268 + 4 * k, offset);
        (0..3).for_each(|axis| header.real(280 + 16 * k + 4 * axis, turn[k][axis] * about.voxel[axis] + 0.0));
        header.real(280 + 16 * k + 12, offset);
    }
}

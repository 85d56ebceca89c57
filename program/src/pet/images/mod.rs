//! Images with their places: NIfTI files to read, NIfTI, Interfile, DICOM and NumPy files to write.
//!
//! Values are `[z][y][x]`; voxel j of an axis of N lies at `(j - (N - 1) / 2)` voxels from the image's centre, and that at `centre` in the scanner's frame, mm.

mod affine;
pub mod dicom;
mod gzip;
mod interfile;
mod nifti_reader;
mod nifti_writer;
mod npy;
mod sidecar;

pub use nifti_reader::read as read_nifti;
pub use npy::{read as read_npy, read_rows as read_npy_rows};
pub use sidecar::write as write_beside;

use super::isotopes::Isotope;
use super::position::Position;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// An image and its place.
#[derive(Clone, Debug)]
pub struct Volume {
    pub image: Vec<f32>,
    /// nz, ny, nx.
    pub shape: [usize; 3],
    /// Sides, x, y, z, mm.
    pub voxel: [f64; 3],
    /// x, y, z of its middle in the scanner's frame, mm.
    pub centre: [f64; 3],
    /// Of its values, "" where it is not known.
    pub unit: String,
}

/// What is written besides values.
pub struct About<'a> {
    pub voxel: [f64; 3],
    pub centre: [f64; 3],
    pub unit: &'a str,
    pub position: Position,
    /// Of each frame, s.
    pub starts: Vec<f64>,
    pub durations: Vec<f64>,
    pub isotope: &'a Isotope,
    pub scanner: &'a str,
    pub scan: dicom::Scan<'a>,
}

/// Values `[frame][z][y][x]`, or without frames.
pub struct Image<'a> {
    pub values: &'a [f32],
    pub frames: Option<usize>,
    pub shape: [usize; 3],
}

/// Kinds of files, by their endings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Nifti { is_packed: bool },
    Interfile,
    Dicom,
    Numpy,
}

const ENDINGS: [(&str, Format); 5] = [
    (".nii.gz", Format::Nifti { is_packed: true }),
    (".nii", Format::Nifti { is_packed: false }),
    (".hv", Format::Interfile),
    (".dcm", Format::Dicom),
    (".npy", Format::Numpy),
];

impl Format {
    /// Of a file's name, and what that is without its ending.
    pub fn of(path: &Path) -> Result<(Self, String)> {
        let text = path.to_string_lossy();
        let found = ENDINGS.iter().find_map(|(end, format)| Some((*format, text.strip_suffix(end)?.to_string())));
        match found.filter(|(_, stem)| !stem.is_empty() && !stem.ends_with('/')) {
            Some(found) => Ok(found),
            None => bail!("--output is {text}; it must end in .nii, .nii.gz, .hv, .dcm or .npy"),
        }
    }
}

/// Writes an image; gives the files that it is.
pub fn write(path: &Path, image: &Image, about: &About) -> Result<Vec<PathBuf>> {
    match Format::of(path)?.0 {
        Format::Nifti { is_packed } => nifti_writer::write(path, image, about, is_packed),
        Format::Interfile => interfile::write(path, image, about),
        Format::Dicom => dicom::write(path, image, about),
        Format::Numpy => npy::write(path, image),
    }
}

/// Of values, in little endian.
fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

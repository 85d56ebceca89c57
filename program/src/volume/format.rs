//! Kinds of volumes, and which one a name asks for.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One NeXus file (.h5, .hdf5, .nx, .nxs)
    Hdf5,
    /// One file of pages (.tif, .tiff), or a folder of one file a slice (a name that ends in /)
    Tiff,
    /// Values alone, as PyHST2 writes them, and NAME.info beside them (.vol; .raw for integers)
    Vol,
    /// A folder with a pyramid: OME-Zarr 0.5 (.zarr)
    Zarr,
}

/// How chunks of Zarr are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    None,
    /// Zstandard
    #[default]
    Zstd,
}

impl Format {
    /// What a name asks for.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("tif" | "tiff") => Self::Tiff,
            Some("vol" | "raw") => Self::Vol,
            Some("zarr") => Self::Zarr,
            None if path.as_os_str().as_bytes().ends_with(b"/") => Self::Tiff,
            _ => Self::Hdf5,
        }
    }

    /// What a name ends in where none is given.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Hdf5 => ".h5",
            Self::Tiff => "/",
            Self::Vol => ".vol",
            Self::Zarr => ".zarr",
        }
    }
}

/// Whether a name is one of a TIFF file, not of a folder of them.
pub fn one_file(path: &Path) -> bool {
    Format::of(path) == Format::Tiff && path.extension().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, format) in [
            ("v.h5", Format::Hdf5),
            ("v.nx", Format::Hdf5),
            ("v", Format::Hdf5),
            ("v.1000", Format::Hdf5),
            ("a/v.TIF", Format::Tiff),
            ("a/v.tiff", Format::Tiff),
            ("a/v/", Format::Tiff),
            ("v.vol", Format::Vol),
            ("v.raw", Format::Vol),
            ("v.ome.zarr", Format::Zarr),
            ("v.zarr/", Format::Zarr),
        ] {
            assert_eq!(Format::of(Path::new(name)), format, "{name}");
        }
        assert!(one_file(Path::new("v.tif")) && !one_file(Path::new("v/")) && !one_file(Path::new("v")));
    }
}

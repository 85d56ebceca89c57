//! Formats that are not read, by the first bytes of a file or by its name, and what makes a scan of them that is.

use anyhow::{Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes that a format is told by.
const HEAD: usize = 264;

/// A format and what converts it.
struct Format {
    name: &'static str,
    /// Ends of names, in small letters.
    ends: &'static [&'static str],
    /// Bytes at a place.
    bytes: &'static [(usize, &'static [u8])],
    how: &'static str,
}

/// How to write an array of a few lines of Python as an HDF5 file.
const FORMATS: [Format; 14] = [
    Format {
        name: "a Zeiss (Xradia) scan",
        ends: &[".txrm", ".xrm", ".txm"],
        bytes: &[(0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")],
        how: "txrm2tiff (pip install txrm2tiff) makes TIFF images of it, dxchange.read_txrm in Python an array with its angles",
    },
    Format {
        name: "a FITS image",
        ends: &[".fits", ".fit", ".fts"],
        bytes: &[(0, b"SIMPLE  =")],
        how: "python -c \"import sys, tifffile; from astropy.io import fits; [tifffile.imwrite(f + '.tif', fits.getdata(f)) for f in sys.argv[1:]]\" FILES \
              (pip install astropy tifffile) makes TIFF images of such files",
    },
    Format {
        name: "an MRC stack",
        ends: &[".mrc", ".mrcs", ".ali", ".st"],
        bytes: &[(208, b"MAP ")],
        how: "mrc2tif -s IN OUT.tif of IMOD makes a TIFF file of it",
    },
    Format {
        name: "a DICOM file",
        ends: &[".dcm", ".dicom", ".ima"],
        bytes: &[(128, b"DICM")],
        how: "python -c \"import sys, tifffile, pydicom; [tifffile.imwrite(f + '.tif', pydicom.dcmread(f).pixel_array) for f in sys.argv[1:]]\" FILES \
              (pip install pydicom tifffile) makes TIFF images of such files",
    },
    Format {
        name: "a NumPy array",
        ends: &[".npy"],
        bytes: &[(0, b"\x93NUMPY")],
        how: "python -c \"import sys, tifffile, numpy; [tifffile.imwrite(f + '.tif', numpy.load(f)) for f in sys.argv[1:]]\" FILES (pip install numpy tifffile) \
              makes TIFF files of arrays (views, rows, bins)",
    },
    Format {
        name: "NumPy arrays in a ZIP archive",
        ends: &[".npz"],
        bytes: &[],
        how: "in Python numpy.load reads it, and h5py writes its arrays into an HDF5 file",
    },
    Format {
        name: "a MATLAB file",
        ends: &[".mat"],
        bytes: &[(0, b"MATLAB ")],
        how: "in MATLAB h5create and h5write make an HDF5 file of an array, whose dimensions MATLAB turns round: permute(frames, [bins rows views]) goes before; \
              in Python scipy.io.loadmat or h5py read it",
    },
    Format {
        name: "a NetCDF 3 file",
        ends: &[".nc", ".cdf"],
        bytes: &[(0, b"CDF\x01"), (0, b"CDF\x02"), (0, b"CDF\x05")],
        how: "nccopy -k nc4 IN OUT.h5 makes an HDF5 file of it, whose datasets --data and --angles name",
    },
    Format {
        name: "an HDF 4 file",
        ends: &[".hdf4", ".h4"],
        bytes: &[(0, b"\x0e\x03\x13\x01")],
        how: "h4toh5 IN OUT.h5 makes an HDF5 file of it, whose datasets --data and --angles name",
    },
    Format {
        name: "compressed by gzip",
        ends: &[".gz", ".tgz"],
        bytes: &[(0, b"\x1f\x8b")],
        how: "gunzip makes the file that can be read",
    },
    Format {
        name: "compressed by bzip2",
        ends: &[".bz2"],
        bytes: &[(0, b"BZh")],
        how: "bunzip2 makes the file that can be read",
    },
    Format {
        name: "compressed by xz",
        ends: &[".xz"],
        bytes: &[(0, b"\xfd7zXZ\x00")],
        how: "unxz makes the file that can be read",
    },
    Format {
        name: "compressed by Zstandard",
        ends: &[".zst"],
        bytes: &[(0, b"\x28\xb5\x2f\xfd")],
        how: "unzstd makes the file that can be read",
    },
    Format { name: "a ZIP archive", ends: &[".zip"], bytes: &[(0, b"PK\x03\x04")], how: "unzip takes its files out" },
];

/// Formats whose bytes are an HDF5 file's and which are read as such.
const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";

impl Format {
    /// The format of a file, by its first bytes, else by its name.
    fn of(path: &Path) -> Option<&'static Self> {
        let mut head = Vec::new();
        // What cannot be opened is told of where it is read.
        let read = File::open(path).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head));
        if read.is_err() || head.starts_with(HDF5) {
            return None;
        }
        let has = |(at, bytes): &(usize, &[u8])| head.get(*at..).is_some_and(|rest| rest.starts_with(bytes));
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let by_bytes = FORMATS.iter().find(|format| format.bytes.iter().any(has));
        by_bytes.or_else(|| FORMATS.iter().find(|format| format.ends.iter().any(|end| name.ends_with(end))))
    }

    fn told(&self, path: &Path) -> String {
        format!("{} is {}, which is not read here: {}", path.display(), self.name, self.how)
    }
}

/// What a folder is that other programs write volumes and scans into, by what lies in it.
fn folder(path: &Path) -> Option<String> {
    let marks = [".zgroup", ".zarray", "zarr.json"];
    let zarr = marks.iter().any(|mark| path.join(mark).is_file());
    zarr.then(|| {
        format!(
            "{} is a Zarr store, which is not read here: in Python zarr.open reads it, and h5py writes its arrays into an HDF5 file",
            path.display()
        )
    })
}

/// What is to be said of a file or a folder that is of another format.
pub fn told(path: &Path) -> Option<String> {
    if path.is_dir() { folder(path) } else { Format::of(path).map(|format| format.told(path)) }
}

/// An error that names the format of a scan, if it is one that is not read.
pub fn check(path: &Path) -> Result<()> {
    match told(path) {
        Some(told) => bail!("{told}"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By their bytes whatever they are called, and by their names.
    #[test]
    fn formats_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scan.h5");
        for format in &FORMATS {
            for (at, bytes) in format.bytes {
                std::fs::write(&path, [vec![0; *at], bytes.to_vec()].concat()).expect("a file");
                assert!(told(&path).is_some_and(|told| told.contains(format.name)), "{}", format.name);
            }
            for end in format.ends {
                let path = folder.path().join(format!("scan{}", end.to_uppercase()));
                std::fs::write(&path, "what it may be").expect("a file");
                assert!(told(&path).is_some_and(|told| told.contains(format.name)), "{end}");
                std::fs::write(&path, HDF5).expect("a file");
                assert_eq!(told(&path), None, "an HDF5 file of this name");
            }
        }
        std::fs::write(&path, "").expect("a file");
        assert_eq!(told(&path), None);
        assert_eq!(told(folder.path()), None);
        std::fs::write(folder.path().join(".zgroup"), "{}").expect("a file");
        assert!(told(folder.path()).is_some_and(|told| told.contains("Zarr")));
    }
}

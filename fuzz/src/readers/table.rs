//! Tables of scans, whose cells name a small scan beside them, its datasets and those of other files.

use super::{folder, scan, scratch};
use hdf5_metno::File;
use isocenter_program::cli::Recon;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const FRAMES: usize = 12;
const PLANE: usize = 3 * 8;
/// Lines of a table, at most: a command line each takes its time.
const LINES: usize = 6;

/// A folder with images, lists, and an HDF5 file with frames, flats, keys and angles, made once.
fn files(scratch: &Path) -> PathBuf {
    let path = scratch.join("table");
    if path.exists() {
        return path;
    }
    std::fs::create_dir(&path).expect("a folder");
    folder::of_parameters(&path);
    let entry = File::create(path.join("s.h5")).and_then(|file| file.create_group("e")).expect("a group");
    for (name, frames) in [("data", FRAMES), ("flats", 2), ("dark", 1)] {
        let data = entry.new_dataset::<u8>().shape([frames, 3, 8]).create(name).expect("a dataset");
        data.write_raw(&(0..frames * PLANE).map(|k| 100 + (k % 90) as u8).collect::<Vec<_>>()).expect("frames");
    }
    let keys = entry.new_dataset::<i32>().shape(FRAMES).create("keys").expect("a dataset");
    keys.write_raw(&std::array::from_fn::<i32, FRAMES, _>(|k| [1, 2, 0][k.min(2)])).expect("keys");
    let theta = entry.new_dataset::<f64>().shape(FRAMES).create("theta").expect("a dataset");
    theta.write_raw(&std::array::from_fn::<f64, FRAMES, _>(|k| 15.0 * k as f64)).expect("angles");
    path
}

/// Whether a text names what is elsewhere on this machine, which nobody knows.
fn leads_away(text: &str) -> bool {
    let text = text.replace('"', "");
    text.split([',', ';', '\t', '\n', '\r', ' ', '=']).any(|word| {
        let file = word.split(":/").next().unwrap_or_default();
        word.contains("../") || file.starts_with('/') && Path::new(file).exists()
    })
}

/// Reads a table of these bytes as `recon` does, and opens its scans.
pub fn read(bytes: &[u8]) {
    if leads_away(&String::from_utf8_lossy(bytes)) {
        return;
    }
    scratch::with(|folder| {
        let path = files(folder).join("scans.csv");
        std::fs::write(&path, bytes).expect("a file");
        let words = ["isocenter".into(), "recon".into(), OsString::from(&path)];
        // Errors are in order, others are not.
        let Ok(recon) = Recon::of_table(&words, &path) else { return };
        assert!(!recon.lines.is_empty());
        for line in recon.lines.iter().take(LINES) {
            assert!(line.place.is_told() == recon.lines[0].place.is_told());
            scan(&line.scan, &line.input);
        }
    });
}

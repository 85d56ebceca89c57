//! Parameter files of PyHST, beside files that they may name.

use super::{folder, scan, scratch};
use clap::Parser;
use isocenter_program::cli::Cli;
use isocenter_program::scan::Input;
use isocenter_program::scan::pyhst::Parameters;
use std::path::{Path, PathBuf};

/// A folder with projections, flats, a dark and lists, made once.
fn files(scratch: &Path) -> PathBuf {
    let path = scratch.join("par");
    if !path.exists() {
        std::fs::create_dir(&path).expect("a folder");
        folder::of_parameters(&path);
    }
    path
}

/// Reads a parameter file of these bytes, what becomes of its keys, and the scan.
pub fn read(bytes: &[u8]) {
    scratch::with(|folder| {
        let path = files(folder).join("scan.par");
        std::fs::write(&path, bytes).expect("a file");
        scan(&path, &Input::default());
        scan(&path, &Input { angles: Some("0..180".into()), ..Input::default() });
        // Errors are in order, others are not.
        let Ok(taken) = Parameters::read(&path).and_then(|parameters| parameters.taken(|_| false)) else { return };
        let _ = (taken.check(), taken.to_string());
        // Most of the time goes by with the command line, of which there is less to find.
        if !bytes.len().is_multiple_of(8) {
            return;
        }
        let words = ["isocenter".to_string(), "recon".into(), path.display().to_string()];
        let _ = Cli::try_parse_from(words.iter().chain(taken.words()));
    });
}

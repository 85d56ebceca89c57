//! Readers of the program, each given what bytes say: a file, a folder of files, or a text. Whatever that is, there is a result or an error.
//! A reader panics where that does not hold; memory, of which small files have to do with little, is the sanitizer's to watch.
//!
//! `make fuzz` runs them with bytes of libFuzzer's; the program's tests repeat the corpora and vary them.

mod choices;
mod filters;
pub mod folder;
pub mod hdf5;
mod images;
mod options;
mod par;
pub mod petsird;
mod plan;
mod scratch;
mod table;

pub use choices::Choices;
pub use filters::decoded as filters;
pub use images::{edf, tiff};
pub use options::taken as options;
pub use par::read as par;
pub use plan::parsed as plan;
pub use table::read as table;

use isocenter_program::frames::Frames;
use isocenter_program::scan::{Input, Scan};
use isocenter_program::status;
use std::path::Path;

/// A reader's name, and what runs it.
type Reader = (&'static str, fn(&[u8]));

/// All of them.
pub const ALL: [Reader; 10] = [
    ("filters", filters),
    ("tiff", tiff),
    ("edf", edf),
    ("folder", folder::read),
    ("par", par),
    ("options", options),
    ("plan", plan),
    ("table", table),
    ("hdf5", hdf5::read),
    ("petsird", petsird::read),
];

/// Bytes that are read at a time, at most: whoever reads decides on them, not the file.
const PART: usize = 1 << 20;

/// Reads the first and the last rows of the first and of the last frame. Errors are in order, others are not.
fn values(frames: &Frames) {
    let [_, rows, bins] = frames.source.shape();
    let row = bins.saturating_mul(frames.source.dtype().size());
    let few = PART.checked_div(row).unwrap_or(0).min(rows);
    let _ = (frames.source.storage(), frames.source.together(), frames.source.waits());
    let ends = [frames.which.first(), frames.which.last()];
    for frame in ends.into_iter().flatten().filter(|_| few > 0) {
        let one = Frames { source: frames.source.clone(), which: vec![*frame] };
        for first in [0, rows - few] {
            let _ = one.rows(&(first..first + few).collect::<Vec<_>>());
        }
    }
}

/// Opens a scan, and reads some of all of its frames.
fn scan(path: &Path, input: &Input) {
    match Scan::open(path, input) {
        Ok(mut scan) => {
            let settled = scan.pixel.settle(None, 1).map_or_else(|error| status::told(&error), |()| String::new());
            assert!(settled.is_empty() || settled.len() > "error: ".len());
            assert!(scan.turn() >= 0.0 && scan.views.which.len() == scan.angles.len());
            let others = scan.flats.iter().map(|flats| &flats.frames).chain(&scan.darks);
            others.chain([&scan.views]).for_each(values);
        }
        Err(error) => assert!(status::told(&error).len() > "error: ".len()),
    }
}

//! Files of images.

use super::{scratch, values};
use isocenter_program::frames::{Frames, Kind, of_files};

/// A file of these bytes.
fn file(kind: Kind, bytes: &[u8]) {
    scratch::with(|folder| {
        let path = folder.join("image");
        std::fs::write(&path, bytes).expect("a file");
        if let Ok(source) = of_files(kind, vec![path]) {
            values(&Frames::all(source));
        }
    });
}

pub fn tiff(bytes: &[u8]) {
    file(Kind::Tiff, bytes);
}

pub fn edf(bytes: &[u8]) {
    file(Kind::Edf, bytes);
}

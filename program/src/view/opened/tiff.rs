//! TIFF: a file of pages, or a folder of files.

use super::Opened;
use crate::frames::of_files;
use crate::scan::images;
use anyhow::Result;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use tiff::decoder::Decoder;
use tiff::tags::Tag;

const MM_OF_CM: f64 = 10.0;

pub fn open(path: &Path) -> Result<Opened> {
    let (kind, files) = images(path)?;
    let tag = |tag| files.first().and_then(|file| text(file, tag)).unwrap_or_default();
    let (text, attenuation) = (tag(Tag::ImageDescription), tag(Tag::Software).starts_with("isocenter "));
    let source = of_files(kind, files)?;
    let number = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?.trim().parse().ok()?;
        Some(value).filter(|value: &f64| value.is_finite())
    };
    let pixel = number("spacing").filter(|spacing| *spacing > 0.0 && text.lines().any(|line| line == "unit=cm"));
    // As ImageJ calibrates by a line; others are not told here.
    let scale = match (number("c1"), number("c0")) {
        (Some(slope), Some(offset)) if number("cf") == Some(0.0) => [slope, offset],
        _ => [1.0, 0.0],
    };
    Ok(Opened { source, pixel: pixel.map(|cm| cm * MM_OF_CM), scale: Some(scale), attenuation })
}

/// A text of the first image, where there is such a one.
fn text(path: &Path, tag: Tag) -> Option<String> {
    let mut decoder = Decoder::new(BufReader::new(File::open(path).ok()?)).ok()?;
    decoder.get_tag_ascii_string(tag).ok()
}

//! TIFF: a file of pages, or a folder of files.

use super::Opened;
use crate::frames::of_files;
use crate::scan::images;
use anyhow::Result;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use tiff::decoder::Decoder;
use tiff::decoder::ifd::Value;
use tiff::tags::Tag;

const MM_OF_CM: f64 = 10.0;

pub fn open(path: &Path) -> Result<Opened> {
    let (kind, files) = images(path)?;
    let tag = |tag| files.first().and_then(|file| text(file, tag)).unwrap_or_default();
    let (text, attenuation) = (tag(Tag::ImageDescription), tag(Tag::Software).starts_with("isocenter "));
    let side = files.first().and_then(|file| side(file));
    let source = of_files(kind, files)?;
    let number = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?.trim().parse().ok()?;
        Some(value).filter(|value: &f64| value.is_finite())
    };
    let apart = number("spacing").filter(|spacing| *spacing > 0.0 && text.lines().any(|line| line == "unit=cm"));
    let sides = apart.map(|apart| [apart, side.unwrap_or(apart)].map(|cm| cm * MM_OF_CM));
    // As ImageJ calibrates by a line; others are not told here.
    let scale = match (number("c1"), number("c0")) {
        (Some(slope), Some(offset)) if number("cf") == Some(0.0) => [slope, offset],
        _ => [1.0, 0.0],
    };
    Ok(Opened { scale: Some(scale), attenuation, ..Opened::new(source, None, sides) })
}

fn decoder(path: &Path) -> Option<Decoder<BufReader<File>>> {
    Decoder::new(BufReader::new(File::open(path).ok()?)).ok()
}

/// A text of the first image, where there is such a one.
fn text(path: &Path, tag: Tag) -> Option<String> {
    decoder(path)?.get_tag_ascii_string(tag).ok()
}

/// Of a pixel in centimetres, by the first image's resolution.
fn side(path: &Path) -> Option<f64> {
    let mut decoder = decoder(path)?;
    let in_centimetres = decoder.get_tag_u32(Tag::ResolutionUnit).is_ok_and(|unit| unit == 3);
    let Value::Rational(above, below) = decoder.get_tag(Tag::XResolution).ok()? else { return None };
    (in_centimetres && above > 0).then(|| f64::from(below) / f64::from(above)).filter(|side| *side > 0.0)
}

//! DICOM: Enhanced PET images, PS3.3 A.56 and C.8.22, all slices and frames in one file.

mod elements;
mod frames;
mod lengths;
mod like;
mod options;
mod scaled;
mod scan;

pub use like::Like;
pub use options::DicomOptions;
pub use scan::Scan;

use super::{About, Image};
use crate::names;
use anyhow::{Context, Result, ensure};
use dicom_core::chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta};
use dicom_object::meta::FileMetaTableBuilder;
use elements::Writer;
use scaled::Scaled;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Explicit elements in little endian.
const SYNTAX: &str = "1.2.840.10008.1.2.1";
/// Of pixels, bytes: their length has 32 bits and is no odd one.
const LARGEST: usize = (1 << 32) - 2;

/// Writes all frames that have values; the others are told.
pub fn write(path: &Path, image: &Image, about: &About) -> Result<Vec<PathBuf>> {
    let [nz, ny, nx] = image.shape;
    let volumes: Vec<_> = image.values.chunks_exact(nz * ny * nx).enumerate().collect();
    let kept: Vec<_> = volumes.iter().filter(|(_, values)| !values.iter().all(|v| v.is_nan())).copied().collect();
    let shown = path.display();
    ensure!(!kept.is_empty(), "the image has no values, but NaN alone, and {shown} could have none");
    let is_finite = kept.iter().all(|(_, values)| values.iter().all(|v| v.is_finite()));
    ensure!(is_finite, "the image has values that are not finite, which DICOM's integers cannot be");
    let bytes = kept.len().checked_mul(2 * nz * ny * nx);
    ensure!(
        bytes.is_some_and(|bytes| bytes <= LARGEST) && nx.max(ny) <= usize::from(u16::MAX),
        "{nx} x {ny} x {nz} voxels of {} frames are more than {shown} can hold, 65535 rows and columns and 4 GB: take fewer frames, or write NIfTI",
        kept.len()
    );
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let missing = (0..volumes.len()).filter(|k| kept.iter().all(|(own, _)| own != k));
    let mut doubts: Vec<_> =
        missing.map(|k| format!("{} has no values, and is not in {name}", about.scan.names[k])).collect();
    if about.scan.acquired.is_none() {
        let words = "it is not known when the scan began: DICOM's times count from 1900-01-01, give --acquired";
        doubts.push(words.into());
    }
    let numbers: Vec<_> = kept.iter().map(|(k, _)| *k).collect();
    let scaled = Scaled::new(&kept.into_iter().map(|(_, values)| values).collect::<Vec<_>>());
    let writer = Writer { image, about, numbers: &numbers, slopes: &scaled.slopes, is_signed: scaled.is_signed };
    let file = writer.file(scaled.stored)?;
    let meta = FileMetaTableBuilder::new().transfer_syntax(SYNTAX);
    let file = file.with_meta(meta).context("DICOM's header")?;
    let mut all = Vec::new();
    file.write_all(&mut all).with_context(|| format!("writing {shown}"))?;
    names::write(path, all)?;
    doubts.into_iter().for_each(&about.scan.doubt);
    Ok(vec![path.into()])
}

/// When scans begin of which it is not known.
fn unknown_start() -> NaiveDateTime {
    NaiveDate::default().with_year(1900).unwrap_or_default().into()
}

/// So many s after a time.
fn after(time: NaiveDateTime, seconds: f64) -> Result<NaiveDateTime> {
    let microseconds = (seconds * 1e6).round();
    let found = (microseconds.abs() < 1e18)
        .then(|| time.checked_add_signed(TimeDelta::microseconds(microseconds as i64)))
        .flatten();
    let found = found.filter(|time| (1..=9999).contains(&time.year()));
    found.with_context(|| format!("times of {seconds} s reach beyond what a date can be"))
}

/// DICOM's date and time.
fn stamp(time: NaiveDateTime) -> String {
    time.format("%Y%m%d%H%M%S%.6f").to_string()
}

/// A UID of a random number, as UUIDs of version 4 are.
fn uid() -> Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).context("/dev/urandom")?;
    let number = u128::from_be_bytes(bytes);
    Ok(format!("2.25.{}", number & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62))
}

/// A decimal string, of 16 characters at most.
fn decimal(value: f64) -> String {
    let texts = (1..=12).rev().map(|digits| crate::pet::general(value + 0.0, digits));
    texts.into_iter().find(|text| text.len() <= 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times() {
        for (value, text) in [
            (0.1, "0.1"),
            (-0.0, "0"),
            (1.0 / 3.0, "0.333333333333"),
            (-1.234567890123e-7, "-1.234567890e-07"),
            (65535.0, "65535"),
        ] {
            let made = decimal(value);
            assert!(
                made.len() <= 16 && made.parse::<f64>().is_ok_and(|v| (v - value).abs() <= 1e-9 * value.abs()),
                "{made} {text}"
            );
        }
        assert_eq!(stamp(after(unknown_start(), 90.5).expect("a time")), "19000101000130.500000");
        assert!(after(unknown_start(), 1e15).is_err() && after(unknown_start(), f64::NAN).is_err());
        let [a, b] = [uid(), uid()].map(|made| made.expect("a UID"));
        let number: u128 = a.strip_prefix("2.25.").and_then(|text| text.parse().ok()).expect("a number");
        assert!(a != b && a.len() <= 64 && number >> 76 & 0xf == 4 && number >> 62 & 3 == 2);
    }
}

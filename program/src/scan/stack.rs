//! Stacks of images: a folder, a pattern, or a file.

use super::pixel::Pixel;
use super::{Flats, Scan, esrf, half_turn, listing, tomcat};
use crate::frames::{Frames, Kind, of_files};
use crate::scan::input::Input;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// Words in names of flats and of darks; ob, ff, open, di and dc are those of neutron imaging.
pub const FLATS: [&str; 14] = [
    "flat",
    "flats",
    "flatfield",
    "flatfields",
    "ff",
    "ref",
    "refs",
    "white",
    "whites",
    "open",
    "openbeam",
    "openbeams",
    "ob",
    "bright",
];
pub const DARKS: [&str; 8] = ["dark", "darks", "darkfield", "darkfields", "df", "darkcurrent", "di", "dc"];
/// And of those that were taken before and after the projections.
pub const BEFORE: [&str; 4] = ["before", "pre", "first", "start"];
pub const AFTER: [&str; 4] = ["after", "post", "last", "end"];

/// Whether a path is that of a stack.
pub fn is(path: &Path) -> bool {
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    path.is_dir() || listing::is_pattern(path) || Kind::of(path).is_some() || packed
}

/// Whether a word of a name is one of these.
fn has(path: &Path, words: &[&str]) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.split(|c: char| !c.is_alphabetic()).any(|word| words.contains(&word))
}

pub fn read(path: &Path, input: &Input) -> Result<Scan> {
    let (kind, files) = listing::images(path)?;
    if path.is_dir() && kind == Kind::Edf {
        return esrf::read(path, files, input);
    }
    if path.is_dir()
        && !input.sinograms
        && let Some(log) = tomcat::Log::of(path)?
    {
        return log.scan(path, files, input);
    }
    let (mut views, mut flats, mut darks) = (files, Vec::new(), Vec::new());
    if path.is_dir() {
        // A flat of the darks, and a dark of the flats, is none of either.
        let part = |files: &mut Vec<PathBuf>, words: &[&str], not: &[&str]| {
            files.extract_if(.., |file| has(file, words) && !has(file, not)).collect::<Vec<_>>()
        };
        flats = part(&mut views, &FLATS, &DARKS);
        darks = part(&mut views, &DARKS, &FLATS);
    }
    listing::one_series(path, &views)?;
    if input.sinograms || !input.each_angle() {
        listing::complete(&views)?;
    }
    let mut notes = Vec::new();
    let given =
        [("flats", "--flats", &flats, !input.flats.is_empty()), ("darks", "--darks", &darks, input.darks.is_some())];
    for (what, option, files, _) in given.iter().filter(|(_, _, files, given)| *given && !files.is_empty()) {
        let more = if files.len() > 1 { format!(" and {} more", files.len() - 1) } else { String::new() };
        notes.push(format!("{}{more}, {what} by name, left out: {option} is given", listing::name(&files[0])));
    }
    let views = Frames::all(input.projections(of_files(kind, views)?));
    let flats = if input.flats.is_empty() { before_and_after(kind, flats, views.which.len())? } else { Vec::new() };
    let darks = (!darks.is_empty() && input.darks.is_none()).then(|| of_files(kind, darks)).transpose()?;
    let angles = half_turn(views.which.len());
    if input.angles.is_none() {
        notes.push("angles are half a turn, its end left out, for want of others: --angles tells them".into());
    }
    let format = match kind {
        Kind::Tiff => "TIFF images",
        Kind::Edf => "EDF images",
    };
    let darks = darks.map(Frames::all);
    Ok(Scan { format, title: None, views, angles, flats, darks, pixel: Pixel::Untold, kind: None, notes })
}

/// Flats of one series were taken before the projections; those of two before and after, if their names say so.
fn before_and_after(kind: Kind, files: Vec<PathBuf>, views: usize) -> Result<Vec<Flats>> {
    let Some(first) = files.first().cloned() else { return Ok(Vec::new()) };
    let of = |files, position| Ok(Flats { frames: Frames::all(of_files(kind, files)?), position });
    let (after, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| has(file, &AFTER));
    let (before, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|file| has(file, &BEFORE));
    if after.is_empty() && (before.is_empty() || others.is_empty()) {
        let files = if before.is_empty() { others } else { before };
        let series = listing::series(&first);
        if let Some(other) = files.iter().find(|file| listing::series(file) != series) {
            bail!(
                "there are two series of flats, {} and {}: --flats and --flats again tell which were taken before and after",
                listing::name(&first),
                listing::name(other)
            );
        }
        return Ok(vec![of(files, 0)?]);
    }
    if !others.is_empty() && !before.is_empty() {
        bail!("{} was taken before, after, or between others: --flats tells which are", listing::name(&others[0]));
    }
    let before = if before.is_empty() { others } else { before };
    let groups = [(before, 0), (after, views)].into_iter().filter(|(files, _)| !files.is_empty());
    groups.map(|(files, position)| of(files, position)).collect()
}

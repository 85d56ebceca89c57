//! Folders of the ESRF: PREFIX0000.edf and on, flats called refHST0000.edf or ref0000_0000.edf by the projections before them, dark.edf,
//! and PREFIX.info with the number of projections and the range of angles.

use super::input::Input;
use super::pixel::Pixel;
use super::{Flats, Scan, half_turn, listing, units};
use crate::frames::{Converted, Frames, Kind, of_files};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a `.info` file says, a `key = value` a line.
#[derive(Default)]
pub struct Info(Vec<(String, String)>);

impl Info {
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        Self(lines.map(|(key, value)| (key.trim().to_string(), value.trim().to_string())).collect())
    }

    /// A finite number, if the file has it.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some((_, text)) = self.0.iter().find(|(k, _)| k.eq_ignore_ascii_case(key)) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|n| n.is_finite());
        number.map(Some).with_context(|| format!("{key} is \"{text}\"; it must be a number"))
    }

    /// A count, if the file has it.
    fn count(&self, key: &str) -> Result<Option<usize>> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        ensure!(number.fract() == 0.0 && (0.0..1e9).contains(&number), "{key} is {number}; it must be a whole number");
        Ok(Some(number as usize))
    }
}

/// What the files of a folder are, by name.
#[derive(Default)]
struct Parts {
    views: Vec<PathBuf>,
    /// Medians of flats, by the projections before them.
    medians: BTreeMap<usize, Vec<PathBuf>>,
    /// Flats themselves, likewise.
    flats: BTreeMap<usize, Vec<PathBuf>>,
    /// Means of darks, and their sums.
    means: Vec<PathBuf>,
    sums: Vec<PathBuf>,
}

impl Parts {
    fn of(files: Vec<PathBuf>) -> Self {
        let mut parts = Self::default();
        for file in files {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?;
            let median = stem.strip_prefix("refHST").and_then(number);
            let flat = stem.strip_prefix("ref").and_then(|rest| rest.split_once('_'));
            let flat = flat.and_then(|(k, place)| number(k).and(number(place)));
            let sum = stem.strip_prefix("darkend").filter(|rest| rest.is_empty() || number(rest).is_some());
            let mean = stem == "dark" || stem.strip_prefix("darkHST").and_then(number).is_some();
            match (median, flat) {
                (Some(place), _) => parts.medians.entry(place).or_default().push(file),
                (_, Some(place)) => parts.flats.entry(place).or_default().push(file),
                _ if mean => parts.means.push(file),
                _ if sum.is_some() => parts.sums.push(file),
                _ => parts.views.push(file),
            }
        }
        parts
    }
}

/// The prefix of a folder's projections: of its `.info` file, or of the folder, or of most of them.
fn prefix(folder: &Path, infos: &[PathBuf], views: &[PathBuf]) -> Result<String> {
    let begins = |prefix: &str| views.iter().any(|file| place(file, prefix).is_some());
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let named = std::path::absolute(folder).ok().map(|path| listing::name(&path));
    let mut known = named.into_iter().chain(infos.iter().map(stem));
    if let Some(prefix) = known.find(|prefix| begins(prefix)) {
        return Ok(prefix);
    }
    let without = |file: &PathBuf| stem(file).trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
    let first = views.first().map(without).with_context(|| format!("{} has no projections", folder.display()))?;
    if let Some(other) = views.iter().find(|file| without(file) != first) {
        bail!(
            "{} has images of more than one series, {} and {}: name the projections by a pattern, and --flats and --darks",
            folder.display(),
            listing::name(&views[0]),
            listing::name(other)
        );
    }
    Ok(first)
}

/// The number of a projection.
fn place(file: &Path, prefix: &str) -> Option<usize> {
    let stem = file.file_stem()?.to_str()?;
    let digits = stem.strip_prefix(prefix)?;
    // One file of many frames has none.
    if digits.is_empty() {
        return Some(0);
    }
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

pub fn read(folder: &Path, files: Vec<PathBuf>, input: &Input) -> Result<Scan> {
    let infos: Vec<_> =
        listing::folder(folder)?.into_iter().filter(|file| listing::name(file).ends_with(".info")).collect();
    let mut parts = Parts::of(files);
    let prefix = prefix(folder, &infos, &parts.views)?;
    let mut notes = Vec::new();
    let info = infos.iter().find(|file| listing::name(file) == format!("{prefix}.info"));
    let info = match info {
        Some(path) => {
            let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
            Some((path, Info::parse(&String::from_utf8_lossy(&text))))
        }
        None => None,
    };
    let told = |key: &str| match &info {
        Some((path, info)) => info.count(key).with_context(|| path.display().to_string()),
        None => Ok(None),
    };
    let number = |key: &str| match &info {
        Some((path, info)) => info.number(key).with_context(|| path.display().to_string()),
        None => Ok(None),
    };
    let others = parts.views.extract_if(.., |file| place(file, &prefix).is_none()).collect::<Vec<_>>();
    if let Some(first) = others.first() {
        notes.push(format!("{} and {} more of other names are left out", listing::name(first), others.len() - 1));
    }
    let mut views = Frames::all({
        let (mut files, count) = (parts.views, told("TOMO_N")?);
        if let Some(count) = count.filter(|&count| files.len() > 1 && count < files.len()) {
            behind(&mut files, count, &mut notes);
        }
        if !input.each_angle() {
            listing::complete(&files)?;
        }
        of_files(Kind::Edf, files)?
    });
    if let Some(count) = told("TOMO_N")? {
        let there = views.which.len();
        ensure!(count > 0 && count <= there, "TOMO_N is {count}, and there are {there} projections");
        if count < there {
            notes.push(format!("{} frames behind TOMO_N are left out", there - count));
        }
        views.which.truncate(count);
    }
    let count = views.which.len();
    let angles = match number("ScanRange")? {
        // The last view is a step before the end.
        Some(range) => (0..count).map(|k| (k as f64 * range / count as f64).to_radians()).collect(),
        None => half_turn(count),
    };
    if number("ScanRange")?.is_none() && input.angles.is_none() {
        notes.push("angles are half a turn, its end left out, for want of a .info file: --angles tells them".into());
    }
    let mut groups = Vec::new();
    if input.flats.is_empty() {
        if !parts.medians.is_empty() && !parts.flats.is_empty() {
            notes.push("flats are those called refHST; ref0000_0000.edf and others are left out".into());
        }
        let flats = if parts.medians.is_empty() { parts.flats } else { parts.medians };
        for (position, files) in flats {
            groups.push(Flats { frames: Frames::all(of_files(Kind::Edf, files)?), position: position.min(count) });
        }
    }
    let mut darks = None;
    if input.darks.is_none() && !parts.means.is_empty() {
        darks = Some(Frames::all(of_files(Kind::Edf, parts.means)?));
    } else if input.darks.is_none() && !parts.sums.is_empty() {
        let name = listing::name(&parts.sums[0]);
        let frames = Frames::all(of_files(Kind::Edf, parts.sums)?);
        ensure!(frames.which.len() == 1, "there are several sums of darks, {name} and others: --darks names one");
        let summed = told("DARK_N")?.filter(|&n| n > 0);
        let summed = summed.with_context(|| {
            format!("{name} is a sum of darks, and no .info file tells of how many (DARK_N): --darks names others")
        })?;
        notes.push(format!("darks: {name} as the sum of {summed}"));
        let source = Arc::new(Converted::new(frames.source, 1.0 / summed as f32));
        darks = Some(Frames { source, which: frames.which });
    }
    let pixel = match number("PixelSize") {
        Ok(None) => Pixel::Untold,
        Ok(Some(side)) => units::pixel(side, None, "um"),
        Err(error) => Pixel::Unread(format!("{error:#}")),
    };
    Ok(Scan {
        format: "EDF images",
        title: Some(prefix),
        views,
        angles,
        flats: groups,
        darks,
        pixel,
        kind: None,
        notes,
    })
}

/// Leaves the files behind so many out: they show the first views again.
fn behind(files: &mut Vec<PathBuf>, count: usize, notes: &mut Vec<String>) {
    let names: Vec<_> = files.drain(count..).map(|file| listing::name(&file)).collect();
    notes.push(format!("behind TOMO_N, left out: {}", names.join(", ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_files_that_are_damaged() {
        let text = "Prefix=  bone_\nTOMO_N=   1500\nREF_ON= 500\nScanRange=  180.0\nPixelSize= 0.7\n";
        let info = Info::parse(text);
        assert_eq!(info.count("TOMO_N").expect("a number"), Some(1500));
        assert_eq!(info.number("pixelsize").expect("a number"), Some(0.7));
        assert_eq!(info.number("Nothing").expect("nothing"), None);
        crate::mutations::each(text.as_bytes(), |bytes| {
            let info = Info::parse(&String::from_utf8_lossy(bytes));
            // Errors are in order, others are not.
            let _ = (info.count("TOMO_N"), info.number("ScanRange"), info.number("PixelSize"));
        });
    }
}

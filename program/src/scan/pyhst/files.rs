//! The scan that a parameter file describes.

use super::{Parameters, unquoted};
use crate::frames::{Frames, Kind, of_dataset, of_files};
use crate::scan::{Flats, Input, Pixel, Scan, listed, units};
use anyhow::{Context, Result, bail, ensure};
use hdf5_metno::File;
use std::path::{Path, PathBuf};

/// Files of a series, by the keys that tell of it.
struct Series {
    /// The first file's name without number and what follows, as it was found.
    prefix: PathBuf,
    width: usize,
    postfix: String,
}

impl Series {
    /// Of keys that begin so; with the number of the first file.
    fn new(parameters: &Parameters, before: &str, prefix: &str, first: usize) -> Result<Self> {
        let key = |key: &str| format!("{before}{key}");
        let varies = parameters.yes(&key("NUMBER_LENGTH_VARIES"))?;
        let width = parameters.count(&key("LENGTH_OF_NUMERICAL_PART"))?.unwrap_or(4);
        ensure!(width <= 20, "{} is {width}; numbers have up to 20 digits", key("LENGTH_OF_NUMERICAL_PART"));
        let width = if varies { 0 } else { width };
        let postfix = parameters.get(&key("FILE_POSTFIX")).or(parameters.get(&key("POSTFIX"))).unwrap_or(".edf");
        let rest = format!("{first:0width$}{postfix}");
        let found = parameters.file(prefix, &rest)?;
        let found = found.to_string_lossy().into_owned();
        let prefix = PathBuf::from(found.strip_suffix(&rest).unwrap_or(&found));
        Ok(Self { prefix, width, postfix: postfix.into() })
    }

    fn file(&self, number: usize) -> Result<PathBuf> {
        let Self { width, postfix, .. } = self;
        let path = PathBuf::from(format!("{}{number:0width$}{postfix}", self.prefix.display(), width = *width));
        ensure!(path.exists(), "{} is missing", path.display());
        Ok(path)
    }
}

/// How far numbers of files are apart.
fn interval(parameters: &Parameters, key: &str) -> Result<usize> {
    let interval = parameters.count(key)?.unwrap_or(1);
    ensure!(interval > 0, "{key} is 0; it must be 1 or more");
    Ok(interval)
}

/// One file as a stack of its images.
fn stack(paths: Vec<PathBuf>) -> Result<Frames> {
    let first = paths.first().context("there are no files")?;
    let kind = Kind::of(first).with_context(|| format!("{} is neither TIFF nor EDF", first.display()))?;
    Ok(Frames::all(of_files(kind, paths)?))
}

/// A dataset of an HDF5 file.
fn dataset(file: &Path, name: &str) -> Result<Frames> {
    let told = || format!("reading {}:{name}", file.display());
    let dataset = File::open(file).and_then(|file| file.dataset(name)).with_context(told)?;
    Ok(Frames::all(of_dataset(dataset).with_context(told)?))
}

/// Images of one file that a key names: of a dataset of it, if another key names one.
fn images(parameters: &Parameters, key: &str, dataset_key: &str) -> Result<Frames> {
    let file = parameters.file(key, "")?;
    match parameters.get(dataset_key) {
        Some(name) => dataset(&file, name),
        None => stack(vec![file]),
    }
}

/// Projections with these numbers, and what they are called.
fn projections(parameters: &Parameters, first: usize, last: usize, interval: usize) -> Result<(Frames, String)> {
    let numbers = (first..=last).step_by(interval);
    if parameters.get("PROJ_DS_NAME").is_some() {
        let mut frames = images(parameters, "FILE_PREFIX", "PROJ_DS_NAME")?;
        let there = frames.which.len();
        ensure!(last < there, "NUM_LAST_IMAGE is {last}, and there are {there} frames, counted from 0");
        frames.which = numbers.collect();
        return Ok((frames, parameters.get("FILE_PREFIX").unwrap_or_default().into()));
    }
    let series = Series::new(parameters, "", "FILE_PREFIX", first)?;
    let frames = stack(numbers.map(|number| series.file(number)).collect::<Result<_>>()?)?;
    Ok((frames, series.prefix.file_name().unwrap_or_default().to_string_lossy().into_owned()))
}

/// All but the frames.
pub fn scan(path: &Path, input: &Input) -> Result<Scan> {
    let parameters = Parameters::read(path)?;
    read(&parameters, input).with_context(|| path.display().to_string())
}

pub fn read(parameters: &Parameters, input: &Input) -> Result<Scan> {
    let first = parameters.count("NUM_FIRST_IMAGE")?.unwrap_or(0);
    let last = parameters.count("NUM_LAST_IMAGE")?.context("NUM_LAST_IMAGE is not said")?;
    ensure!(first <= last, "NUM_FIRST_IMAGE is {first} and NUM_LAST_IMAGE {last}");
    let interval = interval(parameters, "FILE_INTERVAL")?;
    let (views, title) = projections(parameters, first, last, interval)?;
    let [_, rows, bins] = views.source.shape();
    for (key, side) in [("NUM_IMAGE_1", bins), ("NUM_IMAGE_2", rows)] {
        if let Some(told) = parameters.count(key)? {
            ensure!(told == side, "{key} is {told}, and the projections have {rows} rows of {bins} bins");
        }
    }
    let count = views.which.len();
    let offset = parameters.number("ANGLE_OFFSET")?.unwrap_or(0.0);
    let angles = match (parameters.get("ANGLES_FILE"), parameters.number("ANGLE_BETWEEN_PROJECTIONS")?) {
        (Some(_), _) => {
            let listed = listed(&parameters.file("ANGLES_FILE", "")?)?;
            listed.into_iter().map(|angle| angle + offset.to_radians()).collect()
        }
        (None, Some(step)) => (0..count).map(|k| (offset + k as f64 * step).to_radians()).collect(),
        (None, None) if input.angles.is_some() => vec![0.0; count],
        (None, None) => bail!("ANGLE_BETWEEN_PROJECTIONS is not said, nor ANGLES_FILE, nor --angles"),
    };
    let mut flats = Vec::new();
    if parameters.yes("CORRECT_FLATFIELD")? && input.flats.is_empty() {
        flats = flats_of(parameters, first, interval, count)?;
    }
    let mut darks = None;
    if parameters.yes("SUBTRACT_BACKGROUND")? && input.darks.is_none() {
        darks = Some(images(parameters, "BACKGROUND_FILE", "BACKGROUND_DS_NAME")?);
    }
    let pixel = match parameters.number("IMAGE_PIXEL_SIZE_1") {
        Ok(None) => Pixel::Untold,
        Ok(Some(side)) => units::pixel(side, None, "um"),
        Err(error) => Pixel::Unread(format!("{error:#}")),
    };
    Ok(Scan {
        format: "PyHST parameters",
        title: Some(title),
        views,
        angles,
        flats,
        darks,
        pixel,
        kind: None,
        notes: Vec::new(),
    })
}

/// Flats at their places, which count from the first projection that is used.
fn flats_of(parameters: &Parameters, first: usize, step: usize, views: usize) -> Result<Vec<Flats>> {
    if !parameters.yes("FLATFIELD_CHANGING")? {
        let frames = images(parameters, "FLATFIELD_FILE", "FF_DS_NAME")?;
        return Ok(vec![Flats { frames, position: 0 }]);
    }
    let place = |number: usize| number.saturating_sub(first).div_ceil(step).min(views);
    let apart = interval(parameters, "FF_FILE_INTERVAL")?;
    let start = parameters.count("FF_NUM_FIRST_IMAGE")?.unwrap_or(0);
    if let Some(name) = parameters.get("FF_DS_NAME") {
        // A list of files in brackets.
        let files = parameters.get("FF_PREFIX").context("FF_PREFIX is not said")?.trim_matches(['[', ']']).split(',');
        let group = |(k, file): (usize, &str)| {
            let frames = dataset(&parameters.found("FF_PREFIX", unquoted(file), "")?, name)?;
            Ok(Flats { frames, position: place(k.saturating_mul(apart).saturating_add(start)) })
        };
        return files.enumerate().map(group).collect();
    }
    let end = parameters.count("FF_NUM_LAST_IMAGE")?.context("FF_NUM_LAST_IMAGE is not said")?;
    let series = Series::new(parameters, "FF_", "FF_PREFIX", start)?;
    let group = |number: usize| Ok(Flats { frames: stack(vec![series.file(number)?])?, position: place(number) });
    (start..=end).step_by(apart).map(group).collect()
}

//! The scan that a parameter file describes.

use super::Parameters;
use crate::frames::{Frames, Kind, of_files};
use crate::scan::{Flats, Input, Scan, listed};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

/// Files of a series, by the keys that tell of it.
struct Series<'a> {
    parameters: &'a Parameters,
    /// The first file's name without number and what follows, as it was found.
    prefix: PathBuf,
    width: usize,
    postfix: String,
}

impl<'a> Series<'a> {
    /// Of keys that begin so; with the number of the first file.
    fn new(parameters: &'a Parameters, before: &str, prefix: &str, first: usize) -> Result<Self> {
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
        Ok(Self { parameters, prefix, width, postfix: postfix.into() })
    }

    fn file(&self, number: usize) -> Result<PathBuf> {
        let Self { width, postfix, .. } = self;
        let path = PathBuf::from(format!("{}{number:0width$}{postfix}", self.prefix.display(), width = *width));
        ensure!(path.exists(), "{} is missing", path.display());
        Ok(path)
    }

    fn interval(&self, key: &str) -> Result<usize> {
        let interval = self.parameters.count(key)?.unwrap_or(1);
        ensure!(interval > 0, "{key} is 0; it must be 1 or more");
        Ok(interval)
    }
}

/// One file as a stack of its images.
fn stack(paths: Vec<PathBuf>) -> Result<Frames> {
    let first = paths.first().context("there are no files")?;
    let kind = Kind::of(first).with_context(|| format!("{} is neither TIFF nor EDF", first.display()))?;
    Ok(Frames::all(of_files(kind, paths)?))
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
    let series = Series::new(parameters, "", "FILE_PREFIX", first)?;
    let interval = series.interval("FILE_INTERVAL")?;
    let numbers = (first..=last).step_by(interval);
    let views = stack(numbers.map(|number| series.file(number)).collect::<Result<_>>()?)?;
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
        darks = Some(stack(vec![parameters.file("BACKGROUND_FILE", "")?])?);
    }
    let pixel = parameters.number("IMAGE_PIXEL_SIZE_1")?.filter(|&um| um > 0.0).map(|um| um * 1e-3);
    let title = series.prefix.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Scan { format: "PyHST parameters", title, views, angles, flats, darks, pixel, notes: Vec::new() })
}

/// Flats at their places, which count from the first projection that is used.
fn flats_of(parameters: &Parameters, first: usize, interval: usize, views: usize) -> Result<Vec<Flats>> {
    if !parameters.yes("FLATFIELD_CHANGING")? {
        let frames = stack(vec![parameters.file("FLATFIELD_FILE", "")?])?;
        return Ok(vec![Flats { frames, position: 0 }]);
    }
    let start = parameters.count("FF_NUM_FIRST_IMAGE")?.unwrap_or(0);
    let end = parameters.count("FF_NUM_LAST_IMAGE")?.context("FF_NUM_LAST_IMAGE is not said")?;
    let series = Series::new(parameters, "FF_", "FF_PREFIX", start)?;
    let numbers = (start..=end).step_by(series.interval("FF_FILE_INTERVAL")?);
    let group = |number: usize| {
        let position = number.saturating_sub(first).div_ceil(interval).min(views);
        Ok(Flats { frames: stack(vec![series.file(number)?])?, position })
    };
    numbers.map(group).collect()
}

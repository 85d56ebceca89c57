//! Angles of projections: in files of text, in datasets, or of the first and the last; and the unit that they are in.

mod log;
mod table;
mod text;

use super::numbers::{self, units};
use super::place::{Place, Wanted};
use crate::frames::Frames;
use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Degrees,
    Radians,
}

/// Fewer angles than these may lie within a few degrees.
const MANY: usize = 20;
/// What a turn is in radians, and a little more: so many degrees are no scan.
const TURN: f64 = 6.6;
/// Radians that no scan goes through: eight turns.
const TURNS: f64 = 50.0;

impl Unit {
    /// By its name; degrees where there is none.
    fn named(name: &str) -> Result<Self> {
        match name.to_lowercase().as_str() {
            "deg" | "degs" | "degree" | "degrees" | "\u{b0}" => Ok(Self::Degrees),
            "rad" | "rads" | "radian" | "radians" => Ok(Self::Radians),
            _ => bail!(
                "angles are in \"{name}\"; degrees and radians are known: --angle-unit says which, or --angles tells others"
            ),
        }
    }
}

/// Angles as they are written.
#[derive(Debug, Default, PartialEq)]
pub struct Angles {
    pub values: Vec<f64>,
    /// What is said of their unit.
    pub unit: Option<String>,
    /// What was left out, in words.
    pub note: Option<String>,
}

impl Angles {
    /// Of a list without a unit.
    pub fn new(values: Vec<f64>) -> Self {
        Self { values, unit: None, note: None }
    }

    /// Of a dataset.
    pub fn of_dataset(dataset: &hdf5_metno::Dataset) -> Result<Self> {
        let values = numbers::all(dataset).with_context(|| format!("reading {}", dataset.name()))?;
        Ok(Self { values, unit: units(dataset), note: None })
    }

    /// Those of some frames.
    pub fn of(mut self, frames: &[usize]) -> Self {
        self.values = frames.iter().filter_map(|&frame| self.values.get(frame).copied()).collect();
        self
    }

    /// The least and the largest.
    pub fn range(&self) -> [f64; 2] {
        self.values.iter().fold([f64::MAX, f64::MIN], |[low, high], a| [low.min(*a), high.max(*a)])
    }

    /// In radians: by the unit that is given, or said of them; degrees where neither is, unless they cannot be.
    pub fn radians(self, given: Option<Unit>) -> Result<Vec<f64>> {
        let told = self.unit.as_deref().filter(|_| given.is_none()).map(Unit::named).transpose()?;
        let [low, high] = self.range();
        let many = self.values.len() >= MANY;
        let told_range = || format!("angles go from {low} to {high} over {} projections", self.values.len());
        match (given.or(told), high - low) {
            (None, range) if many && range > 0.0 && range <= TURN => bail!(
                "{}, and nothing says their unit; that is no scan in degrees: --angle-unit radians, or degrees if they are",
                told_range()
            ),
            (Some(Unit::Radians), range) if given.is_none() && range > TURNS => bail!(
                "{}, said to be in radians, which is more than eight turns: --angle-unit degrees, or radians if they are",
                told_range()
            ),
            (Some(Unit::Radians), _) => Ok(self.values),
            _ => Ok(self.values.into_iter().map(f64::to_radians).collect()),
        }
    }
}

/// Two numbers with two points between.
pub fn range(text: &str) -> Option<[f64; 2]> {
    let (first, last) = text.split_once("..")?;
    Some([first.trim().parse().ok()?, last.trim().parse().ok()?])
}

/// Those that are given beside a scan, for its projections, in radians, and what is to be said of them.
pub fn given(text: &str, scan: &Path, projections: &Frames, unit: Option<Unit>) -> Result<(Vec<f64>, Option<String>)> {
    let [frames, views] = [projections.source.shape()[0], projections.which.len()];
    let mut angles = match range(text) {
        Some([first, last]) => {
            let step = (last - first) / (views.max(2) - 1) as f64;
            let values: Vec<_> = (0..views).map(|k| first + k as f64 * step).collect();
            ensure!(values.iter().all(|angle| angle.is_finite()), "{text}: finite numbers are expected");
            Angles::new(values)
        }
        None => match Place::of(Path::new(text), scan, Wanted::Lists(&[views, frames]))? {
            Place::Files(path) => of_text(&path)?,
            Place::Dataset(dataset, _) => Angles::of_dataset(&dataset)?,
        },
    };
    // Of flats and darks as well, which the scan's keys tell.
    if angles.values.len() == frames && frames != views {
        angles = angles.of(&projections.which);
    }
    let note = angles.note.take();
    Ok((angles.radians(unit).with_context(|| text.to_string())?, note))
}

/// Of a file of text.
fn of_text(path: &Path) -> Result<Angles> {
    let told = || path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| {
        format!(
            "reading {} (expected are two numbers, as in 0..180, a file of text, or FILE:/dataset of an HDF5 file)",
            path.display()
        )
    })?;
    ensure!(!bytes.starts_with(b"\x89HDF"), "{0} is an HDF5 file: {0}:/dataset names its angles", path.display());
    text::decode(&bytes).and_then(|text| text::parse(&text)).with_context(told)
}

/// Of a file of text of which a format says that its angles are in degrees, in radians.
pub fn listed(path: &Path) -> Result<Vec<f64>> {
    of_text(path)?.radians(Some(Unit::Degrees))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{PI, TAU};

    fn of(last: f64, count: usize, unit: Option<&str>) -> Angles {
        let values = (0..count).map(|k| last * k as f64 / (count - 1) as f64).collect();
        Angles { values, unit: unit.map(str::to_string), note: None }
    }

    #[test]
    fn units_are_told_or_given() {
        let last = |angles: Angles, given| angles.radians(given).map(|angles| angles[angles.len() - 1]);
        for name in ["rad", "Radian", "radians"] {
            assert_eq!(last(of(3.0, 100, Some(name)), None).expect("angles"), 3.0, "{name}");
        }
        for name in [None, Some("deg"), Some("degree"), Some("Degrees"), Some("\u{b0}")] {
            assert_eq!(last(of(180.0, 100, name), None).expect("angles"), 180f64.to_radians(), "{name:?}");
        }
        // What is given wins.
        assert_eq!(last(of(3.0, 100, Some("deg")), Some(Unit::Radians)).expect("angles"), 3.0);
        assert_eq!(last(of(3.0, 100, Some("mm")), Some(Unit::Degrees)).expect("angles"), 3f64.to_radians());
        assert!(of(3.0, 100, Some("mm")).radians(None).is_err_and(|e| e.to_string().contains("--angle-unit")));
    }

    #[test]
    fn what_cannot_be_in_a_unit_is_not_guessed() {
        for last in [PI, TAU] {
            let error = of(last, 180, None).radians(None).expect_err("no unit").to_string();
            assert!(error.contains("--angle-unit radians") && error.contains("180 projections"), "{error}");
            assert!(of(last, 180, None).radians(Some(Unit::Degrees)).is_ok());
            assert!(of(last, 180, Some("deg")).radians(None).is_ok());
        }
        let error = of(180.0, 180, Some("rad")).radians(None).expect_err("57 half turns").to_string();
        assert!(error.contains("--angle-unit degrees"), "{error}");
        assert!(of(180.0, 180, Some("rad")).radians(Some(Unit::Radians)).is_ok());
        assert!(of(3.0, 4, None).radians(None).is_ok(), "four views of three degrees");
    }
}

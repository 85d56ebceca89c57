//! What DICOM has of a scan besides images and their places.

use super::{DicomOptions, Like};
use crate::pet::found::{Found, Quantified};
use crate::pet::options::Reconstruction;
use dicom_core::chrono::NaiveDateTime;

/// Corrections of an image, by the names of DICOM's elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Correction {
    Attenuation,
    Calibration,
    DeadTime,
    Motion,
    Normalization,
    Randoms,
    Scatter,
}

pub struct Scan<'a> {
    pub like: Like,
    /// None where it is not known.
    pub acquired: Option<NaiveDateTime>,
    /// From the time that the activity is told at to the start of the scan, s.
    pub delay: f64,
    pub corrections: Vec<Correction>,
    pub algorithm: &'static str,
    /// keV; 0 where it is not known.
    pub energy_window: [f64; 2],
    pub by_time_of_flight: bool,
    pub names: &'a [String],
    pub found: &'a [Found],
    /// What is told.
    pub doubt: &'a dyn Fn(String),
}

impl<'a> Scan<'a> {
    pub fn new(made: &'a Quantified, given: &Reconstruction, mut like: Like, doubt: &'a dyn Fn(String)) -> Self {
        let DicomOptions { like: path, acquired } = &given.dicom;
        let setting = |name: &str| made.settings.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value);
        let has_map = given.map.attenuation.is_some();
        let is_its = has_map && given.map.map_centre.is_none();
        if let Some(path) = path.as_ref().filter(|_| !is_its || like.frame.is_empty()) {
            doubt(match is_its {
                true => format!("{} has no frame of reference: the image has one of its own", path.display()),
                false => format!(
                    "the frame of reference of {} is not taken, since nothing says that the image is in it: it is where the map of attenuation was made of that scan and lies where its file says",
                    path.display()
                ),
            });
        }
        if !is_its {
            like.frame.clear();
            like.indicator.clear();
        }
        let corrections = [
            (Correction::Attenuation, has_map),
            (Correction::Calibration, given.activity.calibration != 1.0),
            (Correction::DeadTime, made.found.iter().any(|of| of.alive != 1.0)),
            (Correction::Motion, !setting("motion").is_empty()),
            (Correction::Normalization, setting("efficiencies") != "1"),
            (Correction::Randoms, !given.method.no_randoms),
            (Correction::Scatter, has_map && given.method.scatter > 0),
        ];
        Self {
            acquired: acquired.or(like.acquired),
            like,
            delay: given.activity.delay,
            corrections: corrections.into_iter().filter(|(_, is_made)| *is_made).map(|(name, _)| name).collect(),
            algorithm: given.method.algorithm.name(),
            energy_window: made.energy_window,
            by_time_of_flight: made.by_time_of_flight,
            names: &made.names,
            found: &made.found,
            doubt,
        }
    }

    pub fn has(&self, correction: Correction) -> bool {
        self.corrections.contains(&correction)
    }
}

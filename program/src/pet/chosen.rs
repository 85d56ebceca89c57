//! What is given goes before what the file says, and what neither says is told.

use super::isotopes::{self, Isotope};
use super::options::ActivityOptions;
use super::petsird::{Opened, Said, Scanner, Turn};
use super::position::{NAMES, Position};
use super::told::general;
use crate::status::unreadable;
use anyhow::{Context, Result, anyhow, ensure};

/// What is given goes before what the file says.
pub(super) fn isotope(
    opened: &Opened,
    said: &Said,
    given: &ActivityOptions,
    doubt: &dyn Fn(String),
) -> Result<Isotope> {
    let Said { isotope: known, nuclide, .. } = said;
    let numbers = given.half_life.is_some() && given.branching.is_some();
    let found = match &given.isotope {
        Some(name) => {
            let found = isotopes::known(name);
            ensure!(
                found.is_some() || numbers,
                "--isotope {name} is none that is known; it must be one of {}, or give --half-life and --branching",
                isotopes::names()
            );
            if known.is_some() && *known != found {
                doubt(format!("--isotope is {name}, and the file's is {nuclide}"));
            }
            found
        }
        None if !nuclide.is_empty() && known.is_none() && !numbers => {
            let (path, names) = (opened.path.display(), isotopes::names());
            return Err(unreadable(anyhow!(
                "{path} names its isotope {nuclide}, which is not one that is known: give --isotope, one of {names}, or --half-life and --branching"
            )));
        }
        None if nuclide.is_empty() && !numbers => {
            doubt("the file does not name its isotope, which is taken to be F-18: give --isotope".into());
            isotopes::known("F-18")
        }
        None => known.clone(),
    };
    let name =
        found.as_ref().map(|one| one.name.clone()).or_else(|| given.isotope.clone()).unwrap_or_else(|| nuclide.clone());
    let half_life = given.half_life.or(found.as_ref().map(|one| one.half_life));
    let branching = given.branching.or(found.as_ref().map(|one| one.branching));
    let (half_life, branching) = half_life.zip(branching).context("an isotope without half-life")?;
    Ok(Isotope { name, half_life, branching })
}

pub(super) fn position(said: &Said, given: Option<Position>, doubt: &dyn Fn(String)) -> Position {
    let lies = &said.lies;
    if let Some(given) = given {
        if let Some(other) = said.position.filter(|other| *other != given) {
            doubt(format!("--position is {given}, and the file says that the patient lies {lies}, which is {other}"));
        }
        return given;
    }
    if said.position.is_none() && !lies.is_empty() {
        let names = NAMES.join(", ");
        doubt(format!(
            "the file says that the patient lies {lies}, which is none of {names}: HFS is taken, give --position"
        ));
    }
    said.position.unwrap_or_default()
}

pub(super) fn doubt_scanner(
    scanner: &Scanner,
    isotope: &Isotope,
    (has_map, scatters): (bool, bool),
    doubt: &dyn Fn(String),
) {
    if scanner.efficiencies.is_none() {
        doubt(
            "the file has no efficiencies of its crystals, so that they are taken to detect every photon: values are too small by the square of what they detect".into(),
        );
    }
    if !has_map {
        doubt("there is no map of attenuation: neither attenuation nor scatter is taken off".into());
    }
    let missing = [
        (scanner.energy_resolution == 0.0, "energy resolution", "0.11 of 511 keV", "--energy-resolution"),
        (scanner.window[1] == 0.0, "energy window", "435 to 585 keV", "--energy-window"),
    ];
    for (_, what, taken, option) in missing.into_iter().filter(|(missing, ..)| *missing && has_map && scatters) {
        doubt(format!("the file does not say its {what}, by which scatter is made: {taken} is taken, give {option}"));
    }
    if let Some(remark) = isotopes::remark(&isotope.name) {
        doubt(format!("{} {remark}", isotope.name));
    }
}

pub(super) fn doubt_header(said: &Said, scanner: &Scanner, doubt: &dyn Fn(String)) {
    if said.calibration != 1.0 {
        let factor = general(said.calibration, 6);
        doubt(format!(
            "the file's calibration factor, {factor}, is not used, which is one of line integrals: give --calibration, the activity of a phantom over what this makes of its scan"
        ));
    }
    let ([lower, upper], resolution) = (scanner.window, scanner.energy_resolution);
    if upper != 0.0 && !(lower < 511.0 && 511.0 < upper) {
        let [lower, upper] = [lower, upper].map(|v| general(v, 6));
        doubt(format!(
            "the file's energy window, {lower} to {upper} keV, does not have 511 keV, of which scatter is made: it may be in another unit"
        ));
    }
    if resolution > 1.0 {
        let resolution = general(resolution, 6);
        doubt(format!(
            "the file's energy resolution, {resolution} of 511 keV, is more than all of it: it may be in percent or keV"
        ));
    }
    if scanner.turn != Turn::NONE {
        let axis = ["x", "y", "z"][scanner.turn.0[2]];
        doubt(format!(
            "the scanner's axis is {axis} of the file: the image is along the file's axes, and the patient's position is of a patient along its z"
        ));
    }
}

//! What was given and chosen, in words.

use super::images::Volume;
use super::isotopes::Isotope;
use super::lattice::Lattice;
use super::options::{ActivityOptions, Reconstruction};
use super::petsird::Scanner;
use super::position::Position;
use super::solving::SMOOTHNESS;
use super::told::general;
use crate::stopwatch::Stopwatch;
use std::time::Duration;

/// All of it, and what each part took.
pub(super) fn computed_in(stopwatch: &Stopwatch) -> String {
    let seconds = |time: Duration| format!("{} s", general(time.as_secs_f64(), 3));
    let mut parts: Vec<(&str, Duration)> = Vec::new();
    for (name, taken) in stopwatch.stages() {
        match parts.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += *taken,
            None => parts.push((name, *taken)),
        }
    }
    let parts: Vec<_> = parts.into_iter().map(|(name, taken)| format!("{name} {}", seconds(taken))).collect();
    format!("{}: {}", seconds(stopwatch.elapsed()), parts.join(", "))
}

/// Names and values, those that there are.
pub(super) fn settings(
    lattice: &Lattice,
    [nz, ny, nx]: [usize; 3],
    scanner: &Scanner,
    given: &Reconstruction,
    (isotope, position): (&Isotope, Position),
    map: Option<&Volume>,
    shift: [f64; 3],
) -> Vec<(&'static str, String)> {
    let number = |v: f64| general(v, 6);
    let ([lower, upper], resolution) = (scanner.window.map(number), scanner.energy_resolution);
    let ActivityOptions { delay, .. } = given.activity;
    let smoothness = number(given.method.smoothness.unwrap_or(SMOOTHNESS));
    let algorithm = given.method.algorithm;
    let shifts = shift.map(|v| general(v, 4)).join(", ");
    let of_map = map.map_or("none".into(), |map| {
        let [mz, my, mx] = map.shape;
        let [voxel, centre] = [map.voxel, map.centre].map(|of| of.map(|v| general(v, 4)));
        format!("{mx} x {my} x {mz} voxels of {} mm, centre {} mm", voxel.join(" x "), centre.join(", "))
    });
    let of_energy = if resolution > 0.0 { format!(", resolution {}", general(resolution, 3)) } else { String::new() };
    let efficiencies = match (&given.scanner.efficiencies, &scanner.efficiencies) {
        (Some(_), _) => "as given",
        (None, Some(_)) => "of the file",
        (None, None) => "1",
    };
    let of_time = match lattice.tof_fwhm {
        0.0 => "no time of flight".into(),
        tof_fwhm => format!("{} ps", general(tof_fwhm, 4)),
    };
    let when = |is: bool, words: String| if is { words } else { String::new() };
    vec![
        ("lattice", format!("{nx} x {ny} x {nz} voxels of {} mm", number(lattice.voxel))),
        (
            "views",
            format!("{} azimuths x {} tilts to {} rad", lattice.azimuths, lattice.tilts, general(lattice.max_tilt, 3)),
        ),
        ("projector", lattice.projector.name().into()),
        ("response", format!("{of_time}, {} mm across", general(lattice.width, 3))),
        ("energy window", when(scanner.window[1] != 0.0, format!("{lower} to {upper} keV{of_energy}"))),
        ("gantry alignment", when(shift != [0.0; 3], format!("map and image are shifted by {shifts} mm"))),
        ("efficiencies", efficiencies.into()),
        ("attenuation", of_map),
        ("half-life, branching", format!("{} s, {}", number(isotope.half_life), general(isotope.branching, 4))),
        (
            "reference time",
            if delay > 0.0 {
                format!("{} s before the start of the scan", number(delay))
            } else {
                "start of the scan".into()
            },
        ),
        (
            "algorithm",
            format!("{}{}", algorithm.name(), when(algorithm.climbs(), format!(", smoothness {smoothness}"))),
        ),
        ("patient", position.to_string()),
    ]
}

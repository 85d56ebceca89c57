//! Words in the names of datasets, groups and columns.

use super::stack::{DARKS, FLATS};

/// Names of what turns the sample: of angles themselves, and of motors of which they are positions.
const ANGLES: [&str; 15] = [
    "angle",
    "angles",
    "ang",
    "theta",
    "thetas",
    "omega",
    "omegas",
    "rot",
    "rotation",
    "rotations",
    "rotm",
    "rotary",
    "diffrz",
    "hrrz",
    "somega",
];
/// Of numbers that belong to a rotation and are none of its places, nor of the detector's (two theta).
const NO_PLACES: [&str; 33] = [
    "velocity",
    "speed",
    "acceleration",
    "error",
    "errors",
    "std",
    "offset",
    "start",
    "end",
    "stop",
    "step",
    "range",
    "min",
    "max",
    "centre",
    "center",
    "axis",
    "time",
    "count",
    "encoder",
    "status",
    "index",
    "indices",
    "number",
    "delta",
    "dial",
    "timestamp",
    "epoch",
    "current",
    "temperature",
    "exposure",
    "energy",
    "two",
];
/// Of places to which a motor was sent.
const DEMANDS: [&str; 5] = ["set", "setpoint", "demand", "target", "requested"];
/// Of what a group is about, whose own name then tells what it is.
const VALUES: [&str; 9] =
    ["value", "values", "data", "position", "positions", "readback", "rbv", "angle", "positioner"];

/// Words of a name in small letters, without digits: of gts_theta, rotationAngle and "Rot Angle [deg]".
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in name.chars() {
        let begins = !before.is_alphabetic() || (c.is_uppercase() && before.is_lowercase());
        match words.last_mut().filter(|_| !begins) {
            Some(word) if c.is_alphabetic() => word.extend(c.to_lowercase()),
            _ if c.is_alphabetic() => words.push(c.to_lowercase().collect()),
            _ => {}
        }
        before = c;
    }
    words
}

pub fn has(name: &str, of: &[&str]) -> bool {
    words(name).iter().any(|word| of.contains(&word.as_str()))
}

/// The last part of a path, and that before it.
pub fn parts(path: &str) -> [&str; 2] {
    let mut parts = path.trim_matches('/').rsplit('/');
    [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()]
}

/// Whether a name is that of angles of the sample.
pub fn is_angle(name: &str) -> bool {
    let turns = |word: &String| ANGLES.contains(&word.as_str()) || word.ends_with("srot");
    words(name).iter().any(turns) && !has(name, &NO_PLACES)
}

/// Whether a dataset of this path holds them, by its name, or as the value of a motor of that name.
pub fn holds_angles(path: &str) -> bool {
    let [name, group] = parts(path);
    is_angle(name) || (is_angle(group) && has(name, &VALUES) && !has(name, &NO_PLACES))
}

/// Whether a name says nothing against places of a motor.
pub fn may_be_places(name: &str) -> bool {
    !has(name, &NO_PLACES)
}

/// Whether they are where a motor was sent, and not where it was.
pub fn is_demand(path: &str) -> bool {
    has(parts(path)[0], &DEMANDS)
}

/// Whether a path is that of flats, by the names of the dataset and of its group.
pub fn is_flats(path: &str) -> bool {
    of_kind(path, &FLATS, &DARKS)
}

pub fn is_darks(path: &str) -> bool {
    of_kind(path, &DARKS, &FLATS)
}

/// The nearest name that has one of either words decides.
fn of_kind(path: &str, words: &[&str], others: &[&str]) -> bool {
    let of = parts(path).into_iter().find(|name| has(name, words) || has(name, others));
    of.is_some_and(|name| has(name, words) && !has(name, others))
}

/// The unit of angles that a text names; nothing where it names none, or both.
pub fn radians(text: &str) -> Option<bool> {
    let radians = has(text, &["rad", "rads", "radian", "radians"]);
    let degrees = has(text, &["deg", "degs", "degree", "degrees"]) || text.contains('\u{b0}');
    (radians != degrees).then_some(radians)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_angles() {
        for path in [
            "/entry/imaging/gts_theta_value",
            "/entry/instrument/gts_theta/value",
            "/entry1/tomo_entry/sample/rotation_angle",
            "/1.1/measurement/hrsrot",
            "/angle",
            "/scan/rotationAngle",
            "/entry/instrument/ss1_rot/data",
            "/omegas",
        ] {
            assert!(holds_angles(path), "{path}");
        }
        for path in [
            "/entry/rotation/time",
            "/rot_axis",
            "/two_theta",
            "/entry/theta/velocity",
            "/protein",
            "/entry/data",
            "/a/rot_start",
        ] {
            assert!(!holds_angles(path), "{path}");
        }
        assert!(is_demand("/entry/imaging/gts_theta_value_set") && !is_demand("/entry/offset/theta"));
    }

    #[test]
    fn names_of_flats_and_darks() {
        for (path, flats, darks) in [
            ("/exchange/data_white", true, false),
            ("/exchange/data_dark", false, true),
            ("/entry/flats/data", true, false),
            ("/entry/flats/dark", false, true),
            ("/scan/flatField", true, false),
            ("/tomo_entry/instrument/detector/flatfield", true, false),
            ("/entry/data", false, false),
            ("/dark_of_flats", false, false),
        ] {
            assert_eq!((is_flats(path), is_darks(path)), (flats, darks), "{path}");
        }
    }

    #[test]
    fn units_in_names() {
        assert_eq!(radians("Rot Angle [rad]"), Some(true));
        assert_eq!(radians("PROJECTION ANGLE DEG"), Some(false));
        assert_eq!(radians("angle"), None);
        assert_eq!(radians("rad or deg"), None);
        assert_eq!(radians("gradient"), None);
    }
}

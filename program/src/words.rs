//! What libraries say, in the program's words: messages of Isocenter's name fields, functions and numbers of the C interface, which nobody gives
//! here, and those of HDF5 its functions.

use isocenter::error::{Error, Status};

/// Phrases, and what is said in their place.
const PHRASES: [(&str, &str); 26] = [
    (
        "Poisson data must not be (or set the NaN policy to replace)",
        "Poisson data must not be (--nan replace makes such values 0)",
    ),
    ("(iterative.normal 1, pair, does without)", "(--projector joseph does without)"),
    (
        "with neither two bounds (2, box) nor a regularisation above 0",
        "with neither --minimum and --maximum nor --regularisation above 0",
    ),
    (" and upper ", " and --maximum "),
    (", upper above 0,", ", --maximum above 0,"),
    ("gpu_memory_cap is", "the GPU's memory for the work is"),
    ("memory_cap is", "the memory for the work, half of --memory, is"),
    (
        "(or set the NaN policy to replace: such pixels are then 0)",
        "(--bad-pixels replaces such pixels by their neighbours)",
    ),
    ("; they must be finite", "; they must be finite (--bad-pixels replaces such pixels by their neighbours)"),
    ("(or set the NaN policy to replace)", "(--nan replace takes what is no number for air)"),
    (
        "options.input says what they are: 1 (counts, with a flat field), 2 (transmission), 3 (line_integrals)",
        "--input says what they are: counts, of a scan with flats, transmission, or line-integrals",
    ),
    (
        "turn it off, or set options.input to 1 (counts) or 2 (transmission)",
        "leave it out, or --input transmission says that they are transmissions",
    ),
    (
        "set options.input to 1 (counts), 2 (transmission) or 3 (line_integrals), or forget the flat field",
        "--input counts, --input transmission or --input line-integrals says which",
    ),
    (
        "counts and the plan has no flat field; isoc_ct_set_flat_field comes first",
        "numbers without flats: --flats names flats; --input transmission --full-beam VALUE is for what is corrected by flats, \
         --input line-integrals for what has passed the logarithm, too",
    ),
    ("isoc_ct_set_half_acquisition is for such scans", "--half-acquisition on is for such scans"),
    ("call isoc_ct_set_half_acquisition with NULL", "--half-acquisition off leaves them so"),
    ("options.eigenflats of isoc_ct_set_flat_field asks for them", "--eigenflats asks for them"),
    (", and isoc_ct_fit_flat_field has not seen that view since", ""),
    ("and by options.input no counts", "and no counts"),
    ("give output.low and output.high", "--window gives one"),
    ("output.low and output.high", "--window"),
    ("output.high - output.low", "the width of --window"),
    ("geometry.pixel_size / bin_pitch", "the side of a voxel over that of a pixel"),
    ("in the unit of bin_pitch", "in the unit of --pixel, or in bins"),
    ("phase.unsharp_sigma is", "--unsharp has the sigma"),
    ("kilovolts is", "--kilovolts is"),
];

/// Parts of the library's names before their point.
const PARTS: [&str; 13] = [
    "geometry",
    "options",
    "phase",
    "outliers",
    "stripes",
    "distortion",
    "output",
    "iterative",
    "response",
    "scanner",
    "prior",
    "scan",
    "blocks",
];

/// Names of fields, and the options that set them; of others the name alone is said.
const FIELDS: [(&str, &str); 71] = [
    ("geometry.axis", "--axis"),
    ("geometry.views", "the number of projections"),
    ("geometry.bins", "the number of bins"),
    ("geometry.rows", "the number of detector rows"),
    ("geometry.slices", "the number of slices"),
    ("geometry.nx", "the number of columns of a slice"),
    ("geometry.ny", "the number of rows of a slice"),
    ("geometry.bin_pitch", "--pixel"),
    ("geometry.pixel_size", "--pixel"),
    ("options.input", "--input"),
    ("options.bad_pixels", "--bad-pixels"),
    ("options.eigenflats", "--eigenflats"),
    ("options.tilt", "--tilt"),
    ("options.interpolation", "--interpolation"),
    ("options.algorithm", "--algorithm"),
    ("options.projector", "--projector"),
    ("options.cutoff", "--cutoff"),
    ("options.butterworth_order", "--butterworth-order"),
    ("options.response_count", "the number of values of --response"),
    ("options.minimum_transmission", "--minimum-transmission"),
    ("iterative.iterations", "--iterations"),
    ("iterative.subsets", "--subsets"),
    ("iterative.relaxation", "--relaxation"),
    ("iterative.lower", "--minimum"),
    ("iterative.upper", "--maximum"),
    ("iterative.mask_radius", "--support"),
    ("iterative.weighting", "--weights"),
    ("iterative.regularisation", "--regularisation"),
    ("iterative.ring_weight", "--ring-weight"),
    ("iterative.huber", "--huber"),
    ("iterative.tolerance", "--tolerance"),
    ("phase.energy_kev", "--energy"),
    ("phase.distance_mm", "--distance"),
    ("phase.pixel_um", "--pixel, in um,"),
    ("phase.delta_beta", "--delta-beta"),
    ("phase.fresnel", "the phase's Fresnel number"),
    ("phase.alpha", "--phase-alpha"),
    ("phase.unsharp_sigma", "the first number of --unsharp"),
    ("phase.unsharp_amount", "the second number of --unsharp"),
    ("outliers.window", "--outlier-window"),
    ("outliers.depth", "--outlier-depth"),
    ("outliers.threshold", "--outlier-threshold"),
    ("stripes.snr", "--snr"),
    ("stripes.large_window", "--large-window"),
    ("stripes.small_window", "--small-window"),
    ("stripes.alpha", "--stripe-alpha"),
    ("stripes.sigma", "--stripe-sigma"),
    ("distortion.tilt", "--tilt"),
    ("distortion.shift_count", "the number of lines of --shifts"),
    ("distortion.x_shifts", "--shifts"),
    ("distortion.y_shifts", "--shifts"),
    ("distortion.x_centre", "xcenter of --lens"),
    ("distortion.y_centre", "ycenter of --lens"),
    ("distortion.radial_count", "the number of factors of --lens"),
    ("output.low_percentile", "the first of --percentiles"),
    ("output.high_percentile", "the second of --percentiles"),
    ("output.mask_radius", "--mask"),
    ("geometry.azimuths", "--azimuths"),
    ("geometry.tilts", "--tilts"),
    ("geometry.max_tilt", "--max-tilt"),
    ("geometry.voxel_x", "--voxel"),
    ("geometry.voxel_y", "--voxel"),
    ("geometry.voxel_z", "--voxel"),
    ("response.tof_fwhm", "--tof-fwhm"),
    ("response.radial_fwhm", "--resolution"),
    ("response.axial_fwhm", "--resolution"),
    ("options.live", "--live"),
    ("options.branching", "--branching"),
    ("options.half_life", "--half-life"),
    ("options.delay", "--delay"),
    ("prior.strength", "--smoothness"),
];

/// Names of functions, and the options that call them.
const FUNCTIONS: [(&str, &str); 4] = [
    ("isoc_ct_set_outliers", "--outliers"),
    ("isoc_ct_set_phase", "--phase"),
    ("isoc_ct_set_output", "--depth"),
    ("isoc_ct_set_half_acquisition", "--half-acquisition"),
];

/// An error of the library, without the name that its status has there.
pub fn of_error(error: &Error) -> String {
    match error.status {
        // This program's own, which it gave to the library in a callback.
        Status::Callback => error.message.clone(),
        Status::Internal => format!("{} (a fault of the library, which its authors should know)", error.message),
        _ => of(&error.message),
    }
}

/// An error of HDF5, without the function that it comes from, and what that calls the file besides.
pub fn of_hdf5(message: &str) -> &str {
    let named = |name: &str| name.starts_with("H5") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let own = message.split_once("(): ").filter(|(name, _)| named(name)).map_or(message, |(_, own)| own);
    own.split(", temp_file_name").next().unwrap_or(own)
}

/// The same error, with the detector's row where it names one of some rows that were read for it: "flats[row, bin]", "projections[view, row,
/// bin]".
pub fn in_rows(mut error: Error, rows: &[usize]) -> Error {
    for (array, at) in [("flats[", 0), ("projections[", 1)] {
        let Some((places, rest)) = error.message.strip_prefix(array).and_then(|rest| rest.split_once(']')) else {
            continue;
        };
        let mut places: Vec<_> = places.split(", ").map(str::to_string).collect();
        let row = places.get(at).and_then(|place| rows.get(place.parse::<usize>().ok()?));
        if let Some(row) = row {
            places[at] = row.to_string();
            error.message = format!("{array}{}]{rest}", places.join(", "));
        }
    }
    error
}

/// A message of the library.
pub fn of(message: &str) -> String {
    let message = PHRASES.iter().fold(message.to_string(), |text, (said, ours)| text.replace(said, ours));
    let message = names(&message, &|name| {
        let listed = |names: &[(&str, &'static str)]| names.iter().find(|(of, _)| *of == name).map(|(_, ours)| *ours);
        if let Some(own) = listed(&FIELDS).or_else(|| listed(&FUNCTIONS)) {
            return Some(own.into());
        }
        let field = name.split_once('.').filter(|(part, field)| PARTS.contains(part) && !field.is_empty());
        let function = name.strip_prefix("isoc_").map(|rest| ("", rest));
        field.or(function).map(|(_, rest)| rest.replace('_', " "))
    });
    numbered(&message)
}

/// A text with other names in the places of those that have one: letters, digits, underscores and points inside.
fn names(text: &str, other: &dyn Fn(&str) -> Option<String>) -> String {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let (mut made, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(inside) {
        let end = rest[at..].find(|c| !inside(c)).map_or(rest.len(), |end| at + end);
        let name = rest[at..end].trim_end_matches('.');
        made += &rest[..at];
        made += &other(name).unwrap_or_else(|| name.into());
        made += &rest[at + name.len()..end];
        rest = &rest[end..];
    }
    made + rest
}

/// A text whose values of enumerations, as in "1 (opposite_views)", are words alone.
fn numbered(text: &str) -> String {
    let (mut made, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(" (") {
        let before = rest[..at].trim_end_matches(|c: char| c.is_ascii_digit());
        let word = rest[at + 2..].find(')').map(|end| &rest[at + 2..at + 2 + end]);
        let word = word.filter(|word| {
            let separate = before.ends_with(' ') && before.len() < at;
            separate && !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        });
        match word {
            Some(word) => {
                made += before;
                made += &word.replace('_', "-");
                rest = &rest[at + word.len() + 3..];
            }
            None => {
                made += &rest[..at + 2];
                rest = &rest[at + 2..];
            }
        }
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// What no message of the program has in it.
    fn strange(text: &str) -> Option<String> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        let named = |word: &str| {
            PARTS.iter().any(|part| {
                word.strip_prefix(part).is_some_and(|w| w.starts_with(".x") || w.len() > 2 && w.starts_with('.'))
            })
        };
        let mut words = words.filter(|word| word.starts_with("isoc_") || named(word));
        words.next().map(str::to_string).or_else(|| text.contains("NaN policy").then(|| "NaN policy".into()))
    }

    /// Literal texts of a source, without those of its tests; what is put into a text is an x.
    fn texts(source: &str) -> Vec<String> {
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let lines: Vec<_> = lines.collect();
        let whole = lines.join("\n").replace("'\"'", "").replace("\\\"", "");
        let quoted = whole.split('"').skip(1).step_by(2);
        let filled = |text: &str| {
            let mut parts = text.split('{');
            let first = parts.next().unwrap_or_default().to_string();
            parts.fold(first, |text, part| text + "x" + part.split_once('}').map_or(part, |(_, rest)| rest))
        };
        quoted.map(filled).collect()
    }

    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && path.file_stem().is_some_and(|s| s != "tests") {
                found.extend(texts(&std::fs::read_to_string(&path).expect("a source")));
            }
        }
    }

    /// All that the library's sources say: none of it names the C interface after it has been put into other words.
    #[test]
    fn nothing_names_the_c_interface() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut found = Vec::new();
        ["ct/src", "base/src", "pet/src"].iter().for_each(|folder| sources(&crates.join(folder), &mut found));
        // Others are between two texts, where quotes were counted wrongly.
        found.retain(|text| !text.contains('\n') || strange(text).is_some());
        let said = found.iter().filter(|text| strange(text).is_some()).count();
        assert!(said > 80, "{said} of {}: the sources are not read as they should be", found.len());
        let left: Vec<_> = found.iter().filter_map(|text| Some((strange(&of(text))?, of(text)))).collect();
        assert!(left.is_empty(), "{left:#?}");
        // Phrases that the library does not use any more have no reason to be here.
        for (phrase, _) in PHRASES {
            assert!(found.iter().any(|text| text.contains(phrase)), "{phrase}");
        }
    }

    #[test]
    fn errors_of_hdf5() {
        assert_eq!(of_hdf5("H5Dopen2(): unable to open dataset: not there"), "unable to open dataset: not there");
        assert_eq!(
            of_hdf5("H5Dopen2(): unable to open file, file name = 'x', temp_file_name = 'x'"),
            "unable to open file, file name = 'x'"
        );
        assert_eq!(of_hdf5("a (): b"), "a (): b");
    }

    #[test]
    fn rows_of_the_detector() {
        let told = |message: &str| {
            let error = Error { status: Status::FlatField, message: message.into() };
            in_rows(error, &[10, 20, 30]).message
        };
        assert_eq!(told("flats[1, 5] is 0"), "flats[20, 5] is 0");
        assert_eq!(told("projections[4, 2, 5] is NaN"), "projections[4, 30, 5] is NaN");
        for other in ["flats[7, 5] is 0", "flats[", "flats[x, 5]", "projections[3]", "the flats"] {
            assert_eq!(told(other), other);
        }
    }

    #[test]
    fn other_words() {
        for (said, ours) in [
            ("geometry.views is 1; it must be 2", "the number of projections is 1; it must be 2"),
            ("options.method is 1 (opposite_views), and 3 (all).", "method is opposite-views, and all."),
            ("4 views (of 7) in geometry. Next", "4 views (of 7) in geometry. Next"),
            ("geometry.angles[3] is inf; it must", "angles[3] is inf; it must"),
            ("call isoc_ct_new first", "call ct new first"),
        ] {
            assert_eq!(of(said), ours);
        }
    }
}

//! Projections that are no measurement: left out, used, or an error.

use crate::folder::Folder;
use crate::scans::{PLANE, RUN, VIEWS, half_turn, isocenter, nxtomo, succeeds, volume};
use hdf5_metno::File;

/// Fills projections of a scan with one flat in front, or copies the one before where there is no value.
fn spoil(folder: &Folder, name: &str, faults: &[(usize, Option<u16>)]) {
    nxtomo(folder.path(name), &half_turn(VIEWS), &[0]);
    let file = File::open_rw(folder.path(name)).expect("a file");
    let data = file.dataset("entry/instrument/detector/data").expect("a dataset");
    let mut frames: Vec<u16> = data.read_raw().expect("frames");
    for (view, value) in faults {
        let at = (view + 2) * PLANE;
        match value {
            Some(value) => frames[at..at + PLANE].fill(*value),
            None => frames.copy_within(at - PLANE..at, at),
        }
    }
    data.write_raw(&frames).expect("frames");
}

fn fails(folder: &Folder, arguments: &[&str]) -> String {
    let output = isocenter(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    error
}

const FAULTS: [(usize, Option<u16>); 6] =
    [(10, Some(100)), (11, Some(0)), (12, Some(100)), (30, None), (31, None), (60, Some(65535))];

#[test]
fn bad_projections_are_left_out_by_themselves() {
    let folder = Folder::new("spoiled");
    spoil(&folder, "scan.nx", &FAULTS);
    let skip = ["--bad-views", "keep", "--skip", "10..13,30..32,60"];
    let expected = volume(&folder, "scan.nx", &skip);
    let output = isocenter(&folder, &[&["recon", "scan.nx"][..], &RUN, &["own.h5"]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let note =
        "projections 10..13 (black), 60 (saturated), 30..32 (frozen) are left out, as by --skip 10..13,30..32,60;";
    assert!(output.status.success() && told.contains(note), "{told}");
    let values = |name: &str| -> Vec<f32> {
        let file = File::open(folder.path(name)).expect("a volume");
        file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")
    };
    assert!(values("own.h5") == expected, "left out by itself, or by hand");
    assert!(volume(&folder, "scan.nx", &["--bad-views", "keep"]) != expected, "kept");
    // A plan knows them.
    let plan = std::fs::read_to_string(folder.path("own.toml")).expect("a plan");
    assert!(plan.contains("left_out = \"10..13,30..32,60\""), "{plan}");
    std::fs::remove_file(folder.path("own.h5")).expect("removed");
    succeeds(&folder, &["repeat", "own.toml", "--device", "cpu"]);
    assert!(values("own.h5") == expected, "once more");
    // Numbers are those of the scan, whatever else is left out.
    let words = ["--views", "5..91", "--skip", "7..9,30..32"];
    let output = isocenter(&folder, &[&["recon", "scan.nx"][..], &words, &RUN, &["part.h5"]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("10..13 (black), 60 (saturated) are left out, as by --skip 10..13,60;"), "{told}");
    let left = ["--bad-views", "keep", "--views", "5..91", "--skip", "7..9,10..13,30..32,60"];
    assert!(values("part.h5") == volume(&folder, "scan.nx", &left), "beside others");
}

#[test]
fn bad_projections_may_be_an_error() {
    let folder = Folder::new("refused");
    spoil(&folder, "scan.nx", &FAULTS);
    let error = fails(&folder, &[&["recon", "scan.nx", "--bad-views", "error"][..], &RUN, &["v.h5"]].concat());
    for word in ["10..13 (black)", "--skip 10..13,30..32,60", "--bad-views keep"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    // The search of the axis leaves them out, too.
    let error = fails(&folder, &["axis", "scan.nx", "--bad-views", "error"]);
    assert!(error.contains("10..13 (black)"), "{error}");
    let output = isocenter(&folder, &["axis", "scan.nx"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("10..13 (black)"), "{told}");
    // More than a third.
    let many: Vec<_> = (20..60).map(|view| (view, Some(100))).collect();
    spoil(&folder, "many.nx", &many);
    let error = fails(&folder, &[&["recon", "many.nx"][..], &RUN, &["v.h5"]].concat());
    assert!(error.contains("40 of 91 projections are no measurement, 20..60 (black)"), "{error}");
    assert!(!folder.path("v.h5").exists());
}

#[test]
fn clean_and_doubtful_projections_are_used() {
    let folder = Folder::new("doubtful");
    spoil(&folder, "scan.nx", &[]);
    let arguments = [&["recon", "scan.nx"][..], &RUN, &["v.h5"]].concat();
    let told = String::from_utf8_lossy(&isocenter(&folder, &arguments).stderr).into_owned();
    assert!(!told.contains("projections"), "{told}");
    let plan = std::fs::read_to_string(folder.path("v.toml")).expect("a plan");
    assert!(!plan.contains("left_out"), "{plan}");
    // Each of the plans of a run sees a gap.
    let skipped = [&["recon", "scan.nx", "--skip", "10..14"][..], &RUN, &["part.h5"]].concat();
    let told = String::from_utf8_lossy(&isocenter(&folder, &skipped).stderr).into_owned();
    assert_eq!(told.matches("short gap(s)").count(), 1, "{told}");
    spoil(&folder, "scan.nx", &[(40, Some(3000))]);
    let output = isocenter(&folder, &arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let note =
        "projections 40 are far darker or brighter than those beside them, and are used; --skip 40 leaves them out";
    assert!(output.status.success() && told.contains(note), "{told}");
}

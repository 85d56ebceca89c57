//! Which entry of an HDF5 file is the scan, and what else it says.

use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::File;

#[test]
fn entries_are_found_and_named() {
    let folder = Folder::new("entries");
    nxtomo(folder.path("plain.nx"), &half_turn(VIEWS), &[0]);
    let expected = volume(&folder, "plain.nx", &[]);
    // As Diamond has it, and once more under another name.
    {
        let file = File::create(folder.path("nested.nxs")).expect("a file");
        file.create_group("entry1").expect("a group");
        nxtomo_entry(&file, "entry1/tomo_entry", &half_turn(VIEWS), &[0]);
        let detector = file.group("entry1/tomo_entry/instrument/detector").expect("a group");
        let place = detector.new_dataset::<f64>().create("x_rotation_axis_pixel_position").expect("a dataset");
        place.write_scalar(&-0.8).expect("a number");
    }
    same(&volume(&folder, "nested.nxs", &[]), &expected, "a nested entry");
    assert!(succeeds(&folder, &["inspect", "nested.nxs"]).contains("x_rotation_axis_pixel_position is -0.8"));
    let file = File::append(folder.path("nested.nxs")).expect("a file");
    file.link_hard("entry1/tomo_entry", "again").expect("a link");
    drop(file);
    same(&volume(&folder, "nested.nxs", &[]), &expected, "one entry of two names");
    let file = File::append(folder.path("nested.nxs")).expect("a file");
    nxtomo_entry(&file, "other", &half_turn(31), &[0]);
    drop(file);
    for (words, word) in [
        (vec!["inspect", "nested.nxs"], "again, entry1/tomo_entry, other"),
        (vec!["inspect", "nested.nxs", "--entry", "entry"], "are again, entry1/tomo_entry, other"),
        (vec!["inspect", "bone.tif", "--entry", "entry"], "no HDF5 file"),
    ] {
        let output = isocenter(&folder, &words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(word), "{words:?}: {error}");
    }
    same(&volume(&folder, "nested.nxs", &["--entry", "/entry1"]), &expected, "a named entry");
    assert!(succeeds(&folder, &["inspect", "nested.nxs", "--entry", "other"]).contains("31 of 6 rows"));
}

/// A Data Exchange file of the Advanced Photon Source without flats and angles.
fn exchange(folder: &Folder) {
    let file = File::create(folder.path("exchange.h5")).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let frames: Vec<u16> =
        half_turn(VIEWS).iter().enumerate().flat_map(|(k, a)| projection(k, a.to_radians())).collect();
    let data = exchange.new_dataset::<u16>().shape([VIEWS, ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(&frames).expect("frames");
    let objective = file.create_group("measurement/instrument/detection_system/objective").expect("a group");
    objective.new_dataset::<f64>().create("resolution").and_then(|d| d.write_scalar(&0.69)).expect("a number");
}

/// The side of a pixel that files of the Advanced Photon Source have; flats, darks and angles of other files.
#[test]
fn what_is_said_goes_before_the_file() {
    let folder = Folder::new("said");
    nxtomo(folder.path("plain.nx"), &half_turn(VIEWS), &[0]);
    exchange(&folder);
    assert!(succeeds(&folder, &["inspect", "exchange.h5"]).contains("0.00069 mm"));
    write_edf(&folder, "flat.edf", &[&flat(0)]);
    write_edf(&folder, "dark.edf", &[&DARK]);
    let words = ["--flats", "flat.edf", "--darks", "dark.edf", "--pixel", "1"];
    same(&volume(&folder, "exchange.h5", &words), &volume(&folder, "plain.nx", &["--pixel", "1"]), "flats of EDF");
}

//! Darks and flats that are not what their datasets and names seem to say.

use crate::files::PLAIN;
use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::File;

/// A Data Exchange file with so many flats and darks; none of a kind that is not there.
fn exchange(folder: &Folder, flats: Option<usize>, darks: Option<usize>) {
    let file = File::create(folder.path("scan.h5")).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let views: Vec<u16> =
        half_turn(VIEWS).iter().enumerate().flat_map(|(k, a)| projection(k, a.to_radians())).collect();
    let write = |name: &str, frames: &[u16]| {
        let shape = [frames.len() / PLANE, ROWS, BINS];
        let to = exchange.new_dataset::<u16>().shape(shape).create(name).expect("a dataset");
        if !frames.is_empty() {
            to.write_raw(frames).expect("frames");
        }
    };
    write("data", &views);
    for (name, count, frame) in [("data_white", flats, flat(0)), ("data_dark", darks, DARK.to_vec())] {
        if let Some(count) = count {
            write(name, &frame.repeat(count));
        }
    }
}

/// Datasets of no frames are as if they were not there.
#[test]
fn datasets_without_frames() {
    let folder = Folder::new("no-frames");
    exchange(&folder, Some(1), None);
    let expected = volume(&folder, "scan.h5", &[]);
    exchange(&folder, Some(1), Some(0));
    same(&volume(&folder, "scan.h5", &[]), &expected, "no darks");
    assert!(succeeds(&folder, &["inspect", "scan.h5"]).contains("darks       0"));
    let refused = |flats: Option<usize>| {
        exchange(&folder, flats, Some(1));
        let output = isocenter(&folder, &[&["recon", "scan.h5"], &RUN[..], &["v.h5"]].concat());
        assert!(matches!(output.status.code(), Some(1 | 3)));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(refused(Some(0)), refused(None));
}

/// In neutron imaging di and dc are darks, ob and open are flats.
#[test]
fn names_of_neutron_imaging() {
    let folder = Folder::new("neutrons");
    std::fs::create_dir_all(folder.path("scan")).expect("a folder");
    for (k, angle) in half_turn(VIEWS).iter().enumerate() {
        write_tiff(&folder, &format!("scan/p_{k:03}.tif"), &projection(k, angle.to_radians()), PLAIN);
    }
    nxtomo(folder.path("whole.nx"), &half_turn(VIEWS), &[0]);
    let expected = volume(&folder, "whole.nx", &[]);
    for [flats, darks] in [["ob", "di"], ["OB", "DC"], ["open", "dark"], ["ff", "di"], ["white", "dc"], ["flat", "di"]]
    {
        let [flat_name, dark_name] = [flats, darks].map(|word| format!("scan/{word}_001.tif"));
        write_tiff(&folder, &flat_name, &flat(0), PLAIN);
        write_tiff(&folder, &dark_name, &DARK, PLAIN);
        same(&volume(&folder, "scan", &[]), &expected, flats);
        // Flats from elsewhere take the place of those in the folder, which is said.
        std::fs::copy(folder.path(&flat_name), folder.path("flat.tif")).expect("copied");
        same(&volume(&folder, "scan", &["--flats", "flat.tif"]), &expected, flats);
        let told = succeeds(&folder, &["inspect", "scan", "--flats", "flat.tif"]);
        assert!(told.contains("darks       1") && told.contains(&format!("{flats}_001.tif, flats by name")), "{told}");
        // Darks alone are no flats.
        std::fs::remove_file(folder.path(&flat_name)).expect("removed");
        let told = isocenter(&folder, &[&["recon", "scan"], &RUN[..], &["v.h5"]].concat());
        let error = String::from_utf8_lossy(&told.stderr);
        assert!(!told.status.success() && error.contains("without flats: --flats"), "{darks}: {error}");
        std::fs::remove_file(folder.path(&dark_name)).expect("removed");
    }
}

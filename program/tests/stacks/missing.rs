//! Lists and frames of HDF5 files that lie in other files, which are gone, and chunks that are not what they have to be.

use crate::folder::Folder;
use crate::readers::hdf5::write_chunk;
use crate::scans::*;
use hdf5_metno::{File, Group, Selection};

/// Keys, angles, flats and darks as virtual datasets.
#[test]
fn sources_that_are_gone() {
    let folder = Folder::new("missing");
    // The dataset of a file goes into one of its own, and is mapped from there.
    let moved = |scan: &str, name: &str, whole: &str| {
        let file = File::append(folder.path(scan)).expect("a file");
        let shape = file.dataset(whole).expect("a dataset").shape();
        let part = File::create(folder.path("part.h5")).expect("a file");
        let (group, last) = whole.rsplit_once('/').expect("a path");
        let group = file.group(group).expect("a group");
        macro_rules! of {
            ($type:ty) => {{
                let values = group.dataset(last).expect("a dataset").read_raw::<$type>().expect("values");
                let to = part.new_dataset::<$type>().shape(shape.clone()).create("values").expect("a dataset");
                to.write_raw(&values).expect("written");
                group.unlink(last).expect("removed");
                let builder = group.new_dataset_builder();
                let builder =
                    builder.virtual_map("part.h5", "values", shape.clone(), Selection::All, shape, Selection::All);
                builder.empty::<$type>().shape(part.dataset("values").expect("values").shape()).create(last)
            }};
        }
        let made = match name {
            "angles" => of!(f64),
            "keys" => of!(i32),
            _ => of!(u16),
        };
        made.expect("a dataset");
    };
    for (name, whole) in [
        ("keys", "entry/instrument/detector/image_key"),
        ("angles", "entry/sample/rotation_angle"),
        ("frames", "entry/instrument/detector/data"),
    ] {
        nxtomo(folder.path("scan.nx"), &half_turn(VIEWS), &[0]);
        let expected = volume(&folder, "scan.nx", &[]);
        moved("scan.nx", name, whole);
        same(&volume(&folder, "scan.nx", &[]), &expected, name);
        std::fs::remove_file(folder.path("part.h5")).expect("removed");
        let output = isocenter(&folder, &["inspect", "scan.nx"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("part.h5") && told.contains("missing"), "{name}: {told}");
    }
    for (name, frames) in [("data_white", flat(0)), ("data_dark", DARK.to_vec())] {
        {
            let file = File::create(folder.path("scan.h5")).expect("a file");
            let exchange = file.create_group("exchange").expect("a group");
            let views: Vec<u16> = (0..3).flat_map(|k| projection(k, 0.1 * k as f64)).collect();
            let data = exchange.new_dataset::<u16>().shape([3, ROWS, BINS]).create("data").expect("a dataset");
            data.write_raw(&views).expect("frames");
            let other = exchange.new_dataset::<u16>().shape([1, ROWS, BINS]).create(name).expect("a dataset");
            other.write_raw(&frames).expect("frames");
        }
        moved("scan.h5", "frames", &format!("exchange/{name}"));
        succeeds(&folder, &["inspect", "scan.h5"]);
        std::fs::remove_file(folder.path("part.h5")).expect("removed");
        let told = isocenter(&folder, &["inspect", "scan.h5"]).stderr;
        assert!(String::from_utf8_lossy(&told).contains("part.h5"), "{name}");
    }
}

/// Chunks that were written as they are, of other lengths than they have to be: the HDF5 library would read beyond them.
#[test]
fn chunks_of_other_lengths() {
    let folder = Folder::new("lengths");
    for (shuffled, length, fits) in
        [(false, 8 * VIEWS, true), (false, 8, false), (false, 9 * VIEWS, false), (true, 8, false)]
    {
        exchange(&folder, |group| {
            let builder = group.new_dataset_builder().chunk([VIEWS]);
            let builder = if shuffled { builder.shuffle() } else { builder };
            let theta = builder.empty::<f64>().shape([VIEWS]).create("theta").expect("a dataset");
            write_chunk(&theta, &[0], 0, &vec![0; length]);
        });
        let output = isocenter(&folder, &["inspect", "scan.h5"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), fits, "{length}: {told}");
        assert!(fits || told.contains(&format!("has {length} bytes where {} are needed", 8 * VIEWS)), "{told}");
    }
    // Checksums, of which nothing or too little is left.
    for length in [0, 3, 4, 2 * PLANE, 2 * PLANE + 8] {
        exchange(&folder, |group| {
            let builder = group.new_dataset_builder().chunk([1, ROWS, BINS]).fletcher32();
            let dark = builder.empty::<u16>().shape([1, ROWS, BINS]).create("data_dark").expect("a dataset");
            // Zeros have the checksum 0.
            write_chunk(&dark, &[0; 3], 0, &vec![0; length]);
        });
        let output = isocenter(&folder, &[&["recon", "scan.h5"], &RUN[..], &["v.h5"]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        // What is of no bytes was never written.
        assert!(output.status.success() == (length == 0) && output.status.code().is_some(), "{length}: {told}");
        assert!(length == 0 || told.contains("bytes"), "{length}: {told}");
    }
}

/// A scan with flats in a Data Exchange file, and something else.
fn exchange(folder: &Folder, more: impl FnOnce(&Group)) {
    let file = File::create(folder.path("scan.h5")).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let views: Vec<u16> =
        half_turn(VIEWS).iter().enumerate().flat_map(|(k, a)| projection(k, a.to_radians())).collect();
    for (name, frames) in [("data", views), ("data_white", flat(0))] {
        let shape = [frames.len() / PLANE, ROWS, BINS];
        let to = exchange.new_dataset::<u16>().shape(shape).create(name).expect("a dataset");
        to.write_raw(&frames).expect("frames");
    }
    more(&exchange);
}

//! The side of a pixel and units of HDF5 files, in all ways in which they are written.

use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::types::{FixedAscii, FixedUnicode, VarLenUnicode};
use hdf5_metno::{Dataset, File, H5Type};

/// An attribute `units` of this text, in an array of one where the shape says so.
fn units<T: H5Type>(of: &Dataset, text: T, array: bool) {
    if of.attr("units").is_ok() {
        of.delete_attr("units").expect("removed");
    }
    let builder = of.new_attr::<T>();
    let made = if array { builder.shape([1]).create("units") } else { builder.create("units") };
    made.and_then(|made| made.write_raw(&[text])).expect("written");
}

/// What a scan comes to, or the message.
fn made(folder: &Folder, more: &[&str]) -> (Result<Vec<f32>, ()>, String) {
    let words = [&["recon", "scan.nx"], more, &["--rows", "0..2", "--stripes", "off"], &RUN, &["v.h5"]].concat();
    let output = isocenter(folder, &words);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let values = || File::open(folder.path("v.h5")).and_then(|f| f.dataset("entry/reconstruction/data")?.read_raw());
    (if output.status.success() { Ok(values().expect("values")) } else { Err(()) }, told)
}

#[test]
fn sides_of_pixels_are_read_or_asked_for() {
    let folder = Folder::new("pixels");
    nxtomo(folder.path("scan.nx"), &half_turn(VIEWS), &[0]);
    let (whole, _) = made(&folder, &["--pixel", "0.00065"]);
    let (bins, _) = made(&folder, &[]);
    let (whole, bins) = (whole.expect("a volume"), bins.expect("a volume"));
    let number = |value: f64| {
        let file = File::append(folder.path("scan.nx")).expect("a file");
        let detector = file.group("entry/instrument/detector").expect("a group");
        if detector.link_exists("x_pixel_size") {
            detector.unlink("x_pixel_size").expect("removed");
        }
        let size = detector.new_dataset::<f64>().shape([1]).create("x_pixel_size").expect("a dataset");
        size.write_raw(&[value]).expect("written");
        size
    };
    let text = |text: &str| text.parse::<VarLenUnicode>().expect("text");
    // As h5py writes a text, an array of one, texts of fixed length, and with either sign of micro.
    for array in [false, true] {
        let size = number(0.65);
        units(&size, text("um"), array);
        drop(size);
        same(&made(&folder, &[]).0.expect("a volume"), &whole, "variable");
        let size = number(0.65);
        units(&size, "\u{b5}m".parse::<FixedUnicode<3>>().expect("text"), array);
        drop(size);
        same(&made(&folder, &[]).0.expect("a volume"), &whole, "fixed UTF-8");
        let size = number(650.0);
        units(&size, FixedAscii::<9>::from_ascii("nanometer").expect("text"), array);
        drop(size);
        same(&made(&folder, &[]).0.expect("a volume"), &whole, "fixed ASCII");
    }
    // Of no unit it is in metres: this one is too large, and says so; the option goes before it.
    drop(number(0.65));
    let (refused, told) = made(&folder, &[]);
    assert!(refused.is_err());
    for word in ["0.65 without units", "650 mm", "--pixel"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    same(&made(&folder, &["--pixel", "0.00065"]).0.expect("a volume"), &whole, "the option");
    assert!(succeeds(&folder, &["inspect", "scan.nx"]).contains("0.65 without units"));
    let size = number(9e-4);
    units(&size, text("um"), false);
    drop(size);
    assert!(made(&folder, &[]).1.contains("0.0009 in \"um\""));
    // What is no length: values are per bin, and a note tells of it.
    let size = number(1.0);
    units(&size, text("pixel"), false);
    drop(size);
    let (values, told) = made(&folder, &[]);
    same(&values.expect("a volume"), &bins, "per bin");
    assert!(told.contains("1 in \"pixel\"") && told.contains("per bin"), "{told}");
    // A text where a number belongs.
    {
        let file = File::append(folder.path("scan.nx")).expect("a file");
        let detector = file.group("entry/instrument/detector").expect("a group");
        detector.unlink("x_pixel_size").expect("removed");
        let size = detector.new_dataset::<VarLenUnicode>().create("x_pixel_size").expect("a dataset");
        size.write_scalar(&text("0fb7c2d1")).expect("written");
    }
    let (values, told) = made(&folder, &[]);
    same(&values.expect("a volume"), &bins, "per bin");
    assert!(told.contains("x_pixel_size is \"0fb7c2d1\""), "{told}");
    same(&made(&folder, &["--pixel", "0.00065"]).0.expect("a volume"), &whole, "the option");
}

/// Angles in radians, told by an array of one; and in something else, where they are given beside the scan.
#[test]
fn units_of_angles() {
    let folder = Folder::new("angle-units");
    nxtomo(folder.path("degrees.nx"), &half_turn(VIEWS), &[0]);
    let expected = volume(&folder, "degrees.nx", &[]);
    nxtomo(folder.path("scan.nx"), &half_turn(VIEWS), &[0]);
    let write = |unit: &str| {
        let file = File::append(folder.path("scan.nx")).expect("a file");
        let angles = file.dataset("entry/sample/rotation_angle").expect("a dataset");
        units(&angles, unit.parse::<VarLenUnicode>().expect("text"), true);
        angles
    };
    let angles = write("rad");
    let radians: Vec<f64> = angles.read_raw::<f64>().expect("angles").into_iter().map(f64::to_radians).collect();
    angles.write_raw(&radians).expect("written");
    drop(angles);
    same(&volume(&folder, "scan.nx", &[]), &expected, "radians");
    drop(write("turns"));
    let told = isocenter(&folder, &["inspect", "scan.nx"]).stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("\"turns\"") && told.contains("--angles"), "{told}");
    let list: String = half_turn(VIEWS).iter().map(|angle| format!("{angle}\n")).collect();
    std::fs::write(folder.path("angles.txt"), list).expect("a file");
    same(&volume(&folder, "scan.nx", &["--angles", "angles.txt"]), &expected, "given angles");
}

//! A small scan, the command at work on it, and what has to become of it.

use crate::files::{Layout, bytes, edf, tiff};
use crate::folder::Folder;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{File, Group, H5Type, Location};
use std::path::PathBuf;
use std::process::{Command, Output};

pub const VIEWS: usize = 91;
pub const ROWS: usize = 6;
pub const BINS: usize = 64;
pub const PLANE: usize = ROWS * BINS;

/// Two rods in counts, with flats of two levels and darks of 100.
pub fn projection(view: usize, angle: f64) -> Vec<u16> {
    let depth = |bin: f64, row: usize, r: [f64; 2]| {
        let s = bin - 30.7 - r[0] * angle.cos() - r[1] * angle.sin();
        0.9 * (-s * s / 12.0).exp() * (1.0 + 0.05 * row as f64)
    };
    let value = |k: usize| {
        let (row, bin) = (k / BINS, (k % BINS) as f64);
        let noise = ((k + view * PLANE) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
        let through = (-depth(bin, row, [14.0, 5.0]) - depth(bin, row, [-10.0, 12.0])).exp();
        100 + (through * (9000.0 - 5.0 * view as f64)) as u16 + noise as u16
    };
    (0..PLANE).map(value).collect()
}

pub fn flat(position: usize) -> Vec<u16> {
    (0..PLANE).map(|k| (9110 - 5 * position + k % 13) as u16).collect()
}

pub const DARK: [u16; PLANE] = [100; PLANE];

/// The same scan in an NXtomo file, with a flat at each of these places; angles in degrees.
pub fn nxtomo(path: PathBuf, angles: &[f64], flats: &[usize]) {
    nxtomo_entry(&File::create(path).expect("a file"), "entry", angles, flats);
}

/// The same in an entry of a file.
pub fn nxtomo_entry(file: &File, name: &str, angles: &[f64], flats: &[usize]) {
    let entry = file.create_group(name).expect("a group");
    entry.create_group("instrument/detector").expect("a group");
    let (frames, keys, degrees) = taken(angles, flats);
    write_frames(&entry, &frames, &keys, &degrees);
}

/// All frames of the scan in their order, with their keys and angles.
pub fn taken(angles: &[f64], flats: &[usize]) -> (Vec<u16>, Vec<i32>, Vec<f64>) {
    let (mut frames, mut keys, mut degrees) = (DARK.to_vec(), vec![2], vec![0.0]);
    for k in 0..=angles.len() {
        if flats.contains(&k) {
            frames.extend(flat(k));
            keys.push(1);
            degrees.push(0.0);
        }
        if let Some(angle) = angles.get(k) {
            frames.extend(projection(k, angle.to_radians()));
            keys.push(0);
            degrees.push(*angle);
        }
    }
    (frames, keys, degrees)
}

/// Projections alone.
pub fn projections(angles: &[f64]) -> Vec<u16> {
    angles.iter().enumerate().flat_map(|(k, angle)| projection(k, angle.to_radians())).collect()
}

/// Writes frames into a dataset of this path, of as many as there are.
pub fn write_stack(file: &Group, path: &str, frames: &[u16]) {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    if !parent.is_empty() && !file.link_exists(parent) {
        file.create_group(parent).expect("a group");
    }
    let data = file.new_dataset::<u16>().shape([frames.len() / PLANE, ROWS, BINS]).create(path).expect("a dataset");
    data.write_raw(frames).expect("frames");
}

/// Writes a list of numbers, with a unit, if they have one.
pub fn write_list<T: H5Type>(file: &Group, path: &str, values: &[T], unit: Option<&str>) {
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    if !parent.is_empty() && !file.link_exists(parent) {
        file.create_group(parent).expect("a group");
    }
    let list = file.new_dataset::<T>().shape(values.len()).create(path).expect("a dataset");
    list.write_raw(values).expect("numbers");
    if let Some(unit) = unit {
        attribute(&list, "units", &[unit]);
    }
}

/// Writes texts as an attribute.
pub fn attribute(of: &Location, name: &str, texts: &[&str]) {
    let texts: Vec<VarLenUnicode> = texts.iter().map(|text| text.parse().expect("text")).collect();
    let made = match texts.as_slice() {
        [text] => of.new_attr::<VarLenUnicode>().create(name).and_then(|made| made.write_scalar(text)),
        _ => of.new_attr::<VarLenUnicode>().shape(texts.len()).create(name).and_then(|made| made.write_raw(&texts)),
    };
    made.expect("an attribute");
}

/// Writes a line of text.
pub fn write_text(file: &Group, path: &str, text: &str) {
    let text: VarLenUnicode = text.parse().expect("text");
    file.new_dataset::<VarLenUnicode>().create(path).and_then(|made| made.write_scalar(&text)).expect("a text");
}

/// What the command says where it fails.
pub fn fails(folder: &Folder, arguments: &[&str]) -> String {
    let output = isocenter(folder, arguments);
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Frames with their keys and angles, in an NXtomo file.
pub fn write_nxtomo(path: PathBuf, frames: &[u16], keys: &[i32], degrees: &[f64]) {
    let entry = File::create(path).and_then(|file| file.create_group("entry")).expect("a group");
    entry.create_group("instrument/detector").expect("a group");
    write_frames(&entry, frames, keys, degrees);
}

/// The same in an entry with a detector.
fn write_frames(entry: &Group, frames: &[u16], keys: &[i32], degrees: &[f64]) {
    let detector = entry.group("instrument/detector").expect("a group");
    let data = detector.new_dataset::<u16>().shape([keys.len(), ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(frames).expect("frames");
    let list = detector.new_dataset::<i32>().shape(keys.len()).create("image_key").expect("a dataset");
    list.write_raw(keys).expect("keys");
    let sample = entry.create_group("sample").expect("a group");
    let list = sample.new_dataset::<f64>().shape(keys.len()).create("rotation_angle").expect("a dataset");
    list.write_raw(degrees).expect("angles");
}

pub fn isocenter(folder: &Folder, arguments: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_isocenter");
    Command::new(command).args(arguments).current_dir(&folder.0).output().expect("the command runs")
}

pub fn succeeds(folder: &Folder, arguments: &[&str]) -> String {
    let output = isocenter(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub const RUN: [&str; 5] = ["--axis", "30.7", "--device", "cpu", "-o"];

/// What becomes of a scan.
pub fn volume(folder: &Folder, scan: &str, words: &[&str]) -> Vec<f32> {
    succeeds(folder, &[&["recon", scan], words, &RUN, &["volume.h5"]].concat());
    let file = File::open(folder.path("volume.h5")).expect("a volume");
    file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")
}

/// The same frames take the same way, whatever file they come from: to the bit, but for the pixel's side and frames that became floating
/// point, whose flats are averages of other roundings.
pub fn same(seen: &[f32], expected: &[f32], what: &str) {
    let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let off = seen.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(seen.len() == expected.len() && largest > 0.0 && off < 1e-5 * largest, "{what}: {off:e} of {largest:e}");
}

pub fn write_tiff(folder: &Folder, name: &str, image: &[u16], layout: Layout) {
    tiff(&folder.path(name), &[image], BINS, layout, "", &[]);
}

/// Of so many views, the end of the turn left out.
pub fn half_turn(views: usize) -> Vec<f64> {
    (0..views).map(|k| 180.0 * k as f64 / views as f64).collect()
}

/// Writes frames of u16 into an EDF file.
pub fn write_edf(folder: &Folder, name: &str, images: &[&[u16]]) {
    let images: Vec<_> = images.iter().map(|image| bytes(image, 16, 1, false)).collect();
    edf(&folder.path(name), &images, [ROWS, BINS], "UnsignedShort", false, "");
}

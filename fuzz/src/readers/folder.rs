//! Folders of images, of which some are not what they should be, and parameter files beside them.

use super::{Choices, scan, scratch};
use crate::files::{Layout, PLAIN, Packing, Pieces, bytes, edf, tiff};
use isocenter_program::scan::Input;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const ROWS: usize = 3;
const BINS: usize = 8;

/// Projections of a parameter file.
const VIEWS: usize = 6;

/// What names of series begin with, and parts of odd ones.
const SERIES: [&str; 10] =
    ["p_", "p_", "flat_", "dark_", "refHST", "ref000", "darkend", "flat_after_", "dark", "white pre "];
const PARTS: [&str; 20] = [
    "p_",
    "#",
    "1",
    "007",
    "99999999999999999999999",
    "\u{e9}",
    "e\u{301}",
    "\u{661}",
    "%",
    "*",
    "?",
    " ",
    "-",
    "\n",
    "_0000",
    "[",
    "flat",
    "dark",
    "\u{fffd}",
    "~",
];
const ENDS: [&str; 16] = [
    ".tif", ".edf", ".tif", ".edf", ".TIFF", ".Edf", ".tif", ".edf", ".tif", ".edf", ".tif", ".tif", ".h5", ".tif.gz",
    ".txt", "",
];

/// Sizes that products overflow with, and texts that are no sizes.
const ODD: [&str; 14] = [
    "0",
    "-1",
    "1",
    "3.5",
    "65536",
    "2147483648",
    "4294967295",
    "18446744073709551615",
    "1e300",
    "nan",
    "",
    "\u{e9}",
    "x",
    "9000000000000000",
];
const NUMBERS: [u32; 8] = [0, 1, 2, 65535, 65536, 1 << 30, 1 << 31, u32::MAX];

/// An image of a series, in numbers that a byte holds.
fn image(series: &str, number: usize) -> Vec<u16> {
    let value = |k: usize| match series {
        dark if dark.contains("dark") => k % 3,
        flat if ["flat", "ref", "white"].iter().any(|word| flat.contains(word)) => 230 + k % 20,
        _ => 60 + k * (number + 3) % 101,
    };
    (0..ROWS * BINS).map(|k| value(k) as u16).collect()
}

/// How a TIFF file is written: as plain ones, as a rule.
fn layout(choices: &mut Choices) -> Layout {
    let (bits, form) = *choices.one(&[(16, 1), (8, 1), (32, 3), (64, 3), (16, 2), (32, 1), (64, 2)]);
    let packing =
        *choices.one(&[Packing::None, Packing::Deflate, Packing::Lzw, Packing::PackBits, Packing::Zstd, Packing::None]);
    let pieces = [PLAIN.pieces, Pieces::Strips(2), Pieces::Scattered(1), Pieces::Tiles(2, 4), Pieces::Tiles(16, 16)];
    let pieces = *choices.one(&pieces);
    let [big_endian, big_tiff, differences] = std::array::from_fn(|_| choices.once_in(4));
    Layout { big_endian, big_tiff, pieces, packing, differences, bits, form }
}

/// Writes an image file of the kind that its name tells.
fn good(choices: &mut Choices, path: &Path, series: &str, number: usize) {
    let images = 1 + choices.below(24) / 22;
    let images: Vec<_> = (0..images).map(|k| image(series, number + k)).collect();
    let bins = if choices.once_in(24) { ROWS } else { BINS };
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("edf")) {
        let (kind, bits, form) = *choices.one(&[
            ("UnsignedShort", 16, 1),
            ("FloatValue", 32, 3),
            ("SignedByte", 8, 2),
            ("DoubleValue", 64, 3),
        ]);
        let big_endian = choices.once_in(4);
        let keys = [
            "Dim_1",
            "Dim_2",
            "Dim_3",
            "Size",
            "EDF_BinarySize",
            "DataType",
            "ByteOrder",
            "Compression",
            "EDF_DataFormatVersion",
        ];
        let more = match choices.once_in(8) {
            true => format!("{} = {} ;\n", choices.one(&keys), choices.one(&ODD)),
            false => String::new(),
        };
        let images: Vec<_> = images.iter().map(|image| bytes(image, bits, form, big_endian)).collect();
        edf(path, &images, [ROWS * BINS / bins, bins], kind, big_endian, &more);
    } else {
        let stacks = [
            "ImageJ=1\nimages=",
            "{\"shape\": [4294967296, 4294967296, ",
            "{\"shape\": [2, 3, 8], \"truncated\": true, ",
        ];
        let description = match choices.once_in(12) {
            true => format!("{}{}]", choices.one(&stacks), choices.one(&ODD)),
            false => String::new(),
        };
        let images: Vec<_> = images.iter().map(Vec::as_slice).collect();
        tiff(path, &images, bins, layout(choices), &description, &[]);
    }
}

/// Writes a file as the others are, as a rule, of which some bytes may be others.
fn file(choices: &mut Choices, path: &Path, series: &str, number: usize, usual: &[u8]) {
    let kind = choices.below(128);
    match kind {
        121 => return std::fs::write(path, []).expect("a file"),
        122 => return std::fs::write(path, choices.some()).expect("a file"),
        123 => return std::fs::create_dir_all(path).expect("a folder"),
        124 => return drop(std::os::unix::fs::symlink("nowhere.tif", path)),
        120 => good(choices, path, series, number),
        _ => good(&mut Choices::new(usual), path, series, number),
    }
    let mut bytes = std::fs::read(path).expect("a file");
    match kind {
        125 => bytes.truncate(choices.below(bytes.len() + 1)),
        126 | 127 => {
            for _ in 0..1 + choices.below(3) {
                // Directories of TIFF files are at their ends.
                let at = bytes.len().saturating_sub(4 + choices.below(200) / 2 * 2);
                let number = choices.one(&NUMBERS).to_le_bytes();
                bytes.iter_mut().skip(at).zip(number).for_each(|(to, from)| *to = from);
            }
        }
        _ => return,
    }
    std::fs::write(path, bytes).expect("a file");
}

fn name(choices: &mut Choices, series: &str, end: &str, number: usize) -> OsString {
    if !choices.once_in(24) {
        return format!("{series}{number}{end}").into();
    }
    let mut name: Vec<u8> = (0..1 + choices.below(4)).flat_map(|_| choices.one(&PARTS).bytes()).collect();
    if choices.once_in(8) {
        name.push(0xff);
    }
    name.extend(end.bytes());
    OsString::from_vec(name)
}

/// Lines of keys with values, of which some are odd; the last of a key counts.
fn lines(choices: &mut Choices, keys: &[&str]) -> String {
    let line = |choices: &mut Choices| {
        let key = *choices.one(keys);
        match choices.below(4) {
            0 => format!("{key} = {}\n", choices.below(300)),
            1 => format!("{key} = {}\n", String::from_utf8_lossy(choices.some())),
            _ => format!("{key} = {}\n", choices.one(&ODD)),
        }
    };
    (0..choices.below(4)).map(|_| line(choices)).collect()
}

/// Projections, flats, a dark, angles and shifts for parameter files, in a folder.
pub fn of_parameters(folder: &Path) {
    let write = |name: &str, number: usize| {
        let image = bytes(&image(name, number), 16, 1, false);
        edf(&folder.join(name), &[image], [ROWS, BINS], "UnsignedShort", false, "");
    };
    (0..VIEWS).for_each(|k| write(&format!("p_{k:04}.edf"), k));
    [0, VIEWS].iter().for_each(|k| write(&format!("refHST{k:04}.edf"), 20 + k));
    write("dark.edf", 1);
    let images: Vec<_> = (0..VIEWS).map(|k| image("p_", k)).collect();
    let images: Vec<_> = images.iter().map(Vec::as_slice).collect();
    tiff(&folder.join("stack.tif"), &images, BINS, PLAIN, "", &[]);
    let list: String = (0..VIEWS).map(|k| format!("{}\n", 30 * k)).collect();
    std::fs::write(folder.join("list.txt"), list).expect("a file");
    let data = hdf5_metno::File::create(folder.join("scan.h5")).expect("a file");
    let data = data.new_dataset::<u16>().shape([VIEWS, ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(&images.concat()).expect("frames");
}

/// A parameter file of these.
const PARAMETERS: &str = "FILE_PREFIX = p_\nNUM_LAST_IMAGE = 5\nCORRECT_FLATFIELD = YES\nTAKE_LOGARITHM = YES\n\
    FLATFIELD_CHANGING = YES\nFF_PREFIX = refHST\nFF_NUM_FIRST_IMAGE = 0\nFF_NUM_LAST_IMAGE = 6\nFF_FILE_INTERVAL = 6\n\
    SUBTRACT_BACKGROUND = YES\nBACKGROUND_FILE = dark.edf\nANGLE_BETWEEN_PROJECTIONS = 30\nIMAGE_PIXEL_SIZE_1 = 0.7\n";

const KEYS: [&str; 26] = [
    "FILE_PREFIX",
    "FILE_POSTFIX",
    "NUM_FIRST_IMAGE",
    "NUM_LAST_IMAGE",
    "LENGTH_OF_NUMERICAL_PART",
    "NUMBER_LENGTH_VARIES",
    "FILE_INTERVAL",
    "NUM_IMAGE_1",
    "NUM_IMAGE_2",
    "IMAGE_PIXEL_SIZE_1",
    "FF_PREFIX",
    "FF_NUM_FIRST_IMAGE",
    "FF_NUM_LAST_IMAGE",
    "FF_FILE_INTERVAL",
    "FF_DS_NAME",
    "PROJ_DS_NAME",
    "BACKGROUND_FILE",
    "ANGLE_OFFSET",
    "ANGLES_FILE",
    "ROTATION_AXIS_POSITION",
    "START_VOXEL_3",
    "END_VOXEL_3",
    "DO_PAGANIN",
    "PAGANIN_Lmicron",
    "OPTIONS",
    "DO_AXIS_CORRECTION",
];

const INFO: [&str; 5] = ["TOMO_N", "ScanRange", "PixelSize", "DARK_N", "REF_ON"];

/// Empties a folder and fills it as the bytes say; what in it is the scan.
pub fn make(choices: &mut Choices, folder: &Path) -> PathBuf {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    if choices.below(4) == 3 {
        of_parameters(folder);
        let path = folder.join("scan.par");
        std::fs::write(&path, format!("{PARAMETERS}{}", lines(choices, &KEYS))).expect("a file");
        return path;
    }
    let end = *choices.one(&ENDS);
    let (mut numbers, usual) = (0, choices.some());
    for series in 0..1 + choices.below(4) {
        let series = SERIES[if series == 0 { 0 } else { choices.below(SERIES.len()) }];
        for number in 0..3 + choices.below(4) {
            let end = if choices.once_in(32) { choices.one(&ENDS) } else { end };
            let path = folder.join(name(choices, series, end, number));
            // A name that is odd may be that of another.
            if path.symlink_metadata().is_err() {
                file(choices, &path, series, numbers, usual);
            }
            numbers += 1;
        }
    }
    if choices.once_in(3) {
        std::fs::write(folder.join("p_.info"), lines(choices, &INFO)).expect("a file");
    }
    match choices.below(8) {
        6 => folder.join(format!("p_*{end}")),
        7 => folder.join(format!("p_1{end}")),
        _ => folder.into(),
    }
}

/// Makes a folder as the bytes say, and reads the scan in it.
pub fn read(bytes: &[u8]) {
    scratch::with(|scratch| {
        let mut choices = Choices::new(bytes);
        let sinograms = choices.once_in(6);
        let angles = (!choices.once_in(3)).then(|| "0..180".to_string());
        let path = make(&mut choices, &scratch.join("folder"));
        scan(&path, &Input { sinograms, angles, ..Input::default() });
    });
}

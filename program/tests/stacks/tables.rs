//! Tables of scans: volumes one after the other, and several scans that make one.

use crate::folder::Folder;
use crate::scans::{VIEWS, half_turn, isocenter, same, succeeds};
use hdf5_metno::File;

const BINS: usize = 48;
const AXIS: f64 = 23.3;

/// Counts of a tall object of rods whose rows differ, from a row on, with a flat and a dark; the beam may be wider or darker, the object denser, and
/// its middle elsewhere.
fn write(folder: &Folder, name: &str, first: usize, rows: usize, [axis, beam, density]: [f64; 3], pixel: Option<f64>) {
    let entry = File::create(folder.path(name)).and_then(|file| file.create_group("entry")).expect("a group");
    let detector = entry.create_group("instrument/detector").expect("a group");
    let depth = |row: usize, bin: f64, angle: f64, rod: [f64; 2]| {
        let s = bin - axis - rod[0] * angle.cos() - rod[1] * angle.sin();
        density * (-s * s / 8.0).exp() * (0.5 + 0.4 * (row as f64 / 7.0 + rod[0]).sin())
    };
    let angles = half_turn(VIEWS);
    let frames = [None, Some(0.0)].into_iter().chain(angles.iter().map(|angle| Some(angle.to_radians())));
    let (mut values, mut keys): (Vec<u16>, _) = (Vec::new(), vec![2, 1]);
    for (k, frame) in frames.enumerate() {
        values.extend((0..rows * BINS).map(|at| match (k, frame) {
            (_, None) => 100,
            (1, _) => 100 + beam as u16,
            (_, Some(angle)) => {
                let (row, bin) = (first + at / BINS, (at % BINS) as f64);
                let through = depth(row, bin, angle, [9.0, 3.0]) + depth(row, bin, angle, [-7.0, 8.0]);
                100 + (beam * (-through).exp()).round() as u16
            }
        }));
    }
    keys.resize(VIEWS + 2, 0);
    let data = detector.new_dataset::<u16>().shape([VIEWS + 2, rows, BINS]).create("data").expect("a dataset");
    data.write_raw(&values).expect("frames");
    let list = detector.new_dataset::<i32>().shape(VIEWS + 2).create("image_key").expect("a dataset");
    list.write_raw(&keys).expect("keys");
    if let Some(pixel) = pixel {
        let size = detector.new_dataset::<f64>().create("x_pixel_size").expect("a dataset");
        size.write_scalar(&(pixel * 1e-3)).expect("a size");
    }
    let sample = entry.create_group("sample").expect("a group");
    let list = sample.new_dataset::<f64>().shape(VIEWS + 2).create("rotation_angle").expect("a dataset");
    let degrees: Vec<f64> = [0.0; 2].into_iter().chain(angles).collect();
    list.write_raw(&degrees).expect("angles");
}

fn plain(folder: &Folder, name: &str, first: usize, rows: usize) {
    write(folder, name, first, rows, [AXIS, 20000.0, 0.9], None);
}

fn table(folder: &Folder, name: &str, lines: &[&str]) {
    std::fs::write(folder.path(name), lines.join("\n")).expect("a table");
}

fn volume(folder: &Folder, name: &str) -> Vec<f32> {
    let file = File::open(folder.path(name)).expect("a volume");
    file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")
}

/// A run on the processor, without stripes: these differ from row to row by noise.
fn recon(folder: &Folder, scan: &str, words: &[&str]) -> String {
    succeeds(folder, &[&["recon", scan, "--device", "cpu", "--stripes", "off"], words].concat())
}

/// What a run that has to fail says.
fn fails(folder: &Folder, scan: &str, words: &[&str]) -> String {
    let output = isocenter(folder, &[&["recon", scan, "--device", "cpu", "--stripes", "off"], words].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(1 | 3)), "{words:?}: {told}");
    told
}

const SLICE: usize = BINS * BINS;

/// Each scan becomes what it becomes alone; one that fails does not keep others back, and is all that is made when the table is given again.
#[test]
fn volumes_one_after_the_other() {
    let folder = Folder::new("tables");
    std::fs::create_dir_all(folder.path("data")).expect("a folder");
    plain(&folder, "data/a.nx", 0, 4);
    write(&folder, "data/b.nx", 9, 3, [20.1, 20000.0, 0.9], Some(0.002));
    plain(&folder, "data/c.nx", 5, 4);
    let lines =
        ["Scan;Axis;Output;rows;mask", "# of a night", "a.nx;23.3;;;", "b.nx;;b.tif;1..3;yes", "c.nx;23.3;;;0.9"];
    table(&folder, "data/night.csv", &lines);
    // Before anything is made: a cell that is no number.
    let told = fails(&folder, "data/night.csv", &[]);
    assert!(told.contains("data/night.csv, line 4") && told.contains("--mask"), "{told}");
    assert!(!folder.path("a_volume.h5").exists());
    let lines = lines.map(|line| line.replace(";yes", ";0.8"));
    table(&folder, "data/night.csv", &lines.each_ref().map(String::as_str));
    let told = recon(&folder, "data/night.csv", &[]);
    for word in ["scan 1 of 3: data/a.nx", "scan 3 of 3: data/c.nx", "axis 20."] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(!folder.path("night.csv.unfinished").exists());
    let made = ["a_volume.h5", "b.tif", "c_volume.h5"].map(|name| std::fs::read(folder.path(name)).expect("a volume"));
    recon(&folder, "data/a.nx", &["--axis", "23.3"]);
    recon(&folder, "data/b.nx", &["-o", "b.tif", "--rows", "1..3", "--mask", "0.8"]);
    recon(&folder, "data/c.nx", &["--axis", "23.3", "--mask", "0.9"]);
    let alone = ["a_volume.h5", "b.tif", "c_volume.h5"].map(|name| std::fs::read(folder.path(name)).expect("a volume"));
    // But for what HDF5 writes beside values.
    assert!(made[1] == alone[1], "b");
    let tail = |bytes: &[u8]| bytes[bytes.len() - 4 * 4 * SLICE..].to_vec();
    assert!(tail(&made[0]) == tail(&alone[0]) && tail(&made[2]) == tail(&alone[2]));
    // The second cannot be made: its flats are dark.
    write(&folder, "data/b.nx", 9, 3, [20.1, 0.0, 0.9], Some(0.002));
    let told = fails(&folder, "data/night.csv", &[]);
    assert!(told.contains("1 of 3 scans: data/b.nx; the same command does these again"), "{told}");
    write(&folder, "data/b.nx", 9, 3, [20.1, 20000.0, 0.9], Some(0.002));
    let told = recon(&folder, "data/night.csv", &[]);
    assert!(told.contains("a_volume.h5 is there") && told.contains("b.tif: 2 slices"), "{told}");
    assert!(!folder.path("night.csv.unfinished").exists());
    // With other options all are made again, as after a run that ended well.
    assert!(!recon(&folder, "data/night.csv", &["--padding", "edge"]).contains("is there"));
    for (lines, words, word) in [
        (["scan,axis", "a.nx,1", "c.nx,2"], vec!["--axis", "3"], "line 2: the argument '--axis"),
        (["scan,speed", "a.nx,1", "c.nx,2"], vec![], "line 2: unexpected argument '--speed'"),
        (["scan,output", "a.nx,v.h5", "c.nx,v.h5"], vec![], "both make v.h5"),
        (["scan", "a.nx", "nothing.nx"], vec![], "nothing.nx"),
        (["scan", "a.nx", "c.nx"], vec!["--overlap", "blend"], "--overlap belongs"),
        (["name", "a.nx", "c.nx"], vec![], "one of which is called scan"),
    ] {
        table(&folder, "data/night.csv", &lines);
        let told = fails(&folder, "data/night.csv", &words);
        assert!(told.contains(word), "{word}: {told}");
    }
    for command in ["inspect", "axis"] {
        let told = isocenter(&folder, &[command, "data/night.csv"]);
        assert!(String::from_utf8_lossy(&told.stderr).contains("a table of scans"));
    }
    assert!(fails(&folder, "data/a.nx", &["--overlap", "middle"]).contains("a table of scans"));
}

/// Rows of a tall scan that was cut into three come out as they were.
#[test]
fn one_volume_of_several_scans() {
    let folder = Folder::new("steps");
    plain(&folder, "whole.nx", 0, 41);
    // With beams and axes of their own.
    plain(&folder, "top.nx", 0, 17);
    write(&folder, "middle.nx", 12, 17, [21.0, 30000.0, 0.9], None);
    write(&folder, "bottom.nx", 26, 15, [25.5, 12000.0, 0.9], None);
    recon(&folder, "whole.nx", &["--axis", "23.3", "-o", "whole.h5"]);
    let whole = volume(&folder, "whole.h5");
    // In any order, places from any number on.
    let lines = ["scan,z_rows,axis", "bottom.nx,126,25.5", "top.nx,100.3,23.3", "middle.nx,112,21"];
    table(&folder, "steps.csv", &lines);
    let output = isocenter(&folder, &["recon", "steps.csv", "--device", "cpu", "--stripes", "off"]);
    let [said, noted] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{noted}");
    assert!(noted.contains("middle.nx is put at row 12, 0.30 rows from where it lies"), "{noted}");
    assert!(said.contains("top.nx and middle.nx both have rows 12..17; their slices of row 14"), "{said}");
    assert!(said.contains("a correlation of 1.000") || said.contains("a correlation of 0.99"), "{said}");
    // Counts are rounded in another place: 0.5 of 12000, over the width of the filter, and axes differ by parts of a bin.
    let near = |seen: &[f32], expected: &[f32], what: &str| {
        let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
        let off = seen.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(seen.len() == expected.len() && off < 0.1 * largest, "{what}: {off} of {largest}");
    };
    let seen = volume(&folder, "steps_volume.h5");
    near(&seen, &whole, "blended");
    let of = |scan: &str, axis: &str| {
        recon(&folder, scan, &["--axis", axis, "-o", "one.h5"]);
        volume(&folder, "one.h5")
    };
    let [top, middle, bottom] = [of("top.nx", "23.3"), of("middle.nx", "21"), of("bottom.nx", "25.5")];
    let row = |of: &[f32], row: usize| of[row * SLICE..][..SLICE].to_vec();
    let blended = |row_of: usize, a: &[f32], b: &[f32], share: f32| {
        let expected: Vec<f32> = a.iter().zip(b).map(|(a, b)| a + share * (b - a)).collect();
        same(&row(&seen, row_of), &expected, &format!("row {row_of}"));
    };
    for k in [0, 3, 11] {
        same(&row(&seen, k), &row(&top, k), "top");
    }
    for k in 12..17 {
        blended(k, &row(&top, k), &row(&middle, k - 12), (k - 11) as f32 / 6.0);
    }
    for k in 26..29 {
        blended(k, &row(&middle, k - 12), &row(&bottom, k - 26), (k - 25) as f32 / 4.0);
    }
    same(&row(&seen, 40), &row(&bottom, 14), "bottom");
    // The plan has them all, and does the same again, also in parts, and where a run ended early: to the bit.
    let plan = std::fs::read_to_string(folder.path("steps_volume.toml")).expect("a plan");
    assert_eq!(plan.matches("[[scans]]").count(), 3, "{plan}");
    std::fs::remove_file(folder.path("steps.csv")).expect("removed");
    std::fs::write(folder.path("again.toml"), plan.replace("steps_volume.h5", "again.h5")).expect("a plan");
    succeeds(&folder, &["repeat", "again.toml", "--device", "cpu"]);
    assert!(volume(&folder, "again.h5") == seen, "repeated");
    let page = std::fs::read_to_string(folder.path("again.html")).expect("a report");
    assert!(page.contains("middle.nx from row 12 on, axis 21.000"), "{page}");
    table(&folder, "steps.csv", &lines);
    recon(&folder, "steps.csv", &["--begin", "4", "-o", "parts.h5"]);
    assert!(std::fs::read_to_string(folder.path("parts.toml")).expect("a plan").contains("block = 8"));
    succeeds(&folder, &["repeat", "parts.toml", "--part", "2/3", "--device", "cpu"]);
    succeeds(&folder, &["repeat", "parts.toml", "--part", "3/3", "--device", "cpu"]);
    // As if the third had been killed.
    let told = succeeds(&folder, &["repeat", "parts.toml", "--device", "cpu"]);
    assert!(told.contains("going on: "), "{told}");
    assert!(volume(&folder, "parts.h5") == seen, "in parts");
    // Some rows; the first of an odd number.
    recon(&folder, "steps.csv", &["--rows", "13..28", "-o", "rows.h5"]);
    same(&volume(&folder, "rows.h5"), &seen[13 * SLICE..28 * SLICE], "some rows");
    recon(&folder, "steps.csv", &["--rows", "13..15", "--overlap", "middle", "-o", "rows.h5"]);
    same(&volume(&folder, "rows.h5"), &[row(&top, 13), row(&middle, 2)].concat(), "the middle");
    // Integers, with one window for all.
    recon(&folder, "steps.csv", &["--depth", "u16", "-o", "u16.h5"]);
    let file =
        File::open(folder.path("u16.h5")).and_then(|file| file.dataset("entry/reconstruction/data")).expect("data");
    let number = |name: &str| file.attr(name).and_then(|a| a.read_scalar::<f64>()).expect("an attribute");
    let (slope, offset, stored) =
        (number("scale_factor"), number("add_offset"), file.read_raw::<u16>().expect("values"));
    let high = offset + slope * 65535.0;
    for (stored, value) in stored.iter().zip(&seen) {
        let value = f64::from(*value).clamp(offset, high);
        // Half a step, and what another sum of views may change.
        assert!((f64::from(*stored) * slope + offset - value).abs() < 0.6 * slope, "{stored} {value}");
    }
}

/// Places in millimetres, axes that are found, and scans that do not fit each other.
#[test]
fn places_and_what_does_not_fit() {
    let folder = Folder::new("places");
    for (name, first) in [("a.nx", 0), ("b.nx", 6)] {
        write(&folder, name, first, 10, [AXIS, 20000.0, 0.9], Some(0.002));
    }
    let lines = ["scan\tz-mm", "a.nx\t-0.5", "b.nx\t-0.488"];
    table(&folder, "steps.txt", &lines);
    let told = recon(&folder, "steps.txt", &[]);
    for name in ["a.nx:\naxis 23.", "b.nx:\naxis 23."] {
        assert!(told.contains(name), "{told}");
    }
    let found = volume(&folder, "steps_volume.h5");
    assert_eq!(found.len(), 16 * SLICE);
    // One axis for all. Means of pixels: places in millimetres stay, those in rows are of what is made.
    recon(&folder, "steps.txt", &["--axis", "23.3", "-o", "one.h5"]);
    recon(&folder, "steps.txt", &["--axis", "11.4", "--bin", "2", "-o", "binned.h5"]);
    let binned = volume(&folder, "binned.h5");
    assert_eq!(binned.len(), 8 * SLICE / 4);
    table(&folder, "binned.txt", &["scan,z-rows", "a.nx,0", "b.nx,3"]);
    recon(&folder, "binned.txt", &["--axis", "11.4", "--bin", "2", "-o", "rows.h5"]);
    assert!(volume(&folder, "rows.h5") == binned);
    // A stage that moves the other way.
    write(&folder, "other.nx", 60, 10, [AXIS - 9.0, 20000.0, 0.9], Some(0.002));
    table(&folder, "wrong.csv", &["scan,z-mm", "a.nx,0", "other.nx,0.012"]);
    let output = isocenter(&folder, &["recon", "wrong.csv", "--axis", "23.3", "--device", "cpu"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("their signs are the opposite"), "{told}");
    write(&folder, "large.nx", 6, 10, [AXIS, 20000.0, 0.9], Some(0.003));
    write(&folder, "untold.nx", 6, 10, [AXIS, 20000.0, 0.9], None);
    for (lines, words, word) in [
        (["scan,z-mm", "a.nx,0", "b.nx,0.022"], vec![], "rows 10..11 are in no scan"),
        (["scan,z-mm", "a.nx,0", "b.nx,0"], vec![], "rows of its own"),
        (["scan,z-mm", "a.nx,0", "b.nx,12000000000"], vec![], "right unit"),
        (["scan,z-mm", "a.nx,0", "untold.nx,0.012"], vec![], "z-mm needs the side of a pixel"),
        (["scan,z-rows", "a.nx,0", "untold.nx,6"], vec![], "none that is told: --pixel"),
        (["scan,z-rows", "a.nx,0", "large.nx,6"], vec![], "0.002 mm and 0.003 mm"),
        (["scan,z-rows,crop-bins", "a.nx,0,", "b.nx,6,1..47"], vec![], "have 48 and 46 bins"),
        (["scan,z-rows,padding", "a.nx,0,edge", "b.nx,6,"], vec![], "command line"),
        (["scan,z-rows,output", "a.nx,0,a.h5", "b.nx,6,b.h5"], vec![], "command line"),
        (["scan,z-rows,nan", "a.nx,0,replace", "b.nx,6,"], vec![], "command line"),
        (["scan,z-rows", "a.nx,0", "b.nx,6"], vec!["--rows", "3..17"], "the scan has 16"),
        (["scan,z-rows", "a.nx,0", "b.nx,6"], vec!["-o", "b.nx"], "another name"),
    ] {
        table(&folder, "steps.csv", &lines);
        let told = fails(&folder, "steps.csv", &[&["--axis", "23.3"], &words[..]].concat());
        assert!(told.contains(word), "{word}: {told}");
        assert!(!folder.path("steps_volume.h5.unfinished").exists());
    }
    // A plan that was edited.
    let plan = std::fs::read_to_string(folder.path("one.toml")).expect("a plan");
    for (from, to, word) in [
        ("axis = 23.3\nrows", "axis = 20.0\nrows", "each of the scans has its own"),
        ("row = 6", "row = 11", "in no scan"),
        ("row = 6", "row = 0", "from the first row on"),
    ] {
        assert!(plan.contains(from), "{plan}");
        std::fs::write(folder.path("edited.toml"), plan.replacen(from, to, 1)).expect("a plan");
        let output = isocenter(&folder, &["repeat", "edited.toml"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(word), "{word}: {told}");
    }
}

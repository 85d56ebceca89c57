//! Means of pixels, bins that are left out, frames that lie on their side, and frames of one row: as if the detector had been such.

use crate::files::{Layout, PLAIN, Packing, edf, tiff};
use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::{File, H5Type};
use std::path::PathBuf;

/// A dark, a flat, and projections, as frames that follow each other.
fn counts() -> Vec<u16> {
    let views = half_turn(VIEWS).into_iter().enumerate().flat_map(|(k, a)| projection(k, a.to_radians()));
    DARK.into_iter().chain(flat(0)).chain(views).collect()
}

/// Frames like these of another size in an NXtomo file, in chunks if it is said of what size.
fn write<T: H5Type>(path: PathBuf, frames: &[T], [rows, bins]: [usize; 2], chunk: Option<[usize; 3]>) {
    let entry = File::create(path).and_then(|file| file.create_group("entry")).expect("a group");
    let detector = entry.create_group("instrument/detector").expect("a group");
    let count = frames.len() / (rows * bins);
    let builder = detector.new_dataset::<T>();
    let builder = match chunk {
        Some(chunk) => builder.chunk(chunk).deflate(3),
        None => builder,
    };
    let data = builder.shape([count, rows, bins]).create("data").expect("a dataset");
    data.write_raw(frames).expect("frames");
    let keys: Vec<i32> = [2, 1].into_iter().chain(std::iter::repeat(0)).take(count).collect();
    let list = detector.new_dataset::<i32>().shape(count).create("image_key").expect("a dataset");
    list.write_raw(&keys).expect("keys");
    let degrees: Vec<f64> = [0.0; 2].into_iter().chain(half_turn(count - 2)).collect();
    let sample = entry.create_group("sample").expect("a group");
    let list = sample.new_dataset::<f64>().shape(count).create("rotation_angle").expect("a dataset");
    list.write_raw(&degrees).expect("angles");
}

/// Each value of frames of other sides, by its frame, row and bin.
fn made<T>(count: usize, [rows, bins]: [usize; 2], value: impl Fn(usize, usize, usize) -> T) -> Vec<T> {
    let at = |k: usize| [k / (rows * bins), k / bins % rows, k % bins];
    (0..count * rows * bins).map(at).map(|[frame, row, bin]| value(frame, row, bin)).collect()
}

const FRAMES: usize = VIEWS + 2;

/// Means of n x n pixels.
fn means(frames: &[u16], n: usize) -> Vec<f32> {
    made(FRAMES, [ROWS / n, BINS / n], |frame, row, bin| {
        let pixels = (0..n * n).map(|k| frames[(frame * ROWS + row * n + k / n) * BINS + bin * n + k % n]);
        (pixels.map(f64::from).sum::<f64>() / (n * n) as f64) as f32
    })
}

/// The volume of a scan about an axis, with options.
fn about(folder: &Folder, scan: &str, axis: &str, words: &[&str]) -> Vec<f32> {
    let rest = ["--axis", axis, "--device", "cpu", "-o", "v.h5"];
    succeeds(folder, &[&["recon", scan], words, &rest].concat());
    let file = File::open(folder.path("v.h5")).expect("a volume");
    file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")
}

/// From every kind of storage, and from frames of each type: to the bit what comes of means that the test has made.
#[test]
fn means_of_pixels() {
    let (folder, counts) = (Folder::new("binned"), counts());
    write(folder.path("plain.nx"), &counts, [ROWS, BINS], None);
    write(folder.path("packed.nx"), &counts, [ROWS, BINS], Some([2, 4, 40]));
    let floats: Vec<f32> = counts.iter().map(|v| f32::from(*v)).collect();
    write(folder.path("floats.nx"), &floats, [ROWS, BINS], None);
    for (n, sides) in [(2, [3, 32]), (3, [2, 21])] {
        write(folder.path("means.nx"), &means(&counts, n), sides, None);
        let (axis, n) = (format!("{}", 30.7 / n as f64), n.to_string());
        let expected = about(&folder, "means.nx", &axis, &["--pixel", &format!("{}.5", n)]);
        assert_eq!(expected.len(), sides[0] * sides[1] * sides[1]);
        for scan in ["plain.nx", "packed.nx", "floats.nx"] {
            // The side of a pixel is that of the detector.
            let side = format!("{}", n.parse::<f64>().map(|n| (n + 0.5) / n).expect("a number"));
            let seen = about(&folder, scan, &axis, &["--bin", &n, "--pixel", &side]);
            // One rounding in the pixel's side.
            same(&seen, &expected, scan);
            let seen = about(&folder, scan, &axis, &["--bin", &n]);
            assert!(seen == about(&folder, "means.nx", &axis, &[]), "{scan}, {n}: not the same to the bit");
        }
        let rows = ["--bin", &n, "--rows", "1..2"];
        let one = about(&folder, "packed.nx", &axis, &rows);
        assert!(one == about(&folder, "means.nx", &axis, &rows[2..]), "a row");
    }
    let told = succeeds(&folder, &["inspect", "packed.nx", "--bin", "3"]);
    for word in ["91 of 2 rows x 21 bins", "means of 3 x 3 pixels", "the last 1 of the bins are left out"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    // Found in bins of what is reconstructed; and done again from the plan.
    let told = succeeds(&folder, &["axis", "plain.nx", "--bin", "2"]);
    let axis: f64 = told.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("an axis");
    // Bin k has the middle of bins 2 k and 2 k + 1.
    assert!((axis - 15.1).abs() < 0.1, "{told}");
    let first = about(&folder, "plain.nx", "15.1", &["--bin", "2", "--crop-bins", "3..61", "--flip", "both"]);
    let plan = std::fs::read_to_string(folder.path("v.toml")).expect("a plan");
    assert!(plan.contains("[input.detector]") && plan.contains("bin = 2"), "{plan}");
    succeeds(&folder, &["repeat", "v.toml", "--device", "cpu"]);
    let file = File::open(folder.path("v.h5")).expect("a volume");
    let again: Vec<f32> = file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values");
    assert!(again == first);
}

/// Frames that were cut, turned and mirrored by the test come out as those that are cut, turned and mirrored on the way.
#[test]
fn frames_that_lie_otherwise() {
    let (folder, counts) = (Folder::new("turned"), counts());
    let at = |frame: usize, row: usize, bin: usize| counts[(frame * ROWS + row) * BINS + bin];
    write(folder.path("scan.nx"), &counts, [ROWS, BINS], None);
    let expected = about(&folder, "scan.nx", "30.7", &[]);
    let slice = BINS * BINS;
    for chunk in [None, Some([1, 8, 6]), Some([3, 64, 6])] {
        write(folder.path("t.nx"), &made(FRAMES, [BINS, ROWS], |f, r, b| at(f, b, r)), [BINS, ROWS], chunk);
        assert!(about(&folder, "t.nx", "30.7", &["--transpose"]) == expected, "{chunk:?}");
        let words = ["--transpose", "--rows", "2..4"];
        assert!(about(&folder, "t.nx", "30.7", &words)[..2 * slice] == expected[2 * slice..4 * slice], "{chunk:?}");
        let chunk = chunk.map(|[f, r, b]| [f, b.min(ROWS), r]);
        let mirrored = made(FRAMES, [ROWS, BINS], |f, r, b| at(f, r, BINS - 1 - b));
        write(folder.path("m.nx"), &mirrored, [ROWS, BINS], chunk);
        assert!(about(&folder, "m.nx", "30.7", &["--flip", "bins"]) == expected, "{chunk:?}");
        write(folder.path("u.nx"), &made(FRAMES, [ROWS, BINS], |f, r, b| at(f, ROWS - 1 - r, b)), [ROWS, BINS], chunk);
        assert!(about(&folder, "u.nx", "30.7", &["--flip", "rows"]) == expected, "{chunk:?}");
        let part = made(FRAMES, [ROWS, 50], |f, r, b| at(f, r, b + 9));
        write(folder.path("c.nx"), &part, [ROWS, 50], chunk.map(|[f, r, b]| [f, r, b.min(50)]));
        let cut = about(&folder, "c.nx", "21.7", &[]);
        assert!(about(&folder, "scan.nx", "21.7", &["--crop-bins", "9..59"]) == cut, "{chunk:?}");
    }
    // A camera that was turned by a quarter, as the page says: numpy's rot90 with k of 1 and of -1.
    write(folder.path("l.nx"), &made(FRAMES, [BINS, ROWS], |f, r, b| at(f, b, BINS - 1 - r)), [BINS, ROWS], None);
    assert!(about(&folder, "l.nx", "30.7", &["--transpose", "--flip", "bins"]) == expected);
    write(folder.path("r.nx"), &made(FRAMES, [BINS, ROWS], |f, r, b| at(f, ROWS - 1 - b, r)), [BINS, ROWS], None);
    assert!(about(&folder, "r.nx", "30.7", &["--transpose", "--flip", "rows"]) == expected);
    // All at once, of bytes and of floating point; bins are cut and rows counted before they are turned.
    let bytes: Vec<u8> = counts.iter().map(|v| (v / 40) as u8).collect();
    let byte = |f: usize, r: usize, b: usize| bytes[(f * BINS + r) * ROWS + b];
    let floats = |f: usize, r: usize, b: usize| f32::from(byte(f, r, b));
    write(folder.path("bytes.nx"), &made(FRAMES, [BINS, ROWS], byte), [BINS, ROWS], None);
    write(folder.path("floats.nx"), &made(FRAMES, [BINS, ROWS], floats), [BINS, ROWS], None);
    let by_hand = made(FRAMES, [ROWS / 2, 25], |f, r, b| {
        let pixels = (0..4).map(|k| floats(f, 9 + 2 * (24 - b) + k % 2, 2 * (ROWS / 2 - 1 - r) + k / 2));
        pixels.sum::<f32>() / 4.0
    });
    write(folder.path("by_hand.nx"), &by_hand, [ROWS / 2, 25], None);
    let words = ["--transpose", "--crop-bins", "9..59", "--bin", "2", "--flip", "both"];
    let expected = about(&folder, "by_hand.nx", "12", &[]);
    for scan in ["bytes.nx", "floats.nx"] {
        assert!(about(&folder, scan, "12", &words) == expected, "{scan}");
    }
    let told = succeeds(&folder, &["inspect", "bytes.nx", "--transpose", "--crop-bins", "9..59", "--flip", "rows"]);
    for word in ["of 6 rows x 50 bins", "upside down: bins 9..59 of 64: rows and bins exchanged"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    for (words, word) in [
        (vec!["--crop-bins", "9..65"], "frames have 64 bins"),
        (vec!["--crop-bins", "9..9"], "two ascending numbers"),
        (vec!["--transpose", "--crop-bins", "9..59"], "frames have 6 bins"),
        (vec!["--bin", "1"], "it must be 2 to 16"),
        (vec!["--bin", "17"], "it must be 2 to 16"),
        (vec!["--bin", "8"], "frames have 6 rows of 64 bins"),
        (vec!["--flip", "left"], "possible values"),
    ] {
        let output = isocenter(&folder, &[&["inspect", "scan.nx"], &words[..]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(word), "{words:?}: {told}");
    }
}

/// A lens and shifts are told of the detector as it is, whatever becomes of its frames.
#[test]
fn files_are_of_the_detector_as_it_is() {
    let (folder, counts) = (Folder::new("detector-files"), counts());
    let at = |frame: usize, row: usize, bin: usize| counts[(frame * ROWS + row) * BINS + bin];
    let lens = |name: &str, centre: [f64; 2], factors: [f64; 3]| {
        let [x, y] = centre;
        let factors: String = factors.iter().enumerate().map(|(k, f)| format!("factor{k} = {f:e}\n")).collect();
        std::fs::write(folder.path(name), format!("xcenter = {x}\nycenter = {y}\n{factors}")).expect("a file");
    };
    let shifts = |name: &str, [bins, rows]: [f64; 2]| {
        let lines: String =
            (0..VIEWS).map(|k| format!("{} {}\n", bins * (k % 3) as f64, rows * (k % 2) as f64)).collect();
        std::fs::write(folder.path(name), lines).expect("a file");
    };
    let words = ["--lens", "lens.txt", "--shifts", "shifts.txt"];
    lens("lens.txt", [29.0, 2.0], [1.0, -1e-3, 2e-6]);
    shifts("shifts.txt", [1.0, 0.5]);
    write(folder.path("scan.nx"), &counts, [ROWS, BINS], None);
    let expected = about(&folder, "scan.nx", "30.7", &words);
    let plain = about(&folder, "scan.nx", "30.7", &[]);
    assert!(plain.iter().zip(&expected).any(|(a, b)| (a - b).abs() > 1e-2), "files change nothing");
    // Turned by a quarter and cut: bins of the scan are rows of what is stored, the last first.
    write(folder.path("l.nx"), &made(FRAMES, [BINS, ROWS], |f, r, b| at(f, b, BINS - 1 - r)), [BINS, ROWS], None);
    let cut = about(&folder, "scan.nx", "25.7", &[&words[..], &["--crop-bins", "5..60"]].concat());
    lens("lens.txt", [2.0, 63.0 - 29.0], [1.0, -1e-3, 2e-6]);
    shifts("shifts.txt", [0.0, 0.0]);
    let lines: String = (0..VIEWS).map(|k| format!("{} {}\n", 0.5 * (k % 2) as f64, -((k % 3) as f64))).collect();
    std::fs::write(folder.path("shifts.txt"), lines).expect("a file");
    let turned = ["--transpose", "--flip", "bins"];
    same(&about(&folder, "l.nx", "30.7", &[&words[..], &turned].concat()), &expected, "turned");
    let turned = [&words[..], &turned, &["--crop-bins", "4..59"]].concat();
    same(&about(&folder, "l.nx", "25.7", &turned), &cut, "turned and cut");
    // Means: distances are half as many bins.
    write(folder.path("means.nx"), &means(&counts, 2), [3, 32], None);
    lens("lens.txt", [14.25, 0.75], [1.0, -2e-3, 8e-6]);
    shifts("shifts.txt", [0.5, 0.25]);
    let expected = about(&folder, "means.nx", "15.1", &words);
    lens("lens.txt", [29.0, 2.0], [1.0, -1e-3, 2e-6]);
    shifts("shifts.txt", [1.0, 0.5]);
    same(&about(&folder, "scan.nx", "15.1", &[&words[..], &["--bin", "2"]].concat()), &expected, "means");
}

/// A detector of one row, and flats and darks that are left out or of another size.
#[test]
fn odd_frames() {
    let (folder, counts) = (Folder::new("odd"), counts());
    write(folder.path("scan.nx"), &counts, [ROWS, BINS], None);
    let row = made(FRAMES, [1, BINS], |f, _, b| counts[f * PLANE + 2 * BINS + b]);
    let expected = about(&folder, "scan.nx", "30.7", &["--rows", "2..3"]);
    write(folder.path("row.nx"), &row, [1, BINS], None);
    assert!(about(&folder, "row.nx", "30.7", &[]) == expected, "a dataset");
    write(folder.path("row.nx"), &row, [1, BINS], Some([1, 1, 10]));
    assert!(about(&folder, "row.nx", "30.7", &[]) == expected, "chunks");
    // Of n x 1, with the axis along rows, and one image a view.
    write(folder.path("column.nx"), &row, [BINS, 1], None);
    assert!(about(&folder, "column.nx", "30.7", &["--transpose"]) == expected, "columns");
    let path = folder.path("rows");
    std::fs::create_dir_all(&path).expect("a folder");
    for (k, row) in row.chunks_exact(BINS).enumerate() {
        let name = match k {
            0 => "dark.tif".into(),
            1 => "flat.tif".into(),
            _ => format!("p_{k:03}.tif"),
        };
        tiff(&path.join(name), &[row], BINS, Layout { packing: Packing::Lzw, ..PLAIN }, "", &[]);
    }
    assert!(about(&folder, "rows", "30.7", &[]) == expected, "images");
    succeeds(&folder, &["axis", "rows"]);
    // A saturated flat before, one with the shutter closed after, and a dark with light.
    let image = |values: &[u16]| crate::files::bytes(values, 16, 1, false);
    let stack = |name: &str, images: &[Vec<u8>]| {
        edf(&folder.path(name), images, [ROWS, BINS], "UnsignedShort", false, "");
    };
    stack("before.edf", &[image(&flat(0)), image(&[u16::MAX; PLANE])]);
    stack("after.edf", &[image(&[90; PLANE]), image(&flat(20)), image(&flat(50))]);
    stack("dark.edf", &[image(&DARK), image(&flat(0))]);
    stack("clean_before.edf", &[image(&flat(0))]);
    stack("clean_after.edf", &[image(&flat(20)), image(&flat(50))]);
    stack("clean_dark.edf", &[image(&DARK)]);
    let given = |[before, after, dark]: [&'static str; 3]| ["--flats", before, "--flats", after, "--darks", dark];
    let clean = given(["clean_before.edf", "clean_after.edf", "clean_dark.edf"]);
    let expected = about(&folder, "scan.nx", "30.7", &clean);
    let dirty = given(["before.edf", "after.edf", "dark.edf"]);
    let words = [&dirty[..], &["--skip-flats", "1..3", "--skip-darks", "1"]].concat();
    assert!(about(&folder, "scan.nx", "30.7", &words) == expected, "flats that are left out");
    let told = succeeds(&folder, &[&["inspect", "scan.nx"], &words[..]].concat());
    for word in ["3 of 5 flats are used", "1 of 2 darks are used", "1 after 0 views, 2 after 91 views"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    edf(&folder.path("small.edf"), &[image(&flat(0)[..5 * BINS])], [5, BINS], "UnsignedShort", false, "");
    for (words, word) in [
        (vec!["--skip-flats", "0"], "no flats are left of 1"),
        (vec!["--skip-flats", "1"], "the scan has 1 flats"),
        (vec!["--skip-darks", "x"], "--skip-darks"),
        (vec!["--flats", "small.edf"], "flats have 5 rows of 64 bins, and projections 6 of 64: --flats names others"),
        (vec!["--darks", "small.edf", "--bin", "2"], "darks have 5 rows of 64 bins"),
    ] {
        let output = isocenter(&folder, &[&["inspect", "scan.nx"], &words[..]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(3) && told.contains(word), "{words:?}: {told}");
    }
}

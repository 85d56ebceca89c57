//! What projections are, where it is said; and messages about it, in the program's words.

use crate::files::{Layout, PLAIN, edf, tiff};
use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::{File, H5Type};

/// Writes (frames, rows, bins) as a dataset of Data Exchange.
fn exchange<T: H5Type>(folder: &Folder, name: &str, values: &[T], shape: [usize; 3]) {
    let file = File::create(folder.path(name)).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let data = exchange.new_dataset::<T>().shape(shape).create("data").expect("a dataset");
    data.write_raw(values).expect("frames");
}

/// Counts of all views, and their transmissions.
fn scan() -> (Vec<u16>, Vec<f32>) {
    let counts: Vec<u16> =
        half_turn(VIEWS).iter().enumerate().flat_map(|(k, a)| projection(k, a.to_radians())).collect();
    let flat = flat(0);
    let through = |(k, v): (usize, &u16)| (f32::from(*v) - 100.0) / (f32::from(flat[k % PLANE]) - 100.0);
    let transmissions = counts.iter().enumerate().map(through).collect();
    (counts, transmissions)
}

/// What a run that has to fail says.
fn refused(folder: &Folder, words: &[&str]) -> String {
    let output = isocenter(folder, &[&["recon"], words, &RUN, &["v.h5"]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(1 | 3)), "{words:?}: {told}");
    for strange in ["isoc_", "options.", "geometry.", "NaN policy"] {
        assert!(!told.contains(strange), "{words:?}: {told}");
    }
    told
}

/// Nothing that rounding to 16 bits does not explain: half a step of 1e-4 of the smallest transmission, over some bins.
fn near(seen: &[f32], expected: &[f32], what: &str) {
    let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let off = seen.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(seen.len() == expected.len() && largest > 0.0 && off < 1e-3 * largest, "{what}: {off:e} of {largest:e}");
}

#[test]
fn transmissions_and_line_integrals() {
    let folder = Folder::new("kinds");
    let (counts, through) = scan();
    nxtomo(folder.path("counts.nx"), &half_turn(VIEWS), &[0]);
    let expected = volume(&folder, "counts.nx", &[]);
    let shape = [VIEWS, ROWS, BINS];
    exchange(&folder, "through.h5", &through, shape);
    near(&volume(&folder, "through.h5", &["--input", "transmission"]), &expected, "f32");
    let scaled: Vec<f32> = through.iter().map(|v| 100.0 * v).collect();
    exchange(&folder, "percent.h5", &scaled, shape);
    near(&volume(&folder, "percent.h5", &["--input", "transmission", "--full-beam", "100"]), &expected, "percent");
    let stored: Vec<u16> = through.iter().map(|v| (v * 50000.0).round() as u16).collect();
    exchange(&folder, "stored.h5", &stored, shape);
    let words = ["--input", "transmission", "--full-beam", "50000"];
    near(&volume(&folder, "stored.h5", &words), &expected, "u16");
    // Steps of transmissions are to be had, and the plan does the same again.
    succeeds(&folder, &[&["recon", "stored.h5", "--outliers"], &words[..], &RUN, &["first.h5"]].concat());
    let plan = std::fs::read_to_string(folder.path("first.toml")).expect("a plan");
    std::fs::write(folder.path("again.toml"), plan.replace("first.h5", "again.h5")).expect("a plan");
    succeeds(&folder, &["repeat", "again.toml", "--device", "cpu"]);
    let values = |name: &str| {
        let file = File::open(folder.path(name)).expect("a volume");
        file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw::<f32>()).expect("values")
    };
    assert!(values("first.h5") == values("again.h5"));
    let integrals: Vec<f32> = through.iter().map(|v| -v.ln()).collect();
    exchange(&folder, "integrals.h5", &integrals, shape);
    near(&volume(&folder, "integrals.h5", &["--input", "line-integrals"]), &expected, "line integrals");
    near(&volume(&folder, "integrals.h5", &[]), &expected, "line integrals, not said");
    let thousandths: Vec<i32> = integrals.iter().map(|v| (1e5 * v).round() as i32).collect();
    exchange(&folder, "thousandths.h5", &thousandths, shape);
    let large = volume(&folder, "thousandths.h5", &["--input", "line-integrals"]);
    near(&large.iter().map(|v| v * 1e-5).collect::<Vec<_>>(), &expected, "integers");
    // Flats of the scan are left out, and that is said.
    let told = succeeds(&folder, &["inspect", "counts.nx", "--input", "line-integrals"]);
    assert!(told.contains("flats and darks are left out") && told.contains("flats       none"), "{told}");
    same(&volume(&folder, "counts.nx", &["--input", "counts"]), &expected, "counts");
    exchange(&folder, "bare.h5", &counts, shape);
    for (words, word) in [
        (vec!["stored.h5", "--input", "transmission"], "--full-beam 65535"),
        (vec!["stored.h5"], "--input transmission --full-beam"),
        (vec!["bare.h5", "--input", "counts"], "--flats"),
        (vec!["counts.nx", "--input", "counts", "--full-beam", "3"], "--input transmission"),
        (vec!["stored.h5", "--input", "transmission", "--full-beam", "0"], "above 0"),
        (vec!["through.h5", "--outliers"], "--input transmission"),
        (vec!["through.h5", "--bad-pixels"], "no flats"),
    ] {
        let told = refused(&folder, &words);
        assert!(told.contains(word), "{words:?}: {told}");
    }
    // Transmissions that are taken for line integrals are warned of.
    let output = isocenter(&folder, &[&["recon", "through.h5"], &RUN[..], &["v.h5"]].concat());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("--input says what they are") && !told.contains("options."), "{told}");
}

/// As images and datasets of (rows, views, bins), one image, a folder and a file of many.
#[test]
fn sinograms() {
    let folder = Folder::new("sinograms");
    let (counts, through) = scan();
    let turned = |values: &[f32]| -> Vec<f32> {
        let at = |row: usize, view: usize| &values[(view * ROWS + row) * BINS..][..BINS];
        (0..ROWS).flat_map(|row| (0..VIEWS).flat_map(move |view| at(row, view).to_vec())).collect()
    };
    let integrals: Vec<f32> = through.iter().map(|v| -v.ln()).collect();
    exchange(&folder, "frames.h5", &integrals, [VIEWS, ROWS, BINS]);
    let expected = volume(&folder, "frames.h5", &[]);
    exchange(&folder, "rows.h5", &turned(&integrals), [ROWS, VIEWS, BINS]);
    same(&volume(&folder, "rows.h5", &["--sinograms"]), &expected, "a dataset");
    // Images: each is a row.
    std::fs::create_dir_all(folder.path("rows")).expect("a folder");
    let rows = turned(&integrals);
    let images: Vec<Vec<u8>> =
        rows.chunks_exact(VIEWS * BINS).map(|row| row.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    for (k, image) in images.iter().enumerate() {
        let name = folder.path(&format!("rows/sino_{k}.edf"));
        edf(&name, std::slice::from_ref(image), [VIEWS, BINS], "FloatValue", false, "");
    }
    same(&volume(&folder, "rows/sino_*.edf", &["--sinograms"]), &expected, "images");
    edf(&folder.path("all.edf"), &images, [VIEWS, BINS], "FloatValue", false, "");
    same(&volume(&folder, "all.edf", &["--sinograms"]), &expected, "one file");
    let one = volume(&folder, "rows/sino_3.edf", &["--sinograms"]);
    // A slice alone is made in another way than two.
    near(&one, &expected[3 * BINS * BINS..4 * BINS * BINS], "one image");
    // Counts as TIFF, with flats and darks as the detector gives them.
    nxtomo(folder.path("whole.nx"), &half_turn(VIEWS), &[0]);
    let expected = volume(&folder, "whole.nx", &[]);
    let floats: Vec<f32> = counts.iter().map(|v| f32::from(*v)).collect();
    std::fs::create_dir_all(folder.path("tiff")).expect("a folder");
    let packed = Layout { packing: crate::files::Packing::Deflate, ..PLAIN };
    for (k, row) in turned(&floats).chunks_exact(VIEWS * BINS).enumerate() {
        let row: Vec<u16> = row.iter().map(|v| *v as u16).collect();
        tiff(&folder.path(&format!("tiff/sino_{k}.tif")), &[&row], BINS, packed, "", &[]);
    }
    write_tiff(&folder, "flat.tif", &flat(0), PLAIN);
    write_tiff(&folder, "dark.tif", &DARK, PLAIN);
    let words = ["--sinograms", "--flats", "flat.tif", "--darks", "dark.tif"];
    same(&volume(&folder, "tiff", &words), &expected, "counts");
    let told = succeeds(&folder, &["inspect", "tiff", "--sinograms"]);
    assert!(told.contains("91 of 6 rows x 64 bins") && told.contains("sinograms"), "{told}");
    // One image that nobody calls a sinogram.
    for words in [vec!["rows/sino_3.edf"], vec!["tiff/sino_2.tif"]] {
        let told = refused(&folder, &words);
        assert!(told.contains("one projection alone, of 91 rows of 64 bins") && told.contains("--sinograms"), "{told}");
    }
}

/// A stamp of the camera, and values that are no numbers: what helps is named, and helps.
#[test]
fn dead_pixels_and_nan() {
    let folder = Folder::new("dead");
    let stamped = |mut image: Vec<u16>| {
        image[0] = 0;
        image
    };
    std::fs::create_dir_all(folder.path("scan")).expect("a folder");
    for (k, angle) in half_turn(VIEWS).iter().enumerate() {
        write_tiff(&folder, &format!("scan/p_{k}.tif"), &stamped(projection(k, angle.to_radians())), PLAIN);
    }
    write_tiff(&folder, "scan/flat.tif", &stamped(flat(0)), PLAIN);
    write_tiff(&folder, "scan/dark.tif", &stamped(DARK.to_vec()), PLAIN);
    let told = refused(&folder, &["scan"]);
    assert!(told.contains("flats[0, 0] is 0") && told.contains("--bad-pixels"), "{told}");
    volume(&folder, "scan", &["--bad-pixels"]);
    let (_, through) = scan();
    let mut integrals: Vec<f32> = through.iter().map(|v| -v.ln()).collect();
    (integrals[5 * PLANE + 70], integrals[7]) = (f32::NAN, f32::INFINITY);
    exchange(&folder, "nan.h5", &integrals, [VIEWS, ROWS, BINS]);
    let told = refused(&folder, &["nan.h5"]);
    assert!(told.contains("--nan replace"), "{told}");
    let seen = volume(&folder, "nan.h5", &["--nan", "replace"]);
    (integrals[5 * PLANE + 70], integrals[7]) = (0.0, 0.0);
    exchange(&folder, "air.h5", &integrals, [VIEWS, ROWS, BINS]);
    same(&seen, &volume(&folder, "air.h5", &[]), "air in place of what is no number");
    // Flats that are no numbers.
    let flats: Vec<f32> =
        flat(0).iter().enumerate().map(|(k, v)| if k == 9 { f32::NAN } else { f32::from(*v) }).collect();
    let flats: Vec<u8> = flats.iter().flat_map(|v| v.to_le_bytes()).collect();
    edf(&folder.path("flat.edf"), std::slice::from_ref(&flats), [ROWS, BINS], "FloatValue", false, "");
    let told = refused(&folder, &["scan", "--flats", "flat.edf"]);
    assert!(told.contains("--bad-pixels"), "{told}");
    let output = isocenter(
        &folder,
        &["recon", "scan", "--flats", "flat.edf", "--bad-pixels", "--device", "cpu", "--axis", "30.7"],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

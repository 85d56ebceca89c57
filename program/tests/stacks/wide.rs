//! Scans side by side: slices of an object that is wider than one field are those of one wide camera.

use crate::folder::Folder;
use crate::scans::{half_turn, isocenter, succeeds};
use hdf5_metno::File;

const VIEWS: usize = 180;
/// Of the wide camera.
const BINS: usize = 128;
const AXIS: f64 = 63.3;
const ROWS: usize = 6;
/// As far as f32 goes: transmissions to 1e-7 of 1, of which the ramp filter makes up to some hundred times as much of the largest value.
const ROUNDING: f32 = 2e-5;

/// A camera that sees a part of the object.
#[derive(Clone)]
struct Camera {
    /// Its first row and bin, and how many it has.
    row: f64,
    bin: f64,
    rows: usize,
    bins: usize,
    /// Counts of the full beam in its middle, and what the beam of projections is of that of the flats.
    beam: f64,
    dimmed: f64,
    density: f64,
    angles: Vec<f64>,
    pixel: Option<f64>,
    /// Projections that are black.
    black: Vec<usize>,
    /// A pixel that sees nothing.
    dead: Option<usize>,
}

impl Camera {
    fn new(bin: f64, bins: usize) -> Self {
        Self {
            row: 0.0,
            bin,
            rows: ROWS,
            bins,
            beam: 40000.0,
            dimmed: 1.0,
            density: 1.0,
            angles: half_turn(VIEWS),
            pixel: Some(0.002),
            black: Vec::new(),
            dead: None,
        }
    }

    /// Line integral of rods that reach to 50 bins from the axis, 2 bins wide: 0.04 of their spectrum lie above 0.4 of the highest frequency.
    fn depth(&self, at: usize, angle: f64) -> f64 {
        let (row, bin) = (self.row + (at / self.bins) as f64, self.bin + (at % self.bins) as f64);
        let rod = |[x, y]: [f64; 2]| {
            let s = bin - AXIS - x * angle.cos() - y * angle.sin();
            (-s * s / 8.0).exp() * (0.5 + 0.3 * (row / 7.0 + x).sin())
        };
        self.density * [[50.0, 0.0], [-42.0, 20.0], [5.0, -12.0], [-10.0, -48.0]].into_iter().map(rod).sum::<f64>()
    }

    /// Counts in f32, with a beam that is not the same everywhere and falls by a tenth, two flats before and after, and a dark.
    fn write(&self, folder: &Folder, name: &str) {
        let plane = self.rows * self.bins;
        let profile = |at: usize| self.beam * (1.0 + 0.2 * ((at % self.bins) as f64 / 9.0).sin());
        let light = |at: usize, part: f64| if self.dead == Some(at) { 0.0 } else { profile(at) * (1.0 - 0.1 * part) };
        let (mut values, mut keys, mut degrees) = (Vec::new(), vec![2], vec![0.0]);
        values.extend((0..plane).map(|at| 90.0 + (at % 7) as f32));
        let mut add = |key: i32, angle: f64, value: &dyn Fn(usize) -> f64| {
            values.extend((0..plane).map(|at| 90.0 + (at % 7) as f32 + value(at) as f32));
            keys.push(key);
            degrees.push(angle);
        };
        add(1, 0.0, &|at| light(at, 0.0));
        for (k, &angle) in self.angles.iter().enumerate() {
            let dimmed = if self.black.contains(&k) { 0.0 } else { self.dimmed };
            let part = (k as f64 + 0.5) / self.angles.len() as f64;
            add(0, angle, &|at| dimmed * light(at, part) * (-self.depth(at, angle.to_radians())).exp());
        }
        add(1, 0.0, &|at| light(at, 1.0));
        let entry = File::create(folder.path(name)).and_then(|file| file.create_group("entry")).expect("a group");
        let detector = entry.create_group("instrument/detector").expect("a group");
        let data =
            detector.new_dataset::<f32>().shape([keys.len(), self.rows, self.bins]).create("data").expect("data");
        data.write_raw(&values).expect("frames");
        let list = detector.new_dataset::<i32>().shape(keys.len()).create("image_key").expect("a dataset");
        list.write_raw(&keys).expect("keys");
        if let Some(pixel) = self.pixel {
            let size = detector.new_dataset::<f64>().create("x_pixel_size").expect("a dataset");
            size.write_scalar(&(pixel * 1e-3)).expect("a size");
        }
        let sample = entry.create_group("sample").expect("a group");
        let list = sample.new_dataset::<f64>().shape(keys.len()).create("rotation_angle").expect("a dataset");
        list.write_raw(&degrees).expect("angles");
    }
}

fn table(folder: &Folder, name: &str, lines: &[&str]) {
    std::fs::write(folder.path(name), lines.join("\n")).expect("a table");
}

fn volume(folder: &Folder, name: &str) -> Vec<f32> {
    let file = File::open(folder.path(name)).expect("a volume");
    file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")
}

const PLAIN: [&str; 4] = ["--device", "cpu", "--stripes", "off"];

/// A run, what it says and what it notes.
fn recon(folder: &Folder, scan: &str, words: &[&str]) -> String {
    let output = isocenter(folder, &[&["recon", scan], &PLAIN[..], words].concat());
    let [said, noted] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{words:?}: {said}{noted}");
    said + &noted
}

fn fails(folder: &Folder, scan: &str, words: &[&str]) -> String {
    let output = isocenter(folder, &[&["recon", scan], &PLAIN[..], words].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(1 | 3)), "{words:?}: {told}");
    assert!(!told.contains("isoc_") && !told.contains("panicked"), "{told}");
    told
}

fn near(seen: &[f32], expected: &[f32], part: f32, what: &str) {
    let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let off = seen.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert_eq!(seen.len(), expected.len(), "{what}");
    assert!(off <= part * largest, "{what}: {off} of {largest}");
}

const WIDE: &str = "63.3";

/// Whole bins apart, whatever each scan's beam, order of views and place in the table.
#[test]
fn slices_are_those_of_a_wide_camera() {
    let folder = Folder::new("wide");
    Camera::new(0.0, BINS).write(&folder, "whole.nx");
    Camera::new(0.0, 80).write(&folder, "left.nx");
    let angles: Vec<f64> = half_turn(VIEWS).into_iter().rev().map(|angle| angle + 360.0).collect();
    Camera { beam: 9000.0, angles, ..Camera::new(48.0, 80) }.write(&folder, "right.nx");
    recon(&folder, "whole.nx", &["--axis", WIDE, "-o", "whole.h5"]);
    let whole = volume(&folder, "whole.h5");
    assert_eq!(whole.len(), ROWS * BINS * BINS);
    table(&folder, "wide.csv", &["scan,x_bins", "right.nx,-52", "left.nx,-100"]);
    let told = recon(&folder, "wide.csv", &["--axis", WIDE]);
    for word in
        ["128 bins side by side: left.nx from bin 0.000 on, right.nx from bin 48.000 on", "both have bins 48..80: "]
    {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(!told.contains("warning"), "{told}");
    let seen = volume(&folder, "wide_volume.h5");
    near(&seen, &whole, ROUNDING, "two scans");
    // The axis of one of them, in its own bins; and one that is searched.
    table(&folder, "own.csv", &["scan,x-mm,axis", "left.nx,1,", "right.nx,1.096,15.3"]);
    recon(&folder, "own.csv", &[]);
    near(&volume(&folder, "own_volume.h5"), &seen, 1e-6, "an axis of its own");
    let told = recon(&folder, "wide.csv", &["-o", "searched.h5"]);
    assert!(told.contains("left.nx + right.nx:\naxis 63.") || told.contains("axis 63."), "{told}");
    // The plan does the same again, and in parts, to the bit; the table is not needed any more.
    let plan = std::fs::read_to_string(folder.path("wide_volume.toml")).expect("a plan");
    assert!(plan.contains("[[scans.beside]]") && plan.contains("bin = 48.0"), "{plan}");
    std::fs::remove_file(folder.path("wide.csv")).expect("removed");
    for (name, words) in [("again", vec![]), ("threads", vec!["--threads", "1"])] {
        std::fs::write(folder.path(&format!("{name}.toml")), plan.replace("wide_volume.h5", &format!("{name}.h5")))
            .expect("a plan");
        succeeds(&folder, &[&["repeat", &format!("{name}.toml"), "--device", "cpu"], &words[..]].concat());
        assert!(volume(&folder, &format!("{name}.h5")) == seen, "{name}");
    }
    let page = std::fs::read_to_string(folder.path("again.html")).expect("a report");
    assert!(page.contains("right.nx from bin 48.000 on") && page.contains("left.nx + right.nx"), "{page}");
    // Some rows, and other steps, which see wide frames: phase retrieval over the seam.
    table(&folder, "wide.csv", &["scan,x-bins", "left.nx,0", "right.nx,48"]);
    recon(&folder, "wide.csv", &["--axis", WIDE, "--rows", "2..5", "-o", "rows.h5"]);
    near(&volume(&folder, "rows.h5"), &seen[2 * BINS * BINS..5 * BINS * BINS], ROUNDING, "some rows");
    for (name, words) in [
        ("phase", &["--phase", "--energy", "20", "--distance", "30", "--delta-beta", "100"][..]),
        ("outliers", &["--outliers"]),
        ("binned", &["--bin", "2"]),
        ("sirt", &["--algorithm", "sirt", "--iterations", "3"]),
        ("median", &["--median-flats", "--padding", "edge"]),
    ] {
        let axis = if name == "binned" { "31.4" } else { WIDE };
        if name == "binned" {
            table(&folder, "wide.csv", &["scan,x-mm", "left.nx,0", "right.nx,0.096"]);
        }
        let words = [&["--axis", axis][..], words].concat();
        recon(&folder, "whole.nx", &[&words[..], &["-o", "one.h5"]].concat());
        recon(&folder, "wide.csv", &[&words[..], &["-o", "other.h5"]].concat());
        // Means of two pixels are weighed by a beam that changes by 0.2 / 9 a bin, in each camera elsewhere: half of that of a transmission's change by 0.2.
        let part = if name == "binned" { 2.2e-3 } else { ROUNDING };
        near(&volume(&folder, "other.h5"), &volume(&folder, "one.h5"), part, name);
    }
    let told = recon(&folder, "wide.csv", &["--axis", WIDE, "--probe"]);
    assert!(told.contains("2 scans side by side"), "{told}");
}

/// Between bins, and more than two: within what the interpolation loses, 0.001 of waves up to 0.6 of the highest frequency, above which rods have nothing
/// (exp(-2 pi^2 4 0.3^2) = 8e-4), of a slice, which is a sum of all waves.
#[test]
fn places_between_bins() {
    let folder = Folder::new("between");
    Camera::new(0.0, BINS - 1).write(&folder, "whole.nx");
    for (name, bin, bins) in [("left.nx", 0.0, 60), ("middle.nx", 33.7, 60), ("right.nx", 66.4, 61)] {
        Camera::new(bin, bins).write(&folder, name);
    }
    recon(&folder, "whole.nx", &["--axis", WIDE, "-o", "whole.h5"]);
    table(&folder, "wide.csv", &["scan,x-bins", "left.nx,10", "middle.nx,43.7", "right.nx,76.4"]);
    let told = recon(&folder, "wide.csv", &["--axis", WIDE]);
    assert!(!told.contains("warning"), "{told}");
    near(&volume(&folder, "wide_volume.h5"), &volume(&folder, "whole.h5"), 5e-3, "three scans");
}

/// Rows of scans side by side, below each other: of as wide a camera as high.
#[test]
fn mosaics() {
    let folder = Folder::new("mosaics");
    Camera { rows: 16, ..Camera::new(0.0, BINS) }.write(&folder, "whole.nx");
    for (name, row, bin, bins) in
        [("a.nx", 0.0, 0.0, 80), ("b.nx", 0.0, 48.0, 80), ("c.nx", 6.0, 2.0, 70), ("d.nx", 6.0, 50.0, 78)]
    {
        Camera { row, rows: 10, ..Camera::new(bin, bins) }.write(&folder, name);
    }
    recon(&folder, "whole.nx", &["--axis", WIDE, "-o", "whole.h5"]);
    // Places of a stage, a little off its rows.
    let lines = ["scan,z-mm,x-bins", "d.nx,3.012,50", "b.nx,3.00002,48", "a.nx,3,0", "c.nx,3.0119,2"];
    table(&folder, "mosaic.csv", &lines);
    let told = recon(&folder, "mosaic.csv", &["--axis", WIDE]);
    assert!(told.contains("a.nx + b.nx and c.nx + d.nx both have rows 6..10") && !told.contains("warning"), "{told}");
    // Of a camera that is as wide as c and d together, two bins less on the left.
    let words = ["--crop-bins", "2..128", "--axis", "61.3", "--width", "128", "-o", "lower.h5"];
    recon(&folder, "whole.nx", &words);
    let [whole, lower, seen] = ["whole.h5", "lower.h5", "mosaic_volume.h5"].map(|name| volume(&folder, name));
    let slice = BINS * BINS;
    for row in 0..16 {
        let share = (row as f32 - 5.0).clamp(0.0, 5.0) / 5.0;
        let both = whole[row * slice..].iter().zip(&lower[row * slice..]);
        let expected: Vec<_> = both.take(slice).map(|(upper, lower)| upper + share * (lower - upper)).collect();
        near(&seen[row * slice..][..slice], &expected, ROUNDING, &format!("row {row}"));
    }
    let plan = std::fs::read_to_string(folder.path("mosaic_volume.toml")).expect("a plan");
    assert!(plan.contains("axis = 61.3"), "{plan}");
    let told = succeeds(&folder, &["inspect", "mosaic.csv", "--axis", WIDE]);
    for word in [
        "together: 16 rows",
        "rows 0..10: 128 bins, axis 63.300, as it is given",
        "rows 6..16: 126 bins, axis 61.300",
        "d.nx from bin 48.000 on",
        "bins 48..80 are in two",
        "rows 6..10 are in two",
        "x           50 bins, as the table has it",
        "z           3.012 mm",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    let told = succeeds(&folder, &["inspect", "mosaic.csv", "--json"]);
    let line = told.lines().find(|line| line.contains("\"together\"")).expect("a line");
    assert!(line.contains("\"seams\":[[48,80]]") && line.contains("\"axis\":null"), "{line}");
}

/// Projections that are no measurement of one scan are left out of both; the plan leaves out the same.
#[test]
fn lost_views() {
    let folder = Folder::new("lost-wide");
    Camera { black: vec![30, 31, 90], ..Camera::new(0.0, BINS) }.write(&folder, "whole.nx");
    Camera { black: vec![30, 31], ..Camera::new(0.0, 80) }.write(&folder, "left.nx");
    let angles: Vec<f64> = half_turn(VIEWS).into_iter().rev().collect();
    Camera { black: vec![89], angles, ..Camera::new(48.0, 80) }.write(&folder, "right.nx");
    recon(&folder, "whole.nx", &["--axis", WIDE, "-o", "whole.h5"]);
    table(&folder, "wide.csv", &["scan,x-bins", "left.nx,0", "right.nx,48"]);
    let told = recon(&folder, "wide.csv", &["--axis", WIDE]);
    for word in ["projections 90 of scan 1 of left.nx + right.nx", "projections 148..150 of scan 2"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    let seen = volume(&folder, "wide_volume.h5");
    // The beam fell by a tenth, and flats lie between views that are left: 3 of 180 that are gone move it by 0.1 x 3 / 180 where others were taken first.
    near(&seen, &volume(&folder, "whole.h5"), 1.7e-3, "lost views");
    succeeds(&folder, &["repeat", "wide_volume.toml", "--device", "cpu"]);
    assert!(volume(&folder, "wide_volume.h5") == seen, "repeated");
}

/// Dead pixels are replaced before scans are put together, and a full turn about an axis near the edge of the field is joined.
#[test]
fn dead_pixels_and_halves() {
    let folder = Folder::new("halves-wide");
    let angles: Vec<f64> = (0..360).map(f64::from).collect();
    let camera = |bin, bins| Camera { angles: angles.clone(), ..Camera::new(bin, bins) };
    camera(0.0, 74).write(&folder, "whole.nx");
    camera(0.0, 50).write(&folder, "left.nx");
    Camera { dead: Some(2 * 50 + 30), ..camera(24.0, 50) }.write(&folder, "right.nx");
    let told = recon(&folder, "whole.nx", &["-o", "whole.h5"]);
    assert!(told.contains("a half acquisition"), "{told}");
    table(&folder, "wide.csv", &["scan,x-bins", "left.nx,0", "right.nx,24"]);
    assert!(fails(&folder, "wide.csv", &[]).contains("--bad-pixels"));
    let told = recon(&folder, "wide.csv", &["--bad-pixels"]);
    assert!(told.contains("a half acquisition"), "{told}");
    let [whole, seen] = ["whole.h5", "wide_volume.h5"].map(|name| volume(&folder, name));
    // All that is seen about the axis; but for the row of the pixel to what two searches of an axis differ by.
    let slice = whole.len() / ROWS;
    assert!(slice > 120 * 120, "{slice}");
    for row in [0, 1, 3, 4, 5] {
        near(&seen[row * slice..][..slice], &whole[row * slice..][..slice], 5e-3, &format!("row {row}"));
    }
}

/// What scans differ by where both have bins is told, with what mends it.
#[test]
fn scans_that_do_not_fit() {
    let folder = Folder::new("unfit");
    Camera::new(0.0, 80).write(&folder, "left.nx");
    Camera::new(48.0, 80).write(&folder, "right.nx");
    Camera { dimmed: 0.95, ..Camera::new(48.0, 80) }.write(&folder, "dim.nx");
    Camera { density: 1.1, ..Camera::new(48.0, 80) }.write(&folder, "dense.nx");
    for (lines, words) in [
        (
            ["scan,x-bins", "left.nx,0", "right.nx,45.6"],
            &["right.nx fits left.nx best +2.4", "0.0048", "at bin 48.0"][..],
        ),
        (["scan,x-bins", "left.nx,0", "right.nx,-48"], &["show different things", "signs are the opposite"]),
        (["scan,x-bins", "left.nx,0", "dim.nx,48"], &["dim.nx is +5.0 % darker than left.nx", "flats"]),
        (["scan,x-bins", "left.nx,0", "dense.nx,48"], &["line integrals of dense.nx are +9."]),
    ] {
        table(&folder, "wide.csv", &lines);
        let told = recon(&folder, "wide.csv", &["--axis", WIDE, "--rows", "0..2"]);
        assert!(words.iter().all(|word| told.contains(word)), "{words:?}: {told}");
    }
    let scans = [("few.nx", VIEWS - 1), ("many.nx", 2 * VIEWS)];
    for (name, views) in scans {
        Camera { angles: half_turn(views), ..Camera::new(48.0, 80) }.write(&folder, name);
    }
    let angles: Vec<f64> = half_turn(VIEWS).iter().map(|angle| angle + 0.5).collect();
    Camera { angles, ..Camera::new(48.0, 80) }.write(&folder, "turned.nx");
    Camera { pixel: Some(0.003), ..Camera::new(48.0, 80) }.write(&folder, "large.nx");
    Camera { pixel: None, ..Camera::new(48.0, 80) }.write(&folder, "untold.nx");
    Camera { rows: ROWS + 1, ..Camera::new(48.0, 80) }.write(&folder, "high.nx");
    Camera { black: (0..40).collect(), ..Camera::new(48.0, 80) }.write(&folder, "dark.nx");
    for (lines, words, word) in [
        (["scan,x-bins", "left.nx,0", "right.nx,81"], vec![], "bins 80..81 are in no scan"),
        (["scan,x-bins", "left.nx,0", "right.nx,0"], vec![], "does not go beyond"),
        (["scan,x-bins", "left.nx,0", "right.nx,1e15"], vec![], "right unit"),
        (["scan,x-mm", "left.nx,0", "right.nx,1e200"], vec![], "right unit"),
        (["scan,x-bins", "left.nx,-1e308", "right.nx,1e308"], vec![], "right unit"),
        (["scan,x-bins", "left.nx,0", "right.nx,nan"], vec![], "must be a number"),
        (["scan,x-bins", "left.nx,0", "right.nx,"], vec![], "one has none"),
        (["scan,x-bins", "left.nx,0", "large.nx,48"], vec![], "0.002 mm and 0.003 mm"),
        (["scan,x-mm", "left.nx,0", "untold.nx,0.096"], vec![], "x-mm needs the side of a pixel"),
        (["scan,x-bins", "left.nx,0", "high.nx,48"], vec![], "6 and 7 rows"),
        (["scan,x-bins", "left.nx,0", "few.nx,48"], vec![], "180 and 179 projections"),
        (["scan,x-bins", "left.nx,0", "many.nx,48"], vec![], "--views or --skip"),
        (["scan,x-bins", "left.nx,0", "turned.nx,48"], vec![], "--angles"),
        (["scan,x-bins,axis", "left.nx,0,63.3", "right.nx,48,63.3"], vec![], "48.00 bins apart"),
        (["scan,x-bins,input", "left.nx,0,", "right.nx,48,line-integrals"], vec![], "some are line integrals"),
        (["scan,x-bins,padding", "left.nx,0,edge", "right.nx,48,"], vec![], "command line"),
        (["scan,x-bins", "left.nx,0", "right.nx,48"], vec!["--tilt", "0.001"], "--lens, --tilt and --shifts"),
        (["scan,x-bins", "left.nx,0", "right.nx,48"], vec!["-o", "right.nx"], "another name"),
        (["scan,x-bins", "left.nx,0", "right.nx,48"], vec!["--try-axis", "60..66:1"], "of one scan"),
        (["scan,x-bins", "left.nx,0", "right.nx,48"], vec!["--eigenflats", "2"], "flats"),
    ] {
        table(&folder, "wide.csv", &lines);
        let told = fails(&folder, "wide.csv", &words);
        assert!(told.contains(word), "{word}: {told}");
        assert!(!folder.path("wide_volume.h5.unfinished").exists());
    }
    // A column mends what is not of one angle.
    table(&folder, "wide.csv", &["scan,x-bins,views", "left.nx,0,", "many.nx,48,0..360:2"]);
    recon(&folder, "wide.csv", &["--axis", WIDE, "--rows", "0..2"]);
    // Of line integrals: the same as of what they are made of.
    table(&folder, "wide.csv", &["scan,x-bins", "left.nx,0", "right.nx,48"]);
    let told = recon(&folder, "wide.csv", &["--axis", WIDE, "--rows", "0..2", "--input", "line-integrals"]);
    assert!(told.contains("flats and darks are left out"), "{told}");
    // A plan that was edited.
    let plan = std::fs::read_to_string(folder.path("wide_volume.toml")).expect("a plan");
    for (to, word) in [
        ("bin = 90.0", "in no scan"),
        ("bin = -3.0", "right unit"),
        ("bin = nan", "right unit"),
        ("bin = inf", "right unit"),
    ] {
        std::fs::write(folder.path("edited.toml"), plan.replacen("bin = 48.0", to, 1)).expect("a plan");
        let output = isocenter(&folder, &["repeat", "edited.toml"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(word), "{word}: {told}");
    }
}

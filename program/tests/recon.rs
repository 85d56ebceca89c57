//! The command, from files that the tests write to volumes, against the library called directly.

mod folder;

use folder::Folder;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{File, Group};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::ct::{
    Ct, FlatFieldOptions, FlatFitOptions, FlatGroup, Geometry, InputKind, Interpolation, Options, OutlierSide,
    OutlierUnit, Outliers, Stripes,
};
use std::f64::consts::PI;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

const VIEWS: usize = 91;
const ROWS: usize = 7;
const BINS: usize = 96;
const AXIS: f64 = 45.3;
const PIXEL: f64 = 0.003;

/// Frames of a scan in their order: flats, half of the views, flats, the other half; darks are of 100 counts.
struct Scan {
    angles: Vec<f64>,
    views: Vec<u16>,
    flats: [Vec<u16>; 2],
}

const FLATS: usize = 3;

/// Three rods, noise of a few counts, a beam that fades.
fn scan() -> Scan {
    let angles: Vec<f64> = (0..VIEWS).map(|v| PI * v as f64 / (VIEWS - 1) as f64).collect();
    let noise = |k: usize| (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_shr(59) as u16;
    let rods = [[20.0, 5.0], [-14.0, 18.0], [3.0, -25.0]];
    let views = (0..VIEWS * ROWS * BINS).map(|k| {
        let (view, row, bin) = (k / (ROWS * BINS), k / BINS % ROWS, (k % BINS) as f64);
        let depth = |r: &[f64; 2]| {
            let s = bin - AXIS - r[0] * angles[view].cos() - r[1] * angles[view].sin();
            0.9 * (-s * s / 20.0).exp() * (1.0 + 0.05 * row as f64)
        };
        let through: f64 = (-rods.iter().map(depth).sum::<f64>()).exp();
        100 + (through * (9000.0 - 10.0 * view as f64)) as u16 + noise(k)
    });
    let flat = |level: u16| (0..FLATS * ROWS * BINS).map(|k| level + noise(k + 7)).collect();
    Scan { views: views.collect(), flats: [flat(9100), flat(8650)], angles }
}

fn text(group: &Group, name: &str, value: &str) {
    let value: VarLenUnicode = value.parse().expect("text");
    group.new_dataset::<VarLenUnicode>().create(name).expect("a dataset").write_scalar(&value).expect("text");
}

fn units(dataset: &hdf5_metno::Dataset, value: &str) {
    let value: VarLenUnicode = value.parse().expect("text");
    dataset.new_attr::<VarLenUnicode>().create("units").expect("an attribute").write_scalar(&value).expect("text");
}

/// The middle view, before which the second flats are taken.
const MIDDLE: usize = 45;

fn nxtomo(path: &Path, scan: &Scan, chunk: Option<[usize; 3]>) {
    let file = File::create(path).expect("a file");
    let entry = file.create_group("entry0000").expect("a group");
    text(&entry, "title", "three rods");
    let detector = entry.create_group("instrument/detector").expect("a group");
    let plane = ROWS * BINS;
    let mut frames: Vec<u16> = vec![100; 2 * plane];
    let mut keys = vec![2i32; 2];
    let mut degrees = vec![0.0; 2];
    let mut add = |part: &[u16], key: i32, angles: &mut dyn Iterator<Item = f64>| {
        frames.extend(part);
        keys.extend(std::iter::repeat_n(key, part.len() / plane));
        degrees.extend(angles.take(part.len() / plane));
    };
    let still = || std::iter::repeat(0.0);
    add(&scan.flats[0], 1, &mut still());
    add(&scan.views[..MIDDLE * plane], 0, &mut scan.angles.iter().map(|a| a.to_degrees()));
    add(&scan.flats[1], 1, &mut still());
    // One that the beamline marked as of no use.
    add(&scan.views[..plane], 3, &mut still());
    add(&scan.views[MIDDLE * plane..], 0, &mut scan.angles[MIDDLE..].iter().map(|a| a.to_degrees()));
    let builder = detector.new_dataset::<u16>();
    let builder = match chunk {
        Some(chunk) => builder.chunk(chunk).shuffle().deflate(3),
        None => builder,
    };
    let data = builder.shape([keys.len(), ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(&frames).expect("frames");
    let list = detector.new_dataset::<i32>().shape(keys.len()).create("image_key").expect("a dataset");
    list.write_raw(&keys).expect("keys");
    let size = detector.new_dataset::<f64>().create("x_pixel_size").expect("a dataset");
    size.write_scalar(&(PIXEL * 1e-3)).expect("a size");
    units(&size, "m");
    let list = entry.create_group("sample").expect("a group");
    let list = list.new_dataset::<f64>().shape(degrees.len()).create("rotation_angle").expect("a dataset");
    list.write_raw(&degrees).expect("angles");
    units(&list, "degree");
}

fn data_exchange(path: &Path, scan: &Scan) {
    let file = File::create(path).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let write = |name: &str, frames: &[f32]| {
        let shape = [frames.len() / (ROWS * BINS), ROWS, BINS];
        let dataset = exchange.new_dataset::<f32>().shape(shape).create(name).expect("a dataset");
        dataset.write_raw(frames).expect("frames");
    };
    let floats = |values: &[u16]| values.iter().map(|v| f32::from(*v)).collect::<Vec<_>>();
    write("data", &floats(&scan.views));
    write("data_white", &floats(&scan.flats[0]));
    write("data_dark", &vec![100.0; 2 * ROWS * BINS]);
    let degrees: Vec<f64> = scan.angles.iter().map(|a| a.to_degrees()).collect();
    let theta = exchange.new_dataset::<f64>().shape(VIEWS).create("theta").expect("a dataset");
    theta.write_raw(&degrees).expect("angles");
    units(&theta, "degrees");
}

/// What the library makes of it.
fn expected(
    scan: &Scan,
    groups: usize,
    pixel: f64,
    axis: f64,
    eigenflats: usize,
    set: impl FnOnce(&mut Ct),
) -> Vec<f32> {
    let options = ContextOptions { compute: Compute::Cpu, ..ContextOptions::default() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    let angles: Vec<f64> = scan.angles.iter().map(|a| a.to_degrees().to_radians()).collect();
    let g = Geometry { axis: vec![axis], bin_pitch: pixel, pixel_size: pixel, ..Geometry::new(angles, BINS) };
    let g = g.with_rows(ROWS);
    ct.set_geometry(g.clone()).expect("a geometry");
    let options = Options { interpolation: Interpolation::BandLimited, input: InputKind::Counts, ..Options::default() };
    ct.set_options(options).expect("options");
    let flats = scan.flats[..groups].concat();
    let flats = Array::of(&flats, [flats.len() / (ROWS * BINS), ROWS, BINS]).expect("flats");
    let group = |position: usize| FlatGroup { frames: FLATS, position: position as f64, monitor: 1.0 };
    let list = if groups == 2 { vec![group(0), group(MIDDLE)] } else { Vec::new() };
    let options = FlatFieldOptions { groups: list, eigenflats, ..FlatFieldOptions::default() };
    let darks = vec![100u16; 2 * ROWS * BINS];
    let darks = Array::of(&darks, [2, ROWS, BINS]).expect("darks");
    ct.set_flat_field_by(Some(flats), Some(darks), &options).expect("a flat field");
    set(&mut ct);
    let mut volume = vec![0.0; ROWS * BINS * BINS];
    let from = Array::of(&scan.views, [VIEWS, ROWS, BINS]).expect("projections");
    ct.reconstruct(from, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
    volume
}

/// A scan whose beam has a wave that moves from frame to frame, with many flats.
fn drifting() -> Scan {
    let mut scan = scan();
    let wave = |frame: usize, k: usize| {
        let strength = 0.15 * ((frame * 37 % 23) as f64 / 11.0 - 1.0);
        1.0 + strength * ((k % BINS) as f64 / 4.0).sin()
    };
    let moved = |(k, v): (usize, u16)| ((f64::from(v) - 100.0) * wave(k / (ROWS * BINS), k) + 100.0) as u16;
    scan.views = scan.views.into_iter().enumerate().map(moved).collect();
    let still: Vec<u16> = (0..15).flat_map(|_| scan.flats[0][..ROWS * BINS].to_vec()).collect();
    scan.flats[0] = still.into_iter().enumerate().map(moved).collect();
    scan
}

/// The component of the flats is fitted to each view, and leaves less of the wave.
#[test]
fn eigenflats_are_fitted() {
    let (folder, scan) = (Folder::new("eigenflats"), drifting());
    data_exchange(&folder.path("scan.h5"), &scan);
    let mut kept = 0;
    let fitted = expected(&scan, 1, 1.0, AXIS, 2, |ct| {
        let from = Array::of(&scan.views, [VIEWS, ROWS, BINS]).expect("projections");
        kept = ct.fit_flat_field(from, 0, &FlatFitOptions::default()).expect("a fit").explained.len();
    });
    assert!(kept > 0);
    let mean = expected(&scan, 1, 1.0, AXIS, 0, |_| {});
    let rest = ["recon", "scan.h5", "-o", "made.h5", "--axis", "45.3", "--device", "cpu", "--stripes", "off"];
    succeeds(&folder, &[rest.as_slice(), &["--eigenflats", "2"]].concat());
    let seen = volume(&folder.path("made.h5"));
    same(&seen, &fitted);
    let far = seen.iter().zip(&mean).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // A hundred times what slabs may differ by.
    let largest = fitted.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    assert!(far > 1e-3 * largest, "{far} of {largest}: nothing was fitted");
}

fn isocenter(folder: &Folder, arguments: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_isocenter");
    Command::new(command).args(arguments).current_dir(&folder.0).output().expect("the command runs")
}

fn succeeds(folder: &Folder, arguments: &[&str]) -> String {
    let output = isocenter(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn volume(path: &Path) -> Vec<f32> {
    let file = File::open(path).expect("a volume");
    file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")
}

/// Slabs of a stream may sum views in another order: 1e-5 of the largest.
fn same(seen: &[f32], expected: &[f32]) {
    let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let off = seen.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(seen.len() == expected.len() && largest > 0.0 && off < 1e-5 * largest, "{off:e} of {largest:e}");
}

fn significant(ct: &mut Ct) {
    ct.set_stripes(Some(Stripes::Significant)).expect("stripes");
}

#[test]
fn nxtomo_files_in_every_layout() {
    let (folder, scan) = (Folder::new("nxtomo"), scan());
    let expected = expected(&scan, 2, PIXEL, AXIS, 0, significant);
    for (name, chunk) in [("plain", None), ("frame", Some([1, ROWS, BINS])), ("odd", Some([4, 3, 50]))] {
        nxtomo(&folder.path(&format!("{name}.nx")), &scan, chunk);
        let told = succeeds(&folder, &["inspect", &format!("{name}.nx")]);
        for word in ["NXtomo", "three rods", "91 of 7 rows x 96 bins", "3 after 0 views, 3 after 45 views", "0.003 mm"]
        {
            assert!(told.contains(word), "{word}: {told}");
        }
        succeeds(&folder, &["recon", &format!("{name}.nx"), "--axis", "45.3", "--device", "cpu"]);
        same(&volume(&folder.path(&format!("{name}_volume.h5"))), &expected);
    }
}

/// Only chunks have to be decoded, and kept where there is room.
#[test]
fn room_for_decoded_frames() {
    let (folder, scan) = (Folder::new("room"), scan());
    nxtomo(&folder.path("scan.nx"), &scan, Some([1, ROWS, BINS]));
    let rest = ["recon", "scan.nx", "--axis", "45.3", "--device", "cpu"];
    for (words, message) in [
        (["--memory", "1K", "--scratch", "nowhere"], "nowhere"),
        (["--memory", "much", "--scratch", "."], "a number of bytes is expected"),
        (["--memory", "-3", "--scratch", "."], "'-3'"),
    ] {
        let output = isocenter(&folder, &[rest.as_slice(), &words].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(message), "{words:?}: {told}");
    }
}

#[test]
fn data_exchange_files() {
    let (folder, scan) = (Folder::new("exchange"), scan());
    data_exchange(&folder.path("scan.h5"), &scan);
    let expected = expected(&scan, 1, 1.0, AXIS, 0, |ct| {
        let (unit, side) = (OutlierUnit::Noise, OutlierSide::Bright);
        ct.set_outliers(Some(Outliers { window: 3, depth: 3, unit, threshold: 8.0, side })).expect("outliers");
    });
    let steps = ["--outliers", "noise", "--outlier-threshold", "8", "--stripes", "off"];
    let rest = ["recon", "scan.h5", "-o", "made.h5", "--axis", "45.3", "--device", "cpu"];
    succeeds(&folder, &[rest.as_slice(), &steps].concat());
    same(&volume(&folder.path("made.h5")), &expected);
}

/// The axis is found to a tenth of a bin, and a plan does the same run again, to the bit.
#[test]
fn plans_are_repeated() {
    let (folder, scan) = (Folder::new("plan"), scan());
    nxtomo(&folder.path("scan.nx"), &scan, None);
    let told = succeeds(&folder, &["recon", "scan.nx", "--depth", "u16", "--rows", "2..6", "--device", "cpu"]);
    let axis: f64 = told.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("an axis");
    assert!((axis - AXIS).abs() < 0.1, "{told}");
    // A page that needs nothing beside it: three planes of the volume, the sinogram, and two plots.
    let page = std::fs::read_to_string(folder.path("scan_volume.html")).expect("a report");
    let count = |what: &str| page.matches(what).count();
    assert_eq!(
        [count("src=\"data:image/png;base64,"), count("<svg"), count("src=\"http"), count("<script")],
        [4, 6, 0, 0]
    );
    for word in ["three rods", "91 of 7 rows x 96 bins", "depth = &quot;u16&quot;"] {
        assert!(page.contains(word), "{word}");
    }
    let path = folder.path("scan_volume.h5");
    let first = std::fs::read(&path).expect("a volume");
    std::fs::remove_file(&path).expect("removed");
    succeeds(&folder, &["repeat", "scan_volume.toml", "--device", "cpu"]);
    let values = |bytes: &[u8]| bytes[bytes.len() - 4 * BINS * BINS * 2..].to_vec();
    assert!(values(&first) == values(&std::fs::read(&path).expect("a volume")), "other values");
    let file = File::open(&path).expect("a volume");
    let data = file.dataset("entry/reconstruction/data").expect("data");
    assert_eq!(data.shape(), [4, BINS, BINS]);
    let number = |name: &str| data.attr(name).and_then(|a| a.read_scalar::<f64>()).expect("an attribute");
    let stored: Vec<u16> = data.read_raw().expect("values");
    let expected = expected(&scan, 2, PIXEL, axis, 0, significant);
    let step = number("scale_factor");
    // Rounded to a step, clipped at percentiles; the axis is told to a thousandth of a bin.
    let far = stored.iter().zip(&expected[2 * BINS * BINS..]).filter(|(s, e)| {
        let value = f64::from(**s) * step + number("add_offset");
        (value - f64::from(**e)).abs() > 100.0 * step && **s > 0 && **s < u16::MAX
    });
    assert_eq!(far.count(), 0);
}

/// Ctrl-C ends a run between two of its steps, with a status of its own.
#[test]
fn an_interrupted_run_says_so() {
    let (folder, scan) = (Folder::new("interrupted"), scan());
    nxtomo(&folder.path("scan.nx"), &scan, None);
    succeeds(&folder, &["recon", "scan.nx", "--axis", "45.3", "--device", "cpu"]);
    let text = std::fs::read_to_string(folder.path("scan_volume.toml")).expect("a plan");
    std::fs::write(folder.path("plan.toml"), text.replace("block = 128", "block = 2")).expect("a plan");
    std::fs::remove_file(folder.path("scan_volume.h5")).expect("removed");
    let journal = folder.path("scan_volume.h5.unfinished.journal");
    let mut run = Command::new(env!("CARGO_BIN_EXE_isocenter"));
    run.args(["repeat", "plan.toml", "--device", "cpu"]).current_dir(&folder.0).stderr(std::process::Stdio::piped());
    let mut run = run.spawn().expect("the command runs");
    while !journal.exists() && run.try_wait().expect("a child").is_none() {
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
    let output = run.wait_with_output().expect("a child");
    // On a quick machine it was there before.
    if killed.is_ok_and(|status| status.success()) && !output.status.success() {
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(!folder.path("scan_volume.h5").exists());
    }
}

/// More threads than processors are no more work: that is said, and the volume is the same.
#[test]
fn threads_that_are_too_many() {
    let (folder, scan) = (Folder::new("threads"), scan());
    nxtomo(&folder.path("scan.nx"), &scan, None);
    let run = |threads: &str, output: &str| {
        let words = ["recon", "scan.nx", "--axis", "45.3", "--device", "cpu", "--threads", threads, "-o", output];
        let done = isocenter(&folder, &words);
        assert!(done.status.success());
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    let told = run("100000", "many.h5");
    assert!(told.contains("note: --threads 100000:"), "{told}");
    assert!(!run("1", "one.h5").contains("--threads"));
    assert!(volume(&folder.path("many.h5")) == volume(&folder.path("one.h5")));
}

/// A format without a name, and one that goes against it.
#[test]
fn formats_that_are_named() {
    let (folder, scan) = (Folder::new("formats"), scan());
    nxtomo(&folder.path("scan.nx"), &scan, None);
    for (more, made) in [
        (vec!["--format", "hdf5"], "scan_volume.h5"),
        (vec!["--format", "tiff"], "scan_volume/scan_volume_00006.tif"),
        (vec!["--format", "vol"], "scan_volume.vol.info"),
        (vec!["--format", "zarr", "--compression", "none"], "scan_volume.zarr/0/zarr.json"),
        (vec!["--format", "tiff", "-o", "v.zarr"], "v.zarr/v.zarr_00000.tif"),
        (vec!["--format", "zarr", "-o", "v.tif"], "v.tif/zarr.json"),
        (vec!["-o", "deep.ome.zarr"], "deep.ome.zarr/zarr.json"),
    ] {
        succeeds(&folder, &[["recon", "scan.nx", "--axis", "45.3", "--device", "cpu"].as_slice(), &more].concat());
        assert!(folder.path(made).exists(), "{more:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (folder, scan) = (Folder::new("refused"), scan());
    nxtomo(&folder.path("scan.nx"), &scan, None);
    let whole = std::fs::read(folder.path("scan.nx")).expect("a file");
    std::fs::write(folder.path("truncated.nx"), &whole[..whole.len() / 2]).expect("a file");
    std::fs::write(folder.path("text.h5"), "no scan").expect("a file");
    std::fs::write(
        folder.path("plan.toml"),
        "scan = \"scan.nx\"\noutput = \"a.h5\"\naxis = 3.0\nrows = [0, 7]\nblock = 4\nspeed = 9\n[steps]\n",
    )
    .expect("a file");
    for (arguments, word) in [
        (vec!["recon", "nothing.nx"], "nothing.nx"),
        (vec!["recon", "text.h5"], "text.h5"),
        (vec!["recon", "truncated.nx"], "truncated"),
        (vec!["recon", "scan.nx", "--rows", "3..9"], "the scan has 7"),
        (vec!["recon", "scan.nx", "--rows", "5..2"], "ascending"),
        (vec!["recon", "scan.nx", "--snr", "3"], "belongs to --stripes vo"),
        (vec!["recon", "scan.nx", "--outlier-threshold", "3"], "--outliers"),
        (vec!["recon", "scan.nx", "--phase"], "--energy"),
        (vec!["recon", "scan.nx", "--phase", "--energy", "20000", "--distance", "50", "--delta-beta", "100"], "eV"),
        (vec!["recon", "scan.nx", "--depth", "u8", "--window", "1", "1"], "window"),
        (vec!["recon", "scan.nx", "--window", "0", "1"], "--depth"),
        (vec!["recon", "scan.nx", "--axis", "nan"], "axis"),
        (vec!["recon", "scan.nx", "-o", "scan.nx", "--axis", "45"], "needs another name"),
        (vec!["recon", "scan.nx", "-o", "no/such/folder/v.h5", "--axis", "45"], "no/such/folder"),
        (vec!["recon", "scan.nx", "--axis", "45", "--compression", "zstd"], "--format zarr"),
        (vec!["recon", "scan.nx", "--axis", "45", "-o", "v.tif", "--compression", "none"], "--format zarr"),
        (
            vec!["recon", "scan.nx", "--axis", "45", "-o", "v.vol", "--depth", "u8", "--window", "0", "1"],
            "name it .raw",
        ),
        (vec!["recon", "scan.nx", "--axis", "45", "--format", "png"], "png"),
        (vec!["repeat", "plan.toml"], "speed"),
    ] {
        let output = isocenter(&folder, &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(word), "{arguments:?}: {error}");
    }
    for name in ["scan_volume.h5", "scan_volume.h5.unfinished"] {
        assert!(!folder.path(name).exists(), "{name} of a refused run");
    }
}

//! Scans of a full turn about an axis beside the middle of the detector.

use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::File;

const WIDE: usize = 96;
const TURN: usize = 240;
const AXIS: f64 = 27.3;

/// Line integrals of a disk of 0.01 a bin about a place near the axis, and of a smaller one beside it, over a full turn.
fn write(folder: &Folder, name: &str, radius: f64) {
    let chord = |s: f64, r: f64| 2.0 * (r * r - s * s).max(0.0).sqrt();
    let value = |view: usize, bin: usize| {
        let (sin, cos) = (2.0 * std::f64::consts::PI * view as f64 / TURN as f64).sin_cos();
        let s = bin as f64 - AXIS;
        let place = |x: f64, y: f64| s - x * cos - y * sin;
        (0.01 * chord(place(1.5, -2.0), radius) + 0.02 * chord(place(0.3 * radius, 0.5 * radius), 0.2 * radius)) as f32
    };
    let values: Vec<f32> = (0..TURN).flat_map(|v| (0..2 * WIDE).map(move |k| value(v, k % WIDE))).collect();
    let file = File::create(folder.path(name)).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let data = exchange.new_dataset::<f32>().shape([TURN, 2, WIDE]).create("data").expect("a dataset");
    data.write_raw(&values).expect("frames");
    let angles: Vec<f64> = (0..TURN).map(|v| 360.0 * v as f64 / TURN as f64).collect();
    let theta = exchange.new_dataset::<f64>().shape(TURN).create("theta").expect("a dataset");
    theta.write_raw(&angles).expect("angles");
}

/// The disk has its value where rows end in it on the axis' side, which makes halves of them, and where it fits the detector, which does not; the axis
/// found or given. (Taken as they are, halves are 1.5 times as bright and more.)
#[test]
fn halves_are_joined_where_rows_end_in_the_object() {
    let folder = Folder::new("halves");
    for (radius, half) in [(42.0, true), (22.0, false)] {
        write(&folder, "scan.h5", radius);
        let axis = AXIS.to_string();
        for words in [&[][..], &["--axis", axis.as_str()]] {
            let run =
                ["recon", "scan.h5", "--input", "line-integrals", "--stripes", "off", "--device", "cpu", "-o", "v.h5"];
            succeeds(&folder, &[&run, words].concat());
            let data =
                File::open(folder.path("v.h5")).and_then(|f| f.dataset("entry/reconstruction/data")).expect("a volume");
            let [_, ny, nx] = data.shape()[..] else { panic!("three dimensions") };
            let values: Vec<f32> = data.read_raw().expect("values");
            // About the axis, left of the smaller disk.
            let inside = (0..10 * 10).map(|k| values[(ny / 2 - 5 + k / 10) * nx + nx / 2 - 10 + k % 10]);
            let mean = inside.sum::<f32>() / 100.0;
            assert!((mean - 0.01).abs() < 3e-4, "radius {radius}, {words:?}: {mean}");
            assert_eq!(nx > WIDE, half, "{nx} columns");
        }
    }
}

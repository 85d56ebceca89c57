//! Values come out in attenuation a length unit, for any angles, sizes and options: a uniform ellipse of 1 reconstructs to a
//! mean of 1. Projections are exact line integrals, so nothing here rests on the library's own projector.

use crate::common::scene::*;
use crate::common::*;
use isocenter::ct::{Filter, Geometry, Interpolation, Options, Order, Padding};
use isocenter::phantom::{Ellipse, SheppLogan};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::f64::consts::PI;

/// The project's promise. What remains is the streaks of a finite number of views and the edge's ringing, both of zero mean
/// over many pixels: measured, they leave less than 0.001.
const TOLERANCE: f64 = 0.003;
const VIEWS: usize = 360;

/// Mean inside [`OBJECT`], at least `margin` length units from its edge.
fn mean_with(g: &Geometry, options: Options, margin: f64) -> f64 {
    let mut ct = best_plan(g);
    ct.set_options(options).expect("options");
    let projections = line_integrals(&ct, g, &[OBJECT]);
    let volume = reconstruct(&mut ct, g, &projections);
    assert!(volume.iter().all(|v| v.is_finite()));
    mean(&volume, &well_inside(g, &OBJECT, margin))
}

/// Two pixels from the edge, and not less than a bin, the width over which linear interpolation blurs it: two pixels are half
/// of that where bins are four times as large.
fn margin(g: &Geometry) -> f64 {
    (2.0 * g.pixel_size).max(g.bin_pitch)
}

fn check(name: &str, g: &Geometry, options: Options) {
    let seen = mean_with(g, options, margin(g));
    println!("{name}: {seen:.5}");
    assert!((seen - 1.0).abs() < TOLERANCE, "{name}: mean {seen:.5}");
}

/// Sets of angles that cover half a turn without a gap.
fn angle_sets() -> Vec<(&'static str, Vec<f64>)> {
    let part = |v: usize| v as f64 / VIEWS as f64;
    let of = |angle: &dyn Fn(usize) -> f64| (0..VIEWS).map(angle).collect::<Vec<_>>();
    let mut shuffled = half_turn(VIEWS);
    shuffled.shuffle(&mut SmallRng::seed_from_u64(4));
    // Every third view a second time, every ninth from the other side as well.
    let mut duplicated = shuffled.clone();
    duplicated.extend(shuffled.iter().step_by(3));
    duplicated.extend(shuffled.iter().step_by(9).map(|t| t - PI));
    // Too little jitter, about right, and too much to pass for the same angle.
    let jitter = |size: f64| of(&|v| 2.0 * PI * part(v) + size * PI / VIEWS as f64 * (v as f64 * 1.7).sin());
    vec![
        ("even", half_turn(VIEWS)),
        ("even, from -1.9 downwards", of(&|v| -1.9 - PI * part(v))),
        ("even, many turns away", of(&|v| 700.0 + PI * part(v))),
        ("t + 0.1 sin 2t", of(&|v| PI * part(v) + 0.1 * (2.0 * PI * part(v)).sin())),
        ("quadratic", of(&|v| PI * part(v).powi(2))),
        ("shuffled", shuffled),
        ("duplicated", duplicated),
        ("full turn, even number", of(&|v| 2.0 * PI * part(v))),
        ("full turn, odd number", (0..VIEWS + 1).map(|v| 2.0 * PI * v as f64 / (VIEWS + 1) as f64).collect()),
        ("full turn, first view again at its end", (0..=VIEWS).map(|v| 2.0 * PI * v as f64 / VIEWS as f64).collect()),
        ("full turn, small jitter", jitter(0.01)),
        ("full turn, jitter", jitter(0.1)),
        ("full turn, large jitter", jitter(0.5)),
        ("golden ratio", of(&|v| v as f64 * PI * 0.618_033_988_749_895)),
        ("turn and a half", of(&|v| 3.0 * PI * part(v))),
    ]
}

#[test]
fn any_angles() {
    for (name, angles) in angle_sets() {
        check(name, &scene(angles.clone(), 1.0, 1.0), Options::default());
        let weights = best_plan(&scene(angles, 1.0, 1.0)).angular_weights().expect("weights").to_vec();
        let sum: f64 = weights.iter().sum();
        assert!((sum - PI).abs() < 1e-9 && weights.iter().all(|w| *w > 0.0), "{name}: weights sum to {sum}");
    }
}

#[test]
fn any_pixel_size_and_bin_pitch() {
    for pixel_size in [0.5, 1.0, 2.0] {
        for bin_pitch in [0.5, 1.0, 2.0] {
            for turn in [half_turn(VIEWS), (0..VIEWS).map(|v| 2.0 * PI * v as f64 / VIEWS as f64).collect()] {
                check(
                    &format!("pixels of {pixel_size}, bins of {bin_pitch}"),
                    &scene(turn, pixel_size, bin_pitch),
                    Options::default(),
                );
            }
        }
    }
}

/// The unit of length is the caller's: values scale with its inverse, exactly as the line integrals' argument does.
#[test]
fn any_unit_of_length() {
    for unit in [1e-6, 1e3] {
        let mut g = scene(half_turn(VIEWS), 1.0, 1.0);
        let pixels = well_inside(&g, &OBJECT, 2.0);
        (g.pixel_size, g.bin_pitch) = (unit, unit);
        let mut ct = best_plan(&g);
        let object = Ellipse {
            value: 1.0 / unit,
            centre: OBJECT.centre.map(|v| v * unit),
            semi: OBJECT.semi.map(|v| v * unit),
            ..OBJECT
        };
        let projections = line_integrals(&ct, &g, &[object]);
        let seen = mean(&reconstruct(&mut ct, &g, &projections), &pixels) * unit;
        assert!((seen - 1.0).abs() < TOLERANCE, "unit {unit}: mean {seen:.5}");
    }
}

/// The detector is widened so that it still covers the object: one that does not truncates it, whatever the library.
#[test]
fn any_axis() {
    for (pixel_size, bin_pitch) in [(1.0, 1.0), (0.5, 1.0), (2.0, 0.5)] {
        let mut g = scene(half_turn(VIEWS), pixel_size, bin_pitch);
        g.bins += 75;
        g.axis = vec![(g.bins as f64 - 1.0) / 2.0 - 37.3];
        check("axis at -37.3 bins from the middle", &g, Options::default());
        g.axis = vec![(g.bins as f64 - 1.0) / 2.0 + 37.3];
        check("axis at +37.3 bins from the middle", &g, Options::default());
        let middle = (g.bins as f64 - 1.0) / 2.0;
        g.axis = (0..VIEWS).map(|v| middle + 20.0 * (0.7 * v as f64).sin() + 0.3).collect();
        check("an axis a view", &g, Options::default());
    }
}

/// The object is all on the detector, the slice shows a part of it.
#[test]
fn any_region_of_interest() {
    for (pixel_size, x, y) in [(1.0, 5.0, -4.0), (0.5, 14.0, -10.0), (0.25, -3.7, 2.2)] {
        let mut g = scene(half_turn(VIEWS), pixel_size, 1.0);
        // Offsets move the slice's middle: pixel (cy, cx) is on the axis of rotation.
        (g.nx, g.ny, g.x_offset, g.y_offset) = (37, 22, -x / pixel_size, y / pixel_size);
        let (left, _) = pixel_middle(&g, 0, 0);
        assert!((left + 18.0 * pixel_size - x).abs() < 1e-9);
        check("region of interest", &g, Options::default());
    }
}

#[test]
fn even_and_odd_sizes() {
    for (bins, nx, ny) in [(100, 90, 90), (101, 91, 90), (100, 91, 91), (101, 90, 91), (128, 64, 120), (97, 127, 65)] {
        let mut g = scene(half_turn(VIEWS), 1.0, 1.0);
        (g.bins, g.nx, g.ny, g.axis) = (bins, nx, ny, vec![(bins as f64 - 1.0) / 2.0]);
        check(&format!("{bins} bins, {nx} x {ny}"), &g, Options::default());
    }
}

/// Both orders of the projections hold the same numbers, so the volumes are the same to the bit.
#[test]
fn both_orders() {
    let mut g = scene(half_turn(VIEWS), 1.0, 1.0).with_rows(3);
    let mut volumes = Vec::new();
    for order in [Order::Frames, Order::Sinograms] {
        g.order = order;
        check(&format!("{order:?}"), &g, Options::default());
        let mut ct = best_plan(&g);
        let projections = line_integrals(&ct, &g, &[OBJECT]);
        volumes.push(reconstruct(&mut ct, &g, &projections));
    }
    assert_eq!(volumes[0], volumes[1]);
}

/// Zero and edge padding are the same for an object that is all on the detector: its rows end in zeros.
#[test]
fn any_interpolation_and_padding() {
    for interpolation in [Interpolation::Linear, Interpolation::Nearest, Interpolation::Oversampled] {
        for padding in [Padding::Zero, Padding::Edge] {
            for (pixel_size, bin_pitch) in [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (2.0, 0.5)] {
                let options = Options { interpolation, padding, ..Options::default() };
                let g = scene(half_turn(VIEWS), pixel_size, bin_pitch);
                check(&format!("{interpolation:?}, {padding:?}, {pixel_size}, {bin_pitch}"), &g, options);
            }
        }
    }
}

/// Every window is 1 at frequency 0, so the mean stays; a cutoff of c blurs the edge over some 1/c bins (Parzen's over twice
/// that), so the mean is taken 3/c bins inside.
#[test]
fn any_window() {
    for cutoff in [1.0, 0.5] {
        for filter in windows(cutoff, [2.0, 8.0]) {
            for bin_pitch in [1.0, 0.5] {
                let g = scene(half_turn(VIEWS), 1.0, bin_pitch);
                let margin = (3.0 * bin_pitch / cutoff).max(2.0);
                let seen = mean_with(&g, Options { filter: filter.clone(), ..Options::default() }, margin);
                println!("{filter:?}, bins of {bin_pitch}: {seen:.5}");
                assert!((seen - 1.0).abs() < TOLERANCE, "{filter:?}, bins of {bin_pitch}: mean {seen:.5}");
            }
        }
    }
}

/// Without a filter the reconstruction is the weighted sum over views of the rows as they are, in no unit of attenuation.
#[test]
fn no_filter_is_the_weighted_sum() {
    let angles = (0..90).map(|v| PI * (f64::from(v) / 90.0).powi(2)).collect();
    let g = scene(angles, 1.0, 0.5);
    let mut ct = best_plan(&g);
    ct.set_options(Options { filter: Filter::None, ..Options::default() }).expect("options");
    let projections = line_integrals(&ct, &g, &[OBJECT]);
    let seen = reconstruct(&mut ct, &g, &projections);
    let weights = ct.angular_weights().expect("weights").to_vec();
    // As in ct_operators.rs: sums of n terms and positions in f32.
    let e = error(&seen, &backproject(&g, Interpolation::Linear, Some(&weights), &projections));
    assert!(e < 1e-5, "error {e:.1e}");
}

/// A custom response of |f| is the plain ramp, mean and all: the kernel is its integral, not what a transform of some length finds at its frequencies,
/// which would lose the mean at frequency 0.
#[test]
fn a_custom_ramp_is_the_ramp() {
    let g = scene(half_turn(90), 1.0, 0.5);
    let run = |filter| {
        let mut ct = best_plan(&g);
        ct.set_options(Options { filter, ..Options::default() }).expect("options");
        let projections = line_integrals(&ct, &g, &[OBJECT]);
        reconstruct(&mut ct, &g, &projections)
    };
    let ramp: Vec<f32> = (0..=64u8).map(|k| f32::from(k) / 128.0).collect();
    let (given, plain) = (run(Filter::Custom(ramp)), run(Filter::RamLak { cutoff: 1.0 }));
    let expected: Vec<f64> = plain.iter().map(|v| f64::from(*v)).collect();
    // Responses in f32 differ by 6e-8, rows by some of these, as do sums over views.
    let e = error(&given, &expected);
    assert!(e < 2e-6, "error {e:.1e}");
    let mean = mean(&given, &well_inside(&g, &OBJECT, 2.0));
    assert!((mean - 1.0).abs() < 2e-3, "mean {mean:.4}");
}

/// A flat response only scales rows: half the height everywhere is half of no filter at all, over the bin pitch, as the ramp's.
#[test]
fn a_flat_custom_response_scales() {
    let g = scene(half_turn(60), 1.0, 2.0);
    let run = |filter| {
        let mut ct = best_plan(&g);
        ct.set_options(Options { filter, ..Options::default() }).expect("options");
        let projections = line_integrals(&ct, &g, &[OBJECT]);
        reconstruct(&mut ct, &g, &projections)
    };
    let expected: Vec<f64> = run(Filter::None).iter().map(|v| f64::from(*v) * 0.5 / g.bin_pitch).collect();
    let e = error(&run(Filter::Custom(vec![0.5; 2])), &expected);
    // Two transforms there and back in f32.
    assert!(e < 2e-6, "error {e:.1e}");
}

/// 256 pixels across, 400 views. Most of the error is the skull's edge, which bins and pixels of this size cannot hold: plain
/// f64 sums of the same formulas leave an RMS error of 0.0256, and f32 must not add to it.
#[test]
fn shepp_logan() {
    let ellipses = SheppLogan::Modified.section(124.0).expect("ellipses");
    let g = Geometry::new(half_turn(400), 256);
    let mut ct = best_plan(&g);
    let truth = pixel_means(&ct, &g, &ellipses);
    let projections = line_integrals(&ct, &g, &ellipses);
    let volume = reconstruct(&mut ct, &g, &projections);
    let filtered: Vec<f32> =
        projections.chunks(g.bins).flat_map(|row| ramp_filtered(row, 1.0)).map(|v| v as f32).collect();
    let formula = backproject(&g, Interpolation::Linear, Some(&[PI / 400.0; 400]), &filtered);
    let squares = volume.iter().zip(&truth).map(|(v, t)| f64::from(v - t).powi(2));
    let rms = (squares.sum::<f64>() / truth.len() as f64).sqrt();
    let e = error(&volume, &formula);
    println!("Shepp-Logan: RMS error {rms:.5}, from the formula {e:.1e}");
    assert!(rms < 0.026, "RMS error {rms:.5}");
    // As in ct_operators.rs.
    assert!(e < 1e-5, "{e:.1e} from the formula");
}

//! The search for the rotation axis, on phantoms whose axis is known.

use crate::common::on_processor;
use crate::common::scene::line_integrals;
use isocenter::array::Array;
use isocenter::context::Context;
use isocenter::ct::{AxisMethod, AxisOptions, Ct, FoundAxis, Geometry, Order};
use isocenter::error::{Result, Status};
use isocenter::phantom::Ellipse;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

const BINS: usize = 320;

/// A body with details, none of them round about the axis; all of it within 105 bins of the axis.
fn body(size: f64) -> Vec<Ellipse> {
    let mut rng = SmallRng::seed_from_u64(7);
    let mut list = vec![Ellipse { value: 0.008, centre: [6.0, -4.0], semi: [95.0 * size, 80.0 * size], angle: 0.7 }];
    list.extend((0..16).map(|_| Ellipse {
        value: rng.random_range(-0.006..0.012),
        centre: [rng.random_range(-50.0..50.0), rng.random_range(-50.0..50.0)],
        semi: [rng.random_range(3.0..18.0), rng.random_range(3.0..18.0)],
        angle: rng.random_range(0.0..3.0),
    }));
    list
}

fn plan(g: &Geometry) -> Ct {
    let mut ct = Ct::new(Arc::new(Context::new(on_processor()).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct
}

fn scan(angles: Vec<f64>, axis: f64, rows: usize) -> Geometry {
    Geometry { axis: vec![axis], ..Geometry::new(angles, BINS).with_rows(rows) }
}

/// Both ends in.
fn half_turn(views: usize) -> Vec<f64> {
    (0..views).map(|v| PI * v as f64 / (views - 1) as f64).collect()
}

fn turn(views: usize, of: f64) -> Vec<f64> {
    (0..views).map(|v| of * v as f64 / views as f64).collect()
}

/// Noise of a bin, uniform with this deviation, and of bins in all views alike.
fn spoil(p: &mut [f32], noise: f64, stripes: f64) {
    let mut rng = SmallRng::seed_from_u64(3);
    let mut uniform = |deviation: f64| deviation * 3f64.sqrt() * rng.random_range(-1.0..1.0);
    let stripes: Vec<f64> = (0..BINS).map(|_| uniform(stripes)).collect();
    p.iter_mut().enumerate().for_each(|(k, v)| *v += (uniform(noise) + stripes[k % BINS]) as f32);
}

fn search(g: &Geometry, p: &[f32], options: &AxisOptions) -> Result<FoundAxis> {
    // A plan that knows nothing of the axis.
    let ct = plan(&Geometry { axis: vec![0.0], ..g.clone() });
    ct.find_axis(Array::new(p, g.projection_shape())?, options)
}

fn found(g: &Geometry, p: &[f32], options: &AxisOptions) -> FoundAxis {
    search(g, p, options).unwrap_or_else(|e| panic!("{e}"))
}

fn with(method: AxisMethod) -> AxisOptions {
    AxisOptions { method, ..AxisOptions::default() }
}

/// Without noise what is left is how a row is sampled: edges of ellipses are not band-limited, so that a mirrored row is sampled at other
/// places of them: 0.01 bins about one seam; with fewer views less of a row's detail can be used. A detector whose bins are means
/// over them, blurred a little, leaves 1e-3: see `clean_scans_as_detectors_see_them`.
#[test]
fn clean_scans() {
    for (angles, method, most) in [
        (half_turn(361), AxisMethod::OppositeViews, 0.025),
        (turn(360, PI), AxisMethod::Sinogram, 0.025),
        (turn(90, PI), AxisMethod::Sinogram, 0.05),
        (turn(360, TAU), AxisMethod::OppositeViews, 5e-3),
        (turn(91, TAU), AxisMethod::OppositeViews, 0.08),
    ] {
        for offset in [0.0, 11.37, -20.8] {
            let g = scan(angles.clone(), (BINS as f64 - 1.0) / 2.0 + offset, 1);
            let p = line_integrals(&plan(&g), &g, &body(1.0));
            let seen = found(&g, &p, &AxisOptions::default());
            assert_eq!(seen.method, method);
            let off = seen.axis - g.axis[0];
            assert!(off.abs() < most, "{method:?}, {} views, {offset}: off by {off}", angles.len());
            assert!(seen.confidence > 0.5 && !seen.half_acquisition && seen.tilt == 0.0, "{seen:?}");
            // The error knows of sampling.
            assert!(off.abs() < 4.0 * seen.error && seen.error < 2.0 * most, "off by {off}, {seen:?}");
        }
    }
}

/// Means over bins, and a blur of half a bin.
#[test]
fn clean_scans_as_detectors_see_them() {
    const FINE: usize = 8;
    for (angles, most) in [(half_turn(361), 1e-3), (turn(360, PI), 1e-3), (turn(360, TAU), 5e-4)] {
        for offset in [0.0, 11.37] {
            let axis = (BINS as f64 - 1.0) / 2.0 + offset;
            let scaled = |e: &Ellipse| Ellipse {
                value: e.value / FINE as f64,
                centre: e.centre.map(|c| c * FINE as f64),
                semi: e.semi.map(|c| c * FINE as f64),
                ..*e
            };
            let fine =
                Geometry { axis: vec![(axis + 0.5) * FINE as f64 - 0.5], ..Geometry::new(angles.clone(), BINS * FINE) };
            let body: Vec<Ellipse> = body(1.0).iter().map(scaled).collect();
            let p = line_integrals(&plan(&fine), &fine, &body);
            let means: Vec<f32> = p.chunks(FINE).map(|c| c.iter().sum::<f32>() / FINE as f32).collect();
            let blurred: Vec<f32> = means
                .chunks(BINS)
                .flat_map(|row| {
                    let at = |k: usize| row[k.min(BINS - 1)];
                    (0..BINS).map(move |k| 0.25 * at(k.saturating_sub(1)) + 0.5 * at(k) + 0.25 * at(k + 1))
                })
                .collect();
            let seen = found(&scan(angles.clone(), axis, 1), &blurred, &AxisOptions::default());
            let off = seen.axis - axis;
            assert!(off.abs() < most && off.abs() < 2.0 * seen.error, "{} views: off by {off}, {seen:?}", angles.len());
        }
    }
}

/// What a beam that moves adds: a slope over the detector that changes sign in the turn, and a change of intensity.
#[test]
fn moving_beam() {
    for method in [AxisMethod::OppositeViews, AxisMethod::Sinogram] {
        let g = scan(half_turn(361), 150.7, 8);
        let mut p = line_integrals(&plan(&g), &g, &body(1.0));
        spoil(&mut p, 0.01, 0.0);
        for (v, view) in p.chunks_mut(8 * BINS).enumerate() {
            let t = v as f64 / 360.0;
            for (k, value) in view.iter_mut().enumerate() {
                let u = (k % BINS) as f64 / BINS as f64 - 0.5;
                *value += (0.08 * (2.0 * t - 1.0) * u + 0.03 * t + 0.05 * t * u * u) as f32;
            }
        }
        // Polynomials take the background up, and with it some of what tells the axis: 0.02 bins are left. They are 0.5 without.
        let seen = found(&g, &p, &with(method));
        let off = seen.axis - 150.7;
        assert!(off.abs() < 0.08, "{method:?}: off by {off}, {seen:?}");
    }
}

#[test]
fn sharpness() {
    // Simulated scans are within 0.13 bins; the body is small here, so that an edge or two decide.
    for (angles, size) in [(half_turn(361), 1.0), (turn(360, PI), 1.0)] {
        let g = scan(angles, 165.4, 4);
        let mut p = line_integrals(&plan(&g), &g, &body(size));
        spoil(&mut p, 0.01, 0.01);
        let seen = found(&g, &p, &AxisOptions { curve: 65, ..with(AxisMethod::Sharpness) });
        let off = seen.axis - 165.4;
        assert!(off.abs() < 0.3 && seen.method == AxisMethod::Sharpness && seen.error > 0.01, "off by {off}, {seen:?}");
        let best = (0..65).min_by(|&a, &b| seen.curve[a].total_cmp(&seen.curve[b])).expect("a curve");
        let [first, step] = seen.curve_at;
        assert!((first + step * best as f64 - seen.axis).abs() <= step + 1.0, "{best}, {seen:?}");
    }
}

/// Half of a turn scanned about one axis, and the views at its end, of which the opposite ones are, about another: no two methods agree.
#[test]
fn methods_that_contradict_each_other() {
    let (g, other) = (scan(half_turn(361), 150.0, 2), scan(half_turn(361), 172.0, 2));
    let mut p = line_integrals(&plan(&g), &g, &body(1.0));
    let moved = line_integrals(&plan(&other), &other, &body(1.0));
    p[360 * 2 * BINS..].copy_from_slice(&moved[360 * 2 * BINS..]);
    let opposite = found(&g, &p, &with(AxisMethod::OppositeViews));
    assert!((opposite.axis - 150.0).abs() > 2.0, "{opposite:?}");
    let seen = found(&g, &p, &AxisOptions::default());
    assert!((seen.axis - 150.0).abs() < 0.5 && seen.method == AxisMethod::Sinogram, "{seen:?}");
    assert!(seen.confidence <= 0.5, "{seen:?}");
}

/// Two wedges that face each other: there is no half turn that could check.
#[test]
fn opposite_views_without_half_a_turn() {
    let wedge = |from: f64| (0..150).map(move |v| from + v as f64 / 150.0);
    let g = scan(wedge(0.0).chain(wedge(PI)).collect(), 151.6, 2);
    let mut p = line_integrals(&plan(&g), &g, &body(1.0));
    spoil(&mut p, 0.01, 0.01);
    let seen = found(&g, &p, &AxisOptions::default());
    // 24 pairs average noise and sampling to a tenth of what one seam has.
    assert!((seen.axis - 151.6).abs() < 0.02 && seen.method == AxisMethod::OppositeViews, "{seen:?}");
}

/// Fewer rows under a small cap, and none under one that holds no row.
#[test]
fn memory_cap() {
    let g = scan(half_turn(361), 150.2, 8);
    let p = line_integrals(&plan(&g), &g, &body(1.0));
    let capped = |memory_cap: u64| {
        let options = isocenter::context::ContextOptions { memory_cap, ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(Geometry { axis: vec![0.0], ..g.clone() }).expect("a geometry");
        ct.find_axis(Array::new(&p, g.projection_shape()).expect("projections"), &AxisOptions::default())
    };
    // A row of the views about the seam and all round, 140 or so of 320 bins, is 180 kB.
    let few = capped(800_000).expect("an axis");
    assert!((few.axis - 150.2).abs() < 0.03, "{few:?}");
    let e = capped(100_000).expect_err("no room");
    assert!(e.status == Status::MemoryCap && e.message.contains("memory_cap is 100000"), "{e}");
}

#[test]
fn noise_stripes_and_truncation() {
    // 640 rays of deviation 0.015 about some edges of 0.01 a bin tell the axis to 0.02 bins from one pair and 8 rows; stripes double it.
    for (size, method, most) in [
        (1.0, AxisMethod::OppositeViews, 0.08),
        (1.0, AxisMethod::Sinogram, 0.1),
        (2.4, AxisMethod::OppositeViews, 0.12),
    ] {
        let g = scan(half_turn(361), 171.3, 8);
        let mut p = line_integrals(&plan(&g), &g, &body(size));
        spoil(&mut p, 0.015, 0.01);
        let seen = found(&g, &p, &with(method));
        let off = seen.axis - g.axis[0];
        assert!(off.abs() < most, "{size}, {method:?}: off by {off}, {seen:?}");
        assert!(seen.error > 1e-4 && seen.error < most, "{seen:?}");
    }
}

/// Nearly the whole object beside the axis is seen by one half of a full turn alone.
#[test]
fn half_acquisition() {
    // With 40 bins that are seen from both sides, too.
    for axis in [34.4, BINS as f64 - 1.0 - 27.7, 20.3] {
        let g = scan(turn(720, TAU), axis, 4);
        let mut p = line_integrals(&plan(&g), &g, &body(1.6));
        spoil(&mut p, 0.01, 0.01);
        let seen = found(&g, &p, &AxisOptions::default());
        let off = seen.axis - axis;
        assert!(off.abs() < 0.2 && seen.half_acquisition, "off by {off}, {seen:?}");
    }
}

#[test]
fn tilt_and_order() {
    // Each row as a scan of its own.
    let (rows, tilt) = (9, 0.31);
    let g = scan(half_turn(241), 150.2, rows);
    let mut p = vec![0.0; 241 * rows * BINS];
    for r in 0..rows {
        let one = scan(g.angles.clone(), 150.2 + tilt * (r as f64 - 4.0), 1);
        let row = line_integrals(&plan(&one), &one, &body(1.0));
        for v in 0..241 {
            p[(v * rows + r) * BINS..][..BINS].copy_from_slice(&row[v * BINS..][..BINS]);
        }
    }
    let tilted = AxisOptions { tilt: true, curve: 33, ..AxisOptions::default() };
    let seen = found(&g, &p, &tilted);
    assert!((seen.axis - 150.2).abs() < 0.01 && (seen.tilt - tilt).abs() < 2e-3, "{seen:?}");
    let best = (0..33).min_by(|&a, &b| seen.curve[a].total_cmp(&seen.curve[b])).expect("a curve");
    let [first, step] = seen.curve_at;
    assert!((first + step * best as f64 - 150.2).abs() <= step, "{best}, {seen:?}");
    // The same rows as sinograms give the same bits; so does every other bin of a wider array.
    let mut turned = vec![0.0; p.len()];
    for r in 0..rows {
        for v in 0..241 {
            turned[(r * 241 + v) * BINS..][..BINS].copy_from_slice(&p[(v * rows + r) * BINS..][..BINS]);
        }
    }
    let sinograms = Geometry { order: Order::Sinograms, ..g.clone() };
    assert_eq!(found(&sinograms, &turned, &tilted), seen);
    let wide: Vec<f32> = p.iter().flat_map(|v| [*v, f32::NAN]).collect();
    let [views, rows, bins] = g.projection_shape();
    let strides = [(2 * rows * bins) as isize, 2 * bins as isize, 2];
    // SAFETY: every other element of a vector that outlives the array.
    let array = unsafe {
        Array::from_raw(wide.as_ptr().cast(), isocenter::array::DType::F32, [views, rows, bins], strides, None)
    };
    assert_eq!(plan(&g).find_axis(array, &tilted).expect("an axis"), seen);
}

#[test]
fn counts_with_flats() {
    let g = scan(half_turn(241), 155.6, 2);
    let p = line_integrals(&plan(&g), &g, &body(0.5));
    let gain = |k: usize| 30000.0 + 2000.0 * (k as f64 * 0.7).sin();
    let counts: Vec<u16> =
        p.iter().enumerate().map(|(k, v)| (100.0 + gain(k % (2 * BINS)) * f64::from(-v).exp()) as u16).collect();
    let flats: Vec<u16> = (0..2 * BINS).map(|k| (100.0 + gain(k)) as u16).collect();
    let darks = vec![100u16; 2 * BINS];
    let mut ct = plan(&g);
    let frame = [1, 2, BINS];
    ct.set_flat_field(Some(Array::of(&flats, frame).expect("flats")), Some(Array::of(&darks, frame).expect("darks")))
        .expect("a flat field");
    let seen = ct
        .find_axis(Array::of(&counts, g.projection_shape()).expect("counts"), &AxisOptions::default())
        .expect("an axis");
    // Counts are rounded down to whole ones, 3e-5 of the beam, which is less than sampling leaves of a body that absorbs little.
    assert!((seen.axis - 155.6).abs() < 0.06, "{seen:?}");
}

/// A turn that is not full, and one of an odd number of views, none of which is opposite another: views that have an opposite one, or lie between two of
/// such, say where the axis is, wherever that is; and the error that is told holds.
#[test]
fn turns_that_are_not_full_and_odd_ones() {
    let lost = |degrees: usize| -> Vec<f64> {
        let all = turn(720, TAU);
        all[..100].iter().chain(&all[100 + 2 * degrees..]).copied().collect()
    };
    let cases = [
        lost(20),
        lost(40),
        lost(80),
        turn(640, TAU * 640.0 / 720.0),
        turn(719, TAU),
        turn(361, TAU),
        turn(181, TAU),
        (0..500).map(|v| f64::from(v) * PI * (5f64.sqrt() - 1.0)).collect(),
    ];
    for (angles, axis) in cases.iter().flat_map(|angles| [40.4, 165.3, 270.7].map(|axis| (angles, axis))) {
        let g = scan(angles.clone(), axis, 4);
        let mut p = line_integrals(&plan(&g), &g, &body(1.6));
        spoil(&mut p, 0.01, 0.0);
        let seen = found(&g, &p, &AxisOptions::default());
        let off = (seen.axis - axis).abs();
        // As good as a full turn of an even number; of 989 simulated scans one in 66 was off by more than twice the error.
        assert!(
            off < 0.06 && off < 3.0 * seen.error && seen.error < 0.1,
            "{} views, {axis}: off by {off}, {seen:?}",
            angles.len()
        );
        assert!(seen.method == AxisMethod::OppositeViews && seen.confidence > 0.5, "{seen:?}");
    }
}

/// Of half a turn about an axis near an edge the first and the last view tell it, or nothing does: never another place.
#[test]
fn half_a_turn_about_an_axis_near_an_edge() {
    for (axis, size) in [(30.6, 1.0), (45.2, 1.6), (281.3, 1.6), (260.4, 1.0)] {
        let g = scan(half_turn(361), axis, 4);
        let mut p = line_integrals(&plan(&g), &g, &body(size));
        spoil(&mut p, 0.01, 0.0);
        match search(&g, &p, &AxisOptions::default()) {
            // One seam, and an object that the window cuts off: 0.1 bins and more of error are told.
            Ok(seen) => assert!(
                (seen.axis - axis).abs() < (3.0 * seen.error).min(1.0) || seen.confidence < 0.5,
                "{axis}: {seen:?}"
            ),
            Err(e) => assert!(e.message.contains("cannot be told"), "{e}"),
        }
    }
}

/// Bins that are dead or flicker and views without beam are no part of the object.
#[test]
fn spoiled_bins_and_views() {
    let g = scan(half_turn(361), 152.3, 4);
    let mut p = line_integrals(&plan(&g), &g, &body(1.0));
    spoil(&mut p, 0.01, 0.0);
    let clean = found(&g, &p, &AxisOptions::default());
    for (k, row) in p.chunks_mut(BINS).enumerate() {
        (row[140], row[141], row[97]) = (2.7, 2.7, 0.0);
        row[203] = if k % 3 == 0 { 60.0 } else { -20.0 };
    }
    for view in [0, 1, 2, 90, 359, 360] {
        p[view * 4 * BINS..][..4 * BINS].fill(9.2);
    }
    let seen = found(&g, &p, &AxisOptions::default());
    // Three views are missing at each end of the half turn, so that both sides are 0.06 rad apart.
    let off = (seen.axis - 152.3).abs();
    assert!(off < 3.0 * seen.error && off < 0.3, "off by {off}, {seen:?}, clean {clean:?}");
}

/// Rows that end in the object on the axis' side and in air on the other are halves of a full turn, wherever the axis is; a region of a larger object, and an
/// object that fits, are not.
#[test]
fn which_scans_are_half_acquisitions() {
    // `body` is 95 bins wide, times its size, to either side of the axis.
    for (axis, size, half) in [
        (85.2, 1.6, true),
        (108.4, 1.6, true),
        (BINS as f64 - 1.0 - 97.3, 1.6, true),
        (85.2, 0.7, false),
        (150.3, 1.0, false),
        (128.4, 2.6, false),
        (40.3, 1.6, true),
    ] {
        let g = scan(turn(720, TAU), axis, 4);
        let mut p = line_integrals(&plan(&g), &g, &body(size));
        spoil(&mut p, 0.01, 0.0);
        let seen = found(&g, &p, &AxisOptions::default());
        assert!((seen.axis - axis).abs() < 0.1 && seen.half_acquisition == half, "{axis}, {size}: {seen:?}");
    }
}

/// No ray is seen from both sides, or hardly any.
#[test]
fn axis_beside_the_detector() {
    for axis in [-30.0, -2.0, BINS as f64 + 15.0] {
        let g = scan(turn(720, TAU), axis, 2);
        let mut p = line_integrals(&plan(&g), &g, &body(1.6));
        spoil(&mut p, 0.01, 0.01);
        let e = search(&g, &p, &AxisOptions::default()).expect_err("no axis");
        assert!(e.status == Status::OutOfRange && e.message.contains("cannot be told"), "{axis}: {e}");
    }
}

#[test]
fn what_cannot_be_known() {
    let refused =
        |angles: Vec<f64>, p: &dyn Fn(&Geometry) -> Vec<f32>, options: AxisOptions, status, words: &[&str]| {
            let g = scan(angles, 160.0, 2);
            let e = search(&g, &p(&g), &options).expect_err("no axis");
            assert_eq!(e.status, status, "{e}");
            words.iter().for_each(|word| assert!(e.message.contains(word), "{e}"));
        };
    let exact = |g: &Geometry| line_integrals(&plan(g), g, &body(1.0));
    let all = AxisOptions::default;
    let range = |low, high| AxisOptions { range: Some([low, high]), ..AxisOptions::default() };
    refused(vec![0.3], &exact, all(), Status::TooFewViews, &["views is 1"]);
    refused(vec![0.3; 5], &exact, all(), Status::EqualAngles, &["all 5 angles"]);
    refused(turn(200, 2.0), &exact, all(), Status::OutOfRange, &["miss half a turn by 1.1"]);
    refused(turn(200, PI), &exact, with(AxisMethod::OppositeViews), Status::OutOfRange, &["opposite_views", "0.0157"]);
    refused(half_turn(200), &|g| vec![0.0; 200 * g.rows * BINS], all(), Status::OutOfRange, &["without structure"]);
    let noise = |g: &Geometry| {
        let mut p = vec![0.0; 200 * g.rows * BINS];
        spoil(&mut p, 1.0, 0.0);
        p
    };
    refused(half_turn(200), &noise, all(), Status::OutOfRange, &["cannot be told"]);
    refused(half_turn(200), &exact, range(-3.0, 100.0), Status::OutOfRange, &["options.low is -3", "from 5"]);
    refused(half_turn(200), &exact, range(100.0, 90.0), Status::OutOfRange, &["must ascend"]);
    refused(half_turn(200), &exact, range(f64::NAN, 90.0), Status::NotFiniteParameter, &["options.low is NaN"]);
    refused(
        half_turn(200),
        &exact,
        AxisOptions { rows: 3, ..all() },
        Status::OutOfRange,
        &["options.rows is 3", "0 to 2"],
    );
    refused(
        half_turn(200),
        &exact,
        AxisOptions { rows: 1, tilt: true, ..all() },
        Status::OutOfRange,
        &["options.tilt"],
    );
    refused(
        half_turn(200),
        &exact,
        AxisOptions { tilt: true, ..with(AxisMethod::Sharpness) },
        Status::OutOfRange,
        &["options.tilt", "sharpness"],
    );
    refused(half_turn(200), &noise, with(AxisMethod::Sharpness), Status::OutOfRange, &["slices much sharper"]);
    // Rows of two scans.
    let two = |g: &Geometry| {
        let (mut p, other) = (exact(g), exact(&Geometry { axis: vec![130.0], ..g.clone() }));
        (0..200).for_each(|v| p[(2 * v + 1) * BINS..][..BINS].copy_from_slice(&other[2 * v * BINS..][..BINS]));
        p
    };
    refused(half_turn(200), &two, all(), Status::OutOfRange, &["cannot be told"]);
}

//! Frames without distortion against their definition in f64.

use crate::common::frames::{counts, doubles, filtered, retrieved, streamed, undistorted, without_outliers, worst};
use crate::common::{on_processor, plan, random};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::cpu::level::Level;
use isocenter::ct::{
    AxisOptions, Ct, Distortion, Filter, Geometry, InputKind, Options, Order, OutlierSide, OutlierUnit, Outliers,
    Phase, PhaseMethod,
};
use isocenter::error::Status;
use std::f64::consts::PI;
use std::sync::Arc;

fn geometry([views, rows, bins]: [usize; 3]) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

/// A distortion of up to some pixels of a detector, with all that there can be.
fn lens([views, rows, bins]: [usize; 3]) -> Distortion {
    let shifts = random(2 * views, 17);
    Distortion {
        centre: [bins as f64 * 0.47, rows as f64 * 0.61 - 3.0],
        radial: vec![1.003, -2e-4, 3e-6, 4e-9, -2e-11],
        perspective: Some([1.01, -0.004, 1.2, 0.006, 0.99, -0.7, 1e-5, -2e-5]),
        tilt: -0.023,
        shifts: shifts.chunks_exact(2).map(|s| [6.0 * f64::from(s[0]), 4.0 * f64::from(s[1])]).collect(),
    }
}

/// Values of 0.3 to 1 without any order.
fn transmissions([views, rows, bins]: [usize; 3]) -> Vec<f32> {
    random(views * rows * bins, 5).iter().map(|v| 0.65 + 0.35 * v).collect()
}

/// Three steps between f32 values up to 1 round by 6e-8 each, their parts by 6e-8 of a difference of 0.7, places by less; the logarithm of
/// 0.3 makes 3.3 times that of it, and rounds by 1e-7: 1e-6.
#[test]
fn frames_by_the_definition() {
    let none = Distortion::default();
    for shape in [[5, 40, 150], [3, 1, 70], [2, 33, 1], [4, 130, 67]] {
        let (all, data) = (lens(shape), transmissions(shape));
        for distortion in [
            none.clone(),
            Distortion { radial: all.radial.clone(), centre: all.centre, ..none.clone() },
            Distortion { perspective: all.perspective, ..none.clone() },
            Distortion { tilt: 0.08, ..none.clone() },
            Distortion { shifts: all.shifts.clone(), ..none.clone() },
            all,
        ] {
            let through = undistorted(&doubles(&data), shape, &distortion);
            let expected: Vec<f64> = through.iter().map(|v| -v.ln()).collect();
            for (level, threads) in Level::available().zip([1, 2, 3]) {
                let mut ct = plan(&geometry(shape), level, threads);
                ct.set_distortion(Some(distortion.clone())).expect("a distortion");
                let from = Array::new(&data, shape).expect("projections");
                let seen = filtered(&mut ct, from, InputKind::Transmission);
                let off = worst(&seen, &expected);
                assert!(off < 1e-6, "{shape:?}, {distortion:?}, {level:?}: {off:e}");
                // Line integrals are read as they are.
                let off = worst(&filtered(&mut ct, from, InputKind::LineIntegrals), &through);
                assert!(off < 3e-7, "{shape:?}, {distortion:?}, {level:?}: {off:e}");
            }
        }
    }
}

/// After outliers and the flat field, before phase; the tolerance is the phase filter's, and an f32 transmission's rounding.
#[test]
fn the_order_of_stages() {
    let (shape @ [views, rows, bins], plane) = ([6, 30, 64], 30 * 64);
    let frames = counts(shape, 13);
    let outliers = Outliers { window: 3, depth: 3, unit: OutlierUnit::Noise, threshold: 10.0, side: OutlierSide::Both };
    let raw: Vec<f64> = frames.iter().map(|v| f64::from(*v)).collect();
    let (clean, found) = without_outliers(&raw, shape, &outliers);
    let flat: Vec<f32> = random(plane, 3).iter().map(|v| 5000.0 + 300.0 * v).collect();
    let through: Vec<f64> =
        clean.iter().zip(flat.iter().cycle()).map(|(v, f)| (v - 100.0) / f64::from(f - 100.0)).collect();
    let through = undistorted(&through, shape, &lens(shape));
    let phase =
        Phase { method: PhaseMethod::Paganin, fresnel: 0.05, delta_beta: 50.0, alpha: 0.01, unsharp: [0.0, 0.0] };
    let response = |squared: f64| 1.0 / (1.0 + PI * 0.05 * 50.0 * squared);
    let with_phase = retrieved(&through, shape, false, response);
    let without: Vec<f64> = through.iter().map(|v| -v.ln()).collect();
    for (order, part, retrieves) in [
        (Order::Frames, 0..rows, true),
        (Order::Sinograms, 0..rows, false),
        (Order::Frames, 6..11, true),
        (Order::Sinograms, 9..10, false),
    ] {
        let g = Geometry { order, first_row: part.start, slices: part.len(), ..geometry(shape) };
        let mut ct = plan(&g, Level::detect(), 2);
        let f = Array::new(&flat, [1, rows, bins]).expect("flats");
        let dark = vec![100.0; plane];
        ct.set_flat_field(Some(f), Some(Array::new(&dark, [1, rows, bins]).expect("darks"))).expect("a flat field");
        ct.set_outliers(Some(outliers.clone())).expect("outliers");
        ct.set_distortion(Some(lens(shape))).expect("a distortion");
        ct.set_phase(retrieves.then_some(phase)).expect("phase");
        let at = |v: usize, r: usize| (v * rows + r) * bins;
        let of: Vec<u16> = match order {
            Order::Frames => frames.clone(),
            Order::Sinograms => (0..rows)
                .flat_map(|r| (0..views).map(move |v| (v, r)))
                .flat_map(|(v, r)| frames[at(v, r)..][..bins].to_vec())
                .collect(),
        };
        let seen = filtered(&mut ct, Array::of(&of, g.projection_shape()).expect("counts"), InputKind::Counts);
        let expected = if retrieves { &with_phase } else { &without };
        for (v, r) in (0..views).flat_map(|v| part.clone().map(move |r| (v, r))) {
            let place = if order == Order::Frames { at(v, r) } else { (r * views + v) * bins };
            let off = worst(&seen[place..][..bins], &expected[at(v, r)..][..bins]);
            assert!(off < 9e-6, "view {v}, row {r}, {order:?}: {off:e}");
        }
        if part.len() == rows {
            assert_eq!(ct.info().expect("facts").outliers, found);
        }
    }
}

/// The same bits in any slab.
#[test]
fn slabs_and_streams_do_not_matter() {
    let shape = [24, 90, 48];
    let data = transmissions(shape);
    let distortion = lens(shape);
    for order in [Order::Frames, Order::Sinograms] {
        let g = Geometry { order, first_row: 5, slices: 70, ..geometry(shape) };
        let make = |threads: usize, memory_cap: u64| {
            let options = ContextOptions { threads, memory_cap, ..on_processor() };
            let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
            ct.set_geometry(g.clone()).expect("a geometry");
            ct.set_options(Options { input: InputKind::Transmission, ..Options::default() }).expect("options");
            ct.set_distortion(Some(distortion.clone())).expect("a distortion");
            ct
        };
        let from = || Array::new(&data, g.projection_shape()).expect("projections");
        let reconstruct = |ct: &mut Ct| {
            let mut volume = vec![f32::NAN; g.volume_shape().iter().product()];
            ct.reconstruct(from(), ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
            volume
        };
        let whole = reconstruct(&mut make(2, 0));
        let message = make(1, 1).memory().expect_err("too little").message;
        let smallest: u64 = message.rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number of bytes");
        let rows = filtered(&mut make(2, 0), from(), InputKind::Transmission);
        for cap in [smallest, 2 * smallest] {
            let mut ct = make(1, cap);
            assert!(ct.memory().expect("a figure") <= cap);
            assert!(reconstruct(&mut ct) == whole, "{cap} bytes, {order:?}");
            let part = filtered(&mut ct, from(), InputKind::Transmission);
            assert!(part.iter().zip(&rows).all(|(a, b)| a.to_bits() == b.to_bits()), "{cap} bytes, {order:?}");
        }
        let (volume, asked) = streamed(&mut make(2, 3 * smallest), DType::F32, &data).expect("success");
        assert!(asked.len() > 1 && volume == whole, "{} slabs, {order:?}", asked.len());
    }
}

/// An object seen by a detector that is turned by 0.03 bins a row, and the search for its axis before and after: the search errs by hundredths
/// of a bin, and over 100 rows by less than 1e-3 a row. Rods whose brightness goes up and down by 0.015 of itself a row seem to lie 25 x 0.015 x 0.03
/// bins aside, which is less.
#[test]
fn tilt_as_the_search_tells_it() {
    let [views, rows, bins] = [91, 101, 160];
    let slope = 0.03f64;
    let (sin, cos) = slope.atan().sin_cos();
    let axis = 82.3;
    let g = Geometry {
        angles: (0..views).map(|v| PI * v as f64 / (views - 1) as f64).collect(),
        ..geometry([views, rows, bins])
    };
    // Rods of 5 bins about an axis that is upright in the object, with a phase each.
    let rods = [[22.0, 5.0, 1.0], [-31.0, 12.0, 2.5], [8.0, -25.0, 4.0], [-12.0, -9.0, 5.5], [28.0, 18.0, 0.0]];
    let data: Vec<f32> = (0..views * rows * bins)
        .map(|k| {
            let (angle, row, bin) = (g.angles[k / (rows * bins)], (k / bins % rows) as f64, (k % bins) as f64);
            // Where the object has what this pixel sees: backwards through the turn about the middle.
            let [dx, dy] = [bin - (bins - 1) as f64 / 2.0, row - (rows - 1) as f64 / 2.0];
            let (x, y) = (dx * cos - dy * sin, dx * sin + dy * cos + (rows - 1) as f64 / 2.0);
            let x = x + (bins - 1) as f64 / 2.0 - axis;
            let of = |b: &[f64; 3]| {
                let s = b[0] * angle.cos() + b[1] * angle.sin();
                (2.0 + 0.6 * (y / 20.0 + b[2]).sin()) * (-(x - s).powi(2) / 50.0).exp()
            };
            rods.iter().map(of).sum::<f64>() as f32
        })
        .collect();
    let from = Array::new(&data, [views, rows, bins]).expect("projections");
    let mut ct = plan(&g, Level::detect(), 2);
    let options = AxisOptions { tilt: true, ..AxisOptions::default() };
    let before = ct.find_axis(from, &options).expect("an axis");
    assert!((before.tilt - slope).abs() < 1e-3, "{}", before.tilt);
    ct.set_distortion(Some(Distortion { tilt: before.tilt, ..Distortion::default() })).expect("a tilt");
    let after = ct.find_axis(from, &options).expect("an axis");
    assert!(after.tilt.abs() < 1e-3 && (after.axis - axis).abs() < 0.05, "{} {}", after.tilt, after.axis);
}

/// What is no number is an error, or air, and counted once; it spreads to the pixels that are read between it and others.
#[test]
fn no_numbers_become_air() {
    let shape = [3, 12, 40];
    let mut data = transmissions(shape);
    data[(12 + 5) * 40 + 7] = f32::NAN;
    let mut air = data.clone();
    air[(12 + 5) * 40 + 7] = 1.0;
    let distortion = Distortion { tilt: 0.05, ..Distortion::default() };
    let expected = undistorted(&doubles(&air), shape, &distortion);
    for policy in [NanPolicy::Error, NanPolicy::Replace] {
        let options = ContextOptions { nan_policy: policy, ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(geometry(shape)).expect("a geometry");
        ct.set_options(Options { filter: Filter::None, input: InputKind::Transmission, ..Options::default() })
            .expect("options");
        ct.set_distortion(Some(distortion.clone())).expect("a distortion");
        let mut out = vec![0.0; data.len()];
        let from = Array::new(&data, shape).expect("projections");
        let done = ct.filter(from, ArrayMut::new(&mut out, shape).expect("projections"));
        if policy == NanPolicy::Error {
            let error = done.expect_err("refused");
            assert!(error.status == Status::NotFiniteData && error.message.contains("[1, 5, 7]"), "{}", error.message);
            continue;
        }
        done.expect("success");
        let logs: Vec<f64> = expected.iter().map(|v| -v.ln()).collect();
        let off = worst(&out, &logs);
        assert!(off < 1e-6, "{off:e}");
        assert_eq!(ct.info().expect("facts").replaced, 1);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let g = geometry([10, 20, 40]);
    let mut ct = plan(&g, Level::detect(), 1);
    let some = Distortion::default;
    for (distortion, status, word) in [
        (Distortion { tilt: 2.0, ..some() }, Status::OutOfRange, "distortion.tilt is 2"),
        (Distortion { tilt: f64::NAN, ..some() }, Status::NotFiniteParameter, "tilt is NaN"),
        (Distortion { centre: [0.0, f64::INFINITY], ..some() }, Status::NotFiniteParameter, "y_centre is inf"),
        (Distortion { radial: vec![1.0, f64::NAN], ..some() }, Status::NotFiniteParameter, "radial[1] is NaN"),
        (Distortion { radial: vec![1.0; 11], ..some() }, Status::OutOfRange, "radial_count is 11"),
        (Distortion { radial: vec![3.0], ..some() }, Status::OutOfRange, "moves pixels"),
        (Distortion { shifts: vec![[0.0, 1.0]; 9], ..some() }, Status::OutOfRange, "shift_count is 9"),
        (Distortion { shifts: vec![[0.0, -f64::INFINITY]; 10], ..some() }, Status::NotFiniteParameter, "y_shifts[0]"),
        (Distortion { shifts: vec![[0.0, 25.0]; 10], ..some() }, Status::OutOfRange, "2.5000e1 rows"),
        (Distortion { perspective: Some([f64::NAN; 8]), ..some() }, Status::NotFiniteParameter, "perspective[0]"),
        (Distortion { perspective: Some([0.0; 8]), ..some() }, Status::OutOfRange, "moves pixels"),
    ] {
        let error = ct.set_distortion(Some(distortion.clone())).expect_err("refused");
        assert!(error.status == status && error.message.contains(word), "{distortion:?}: {}", error.message);
    }
    // A geometry with other views comes later: the call says so.
    ct.set_distortion(Some(Distortion { shifts: vec![[0.0, 1.0]; 10], ..some() })).expect("shifts");
    ct.set_geometry(geometry([11, 20, 40])).expect("a geometry");
    let (rows, mut out) = (vec![1.0; 8800], vec![0.0; 8800]);
    let from = Array::new(&rows, [11, 20, 40]).expect("rows");
    let error = ct.filter(from, ArrayMut::new(&mut out, [11, 20, 40]).expect("rows")).expect_err("refused");
    assert!(error.status == Status::OutOfRange && error.message.contains("shift_count is 10"), "{}", error.message);
    ct.set_distortion(None).expect("off");
    ct.filter(from, ArrayMut::new(&mut out, [11, 20, 40]).expect("rows")).expect("success");
}

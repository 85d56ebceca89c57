//! What is done to raw frames before the logarithm: outliers, flats of several places in the scan, bad pixels; against plain f64 versions.

use crate::common::frames::{counts, integrals, streamed, without_outliers};
use crate::common::{on_processor, plan, random};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::cpu::level::Level;
use isocenter::ct::{
    Combine, Ct, Filter, FlatFieldOptions, FlatGroup, Geometry, InputKind, Options, Order, OutlierSide, OutlierUnit,
    Outliers,
};
use isocenter::error::Status;
use std::f64::consts::PI;
use std::sync::Arc;

const MINIMUM: f64 = 1e-6;
const USUAL: Outliers =
    Outliers { window: 3, depth: 3, unit: OutlierUnit::Noise, threshold: 10.0, side: OutlierSide::Bright };

fn geometry([views, rows, bins]: [usize; 3]) -> Geometry {
    Geometry::new((0..views).map(|v| PI * v as f64 / views as f64).collect(), bins).with_rows(rows)
}

fn group(frames: usize, position: f64, monitor: f64) -> FlatGroup {
    FlatGroup { frames, position, monitor }
}

fn doubles(values: &[u16]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

/// Frames of (views, rows, bins) as the geometry wants them.
fn ordered<T: Copy>(frames: &[T], g: &Geometry) -> Vec<T> {
    let (views, rows, bins) = (g.views(), g.rows, g.bins);
    let row = |v: usize, r: usize| frames[(v * rows + r) * bins..][..bins].iter().copied();
    match g.order {
        Order::Frames => frames.to_vec(),
        Order::Sinograms => (0..rows).flat_map(|r| (0..views).flat_map(move |v| row(v, r))).collect(),
    }
}

fn line_integrals(ct: &mut Ct, projections: Array) -> Vec<f32> {
    let shape = projections.shape();
    ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() }).expect("options");
    let mut out = vec![f32::NAN; shape.iter().product()];
    ct.filter(projections, ArrayMut::new(&mut out, shape).expect("projections")).expect("success");
    out
}

fn to_volume<'a>(values: &'a mut [f32], g: &Geometry) -> ArrayMut<'a> {
    ArrayMut::new(values, g.volume_shape()).expect("a volume")
}

/// The largest difference.
fn worst(seen: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    seen.iter().zip(expected).map(|(s, e)| (f64::from(*s) - e).abs()).fold(0.0, f64::max)
}

/// Random flats above random darks.
fn flats(n: usize, plane: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let flats =
        random(n * plane, seed).into_iter().enumerate().map(|(k, v)| 9000.0 + 700.0 * (k / plane) as f32 + 300.0 * v);
    (flats.collect(), random(plane, seed + 1).iter().map(|v| 90.0 + 20.0 * v).collect())
}

/// f32 of the quotient and of the logarithm: 1e-7 of values up to 3, three times.
const ROUNDING: f64 = 1e-6;

#[test]
fn flats_between_views() {
    for (views, rows, bins, order) in
        [(40, 3, 50, Order::Frames), (7, 2, 33, Order::Sinograms), (1, 1, 9, Order::Frames)]
    {
        let shape = [views, rows, bins];
        let (plane, frames) = (rows * bins, counts(shape, 3));
        let (white, dark) = flats(6, plane, 5);
        let monitor: Vec<f64> = (0..views).map(|v| 100.0 + 30.0 * (v as f64).sin()).collect();
        let end = views as f64;
        for (groups, monitor) in [
            (vec![group(6, 0.0, 1.0)], Vec::new()),
            (vec![group(2, 0.0, 1.0), group(4, end, 1.0)], Vec::new()),
            (vec![group(1, 0.0, 90.0), group(3, 0.4 * end, 110.0), group(2, 0.75 * end, 120.0)], monitor.clone()),
            (vec![group(6, 0.3, 80.0)], monitor.clone()),
        ] {
            let options = FlatFieldOptions { groups, monitor, ..FlatFieldOptions::default() };
            let of = |v: &[f32]| v.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
            let expected = integrals(&doubles(&frames), shape, &of(&white), &of(&dark), &options, MINIMUM);
            let g = Geometry { order, ..geometry(shape) };
            for level in Level::available() {
                let mut ct = plan(&g, level, 2);
                let f = Array::new(&white, [6, rows, bins]).expect("flats");
                let d = Array::new(&dark, [1, rows, bins]).expect("darks");
                ct.set_flat_field_by(Some(f), Some(d), &options).expect("a flat field");
                let raw = ordered(&frames, &g);
                let seen = line_integrals(&mut ct, Array::of(&raw, g.projection_shape()).expect("projections"));
                let off = worst(&seen, &ordered(&expected, &g));
                assert!(off < ROUNDING, "{options:?}, {level:?}: {off:e}");
            }
        }
    }
}

/// The middle one of frames, of which one has a hole and one is far too bright.
#[test]
fn medians_of_flats() {
    let g = geometry([2, 1, 20]);
    let frame = |by: f32| (0..20).map(move |k| by + k as f32);
    let mut white: Vec<f32> = [1000.0, 1100.0, 1050.0, 90_000.0, 0.0].into_iter().flat_map(frame).collect();
    white.truncate(100);
    let raw = vec![500u16; 40];
    for (n, middle) in [(5, 1050.0), (4, 1075.0), (3, 1050.0)] {
        let mut ct = plan(&g, Level::detect(), 2);
        let options = FlatFieldOptions { combine: Combine::Median, ..FlatFieldOptions::default() };
        let f = Array::new(&white[..20 * n], [n, 1, 20]).expect("flats");
        ct.set_flat_field_by(Some(f), None, &options).expect("a flat field");
        let seen = line_integrals(&mut ct, Array::of(&raw, [2, 1, 20]).expect("projections"));
        let expected: Vec<f64> = (0..40).map(|k| -(500.0 / (middle + f64::from(k % 20))).ln()).collect();
        assert!(worst(&seen, &expected) < ROUNDING, "of {n} frames");
    }
}

/// Medians are values of the data, and a limit's rounding decides only where a value is within 1e-6 of it: none is.
#[test]
fn outliers_by_their_definition() {
    let shape = [6, 9, 45];
    let (frames, plane) = (counts(shape, 11), 9 * 45);
    let all = [
        USUAL,
        Outliers { depth: 1, side: OutlierSide::Both, ..USUAL },
        Outliers { window: 5, depth: 1, side: OutlierSide::Dark, threshold: 6.0, ..USUAL },
        Outliers { window: 5, ..USUAL },
        Outliers { unit: OutlierUnit::Median, threshold: 0.3, side: OutlierSide::Both, ..USUAL },
        Outliers { unit: OutlierUnit::Median, threshold: 1.7, ..USUAL },
        Outliers { unit: OutlierUnit::Count, threshold: 777.5, depth: 1, ..USUAL },
        Outliers { unit: OutlierUnit::Count, threshold: 777.5, window: 5, side: OutlierSide::Dark, ..USUAL },
    ];
    for outliers in all {
        let (clean, found) = without_outliers(&doubles(&frames), shape, &outliers);
        assert!((10..frames.len() as u64 / 10).contains(&found), "{outliers:?}: {found} say little");
        let expected: Vec<f64> = clean.iter().map(|v| -(v / 4000.0).ln()).collect();
        for (order, level, threads) in
            Level::available().flat_map(|level| [(Order::Frames, level, 1), (Order::Sinograms, level, 3)])
        {
            let g = Geometry { order, ..geometry(shape) };
            let mut ct = plan(&g, level, threads);
            let flat = vec![4000.0; plane];
            ct.set_flat_field(Some(Array::new(&flat, [1, 9, 45]).expect("flats")), None).expect("a flat field");
            ct.set_outliers(Some(outliers.clone())).expect("outliers");
            let raw = ordered(&frames, &g);
            let seen = line_integrals(&mut ct, Array::of(&raw, g.projection_shape()).expect("projections"));
            assert!(worst(&seen, &ordered(&expected, &g)) < ROUNDING, "{outliers:?}, {level:?}, {order:?}");
            assert_eq!(ct.info().expect("facts").outliers, found, "{outliers:?}");
        }
    }
}

/// Flats and darks are cleaned before they are combined.
#[test]
fn outliers_of_flats() {
    let (shape, plane) = ([5, 8, 30], 240);
    let (white, dark) = (counts(shape, 21), vec![3u16; plane]);
    let outliers = Outliers { side: OutlierSide::Both, ..USUAL };
    let groups = vec![group(2, 0.0, 1.0), group(3, 4.0, 1.0)];
    let clean: Vec<f64> = [(0, 2), (2, 5)]
        .iter()
        .flat_map(|(a, b)| without_outliers(&doubles(&white[a * plane..b * plane]), [b - a, 8, 30], &outliers).0)
        .collect();
    let options = FlatFieldOptions { groups, outliers: Some(outliers), ..FlatFieldOptions::default() };
    let g = geometry([4, 8, 30]);
    let frames = vec![1000u16; 4 * plane];
    let expected = integrals(&doubles(&frames), [4, 8, 30], &clean, &vec![3.0; plane], &options, MINIMUM);
    let mut ct = plan(&g, Level::detect(), 2);
    let (f, d) = (Array::of(&white, shape).expect("flats"), Array::of(&dark, [1, 8, 30]).expect("darks"));
    ct.set_flat_field_by(Some(f), Some(d), &options).expect("a flat field");
    let seen = line_integrals(&mut ct, Array::of(&frames, [4, 8, 30]).expect("projections"));
    assert!(worst(&seen, &expected) < ROUNDING);
}

/// A slab reads the rows beside it, in streams as well, where `read` is asked for them; results are the same to the bit, but for the
/// back projection, which has another order of sums where fewer slices stand side by side.
#[test]
fn slabs_and_streams_do_not_matter() {
    let shape = [30, 13, 40];
    let (frames, plane) = (counts(shape, 5), 13 * 40);
    let (white, dark) = flats(2, plane, 9);
    let options = FlatFieldOptions { groups: vec![group(1, 0.0, 1.0), group(1, 30.0, 1.0)], ..Default::default() };
    let outliers = Outliers { window: 5, side: OutlierSide::Both, ..USUAL };
    for (first_row, slices, order) in [(0, 13, Order::Frames), (3, 7, Order::Frames), (1, 11, Order::Sinograms)] {
        let g = Geometry { first_row, slices, order, ..geometry(shape) };
        let raw = ordered(&frames, &g);
        let make = |threads: usize, memory_cap: u64| {
            let context = ContextOptions { threads, memory_cap, ..on_processor() };
            let mut ct = Ct::new(Arc::new(Context::new(context).expect("a context")));
            ct.set_geometry(g.clone()).expect("a geometry");
            let (f, d) = (Array::new(&white, [2, 13, 40]), Array::new(&dark, [1, 13, 40]));
            ct.set_flat_field_by(Some(f.expect("flats")), Some(d.expect("darks")), &options).expect("a flat field");
            ct.set_outliers(Some(outliers.clone())).expect("outliers");
            ct
        };
        let mut reference = make(1, 0);
        let from = || Array::of(&raw, g.projection_shape()).expect("projections");
        let rows = line_integrals(&mut reference, from());
        let mut volume = vec![f32::NAN; g.volume_shape().iter().product()];
        reference.reconstruct(from(), to_volume(&mut volume, &g)).expect("success");
        let found = reference.info().expect("facts").outliers;
        assert!(found > 50);
        let message = make(1, 1).memory().expect_err("too little").message;
        let smallest: u64 = message.rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number of bytes");
        let largest = volume.iter().fold(0.0f32, |l, v| l.max(v.abs()));
        for (threads, cap) in [(3, 0), (1, smallest), (1, 3 * smallest)] {
            let mut ct = make(threads, cap);
            let seen = line_integrals(&mut ct, from());
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
            assert!(g.slices < g.rows || seen.iter().zip(&rows).all(same), "{threads} threads, {cap} bytes");
            let mut slabs = vec![f32::NAN; volume.len()];
            ct.reconstruct(from(), to_volume(&mut slabs, &g)).expect("success");
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5 * largest;
            assert!(slabs.iter().zip(&volume).all(near), "{threads} threads, {cap} bytes");
            assert_eq!(ct.info().expect("facts").outliers, found, "each counts once");

            let done = streamed(&mut ct, DType::U16, &raw);
            if cap == smallest {
                // The buffers of a stream need some more.
                assert!(done.is_ok() || done.is_err_and(|e| e.status == Status::MemoryCap));
                continue;
            }
            let (seen, asked) = done.expect("success");
            assert!(seen.iter().zip(&volume).all(near), "streamed, {threads} threads, {cap} bytes");
            assert_eq!(ct.info().expect("facts").outliers, found, "each counts once");
            for [first, row, held] in asked {
                let top = (first_row + first).saturating_sub(2);
                assert_eq!(row, top, "rows beside the slab");
                assert!(held <= g.rows - top);
            }
        }
    }
}

/// NaN is an error, or 0 and counted; it does not spread, and rows that are not used may hold it.
#[test]
fn no_numbers_stay_where_they_are() {
    let shape = [5, 6, 24];
    let mut frames: Vec<f32> = counts(shape, 2).iter().map(|v| f32::from(*v)).collect();
    let flat = vec![5000.0; 6 * 24];
    let nan = (2 * 6 + 3) * 24 + 7;
    frames[nan] = f32::NAN;
    let make = |nan_policy: NanPolicy, first_row: usize| {
        let g = Geometry { first_row, slices: 2, ..geometry(shape) };
        let mut ct =
            Ct::new(Arc::new(Context::new(ContextOptions { nan_policy, ..on_processor() }).expect("a context")));
        ct.set_geometry(g).expect("a geometry");
        ct.set_flat_field(Some(Array::new(&flat, [1, 6, 24]).expect("flats")), None).expect("a flat field");
        ct.set_options(Options { filter: Filter::None, input: InputKind::Counts, ..Options::default() })
            .expect("options");
        ct.set_outliers(Some(USUAL)).expect("outliers");
        ct
    };
    let mut out = vec![0.0; frames.len()];
    let from = || Array::new(&frames, shape).expect("projections");
    let error = make(NanPolicy::Error, 2).filter(from(), ArrayMut::new(&mut out, shape).expect("projections"));
    let error = error.expect_err("NaN");
    assert!(
        error.status == Status::NotFiniteData && error.message.contains("projections[2, 3, 7]"),
        "{}",
        error.message
    );
    // Beside the rows in use.
    make(NanPolicy::Error, 4).filter(from(), ArrayMut::new(&mut out, shape).expect("projections")).expect("unused");
    let mut lenient = make(NanPolicy::Replace, 2);
    lenient.filter(from(), ArrayMut::new(&mut out, shape).expect("projections")).expect("success");
    assert_eq!((out[nan], lenient.info().expect("facts").replaced), (0.0, 1));
    let others = |k: &usize| *k != nan && (2..4).contains(&(k / 24 % 6));
    assert!((0..frames.len()).filter(others).all(|k| out[k].is_finite() && out[k] != 0.0));
}

/// Dead, hot and odd pixels become the straight line between their neighbours, and are no reason to refuse the flat field.
#[test]
fn bad_pixels_are_bridged() {
    let (shape, plane) = ([3, 12, 40], 480);
    let frames = counts(shape, 4);
    let (mut white, mut dark) = flats(1, plane, 30);
    white.iter_mut().for_each(|w| *w = 10_000.0 + 0.1 * (*w - 9000.0));
    let at = |row: usize, bin: usize| row * 40 + bin;
    white[at(3, 10)] = 20.0; // below its dark
    white[at(3, 11)] = f32::NAN;
    dark[at(5, 0)] = 4000.0;
    white[at(9, 39)] = 6000.0;
    let options = FlatFieldOptions { bad_pixels: Some(10.0), ..FlatFieldOptions::default() };
    for (first_row, slices) in [(0, 12), (4, 6)] {
        let g = Geometry { first_row, slices, ..geometry(shape) };
        let mut ct = plan(&g, Level::detect(), 2);
        let f = || Some(Array::new(&white, [1, 12, 40]).expect("flats"));
        let d = || Some(Array::new(&dark, [1, 12, 40]).expect("darks"));
        if first_row == 0 {
            assert_eq!(ct.set_flat_field(f(), d()).expect_err("a bad flat").status, Status::FlatField);
        }
        ct.set_flat_field_by(f(), d(), &options).expect("a flat field");
        assert_eq!(ct.info().expect("facts").bad_pixels, 4);
        let seen = line_integrals(&mut ct, Array::of(&frames, shape).expect("projections"));
        let used = first_row..first_row + slices;
        for (row, view) in (0..12).flat_map(|r| (0..3).map(move |v| (r, v))).filter(|(r, _)| used.contains(r)) {
            let own = |bin: usize| {
                let k = at(row, bin);
                let (raw, dark) = (f64::from(frames[view * plane + k]), f64::from(dark[k]));
                -((raw - dark) / (f64::from(white[k]) - dark)).max(MINIMUM).ln()
            };
            for bin in 0..40 {
                let expected = match (row, bin) {
                    (3, 10) => own(9) + (own(12) - own(9)) / 3.0,
                    (3, 11) => own(9) + (own(12) - own(9)) * 2.0 / 3.0,
                    (5, 0) => own(1),
                    (9, 39) => own(38),
                    _ => own(bin),
                };
                let found = f64::from(seen[view * plane + at(row, bin)]);
                assert!(
                    (found - expected).abs() < ROUNDING,
                    "view {view}, row {row}, bin {bin}: {found} for {expected}"
                );
            }
        }
        assert_eq!(ct.info().expect("facts").replaced, 0, "they are not counted as replaced by 0");
    }
}

/// A flat field that varies is forgotten with other views, one that does not stays.
#[test]
fn another_number_of_views() {
    let white = vec![1000.0; 3 * 20];
    let flats = || Some(Array::new(&white, [3, 1, 20]).expect("flats"));
    let raw = [500u16; 9 * 20];
    let count = |ct: &mut Ct| {
        let mut out = [0.0; 180];
        ct.filter(Array::of(&raw, [9, 1, 20]).expect("counts"), ArrayMut::new(&mut out, [9, 1, 20]).expect("rows"))
    };
    let mut ct = plan(&geometry([8, 1, 20]), Level::detect(), 1);
    ct.set_flat_field(flats(), None).expect("a flat field");
    ct.set_geometry(geometry([9, 1, 20])).expect("a geometry");
    count(&mut ct).expect("it stays");
    let options = FlatFieldOptions { groups: vec![group(1, 0.0, 1.0), group(2, 9.0, 1.0)], ..Default::default() };
    ct.set_flat_field_by(flats(), None, &options).expect("a flat field");
    count(&mut ct).expect("success");
    ct.set_geometry(geometry([8, 1, 20])).expect("a geometry");
    ct.set_geometry(geometry([9, 1, 20])).expect("a geometry");
    assert_eq!(count(&mut ct).expect_err("forgotten").status, Status::FlatField);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut ct = plan(&geometry([10, 1, 20]), Level::detect(), 1);
    for (outliers, status, word) in [
        (Outliers { window: 4, ..USUAL }, Status::OutOfRange, "window is 4"),
        (Outliers { depth: 2, ..USUAL }, Status::OutOfRange, "depth is 2"),
        (Outliers { threshold: -1.0, ..USUAL }, Status::OutOfRange, "threshold is -1"),
        (Outliers { threshold: f64::NAN, ..USUAL }, Status::NotFiniteParameter, "threshold is NaN"),
    ] {
        let error = ct.set_outliers(Some(outliers)).expect_err("refused");
        assert!(error.status == status && error.message.contains(word), "{}", error.message);
    }
    let white = vec![1000.0; 3 * 20];
    let of = |groups: &[FlatGroup], monitor: &[f64], bad_pixels: Option<f64>| FlatFieldOptions {
        groups: groups.to_vec(),
        monitor: monitor.to_vec(),
        bad_pixels,
        ..FlatFieldOptions::default()
    };
    let one = group(1, 0.0, 1.0);
    for (options, status, word) in [
        (of(&[one, group(2, 0.0, 1.0)], &[], None), Status::OutOfRange, "two groups at one place"),
        (of(&[group(1, 5.0, 1.0), group(2, 4.0, 1.0)], &[], None), Status::OutOfRange, "not in order"),
        (of(&[one, group(2, 10.5, 1.0)], &[], None), Status::OutOfRange, "outside the scan"),
        (of(&[one, group(2, -0.5, 1.0)], &[], None), Status::OutOfRange, "outside the scan"),
        (of(&[one, group(2, f64::NAN, 1.0)], &[], None), Status::NotFiniteParameter, "group_positions[1]"),
        (of(&[one, group(1, 10.0, 1.0)], &[], None), Status::OutOfRange, "add up to 2; flats has 3"),
        (of(&[one, group(0, 5.0, 1.0), group(2, 9.0, 1.0)], &[], None), Status::OutOfRange, "group_frames[1] is 0"),
        (of(&[], &[1.0; 9], None), Status::OutOfRange, "monitor_count is 9"),
        (of(&[], &[0.0; 10], None), Status::OutOfRange, "monitor[0] is 0"),
        (of(&[one, group(2, 9.0, -3.0)], &[1.0; 10], None), Status::OutOfRange, "group_monitor[1] is -3"),
        (of(&[], &[], Some(0.5)), Status::OutOfRange, "bad_pixels is 0.5"),
        (of(&[], &[], Some(f64::INFINITY)), Status::NotFiniteParameter, "bad_pixels is inf"),
    ] {
        let f = Array::new(&white, [3, 1, 20]).expect("flats");
        let error = ct.set_flat_field_by(Some(f), None, &options).expect_err("refused");
        assert!(error.status == status && error.message.contains(word), "{}", error.message);
    }
    // Line integrals have no outliers.
    ct.set_outliers(Some(USUAL)).expect("outliers");
    let (rows, mut out) = (vec![1.0; 200], vec![0.0; 200]);
    let (from, to) = (Array::new(&rows, [10, 1, 20]), ArrayMut::new(&mut out, [10, 1, 20]));
    let error = ct.filter(from.expect("rows"), to.expect("rows")).expect_err("refused");
    assert!(error.status == Status::FlatField && error.message.contains("outliers"), "{}", error.message);
}

//! The caller's data: raw counts with flats and darks, NaN and Inf, and what is counted and refused.

use crate::common::on_processor;
use crate::common::scene::half_turn;
use crate::common::*;
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::ct::{Ct, Filter, Geometry, InputKind, Options, Order};
use isocenter::error::Status;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

fn with_policy(g: &Geometry, nan_policy: NanPolicy) -> Ct {
    let options = ContextOptions { threads: 2, nan_policy, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct
}

/// Rows as they are, counts whatever their type.
fn no_filter(minimum_transmission: f64) -> Options {
    Options { filter: Filter::None, minimum_transmission, input: InputKind::Counts, ..Options::default() }
}

fn filtered(ct: &mut Ct, g: &Geometry, projections: Array) -> Vec<f32> {
    let mut out = vec![0.0; projection_len(g)];
    ct.filter(projections, ArrayMut::new(&mut out, g.projection_shape()).expect("projections")).expect("success");
    out
}

fn geometry(order: Order) -> Geometry {
    let mut g = Geometry::new(half_turn(14), 37).with_rows(5);
    (g.order, g.nx, g.ny) = (order, 30, 31);
    g
}

/// Counts of a scan: every fourth one dark or below, some above the flat.
struct Counts {
    raw: Vec<u16>,
    flats: Vec<u16>,
    darks: Vec<u16>,
}

const FLATS: usize = 3;
const DARKS: usize = 2;

/// Counts up to `full`, so that they fit u8 where they should.
fn counts(g: &Geometry, full: u16) -> Counts {
    let mut rng = SmallRng::seed_from_u64(5);
    let mut some = |n: usize, low: u16, high: u16| (0..n).map(|_| rng.random_range(low..=high)).collect::<Vec<_>>();
    let frame = g.rows * g.bins;
    let (dark, bright) = (full / 20, full / 4 * 3);
    let mut raw = some(projection_len(g), dark / 2, full);
    raw.iter_mut().step_by(4).for_each(|v| *v /= 40);
    Counts { raw, flats: some(FLATS * frame, bright, full), darks: some(DARKS * frame, dark / 2, dark) }
}

/// -ln((raw - dark) / (flat - dark)) in f64, averages too, the quotient at least `minimum`.
fn integrals(g: &Geometry, c: &Counts, minimum: f64) -> Vec<f64> {
    let frame = g.rows * g.bins;
    let average = |frames: &[u16], at: usize| {
        frames.iter().skip(at).step_by(frame).map(|v| f64::from(*v)).sum::<f64>() / (frames.len() / frame) as f64
    };
    c.raw
        .iter()
        .enumerate()
        .map(|(k, raw)| {
            let row = if g.order == Order::Frames { k / g.bins % g.rows } else { k / (g.bins * g.views()) };
            let at = row * g.bins + k % g.bins;
            let dark = average(&c.darks, at);
            -((f64::from(*raw) - dark) / (average(&c.flats, at) - dark)).max(minimum).ln()
        })
        .collect()
}

/// Averages of two darks are exact in f32, so the quotient errs by three roundings, 2e-7 of itself and of its logarithm, which
/// is at most 14 and rounded to 5e-7.
fn check(name: &str, seen: &[f32], expected: &[f64]) {
    for (k, (s, e)) in seen.iter().zip(expected).enumerate() {
        assert!((f64::from(*s) - e).abs() < 2e-6, "{name}: element {k} is {s}, not {e}");
    }
}

/// Without a filter, `filter` gives the line integrals themselves.
#[test]
fn raw_counts_become_line_integrals() {
    for order in [Order::Frames, Order::Sinograms] {
        for minimum in [1e-6, 0.01] {
            let g = geometry(order);
            let mut ct = with_policy(&g, NanPolicy::Error);
            ct.set_options(no_filter(minimum)).expect("options");
            let (shape, flats, darks) = (g.projection_shape(), [FLATS, g.rows, g.bins], [DARKS, g.rows, g.bins]);

            let c = counts(&g, 65535);
            let (f, d) = (Array::of(&c.flats, flats).expect("flats"), Array::of(&c.darks, darks).expect("darks"));
            ct.set_flat_field(Some(f), Some(d)).expect("a flat field");
            let expected = integrals(&g, &c, minimum);
            check("u16", &filtered(&mut ct, &g, Array::of(&c.raw, shape).expect("frames")), &expected);

            let float = |v: &[u16]| v.iter().map(|v| f32::from(*v)).collect::<Vec<_>>();
            let (raw, f, d) = (float(&c.raw), float(&c.flats), float(&c.darks));
            let (f, d) = (Array::of(&f, flats).expect("flats"), Array::of(&d, darks).expect("darks"));
            ct.set_flat_field(Some(f), Some(d)).expect("a flat field");
            check("f32", &filtered(&mut ct, &g, Array::of(&raw, shape).expect("frames")), &expected);

            let c = counts(&g, 255);
            let byte = |v: &[u16]| v.iter().map(|v| u8::try_from(*v).expect("a byte")).collect::<Vec<_>>();
            let (raw, f, d) = (byte(&c.raw), byte(&c.flats), byte(&c.darks));
            let (f, d) = (Array::of(&f, flats).expect("flats"), Array::of(&d, darks).expect("darks"));
            ct.set_flat_field(Some(f), Some(d)).expect("a flat field");
            check("u8", &filtered(&mut ct, &g, Array::of(&raw, shape).expect("frames")), &integrals(&g, &c, minimum));
        }
    }
}

/// No dark frames: darkness is 0.
#[test]
fn darks_may_be_left_out() {
    let g = geometry(Order::Frames);
    let mut c = counts(&g, 65535);
    c.darks = vec![0; g.rows * g.bins];
    let mut ct = with_policy(&g, NanPolicy::Error);
    ct.set_options(no_filter(1e-6)).expect("options");
    let f = Array::of(&c.flats, [FLATS, g.rows, g.bins]).expect("flats");
    ct.set_flat_field(Some(f), None).expect("a flat field");
    let seen = filtered(&mut ct, &g, Array::of(&c.raw, g.projection_shape()).expect("frames"));
    check("no darks", &seen, &integrals(&g, &c, 1e-6));
}

/// Nothing transmitted, or less: the stated minimum, and never NaN.
#[test]
fn transmission_has_a_minimum() {
    let g = geometry(Order::Frames);
    let frame = g.rows * g.bins;
    let raw: Vec<f32> = (0..projection_len(&g)).map(|k| [0.0, 10.0, 9.0, -1e30, 10.000001, 1e30][k % 6]).collect();
    for minimum in [1e-6, 0.2] {
        let mut ct = with_policy(&g, NanPolicy::Error);
        ct.set_options(no_filter(minimum)).expect("options");
        let (f, d) = (vec![100.0f32; frame], vec![10.0f32; frame]);
        let shape = [1, g.rows, g.bins];
        let (f, d) = (Array::of(&f, shape).expect("flats"), Array::of(&d, shape).expect("darks"));
        ct.set_flat_field(Some(f), Some(d)).expect("a flat field");
        let seen = filtered(&mut ct, &g, Array::of(&raw, g.projection_shape()).expect("frames"));
        for (k, v) in seen.iter().enumerate() {
            let expected = if k % 6 == 5 { -(1e30f64 / 90.0).ln() } else { -minimum.ln() };
            // f32 logarithms of a number of size 60 at most.
            assert!((f64::from(*v) - expected).abs() < 1e-5, "{} became {v}, not {expected}", raw[k]);
        }
        let volume = to_volume(&mut ct, &g, Ct::reconstruct, &raw);
        assert!(volume.iter().all(|v| v.is_finite()));
    }
}

/// Reconstructing counts is reconstructing their line integrals. The rows of the plan's slices are corrected with their own
/// flats also where the slices do not begin at row 0.
#[test]
fn reconstruct_corrects_counts() {
    for order in [Order::Frames, Order::Sinograms] {
        let mut g = geometry(order);
        (g.first_row, g.slices) = (2, 3);
        let c = counts(&g, 65535);
        let mut ct = with_policy(&g, NanPolicy::Error);
        ct.set_options(Options { minimum_transmission: 0.05, ..Options::default() }).expect("options");
        let expected: Vec<f32> = integrals(&g, &c, 0.05).iter().map(|v| *v as f32).collect();
        let expected = to_volume(&mut ct, &g, Ct::reconstruct, &expected);
        let f = Array::of(&c.flats, [FLATS, g.rows, g.bins]).expect("flats");
        let d = Array::of(&c.darks, [DARKS, g.rows, g.bins]).expect("darks");
        ct.set_flat_field(Some(f), Some(d)).expect("a flat field");
        let mut seen = vec![0.0; volume_len(&g)];
        let to = ArrayMut::new(&mut seen, g.volume_shape()).expect("a volume");
        ct.reconstruct(Array::of(&c.raw, g.projection_shape()).expect("frames"), to).expect("success");
        // Line integrals agree to some 1e-6 of the largest, as above.
        let e = error(&seen, &expected.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
        assert!(e < 1e-5, "{order:?}: {e:.1e}");
    }
}

#[test]
fn counts_without_a_flat_field_are_refused() {
    let g = geometry(Order::Frames);
    let c = counts(&g, 65535);
    let mut ct = with_policy(&g, NanPolicy::Error);
    let mut volume = vec![7.0; volume_len(&g)];
    let raw = Array::of(&c.raw, g.projection_shape()).expect("frames");
    let to = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
    assert_eq!(ct.reconstruct(raw, to).expect_err("a refusal").status, Status::FlatField);
    assert!(volume.iter().all(|v| *v == 7.0));
}

/// A pixel whose flat is not above its dark: refused, or taken as 0 and counted, once a view and only in the plan's rows.
#[test]
fn a_pixel_without_a_usable_flat() {
    let mut g = geometry(Order::Frames);
    (g.first_row, g.slices) = (1, 3);
    let c = counts(&g, 65535);
    let shape = [1, g.rows, g.bins];
    let mut flat = vec![60000u16; g.rows * g.bins];
    let dark = vec![100u16; g.rows * g.bins];
    // Rows 0 and 4 are not the plan's.
    for k in [3, 4 * g.bins + 1] {
        flat[k] = 0;
    }
    let raw = Array::of(&c.raw, g.projection_shape()).expect("frames");
    let d = Array::of(&dark, shape).expect("darks");
    let mut strict = with_policy(&g, NanPolicy::Error);
    strict.set_flat_field(Some(Array::of(&flat, shape).expect("flats")), Some(d)).expect("unusable rows are not used");
    for (k, value) in [(g.bins + 5, 100), (2 * g.bins, 99), (3 * g.bins + 36, 0)] {
        flat[k] = value;
    }
    let f = Array::of(&flat, shape).expect("flats");
    assert_eq!(strict.set_flat_field(Some(f), Some(d)).expect_err("a refusal").status, Status::FlatField);

    let mut ct = with_policy(&g, NanPolicy::Replace);
    ct.set_options(no_filter(1e-6)).expect("options");
    ct.set_flat_field(Some(f), Some(d)).expect("a flat field");
    let seen = filtered(&mut ct, &g, raw);
    assert_eq!(ct.info().expect("info").replaced, 3 * g.views() as u64);
    for v in 0..g.views() {
        let row = |r: usize| &seen[(v * g.rows + r) * g.bins..][..g.bins];
        assert!(row(1)[5] == 0.0 && row(2)[0] == 0.0 && row(3)[36] == 0.0);
        assert!(
            row(1)[4] != 0.0 && row(0).iter().chain(row(4)).all(|v| *v == 0.0),
            "rows beside the plan's are untouched"
        );
    }
}

/// Data with faults at known places (the first in a row of the plan's), and the same with zeros there.
fn faulty(len: usize, faults: &[usize]) -> (Vec<f32>, Vec<f32>) {
    let clean = random(len, 9);
    let (mut bad, mut zeros) = (clean.clone(), clean);
    for (n, &k) in faults.iter().enumerate() {
        bad[k] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][n % 3];
        zeros[k] = 0.0;
    }
    (bad, zeros)
}

/// Replaced values are counted once each, and the result is that of zeros in their place, to the bit.
#[test]
fn nan_is_replaced_and_counted() {
    let g = geometry(Order::Frames);
    let p = projection_len(&g);
    let mut ct = with_policy(&g, NanPolicy::Replace);
    let runs: [(&str, Operator); 3] =
        [("backproject", Ct::backproject), ("adjoint", Ct::adjoint), ("reconstruct", Ct::reconstruct)];
    let (bad, zeros) = faulty(p, &[0, 1, 37, 400, 401, p - 1]);
    for (name, run) in runs {
        let expected = to_volume(&mut ct, &g, run, &zeros);
        assert_eq!(ct.info().expect("info").replaced, 0, "{name}");
        assert!(to_volume(&mut ct, &g, run, &bad) == expected, "{name}");
        assert_eq!(ct.info().expect("info").replaced, 6, "{name}");
    }
    let expected = filtered(&mut ct, &g, Array::new(&zeros, g.projection_shape()).expect("projections"));
    let seen = filtered(&mut ct, &g, Array::new(&bad, g.projection_shape()).expect("projections"));
    assert!(seen == expected && ct.info().expect("info").replaced == 6);
}

/// `forward` reads the volume by rows for some views and by columns for others; a value is still counted once.
#[test]
fn nan_in_a_volume_is_replaced_and_counted() {
    for angles in [half_turn(14), vec![0.1], vec![1.5]] {
        let mut g = geometry(Order::Frames);
        g.angles = angles;
        let mut ct = with_policy(&g, NanPolicy::Replace);
        let (bad, zeros) = faulty(volume_len(&g), &[2, 500, volume_len(&g) - 1]);
        let expected = to_projections(&mut ct, &g, Ct::forward, &zeros);
        assert!(to_projections(&mut ct, &g, Ct::forward, &bad) == expected);
        ct.set_geometry(Geometry { angles: half_turn(2), ..g.clone() }).expect("a geometry");
        assert_eq!(ct.info().expect("info").replaced, 3, "{} views", g.views());
    }
}

/// Only rows that are read count.
#[test]
fn nan_outside_the_slices_is_not_read() {
    let mut g = geometry(Order::Frames);
    (g.first_row, g.slices) = (1, 2);
    let (bad, _) = faulty(projection_len(&g), &[0, 3 * g.bins, projection_len(&g) - 1]);
    let mut ct = with_policy(&g, NanPolicy::Error);
    assert!(to_volume(&mut ct, &g, Ct::reconstruct, &bad).iter().all(|v| v.is_finite()));
    assert_eq!(ct.info().expect("info").replaced, 0);
}

/// A NaN in raw frames is a value of 0, not a transmission of 0.
#[test]
fn nan_in_raw_frames_becomes_zero() {
    let g = geometry(Order::Frames);
    let frame = g.rows * g.bins;
    let mut ct = with_policy(&g, NanPolicy::Replace);
    ct.set_options(no_filter(1e-6)).expect("options");
    let flat = vec![100.0f32; frame];
    ct.set_flat_field(Some(Array::of(&flat, [1, g.rows, g.bins]).expect("flats")), None).expect("a flat field");
    let mut raw = vec![50.0f32; projection_len(&g)];
    let bad = [3, frame + 9, raw.len() - 1];
    bad.iter().for_each(|&k| raw[k] = f32::NAN);
    let seen = filtered(&mut ct, &g, Array::of(&raw, g.projection_shape()).expect("frames"));
    for (k, v) in seen.iter().enumerate() {
        let expected = if bad.contains(&k) { 0.0 } else { std::f32::consts::LN_2 };
        assert!((v - expected).abs() < 1e-6, "element {k} is {v}");
    }
    assert_eq!(ct.info().expect("info").replaced, 3);
}

/// A value that is not finite, in a pixel that cannot be corrected, is one value.
#[test]
fn nan_without_a_usable_flat_counts_once() {
    let g = geometry(Order::Frames);
    let mut ct = with_policy(&g, NanPolicy::Replace);
    ct.set_options(no_filter(1e-6)).expect("options");
    let mut flat = vec![100.0f32; g.rows * g.bins];
    flat[7] = 0.0;
    ct.set_flat_field(Some(Array::of(&flat, [1, g.rows, g.bins]).expect("flats")), None).expect("a flat field");
    let mut raw = vec![50.0f32; projection_len(&g)];
    raw[7] = f32::NAN;
    filtered(&mut ct, &g, Array::of(&raw, g.projection_shape()).expect("frames"));
    assert_eq!(ct.info().expect("info").replaced, g.views() as u64);
}

/// The error names the first index in the tensor's own order, and nothing is written, in one slab or in many.
#[test]
fn nan_is_an_error_by_default() {
    for order in [Order::Frames, Order::Sinograms] {
        let mut g = geometry(order);
        g = g.with_rows(32);
        let shape = g.projection_shape();
        let fault = (shape[1] * 7 + 3) * g.bins + 5;
        let (bad, _) = faulty(projection_len(&g), &[fault, projection_len(&g) - 1]);
        for memory_cap in [120_000, 1 << 30] {
            let options = ContextOptions { threads: 2, memory_cap, ..on_processor() };
            let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
            ct.set_geometry(g.clone()).expect("a geometry");
            assert!((ct.info().expect("info").slab_slices < 32) == (memory_cap < 1 << 30), "slabs are not as meant");
            let p = Array::new(&bad, shape).expect("projections");
            let mut volume = vec![7.0; volume_len(&g)];
            for run in [Ct::backproject as Operator, Ct::adjoint, Ct::reconstruct] {
                let e = run(&mut ct, p, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume"))
                    .expect_err("an error");
                assert_eq!(e.status, Status::NotFiniteData);
                assert!(e.message.contains("projections[7, 3, 5] is NaN"), "{}", e.message);
            }
            let mut out = vec![7.0; bad.len()];
            let e = ct.filter(p, ArrayMut::new(&mut out, shape).expect("projections")).expect_err("an error");
            assert_eq!(e.status, Status::NotFiniteData);
            let mut given = vec![1.0; volume_len(&g)];
            given[(7 * g.ny + 3) * g.nx + 5] = f32::INFINITY;
            let to = ArrayMut::new(&mut out, shape).expect("projections");
            let e = ct.forward(Array::new(&given, g.volume_shape()).expect("a volume"), to).expect_err("an error");
            assert!(e.status == Status::NotFiniteData && e.message.contains("volume[7, 3, 5] is inf"), "{}", e.message);
            assert!(volume.iter().chain(&out).all(|v| *v == 7.0), "written in spite of an error");
        }
    }
}

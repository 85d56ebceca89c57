//! Views that are no measurement: none in clean scans of all kinds, all that are planted.

use crate::common::scene::{half_turn, line_integrals};
use crate::common::views::{Given, Scan, ordered};
use crate::common::{on_processor, plan};
use isocenter::array::{Array, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, FlatFieldOptions, FlatGroup, Geometry, InputKind, Options, Order, ViewFault};
use isocenter::error::Status;
use isocenter::phantom::Ellipse;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;

const CERTAIN: [ViewFault; 4] = [ViewFault::Black, ViewFault::Saturated, ViewFault::Frozen, ViewFault::NotFinite];

/// Scans of each kind of test; with ISOC_TEST_ROUNDS=5 there are 500.
fn scans() -> u64 {
    std::env::var("ISOC_TEST_ROUNDS").map_or(100, |rounds| 100 * rounds.parse::<u64>().expect("a number"))
}

fn bare() -> Ct {
    Ct::new(Arc::new(Context::new(on_processor()).expect("a context")))
}

#[test]
fn clean_scans_have_none() {
    let wrong: Vec<String> = (0..scans())
        .into_par_iter()
        .filter_map(|number| {
            let scan = Scan::random(number, false);
            let found = scan.found(&mut bare(), Order::Frames);
            let faults: Vec<_> = found.iter().enumerate().filter_map(|(k, fault)| Some((k, (*fault)?))).collect();
            (!faults.is_empty()).then(|| format!("{}: {faults:?}", scan.about))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), scans(), wrong.join("\n"));
}

#[test]
fn planted_faults_are_found() {
    let wrong: Vec<String> = (1000..1000 + scans())
        .into_par_iter()
        .filter_map(|number| {
            let (mut scan, mut rng) = (Scan::random(number, true), SmallRng::seed_from_u64(number));
            let views = scan.geometry.views();
            let mut planted = vec![None; views];
            // Alone or in a row, with a view that is as it should be between those of two kinds.
            let mut at = rng.random_range(0..10);
            while at < views {
                let fault = CERTAIN[rng.random_range(0..4usize)];
                let end = views.min(at + rng.random_range(1..4usize));
                for (view, planted) in planted.iter_mut().enumerate().take(end).skip(at) {
                    *planted = scan.plant(fault, view, &mut rng).then_some(fault);
                }
                at = end + rng.random_range(10..30usize);
            }
            let found = scan.found(&mut bare(), Order::Frames);
            let certain: Vec<_> = found.iter().map(|fault| fault.filter(|fault| fault.certain())).collect();
            let wrong: Vec<_> =
                (0..views).filter(|&k| certain[k] != planted[k]).map(|k| (k, planted[k], certain[k])).collect();
            (!wrong.is_empty()).then(|| format!("{}: {wrong:?}", scan.about))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), scans(), wrong.join("\n"));
}

/// A scan with a fault of each kind that its frames can tell.
fn spoilt(number: u64) -> Scan {
    let (mut scan, mut rng) = (Scan::random(number, true), SmallRng::seed_from_u64(number));
    for (k, fault) in CERTAIN.into_iter().enumerate() {
        scan.plant(fault, 7 + 9 * k, &mut rng);
    }
    scan
}

#[test]
fn levels_threads_and_orders_do_not_matter() {
    for number in 3000..3012 {
        let scan = spoilt(number);
        let expected = scan.found(&mut bare(), Order::Frames);
        assert!(expected.iter().any(Option::is_some), "{}", scan.about);
        for level in Level::available() {
            for (threads, order) in [(1, Order::Frames), (3, Order::Sinograms)] {
                let mut ct = plan(&scan.geometry, level, threads);
                assert_eq!(scan.found(&mut ct, order), expected, "{}, {level:?}, {order:?}", scan.about);
            }
        }
    }
}

/// But for frozen ones, of which the first is good, views are judged by what they are and by those beside them in angle.
#[test]
fn views_in_any_order() {
    for number in 3100..3120 {
        let mut scan = Scan::random(number, true);
        let mut rng = SmallRng::seed_from_u64(number);
        for (fault, view) in [(ViewFault::Black, 9), (ViewFault::Saturated, 20), (ViewFault::NotFinite, 31)] {
            scan.plant(fault, view, &mut rng);
        }
        let expected = scan.found(&mut bare(), Order::Frames);
        let (views, frame) = (scan.geometry.views(), scan.geometry.rows * scan.geometry.bins);
        // 37 has no divisor in common with numbers of views that are no multiple of it.
        let order: Vec<usize> = (0..views).map(|k| (k * 37 + 5) % views).collect();
        if views % 37 == 0 {
            continue;
        }
        let mut other = scan.clone();
        for (k, view) in order.iter().enumerate() {
            other.geometry.angles[k] = scan.geometry.angles[*view];
            other.frames[k * frame..][..frame].copy_from_slice(&scan.frames[view * frame..][..frame]);
        }
        let found = other.found(&mut bare(), Order::Frames);
        for (k, view) in order.iter().enumerate() {
            assert_eq!(found[k], expected[*view], "{}, view {view}", scan.about);
        }
    }
}

/// What the documentation says of black views, in plain sums.
#[test]
fn black_views_by_their_definition() {
    let mut told = 0;
    for number in 4000..4400 {
        let mut scan = Scan::random(number, true);
        if scan.given != Given::Transmissions {
            continue;
        }
        let (views, rows, bins) = (scan.geometry.views(), scan.geometry.rows, scan.geometry.bins);
        let frame = rows * bins;
        // Views that are ever darker.
        for k in 0..10 {
            let factor = 0.5f32.powi(k);
            scan.frames[(3 * k as usize + 2) * frame..][..frame].iter_mut().for_each(|v| *v *= 0.05 * factor);
        }
        let looked: Vec<usize> = {
            let count = rows.min(8);
            (0..count).map(|k| (k * (rows - 1) + (count - 1) / 2) / (count - 1)).collect()
        };
        let statistics: Vec<[f64; 2]> = (0..views)
            .map(|view| {
                let values: Vec<f64> = looked
                    .iter()
                    .flat_map(|row| &scan.frames[view * frame + row * bins..][..bins])
                    .map(|v| f64::from(*v).clamp(-0.5, 0.5))
                    .collect();
                let n = values.len() as f64;
                let mean = values.iter().sum::<f64>() / n;
                let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
                [mean, (variance / n).sqrt()]
            })
            .collect();
        let mut means: Vec<f64> = statistics.iter().map(|s| s[0]).collect();
        means.sort_by(f64::total_cmp);
        let limit = 0.004f64.min(means[9 * (views - 1) / 10] / 3.0);
        let found = scan.found(&mut bare(), Order::Frames);
        for (view, [mean, error]) in statistics.into_iter().enumerate() {
            let off = mean + 4.0 * error - limit;
            // Sums that round otherwise may decide otherwise next to the limit.
            if off.abs() > 1e-9 {
                assert_eq!(found[view] == Some(ViewFault::Black), off < 0.0, "{}, view {view}: {off}", scan.about);
                told += usize::from(off < 0.0);
            }
        }
    }
    assert!(told > 100, "{told}");
}

/// Half of the beam in a view or two, in scans that have air beside the object and views in order, close to each other.
#[test]
fn lost_light_is_doubtful() {
    let mut seen = 0;
    for number in 5000..5200u64 {
        let mut scan = Scan::random(number, true);
        let has = |words: &[&str]| words.iter().any(|word| scan.about.contains(word));
        let close = |pair: &[f64]| pair[1] > pair[0] && pair[1] - pair[0] < 0.034;
        if !has(&["object 1,", "object 2,", "object 4,"])
            || has(&["source 1,", "source 4,"])
            || matches!(scan.given, Given::LineIntegrals | Given::U8)
            || !scan.geometry.angles.windows(2).all(close)
        {
            continue;
        }
        for (view, factor) in [(10, 0.5), (20, 0.4), (21, 0.45), (30, 1.6)] {
            scan.dim(view, factor);
        }
        let found = scan.found(&mut bare(), Order::Frames);
        let doubtful: Vec<_> = (0..found.len()).filter(|k| found[*k].is_some()).collect();
        assert_eq!(doubtful, [10, 20, 21, 30], "{}", scan.about);
        assert!(doubtful.iter().all(|k| found[*k] == Some(ViewFault::Doubtful)));
        seen += 1;
    }
    assert!(seen >= 2, "{seen}");
}

/// Ellipses about the axis are mirrored by turning, so that without noise views are equal in pairs; a disk is the same in all.
#[test]
fn data_without_noise_are_not_frozen() {
    for (semi, kind) in [([40.0, 40.0], DType::F32), ([40.0, 25.0], DType::F32), ([40.0, 38.0], DType::U16)] {
        // One of the axes is between two views.
        let angles = half_turn(90).iter().map(|angle| angle + 0.5 * std::f64::consts::PI / 90.0).collect();
        let g = Geometry::new(angles, 128).with_rows(4);
        let body = [Ellipse { value: 0.02, centre: [0.0; 2], semi, angle: 0.5 * std::f64::consts::PI }];
        let mut ct = bare();
        ct.set_geometry(g.clone()).expect("a geometry");
        let integrals = line_integrals(&ct, &g, &body);
        let shape = g.projection_shape();
        let found = match kind {
            DType::F32 => ct.find_bad_views(Array::new(&integrals, shape).expect("projections")),
            _ => {
                let counts: Vec<u16> = integrals.iter().map(|p| (60000.0 * (-p).exp()).round() as u16).collect();
                let flats = vec![60000u16; 4 * 128];
                let flats = Array::of(&flats, [1, 4, 128]).expect("flats");
                ct.set_flat_field(Some(flats), None).expect("a flat field");
                ct.find_bad_views(Array::of(&counts, shape).expect("counts"))
            }
        };
        assert!(found.expect("views").iter().all(Option::is_none), "{semi:?} {kind:?}");
    }
}

#[test]
fn frames_at_one_angle_may_be_one() {
    let mut scan =
        (3200..).map(|number| Scan::random(number, true)).find(|scan| scan.given == Given::U16).expect("one");
    let frame = scan.geometry.rows * scan.geometry.bins;
    scan.frames.copy_within(9 * frame..10 * frame, 10 * frame);
    assert_eq!(scan.found(&mut bare(), Order::Frames)[10], Some(ViewFault::Frozen), "{}", scan.about);
    scan.geometry.angles[10] = scan.geometry.angles[9];
    assert_eq!(scan.found(&mut bare(), Order::Frames)[10], None);
}

#[test]
fn flats_that_vary_and_eigenflats() {
    let g = Geometry::new(half_turn(60), 128).with_rows(4);
    let mut rng = SmallRng::seed_from_u64(3);
    let mut frames = |n: usize, level: f64| -> Vec<f32> {
        (0..n * 4 * 128).map(|_| (level + 20.0 * crate::common::normal(&mut rng)) as f32).collect()
    };
    let (mut views, flats, darks) = (frames(60, 1000.0), frames(40, 1000.0), frames(5, 100.0));
    views[20 * 512..21 * 512].copy_from_slice(&darks[..512]);
    let mut ct = bare();
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(Options { input: InputKind::Counts, ..Options::default() }).expect("options");
    // The monitor has seen it, too, and the components are not fitted yet.
    let group = |position: f64| FlatGroup { frames: 20, position, monitor: 1.0 };
    let monitor: Vec<f64> = (0..60).map(|k| if k == 20 { 1e-9 } else { 1.0 }).collect();
    let options = FlatFieldOptions {
        groups: vec![group(0.0), group(60.0)],
        monitor,
        eigenflats: 2,
        ..FlatFieldOptions::default()
    };
    let (flats, darks) = (Array::new(&flats, [40, 4, 128]), Array::new(&darks, [5, 4, 128]));
    ct.set_flat_field_by(Some(flats.expect("flats")), Some(darks.expect("darks")), &options).expect("a flat field");
    let found = ct.find_bad_views(Array::new(&views, g.projection_shape()).expect("frames")).expect("views");
    let bad: Vec<_> = (0..60).filter(|k| found[*k].is_some()).collect();
    assert_eq!((bad.as_slice(), found[20]), (&[20][..], Some(ViewFault::Black)));
}

/// 192 values tell of a strong beam that it was gone, and nothing of one of 1 count, of which as many may well meet none.
#[test]
fn few_values_of_a_strong_beam_do() {
    let g = Geometry::new(half_turn(60), 96).with_rows(2);
    for (beam, expected) in [(40000.0f32, Some(ViewFault::Black)), (1.0, None)] {
        let mut views: Vec<f32> = (0..60 * 192).map(|k| 100.0 + beam * (1.0 - 0.5 * ((k % 7) as f32 / 7.0))).collect();
        views[20 * 192..21 * 192].fill(100.0);
        let (flats, darks) = (vec![100.0 + beam; 192], vec![100.0; 192]);
        let mut ct = bare();
        ct.set_geometry(g.clone()).expect("a geometry");
        ct.set_options(Options { input: InputKind::Counts, ..Options::default() }).expect("options");
        let [flats, darks] = [&flats, &darks].map(|frame| Array::new(frame, [1, 2, 96]).expect("a frame"));
        ct.set_flat_field_by(Some(flats), Some(darks), &FlatFieldOptions::default()).expect("a flat field");
        let found = ct.find_bad_views(Array::new(&views, g.projection_shape()).expect("frames")).expect("views");
        assert_eq!(found[20].filter(|fault| fault.certain()), expected, "a beam of {beam}");
        assert_eq!(found.iter().flatten().count(), usize::from(found[20].is_some()));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let g = Geometry::new(half_turn(20), 64).with_rows(4);
    let values = vec![1.0f32; 20 * 4 * 64];
    let frames = Array::new(&values, [20, 4, 64]).expect("frames");
    let status = |ct: &Ct, array: Array| ct.find_bad_views(array).expect_err("an error").status;
    let mut ct = bare();
    assert_eq!(status(&ct, frames), Status::NotConfigured);
    ct.set_geometry(g).expect("a geometry");
    assert_eq!(status(&ct, frames.swapped()), Status::TensorShape);
    let counts = vec![1u16; 20 * 4 * 64];
    assert_eq!(status(&ct, Array::of(&counts, [20, 4, 64]).expect("frames")), Status::FlatField);
    let doubles = vec![1.0f64; 20 * 4 * 64];
    assert_eq!(status(&ct, Array::of(&doubles, [20, 4, 64]).expect("frames")), Status::TensorDtype);
    // All the same, few, without numbers: nothing to say, or what there is.
    assert!(ct.find_bad_views(frames).expect("views").iter().all(Option::is_none));
    let none = vec![f32::NAN; 20 * 4 * 64];
    for nan_policy in [NanPolicy::Error, NanPolicy::Replace] {
        let context = Context::new(ContextOptions { nan_policy, ..on_processor() }).expect("a context");
        let mut ct = Ct::new(Arc::new(context));
        ct.set_geometry(Geometry::new(half_turn(20), 64).with_rows(4)).expect("a geometry");
        let found = ct.find_bad_views(Array::new(&none, [20, 4, 64]).expect("frames")).expect("views");
        assert!(found.iter().all(|fault| *fault == Some(ViewFault::NotFinite)));
    }
    for (views, bins) in [(1, 1), (2, 3), (3, 256)] {
        ct.set_geometry(Geometry::new(half_turn(views), bins)).expect("a geometry");
        let zeros = vec![0.0f32; views * bins];
        let found = ct.find_bad_views(Array::new(&zeros, [views, 1, bins]).expect("frames")).expect("views");
        assert_eq!(found, vec![None; views]);
    }
}

#[test]
fn frames_lie_as_they_like() {
    let scan = spoilt(3000);
    let g = &scan.geometry;
    let [views, rows, bins] = g.projection_shape();
    let expected = scan.found(&mut bare(), Order::Frames);
    let mut ct = bare();
    scan.set_up(&mut ct, g);
    // From the last to the first in memory, with gaps.
    let mut spread = vec![3.0f32; 2 * views * rows * bins];
    let at = |k: usize| 2 * (views * rows * bins - 1 - k);
    ordered(&scan.frames, g).iter().enumerate().for_each(|(k, v)| spread[at(k)] = *v);
    let strides = [rows * bins, bins, 1].map(|step| -2 * step as isize);
    // SAFETY: the vector holds the elements.
    let array =
        unsafe { Array::from_raw(spread[at(0)..].as_ptr().cast(), DType::F32, [views, rows, bins], strides, None) };
    let input = match scan.given {
        Given::U8 | Given::U16 | Given::F32 => InputKind::Counts,
        Given::Transmissions => InputKind::Transmission,
        Given::LineIntegrals => InputKind::LineIntegrals,
    };
    ct.set_options(Options { input, ..Options::default() }).expect("options");
    assert_eq!(ct.find_bad_views(array).expect("views"), expected);
}

//! Angular weights by hand, missing wedges, too few angles, and what the plan says that it found.

use crate::common::on_processor;
use crate::common::scene::*;
use crate::common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{Angular, Ct, Filter, Geometry, Info, Options};
use isocenter::error::Status;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;
use std::sync::{Arc, Mutex};

fn angular(angles: &[f64]) -> Angular {
    best_plan(&Geometry::new(angles.to_vec(), 8))
        .info()
        .expect("info")
        .angular
        .map(Arc::unwrap_or_clone)
        .expect("angles")
}

/// Sums of a few f64 angles, some of them many turns away.
const EXACT: f64 = 1e-9;

fn check(angles: &[f64], expected: &[f64]) {
    let seen = angular(angles).weights;
    assert_eq!(seen.len(), expected.len());
    for (s, e) in seen.iter().zip(expected) {
        assert!((s - e).abs() < EXACT, "{angles:?}: weights {seen:?}, not {expected:?}");
    }
}

#[test]
fn weights_are_half_the_gaps_on_either_side() {
    let quarter = PI / 4.0;
    check(&[0.0, quarter, 2.0 * quarter, 3.0 * quarter], &[quarter; 4]);
    // Gaps 0.5, 1 and pi - 1.5 = 1.64, in any order, from anywhere, and from the other side.
    let w = [(0.5 + PI - 1.5) / 2.0, 0.75, (1.0 + PI - 1.5) / 2.0];
    check(&[0.0, 0.5, 1.5], &w);
    check(&[1.5, 0.0, 0.5], &[w[2], w[0], w[1]]);
    check(&[3.0, 3.5, 4.5], &w);
    check(&[-0.2, 0.3, 1.3], &w);
    check(&[7.0 * PI, 0.5 - 2.0 * PI, 1.5 + 101.0 * PI], &w);
    // Two views: the half turn in two, whatever their distance.
    check(&[0.3, 1.3], &[PI / 2.0; 2]);
}

#[test]
fn views_at_one_angle_share_its_weight() {
    check(&[0.0, 0.0, PI / 2.0], &[PI / 4.0, PI / 4.0, PI / 2.0]);
    check(&[PI / 2.0, -PI, 0.0, PI, 5.0 * PI], &[PI / 2.0, PI / 8.0, PI / 8.0, PI / 8.0, PI / 8.0]);
    // A hair below 0 is next to 0, not almost a half turn away.
    check(&[0.0, -1e-17, PI / 2.0], &[PI / 4.0, PI / 4.0, PI / 2.0]);
    check(&[1e-12, PI - 1e-12, PI / 2.0], &[PI / 4.0, PI / 4.0, PI / 2.0]);
    // A full turn, its last view the first again.
    let turn: Vec<f64> = (0..9).map(|v| PI * f64::from(v) / 4.0).collect();
    let (third, half) = (PI / 12.0, PI / 8.0);
    check(&turn, &[third, half, half, half, third, half, half, half, third]);
}

/// The second half turn of a full turn sees the first one's angles again, with jitter. Whether such views count as one angle
/// or two, the two together weigh what they would without jitter, to the jitter's size, and everything sums to pi.
#[test]
fn jitter_of_a_full_turn_changes_little() {
    for half in [4, 5, 90, 721] {
        let gap = PI / f64::from(half);
        for size in [0.0, 1e-6, 0.01, 0.04, 0.06, 0.2] {
            let jitter = |v: i32| size * gap * (2.3 * f64::from(v)).sin();
            let a = angular(&(0..2 * half).map(|v| f64::from(v) * gap + jitter(v)).collect::<Vec<_>>());
            assert!((a.covered - PI).abs() < EXACT && a.missing_wedges == 0, "{half}, {size}: {a:?}");
            for v in 0..half as usize {
                let pair = a.weights[v] + a.weights[v + half as usize];
                // The ends of a pair's share of pi each move by less than twice the jitter.
                assert!(
                    (pair - gap).abs() <= 4.0 * size * gap + EXACT,
                    "{half}, {size}: view {v} weighs {pair} of {gap}"
                );
            }
        }
    }
}

/// An odd number of views over a full turn are all at different angles, half as far apart.
#[test]
fn an_odd_full_turn_has_no_pairs() {
    let a = angular(&(0..31).map(|v| 2.0 * PI * f64::from(v) / 31.0).collect::<Vec<_>>());
    assert_eq!((a.distinct, a.evenly_spaced, a.missing_wedges), (31, true, 0));
    assert!(a.weights.iter().all(|w| (w - PI / 31.0).abs() < EXACT) && (a.spacing - PI / 31.0).abs() < EXACT);
}

#[test]
fn what_the_plan_found() {
    let a = angular(&half_turn(20));
    assert_eq!((a.distinct, a.evenly_spaced, a.missing_wedges), (20, true, 0));
    assert!((a.spacing - PI / 20.0).abs() < EXACT && (a.largest_gap - PI / 20.0).abs() < EXACT);
    assert!((a.covered - PI).abs() < EXACT);

    // 1 % either way is even, more is not.
    let with_one_late = |by: f64| {
        let mut angles = half_turn(20);
        angles[7] += by * PI / 20.0;
        angular(&angles)
    };
    assert!(with_one_late(0.009).evenly_spaced);
    let late = with_one_late(0.02);
    assert!(!late.evenly_spaced && (late.spacing - PI / 20.0).abs() < EXACT);
    assert!(
        (late.largest_gap - 1.02 * PI / 20.0).abs() < EXACT && (late.largest_gap_start - 6.0 * PI / 20.0).abs() < EXACT
    );
}

/// 40 views of a half turn of 60: the 19 gaps that are missing with the two beside them are one gap of 21, spread over no view.
#[test]
fn a_missing_wedge_is_left_out_and_reported() {
    let gap = PI / 60.0;
    for start in [0.0, 1.2, -0.4] {
        let a = angular(&(0..40).map(|v| start + f64::from(v) * gap).collect::<Vec<_>>());
        assert_eq!((a.missing_wedges, a.distinct), (1, 40));
        assert!((a.covered - 39.0 * gap).abs() < EXACT && (a.weights.iter().sum::<f64>() - a.covered).abs() < EXACT);
        assert!((a.largest_gap - 21.0 * gap).abs() < EXACT && (a.spacing - gap).abs() < EXACT);
        assert!((a.largest_gap_start - (start + 39.0 * gap).rem_euclid(PI)).abs() < EXACT);
        assert!((a.weights[0] - gap / 2.0).abs() < EXACT && (a.weights[39] - gap / 2.0).abs() < EXACT);
        assert!(a.weights[1..39].iter().all(|w| (w - gap).abs() < EXACT));
    }
    // Two wedges; and a gap of just under three times the others, which is not one.
    let missing = |from: usize, to: usize| move |v: &usize| !(from..to).contains(v);
    let views = (0..60).filter(missing(10, 14)).filter(missing(40, 50)).map(|v| v as f64 * gap).collect::<Vec<_>>();
    let a = angular(&views);
    assert!(a.missing_wedges == 2 && (a.covered - (60.0 - 5.0 - 11.0) * gap).abs() < EXACT, "{a:?}");
    let a = angular(
        &(0..60).filter(missing(10, 12)).map(|v| if v == 12 { 11.999 } else { v as f64 } * gap).collect::<Vec<_>>(),
    );
    assert!(a.missing_wedges == 0 && (a.covered - PI).abs() < EXACT, "{a:?}");
}

/// Angles at random, by a generator that is the same everywhere.
fn at_random(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(0.0..PI)).collect()
}

/// The sizes of gaps fall off smoothly, so none stands out: of n of them at random, the largest exceeds the second by an
/// exponential step of one mean gap, the second is about ln n mean gaps, and a step of twice that has a chance below 1 / n^2.
#[test]
fn angles_at_random_cover_half_a_turn() {
    for seed in 0..50 {
        let a = angular(&at_random(1000, seed));
        assert!(a.missing_wedges == 0 && (a.covered - PI).abs() < EXACT, "{seed}: {a:?}");
    }
}

/// A scan that changes its speed has two sizes of gaps, with many of each.
#[test]
fn a_scan_of_two_speeds_covers_half_a_turn() {
    let fast = (0..500).map(|v| f64::from(v) / 500.0);
    let slow = (0..250).map(|v| 1.0 + f64::from(v) / 250.0 * (PI - 1.0));
    let a = angular(&fast.chain(slow).collect::<Vec<_>>());
    assert!(a.missing_wedges == 0 && (a.covered - PI).abs() < EXACT, "{a:?}");
    assert!((a.weights[250] - 1.0 / 500.0).abs() < EXACT && (a.weights[600] - (PI - 1.0) / 250.0).abs() < EXACT);
}

/// Both, on an object: 1.0 stays 1.0.
#[test]
fn values_hold_whatever_the_angles() {
    let fast = (0..500).map(|v| f64::from(v) / 500.0);
    let slow = (0..250).map(|v| 1.0 + f64::from(v) / 250.0 * (PI - 1.0));
    // Of the two speeds the sums are the trapezium's rule with steps of at most 0.0086: 1e-3 as for even angles. At random, a gap of g
    // leaves an error of the order of g^2, and 1000 of them with a mean of pi / 1000 some 1000 x 2 (pi / 1000)^2 = 0.02 in all.
    for (angles, allowed) in [(fast.chain(slow).collect(), 0.005), (at_random(1000, 3), 0.02)] {
        let g = scene(angles, 1.0, 1.0);
        let mut ct = best_plan(&g);
        let p = line_integrals(&ct, &g, &[OBJECT]);
        let volume = reconstruct(&mut ct, &g, &p);
        let seen = mean(&volume, &well_inside(&g, &OBJECT, 4.0));
        assert!((seen - 1.0).abs() < allowed, "{seen}");
    }
}

/// 60 views without some blocks of them: up to four blocks stand out, five are taken for the scan's own manner.
#[test]
fn a_few_lost_blocks_stand_out() {
    let gap = PI / 60.0;
    for lost in 1..=5 {
        let kept =
            (0..60).filter(|v| !(v % 12 < 4 + v / 12 && v / 12 < lost)).map(|v| f64::from(v) * gap).collect::<Vec<_>>();
        let a = angular(&kept);
        // Block k of 4 + k views leaves a gap of 5 + k, of 15 degrees or more.
        let missing: i32 = (0..lost).map(|k| 5 + k).sum();
        let (wedges, covered) = if lost <= 4 { (lost as usize, PI - f64::from(missing) * gap) } else { (0, PI) };
        assert!(a.missing_wedges == wedges && (a.covered - covered).abs() < EXACT, "{lost}: {a:?}");
    }
    // A wedge that stands out above five lost blocks is one.
    let gap = PI / 180.0;
    let kept = (0..120).filter(|v| !(v % 20 < 5 && v / 20 < 5)).map(|v| f64::from(v) * gap).collect::<Vec<_>>();
    let a = angular(&kept);
    assert!(a.missing_wedges == 1 && (a.largest_gap - 66.0 * gap).abs() < EXACT, "{a:?}");
}

/// Lost views: up to a sixteenth of the half turn a gap is shared by the views beside it, and tells so once.
#[test]
fn short_gaps_are_shared() {
    let step = PI / 180.0;
    let without = |lost: std::ops::Range<usize>| {
        (0..180).filter(|v| !lost.contains(v)).map(|v| v as f64 * step).collect::<Vec<_>>()
    };
    for count in [3, 7, 10] {
        let a = angular(&without(60..60 + count));
        let gap = (count + 1) as f64 * step;
        assert!(a.missing_wedges == 0 && a.short_gaps == 1 && (a.covered - PI).abs() < EXACT, "{count}: {a:?}");
        assert!((a.in_short_gaps - gap).abs() < EXACT, "{count}: {a:?}");
        for (view, weight) in a.weights.iter().enumerate() {
            let expected = if (59..61).contains(&view) { (step + gap) / 2.0 } else { step };
            assert!((weight - expected).abs() < EXACT, "{count}, view {view}: {weight}");
        }
        let log = logged(without(60..60 + count));
        assert!(log.starts_with("Warning: 1 short gap(s)") && log.lines().count() == 1, "{count}: {log}");
    }
    // 11 lost views leave a gap of 12 degrees, which is left out beside a short one, which is not.
    let both: Vec<f64> = without(60..71).into_iter().filter(|a| !(100.5 * step..104.5 * step).contains(a)).collect();
    let a = angular(&both);
    assert!(a.missing_wedges == 1 && a.short_gaps == 1 && (a.covered - 168.0 * step).abs() < EXACT, "{a:?}");
    // No more is lost than is beside, to see a gap at all.
    let a = angular(&without(60..62));
    assert!(a.missing_wedges == 0 && a.short_gaps == 0 && (a.covered - PI).abs() < EXACT, "{a:?}");
}

/// With lost views 1.0 stays 1.0: a gap of g = 0.19 shared by its ends is a trapezium, whose error for what views add there is of the
/// order of g^3 / 12 of their second derivative, of the order of 1 for a smooth object in the middle of it: 6e-4 of pi, and as much for the
/// discretisation.
#[test]
fn lost_views_keep_the_scale() {
    for lost in [0, 3, 10] {
        let angles = (0..180).filter(|v| !(60..60 + lost).contains(v)).map(|v| f64::from(v) * PI / 180.0).collect();
        let g = scene(angles, 1.0, 1.0);
        let mut ct = best_plan(&g);
        let p = line_integrals(&ct, &g, &[OBJECT]);
        let volume = reconstruct(&mut ct, &g, &p);
        let seen = mean(&volume, &well_inside(&g, &OBJECT, 4.0));
        assert!((seen - 1.0).abs() < 2e-3, "{lost} lost: {seen}");
    }
}

/// The same angles are told of once, and new ones again.
#[test]
fn a_geometry_is_not_told_of_twice() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let copy = Arc::clone(&log);
    let options = ContextOptions {
        log: Some(Box::new(move |_, text: &str| copy.lock().expect("the log").push(text.to_owned()))),
        ..on_processor()
    };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    let part = |n: usize, rows: usize| Geometry::new(half_turn(60)[..n].to_vec(), 8).with_rows(rows);
    for (g, lines) in [(part(40, 1), 1), (part(40, 1), 1), (part(40, 5), 1), (part(41, 5), 2)] {
        ct.set_geometry(g).expect("a geometry");
        assert_eq!(log.lock().expect("the log").len(), lines, "{:?}", log.lock().expect("the log"));
    }
}

/// Pairs of views that do not quite coincide: their tiny gaps make no wedges of the few others.
#[test]
fn pairs_are_no_wedges() {
    for half in [2, 3, 4, 5, 90] {
        let gap = PI / f64::from(half);
        for apart in [0.12, 0.15, 0.2, 0.24] {
            // Of two pairs one gap each is left out when the largest is: they may as well be two lost blocks.
            if half == 2 {
                continue;
            }
            let angles: Vec<f64> =
                (0..half).flat_map(|v| [f64::from(v), f64::from(v) + apart]).map(|a| a * gap).collect();
            let a = angular(&angles);
            assert!(a.missing_wedges == 0 && (a.covered - PI).abs() < EXACT, "{half}, {apart}: {a:?}");
        }
    }
    // One view of four was taken twice, a little apart.
    let a = angular(&[0.0, 0.1, PI / 4.0, PI / 2.0, 3.0 * PI / 4.0]);
    assert!(a.missing_wedges == 0 && (a.covered - PI).abs() < EXACT, "{a:?}");
    // A full turn whose second half is off, with a wedge.
    let gap = PI / 60.0;
    let a = angular(&(0..40).flat_map(|v| [f64::from(v) * gap, (f64::from(v) + 0.15) * gap]).collect::<Vec<_>>());
    assert!(a.missing_wedges == 1 && (a.covered - 39.15 * gap).abs() < EXACT, "{a:?}");
}

/// The median of the gaps 0.1, 0.1 and pi - 0.2 is 0.1.
#[test]
fn a_wedge_beside_three_views() {
    let a = angular(&[0.0, 0.1, 0.2]);
    assert!(a.missing_wedges == 1 && (a.covered - 0.2).abs() < EXACT, "{a:?}");
}

/// A wedge of a full turn, seen from both sides.
#[test]
fn a_wedge_seen_from_both_sides() {
    let gap = PI / 60.0;
    let half = |from: f64| (0..40).map(move |v| from + f64::from(v) * gap);
    let a = angular(&half(0.0).chain(half(PI)).collect::<Vec<_>>());
    assert!(a.missing_wedges == 1 && a.distinct == 40 && (a.covered - 39.0 * gap).abs() < EXACT, "{a:?}");
}

/// The logs of making a plan.
fn logged(angles: Vec<f64>) -> String {
    let log = Arc::new(Mutex::new(String::new()));
    let copy = Arc::clone(&log);
    let options = ContextOptions {
        log: Some(Box::new(move |level, text| *copy.lock().expect("the log") += &format!("{level:?}: {text}\n"))),
        ..on_processor()
    };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(Geometry::new(angles, 8)).expect("a geometry");
    log.lock().expect("the log").clone()
}

#[test]
fn odd_angles_are_logged() {
    assert_eq!(logged(half_turn(30)), "");
    let wedge = logged(half_turn(30)[..20].to_vec());
    assert!(wedge.starts_with("Warning: 1 missing wedge"), "{wedge}");
    let uneven = logged((0..30).map(|v| PI * (f64::from(v) / 30.0).powi(2)).collect());
    assert!(uneven.starts_with("Info: ") && uneven.contains("unevenly spaced"), "{uneven}");
    assert!(logged(vec![1.0]).starts_with("Info: no angular weights"));
    let degrees = logged((0..180).map(f64::from).collect());
    assert!(degrees.starts_with("Warning: angles run from 0 to 179 rad, 28.5 turns: they may be degrees"), "{degrees}");
    assert_eq!(logged((0..400).map(|v| f64::from(v) * PI / 50.5).collect()), "", "four turns are no mistake");
    // Tilt series, half degrees, several turns.
    let steps = |first: f64, step: f64, count: i32| (0..count).map(|k| first + step * f64::from(k)).collect::<Vec<_>>();
    for angles in [steps(-60.0, 2.0, 61), steps(0.0, 0.5, 90), steps(0.0, 1.0, 100), steps(0.0, 720.0 / 1999.0, 2000)] {
        let (n, last) = (angles.len(), angles[angles.len() - 1]);
        assert!(logged(angles).contains("they may be degrees"), "{n} angles to {last}");
    }
    // Ranges that no turn ends, in even steps; golden ratios of anything else are no degrees.
    for (last, count) in [(100.0, 61), (120.0, 121), (183.0, 181), (200.0, 400), (370.0, 741)] {
        let angles = steps(0.0, last / f64::from(count - 1), count);
        assert!(logged(angles).contains("they may be degrees"), "{count} angles to {last}");
    }
    assert!(logged(steps(0.0, PI / 180.0 * PI / 180.0, 180)).contains("converted to radians twice"));
    // Golden angles reach 90 and 180 rad too.
    for golden in [PI * (5f64.sqrt() - 1.0) / 2.0, PI * (3.0 - 5f64.sqrt())] {
        for count in [38, 47, 94, 150, 186] {
            assert!(!logged(steps(0.0, golden, count)).contains("degrees"), "{count} steps of {golden}");
        }
    }
}

/// What needs weights says why there are none and writes nothing; what needs none works.
#[test]
fn too_few_angles() {
    for (angles, status) in
        [(vec![0.4], Status::TooFewViews), (vec![0.4, 0.4 + PI, 0.4 - 3.0 * PI], Status::EqualAngles)]
    {
        let g = Geometry::new(angles, 24);
        let mut ct = best_plan(&g);
        let projections = random(projection_len(&g), 1);
        let mut volume = vec![7.0; volume_len(&g)];
        let (p, shape) = (Array::new(&projections, g.projection_shape()).expect("projections"), g.volume_shape());
        let out = ArrayMut::new(&mut volume, shape).expect("a volume");
        assert_eq!(ct.reconstruct(p, out).expect_err("no weights").status, status);
        ct.set_options(Options { weighted_backprojection: true, ..Options::default() }).expect("options");
        let out = ArrayMut::new(&mut volume, shape).expect("a volume");
        assert_eq!(ct.backproject(p, out).expect_err("no weights").status, status);
        assert!(volume.iter().all(|v| *v == 7.0), "written in spite of an error");
        assert_eq!(ct.info().expect("info").angular, None);
        assert_eq!(ct.angular_weights().expect_err("no weights").status, status);
        ct.set_options(Options::default()).expect("options");
        let seen = to_volume(&mut ct, &g, Ct::backproject, &projections);
        assert!(error(&seen, &backproject(&g, Default::default(), None, &projections)) < 1e-5);
        to_volume(&mut ct, &g, Ct::adjoint, &projections);
    }
}

/// The caller's weights are used as they are, by what is weighted, and hold until the next geometry.
#[test]
fn weights_of_the_callers_own() {
    let g = Geometry { nx: 20, ny: 21, ..Geometry::new(half_turn(15), 24).with_rows(2) };
    let projections = random(projection_len(&g), 7);
    let own: Vec<f64> = (0..15).map(|v| if v % 4 == 3 { 0.0 } else { 0.01 * f64::from(v) }).collect();
    let mut ct = best_plan(&g);
    let usual = ct.angular_weights().expect("weights").to_vec();
    let plain = Options { filter: Filter::None, weighted_backprojection: true, ..Options::default() };
    ct.set_options(plain).expect("options");
    let near = |ct: &mut Ct, weights: &[f64]| {
        let expected = backproject(&g, Default::default(), Some(weights), &projections);
        for run in [Ct::reconstruct as Operator, Ct::backproject] {
            assert!(error(&to_volume(ct, &g, run, &projections), &expected) < 1e-5);
        }
    };
    ct.set_angular_weights(Some(&own)).expect("weights");
    assert_eq!(ct.angular_weights().expect("weights"), own);
    near(&mut ct, &own);
    // What the angles are does not change; what they are given does.
    let info = ct.info().expect("info");
    assert!((info.covered - own.iter().sum::<f64>()).abs() < EXACT);
    assert!((info.angular.expect("angles").covered - PI).abs() < EXACT);
    // Options and flat fields leave them alone.
    ct.set_options(Options { filter: Filter::None, weighted_backprojection: true, ..Options::default() })
        .expect("options");
    ct.set_flat_field(None, None).expect("no flat field");
    near(&mut ct, &own);
    ct.set_angular_weights(None).expect("weights");
    near(&mut ct, &usual);
    ct.set_angular_weights(Some(&own)).expect("weights");
    ct.set_geometry(g.clone()).expect("a geometry");
    assert!(ct.angular_weights().expect("weights") == usual && (ct.info().expect("info").covered - PI).abs() < EXACT);
}

/// With weights, one view and equal angles are as good as others.
#[test]
fn one_view_can_be_weighted() {
    for angles in [vec![0.4], vec![0.4, 0.4 + PI]] {
        let g = Geometry::new(angles, 24);
        let mut ct = best_plan(&g);
        let projections = random(projection_len(&g), 1);
        ct.set_options(Options { filter: Filter::None, ..Options::default() }).expect("options");
        assert_eq!(ct.info().expect("info").covered, 0.0);
        let own: Vec<f64> = (0..g.views()).map(|v| 1.0 + v as f64).collect();
        ct.set_angular_weights(Some(&own)).expect("weights");
        let seen = to_volume(&mut ct, &g, Ct::reconstruct, &projections);
        assert!(error(&seen, &backproject(&g, Default::default(), Some(&own), &projections)) < 1e-5);
        let info = ct.info().expect("info");
        assert!(info.angular.is_none() && info.covered == own.iter().sum::<f64>());
        ct.memory().expect("memory");
    }
}

/// In slabs that are scans of their own, too.
#[test]
fn streams_take_the_callers_weights() {
    let g = Geometry::new(half_turn(15), 24).with_rows(5);
    let mut ct = best_plan(&g);
    let own: Vec<f64> = (0..15).map(|v| 0.02 * f64::from(v)).collect();
    ct.set_angular_weights(Some(&own)).expect("weights");
    let expected = to_volume(&mut ct, &g, Ct::reconstruct, &vec![1.0; projection_len(&g)]);
    let mut seen = Vec::new();
    ct.reconstruct_stream(
        DType::F32,
        |slab| {
            // SAFETY: the slab's array has as many elements.
            unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()).fill(1.0) };
            Ok(())
        },
        |slab| {
            // SAFETY: as above.
            seen.extend(unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.shape.iter().product()) });
            Ok(())
        },
    )
    .expect("success");
    assert!(error(&seen, &expected.iter().map(|v| f64::from(*v)).collect::<Vec<_>>()) < 1e-5);
}

#[test]
fn weights_that_are_none() {
    let g = Geometry::new(half_turn(5), 24);
    let mut ct = best_plan(&g);
    let usual = ct.angular_weights().expect("weights").to_vec();
    for (weights, status, word) in [
        (vec![1.0; 4], Status::OutOfRange, "weight_count is 4"),
        (vec![0.1, 0.1, f64::NAN, 0.1, 0.1], Status::NotFiniteParameter, "weights[2] is NaN"),
        (vec![0.1, f64::INFINITY, 0.1, 0.1, 0.1], Status::NotFiniteParameter, "weights[1] is inf"),
        (vec![0.1, 0.1, 0.1, 0.1, -1e-9], Status::OutOfRange, "weights[4] is -0.000000001"),
        (vec![0.0; 5], Status::OutOfRange, "sum of weights is 0"),
        (vec![1e-300; 5], Status::OutOfRange, "sum of weights is 0.000"),
        (vec![1e38; 5], Status::OutOfRange, "sum of weights is 5000"),
    ] {
        let e = ct.set_angular_weights(Some(&weights)).expect_err(word);
        assert!(e.status == status && e.message.contains(word), "{word}: {}", e.message);
        assert_eq!(ct.angular_weights().expect("weights"), usual);
    }
    let mut none = Ct::new(Arc::new(Context::new(on_processor()).expect("a context")));
    assert_eq!(none.set_angular_weights(None).expect_err("no geometry").status, Status::NotConfigured);
}

/// Zero padding needs 2 bins - 1 samples; the transform takes lengths with prime factors of 5 at most.
#[test]
fn what_the_plan_decided() {
    for bins in [2, 3, 50, 97, 1000, 1013] {
        let g = Geometry::new(half_turn(10), bins).with_rows(40);
        let Info { padded_bins, slab_slices, replaced, .. } = best_plan(&g).info().expect("info");
        assert!(padded_bins >= 2 * bins - 1 && padded_bins < 3 * bins + 2, "{bins} bins are padded to {padded_bins}");
        let mut rest = padded_bins;
        for prime in [2, 3, 5] {
            while rest % prime == 0 {
                rest /= prime;
            }
        }
        assert_eq!(rest, 1, "{bins} bins are padded to {padded_bins}");
        assert!((1..=40).contains(&slab_slices) && replaced == 0);
    }
    let none = Ct::new(Arc::new(Context::new(on_processor()).expect("a context")));
    assert_eq!(none.info().expect_err("no geometry").status, Status::NotConfigured);
}

//! Counts and factors in any unit: the same image in that unit, or an error that says what to do; never what is not finite, nor zeros of small numbers.

use super::device;
use super::lines::{Events, Scanner, listed};
use super::scan::*;
use super::suite::{Counts, counts};
use isocenter::error::Status;
use isocenter::ffi::pet::*;
use std::fmt::Debug;
use std::ptr::null;

const SHAPE: [usize; 3] = [9, 23, 21];
const VIEWS: [[f64; 2]; 4] = [[0.0, 0.0], [0.8, 0.1], [1.6, 0.0], [2.4, -0.1]];

const SVRG: u32 = 4;
const RELATIVE_DIFFERENCE: u32 = 0;
const QUADRATIC: u32 = 1;

/// Powers of two of units: about 1e-18 to 1e18, which make images, and 1e-29 and 1e29, which are refused.
const UNITS: [i32; 8] = [-95, -60, -40, -20, 20, 40, 60, 95];
const ACCEPTED: i32 = 60;

/// Powers of two take no digit away: images are the same to the bit, but for numbers that leave f32's range at 2^-126, which are far below an image's; some
/// roundings for what sums of those may make.
const CLOSE: f64 = 4.0 * f32::EPSILON as f64;

#[derive(Clone, Copy, Debug)]
struct Case {
    algorithm: u32,
    /// A potential.
    prior: Option<u32>,
    projector: u32,
    /// Factors and additive counts.
    corrected: bool,
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for algorithm in 0..=SVRG {
        for projector in [1, 2] {
            for corrected in [false, true] {
                all.push(Case { algorithm, prior: None, projector, corrected });
            }
        }
    }
    for algorithm in [3, SVRG] {
        for potential in [RELATIVE_DIFFERENCE, QUADRATIC] {
            all.push(Case { algorithm, prior: Some(potential), projector: 1, corrected: true });
        }
    }
    all
}

fn set_prior(plan: &Plan, prior: Option<isoc_pet_prior>) {
    let given = prior.as_ref().map_or(null(), std::ptr::from_ref);
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_set_prior(plan.pet, given, null(), null()) });
}

impl Case {
    /// The options, for an image in a unit, of counts in a unit.
    fn set(&self, plan: &Plan, [image, counts]: [f64; 2]) {
        let subsets = if [0, 2].contains(&self.algorithm) { 0 } else { 2 };
        let (algorithm, projector) = (self.algorithm, self.projector);
        plan.set_options(&isoc_pet_options { algorithm, projector, subsets, iterations: 6, ..sized() });
        // A prior's value has the unit of counts.
        let prior = self.prior.map(|potential| match potential {
            RELATIVE_DIFFERENCE => isoc_pet_prior {
                potential,
                strength: 0.5 * counts / image,
                gamma: 2.0,
                epsilon: 0.1 * image,
                ..sized()
            },
            _ => isoc_pet_prior { potential, strength: 0.05 * counts / (image * image), edge: 3.0 * image, ..sized() },
        });
        set_prior(plan, prior);
    }

    fn image(&self, plan: &Plan, of: &Counts) -> (Status, Vec<f32>) {
        let corrections = self.corrected.then_some((&of.factors[..], &of.additive[..]));
        plan.try_reconstruct(
            &of.measured,
            corrections.map(|c| c.0),
            corrections.map(|c| c.1),
            &vec![0.0; plan.voxels()],
        )
    }
}

fn times(values: &[f32], unit: f64) -> Vec<f32> {
    values.iter().map(|v| (f64::from(*v) * unit) as f32).collect()
}

/// What all images must be; false where there is none.
fn check_finite((status, image): &(Status, Vec<f32>), history: &[(f64, u64)], what: &dyn Debug) -> bool {
    if *status == Status::Ok {
        assert!(image.iter().all(|v| v.is_finite() && *v >= 0.0), "{what:?}: not finite");
        assert!(history.iter().all(|(likelihood, _)| likelihood.is_finite()), "{what:?}: {history:?}");
        return true;
    }
    assert!(*status == Status::OutOfRange && said().contains("a power of ten"), "{what:?}: {status:?}, {}", said());
    false
}

/// Compares an image in a unit with that in none.
fn check_same(image: &[f32], unit: f64, expected: &[f32], what: &dyn Debug) {
    let largest = expected.iter().fold(0.0f64, |m, v| m.max(f64::from(*v)));
    let apart = image.iter().zip(expected).map(|(a, b)| (f64::from(*a) / unit - f64::from(*b)).abs());
    let worst = apart.fold(0.0, f64::max);
    assert!(largest > 0.0 && worst < CLOSE * largest, "{what:?}: {worst} of {largest}");
}

fn plan(device: u32) -> (Plan, Counts) {
    let plan = Plan::new(device, SHAPE, [4.0, 4.4, 4.2], &VIEWS);
    plan.set_response(&widening(response(110.0, 9.0, 8.0), &[[0.0, 8.0], [60.0, 12.0]]));
    let of = counts(&plan);
    (plan, of)
}

#[test]
fn any_unit_of_counts_makes_the_same_image() {
    let Some(device) = device() else { return };
    let (plan, of) = plan(device);
    for case in cases() {
        case.set(&plan, [1.0, 1.0]);
        let (status, expected) = case.image(&plan, &of);
        ok(status);
        for exponent in UNITS {
            let unit = 2f64.powi(exponent);
            case.set(&plan, [unit, unit]);
            let (measured, additive) = (times(&of.measured, unit), times(&of.additive, unit));
            let own = Counts { measured, factors: of.factors.clone(), additive };
            let found = case.image(&plan, &own);
            let what = (case, exponent);
            if check_finite(&found, &plan.history(), &what) {
                check_same(&found.1, unit, &expected, &what);
            } else {
                assert!(exponent.abs() > ACCEPTED, "{what:?}: {}", said());
            }
        }
    }
}

#[test]
fn any_unit_of_factors_makes_the_same_image() {
    let Some(device) = device() else { return };
    let (plan, of) = plan(device);
    for case in cases().into_iter().filter(|case| case.corrected) {
        case.set(&plan, [1.0, 1.0]);
        let (status, expected) = case.image(&plan, &of);
        ok(status);
        // Strengths are 1e-30 to 1e30, and those of squares have the unit's.
        for exponent in UNITS.into_iter().filter(|e| case.prior.is_none() || e.abs() <= 40) {
            let unit = 2f64.powi(exponent);
            case.set(&plan, [1.0 / unit, 1.0]);
            let own = Counts {
                measured: of.measured.clone(),
                factors: times(&of.factors, unit),
                additive: of.additive.clone(),
            };
            let found = case.image(&plan, &own);
            let what = (case, exponent);
            if check_finite(&found, &plan.history(), &what) {
                check_same(&found.1, 1.0 / unit, &expected, &what);
            } else {
                assert!(exponent.abs() > ACCEPTED, "{what:?}: {}", said());
            }
        }
    }
}

/// Factors and sensitivity of events along lines in any unit.
#[test]
fn any_unit_of_line_factors_makes_the_same_image() {
    let Some(device) = device() else { return };
    let scanner = Scanner::new(&on(device), [0.0; 2], &[]);
    let plan = &scanner.plan;
    plan.set_response(&response(300.0, 8.0, 8.0));
    const EVENTS: usize = 4000;
    let events: Events = scanner.events(EVENTS, 5);
    let (pairs, of_times) = (events.pairs(), tensor(&events.times, &[EVENTS]));
    let list = listed(&pairs, Some(&of_times));
    let factors: Vec<f32> = noise(EVENTS, 6).iter().map(|v| 0.5 + v).collect();
    let additive: Vec<f32> = noise(EVENTS, 7).iter().map(|v| 0.01 * v).collect();
    let sensitivity: Vec<f32> = noise(plan.voxels(), 8).iter().map(|v| 300.0 * (0.5 + v)).collect();
    for (algorithm, prior) in [(1, false), (2, false), (3, false), (3, true), (SVRG, false), (SVRG, true)] {
        let potential = prior.then_some(RELATIVE_DIFFERENCE);
        let case = Case { algorithm, prior: potential, projector: 0, corrected: true };
        let at = |unit: f64| {
            case.set(plan, [1.0 / unit, 1.0]);
            let (factors, seen) = (times(&factors, unit), times(&sensitivity, unit));
            let start = vec![0.0; plan.voxels()];
            plan.try_reconstruct_lines((&list, EVENTS), Some(&factors), Some(&additive), &seen, &start)
        };
        let (status, expected) = at(1.0);
        ok(status);
        for exponent in UNITS.into_iter() {
            let (unit, what) = (2f64.powi(exponent), (case, exponent));
            let found = at(unit);
            if check_finite(&found, &plan.history(), &what) {
                check_same(&found.1, 1.0 / unit, &expected, &what);
            } else {
                assert!(exponent.abs() >= ACCEPTED, "{what:?}: {}", said());
            }
        }
    }
}

/// Weights of a prior in any unit, with strengths in its square, and warm starts in the unit of counts.
#[test]
fn any_unit_of_prior_weights_and_starts_makes_the_same_image() {
    let Some(device) = device() else { return };
    let (plan, of) = plan(device);
    let kappa: Vec<f32> = noise(plan.voxels(), 9).iter().map(|v| 0.5 + v).collect();
    let begin: Vec<f32> = noise(plan.voxels(), 10).iter().map(|v| 20.0 * (0.5 + v)).collect();
    for algorithm in [3, SVRG] {
        let run = |weights: f64, unit: f64| {
            let (iterations, warm_start) = (4, 1);
            plan.set_options(&isoc_pet_options { algorithm, subsets: 2, iterations, warm_start, ..sized() });
            let strength = 0.5 / (weights * weights);
            let own = times(&kappa, weights);
            let own = tensor(&own, &SHAPE);
            // SAFETY: valid pointers.
            ok(unsafe { isoc_pet_set_prior(plan.pet, &isoc_pet_prior { strength, ..sized() }, &own, null()) });
            let (measured, additive) = (times(&of.measured, unit), times(&of.additive, unit));
            let start = times(&begin, unit);
            plan.try_reconstruct(&measured, Some(&of.factors), Some(&additive), &start)
        };
        let (status, expected) = run(1.0, 1.0);
        ok(status);
        for exponent in [-45, -20, 20, 45] {
            let unit = 2f64.powi(exponent);
            for (weights, counts) in [(unit, 1.0), (1.0, unit)] {
                let found = run(weights, counts);
                assert!(check_finite(&found, &plan.history(), &(algorithm, exponent)), "{}", said());
                check_same(&found.1, counts, &expected, &(algorithm, exponent));
            }
        }
    }
}

/// Counts near the largest numbers, one that is far larger than the rest, additive ones that are, and none: what is not refused is finite.
#[test]
fn images_are_finite_or_refused() {
    let Some(device) = device() else { return };
    let (plan, of) = plan(device);
    let same = || Counts { measured: of.measured.clone(), factors: of.factors.clone(), additive: of.additive.clone() };
    let busy = of.measured.iter().position(|v| *v > 5.0).expect("counts");
    type Change = fn(&mut Counts, usize);
    let changes: [(&str, Change); 12] = [
        ("the largest", |c, _| c.measured = times(&c.measured, 1e36)),
        ("the smallest", |c, _| c.measured = times(&c.measured, 1e-40)),
        ("one of 1e15", |c, k| c.measured[k] = 1e15),
        ("one of 1e23", |c, k| c.measured[k] = 1e23),
        ("one of 1e30", |c, k| c.measured[k] = 1e30),
        ("one of 1e38", |c, k| c.measured[k] = 1e38),
        ("one of 1e-30", |c, k| c.measured[k] = 1e-30),
        ("a factor of 1e-30", |c, k| c.factors[k] = 1e-30),
        ("a factor of 1e30", |c, k| c.factors[k] = 1e30),
        ("additive of 1e30", |c, k| c.additive[k] = 1e30),
        ("additive of 1e-35", |c, k| {
            (c.additive[k], c.factors[k]) = (1e-35, 0.0);
        }),
        ("zeros", |c, _| c.measured.fill(0.0)),
    ];
    for case in cases() {
        case.set(&plan, [1.0, 1.0]);
        for (what, change) in changes {
            let mut own = same();
            change(&mut own, busy);
            let found = case.image(&plan, &own);
            let all = found.0 == Status::Ok;
            assert_eq!(check_finite(&found, &plan.history(), &(case, what)), all);
            if what == "zeros" {
                ok(found.0);
                assert!(found.1.iter().all(|v| *v < 1e-3), "{case:?}");
            }
        }
    }
}

//! Sums over stacks at every level against sums in f64, what they tell of their progress, and what they say of their memory.

use super::*;
use crate::reach::Unit;
use crate::transform::Method;
use isocenter_nufft::Scalar;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::TAU;

type C64 = Complex<f64>;

const GRID: [usize; 3] = [6, 12, 10];

fn fourier(tolerance: f64) -> Fourier {
    Fourier { method: Method::Fast, tolerance, upsampling: None, hardware_sines: false }
}

/// Spokes in planes at kz = (p - 2.5) / 6, those of every `turned`th alike, plane by plane or spoke by spoke.
fn stars(turned: usize, by_spokes: bool) -> Trajectory {
    const SPOKES: usize = 7;
    let at = |m: usize| {
        let (plane, spoke) = if by_spokes { (m / 12 % 6, m / 72) } else { (m / (12 * SPOKES), m / 12 % SPOKES) };
        let (sin, cos) = (2.4 * spoke as f64 + 0.7 * (plane % turned) as f64).sin_cos();
        let r = ((m % 12) as f64 - 6.0) / 12.0;
        [r * cos, r * sin, (plane as f64 - 2.5) / 6.0]
    };
    let k: Vec<f64> = (0..6 * 12 * SPOKES).flat_map(at).collect();
    Trajectory::new(&k, Unit::CyclesPerVoxel, GRID, 3).expect("a trajectory")
}

fn sums<T: Scalar>(level: Level, tolerance: f64, k: &Trajectory) -> StackSums<T> {
    let mut sums = StackSums::new(&fourier(tolerance), level, GRID, k).expect("memory").expect("a stack");
    sums.prepare(k).expect("memory");
    sums
}

fn numbers<T: Scalar>(count: usize, seed: u64) -> Vec<Complex<T>> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut part = || T::of(f64::from(rng.random_range(-1.0f32..1.0)));
    (0..count).map(|_| Complex::new(part(), part())).collect()
}

/// Term by term.
fn truth<T: Scalar>(k: &Trajectory, from: &[Complex<T>], forward: bool) -> Vec<C64> {
    let [nz, ny, nx] = GRID;
    let mut out = vec![C64::default(); if forward { k.samples() } else { nz * ny * nx }];
    let [x, y, z] = k.axes().expect("samples on the host");
    for m in 0..k.samples() {
        let k = [z[m], y[m], x[m]];
        for j in 0..nz * ny * nx {
            let at = [(j / nx / ny, nz), (j / nx % ny, ny), (j % nx, nx)];
            let turns: f64 = k.iter().zip(at).map(|(k, (j, n))| k * (j as f64 - (n / 2) as f64)).sum();
            let (to, v, sign) = if forward { (m, from[j], -1.0) } else { (j, from[m], 1.0) };
            out[to] += C64::new(v.re.wide(), v.im.wide()) * C64::cis(sign * TAU * turns);
        }
    }
    out
}

/// Relative l2 distance.
fn distance<T: Scalar>(seen: &[Complex<T>], expected: &[C64]) -> f64 {
    let wrong = seen.iter().zip(expected).map(|(a, b)| (C64::new(a.re.wide(), a.im.wide()) - b).norm_sqr());
    (wrong.sum::<f64>() / expected.iter().map(C64::norm_sqr).sum::<f64>()).sqrt()
}

fn check<T: Scalar>(tolerance: f64) {
    for (turned, by_spokes) in [(1, false), (1, true), (2, true), (6, false)] {
        let k = stars(turned, by_spokes);
        let (image, samples) = (numbers::<T>(GRID.iter().product(), 1), numbers::<T>(k.samples(), 2));
        let (expected_samples, expected_image) = (truth(&k, &image, true), truth(&k, &samples, false));
        for level in Level::available() {
            let mut sums = sums::<T>(level, tolerance, &k);
            // Whatever was there is overwritten.
            let rubbish = Complex::new(T::of(f64::NAN), T::of(7.0));
            let (mut to_samples, mut to_image) = (vec![rubbish; samples.len()], vec![rubbish; image.len()]);
            for _ in 0..2 {
                sums.forward(&image, &mut to_samples, &mut |_| Ok(())).expect("forward");
                sums.adjoint(&samples, &mut to_image, &mut |_| Ok(())).expect("adjoint");
                let errors = [distance(&to_samples, &expected_samples), distance(&to_image, &expected_image)];
                assert!(errors.iter().all(|e| *e <= tolerance), "{level:?}, {turned}, {by_spokes}: {errors:?}");
            }
        }
    }
}

#[test]
fn sums_are_right_at_every_level() {
    check::<f32>(1e-5);
    check::<f64>(1e-10);
}

/// Planes that are alike go side by side where they are on lines and in f32; others one by one.
#[test]
fn planes_that_are_alike_go_together() {
    let of = |turned| sums::<f32>(Level::detect(), 1e-5, &stars(turned, false));
    for (turned, alike) in [(1, 6), (2, 3), (6, 1)] {
        let sums = of(turned);
        assert!(sums.patterns.len() == turned && sums.patterns.iter().all(|p| p.planes.len() == alike));
        assert!(sums.patterns.iter().all(|p| matches!(p.points, Points::Lines(_)) == (alike > 1)), "{turned}");
    }
    let double = sums::<f64>(Level::detect(), 1e-5, &stars(1, false));
    assert!(double.patterns.iter().all(|p| matches!(p.points, Points::Anywhere(_))));
    // Each time with half as many side by side, down to one.
    let (mut sums, mut memory) = (of(1), u64::MAX);
    while sums.memory() < memory {
        memory = sums.memory();
        assert_eq!(sums.take_less(), sums.memory() < memory);
    }
    assert!(!of(6).take_less());
}

/// The part done only grows, and an error stops the work, after which it goes on as before.
#[test]
fn progress_is_told_and_can_stop() {
    let k = stars(6, true);
    let mut sums = sums::<f32>(Level::detect(), 1e-5, &k);
    let (mut image, mut samples) = (numbers(GRID.iter().product(), 1), numbers(k.samples(), 2));
    let mut told = Vec::new();
    sums.forward(&image, &mut samples, &mut |part| {
        told.push(part);
        Ok(())
    })
    .expect("forward");
    assert!(told.len() > 6 && told.is_sorted() && told.iter().all(|p| (0.0..=1.0).contains(p)), "{told:?}");
    let (expected, mut again) = (samples.clone(), samples.clone());
    for last in [0.0, 0.3, 0.8] {
        let stop = &mut |part: f64| if part >= last { fail!(Cancelled, "enough") } else { Ok(()) };
        assert!(sums.forward(&image, &mut samples, stop).is_err(), "{last}");
        assert!(sums.adjoint(&again, &mut image.clone(), stop).is_err(), "{last}");
    }
    sums.forward(&image, &mut again, &mut |_| Ok(())).expect("forward");
    assert_eq!(again, expected);
    sums.adjoint(&again, &mut image, &mut |_| Ok(())).expect("adjoint");
}

/// Images of all planes, the order of samples, and samples in it unless that is the caller's.
#[test]
fn memory_counts_what_is_held() {
    let [_, ny, nx] = GRID;
    let of = |by_spokes| sums::<f64>(Level::detect(), 1e-9, &stars(1, by_spokes));
    let (in_order, others) = (of(false), of(true));
    let samples = in_order.stack.order().len() as u64;
    assert!(in_order.work.as_ref().is_some_and(|w| w.samples.is_none()));
    assert_eq!(others.memory() - in_order.memory(), 16 * samples);
    let own = in_order.memory() - in_order.plan.memory(samples as usize / 6);
    assert!(own > 4 * samples + 16 * (6 * ny * nx) as u64, "{own}");
}

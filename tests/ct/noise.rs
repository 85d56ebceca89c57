//! The noise of projections, and the weight of total variation that it asks for.

use crate::common::scene::{half_turn, line_integrals, pixel_means, reconstruct};
use crate::common::{normal, on_processor, to_projections};
use isocenter::array::{Array, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::ct::{Algorithm, Ct, Geometry, Iterative, Options, Order, Phase, PhaseMethod, Suggested};
use isocenter::error::{Result, Status};
use isocenter::phantom::Ellipse;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::sync::Arc;

const BINS: usize = 320;
/// Line integrals up to 2.
const BODY: [Ellipse; 1] = [Ellipse { value: 0.01, centre: [6.0, -4.0], semi: [100.0, 80.0], angle: 0.7 }];

fn plan_with(options: ContextOptions, g: &Geometry) -> Ct {
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct
}

fn plan(g: &Geometry) -> Ct {
    plan_with(on_processor(), g)
}

fn scan(views: usize, rows: usize) -> Geometry {
    Geometry::new(half_turn(views), BINS).with_rows(rows)
}

fn body(g: &Geometry) -> Vec<f32> {
    line_integrals(&plan(g), g, &BODY)
}

/// Normal noise whose deviation depends on the bin.
fn add_noise(p: &mut [f32], bins: usize, deviation: impl Fn(usize) -> f64) {
    let mut rng = SmallRng::seed_from_u64(5);
    p.iter_mut().enumerate().for_each(|(k, v)| *v += (deviation(k % bins) * normal(&mut rng)) as f32);
}

fn ask(ct: &Ct, p: &[f32]) -> Result<Suggested> {
    ct.suggest_regularisation(Array::new(p, ct.geometry()?.projection_shape())?)
}

fn suggested(g: &Geometry, p: &[f32]) -> Suggested {
    ask(&plan(g), p).expect("a weight")
}

/// Five standard errors, as a part, of the noise that so many line integrals tell: the median size of n independent numbers has one of
/// 1 / (2 sqrt(n) f(q)) for the density f = 0.636 at the median q = 0.674, which is 1.17 / sqrt(n) of it. Third differences have
/// correlations of -0.75, 0.3 and -0.05 with their neighbours, and their sizes at most the squares of these: sqrt(2.3) times as much.
fn chance(values: usize) -> f64 {
    5.0 * 1.8 / (values as f64).sqrt()
}

/// What edges add at most, as a part. An edge of [`BODY`] spoils 7 differences of a row: the 4 that it lies in, and 3 until what is left
/// of its root is half of the noise here. If these are larger than all others, a block of 79 differences has its median where 0.774 of the
/// normal distribution are below, at 1.12 times the right one; the variance is 1.25 times as large in 2 blocks of 4.
const EDGES: f64 = 0.07;

fn check(name: &str, seen: f64, truth: f64, [below, above]: [f64; 2]) {
    let part = seen / truth;
    assert!((1.0 - below..=1.0 + above).contains(&part), "{name}: {seen:.5} of {truth:.5}, {part:.4}");
}

#[test]
fn noise_of_a_known_deviation() {
    for (views, rows, deviation) in [(90, 1, 0.01), (40, 5, 0.03), (1, 1, 0.02), (400, 40, 0.01)] {
        let mut g = scan(views, rows);
        g.pixel_size = 0.5;
        let mut p = body(&g);
        add_noise(&mut p, BINS, |_| deviation);
        let seen = suggested(&g, &p);
        // Of many rows 16 are looked at.
        let values = views * rows.min(16) * BINS;
        let name = format!("{views} views, {rows} rows");
        check(&name, seen.noise, deviation, [chance(values), chance(values) + EDGES]);
        assert_eq!(seen.weight, 0.5 * seen.noise * (views as f64).sqrt() * 0.5, "{name}");
    }
}

/// Noise of 0.3 % can hardly be seen; a slope of an ellipse has third differences far below that.
#[test]
fn without_noise() {
    let g = scan(90, 2);
    let p = body(&g);
    let seen = suggested(&g, &p);
    assert!(seen.noise < 1e-2 * 0.003 * 2.0, "{seen:?}");
    assert_eq!(suggested(&g, &vec![0.0; p.len()]), Suggested { weight: 0.0, noise: 0.0 });
}

/// The mean variance, of 0.01 at one end to 0.05 at the other. Within a block the median of the mixture is 1 % below the deviation; over all
/// of the row it is 18 %.
#[test]
fn noise_that_changes_along_the_row() {
    let g = scan(90, 2);
    let mut p = body(&g);
    let deviation = |bin: usize| 0.01 + 0.04 * bin as f64 / (BINS - 1) as f64;
    add_noise(&mut p, BINS, deviation);
    let truth = ((0..BINS).map(|bin| deviation(bin).powi(2)).sum::<f64>() / BINS as f64).sqrt();
    let values = p.len();
    check("a slope", suggested(&g, &p).noise, truth, [chance(values) + 0.01, chance(values) + EDGES]);
}

/// Counts of N photons have a deviation of sqrt(N), and their logarithms one of 1 / sqrt(N); rounding adds nothing to it.
#[test]
fn counts_with_flats() {
    let (g, beam) = (scan(60, 2), |bin: usize| 6000.0 + 2000.0 * (bin as f64 * 0.02).sin());
    let expected: Vec<f64> = body(&g).iter().enumerate().map(|(k, v)| beam(k % BINS) * f64::from(-v).exp()).collect();
    let mut rng = SmallRng::seed_from_u64(8);
    let counts: Vec<u16> = expected.iter().map(|n| (100.0 + n + n.sqrt() * normal(&mut rng)).round() as u16).collect();
    let flats: Vec<u16> = (0..2 * BINS).map(|k| (100.0 + beam(k % BINS)).round() as u16).collect();
    let (darks, frame) = (vec![100u16; 2 * BINS], [1, 2, BINS]);
    let mut ct = plan(&g);
    let array = Array::of(&counts, g.projection_shape()).expect("counts");
    let e = ct.suggest_regularisation(array).expect_err("no flats");
    assert_eq!(e.status, Status::FlatField, "{e}");
    ct.set_flat_field(Some(Array::of(&flats, frame).expect("flats")), Some(Array::of(&darks, frame).expect("darks")))
        .expect("a flat field");
    let seen = ct.suggest_regularisation(array).expect("a weight");
    let truth = (expected.iter().map(|n| 1.0 / n).sum::<f64>() / expected.len() as f64).sqrt();
    // Within a block the deviation changes by up to 1.8 times, by which the median of the mixture is 4 % too small.
    check("counts", seen.noise, truth, [chance(counts.len()) + 0.04, chance(counts.len()) + EDGES]);
}

/// Sinograms, and every other bin of a wider array, have the same bits.
#[test]
fn orders_and_strides() {
    let g = scan(30, 3);
    let mut p = body(&g);
    add_noise(&mut p, BINS, |_| 0.02);
    let seen = suggested(&g, &p);
    let [views, rows, bins] = g.projection_shape();
    let turned: Vec<f32> =
        (0..rows * views).flat_map(|k| p[(k % views * rows + k / views) * bins..][..bins].to_vec()).collect();
    assert_eq!(suggested(&Geometry { order: Order::Sinograms, ..g.clone() }, &turned), seen);
    let wide: Vec<f32> = p.iter().flat_map(|v| [*v, f32::NAN]).collect();
    let strides = [(2 * rows * bins) as isize, 2 * bins as isize, 2];
    // SAFETY: every other element of a vector that outlives the array.
    let array = unsafe { Array::from_raw(wide.as_ptr().cast(), DType::F32, [views, rows, bins], strides, None) };
    assert_eq!(plan(&g).suggest_regularisation(array).expect("a weight"), seen);
}

/// NaN is an error, or 0; what stands out hardly moves a median.
#[test]
fn missing_values() {
    let g = scan(60, 1);
    let mut p = body(&g);
    add_noise(&mut p, BINS, |_| 0.02);
    let seen = suggested(&g, &p).noise;
    // In every fourth view one bin, which 4 differences of the 79 of a block have: 1.3 % of them, one block in 4.
    p.chunks_exact_mut(BINS).step_by(4).for_each(|row| row[200] = f32::NAN);
    let e = ask(&plan(&g), &p).expect_err("NaN");
    assert!(e.status == Status::NotFiniteData && e.message.contains("projections[0, 0, 200] is NaN"), "{e}");
    let lenient = plan_with(ContextOptions { nan_policy: NanPolicy::Replace, ..on_processor() }, &g);
    check("replaced", ask(&lenient, &p).expect("a weight").noise, seen, [0.0, 0.01]);
}

/// Fewer rows under a small cap, and none under one that holds no row.
#[test]
fn memory_cap() {
    let g = scan(90, 4);
    let mut p = body(&g);
    add_noise(&mut p, BINS, |_| 0.02);
    let capped = |memory_cap: u64| ask(&plan_with(ContextOptions { memory_cap, ..on_processor() }, &g), &p);
    // A row takes 2560 bytes of the cap.
    let values = 40 * BINS;
    check("40 rows", capped(40 * 2560).expect("a weight").noise, 0.02, [chance(values), chance(values) + EDGES]);
    let e = capped(2559).expect_err("no room");
    assert!(e.status == Status::MemoryCap && e.message.contains("memory_cap is 2559"), "{e}");
}

#[test]
fn what_cannot_be_told() {
    let refused = |ct: &Ct, p: &[f32], status, words: &str| {
        let e = ask(ct, p).expect_err("no weight");
        assert!(e.status == status && e.message.contains(words), "{e}");
    };
    let narrow = Geometry::new(half_turn(4), 15);
    refused(
        &plan(&narrow),
        &[0.0; 60],
        Status::OutOfRange,
        "geometry.bins is 15; the estimate of the noise needs at least 16",
    );
    let enough = Geometry::new(half_turn(4), 16);
    ask(&plan(&enough), &[0.0; 64]).expect("enough bins");
    let mut ct = plan(&enough);
    let phase = Phase { method: PhaseMethod::Paganin, fresnel: 0.4, delta_beta: 5.0, alpha: 0.1, unsharp: [0.0; 2] };
    ct.set_phase(Some(phase)).expect("phase");
    refused(&ct, &[0.0; 64], Status::OutOfRange, "isoc_ct_set_phase is set");
    let bare = Ct::new(Arc::new(Context::new(on_processor()).expect("a context")));
    let e =
        bare.suggest_regularisation(Array::new(&[0.0; 64], [4, 1, 16]).expect("projections")).expect_err("no geometry");
    assert_eq!(e.status, Status::NotConfigured, "{e}");
}

/// With an eighth of the weight noise is left, with 8 times of it parts are lost: both are farther from the truth.
#[test]
fn a_weight_that_suits() {
    let mut g = Geometry::new(half_turn(45), 96);
    (g.nx, g.ny) = (64, 64);
    let body = [
        Ellipse { value: 1.0, centre: [0.0, 0.0], semi: [24.0, 20.0], angle: 0.3 },
        Ellipse { value: 0.3, centre: [6.0, -4.0], semi: [8.0, 5.0], angle: 0.0 },
        Ellipse { value: -0.5, centre: [-8.0, 5.0], semi: [5.0, 6.0], angle: 0.5 },
    ];
    let mut ct = plan(&g);
    let truth = pixel_means(&ct, &g, &body);
    let mut p = to_projections(&mut ct, &g, |ct, v, p| ct.forward(v, p), &truth);
    add_noise(&mut p, g.bins, |_| 0.2);
    let weight = ask(&ct, &p).expect("a weight").weight;
    ct.set_options(Options { algorithm: Algorithm::TotalVariation, ..Options::default() }).expect("options");
    let mut off = |factor: f64| {
        let bounds = [0.0, 2.0];
        let iterative = Iterative { iterations: 1000, regularisation: factor * weight, bounds, ..Iterative::default() };
        ct.set_iterative(iterative).expect("iterations");
        let volume = reconstruct(&mut ct, &g, &p);
        volume.iter().zip(&truth).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
    };
    let [less, right, more] = [0.125, 1.0, 8.0].map(&mut off);
    assert!(right < 0.8 * less && right < 0.8 * more, "{less:.3}, {right:.3}, {more:.3}");
}

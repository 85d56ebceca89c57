//! The noise of projections, and the weight of total variation that it asks for.

use crate::common::scene::{half_turn, line_integrals, reconstruct};
use crate::common::{normal, on_processor, to_projections};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::ct::{Algorithm, Ct, Geometry, Iterative, Options, Order, Phase, PhaseMethod, Suggested};
use isocenter::error::{Result, Status};
use isocenter::phantom::{Ellipse, SheppLogan};
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

fn ask(ct: &Ct, p: &[f32]) -> Result<f64> {
    ct.noise(Array::new(p, ct.geometry()?.projection_shape())?)
}

fn noise(g: &Geometry, p: &[f32]) -> f64 {
    ask(&plan(g), p).expect("a deviation")
}

fn suggest(ct: &Ct, p: &[f32]) -> Result<Suggested> {
    ct.suggest_regularisation(Array::new(p, ct.geometry()?.projection_shape())?)
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
        let g = scan(views, rows);
        let mut p = body(&g);
        add_noise(&mut p, BINS, |_| deviation);
        let seen = noise(&g, &p);
        // Of many rows 16 are looked at.
        let values = views * rows.min(16) * BINS;
        let name = format!("{views} views, {rows} rows");
        check(&name, seen, deviation, [chance(values), chance(values) + EDGES]);
    }
}

/// Noise of 0.3 % can hardly be seen; a slope of an ellipse has third differences far below that.
#[test]
fn without_noise() {
    let g = scan(90, 2);
    let p = body(&g);
    let seen = noise(&g, &p);
    assert!(seen < 1e-2 * 0.003 * 2.0, "{seen:?}");
    let nothing = suggest(&plan(&g), &vec![0.0; p.len()]).expect("a weight");
    assert_eq!(nothing, Suggested { weight: 0.0, noise: 0.0 });
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
    check("a slope", noise(&g, &p), truth, [chance(values) + 0.01, chance(values) + EDGES]);
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
    let e = ct.noise(array).expect_err("no flats");
    assert_eq!(e.status, Status::FlatField, "{e}");
    ct.set_flat_field(Some(Array::of(&flats, frame).expect("flats")), Some(Array::of(&darks, frame).expect("darks")))
        .expect("a flat field");
    let seen = ct.noise(array).expect("a deviation");
    let truth = (expected.iter().map(|n| 1.0 / n).sum::<f64>() / expected.len() as f64).sqrt();
    // Within a block the deviation changes by up to 1.8 times, by which the median of the mixture is 4 % too small.
    check("counts", seen, truth, [chance(counts.len()) + 0.04, chance(counts.len()) + EDGES]);
}

/// Sinograms, and every other bin of a wider array, have the same bits.
#[test]
fn orders_and_strides() {
    let g = scan(30, 3);
    let mut p = body(&g);
    add_noise(&mut p, BINS, |_| 0.02);
    let seen = noise(&g, &p);
    let [views, rows, bins] = g.projection_shape();
    let turned: Vec<f32> =
        (0..rows * views).flat_map(|k| p[(k % views * rows + k / views) * bins..][..bins].to_vec()).collect();
    assert_eq!(noise(&Geometry { order: Order::Sinograms, ..g.clone() }, &turned), seen);
    let wide: Vec<f32> = p.iter().flat_map(|v| [*v, f32::NAN]).collect();
    let strides = [(2 * rows * bins) as isize, 2 * bins as isize, 2];
    // SAFETY: every other element of a vector that outlives the array.
    let array = unsafe { Array::from_raw(wide.as_ptr().cast(), DType::F32, [views, rows, bins], strides, None) };
    assert_eq!(plan(&g).noise(array).expect("a deviation"), seen);
}

/// NaN is an error, or 0; what stands out hardly moves a median.
#[test]
fn missing_values() {
    let g = scan(60, 1);
    let mut p = body(&g);
    add_noise(&mut p, BINS, |_| 0.02);
    let seen = noise(&g, &p);
    // In every fourth view one bin, which 4 differences of the 79 of a block have: 1.3 % of them, one block in 4.
    p.chunks_exact_mut(BINS).step_by(4).for_each(|row| row[200] = f32::NAN);
    let e = ask(&plan(&g), &p).expect_err("NaN");
    assert!(e.status == Status::NotFiniteData && e.message.contains("projections[0, 0, 200] is NaN"), "{e}");
    let lenient = plan_with(ContextOptions { nan_policy: NanPolicy::Replace, ..on_processor() }, &g);
    check("replaced", ask(&lenient, &p).expect("a deviation"), seen, [0.0, 0.01]);
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
    check("40 rows", capped(40 * 2560).expect("a deviation"), 0.02, [chance(values), chance(values) + EDGES]);
    let e = capped(2559).expect_err("no room");
    assert!(e.status == Status::MemoryCap && e.message.contains("memory_cap is 2559"), "{e}");
    // The weight takes slices besides.
    let ct = plan_with(ContextOptions { memory_cap: 1 << 20, ..on_processor() }, &g);
    let e = suggest(&ct, &p).expect_err("no room");
    assert!(e.status == Status::MemoryCap && e.message.contains("memory_cap is 1048576"), "{e}");
}

#[test]
fn what_cannot_be_told() {
    let refused = |ct: &Ct, p: &[f32], status, words: &str| {
        for e in [ask(ct, p).err(), suggest(ct, p).err()].map(|e| e.expect("a refusal")) {
            assert!(e.status == status && e.message.contains(words), "{e}");
        }
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

/// Shepp-Logan's phantom and an ellipse with holes, projected at bins' centres, as means over bins, and by the pair, which alone has no error of pixels: within 1.5 of the least error that any weight has,
/// and without what is left of the data, which tells the kinds apart, up to 2.2 times of it.
#[test]
fn a_weight_that_suits() {
    const SIDE: usize = 64;
    let shepp = SheppLogan::Modified.section(0.45 * SIDE as f64).expect("a phantom").to_vec();
    let holes = vec![
        Ellipse { value: 1.0, centre: [0.0, 0.0], semi: [27.0, 23.0], angle: 0.3 },
        Ellipse { value: 0.3, centre: [6.0, -4.0], semi: [8.0, 5.0], angle: 0.0 },
        Ellipse { value: -0.5, centre: [-8.0, 5.0], semi: [5.0, 6.0], angle: 0.5 },
    ];
    for (name, body) in [("shepp", shepp), ("holes", holes)] {
        for (views, part) in [(30, 0.01), (90, 0.003), (90, 0.03)] {
            let g = Geometry::new(half_turn(views), SIDE);
            let mut ct = plan(&g);
            let mut truth = vec![0.0f32; SIDE * SIDE];
            ct.phantom_volume(&body, ArrayMut::new(&mut truth, g.volume_shape()).expect("a volume")).expect("a volume");
            let fine = Geometry { bin_pitch: 0.125, ..Geometry::new(half_turn(views), 8 * SIDE) };
            let means: Vec<f32> = line_integrals(&plan(&fine), &fine, &body)
                .chunks_exact(8)
                .map(|v| v.iter().sum::<f32>() / 8.0)
                .collect();
            let pair = to_projections(&mut ct, &g, |ct, v, p| ct.forward(v, p), &truth);
            for (kind, mut p) in [("centres", line_integrals(&ct, &g, &body)), ("means", means), ("pair", pair)] {
                let largest = p.iter().fold(0.0f32, |a, b| a.max(*b));
                add_noise(&mut p, SIDE, |_| part * f64::from(largest));
                let weight = suggest(&ct, &p).expect("a weight").weight;
                ct.set_options(Options { algorithm: Algorithm::TotalVariation, ..Options::default() })
                    .expect("options");
                let mut off = |factor: f64| {
                    let (bounds, regularisation) = ([0.0, f64::INFINITY], factor * weight);
                    let on =
                        Iterative { iterations: 200, regularisation, bounds, tolerance: 1e-3, ..Iterative::default() };
                    ct.set_iterative(on).expect("iterations");
                    let volume = reconstruct(&mut ct, &g, &p);
                    volume.iter().zip(&truth).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
                };
                let (seen, best) =
                    (off(1.0), [0.25, 0.5, 0.7, 1.4, 2.0, 4.0].map(&mut off).into_iter().fold(f64::INFINITY, f64::min));
                println!("{name} {views} views, {part}, {kind}: {:.2}", seen / best);
                assert!(seen < 1.5 * best, "{name}, {views} views, {part}, {kind}: {seen:.3}, {best:.3}");
            }
        }
    }
}

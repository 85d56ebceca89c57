//! Iterative methods against f64, on every level, in slabs of any size, and what they refuse.

use crate::common::iterative as exact;
use crate::common::scene::half_turn;
use crate::common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::cpu::level::Level;
use isocenter::ct::{
    Algorithm, Ct, Fit, Geometry, HalfAcquisition, Iterative, Options, Order, Output, Pair, Start, Variation,
    Weighting, Window,
};
use isocenter::error::{Result, Status};
use std::f64::consts::PI;
use std::sync::Arc;

/// Uneven angles, an axis off the middle, sides that are no multiple of anything, rows before the first slice.
fn geometry(slices: usize) -> Geometry {
    let angles = (0..23).map(|v| 0.1 + PI * f64::from(v * 7 % 23) / 23.0 + 0.02 * f64::from(v).sin()).collect();
    let mut g = Geometry::new(angles, 37).with_rows(slices + 1);
    (g.nx, g.ny, g.axis, g.pixel_size, g.first_row, g.slices) = (27, 22, vec![17.3], 1.2, 1, slices);
    g
}

/// Of a few blobs, so that there is something to find; positive.
fn projections(g: &Geometry, seed: u64) -> Vec<f32> {
    let mut volume = random(volume_len(g), seed);
    for (k, v) in volume.iter_mut().enumerate() {
        let (i, j) = (k / g.nx % g.ny, k % g.nx);
        let (y, x) = (i as f32 / g.ny as f32 - 0.45, j as f32 / g.nx as f32 - 0.55);
        *v = 0.5 + 0.05 * *v + if x * x + y * y < 0.1 { 1.0 } else { 0.0 };
    }
    let exact = forward(g, &volume);
    let noise = random(exact.len(), seed + 1);
    exact.iter().zip(noise).map(|(p, n)| (*p as f32 + 0.1 * n).max(0.0)).collect()
}

fn set(ct: &mut Ct, algorithm: Algorithm, iterative: &Iterative) {
    ct.set_options(Options { algorithm, ..Options::default() }).expect("options");
    ct.set_iterative(iterative.clone()).expect("iterations");
}

fn run(
    ct: &mut Ct,
    algorithm: Algorithm,
    iterative: &Iterative,
    projections: &[f32],
    start: Option<&[f32]>,
) -> Vec<f32> {
    let g = ct.geometry().expect("a geometry").clone();
    set(ct, algorithm, iterative);
    let mut volume = start.map_or_else(|| vec![f32::NAN; volume_len(&g)], <[f32]>::to_vec);
    let array = Array::new(projections, g.projection_shape()).expect("projections");
    ct.reconstruct(array, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("a reconstruction");
    volume
}

/// Every method, with each option that it has.
fn cases() -> Vec<(Algorithm, Iterative)> {
    let plain = Iterative { iterations: 6, ..Iterative::default() };
    let of = |algorithm, change: fn(&mut Iterative)| {
        let mut iterative = plain.clone();
        change(&mut iterative);
        (algorithm, iterative)
    };
    vec![
        of(Algorithm::Sirt, |_| {}),
        of(Algorithm::Sirt, |i| (i.relaxation, i.bounds, i.mask_radius) = (1.7, [0.0, 1.2], 0.9)),
        of(Algorithm::Sirt, |i| (i.subsets, i.iterations, i.relaxation) = (5, 3, 0.6)),
        of(Algorithm::Sirt, |i| (i.subsets, i.iterations, i.start) = (23, 2, Start::Volume)),
        // Few: where one eigenvalue is far above the others, as here that of the mean, what is rounded along its vector grows about
        // fivefold in each iteration after those that have found it.
        of(Algorithm::Cgls, |i| i.iterations = 4),
        of(Algorithm::Cgls, |i| (i.iterations, i.regularisation, i.mask_radius) = (4, 30.0, 0.8)),
        of(Algorithm::Cgls, |i| (i.iterations, i.start, i.regularisation) = (4, Start::Volume, 2.0)),
        of(Algorithm::Mlem, |_| {}),
        of(Algorithm::Mlem, |i| (i.subsets, i.iterations, i.bounds) = (4, 3, [0.0, 1.4])),
        of(Algorithm::Mlem, |i| (i.start, i.mask_radius) = (Start::Volume, 1.1)),
        of(Algorithm::Mlem, |i| (i.subsets, i.iterations) = (23, 2)),
    ]
}

/// A product with the pair errs by some 1e-6 of the largest value, which a handful of iterations add up; MLEM's quotients and the steps
/// of CGLS, whose quotients have products of all values in them, make that ten times as much at most.
const TOLERANCE: f64 = 2e-5;

fn check(ct: &mut Ct, name: &str) {
    let g = ct.geometry().expect("a geometry").clone();
    let p = projections(&g, 5);
    let from: Vec<f32> = random(volume_len(&g), 9).iter().map(|v| 0.7 + 0.3 * v).collect();
    for (algorithm, iterative) in cases() {
        let start = (iterative.start == Start::Volume).then_some(&from[..]);
        let (expected, history) = exact::reconstruct(&g, algorithm, &iterative, &p, start);
        let seen = run(ct, algorithm, &iterative, &p, start);
        let e = error(&seen, &expected);
        // Weights of a thousandth are rounded to some 1e-6, and divided by: those of pixels that a single view barely sees, and of rays
        // that barely meet a mask which cuts through the object.
        let cut = iterative.mask_radius > 0.0;
        let small = if cut && algorithm == Algorithm::Mlem || iterative.subsets == g.views() { 50.0 } else { 1.0 };
        assert!(e < small * TOLERANCE, "{name}: {algorithm:?} {iterative:?}: {e:.1e}");
        let found = ct.history().expect("a history");
        assert_eq!(found.len(), history.len());
        for (k, (found, expected)) in found.iter().zip(&history).enumerate() {
            // Squares and logarithms of what is left of large numbers: their rounding is to be seen in small objectives.
            let apart = if expected.is_finite() { (found.objective - expected).abs() } else { 0.0 };
            assert!(
                found.objective.is_finite() == expected.is_finite(),
                "{name}: {algorithm:?} {iterative:?}: {found:?}"
            );
            let e = apart / history[0].abs();
            let small = if cut { 50.0 } else { 1.0 };
            assert!(e < small * TOLERANCE, "{name}: {algorithm:?} {iterative:?}: objective {k} is off by {e:.1e}");
            assert_eq!(found.slices, g.slices);
        }
    }
}

#[test]
fn iterates_are_those_of_f64_on_every_level() {
    for slices in [1, 7, 17, 33] {
        let g = geometry(slices);
        for level in Level::available() {
            check(&mut plan(&g, level, 2), &format!("{level:?}, {slices} slices"));
        }
    }
}

#[test]
fn sinograms_and_an_axis_a_view() {
    let mut g = geometry(3);
    g.order = Order::Sinograms;
    g.axis = (0..23).map(|v| 17.0 + (0.9 * f64::from(v)).sin()).collect();
    check(&mut plan(&g, Level::BASELINE, 2), "sinograms");
}

#[test]
fn a_slice_does_not_depend_on_slabs_threads_or_neighbours() {
    let g = geometry(40);
    let p = projections(&g, 5);
    for (algorithm, iterative) in cases().into_iter().filter(|(_, i)| i.start == Start::Uniform) {
        let whole = run(&mut plan(&g, Level::BASELINE, 1), algorithm, &iterative, &p, None);
        for (threads, memory_cap) in [(3, 0), (2, 3_000_000), (2, 700_000)] {
            let options = ContextOptions { threads, memory_cap, level: Some(Level::BASELINE), ..on_processor() };
            let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
            ct.set_geometry(g.clone()).expect("a geometry");
            let seen = run(&mut ct, algorithm, &iterative, &p, None);
            assert!(memory_cap == 0 || ct.memory().expect("bytes") <= memory_cap);
            // Other lanes sum in another order.
            let e = error(&seen, &whole.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
            assert!(e < TOLERANCE, "{algorithm:?}, {threads} threads, {memory_cap} bytes: {e:.1e}");
            let slices: Vec<usize> = ct.history().expect("a history").iter().map(|i| i.slices).collect();
            assert_eq!(slices, vec![40; iterative.iterations]);
        }
    }
}

#[test]
fn a_stream_gives_what_arrays_give() {
    let g = geometry(40);
    let p = projections(&g, 5);
    for (algorithm, iterative) in cases().into_iter().filter(|(_, i)| i.start == Start::Uniform) {
        let mut ct = plan(&g, Level::BASELINE, 2);
        let whole = run(&mut ct, algorithm, &iterative, &p, None);
        let (seen, slabs) = frames::streamed(&mut ct, DType::F32, &p).expect("a stream");
        assert!(!slabs.is_empty());
        let e = error(&seen, &whole.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
        assert!(e < TOLERANCE, "{algorithm:?}: {e:.1e}");
    }
}

/// Scaled slices have scaled iterates, so that their gradients fall alike; a slice of zeros ends at once.
#[test]
fn slices_end_one_by_one() {
    let g = geometry(3);
    let mut p = projections(&g, 5);
    for row in p.chunks_exact_mut(g.rows * g.bins) {
        row[g.bins..2 * g.bins].fill(0.0);
    }
    let iterative = Iterative { iterations: 40, tolerance: 0.01, ..Iterative::default() };
    let mut ct = plan(&g, Level::BASELINE, 2);
    let seen = run(&mut ct, Algorithm::Cgls, &iterative, &p, None);
    let slices: Vec<usize> = ct.history().expect("a history").iter().map(|i| i.slices).collect();
    assert!(slices.len() < 40 && slices[0] == 3 && slices[1] == 2 && slices.is_sorted_by(|a, b| a >= b), "{slices:?}");
    assert!(seen[..g.ny * g.nx].iter().all(|v| *v == 0.0));
    let (expected, _) = exact::reconstruct(&g, Algorithm::Cgls, &iterative, &p, None);
    // More iterations than elsewhere, and what is rounded in conjugate gradient's steps grows from each to the next.
    let e = error(&seen, &expected);
    assert!(e < 50.0 * TOLERANCE, "{e:.1e}");
}

/// A uniform disk of 1 stays one: what iterations do to its inside is less than what the edge's rays, which see a pixel or two of
/// partial volume, add.
#[test]
fn values_are_attenuation_a_length_unit() {
    use crate::common::scene::{best_plan, line_integrals, mean, scene, well_inside};
    use isocenter::phantom::Ellipse;
    let g = scene(half_turn(60), 0.5, 0.5);
    let disk = Ellipse { value: 1.0, centre: [0.0, 0.0], semi: [0.35 * g.nx as f64 * g.pixel_size; 2], angle: 0.0 };
    let mut ct = best_plan(&g);
    let p = line_integrals(&ct, &g, &[disk]);
    for (algorithm, iterations) in [(Algorithm::Sirt, 60), (Algorithm::Cgls, 12), (Algorithm::Mlem, 60)] {
        let iterative = Iterative { iterations, ..Iterative::default() };
        let seen = run(&mut ct, algorithm, &iterative, &p, None);
        let inside = mean(&seen, &well_inside(&g, &disk, 4.0));
        assert!((inside - 1.0).abs() < 0.005, "{algorithm:?}: {inside}");
    }
}

/// A full turn about an axis near the detector's edge: each view sees a half of the slice, so that a subset of one view has no ray for many pixels. They wait for the others, and do not become 0; corners that no view
/// sees are 0.
#[test]
fn a_pixel_waits_for_the_subset_that_sees_it() {
    let mut g = Geometry::new((0..24).map(|v| 2.0 * PI * f64::from(v) / 24.0).collect(), 20);
    (g.nx, g.ny, g.axis) = (32, 32, vec![2.5]);
    let iterative = Iterative { iterations: 3, subsets: 24, ..Iterative::default() };
    let radius = |p: usize| (p as f64 % 32.0 - 15.5).hypot((p / 32) as f64 - 15.5);
    let volume: Vec<f32> = (0..32 * 32).map(|p| if radius(p) < 14.0 { 1.0 } else { 0.0 }).collect();
    let p: Vec<f32> = forward(&g, &volume).iter().map(|v| *v as f32).collect();
    for level in Level::available() {
        let found = run(&mut plan(&g, level, 2), Algorithm::Mlem, &iterative, &p, None);
        let (expected, _) = exact::reconstruct(&g, Algorithm::Mlem, &iterative, &p, None);
        // Weights of a thousandth are rounded to some 1e-6, and divided by.
        assert!(error(&found, &expected) < 50.0 * TOLERANCE, "{level:?}");
        let worst = (0..found.len()).filter(|p| radius(*p) < 12.0).map(|p| (found[p] - 1.0).abs()).fold(0.0, f32::max);
        assert!(worst < 0.5, "{level:?}: {worst}");
        assert!((0..found.len()).filter(|p| radius(*p) > 18.5).all(|p| found[p] == 0.0), "{level:?}");
    }
}

/// Where something is measured and the image has nothing along the ray, b ln(b / A x) is infinite: MLEM cannot come from there to anything else, and its
/// history says so. What is below 0 counts as 0.
/// Processors are slow with numbers below the normal ones, which pixels that end at 0 come to.
#[test]
fn what_decays_becomes_zero() {
    let mut g = Geometry::new(half_turn(12), 20);
    (g.nx, g.ny) = (20, 20);
    let volume: Vec<f32> = (0..400).map(|p| if (p / 20 + p % 20) % 20 < 3 { 1.0 } else { 0.0 }).collect();
    let p: Vec<f32> = forward(&g, &volume).iter().map(|v| *v as f32).collect();
    let iterative = Iterative { iterations: 3000, ..Iterative::default() };
    for level in Level::available() {
        let found = run(&mut plan(&g, level, 2), Algorithm::Mlem, &iterative, &p, None);
        assert!(found.contains(&0.0), "{level:?}: nothing has decayed");
        assert!(found.iter().all(|v| !v.is_subnormal()), "{level:?}");
    }
}

#[test]
fn a_start_that_cannot_be_is_told() {
    let g = geometry(2);
    let p = projections(&g, 5);
    for subsets in [1, 3] {
        let iterative = Iterative { iterations: 2, subsets, start: Start::Volume, ..Iterative::default() };
        for start in [0.0, -1.0] {
            let mut ct = plan(&g, Level::BASELINE, 2);
            let seen = run(&mut ct, Algorithm::Mlem, &iterative, &p, Some(&vec![start; volume_len(&g)]));
            assert!(seen.iter().all(|v| *v == 0.0 && v.is_sign_positive()), "{start}");
            assert!(ct.history().expect("a history").iter().all(|i| i.objective == f64::INFINITY), "{start}");
        }
    }
}

/// Slices of a slab that memory leaves one or two of are rounded as the others are.
#[test]
fn what_is_rounded_does_not_depend_on_slabs() {
    for slices in [7, 33, 40] {
        let g = geometry(slices);
        let one = projections(&geometry(1), 5);
        let p: Vec<f32> = (0..projection_len(&g)).map(|k| one[k / (g.rows * g.bins) * g.bins + k % g.bins]).collect();
        let fista = (Algorithm::Fista, Iterative { regularisation: 2.0, ..Iterative::default() });
        let variation = (
            Algorithm::TotalVariation,
            Iterative { regularisation: 0.3, bounds: [0.0, f64::INFINITY], ..Iterative::default() },
        );
        for (algorithm, iterative) in cases().into_iter().chain([fista, variation]) {
            let iterative = Iterative { iterations: 5, start: Start::Uniform, ..iterative };
            let mut whole = plan(&g, Level::detect(), 2);
            let seen = run(&mut whole, algorithm, &iterative, &p, None);
            let mut slices = seen.chunks_exact(g.nx * g.ny);
            let first = slices.next().expect("slices");
            assert!(slices.all(|slice| slice == first), "{algorithm:?}, {} slices", g.slices);
            let capped = |memory_cap: u64| {
                let options = ContextOptions { memory_cap, threads: 2, ..on_processor() };
                let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
                ct.set_geometry(g.clone()).expect("a geometry");
                set(&mut ct, algorithm, &iterative);
                ct
            };
            let (mut no, mut least) = (0, whole.memory().expect("a plan"));
            while least - no > 1 {
                let cap = (no + least) / 2;
                *if capped(cap).info().is_ok() { &mut least } else { &mut no } = cap;
            }
            // One by one, where memory has no room for more side by side.
            for cap in [least, 2 * least, 4 * least] {
                let mut ct = capped(cap);
                let slabs = ct.info().expect("a plan").slab_slices;
                assert!(slabs == 1 || cap > least, "{algorithm:?}: slabs of {slabs}");
                assert!(run(&mut ct, algorithm, &iterative, &p, None) == seen, "{algorithm:?}, slabs of {slabs}");
            }
        }
    }
}

/// Data in units of 2^-95 to 2^95, whose squares leave f32: with all that has their unit they make the same image and objective in that unit, to the rounding of numbers that are near f32's ends.
#[test]
fn any_unit_makes_the_same_image() {
    let g = geometry(7);
    let p = projections(&g, 5);
    type Change = fn(&mut Iterative, f64);
    let methods: [(Algorithm, i32, Change); 9] = [
        (Algorithm::Sirt, 2, |i, unit| i.bounds = [0.0, 1.3 * unit]),
        (Algorithm::Sirt, 2, |i, _| (i.subsets, i.iterations) = (5, 3)),
        (Algorithm::Cgls, 2, |i, _| (i.regularisation, i.iterations) = (2.0, 4)),
        (Algorithm::Mlem, 1, |i, unit| i.bounds = [0.0, 1.3 * unit]),
        (Algorithm::Mlem, 1, |i, _| (i.subsets, i.iterations) = (5, 3)),
        (Algorithm::Fista, 2, |i, unit| (i.regularisation, i.bounds) = (2.0, [0.0, 1.3 * unit])),
        (Algorithm::TotalVariation, 2, |i, unit| (i.regularisation, i.bounds) = (0.3 * unit, [0.0, 2.0 * unit])),
        (Algorithm::TotalVariation, 2, |i, unit| {
            (i.regularisation, i.bounds, i.huber) = (0.3 * unit, [0.0, 2.0 * unit], 0.1 * unit);
            (i.variation, i.ring_weight) = (Variation::Volume, 0.5 * unit);
        }),
        (Algorithm::TotalVariation, 1, |i, unit| {
            (i.fit, i.regularisation, i.bounds) = (Fit::Poisson, 0.1, [0.0, 2.0 * unit]);
        }),
    ];
    for (algorithm, power, change) in methods {
        let at = |exponent: i32| {
            let unit = 2f64.powi(exponent);
            let scaled: Vec<f32> = p.iter().map(|v| (f64::from(*v) * unit) as f32).collect();
            let mut iterative = Iterative { iterations: 20, tolerance: 0.0, ..Iterative::default() };
            change(&mut iterative, unit);
            let mut ct = plan(&g, Level::detect(), 2);
            let image = run(&mut ct, algorithm, &iterative, &scaled, None);
            let image: Vec<f64> = image.iter().map(|v| f64::from(*v) / unit).collect();
            let history = ct.history().expect("a history");
            (image, history.last().expect("an iteration").objective / unit.powi(power))
        };
        let (expected, objective) = at(0);
        let largest = expected.iter().fold(0.0, |a, b| f64::max(a, b.abs()));
        for exponent in [-95, -50, 50, 95] {
            let (found, own) = at(exponent);
            let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-4 * largest, "{algorithm:?}, 2^{exponent}: {worst} of {largest}");
            assert!((own / objective - 1.0).abs() < 1e-4, "{algorithm:?}, 2^{exponent}: {own} and {objective}");
        }
    }
}

/// Sums over rays of the largest numbers leave single precision: that is told.
#[test]
fn images_that_are_not_finite_are_refused() {
    let g = geometry(2);
    let p: Vec<f32> = projections(&g, 5).iter().map(|v| v * 5e36).collect();
    for algorithm in [Algorithm::Cgls, Algorithm::Fista] {
        let mut ct = plan(&g, Level::detect(), 2);
        set(&mut ct, algorithm, &Iterative { iterations: 3, ..Iterative::default() });
        let mut volume = vec![0.0; volume_len(&g)];
        let array = Array::new(&p, g.projection_shape()).expect("projections");
        let result = ct.reconstruct(array, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume"));
        let e = result.expect_err("a refusal");
        assert!(e.status == Status::OutOfRange && e.message.contains("single precision"), "{algorithm:?}: {e}");
        assert!(volume.iter().all(|v| *v == 0.0), "nothing is written");
    }
}

/// Weights of rays in any unit make the same image.
#[test]
fn any_weights_unit_makes_the_same_image() {
    let g = geometry(7);
    let p = projections(&g, 5);
    let weights: Vec<f32> = random(g.views() * g.bins, 3).iter().map(|v| 1.0 + 0.5 * v).collect();
    for (algorithm, iterations) in [(Algorithm::Cgls, 4), (Algorithm::Fista, 20)] {
        let at = |exponent: i32| {
            let unit = 2f32.powi(exponent);
            let own: Vec<f32> = weights.iter().map(|w| w * unit).collect();
            let mut ct = plan(&g, Level::detect(), 2);
            ct.set_ray_weights(Some(Array::new(&own, [g.views(), 1, g.bins]).expect("weights"))).expect("weights");
            let regularisation = 2.0 * f64::from(unit);
            let weighting = Weighting::Given;
            let iterative = Iterative { iterations, weighting, regularisation, ..Iterative::default() };
            run(&mut ct, algorithm, &iterative, &p, None)
        };
        let expected: Vec<f64> = at(0).iter().map(|v| f64::from(*v)).collect();
        for exponent in [-95, -50, 50, 95] {
            assert!(error(&at(exponent), &expected) < 1e-4, "{algorithm:?}, 2^{exponent}");
        }
    }
}

fn refusal(
    change: impl FnOnce(&mut Geometry, &mut Options, &mut Iterative),
    act: impl FnOnce(&mut Ct) -> Result<()>,
) -> (Status, String) {
    let (mut g, mut options, mut iterative) = (geometry(2), Options::default(), Iterative::default());
    change(&mut g, &mut options, &mut iterative);
    let mut ct = plan(&g, Level::BASELINE, 1);
    let result = ct.set_options(options).and_then(|()| ct.set_iterative(iterative)).and_then(|()| act(&mut ct));
    let error = result.expect_err("a refusal");
    (error.status, error.message)
}

fn reconstruct(ct: &mut Ct) -> Result<()> {
    let g = ct.geometry().expect("a geometry").clone();
    let p = projections(&g, 5);
    let mut volume = vec![0.0; volume_len(&g)];
    ct.reconstruct(
        Array::new(&p, g.projection_shape()).expect("projections"),
        ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume"),
    )
}

#[test]
fn what_makes_no_sense_is_refused_with_its_name() {
    type Change = fn(&mut Geometry, &mut Options, &mut Iterative);
    let table: [(&str, Status, Change); 22] = [
        ("iterative.iterations is 0", Status::OutOfRange, |_, _, i| i.iterations = 0),
        ("iterative.iterations is 1000001", Status::OutOfRange, |_, _, i| i.iterations = 1_000_001),
        ("iterative.relaxation is 2.0", Status::OutOfRange, |_, _, i| i.relaxation = 2.0),
        ("iterative.relaxation is -1.0", Status::OutOfRange, |_, _, i| i.relaxation = -1.0),
        ("iterative.relaxation is NaN", Status::NotFiniteParameter, |_, _, i| i.relaxation = f64::NAN),
        ("lower must be below upper", Status::OutOfRange, |_, _, i| i.bounds = [1.0, 1.0]),
        ("iterative.upper is NaN", Status::NotFiniteParameter, |_, _, i| i.bounds = [0.0, f64::NAN]),
        ("iterative.mask_radius is 1.6", Status::OutOfRange, |_, _, i| i.mask_radius = 1.6),
        ("no pixel is inside", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.mask_radius) = (Algorithm::Sirt, 1e-9);
        }),
        ("iterative.regularisation is -1.0", Status::OutOfRange, |_, _, i| i.regularisation = -1.0),
        ("iterative.tolerance is 1.0", Status::OutOfRange, |_, _, i| i.tolerance = 1.0),
        ("must be at most the number of views, 23", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.subsets) = (Algorithm::Sirt, 24);
        }),
        ("iterative.subsets is 2; it must be 1 where options.algorithm is 2 (cgls)", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.subsets) = (Algorithm::Cgls, 2);
        }),
        ("iterative.bounds are 0.0 and inf", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.bounds) = (Algorithm::Cgls, [0.0, f64::INFINITY]);
        }),
        ("iterative.relaxation is 0.5", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.relaxation) = (Algorithm::Mlem, 0.5);
        }),
        ("iterative.regularisation is 1.0", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.regularisation) = (Algorithm::Sirt, 1.0);
        }),
        ("iterative.tolerance is 0.1", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.tolerance) = (Algorithm::Mlem, 0.1);
        }),
        ("whose images are never negative", Status::OutOfRange, |_, o, i| {
            (o.algorithm, i.bounds) = (Algorithm::Mlem, [-1.0, 1.0]);
        }),
        ("options.projector is 1 (band_limited)", Status::OutOfRange, |_, o, _| {
            (o.algorithm, o.pair) = (Algorithm::Sirt, Pair::BandLimited);
        }),
        ("memory_cap is", Status::MemoryCap, |g, o, _| {
            (o.algorithm, g.nx, g.ny) = (Algorithm::Sirt, 20_000, 20_000);
        }),
        ("iterative.subsets is 0", Status::OutOfRange, |_, _, i| i.subsets = 0),
        ("iterative.lower is inf", Status::OutOfRange, |_, _, i| i.bounds = [f64::INFINITY; 2]),
    ];
    for (words, status, change) in table {
        let (seen, message) = refusal(change, |ct| {
            let options = ContextOptions { memory_cap: 1 << 26, ..on_processor() };
            let mut small = Ct::new(Arc::new(Context::new(options)?));
            small.set_geometry(ct.geometry()?.clone())?;
            small.set_options(ct.options().clone())?;
            small.set_iterative(ct.iterative().clone())?;
            small.memory()?;
            reconstruct(&mut small)
        });
        assert!(seen == status && message.contains(words), "{words}: {seen:?} {message}");
    }
}

#[test]
fn calls_that_do_not_go_together_are_refused() {
    let sirt = |_: &mut Geometry, o: &mut Options, _: &mut Iterative| o.algorithm = Algorithm::Sirt;
    let from = |_: &mut Geometry, o: &mut Options, i: &mut Iterative| {
        (o.algorithm, i.start) = (Algorithm::Sirt, Start::Volume);
    };
    let (status, message) = refusal(from, |ct| ct.reconstruct_stream(DType::F32, |_| Ok(()), |_| Ok(())));
    assert!(status == Status::OutOfRange && message.contains("iterative.start is 1 (volume)"), "{message}");
    let (status, message) = refusal(from, |ct| {
        let window = Some(Window::Given { low: 0.0, high: 1.0 });
        ct.set_output(Output { dtype: DType::U8, window, ..Output::default() })?;
        let g = ct.geometry()?.clone();
        let (p, mut volume) = (projections(&g, 5), vec![0u8; volume_len(&g)]);
        let target = ArrayMut::of(&mut volume, g.volume_shape())?;
        ct.reconstruct(Array::new(&p, g.projection_shape())?, target)
    });
    assert!(status == Status::OutOfRange && message.contains("isoc_ct_set_output"), "{message}");
    let (status, message) = refusal(
        |g, o, _| {
            g.angles = (0..46).map(|v| 2.0 * PI * f64::from(v) / 46.0).collect();
            (g.axis, o.algorithm) = (vec![3.0], Algorithm::Cgls);
        },
        |ct| {
            ct.set_half_acquisition(Some(HalfAcquisition::default()))?;
            reconstruct(ct)
        },
    );
    assert!(status == Status::OutOfRange && message.contains("isoc_ct_set_half_acquisition"), "{message}");
    let (status, message) = refusal(sirt, |ct| ct.history().map(drop));
    assert!(status == Status::NotConfigured && message.contains("isoc_ct_set_iterative"), "{message}");
}

#[test]
fn poisson_data_are_not_negative() {
    let g = geometry(2);
    let mut p = projections(&g, 5);
    p[(4 * g.rows + 2) * g.bins + 11] = -0.25;
    for policy in [NanPolicy::Error, NanPolicy::Replace] {
        let options = ContextOptions { nan_policy: policy, ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(g.clone()).expect("a geometry");
        let iterative = Iterative { iterations: 3, ..Iterative::default() };
        set(&mut ct, Algorithm::Mlem, &iterative);
        let mut volume = vec![0.0; volume_len(&g)];
        let array = Array::new(&p, g.projection_shape()).expect("projections");
        let result = ct.reconstruct(array, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume"));
        match policy {
            NanPolicy::Error => {
                let e = result.expect_err("a refusal");
                assert!(e.message.contains("view 4, row 2, bin 11"), "{e}");
                assert!(volume.iter().all(|v| *v == 0.0), "nothing is written");
            }
            NanPolicy::Replace => {
                result.expect("a reconstruction");
                assert_eq!(ct.info().expect("facts").replaced, 1);
                let mut zero = p.clone();
                zero[(4 * g.rows + 2) * g.bins + 11] = 0.0;
                let (expected, _) = exact::reconstruct(&g, Algorithm::Mlem, &iterative, &zero, None);
                assert!(error(&volume, &expected) < TOLERANCE);
            }
        }
    }
}

#[test]
fn a_cancel_is_heeded_between_iterations() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let g = geometry(2);
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let progress: isocenter::context::Progress = Box::new(move |fraction, _| {
        seen.fetch_add(1, Ordering::Relaxed);
        fraction > 0.0
    });
    let options = ContextOptions { progress: Some(progress), ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    set(&mut ct, Algorithm::Sirt, &Iterative { iterations: 1_000_000, ..Iterative::default() });
    let e = reconstruct(&mut ct).expect_err("a cancel");
    assert_eq!(e.status, Status::Cancelled);
    assert!(calls.load(Ordering::Relaxed) > 0);
}

/// The log gets each slab's last objective at the end, from the calling thread, and others before; who asked for warnings alone gets none.
#[test]
fn what_iterations_find_is_told() {
    let g = geometry(3);
    let tv = Iterative { iterations: 45, regularisation: 0.5, bounds: [0.0, 2.0], ..Iterative::default() };
    let sirt = Iterative { iterations: 7, ..Iterative::default() };
    for (algorithm, iterative) in [(Algorithm::Sirt, sirt), (Algorithm::TotalVariation, tv)] {
        for warnings_only in [false, true] {
            let (context, told) = told::context(ContextOptions { warnings_only, ..on_processor() }, false);
            let mut ct = Ct::new(Arc::new(context.expect("a context")));
            ct.set_geometry(g.clone()).expect("a geometry");
            set(&mut ct, algorithm, &iterative);
            reconstruct(&mut ct).expect("a reconstruction");
            let history = ct.history().expect("a history");
            let last = history.last().expect("an iteration");
            let told = told.lock().expect("what was told");
            if warnings_only {
                assert!(told.is_empty(), "{told:?}");
                continue;
            }
            let (thread, text) = told.last().expect("a message");
            assert_eq!(*thread, std::thread::current().id());
            let (iteration, objective) = (last.iteration, last.objective);
            let start = format!("slices 0 to 2, iteration {iteration}: objective {objective:.6e}");
            assert!(text.starts_with(&start), "{text}, not {start}");
            assert_eq!(text.contains("above the minimum"), last.gap.is_finite(), "{text}");
        }
    }
    // While they go on, too: otherwise nothing would end this.
    let (context, _) = told::context(on_processor(), true);
    let mut ct = Ct::new(Arc::new(context.expect("a context")));
    ct.set_geometry(g).expect("a geometry");
    set(&mut ct, Algorithm::Sirt, &Iterative { iterations: 1_000_000, ..Iterative::default() });
    assert_eq!(reconstruct(&mut ct).expect_err("a cancel").status, Status::Cancelled);
}

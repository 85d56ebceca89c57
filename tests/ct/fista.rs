//! Least squares within bounds: what is told of objective and gap against the minimum in f64, by the pairs and as a convolution.

use crate::common::iterative::Matrix;
use crate::common::scene::half_turn;
use crate::common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{Algorithm, Ct, Geometry, Iterated, Iterative, Normal, Options, Pair, Weighting};
use isocenter::error::{Result, Status};
use std::sync::Arc;

/// All of the slice on the detector in all views.
fn geometry(slices: usize) -> Geometry {
    let mut g = Geometry::new(half_turn(20), 43).with_rows(slices);
    (g.nx, g.ny, g.axis) = (27, 24, vec![20.7]);
    g
}

/// A block in nothing, with noise that asks for values below 0; slices of different scales.
fn projections(g: &Geometry) -> Vec<f32> {
    let volume: Vec<f32> = (0..volume_len(g))
        .map(|k| {
            let (z, y, x) = (k / (g.nx * g.ny), k / g.nx % g.ny, k % g.nx);
            if (6..18).contains(&x) && (8..16).contains(&y) { 1.0 + 0.3 * z as f32 } else { 0.0 }
        })
        .collect();
    let noise = random(projection_len(g), 3);
    forward(g, &volume).iter().zip(noise).map(|(p, n)| *p as f32 + 0.4 * n).collect()
}

fn run(ct: &mut Ct, pair: Pair, iterative: &Iterative, p: &[f32]) -> Result<(Vec<f32>, Vec<Iterated>)> {
    let g = ct.geometry()?.clone();
    ct.set_options(Options { algorithm: Algorithm::Fista, pair, tolerance: 1e-6, ..Options::default() })?;
    ct.set_iterative(iterative.clone())?;
    if iterative.weighting == Weighting::Given {
        ct.set_ray_weights(Some(Array::new(&given(&g), [g.views(), 1, g.bins])?))?;
    }
    let mut volume = vec![f32::NAN; volume_len(&g)];
    ct.reconstruct(Array::new(p, g.projection_shape())?, ArrayMut::new(&mut volume, g.volume_shape())?)?;
    Ok((volume, ct.history()?.to_vec()))
}

/// One slice's problem in f64.
struct Problem<'a> {
    matrix: &'a Matrix,
    views: Vec<usize>,
    data: Vec<f64>,
    /// Of each ray.
    weights: Vec<f64>,
    on: &'a Iterative,
}

impl Problem<'_> {
    fn left(&self, x: &[f64]) -> Vec<f64> {
        self.matrix.forward(&self.views, x).iter().zip(&self.data).map(|(a, b)| a - b).collect()
    }

    fn objective(&self, x: &[f64]) -> f64 {
        let fit: f64 = self.left(x).iter().zip(&self.weights).map(|(r, w)| w * r * r).sum();
        0.5 * (fit + self.on.regularisation * x.iter().map(|v| v * v).sum::<f64>())
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let left: Vec<f64> = self.left(x).iter().zip(&self.weights).map(|(r, w)| w * r).collect();
        let back = self.matrix.adjoint(&self.views, &left);
        back.iter().zip(x).map(|(g, x)| g + self.on.regularisation * x).collect()
    }

    /// By projected gradient with Nesterov's momentum, far longer than the library's iterations, from a step that is safe for certain.
    fn minimum(&self, pixels: usize) -> f64 {
        let sums = self.matrix.adjoint(&self.views, &self.matrix.forward(&self.views, &vec![1.0; pixels]));
        let largest = self.weights.iter().fold(0.0, |a: f64, b| a.max(*b));
        let step = 1.0 / (largest * sums.iter().fold(0.0, |a: f64, b| a.max(*b)) + self.on.regularisation);
        let [lower, upper] = self.on.bounds;
        let (mut x, mut ahead, mut t) = (vec![0.0; pixels], vec![0.0; pixels], 1.0f64);
        for _ in 0..1500 {
            let gradient = self.gradient(&ahead);
            let next: Vec<f64> = (0..pixels).map(|p| (ahead[p] - step * gradient[p]).max(lower).min(upper)).collect();
            let back: f64 = (0..pixels).map(|p| (ahead[p] - next[p]) * (next[p] - x[p])).sum();
            t = if back > 0.0 { 1.0 } else { t };
            let later = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
            (0..pixels).for_each(|p| ahead[p] = next[p] + (t - 1.0) / later * (next[p] - x[p]));
            (x, t) = (next, later);
        }
        self.objective(&x)
    }
}

fn sinogram(g: &Geometry, p: &[f32], z: usize) -> Vec<f64> {
    (0..g.views() * g.bins).map(|r| f64::from(p[((r / g.bins) * g.rows + z) * g.bins + r % g.bins])).collect()
}

/// Some rays count twice, some not at all.
fn given(g: &Geometry) -> Vec<f32> {
    (0..g.views() * g.bins).map(|r| if r % 17 == 3 { 0.0 } else { 1.0 + (r % 5) as f32 / 4.0 }).collect()
}

fn weights(g: &Geometry, on: &Iterative, data: &[f64]) -> Vec<f64> {
    match on.weighting {
        Weighting::Uniform => vec![1.0; data.len()],
        Weighting::Transmission => data.iter().map(|b| (-b.max(0.0)).exp()).collect(),
        Weighting::Given => given(g).into_iter().map(f64::from).collect(),
    }
}

fn cases() -> Vec<Iterative> {
    let plain = Iterative { iterations: 2000, tolerance: 1e-3, ..Iterative::default() };
    vec![
        Iterative { bounds: [0.0, 1.5], ..plain.clone() },
        Iterative { bounds: [0.0, f64::INFINITY], regularisation: 3.0, ..plain.clone() },
        Iterative { weighting: Weighting::Transmission, bounds: [0.0, 1.5], regularisation: 0.1, ..plain.clone() },
        Iterative { weighting: Weighting::Given, regularisation: 3.0, ..plain.clone() },
        Iterative { regularisation: 20.0, ..plain },
    ]
}

/// What products with the pair err by, in an objective: its data term is a sum of squares of what they leave, each 1e-6 of the largest.
const ROUNDING: f64 = 1e-4;

#[test]
fn objective_and_gap_are_true_on_every_level() {
    for slices in [1, 9] {
        let g = geometry(slices);
        let (p, matrix, pixels) = (projections(&g), Matrix::new(&g), g.ny * g.nx);
        for on in cases() {
            let problem = |z: usize| {
                let data = sinogram(&g, &p, z);
                let weights = weights(&g, &on, &data);
                Problem { matrix: &matrix, views: (0..g.views()).collect(), data, weights, on: &on }
            };
            let minimum: f64 = (0..slices).map(|z| problem(z).minimum(pixels)).sum();
            for level in Level::available() {
                let (seen, history) = run(&mut plan(&g, level, 2), Pair::Joseph, &on, &p).expect("a reconstruction");
                let last = history.last().expect("iterations");
                let what = format!("{level:?}, {slices} slices, {on:?}: {last:?}, minimum {minimum}");
                assert!(last.iteration < on.iterations && last.gap <= on.tolerance * last.objective, "{what}");
                let [lower, upper] = on.bounds.map(|b| b as f32);
                assert!(seen.iter().all(|v| (lower..=upper).contains(v)), "{what}");
                let images = seen.chunks_exact(pixels).map(|x| x.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
                let objective: f64 = images.enumerate().map(|(z, x)| problem(z).objective(&x)).sum();
                assert!((last.objective / objective - 1.0).abs() < ROUNDING, "{objective}; {what}");
                // Above the minimum, by no more than is told.
                let above = objective - minimum;
                assert!(above > -1e-6 * minimum && above <= last.gap + ROUNDING * objective, "{above}; {what}");
            }
        }
    }
}

/// CGLS comes to the minimum that accelerated gradient comes to, total variation of next to no weight to that within bounds.
#[test]
fn weights_are_those_of_other_methods_too() {
    let g = geometry(3);
    let (matrix, pixels) = (Matrix::new(&g), g.ny * g.nx);
    // Weights of a tenth to 1: with smaller ones the minimum in f64 takes too long.
    let p: Vec<f32> = projections(&g).iter().map(|v| 0.1 * v).collect();
    for weighting in [Weighting::Transmission, Weighting::Given] {
        let cgls = Iterative { weighting, iterations: 60, regularisation: 2.0, ..Iterative::default() };
        let (bounds, iterations) = ([0.0, 0.12], 4000);
        let variation =
            Iterative { weighting, bounds, iterations, regularisation: 1e-5, tolerance: 1e-3, ..Iterative::default() };
        for (algorithm, on, above) in [(Algorithm::Cgls, cgls, 1e-3), (Algorithm::TotalVariation, variation, 2e-3)] {
            let mut ct = plan(&g, Level::BASELINE, 2);
            ct.set_options(Options { algorithm, ..Options::default() }).expect("options");
            ct.set_iterative(on.clone()).expect("iterations");
            let rays = given(&g);
            ct.set_ray_weights(Some(Array::new(&rays, [g.views(), 1, g.bins]).expect("weights"))).expect("weights");
            let mut volume = vec![0.0; volume_len(&g)];
            let target = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
            ct.reconstruct(Array::new(&p, g.projection_shape()).expect("projections"), target)
                .expect("a reconstruction");
            let squares =
                Iterative { regularisation: if algorithm == Algorithm::Cgls { 2.0 } else { 0.0 }, ..on.clone() };
            let (mut seen, mut minimum) = (0.0, 0.0);
            for (z, x) in volume.chunks_exact(pixels).enumerate() {
                let data = sinogram(&g, &p, z);
                let weights = weights(&g, &on, &data);
                let problem = Problem { matrix: &matrix, views: (0..g.views()).collect(), data, weights, on: &squares };
                seen += problem.objective(&x.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
                minimum += problem.minimum(pixels);
            }
            // As far as f32's conjugate gradient comes; as the gap says, and what the variation weighs.
            assert!(
                seen < (1.0 + above) * minimum && seen > (1.0 - 1e-4) * minimum,
                "{algorithm:?}, {weighting:?}: {seen} {minimum}"
            );
        }
    }
}

#[test]
fn outside_the_mask_nothing_is_and_rays_meet_nothing() {
    let g = geometry(2);
    let p = projections(&g);
    let on = Iterative { mask_radius: 0.8, bounds: [0.5, 1.5], iterations: 40, ..Iterative::default() };
    let (seen, _) = run(&mut plan(&g, Level::BASELINE, 2), Pair::Joseph, &on, &p).expect("a reconstruction");
    for (k, v) in seen.iter().enumerate() {
        let (y, x) = ((k / g.nx % g.ny) as f64 - 11.5, (k % g.nx) as f64 - 13.0);
        let inside = y * y + x * x <= (0.8f64 * 12.0).powi(2);
        assert!(if inside { (0.5..=1.5).contains(v) } else { *v == 0.0 }, "{v} at {y}, {x}");
    }
}

/// Of few views, too, where A^T A is 10 % off the convolution.
#[test]
fn as_a_convolution_it_comes_to_the_pairs_minimum() {
    for views in [20, 6] {
        the_minimum_of(views);
    }
}

fn the_minimum_of(views: usize) {
    let mut g = geometry(5);
    g.angles = half_turn(views);
    let p = projections(&g);
    let on = Iterative {
        bounds: [0.0, 3.0],
        regularisation: 5.0,
        iterations: 2000,
        tolerance: 1e-4,
        ..Iterative::default()
    };
    let with = |normal| {
        let on = Iterative { normal, ..on.clone() };
        run(&mut plan(&g, Level::BASELINE, 2), Pair::BandLimited, &on, &p).expect("a reconstruction")
    };
    let ((pair, found), (seen, history)) = (with(Normal::Pair), with(Normal::Toeplitz));
    for found in [&found, &history] {
        let last = found.last().expect("iterations");
        assert!(last.iteration < 2000 && last.gap <= 1e-4 * last.objective, "{last:?}");
    }
    let [pair_told, told] = [&found, &history].map(|history| history.last().expect("iterations"));
    let apart = (told.objective - pair_told.objective).abs();
    assert!(apart <= told.gap.max(pair_told.gap) + ROUNDING * told.objective, "{views} views: {told:?}, {pair_told:?}");
    // What is above the minimum is the square of the distance from it times half of the regularisation, at least.
    let distance = pair.iter().zip(&seen).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    let reach = (2.0 * told.gap / 5.0).sqrt() + (2.0 * pair_told.gap / 5.0).sqrt();
    assert!(distance <= reach, "{views} views: {distance:.1e} of {reach:.1e}");
    assert!(with(Normal::Auto).0 == seen, "{views} views: auto is the pair");
}

#[test]
fn a_slice_does_not_depend_on_slabs_threads_or_streams() {
    let g = geometry(40);
    let p = projections(&g);
    // No tolerance, so that all take as many iterations.
    let on = Iterative { bounds: [0.0, 1.5], iterations: 25, ..Iterative::default() };
    let (whole, history) = run(&mut plan(&g, Level::BASELINE, 1), Pair::Joseph, &on, &p).expect("a reconstruction");
    let exact: Vec<f64> = whole.iter().map(|v| f64::from(*v)).collect();
    for (threads, memory_cap) in [(3, 0), (2, 3_000_000)] {
        let options = ContextOptions { threads, memory_cap, level: Some(Level::BASELINE), ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(g.clone()).expect("a geometry");
        let (seen, found) = run(&mut ct, Pair::Joseph, &on, &p).expect("a reconstruction");
        let e = error(&seen, &exact);
        // Other lanes sum in another order, and 25 steps add that up.
        assert!(e < 1e-4, "{threads} threads, {memory_cap} bytes: {e:.1e}");
        assert_eq!(found.iter().map(|i| (i.iteration, i.slices)).collect::<Vec<_>>(), [(20, 40), (25, 40)]);
        assert!((found[1].objective / history[1].objective - 1.0).abs() < ROUNDING);
        let (streamed, _) = frames::streamed(&mut ct, DType::F32, &p).expect("a stream");
        let e = error(&streamed, &exact);
        assert!(e < 1e-4, "a stream: {e:.1e}");
    }
}

/// Where nobody knows a gap it is infinite, and no slice ends before its time.
#[test]
fn without_a_gap_all_iterations_are_taken() {
    let g = geometry(2);
    let p = projections(&g);
    for bounds in [[0.0, f64::INFINITY], [f64::NEG_INFINITY, f64::INFINITY]] {
        let on = Iterative { bounds, iterations: 70, ..Iterative::default() };
        let (seen, history) = run(&mut plan(&g, Level::BASELINE, 2), Pair::Joseph, &on, &p).expect("a reconstruction");
        assert!(seen.iter().all(|v| v.is_finite()));
        assert_eq!(history.iter().map(|i| i.iteration).collect::<Vec<_>>(), [20, 40, 60, 70]);
        assert!(history.iter().all(|i| i.gap == f64::INFINITY && i.slices == 2), "{history:?}");
        assert!(history.is_sorted_by(|a, b| a.objective > b.objective), "{history:?}");
    }
}

/// Rays of no weight leave directions in which the data say next to nothing, so that it takes long; what is left then is far below an image's last digit.
#[test]
fn rounding_does_not_hold_the_gap_up() {
    let (views, bins) = (18, 24);
    let g = Geometry::new(half_turn(views), bins);
    let noise = random(views * bins, 5);
    let disc: Vec<f32> = (0..bins * bins)
        .map(|k| if ((k / bins) as f64 - 11.5).hypot((k % bins) as f64 - 11.5) < 6.0 { 0.1 } else { 0.0 })
        .collect();
    let p: Vec<f32> = forward(&g, &disc).iter().zip(&noise).map(|(p, n)| *p as f32 + 0.06 * n).collect();
    let bounds = [-0.02, 0.12];
    let on = Iterative {
        bounds,
        iterations: 20000,
        tolerance: 1e-5,
        weighting: Weighting::Given,
        regularisation: 1e-4,
        ..Iterative::default()
    };
    let (_, history) = run(&mut plan(&g, Level::BASELINE, 2), Pair::Joseph, &on, &p).expect("a reconstruction");
    let last = history.last().expect("iterations");
    assert!(last.gap <= 1e-5 * last.objective, "{last:?}");
}

#[test]
fn what_it_has_no_use_for_is_refused() {
    let g = geometry(1);
    let p = projections(&g);
    type Change = fn(&mut Iterative);
    let table: [(&str, Change); 6] = [
        ("iterative.normal is 2 (toeplitz) and options.projector 0 (joseph)", |i| i.normal = Normal::Toeplitz),
        ("iterative.tolerance is 0.001; it must be 0", |i| i.tolerance = 1e-3),
        ("neither two bounds", |i| (i.tolerance, i.bounds) = (1e-3, [0.0, f64::INFINITY])),
        ("iterative.subsets is 2", |i| i.subsets = 2),
        ("iterative.relaxation is 0.5", |i| i.relaxation = 0.5),
        ("iterative.huber is 0.5", |i| i.huber = 0.5),
    ];
    for (words, change) in table {
        let mut on = Iterative::default();
        change(&mut on);
        let e = run(&mut plan(&g, Level::BASELINE, 1), Pair::Joseph, &on, &p).expect_err("a refusal");
        assert!(e.status == Status::OutOfRange && e.message.contains(words), "{}", e.message);
    }
}

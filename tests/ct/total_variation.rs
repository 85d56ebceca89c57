//! Total variation: what is told of objective and gap, in f64; slices that end apart, slabs and streams; what is refused.

use crate::common::iterative::Matrix;
use crate::common::scene::{half_turn, mean, well_inside};
use crate::common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{Algorithm, Ct, Fit, Geometry, Iterated, Iterative, Options, Variation};
use isocenter::error::Status;
use isocenter::phantom::Ellipse;
use std::sync::Arc;

const DISKS: [Ellipse; 3] = [
    Ellipse { value: 1.0, centre: [0.0, 0.0], semi: [10.0, 12.0], angle: 0.3 },
    Ellipse { value: -0.4, centre: [3.0, 4.0], semi: [3.0, 2.0], angle: 0.0 },
    Ellipse { value: 0.3, centre: [-4.0, -3.0], semi: [4.0, 3.0], angle: 1.0 },
];

fn geometry(slices: usize) -> Geometry {
    let mut g = Geometry::new(half_turn(20), 43).with_rows(slices);
    (g.nx, g.ny, g.axis) = (31, 28, vec![20.7]);
    g
}

/// Slices of different scales and noise.
fn projections(ct: &Ct, g: &Geometry) -> Vec<f32> {
    let mut p = vec![0.0f32; projection_len(g)];
    let out = ArrayMut::new(&mut p, g.projection_shape()).expect("projections");
    ct.phantom_projections(&DISKS, out).expect("projections");
    let noise = random(p.len(), 3);
    let scale = |k: usize| 1.0 + 0.2 * (k / g.bins % g.rows) as f32;
    p.iter().enumerate().map(|(k, v)| scale(k) * v + 0.3 * noise[k]).collect()
}

fn iterative() -> Iterative {
    let (iterations, regularisation, bounds, tolerance) = (3000, 0.5, [0.0, 4.0], 1e-3);
    Iterative { iterations, regularisation, bounds, tolerance, ..Iterative::default() }
}

fn run(ct: &mut Ct, iterative: &Iterative, p: &[f32]) -> (Vec<f32>, Vec<Iterated>) {
    let g = ct.geometry().expect("a geometry").clone();
    ct.set_options(Options { algorithm: Algorithm::TotalVariation, ..Options::default() }).expect("options");
    ct.set_iterative(iterative.clone()).expect("iterations");
    let mut volume = vec![f32::NAN; volume_len(&g)];
    let array = Array::new(p, g.projection_shape()).expect("projections");
    ct.reconstruct(array, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("a reconstruction");
    (volume, ct.history().expect("a history").to_vec())
}

/// The offsets r that make sum over views of (left - r)^2 / 2 + weight |r| smallest, bin by bin: what is left on the mean, less weight / views; and
/// that sum.
fn with_offsets(g: &Geometry, left: &[f64], weight: f64) -> f64 {
    let one = |bin: usize| {
        let bin: Vec<f64> = left.iter().skip(bin).step_by(g.bins).copied().collect();
        let mean = bin.iter().sum::<f64>() / bin.len() as f64;
        let r = (mean.abs() - weight / bin.len() as f64).max(0.0) * mean.signum();
        bin.iter().map(|v| 0.5 * (v - r).powi(2)).sum::<f64>() + weight * r.abs()
    };
    (0..g.bins).map(one).sum()
}

/// |A x - b|^2 / 2, or Poisson's law, and the penalty, in f64; with the best offsets.
fn objective(matrix: &Matrix, g: &Geometry, o: &Iterative, x: &[f64], p: &[f32]) -> f64 {
    let (all, n): (Vec<usize>, usize) = ((0..g.views()).collect(), g.ny * g.nx);
    let seen = matrix.forward(&all, &vec![1.0; n]);
    let of_ray = |(r, (a, b)): (usize, (&f64, &f64))| match o.fit {
        Fit::Squares => 0.5 * (a - b).powi(2),
        Fit::Poisson if seen[r] < 1e-3 * g.pixel_size => 0.0,
        Fit::Poisson => a - b + if *b > 0.0 { b * (b / a).ln() } else { 0.0 },
    };
    let of_slice = |(z, x): (usize, &[f64])| -> f64 {
        if o.ring_weight > 0.0 {
            let left: Vec<f64> = sinogram(g, p, z).iter().zip(&matrix.forward(&all, x)).map(|(b, a)| b - a).collect();
            return with_offsets(g, &left, o.ring_weight);
        }
        matrix.forward(&all, x).iter().zip(&sinogram(g, p, z)).enumerate().map(of_ray).sum()
    };
    let fit: f64 = x.chunks_exact(n).enumerate().map(of_slice).sum();
    let penalty = (0..x.len()).map(|k| {
        let dx = if k % g.nx + 1 < g.nx { x[k + 1] - x[k] } else { 0.0 };
        let dy = if k % n + g.nx < n { x[k + g.nx] - x[k] } else { 0.0 };
        let dz = if o.variation == Variation::Volume && k + n < x.len() { x[k + n] - x[k] } else { 0.0 };
        let length = (dx * dx + dy * dy + (dz * g.pixel_size / g.bin_pitch).powi(2)).sqrt();
        if length < o.huber { length * length / (2.0 * o.huber) } else { length - 0.5 * o.huber }
    });
    fit + o.regularisation * penalty.sum::<f64>()
}

fn doubles(volume: &[f32]) -> Vec<f64> {
    volume.iter().map(|v| f64::from(*v)).collect()
}

fn slice(g: &Geometry, volume: &[f32], z: usize) -> Vec<f64> {
    doubles(&volume[z * g.ny * g.nx..(z + 1) * g.ny * g.nx])
}

fn sinogram(g: &Geometry, p: &[f32], z: usize) -> Vec<f64> {
    (0..g.views() * g.bins).map(|r| f64::from(p[(r / g.bins * g.rows + z) * g.bins + r % g.bins])).collect()
}

/// What was found, and what the history ends with. Objectives add squares of what the pair's rounding, 1e-6 of the largest value,
/// changes: `rounding` is more than that. No other image may have an objective below the bound: neither one of a finer tolerance, which
/// is not worse, nor mixtures of it and what was found.
fn check_bound(ct: &mut Ct, matrix: &Matrix, o: &Iterative, p: &[f32], finer: &Iterative, rounding: f64) -> (f64, f64) {
    let g = ct.geometry().expect("a geometry").clone();
    let (seen, history) = run(ct, o, p);
    let last = history.last().expect("an iteration");
    assert!(history.is_sorted_by(|a, b| a.iteration < b.iteration && a.slices >= b.slices), "{history:?}");
    assert!(last.iteration < o.iterations && last.gap <= o.tolerance * last.objective, "{o:?}: {last:?}");
    let (best, _) = run(ct, finer, p);
    let of = |part: f64| {
        let mixed = best.iter().zip(&seen).map(|(a, b)| part * f64::from(*a) + (1.0 - part) * f64::from(*b));
        objective(matrix, &g, o, &mixed.collect::<Vec<_>>(), p)
    };
    let ours = of(0.0);
    let e = last.objective / ours - 1.0;
    // Offsets that were found are not the best ones yet.
    let above = if o.ring_weight > 0.0 { o.tolerance } else { rounding };
    assert!(e > -rounding && e < above, "{o:?}: the objective is off by {e:.1e}");
    for part in [0.25, 0.5, 1.0] {
        assert!(of(part) >= (last.objective - last.gap) * (1.0 - rounding), "{o:?}: below the bound");
    }
    let [lower, upper] = o.bounds.map(|b| b as f32);
    assert!(seen.iter().all(|v| *v >= lower && *v <= upper));
    if o.mask_radius > 0.0 {
        assert!(seen[..g.nx].iter().all(|v| *v == 0.0), "the corner row is outside the mask");
    }
    // The gap is not far too large, either.
    assert!(of(1.0) <= ours * (1.0 + rounding), "the finer one is not worse");
    (ours, last.gap)
}

#[test]
fn the_objective_is_told_and_the_gap_is_a_bound() {
    let cases: [(f64, f64, [f64; 2], f64); 5] = [
        (0.5, 0.0, [0.0, 4.0], 0.0),
        (0.5, 0.0, [0.0, f64::INFINITY], 0.0),
        (5.0, 0.1, [0.0, 4.0], 0.0),
        (0.5, 0.0, [0.0, 4.0], 0.95),
        (0.5, 0.02, [-1.0, f64::INFINITY], 0.0),
    ];
    for (slices, level) in Level::available().flat_map(|level| [(1, level), (9, level)]) {
        let g = geometry(slices);
        let mut ct = plan(&g, level, 2);
        let p = projections(&ct, &g);
        let matrix = Matrix::new(&g);
        // One slice has all cases; what many have in lanes is the same whatever the case.
        for (regularisation, huber, bounds, mask_radius) in cases.into_iter().take(if slices == 1 { 5 } else { 1 }) {
            let o = Iterative { regularisation, huber, bounds, mask_radius, ..iterative() };
            check_bound(&mut ct, &matrix, &o, &p, &Iterative { tolerance: 1e-5, ..o.clone() }, 1e-5);
        }
    }
}

/// The same of the volume's differences, in single lanes and in groups that end before their lanes do, with slices that are farther apart than
/// pixels; and with one bound, a mask, Huber's penalty and Poisson's law.
#[test]
fn of_a_volume_too_the_gap_is_a_bound() {
    let volume = Iterative { variation: Variation::Volume, ..iterative() };
    let poisson = Iterative { fit: Fit::Poisson, bounds: [0.0, 40.0], tolerance: 5e-3, ..volume.clone() };
    let cases = [
        volume.clone(),
        Iterative { bounds: [0.0, f64::INFINITY], ..volume.clone() },
        Iterative { regularisation: 5.0, huber: 0.1, mask_radius: 0.95, ..volume.clone() },
        poisson,
    ];
    for (slices, pitch, level) in
        Level::available().flat_map(|level| [(2, 1.6, level), (13, 1.0, level), (37, 1.0, level)])
    {
        let mut g = geometry(slices);
        (g.bin_pitch, g.pixel_size) = (pitch, 1.0);
        let mut ct = plan(&g, level, 2);
        let p: Vec<f32> = projections(&ct, &g).iter().map(|v| v.max(0.0)).collect();
        let matrix = Matrix::new(&g);
        for o in cases.iter().take(if slices == 2 { 4 } else { 1 }) {
            let rounding = if o.fit == Fit::Poisson { 1e-4 } else { 1e-5 };
            check_bound(&mut ct, &matrix, o, &p, &Iterative { tolerance: 0.1 * o.tolerance, ..o.clone() }, rounding);
        }
    }
}

/// The same with offsets that all views share, of slices and of the volume; with the best offsets the objective is not above that of those
/// that were found, by the gap at most. They take rings off: a slice is nearer to that of data without. The first is: others are stronger, with
/// edges that 20 views leave to offsets.
#[test]
fn offsets_of_the_detector_are_found() {
    for (slices, variation, level) in Level::available()
        .flat_map(|level| [(1, Variation::Slices, level), (9, Variation::Slices, level), (9, Variation::Volume, level)])
    {
        let g = geometry(slices);
        let mut ct = plan(&g, level, 2);
        let clean = projections(&ct, &g);
        // Of each seventh bin, other ones in each slice; the noise is 0.3 / sqrt(12).
        let offset = |k: usize| [0.0, 0.0, 0.0, 1.5, 0.0, -1.0, 0.0][(k % g.bins + 2 * (k / g.bins % g.rows)) % 7];
        let p: Vec<f32> = clean.iter().enumerate().map(|(k, v)| v + offset(k)).collect();
        let matrix = Matrix::new(&g);
        let without = Iterative { variation, ..iterative() };
        let o = Iterative { ring_weight: 1.0, ..without.clone() };
        check_bound(&mut ct, &matrix, &o, &p, &Iterative { tolerance: 1e-4, ..o.clone() }, 1e-5);
        let [truth, seen, rings] =
            [(&without, &clean), (&o, &p), (&without, &p)].map(|(o, p)| slice(&g, &run(&mut ct, o, p).0, 0));
        let off = |x: &[f64]| x.iter().zip(&truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(off(&seen) < 0.6 * off(&rings), "{level:?}: {} {}", off(&seen), off(&rings));
    }
}

/// Objectives of f32 stand still where a step is below an image's last digit, which held gaps at 1e-4 to 1e-3 of noise of 0.3 %.
#[test]
fn rounding_does_not_hold_the_gap_up() {
    let (views, bins) = (40, 48);
    let g = Geometry::new(half_turn(views), bins);
    let mut ct = plan(&g, Level::BASELINE, 2);
    let disks =
        DISKS.map(|disk| Ellipse { semi: disk.semi.map(|s| 1.5 * s), centre: disk.centre.map(|c| 1.5 * c), ..disk });
    let mut p = vec![0.0f32; projection_len(&g)];
    ct.phantom_projections(&disks, ArrayMut::new(&mut p, g.projection_shape()).expect("projections"))
        .expect("projections");
    p.iter_mut().zip(random(views * bins, 3)).for_each(|(p, noise)| *p += 0.15 * noise);
    for bounds in [[0.0, f64::INFINITY], [0.0, 1.5]] {
        let o = Iterative { bounds, tolerance: 1e-5, regularisation: 0.3, ..iterative() };
        let (_, history) = run(&mut ct, &o, &p);
        let last = history.last().expect("iterations");
        assert!(last.gap <= 1e-5 * last.objective, "{bounds:?}: {last:?}");
    }
}

/// Slices that are alike have the minimum of one; others have a lower one together than their own minima.
#[test]
fn neighbouring_slices_count() {
    let g = geometry(11);
    let mut ct = plan(&g, Level::BASELINE, 2);
    let matrix = Matrix::new(&g);
    let (alone, volume) = (iterative(), Iterative { variation: Variation::Volume, ..iterative() });
    let p = projections(&ct, &g);
    let (seen, history) = run(&mut ct, &volume, &p);
    let (apart, _) = run(&mut ct, &alone, &p);
    let [together, each] = [&seen, &apart].map(|x| objective(&matrix, &g, &volume, &doubles(x), &p));
    let gap = history.last().expect("an iteration").gap;
    assert!(together + 5.0 * gap < each, "{together} {gap} {each}");
    let row = |k: usize| (k / (g.bins * g.rows) * g.rows + 4) * g.bins + k % g.bins;
    let alike: Vec<f32> = (0..p.len()).map(|k| p[row(k)]).collect();
    let (seen, history) = run(&mut ct, &volume, &alike);
    let (apart, each) = run(&mut ct, &alone, &alike);
    let [seen, apart] = [&seen, &apart].map(|x| objective(&matrix, &g, &volume, &doubles(x), &alike));
    let gaps = [&history, &each].map(|h| h.last().expect("an iteration").gap);
    assert!((seen - apart).abs() <= gaps[0].max(gaps[1]) * 1.01, "{seen} {apart} {gaps:?}");
}

/// Poisson's law in place of squares: the same, and without weight nearer to the minimum than MLEM comes in 300 iterations.
#[test]
fn of_poissons_law_too_the_gap_is_a_bound() {
    for (slices, level) in Level::available().flat_map(|level| [(1, level), (9, level)]) {
        let g = geometry(slices);
        let mut ct = plan(&g, level, 2);
        let p: Vec<f32> = projections(&ct, &g).iter().map(|v| (10.0 * v).max(0.0)).collect();
        let matrix = Matrix::new(&g);
        // f32 leaves some 1e-3 where rays with counts meet next to nothing; next to no weight takes more iterations.
        let cases = [(0.3, 0.0, 5e-3), (0.3, 0.5, 5e-3), (1e-3, 0.0, 0.02)];
        // As above.
        for (regularisation, huber, tolerance) in cases.into_iter().take(if slices == 1 { 3 } else { 1 }) {
            let (fit, bounds) = (Fit::Poisson, [0.0, 40.0]);
            let o = Iterative { fit, bounds, regularisation, huber, tolerance, ..iterative() };
            let finer = Iterative { iterations: 1000, tolerance: 0.1 * tolerance, ..o.clone() };
            // Logarithms of quotients that are rounded to 1e-6, times data.
            let (ours, gap) = check_bound(&mut ct, &matrix, &o, &p, &finer, 1e-4);
            if regularisation < 0.01 {
                ct.set_options(Options { algorithm: Algorithm::Mlem, ..Options::default() }).expect("options");
                ct.set_iterative(Iterative { iterations: 300, ..Iterative::default() }).expect("iterations");
                let mut volume = vec![0.0; volume_len(&g)];
                let target = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
                ct.reconstruct(Array::new(&p, g.projection_shape()).expect("projections"), target).expect("MLEM");
                let theirs = objective(&matrix, &g, &o, &doubles(&volume), &p);
                assert!(theirs > ours - gap, "{theirs} {ours}");
            }
        }
    }
}

/// Ends depend on rounding, which other lanes do in another order: images agree as far as the gap says. With strong convexity of the fit
/// on what the data see, |A (x - x')|^2 / 2 is at most the sum of both gaps.
#[test]
fn slabs_threads_and_streams_come_to_the_same_minimum() {
    let g = geometry(40);
    let mut whole = plan(&g, Level::BASELINE, 1);
    let p = projections(&whole, &g);
    let (expected, history) = run(&mut whole, &iterative(), &p);
    let first = history.last().expect("an iteration");
    let matrix = Matrix::new(&g);
    let all: Vec<usize> = (0..g.views()).collect();
    let check = |seen: &[f32], last: Iterated| {
        let apart: f64 = (0..40)
            .map(|z| {
                let (a, b) = (slice(&g, seen, z), slice(&g, &expected, z));
                let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
                matrix.forward(&all, &difference).iter().map(|v| v * v).sum::<f64>()
            })
            .sum();
        let bound = 4.0 * (first.gap + last.gap);
        assert!(apart <= bound, "{apart} of {bound}");
    };
    for (threads, memory_cap) in [(2, 0), (3, 3_000_000), (2, 600_000)] {
        let options = ContextOptions { threads, memory_cap, level: Some(Level::BASELINE), ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(g.clone()).expect("a geometry");
        let (seen, history) = run(&mut ct, &iterative(), &p);
        check(&seen, *history.last().expect("an iteration"));
        let (seen, _) = frames::streamed(&mut ct, DType::F32, &p).expect("a stream");
        check(&seen, *ct.history().expect("a history").last().expect("an iteration"));
    }
}

/// Total variation takes from a disk's height about weight x perimeter over what A^T A makes of the disk, which for a line integral
/// through its middle is its area times its chords: with weight 0.5, radius 10 and 60 views less than 0.5 x 2 pi 10 / (60 x pi 100 x 10) of
/// it, 2e-4. Edges of pixels add more: a pixel of partial volume, of 20 along a ray, 2 % of which lie on either side.
#[test]
fn weak_variation_leaves_values_as_they_are() {
    let disk = Ellipse { value: 1.0, centre: [0.4, -0.3], semi: [10.0; 2], angle: 0.0 };
    let mut g = Geometry::new(half_turn(60), 43);
    (g.nx, g.ny) = (31, 31);
    let mut ct = plan(&g, Level::BASELINE, 2);
    let mut p = vec![0.0f32; projection_len(&g)];
    ct.phantom_projections(&[disk], ArrayMut::new(&mut p, g.projection_shape()).expect("projections"))
        .expect("integrals");
    let (seen, _) = run(&mut ct, &iterative(), &p);
    let inside = mean(&seen, &well_inside(&g, &disk, 3.0));
    assert!((inside - 1.0).abs() < 0.01, "{inside}");
    let outside = seen[..g.nx].iter().fold(0.0f32, |a, v| a.max(v.abs()));
    assert!(outside < 0.01, "{outside}");
}

#[test]
fn a_scan_that_misses_the_slice_leaves_zeros() {
    let mut g = geometry(1);
    g.axis = vec![1e6];
    let mut ct = plan(&g, Level::BASELINE, 1);
    let p = random(projection_len(&g), 4);
    let (seen, _) = run(&mut ct, &Iterative { iterations: 25, ..iterative() }, &p);
    assert!(seen.iter().all(|v| *v == 0.0));
}

#[test]
fn what_variation_cannot_do_is_refused() {
    type Change = fn(&mut Iterative);
    let table: [(&str, Change); 12] = [
        ("iterative.regularisation is 0", |i| i.regularisation = 0.0),
        ("iterative.regularisation is 1e31", |i| i.regularisation = 1e31),
        ("iterative.huber is -1.0", |i| i.huber = -1.0),
        ("iterative.bounds have no lower one", |i| i.bounds = [f64::NEG_INFINITY, 1.0]),
        ("iterative.bounds have no lower one", |i| i.bounds = [f64::NEG_INFINITY, f64::INFINITY]),
        ("iterative.subsets is 2", |i| i.subsets = 2),
        ("iterative.relaxation is 1.5", |i| i.relaxation = 1.5),
        ("iterative.tolerance is -1", |i| i.tolerance = -1.0),
        ("iterative.ring_weight is -1", |i| i.ring_weight = -1.0),
        ("iterative.ring_weight is 1e31", |i| i.ring_weight = 1e31),
        ("iterative.ring_weight is 1.0, which needs two", |i| (i.ring_weight, i.bounds) = (1.0, [0.0, f64::INFINITY])),
        ("iterative.ring_weight is 1.0, which needs two", |i| (i.ring_weight, i.fit) = (1.0, Fit::Poisson)),
    ];
    let g = geometry(1);
    for (words, change) in table {
        let mut o = iterative();
        change(&mut o);
        let mut ct = plan(&g, Level::BASELINE, 1);
        ct.set_options(Options { algorithm: Algorithm::TotalVariation, ..Options::default() }).expect("options");
        let (p, mut volume) = (vec![0.0f32; projection_len(&g)], vec![0.0f32; volume_len(&g)]);
        let result = ct.set_iterative(o).and_then(|()| {
            let target = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
            ct.reconstruct(Array::new(&p, g.projection_shape()).expect("projections"), target)
        });
        let e = result.expect_err(words);
        assert!(e.status == Status::OutOfRange && e.message.contains(words), "{words}: {e}");
    }
}

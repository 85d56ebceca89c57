//! Iterative methods on the GPU: against f64, in slabs, from and to the GPU's memory, and what is refused there.

use super::common::iterative as exact;
use super::memory::OnGpu;
use super::{gpu, gpu_with};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Compute, Context, ContextOptions, NanPolicy};
use isocenter::ct::{
    Algorithm, Ct, Fit, Geometry, Iterative, Normal, Options, Order, Pair, Slab, Start, Variation, Weighting,
};
use isocenter::error::Status;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;
use std::sync::Arc;

fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(0.0..1.0)).collect()
}

/// Uneven angles, an axis off the middle, sides that are no multiple of anything; `wide` has those that are multiples of 4.
fn geometry(slices: usize, wide: bool) -> Geometry {
    let angles = (0..23).map(|v| 0.1 + PI * f64::from(v * 7 % 23) / 23.0 + 0.02 * f64::from(v).sin()).collect();
    let mut g = Geometry::new(angles, if wide { 40 } else { 37 }).with_rows(slices + 1);
    (g.nx, g.ny, g.axis, g.pixel_size, g.first_row, g.slices) = (27, 22, vec![17.3], 1.2, 1, slices);
    if wide {
        (g.nx, g.order) = (32, Order::Sinograms);
    }
    g
}

fn projections(g: &Geometry) -> Vec<f32> {
    random(g.projection_shape().iter().product(), 5).iter().map(|v| 10.0 + 5.0 * v).collect()
}

fn cases() -> Vec<(Algorithm, Iterative)> {
    let plain = Iterative { iterations: 5, ..Iterative::default() };
    let of = |algorithm, change: fn(&mut Iterative)| {
        let mut iterative = plain.clone();
        change(&mut iterative);
        (algorithm, iterative)
    };
    vec![
        of(Algorithm::Sirt, |_| {}),
        of(Algorithm::Sirt, |i| (i.relaxation, i.bounds, i.mask_radius) = (1.7, [0.0, 0.6], 0.9)),
        of(Algorithm::Sirt, |i| (i.subsets, i.relaxation) = (5, 0.6)),
        // As few as on the processor, and for the same reason.
        of(Algorithm::Cgls, |i| i.iterations = 4),
        of(Algorithm::Cgls, |i| {
            (i.iterations, i.regularisation, i.mask_radius, i.start) = (4, 30.0, 0.8, Start::Volume)
        }),
        of(Algorithm::Mlem, |_| {}),
        of(Algorithm::Mlem, |i| (i.subsets, i.bounds, i.start) = (4, [0.0, 0.9], Start::Volume)),
    ]
}

fn plan(context: &Arc<Context>, g: &Geometry, algorithm: Algorithm, iterative: &Iterative) -> Ct {
    plan_with(context, g, &Options { algorithm, ..Options::default() }, iterative)
}

fn plan_with(context: &Arc<Context>, g: &Geometry, options: &Options, iterative: &Iterative) -> Ct {
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(options.clone()).expect("options");
    let rays: Vec<f32> =
        (0..g.views() * g.bins).map(|r| if r % 17 == 3 { 0.0 } else { 1.0 + (r % 5) as f32 }).collect();
    ct.set_ray_weights(Some(Array::new(&rays, [g.views(), 1, g.bins]).expect("weights"))).expect("weights");
    ct.set_iterative(iterative.clone()).expect("iterations");
    ct
}

fn run(ct: &mut Ct, p: &[f32], start: &[f32]) -> Vec<f32> {
    let g = ct.geometry().expect("a geometry").clone();
    let mut volume = start.to_vec();
    let array = Array::new(p, g.projection_shape()).expect("projections");
    ct.reconstruct(array, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("a reconstruction");
    volume
}

/// As on the processor: a product errs by some 1e-6 of the largest value, and iterations and quotients make that ten times as much.
const TOLERANCE: f64 = 2e-5;

#[test]
fn iterates_are_those_of_f64() {
    let Some(context) = gpu() else { return };
    for (slices, wide) in [(1, false), (2, true), (7, false), (9, true)] {
        let g = geometry(slices, wide);
        let p = projections(&g);
        let start = random(g.volume_shape().iter().product(), 9);
        for (algorithm, iterative) in cases() {
            let from = (iterative.start == Start::Volume).then_some(&start[..]);
            let (expected, history) = exact::reconstruct(&g, algorithm, &iterative, &p, from);
            let mut ct = plan(&context, &g, algorithm, &iterative);
            for turn in 0..2 {
                let seen = run(&mut ct, &p, &start);
                let e = super::common::error(&seen, &expected);
                // Rays that barely meet a mask which cuts through the object: see the processor's tests.
                let small = if iterative.mask_radius > 0.0 { 50.0 } else { 1.0 };
                assert!(e < small * TOLERANCE, "{slices} slices, turn {turn}: {algorithm:?} {iterative:?}: {e:.1e}");
                let found = ct.history().expect("a history");
                assert_eq!(found.len(), history.len());
                for (found, expected) in found.iter().zip(&history) {
                    let e = (found.objective - expected).abs() / history[0].abs();
                    assert!(
                        e < small * TOLERANCE && found.slices == slices,
                        "{algorithm:?} {iterative:?}: {e:.1e} {found:?}"
                    );
                }
            }
        }
    }
}

/// To the bit; says how many differ, not all of them.
fn same(seen: &[f32], expected: &[f32], what: &str) {
    assert_eq!(seen.len(), expected.len(), "{what}");
    let mut apart = seen.iter().zip(expected).enumerate().filter(|(_, (a, b))| a.to_bits() != b.to_bits());
    if let Some((at, (a, b))) = apart.next() {
        panic!("{what}: {} of {} differ, the first at {at}: {a:?}, not {b:?}", 1 + apart.count(), seen.len());
    }
}

#[test]
fn iterations_do_not_depend_on_slabs_or_on_where_arrays_are() {
    let g = geometry(40, false);
    for (algorithm, iterative) in cases() {
        check_places(&g, &Options { algorithm, ..Options::default() }, &iterative);
    }
}

/// Of the band-limited pair slabs keep together which slices are one image.
#[test]
fn other_iterations_do_not_depend_on_slabs_or_on_where_arrays_are() {
    let g = Geometry { nx: 19, ny: 16, ..geometry(41, false) };
    for (iterative, options) in others() {
        check_places(&g, &options, &iterative);
    }
}

/// Slices shared out among several GPUs, each by itself or, where they depend on each other, piece by piece.
#[test]
fn several_gpus_come_to_the_same_bits() {
    let Some(context) = gpu() else { return };
    let gpus = super::several();
    let compute = Compute::Gpus(gpus.clone());
    let all = Arc::new(Context::new(ContextOptions { compute, ..ContextOptions::default() }).expect("a context"));
    // As many as each is worth, of the volume.
    let g = Geometry { nx: 19, ny: 16, ..geometry(88 * gpus.len() + 1, false) };
    for (iterative, options) in others() {
        let iterative = Iterative { iterations: 45, ..iterative };
        let (p, start) = (projections(&g), random(g.volume_shape().iter().product(), 9));
        let whole = run(&mut plan_with(&context, &g, &options, &iterative), &p, &start);
        let mut ct = plan_with(&all, &g, &options, &iterative);
        same(&run(&mut ct, &p, &start), &whole, &format!("{iterative:?} on several"));
        if iterative.start == Start::Uniform {
            check_ends(&mut ct, &iterative, &p, &start, &whole);
        }
    }
}

/// Slices that depend on each other go piece by piece where they do not fit, with margins that come anew after each 20 iterations; an odd
/// number of slices, of which two may be one image. Where the host has no room for them that is an error.
#[test]
fn volumes_go_piece_by_piece_to_the_bit() {
    let g = Geometry { nx: 19, ny: 16, ..geometry(151, false) };
    for (iterative, options) in others().into_iter().filter(|(o, _)| o.variation == Variation::Volume) {
        check_places(&g, &options, &Iterative { iterations: 45, ..iterative });
    }
    let Some(context) = gpu() else { return };
    let (iterative, options) = others().pop().expect("a case");
    let gpu_memory_cap = plan_with(&context, &g, &options, &iterative).memory().expect("bytes") / 2;
    let none = ContextOptions { gpu_memory_cap, memory_cap: 1_000_000, ..ContextOptions::default() };
    let Some(none) = gpu_with(none) else { return };
    let mut ct = plan_with(&none, &g, &options, &iterative);
    let mut volume = vec![7.0f32; g.volume_shape().iter().product()];
    let (p, target) = (projections(&g), ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume"));
    let e = ct.reconstruct(Array::new(&p, g.projection_shape()).expect("projections"), target).expect_err("no room");
    assert!(e.status == Status::MemoryCap && e.message.contains("151 slices that depend on each other"), "{e}");
    assert!(volume.iter().all(|v| *v == 7.0));
}

/// Least squares by the band-limited pair, and by the convolution that its normal operator is, and within bounds; and total variation of
/// neighbouring slices.
fn others() -> Vec<(Iterative, Options)> {
    let options = Options { algorithm: Algorithm::Cgls, pair: Pair::BandLimited, ..Options::default() };
    let with = |normal, start, regularisation, mask_radius| {
        let iterations = 4;
        let on = Iterative { iterations, normal, start, regularisation, mask_radius, ..Iterative::default() };
        (on, options.clone())
    };
    let within = |pair, mask_radius| {
        let on = Iterative { iterations: 23, bounds: [0.1, 0.8], mask_radius, ..Iterative::default() };
        (on, Options { algorithm: Algorithm::Fista, pair, ..options.clone() })
    };
    let weighted = |weighting| {
        let on = Iterative { iterations: 4, regularisation: 0.5, weighting, ..Iterative::default() };
        (on, Options { pair: Pair::Joseph, ..options.clone() })
    };
    let rings = |weighting, pair| {
        let (bounds, ring_weight) = ([0.1, 0.8], 20.0);
        let on =
            Iterative { iterations: 19, regularisation: 2.0, ring_weight, bounds, weighting, ..Iterative::default() };
        (on, Options { algorithm: Algorithm::TotalVariation, pair, ..options.clone() })
    };
    let with_rings =
        |(on, options): (Iterative, Options), weighting| (Iterative { ring_weight: 20.0, weighting, ..on }, options);
    let volume = |fit, pair| {
        // Steps change after 20 by how far some values have come, which are others on the processor.
        let (variation, bounds) = (Variation::Volume, [0.1, 0.8]);
        let on = Iterative {
            iterations: 19,
            regularisation: 2.0,
            huber: 0.01,
            bounds,
            variation,
            fit,
            ..Iterative::default()
        };
        (on, Options { algorithm: Algorithm::TotalVariation, pair, ..options.clone() })
    };
    vec![
        with(Normal::Pair, Start::Uniform, 0.0, 0.0),
        with(Normal::Toeplitz, Start::Uniform, 0.0, 0.0),
        with(Normal::Toeplitz, Start::Volume, 20.0, 0.9),
        within(Pair::Joseph, 0.0),
        within(Pair::BandLimited, 0.9),
        weighted(Weighting::Transmission),
        weighted(Weighting::Given),
        rings(Weighting::Uniform, Pair::Joseph),
        rings(Weighting::Uniform, Pair::BandLimited),
        rings(Weighting::Given, Pair::Joseph),
        volume(Fit::Squares, Pair::Joseph),
        volume(Fit::Squares, Pair::BandLimited),
        volume(Fit::Poisson, Pair::Joseph),
        with_rings(volume(Fit::Squares, Pair::Joseph), Weighting::Transmission),
        with_rings(volume(Fit::Squares, Pair::Joseph), Weighting::Given),
    ]
}

/// The processor's tests compare with f64; here each of the two errs by the sums' tolerance, 1e-6, as by its rounding.
#[test]
fn other_iterates_are_the_processors() {
    let Some(context) = gpu() else { return };
    for slices in [1, 2, 9] {
        let g = Geometry { nx: 19, ny: 16, ..geometry(slices, false) };
        let p = projections(&g);
        let start = random(g.volume_shape().iter().product(), 9);
        for (iterative, options) in others() {
            let options = Options { tolerance: 1e-6, ..options };
            let found = [&context, &super::cpu()].map(|context| {
                let mut ct = plan_with(context, &g, &options, &iterative);
                let volume = run(&mut ct, &p, &start);
                (volume, ct.history().expect("a history").last().expect("an iteration").objective)
            });
            let [(seen, ours), (expected, theirs)] = found;
            let expected: Vec<f64> = expected.into_iter().map(f64::from).collect();
            let e = super::common::error(&seen, &expected);
            assert!(e < 4.0 * TOLERANCE, "{slices} slices, {iterative:?}: {e:.1e}");
            assert!((ours / theirs - 1.0).abs() < 4.0 * TOLERANCE, "{iterative:?}: {ours} {theirs}");
        }
    }
}

fn check_places(g: &Geometry, options: &Options, iterative: &Iterative) {
    let algorithm = options.algorithm;
    let p = projections(g);
    let start = random(g.volume_shape().iter().product(), 9);
    let Some(context) = gpu() else { return };
    let mut ct = plan_with(&context, g, options, iterative);
    let whole = run(&mut ct, &p, &start);
    // Half the memory: several slabs.
    let gpu_memory_cap = ct.memory().expect("bytes") / 2;
    let Some(small) = gpu_with(ContextOptions { gpu_memory_cap, ..ContextOptions::default() }) else {
        return;
    };
    let mut capped = plan_with(&small, g, options, iterative);
    match (iterative.variation, capped.info()) {
        (Variation::Slices, info) => assert!(info.expect("facts").slab_slices < g.slices),
        (Variation::Volume, Ok(_)) => {
            assert!(g.slices > MARGINS, "a piece and its margins");
            // As large a piece as fits.
            let bytes = capped.memory().expect("bytes");
            assert!(bytes <= gpu_memory_cap && bytes > gpu_memory_cap / 10 * 9, "{bytes} of {gpu_memory_cap}");
        }
        (Variation::Volume, Err(e)) => {
            assert!(g.slices < MARGINS && e.status == Status::MemoryCap, "{e}");
            assert!(e.message.contains("all slices together need at least"), "{e}");
            return check_ends(&mut ct, iterative, &p, &start, &whole);
        }
    }
    same(&run(&mut capped, &p, &start), &whole, &format!("{algorithm:?} in slabs"));
    check_ends(&mut ct, iterative, &p, &start, &whole);
    check_ends(&mut capped, iterative, &p, &start, &whole);
}

/// What a piece of a volume has at least: twice its margins, and as many slices of its own.
const MARGINS: usize = 66;

/// Wherever the iterations are: the log is told on the calling thread while they go on, and a cancel is heeded between two.
#[test]
fn iterations_tell_the_log_and_heed_a_cancel() {
    let Some(context) = gpu() else { return };
    let g = Geometry { nx: 19, ny: 16, ..geometry(151, false) };
    let iterative = Iterative { iterations: 1_000_000, bounds: [0.1, 0.8], ..Iterative::default() };
    let variation = Variation::Volume;
    let volume = Iterative { regularisation: 2.0, variation, tolerance: 1e-30, ..iterative.clone() };
    let (p, len) = (projections(&g), g.volume_shape().iter().product());
    for (algorithm, iterative) in [(Algorithm::Sirt, iterative), (Algorithm::TotalVariation, volume)] {
        let half = plan(&context, &g, algorithm, &iterative).memory().expect("bytes") / 2;
        for (gpus, gpu_memory_cap) in [(vec![0], 0), (vec![0], half), (super::several(), 0)] {
            let compute = Compute::Gpus(gpus);
            let options = || ContextOptions { compute: compute.clone(), gpu_memory_cap, ..ContextOptions::default() };
            let what = format!("{algorithm:?} on {:?}, {gpu_memory_cap}", options().compute);
            for streams in [false, true] {
                let (context, told) = super::common::told::context(options(), true);
                let mut ct = plan(&Arc::new(context.expect("a context")), &g, algorithm, &iterative);
                let e = if streams {
                    let read = |slab: Slab| {
                        let values = slab.shape.iter().product();
                        // SAFETY: a contiguous slab of this shape.
                        unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), values) }.fill(10.0);
                        Ok(())
                    };
                    ct.reconstruct_stream(DType::F32, read, |_| panic!("nothing is finished"))
                } else {
                    let mut out = vec![0.0; len];
                    let array = Array::new(&p, g.projection_shape()).expect("projections");
                    ct.reconstruct(array, ArrayMut::new(&mut out, g.volume_shape()).expect("a volume"))
                };
                assert_eq!(e.expect_err("a cancel").status, Status::Cancelled, "{what}, a stream: {streams}");
                let told = told.lock().expect("what was told");
                let from_here = told.iter().all(|(thread, _)| *thread == std::thread::current().id());
                assert!(from_here && told[0].1.contains("objective"), "{what}: {told:?}");
            }
        }
    }
}

/// From and to the GPU, and in a stream.
fn check_ends(ct: &mut Ct, iterative: &Iterative, p: &[f32], start: &[f32], whole: &[f32]) {
    let g = &ct.geometry().expect("a geometry").clone();
    let what = format!("{iterative:?}");
    let (on, to) = (OnGpu::new(p), OnGpu::new(start));
    let layout = |shape: [usize; 3]| (shape, [(shape[1] * shape[2]) as isize, shape[2] as isize, 1]);
    let ((from_shape, from), (to_shape, strides)) = (layout(g.projection_shape()), layout(g.volume_shape()));
    // SAFETY: arrays of these shapes in the GPU's memory.
    let (from, target) = unsafe {
        (
            Array::from_raw(on.address as *const u8, DType::F32, from_shape, from, Some(0)),
            ArrayMut::from_raw(to.address as *mut u8, DType::F32, to_shape, strides, Some(0)),
        )
    };
    ct.reconstruct(from, target).expect("a reconstruction on the GPU");
    same(&to.read(), whole, &format!("{what} on the GPU"));
    if iterative.start == Start::Uniform {
        let mut seen = vec![0.0f32; whole.len()];
        let read = |slab: Slab| {
            // SAFETY: a contiguous slab of this shape.
            let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
            for v in 0..g.views() {
                for r in 0..slab.shape[1] {
                    let from = (v * g.rows + slab.first_row + r) * g.bins;
                    to[(v * slab.shape[1] + r) * g.bins..][..g.bins].copy_from_slice(&p[from..][..g.bins]);
                }
            }
            Ok(())
        };
        let write = |slab: Slab| {
            // SAFETY: as above.
            let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.shape.iter().product()) };
            seen[slab.first * g.ny * g.nx..][..from.len()].copy_from_slice(from);
            Ok(())
        };
        ct.reconstruct_stream(DType::F32, read, write).expect("a stream");
        same(&seen, whole, &format!("{what} in a stream"));
    }
}

#[test]
fn slices_end_one_by_one_on_the_gpu() {
    let g = geometry(3, false);
    let mut p = projections(&g);
    for row in p.chunks_exact_mut(g.rows * g.bins) {
        row[g.bins..2 * g.bins].fill(0.0);
    }
    let Some(context) = gpu() else { return };
    let iterative = Iterative { iterations: 40, tolerance: 0.03, ..Iterative::default() };
    let mut ct = plan(&context, &g, Algorithm::Cgls, &iterative);
    let seen = run(&mut ct, &p, &vec![f32::NAN; g.volume_shape().iter().product()]);
    let slices: Vec<usize> = ct.history().expect("a history").iter().map(|i| i.slices).collect();
    assert!(slices.len() < 40 && slices[0] == 3 && slices[1] == 2 && slices.is_sorted_by(|a, b| a >= b), "{slices:?}");
    assert!(seen[..g.ny * g.nx].iter().all(|v| *v == 0.0));
    let (expected, _) = exact::reconstruct(&g, Algorithm::Cgls, &iterative, &p, None);
    let e = super::common::error(&seen, &expected);
    assert!(e < 50.0 * TOLERANCE, "{e:.1e}");
}

#[test]
fn bad_data_of_iterations_are_refused_or_replaced_on_the_gpu() {
    let g = geometry(5, false);
    for policy in [NanPolicy::Error, NanPolicy::Replace] {
        let Some(context) = gpu_with(ContextOptions { nan_policy: policy, ..ContextOptions::default() }) else {
            return;
        };
        let iterative = Iterative { iterations: 3, start: Start::Volume, ..Iterative::default() };
        let mut ct = plan(&context, &g, Algorithm::Mlem, &iterative);
        let (mut p, mut volume) = (projections(&g), vec![1.0f32; g.volume_shape().iter().product()]);
        p[(4 * g.rows + 3) * g.bins + 11] = -0.25;
        volume[(2 * g.ny + 5) * g.nx + 7] = f32::INFINITY;
        let mut call = |p: &[f32], volume: &mut [f32]| {
            let array = Array::new(p, g.projection_shape()).expect("projections");
            ct.reconstruct(array, ArrayMut::new(volume, g.volume_shape()).expect("a volume"))
        };
        let result = call(&p, &mut volume);
        if policy == NanPolicy::Replace {
            result.expect("a reconstruction");
            assert!(volume.iter().all(|v| v.is_finite()));
            assert_eq!(ct.info().expect("facts").replaced, 2);
            continue;
        }
        let e = result.expect_err("a value below 0");
        assert!(e.status == Status::OutOfRange && e.message.contains("view 4, row 3, bin 11"), "{e}");
        p[(4 * g.rows + 3) * g.bins + 11] = 0.25;
        let e = call(&p, &mut volume).expect_err("a volume with Inf");
        assert!(e.status == Status::NotFiniteData && e.message.contains("volume[2, 5, 7]"), "{e}");
    }
}

/// Both end at a gap, when rounding says so: the objectives lie within these of the same minimum, and so do what both images project to,
/// |A (x - x')|^2 / 2 being at most the sum of the gaps.
#[test]
fn total_variation_comes_to_the_processors_minimum() {
    let Some(context) = gpu() else { return };
    let squares = Fit::Squares;
    let [alone, volume] = [Variation::Slices, Variation::Volume];
    for (slices, wide, mask_radius, upper, fit, variation) in [
        (1, false, 0.0, 1.5, squares, alone),
        (9, true, 0.0, f64::INFINITY, squares, alone),
        (9, false, 0.9, 1.5, squares, alone),
        (9, false, 0.0, 1.5, Fit::Poisson, alone),
        (9, true, 0.0, f64::INFINITY, squares, volume),
        (35, false, 0.9, 1.5, squares, volume),
        (5, false, 0.0, 1.5, Fit::Poisson, volume),
    ] {
        let g = geometry(slices, wide);
        let p = projections(&g);
        let (iterations, regularisation, huber, tolerance) = (3000, 2.0, 0.01, 1e-3);
        let bounds = [0.0, upper];
        let iterative = Iterative {
            iterations,
            regularisation,
            huber,
            bounds,
            mask_radius,
            tolerance,
            fit,
            variation,
            ..Iterative::default()
        };
        let nothing = vec![f32::NAN; g.volume_shape().iter().product()];
        let found = [&context, &super::cpu()].map(|context| {
            let mut ct = plan(context, &g, Algorithm::TotalVariation, &iterative);
            let volume = run(&mut ct, &p, &nothing);
            let last = *ct.history().expect("a history").last().expect("an iteration");
            assert!(last.iteration < iterations && last.gap <= tolerance * last.objective, "{last:?}");
            (volume, last)
        });
        let [(seen, ours), (expected, theirs)] = &found;
        // Rounding of the pair besides.
        let bound = ours.gap + theirs.gap + 1e-5 * theirs.objective;
        assert!((ours.objective - theirs.objective).abs() <= bound, "{ours:?} {theirs:?}");
        let matrix = exact::Matrix::new(&g);
        let all: Vec<usize> = (0..g.views()).collect();
        let pixels = g.ny * g.nx;
        let apart: f64 = seen
            .chunks_exact(pixels)
            .zip(expected.chunks_exact(pixels))
            .map(|(a, b)| {
                let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| f64::from(a - b)).collect();
                matrix.forward(&all, &difference).iter().map(|v| v * v).sum::<f64>()
            })
            .sum();
        // Poisson's law bends by b / (A x)^2: data are 10 and more, rays no longer than the slice's diagonal.
        let longest = g.pixel_size * (g.nx as f64).hypot(g.ny as f64);
        let bends = if fit == Fit::Poisson { 10.0 / (upper * longest).powi(2) } else { 1.0 };
        assert!(0.5 * bends * apart <= 2.0 * bound, "{apart} of {bound}");
    }
}

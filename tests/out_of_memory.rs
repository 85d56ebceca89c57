//! Calls when memory runs out: a status, never the end of the process, and a plan that works as before. The allocator of this
//! program grants a call one large allocation more each time, until it needs no more. (Buffers of 4 MiB and more come straight
//! from the system; sizes here stay below.)

mod common;
#[path = "mri/scan.rs"]
mod mri;
#[path = "pet/scan.rs"]
mod pet;

use common::{on_processor, projection_len, random, volume_len};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{Ct, Filter, Geometry, Interpolation, Options, Output, Pair, Window};
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;
use isocenter::ffi::pet::*;
use isocenter::ffi::tensor::isoc_tensor;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::SeqCst};

/// Smaller ones are always granted: an axis of the sizes here, lists of threads.
const LARGE: usize = 32 << 10;

struct Scarce;

static SCARCE: AtomicBool = AtomicBool::new(false);
/// Large allocations that are granted yet; below 0 after one was refused.
static LEFT: AtomicIsize = AtomicIsize::new(0);

fn granted(bytes: usize) -> bool {
    // One is refused, and those after it granted: what fails is then not hidden by what would fail because of it.
    bytes < LARGE || !SCARCE.load(SeqCst) || LEFT.fetch_sub(1, SeqCst) != 0
}

// SAFETY: the system's allocator does the work; NULL is what an allocator returns when there is no memory.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's contract.
        if granted(layout.size()) { unsafe { System.alloc(layout) } } else { std::ptr::null_mut() }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the caller's contract.
        if granted(layout.size()) { unsafe { System.alloc_zeroed(layout) } } else { std::ptr::null_mut() }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the caller's contract.
        if granted(size) { unsafe { System.realloc(p, layout, size) } } else { std::ptr::null_mut() }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: by the caller's contract.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Scarce = Scarce;

fn walk(name: &str, call: impl FnMut() -> Status) {
    attempts(name, false, call);
}

/// Makes a call again and again, each time with memory for one large allocation more, until it succeeds with none refused. Some
/// calls try again with less at a time.
fn attempts(name: &str, may_try_again: bool, mut call: impl FnMut() -> Status) {
    for grants in 0..1000 {
        LEFT.store(grants, SeqCst);
        SCARCE.store(true, SeqCst);
        let status = call();
        SCARCE.store(false, SeqCst);
        if LEFT.load(SeqCst) >= 0 {
            assert_eq!(status, Status::Ok, "{name}: {}", mri::said());
            println!("{name}: {grants} large allocations at most");
            return;
        }
        assert!(
            status == Status::OutOfMemory || may_try_again && status == Status::Ok,
            "{name}, {grants} large allocations granted: {status:?}, {}",
            mri::said()
        );
    }
    panic!("{name} does not end");
}

/// The only test of this binary, so that nothing else allocates.
#[test]
fn a_call_without_memory_gives_a_status_and_does_no_harm() {
    mri_calls();
    ct_calls();
    pet_calls();
}

fn mri_calls() {
    let grid = [1, 96, 100];
    let spokes = (0..60).flat_map(|spoke| {
        let (sin, cos) = (std::f64::consts::PI * f64::from(spoke) / 60.0).sin_cos();
        (0..100).map(move |s| (f64::from(s) - 50.0) / 101.0).map(move |r| [r * cos, r * sin, 0.0])
    });
    let spokes: Vec<[f64; 3]> = spokes.collect();
    let context = isoc_context_options { threads: 2, ..mri::on(mri::PROCESSOR) };
    let scan = |double| mri::Scan::with(&context, grid, spokes.clone(), 2, double);
    let (image, samples) = (mri::random(9600, 2), mri::random(12000, 3));
    let (maps, weights) = (mri::random(2 * 9600, 4), vec![0.5; 6000]);
    let reals: Vec<f64> = mri::random(2 * 9600, 5).iter().map(|v| v.re).collect();
    let starts: Vec<i64> = (0..=9600).collect();
    let columns: Vec<i64> = (0..9600).rev().collect();
    let k: Vec<f64> = spokes.iter().flat_map(|k| [k[0], k[1]]).collect();
    let k = mri::tensor(&k, &[6000, 2]);
    for (normal, double) in [(1, false), (2, true)] {
        let configure = |s: &mut mri::Scan| {
            s.options(|o| (o.method, o.normal, o.lambda, o.iterations) = (1, normal, 0.1, 2));
            s.set_maps(maps.clone());
        };
        let mut rich = scan(double);
        configure(&mut rich);
        rich.set_weights(weights.clone());
        let expected = rich.to_image(isoc_mri_reconstruct, &samples);

        let mut poor = scan(double);
        let geometry = poor.geometry(1, double);
        // SAFETY (of all calls): valid pointers to arrays of the geometry's sizes.
        #[allow(clippy::undocumented_unsafe_blocks)]
        {
            walk("mri_set_geometry", || unsafe { isoc_mri_set_geometry(poor.mri, &geometry, &k) });
            poor.images = 1;
            configure(&mut poor);
            let (list, of) = (mri::tensor(&weights, &[6000]), mri::tensor(&maps, &[2, 1, 96, 100]));
            walk("mri_set_weights", || unsafe { isoc_mri_set_weights(poor.mri, &list) });
            walk("mri_set_maps", || unsafe { isoc_mri_set_maps(poor.mri, &of) });
            let mut out = image.clone();
            let to = mri::output(&mut out, &poor.image_shape());
            let mut measured = samples.clone();
            let back = mri::output(&mut measured, &poor.scan_shape());
            let from = mri::tensor(&samples, &poor.scan_shape());
            let of = mri::tensor(&image, &poor.image_shape());
            walk("mri_forward", || unsafe { isoc_mri_forward(poor.mri, &of, &back) });
            walk("mri_adjoint", || unsafe { isoc_mri_adjoint(poor.mri, &from, &to) });
            walk("mri_gridding", || unsafe { isoc_mri_gridding(poor.mri, &from, &to) });
            walk("mri_normal", || unsafe { isoc_mri_normal(poor.mri, &of, &to) });
            walk("mri_reconstruct", || unsafe { isoc_mri_reconstruct(poor.mri, &from, &to) });
            assert!(out == expected, "normal {normal}");
            let (dtype, all) = (mri::complex(double), (&raw const samples).cast_mut().cast());
            let stream = |name: &str, call: mri::Stream, at_once, to: &isoc_tensor| {
                walk(name, || unsafe { call(poor.mri, dtype, at_once, Some(mri::read_all), all, to) });
            };
            stream("mri_reconstruct_stream", isoc_mri_reconstruct_stream, 2500, &to);
            let e = mri::error(&out, &expected);
            // Parts are sums of their own: within the transforms' 1e-5 and 1e-9 of the whole, and 2 iterations amplify by less than 100.
            assert!(e < if double { 1e-7 } else { 1e-3 }, "normal {normal}, a stream: {e:.1e}");
            stream("mri_gridding_stream", isoc_mri_gridding_stream, 2500, &to);
            let (mut host, mut gpu) = (0, 0);
            walk("mri_stream_memory", || unsafe { isoc_mri_stream_memory(poor.mri, dtype, 2500, &mut host, &mut gpu) });
            mri::ok(unsafe { isoc_mri_reconstruct(poor.mri, &from, &to) });
            assert!(out == expected, "normal {normal}, after streams");

            let (mut db, mut percent) = (0.0, 0.0);
            walk("mri_compare", || unsafe { isoc_mri_compare(poor.mri, &of, &to, &mut db, &mut percent) });
            let mut read = weights.clone();
            let read = mri::output(&mut read, &[6000]);
            walk("mri_get_weights", || unsafe { isoc_mri_get_weights(poor.mri, &read) });
            if normal == 1 {
                walk("mri_compute_q", || isoc_mri_compute_q(poor.mri));
                let mut info: isoc_mri_info = pet::sized();
                mri::ok(unsafe { isoc_mri_get_info(poor.mri, &mut info) });
                let shape = [info.q_nz, info.q_ny, info.q_nx];
                let mut q = vec![0.0; shape.iter().product::<i64>() as usize];
                let q = mri::output(&mut q, &shape);
                walk("mri_export_q", || unsafe { isoc_mri_export_q(poor.mri, &q) });
                walk("mri_import_q", || unsafe { isoc_mri_import_q(poor.mri, &q) });
            }
            walk("mri_compute_weights, radial", || isoc_mri_compute_weights(poor.mri, 1, 100));
            walk("mri_compute_weights, iterative", || isoc_mri_compute_weights(poor.mri, 0, 2));

            let differences = mri::tensor(&reals, &[2, 1, 96, 100]);
            walk("mri_set_difference_weights", || unsafe { isoc_mri_set_difference_weights(poor.mri, &differences) });
            let values = mri::tensor(&image, &[9600]);
            walk("mri_set_matrix", || unsafe {
                isoc_mri_set_matrix(poor.mri, 9600, starts.as_ptr(), columns.as_ptr(), 9600, &values)
            });
            poor.options(|o| (o.method, o.lambda, o.penalty, o.iterations) = (1, 0.1, 2, 1));
            walk("mri_reconstruct, matrix", || unsafe { isoc_mri_reconstruct(poor.mri, &from, &to) });
            let (basis, times) = (mri::random(2 * 6, 7), (0..6000).map(|m| m / 1000).collect::<Vec<i64>>());
            let columns = mri::tensor(&basis, &[6, 2]);
            walk("mri_set_basis", || unsafe { isoc_mri_set_basis(poor.mri, &columns, times.as_ptr()) });
            poor.options(|o| (o.method, o.normal, o.lambda, o.penalty, o.iterations) = (1, normal, 0.1, 1, 1));
            let mut both = vec![mri::C::default(); 2 * 9600];
            let two = mri::output(&mut both, &[2, 1, 96, 100]);
            walk("mri_reconstruct, basis", || unsafe { isoc_mri_reconstruct(poor.mri, &from, &two) });
            mri::ok(unsafe { isoc_mri_set_basis(poor.mri, std::ptr::null(), std::ptr::null()) });
            walk("mri_set_windows", || isoc_mri_set_windows(poor.mri, 4000, 2000));
            walk("mri_reconstruct, windows", || unsafe { isoc_mri_reconstruct(poor.mri, &from, &two) });
            stream("mri_reconstruct_stream, windows", isoc_mri_reconstruct_stream, 0, &two);
            walk("mri_compute_weights, windows", || isoc_mri_compute_weights(poor.mri, 1, 100));
            let no_frames = std::ptr::null();
            mri::ok(unsafe { isoc_mri_set_frames(poor.mri, 0, no_frames, no_frames) });
            let ellipse = isoc_mri_ellipsoid {
                value: 1.0,
                x: 0.0,
                y: 0.0,
                z: 0.0,
                semi_x: 20.0,
                semi_y: 30.0,
                semi_z: 1.0,
                angle: 0.1,
            };
            let one = mri::output(&mut measured, &[6000]);
            walk("mri_phantom_samples", || unsafe { isoc_mri_phantom_samples(poor.mri, &ellipse, 1, &one) });
            walk("mri_phantom_image", || unsafe { isoc_mri_phantom_image(poor.mri, &ellipse, 1, &to) });
        }
    }
    let exact = scan(false);
    exact.options(|o| o.method = 2);
    let pictures = mri::random(2 * 9600, 6);
    let expected = exact.forward(&pictures);
    let mut measured = vec![mri::C::default(); 12000];
    let (of, to) = (mri::tensor(&pictures, &exact.image_shape()), mri::output(&mut measured, &exact.scan_shape()));
    let (hertz, seconds) = (mri::tensor(&reals[..9600], &[1, 96, 100]), mri::tensor(&reals[..6000], &[6000]));
    let places = mri::tensor(&reals, &[1, 96, 100, 2]);
    // SAFETY (of all calls): as above.
    #[allow(clippy::undocumented_unsafe_blocks)]
    {
        walk("mri_forward, separable", || unsafe { isoc_mri_forward(exact.mri, &of, &to) });
        assert!(measured == expected);
        walk("mri_set_field", || unsafe { isoc_mri_set_field(exact.mri, &hertz, &seconds, std::ptr::null()) });
        walk("mri_set_positions", || unsafe { isoc_mri_set_positions(exact.mri, &places) });
        walk("mri_forward, direct", || unsafe { isoc_mri_forward(exact.mri, &of, &to) });
    }
}

fn ct_calls() {
    // Many views; slices. (Tables for the transforms of long rows are the business of rustfft, which cannot fail.)
    for (views, bins, rows, side) in [(6000, 40, 1, 100), (60, 120, 9, 110)] {
        let angles = (0..views).map(|v| std::f64::consts::PI * f64::from(v) / f64::from(views)).collect();
        let mut g = Geometry::new(angles, bins).with_rows(rows);
        (g.nx, g.ny) = (side, side);
        let (p, v) = (random(projection_len(&g), 1), random(volume_len(&g), 2));
        for interpolation in [Interpolation::Linear, Interpolation::Oversampled, Interpolation::BandLimited] {
            let plan = || {
                let options = ContextOptions { threads: 2, ..on_processor() };
                Ct::new(Arc::new(Context::new(options).expect("a context")))
            };
            let banded = interpolation == Interpolation::BandLimited;
            let pair = if banded { Pair::BandLimited } else { Pair::Joseph };
            let options = Options { interpolation, pair, filter: Filter::Hann { cutoff: 0.9 }, ..Options::default() };
            let mut rich = plan();
            rich.set_geometry(g.clone()).expect("a geometry");
            rich.set_options(options.clone()).expect("options");
            let expected = common::to_volume(&mut rich, &g, Ct::reconstruct, &p);

            let mut ct = plan();
            ct.set_options(options).expect("options");
            let said = |r: isocenter::error::Result<()>| r.map_or_else(|e| e.status, |()| Status::Ok);
            let mut copies: Vec<Geometry> = (0..200).map(|_| g.clone()).collect();
            walk("ct_set_geometry", || said(ct.set_geometry(copies.pop().expect("a copy"))));
            let from = || Array::new(&p, g.projection_shape()).expect("projections");
            let of = || Array::new(&v, g.volume_shape()).expect("a volume");
            let (mut volume, mut out) = (vec![0.0; v.len()], vec![0.0; p.len()]);
            walk("ct_filter", || said(ct.filter(from(), ArrayMut::new(&mut out, g.projection_shape()).expect("room"))));
            attempts("ct_forward", rows > 1, || {
                said(ct.forward(of(), ArrayMut::new(&mut out, g.projection_shape()).expect("room")))
            });
            let mut to_volume = |name: &str, run: common::Operator| {
                attempts(name, rows > 1, || {
                    said(run(&mut ct, from(), ArrayMut::new(&mut volume, g.volume_shape()).expect("room")))
                });
            };
            to_volume("ct_backproject", Ct::backproject);
            to_volume("ct_adjoint", Ct::adjoint);
            to_volume("ct_reconstruct", Ct::reconstruct);
            assert!(volume == expected, "{views} views, {bins} bins, {rows} rows, {interpolation:?}");

            // Of what is repeated for want of memory nothing counts twice.
            let window = Some(Window::Percentiles { low: 0.0, high: 100.0, slices: Some(4) });
            let output = Output { dtype: DType::U8, window, histogram_bins: 256, ..Output::default() };
            ct.set_output(output).expect("an output");
            let mut stored = vec![0u8; v.len()];
            attempts("ct_reconstruct, u8 from percentiles", rows > 1, || {
                let to = ArrayMut::of(&mut stored, g.volume_shape()).expect("room");
                let status = said(ct.reconstruct(from(), to));
                if status == Status::Ok {
                    let mut counts = vec![0; 256];
                    stored.iter().for_each(|k| counts[usize::from(*k)] += 1);
                    assert!(ct.written().is_ok_and(|w| w.histogram == counts), "{rows} rows, {interpolation:?}");
                }
                status
            });
        }
    }
}

fn pet_calls() {
    let (shape, voxel) = ([16, 84, 80], [4.0, 4.0, 4.0]);
    let views = [[0.0, 0.0], [0.8, 0.1], [1.6, 0.0], [2.4, -0.1]];
    let varying = || pet::widening(pet::response(200.0, 9.0, 9.0), &[[0.0, 8.0], [120.0, 13.0]]);
    for projector in [1, 2] {
        let options = isoc_pet_options { projector, iterations: 1, ..pet::sized() };
        let context = isoc_context_options { threads: 2, ..pet::on(pet::PROCESSOR) };
        let plan = || pet::Plan::with(&context, shape, voxel, &views);
        let rich = plan();
        rich.set_options(&options);
        rich.set_response(&varying());
        let histos = pet::noise(4 * rich.voxels(), 1);
        let image = pet::noise(rich.voxels(), 2);
        let expected = rich.reconstruct(&histos, Some(&histos), Some(&histos));

        let poor = plan();
        poor.set_options(&options);
        let (mut out, mut volume) = (histos.clone(), image.clone());
        let (of, from) = (pet::tensor(&image, &shape), pet::tensor(&histos, &poor.histos(4)));
        let (to, back) = (pet::output(&mut volume, &shape), pet::output(&mut out, &poor.histos(4)));
        let (response, list) = (varying(), [0i64, 1, 2, 3]);
        // SAFETY (of all calls): valid pointers to arrays of the geometry's sizes.
        #[allow(clippy::undocumented_unsafe_blocks)]
        {
            walk("pet_set_response", || unsafe { isoc_pet_set_response(poor.pet, &response) });
            walk("pet_forward", || unsafe { isoc_pet_forward(poor.pet, list.as_ptr(), 4, &of, &back) });
            walk("pet_adjoint", || unsafe { isoc_pet_adjoint(poor.pet, list.as_ptr(), 4, &from, &to) });
            walk("pet_sensitivity", || unsafe { isoc_pet_sensitivity(poor.pet, &from, &to) });
            walk("pet_reconstruct", || unsafe { isoc_pet_reconstruct(poor.pet, &from, &from, &from, &to) });
            assert!(volume == expected, "projector {projector}");
            let mut bytes = 0;
            walk("pet_memory", || unsafe { isoc_pet_memory(poor.pet, &mut bytes) });
        }
    }
    pet_corrections();
}

/// Factors, randoms and scatter of a scanner, of arrays that are all large, and lists of its events.
fn pet_corrections() {
    let (shape, voxel) = ([12, 30, 28], [8.0, 8.0, 8.0]);
    let context = isoc_context_options { threads: 2, ..pet::on(pet::PROCESSOR) };
    let plan = pet::Plan::with(&context, shape, voxel, &[[0.0, 0.0], [1.6, 0.0]]);
    let (around, rings) = (240, 12);
    let turn = std::f64::consts::TAU / around as f64;
    let crystal = |k: usize| (turn * (k % around) as f64, 10.0 * (k / around) as f64 - 55.0);
    let (positions, normals): (Vec<_>, Vec<_>) = (0..around * rings)
        .map(crystal)
        .map(|(angle, z)| ([200.0 * angle.cos(), 200.0 * angle.sin(), z], [-angle.cos(), -angle.sin(), 0.0]))
        .unzip();
    let positions = pet::tensor(positions.as_flattened(), &[around * rings, 3]);
    let normals = pet::tensor(normals.as_flattened(), &[around * rings, 3]);
    let scanner = isoc_pet_scanner { crystal_width: 5.3, crystal_height: 10.0, ..pet::sized() };

    let rates = vec![1e3f32; around * rings];
    let (map, image, histos) = (vec![0.01f32; plan.voxels()], vec![1f32; plan.voxels()], vec![1f32; 2 * plan.voxels()]);
    let pairs: Vec<u32> = (0..1 << 14).map(|k| (k * 7919) % (around * rings) as u32).collect();
    let times = vec![0f32; pairs.len() / 2];
    let rates = pet::tensor(&rates, &[around * rings]);
    let (map, image) = (pet::tensor(&map, &shape), pet::tensor(&image, &shape));
    let counts = pet::tensor(&histos, &plan.histos(2));
    let (pairs, times) = (pet::tensor(&pairs, &[times.len(), 2]), pet::tensor(&times, &[times.len()]));
    let mut out = histos.clone();
    let to = pet::output(&mut out, &plan.histos(2));
    let few = isoc_pet_factor_options { directions: 1, ..pet::sized() };
    let scatter = isoc_pet_scatter_options { factors: &few, tof_fwhm: 400.0, spacing: 60.0, ..pet::sized() };
    let (mut host, mut gpu, nothing) = (0, 0, std::ptr::null_mut());
    // SAFETY (of all calls): valid pointers to arrays of the geometry's and the scanner's sizes.
    #[allow(clippy::undocumented_unsafe_blocks)]
    {
        walk("pet_set_scanner", || unsafe { isoc_pet_set_scanner(plan.pet, &scanner, &positions, &normals) });
        walk("pet_factors", || unsafe { isoc_pet_factors(plan.pet, &few, &rates, &map, &to) });
        walk("pet_factors_memory", || unsafe { isoc_pet_factors_memory(plan.pet, &few, &map, &mut host, &mut gpu) });
        walk("pet_randoms", || unsafe { isoc_pet_randoms(plan.pet, 60.0, 0.0, 1, &rates, &to) });
        walk("pet_randoms_memory", || unsafe { isoc_pet_randoms_memory(plan.pet, 1, &mut host, &mut gpu) });
        walk("pet_scatter", || unsafe {
            isoc_pet_scatter(plan.pet, &scatter, &image, &rates, &map, &counts, &counts, &to, std::ptr::null_mut())
        });
        walk("pet_scatter_memory", || unsafe {
            isoc_pet_scatter_memory(plan.pet, &scatter, &map, &mut host, &mut gpu)
        });
        // What looks at units does without.
        attempts("pet_deposit_crystals", true, || unsafe {
            isoc_pet_deposit_crystals(plan.pet, &pairs, &times, std::ptr::null(), 0, &to, nothing)
        });
    }
}

//! Samples that a callback brings, against the same in one array, on the device that the test program names.

use super::device;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;
use isocenter::ffi::tensor::isoc_tensor;
use std::ffi::c_void;

const COILS: usize = 3;
const SAMPLES: usize = 200;

/// What a callback gives, and what it was asked for.
struct Source {
    samples: Vec<C>,
    single: bool,
    asked: Vec<(usize, usize)>,
    thread: std::thread::ThreadId,
    /// The call that fails.
    stop_at: usize,
}

impl Source {
    fn new(samples: Vec<C>, single: bool) -> Self {
        Self { samples, single, asked: Vec::new(), thread: std::thread::current().id(), stop_at: usize::MAX }
    }
}

unsafe extern "C" fn read(user: *mut c_void, first: i64, count: i64, to: *const isoc_tensor) -> i32 {
    // SAFETY: the library's tensor; nobody else has the source.
    let (source, tensor) = unsafe { (&mut *user.cast::<Source>(), *to) };
    assert_eq!(source.thread, std::thread::current().id(), "callbacks come from the calling thread");
    source.asked.push((first as usize, count as usize));
    // SAFETY: of two dimensions.
    assert_eq!(unsafe { std::slice::from_raw_parts(tensor.shape, 2) }, [COILS as i64, count]);
    // SAFETY: the library's tensor.
    unsafe { fill(&source.samples, first as usize, &tensor) };
    if source.asked.len() > source.stop_at { 5 } else { 0 }
}

fn stream(scan: &Scan, call: Stream, source: &mut Source, at_once: i64, out: &mut [C]) -> Status {
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    let shape = [out.len() as i64 / (nz * ny * nx), nz, ny, nx];
    let dtype = complex(!source.single);
    source.asked.clear();
    // SAFETY: valid pointers.
    unsafe { call(scan.mri, dtype, at_once, Some(read), (&raw mut *source).cast(), &output(out, &shape)) }
}

fn of_array(scan: &Scan, call: Run, samples: &[C], images: usize) -> Vec<C> {
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    let mut out = vec![C::default(); images * scan.voxels()];
    let to = output(&mut out, &[images as i64, nz, ny, nx]);
    // SAFETY: valid pointers.
    ok(unsafe { call(scan.mri, &tensor(samples, &scan.scan_shape()), &to) });
    out
}

fn scan(device: u32, mapped: bool, double: bool) -> Scan {
    let mut scan = Scan::new(device, [1, 14, 12], points(SAMPLES, 2, 1), COILS, double);
    scan.set_weights((0..SAMPLES).map(|m| 0.3 + (m % 7) as f64 * 0.3).collect());
    if mapped {
        scan.set_maps(random(COILS * scan.voxels(), 4));
    }
    scan
}

/// Sums over parts are those of the whole, to the tolerance of transforms: the plan's 1e-9 and 1e-5, or exact sums, whose parts are rounded
/// (1e-13). Solutions of random samples amplify a right-hand side's error by the condition of F^H W F + lambda, at most 1e3 here; both go by
/// the same Q.
#[test]
fn parts_make_the_image_of_the_whole() {
    let Some(device) = device() else { return };
    for (double, method, bound) in [(true, 1, 2e-9), (true, 2, 1e-12), (false, 1, 3e-5)] {
        for (mapped, penalty, normal) in [(true, 0, 0), (true, 3, 1), (false, 0, 1), (true, 0, 2), (false, 4, 1)] {
            let scan = scan(device, mapped, double);
            let set = |o: &mut isoc_mri_options| {
                (o.method, o.penalty, o.normal, o.lambda, o.iterations) = (method, penalty, normal, 5.0, 12)
            };
            scan.options(set);
            let mut source = Source::new(random(COILS * SAMPLES, 7), !double);
            let images = if mapped { 1 } else { COILS };
            let mut out = vec![C::default(); images * scan.voxels()];
            let name = format!("double {double}, method {method}, maps {mapped}, penalty {penalty}, normal {normal}");
            let gridded = of_array(&scan, isoc_mri_gridding, &source.samples, images);
            let solved = of_array(&scan, isoc_mri_reconstruct, &source.samples, images);
            let history = scan.history(0);
            for (at_once, expected) in [(64, 4), (0, 1), (200, 1), (1000, 1), (199, 2)] {
                ok(stream(&scan, isoc_mri_gridding_stream, &mut source, at_once, &mut out));
                let mut next = 0;
                for (first, count) in &source.asked {
                    assert_eq!(*first, next, "{name}: in order, each once");
                    next += count;
                }
                assert_eq!((source.asked.len(), next), (expected, SAMPLES), "{name}");
                let e = error(&out, &gridded);
                assert!(e <= bound, "{name}, {at_once} at once: gridding {e:.1e}");
                ok(stream(&scan, isoc_mri_reconstruct_stream, &mut source, at_once, &mut out));
                let e = error(&out, &solved);
                assert!(e <= 1e3 * bound, "{name}, {at_once} at once: {e:.1e}");
                assert_eq!(scan.history(0).len(), history.len(), "{name}");
            }
        }
    }
}

/// A basis and a field have an effect on each sample that parts keep.
#[test]
fn parts_know_their_samples() {
    let Some(device) = device() else { return };
    let mut scan = scan(device, true, true);
    let hertz = random(scan.voxels(), 5).iter().map(|v| 100.0 * v.re).collect();
    scan.set_field(hertz, (0..SAMPLES).map(|m| 1e-4 * m as f64).collect());
    let mut source = Source::new(random(COILS * SAMPLES, 7), false);
    for images in [1, 2] {
        if images == 2 {
            let basis = random(SAMPLES * 2, 9);
            // SAFETY: valid pointers.
            ok(unsafe { isoc_mri_set_basis(scan.mri, &tensor(&basis, &[SAMPLES as i64, 2]), std::ptr::null()) });
        }
        let expected = of_array(&scan, isoc_mri_gridding, &source.samples, images);
        let mut out = vec![C::default(); expected.len()];
        ok(stream(&scan, isoc_mri_gridding_stream, &mut source, 48, &mut out));
        // Each part's field is a sum of products of its own, within 1e-9.
        let e = error(&out, &expected);
        assert!(e <= 4e-9, "{images} images: {e:.1e}");
    }
}

/// Frames are those of an array: each is read as a whole, and computed in the same way.
#[test]
fn frames_are_read_one_by_one() {
    let Some(device) = device() else { return };
    let scan = scan(device, true, true);
    ok(isoc_mri_set_windows(scan.mri, 100, 50));
    let mut source = Source::new(random(COILS * SAMPLES, 8), false);
    for (penalty, joint) in [(0, 0), (5, 0), (4, 1)] {
        scan.options(|o| (o.penalty, o.joint, o.lambda, o.iterations) = (penalty, joint, 5.0, 6));
        let expected = of_array(&scan, isoc_mri_reconstruct, &source.samples, 3);
        let mut out = vec![C::default(); expected.len()];
        ok(stream(&scan, isoc_mri_reconstruct_stream, &mut source, 0, &mut out));
        assert_eq!(source.asked, [(0, 100), (50, 100), (100, 100)]);
        let e = error(&out, &expected);
        assert!(e <= if device == PROCESSOR { 0.0 } else { 1e-12 }, "penalty {penalty}: {e:.1e}");
    }
    let expected = of_array(&scan, isoc_mri_gridding, &source.samples, 3);
    let mut out = vec![C::default(); expected.len()];
    ok(stream(&scan, isoc_mri_gridding_stream, &mut source, 100, &mut out));
    assert!(error(&out, &expected) <= if device == PROCESSOR { 0.0 } else { 1e-12 });
    assert_eq!(stream(&scan, isoc_mri_gridding_stream, &mut source, 99, &mut out), Status::OutOfRange);
    assert!(said().contains("the longest has 100"), "{}", said());
}

/// A stream goes on from an image, stops where it is told to, and writes nothing then.
#[test]
fn streams_begin_and_stop() {
    let Some(device) = device() else { return };
    let scan = scan(device, true, true);
    scan.options(|o| (o.lambda, o.iterations, o.residual) = (5.0, 100, 1e-10));
    let mut source = Source::new(random(COILS * SAMPLES, 7), false);
    let mut out = vec![C::default(); scan.voxels()];
    ok(stream(&scan, isoc_mri_reconstruct_stream, &mut source, 30, &mut out));
    let solved = out.clone();
    scan.options(|o| (o.lambda, o.iterations, o.residual, o.warm_start) = (5.0, 1, 1e-10, 1));
    ok(stream(&scan, isoc_mri_reconstruct_stream, &mut source, 30, &mut out));
    let e = error(&out, &solved);
    assert!(e <= 1e-6, "{e:.1e}");
    let before = out.clone();
    for stop_at in [0, 1, 6] {
        source.stop_at = stop_at;
        assert_eq!(stream(&scan, isoc_mri_reconstruct_stream, &mut source, 30, &mut out), Status::Callback);
        assert!(said().contains(&format!("read returned 5 for samples {}", 30 * stop_at)), "{}", said());
        assert_eq!(out, before);
    }
    source.stop_at = usize::MAX;
    source.samples[SAMPLES + 65] = C::new(f64::NAN, 0.0);
    assert_eq!(stream(&scan, isoc_mri_reconstruct_stream, &mut source, 30, &mut out), Status::NotFiniteData);
    assert!(said().contains("from sample 60 on, samples[1, 5] is NaN"), "{}", said());
    assert_eq!(out, before);
}

/// What a stream is said to need is enough, on the host and on a GPU, and calls in memory come between streams under the same caps.
#[test]
fn streams_need_what_they_say() {
    let Some(device) = device() else { return };
    let mut source = Source::new(random(COILS * SAMPLES, 7), false);
    for at_once in [30, 200] {
        let make = |memory_cap, gpu_memory_cap| {
            let options = isoc_context_options { memory_cap, gpu_memory_cap, ..on(device) };
            let mut scan = Scan::with(&options, [1, 14, 12], points(SAMPLES, 2, 1), COILS, true);
            scan.set_maps(random(COILS * scan.voxels(), 4));
            scan.options(|o| (o.lambda, o.iterations) = (5.0, 5));
            scan
        };
        let free = make(0, 0);
        let (mut host, mut gpu, mut call) = (0, 0, 0);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_stream_memory(free.mri, complex(true), at_once, &mut host, &mut gpu) });
        // SAFETY: as above.
        ok(unsafe { isoc_mri_memory(free.mri, &mut call) });
        let buffers = if at_once < SAMPLES as i64 { 2 } else { 1 } * at_once as u64 * COILS as u64 * 16;
        if device == PROCESSOR {
            assert!(host > buffers && gpu == 0, "{host} and {gpu}");
        } else {
            assert!(host == buffers && gpu > 0, "{host} and {gpu}");
        }
        let scan = if device == PROCESSOR { make(host.max(call), 0) } else { make(host, gpu.max(call)) };
        let mut out = vec![C::default(); scan.voxels()];
        for _ in 0..2 {
            ok(stream(&scan, isoc_mri_reconstruct_stream, &mut source, at_once, &mut out));
            let whole = of_array(&scan, isoc_mri_reconstruct, &source.samples, 1);
            let e = error(&out, &whole);
            // Transforms of 1e-9, amplified by no more than 1e3: see above.
            assert!(e <= 2e-6, "{at_once} at once: {e:.1e}");
        }
    }
}

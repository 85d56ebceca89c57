//! The same bits under every circumstance: again, in little memory, beside another plan, after a cancel.

use super::array::{Array, Kind, Layout, call, same};
use super::scan::*;
use super::{device, everything};
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;
use std::ffi::{CStr, c_char, c_void};
use std::thread::{self, ThreadId};

/// Most of them in the middle or at a corner, so close together that they touch the same grid points.
fn clustered(count: usize, dims: usize, seed: u64) -> Vec<[f64; 3]> {
    let mut k = points(count, dims, seed);
    for (m, k) in k.iter_mut().enumerate().filter(|(m, _)| m % 8 != 0) {
        *k = k.map(|v| if m % 2 == 0 { 0.02 * v } else { 0.004 * v - 0.498 });
    }
    k.iter_mut().for_each(|k| k[dims..].fill(0.0));
    k
}

#[test]
fn ten_runs_give_the_same_bits() {
    let Some(_) = device() else { return };
    for (grid, count) in [([1, 40, 50], 60_000), ([18, 40, 20], 60_000)] {
        let dims = if grid[0] == 1 { 2 } else { 3 };
        for double in [false, true] {
            // By Q, by pairs of fast transforms, by exact sums, and the first two with a field map.
            for (method, normal, field, count) in [
                (1, 1, false, count),
                (1, 2, false, count),
                (2, 2, false, 3000),
                (0, 2, true, 1000),
                (0, 1, true, 1000),
            ] {
                let run = || {
                    let mut scan = Scan::new(GPU, grid, clustered(count, dims, 1), 3, double);
                    scan.set_weights((0..count).map(|m| 0.1 + (m % 9) as f64).collect());
                    scan.set_maps(random(3 * scan.voxels(), 2));
                    if field {
                        let hertz = random(scan.voxels(), 3).iter().map(|v| 100.0 * v.re).collect();
                        scan.set_field(hertz, (0..count).map(|m| 1e-5 * m as f64).collect());
                    }
                    scan.options(|o| (o.method, o.normal, o.iterations) = (method, normal, 3));
                    // The second time without any preparation.
                    let first = everything(&scan);
                    assert!(same(&first, &everything(&scan)), "{grid:?}, {double}, {method}, {normal}: again");
                    first
                };
                let first = run();
                for _ in 0..4 {
                    assert!(same(&first, &run()), "{grid:?}, double {double}, method {method}, normal {normal}");
                }
            }
        }
    }
}

#[test]
fn plans_of_several_threads_do_not_meet() {
    let Some(_) = device() else { return };
    let run = |seed| {
        let mut scan = Scan::new(GPU, [9, 20, 22], points(9000, 3, seed), 4, false);
        scan.set_maps(random(4 * scan.voxels(), seed));
        scan.options(|o| o.iterations = 4);
        everything(&scan)
    };
    let expected = [run(1), run(2)];
    thread::scope(|scope| {
        for t in 0..4 {
            let (run, expected) = (&run, &expected);
            scope.spawn(move || (0..3).for_each(|_| assert!(same(&run(1 + t % 2), &expected[t as usize % 2]), "{t}")));
        }
    });
}

/// Planes of 12 spokes of 32, each turned against the one before.
pub(super) fn stars(planes: usize, turned: f64) -> Vec<[f64; 3]> {
    let at = |m: usize| {
        let (plane, spoke, r) = (m / (12 * 32), m / 32 % 12, m % 32);
        let (sin, cos) = (2.399_963 * spoke as f64 + turned * plane as f64).sin_cos();
        let along = (r as f64 - 16.0) / 32.0;
        [along * cos, along * sin, (plane as f64 - (planes / 2) as f64) / planes as f64]
    };
    (0..planes * 12 * 32).map(at).collect()
}

/// The number of bytes that a message of too little memory asks for.
pub(super) fn asked_for(message: &str) -> u64 {
    let (_, after) = message.split_once("at least ").unwrap_or_else(|| panic!("no \"at least\" in {message}"));
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number in {message}"))
}

/// 1 MB is less than the image alone, in every precision. With what the message asks for, and with anything between that and what
/// isoc_mri_memory tells, results are the same.
#[test]
fn little_memory_changes_no_bit_or_is_refused() {
    let Some(_) = device() else { return };
    const CAP: u64 = 1 << 20;
    let grid = [56, 64, 60];
    let anywhere = |count| points(count, 3, 11);
    // Anywhere, in planes that are alike, and in planes that are not.
    for (double, maps, method, normal, coils, k) in [
        (false, true, 1, 1, 9, anywhere(40_000)),
        // On the GPU from the beginning.
        (false, true, 1, 1, 9, anywhere(90_000)),
        (true, false, 1, 2, 2, anywhere(90_000)),
        (false, false, 1, 1, 9, anywhere(40_000)),
        (true, true, 1, 2, 9, anywhere(40_000)),
        (false, true, 2, 2, 5, anywhere(1000)),
        (true, false, 2, 1, 3, anywhere(1000)),
        (false, true, 1, 2, 9, stars(56, 0.0)),
        (false, false, 1, 1, 9, stars(56, 0.3)),
        (true, true, 1, 2, 5, stars(56, 0.3)),
    ] {
        let count = k.len();
        let case = format!("double {double}, maps {maps}, method {method}, normal {normal}");
        let scan = |gpu_memory_cap| {
            let options = isoc_context_options { gpu_memory_cap, ..on(GPU) };
            let mut scan = Scan::with(&options, grid, k.clone(), coils, double);
            scan.set_weights((0..count).map(|m| 0.1 + (m % 9) as f64).collect());
            if maps {
                scan.set_maps(random(coils * scan.voxels(), 12));
            }
            scan.options(|o| (o.method, o.normal, o.iterations) = (method, normal, 2));
            scan
        };
        let kind = Kind::host(true);
        let small = scan(CAP);
        let samples = random(coils * count, 13);
        let mut given = Array::complex(&samples, &small.scan_shape(), kind);
        let mut image = Array::empty(&small.image_shape(), kind, 2);
        assert_eq!(call(&small, isoc_mri_reconstruct, &mut given, &mut image), Status::MemoryCap, "{case}");
        let said = said();
        assert!(said.contains(&format!("{CAP} bytes")), "{case}: {said}");
        assert!(image.is_untouched(), "{case}: nothing is written");
        let min = asked_for(&said);
        let free = scan(0);
        let mut max = 0;
        // SAFETY: a valid pointer.
        ok(unsafe { isoc_mri_memory(free.mri, &mut max) });
        println!("{case}: {min} to {max} bytes");
        assert!(CAP < min && min <= max, "{case}: {min} of {max}");
        let expected = everything(&free);
        for cap in [min, min + (max - min) / 3, max] {
            assert!(same(&everything(&scan(cap)), &expected), "{case}: {cap} bytes, of {min} to {max}");
        }
        // A little less than the least is too little.
        let small = scan(min / 10 * 9);
        assert_eq!(call(&small, isoc_mri_reconstruct, &mut given, &mut image), Status::MemoryCap, "{case}");
    }
}

struct Watch {
    thread: ThreadId,
    /// Called from another thread.
    elsewhere: bool,
    /// Reports of the solution.
    seen: usize,
    /// Cancels at this one.
    last: usize,
}

/// # Safety
/// `user` is a Watch.
unsafe extern "C" fn watch(user: *mut c_void, _: f64, stage: *const c_char) -> i32 {
    // SAFETY: by this function's contract, and the library calls it from one thread at a time.
    let watch = unsafe { &mut *user.cast::<Watch>() };
    watch.elsewhere |= thread::current().id() != watch.thread;
    // SAFETY: a name that stays.
    if unsafe { CStr::from_ptr(stage) } == c"solve" {
        watch.seen += 1;
    }
    i32::from(watch.seen >= watch.last)
}

/// The solution would go on until its residual is no number any more, hundreds of iterations of milliseconds each, and is cancelled
/// at the second report of it.
#[test]
fn a_cancel_leaves_the_image() {
    let Some(_) = device() else { return };
    let (grid, coils, count) = ([60, 64, 70], 9, 60_000);
    for to in [Kind::host(false), Kind::gpu(Layout::Contiguous, false), Kind::gpu(Layout::Gaps, true)] {
        for normal in [1, 2] {
            let mut state = Watch { thread: thread::current().id(), elsewhere: false, seen: 0, last: 2 };
            let user: *mut Watch = &mut state;
            let options = isoc_context_options { progress: Some(watch), progress_user: user.cast(), ..on(GPU) };
            let scan = |options| {
                let mut scan = Scan::with(options, grid, points(count, 3, 21), coils, true);
                scan.set_maps(random(coils * scan.voxels(), 22));
                scan
            };
            let watched = scan(&options);
            watched.options(|o| (o.normal, o.iterations, o.residual) = (normal, 1 << 20, 1e-300));
            let samples = random(coils * count, 23);
            let mut given = Array::complex(&samples, &watched.scan_shape(), Kind { gpu: to.gpu, ..Kind::host(true) });
            let mut image = Array::empty(&watched.image_shape(), to, 2);
            let status = call(&watched, isoc_mri_reconstruct, &mut given, &mut image);
            assert_eq!(status, Status::Cancelled, "{to:?}, normal {normal}");
            assert!(image.is_untouched(), "{to:?}, normal {normal}");
            // The plan is as good as a new one, and asks again only for what it lacks.
            // SAFETY: no call is under way.
            unsafe { (*user).last = usize::MAX };
            let few = |scan: &Scan| {
                scan.options(|o| (o.normal, o.iterations) = (normal, 3));
                scan.to_image(isoc_mri_reconstruct, &samples)
            };
            assert!(same(&few(&watched), &few(&scan(&on(GPU)))), "{to:?}, normal {normal}: afterwards");
            // SAFETY: as above.
            assert!(unsafe { !(*user).elsewhere }, "progress is for the calling thread");
        }
    }
}

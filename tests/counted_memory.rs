//! What `Ct::memory`, `isoc_mri_stream_memory`, `isoc_mri_maps_memory` and the memory calls of PET's corrections and lines promise, against an allocator that counts. (Buffers of 4 MiB and more come straight from the system;
//! sizes here stay below.)

mod common;
#[path = "mri/scan.rs"]
mod mri;
#[path = "pet/counted.rs"]
mod pet;

use common::on_processor;
use common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{
    Ct, Distortion, FlatFieldOptions, FlatFitOptions, Geometry, HalfAcquisition, InputKind, Interpolation, Options,
    OutlierSide, OutlierUnit, Outliers, Output, Phase, PhaseMethod, Slab, Stripes, Vo, Window,
};
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Lists of terms, tasks and views, and the tables of the transforms: what does not grow with slices.
fn small(bins: usize) -> usize {
    (24 << 10) + 40 * bins
}

/// The only test of this binary, so that nothing else allocates.
#[test]
fn promises_are_kept() {
    reconstruct_takes_what_memory_says();
    a_stream_stays_within_the_cap();
    stored_volumes_take_what_memory_says();
    stages_take_what_memory_says();
    a_fit_takes_what_it_asks_for();
    mri_streams_take_what_memory_says();
    joint_maps_take_what_memory_says();
    pet::corrections_take_what_memory_says();
    pet::lines_take_what_memory_says();
    pet::efficiencies_stay_below_the_cap();
}

/// Bytes beyond what was there before.
fn taken(work: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed) - before
}

fn reconstruct_takes_what_memory_says() {
    let scans = [
        (200, 1, 1 << 30),
        (100, 9, 1 << 30),
        (100, 9, 700_000),
        (100, 40, 3_000_000),
        (400, 8, 4_000_000),
        (4000, 3, 4_000_000),
    ];
    let plans = [
        (1, Interpolation::Linear),
        (4, Interpolation::Linear),
        (2, Interpolation::Oversampled),
        (2, Interpolation::BandLimited),
    ];
    for (bins, rows, cap) in scans {
        for (threads, interpolation) in plans {
            let mut g = Geometry::new(scene::half_turn(40), bins).with_rows(rows);
            (g.nx, g.ny) = (bins.min(300), bins.min(290));
            let options = ContextOptions { threads, memory_cap: cap, ..on_processor() };
            let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
            ct.set_geometry(g.clone()).expect("a geometry");
            ct.set_options(Options { interpolation, ..Options::default() }).expect("options");
            let (p, mut v) = (random(projection_len(&g), 1), vec![0.0; volume_len(&g)]);
            let promised = ct.memory().expect("a cap that is enough") as usize;
            let (from, to) = (Array::new(&p, g.projection_shape()), ArrayMut::new(&mut v, g.volume_shape()));
            let taken = taken(|| ct.reconstruct(from.expect("projections"), to.expect("a volume")).expect("success"));
            println!(
                "{bins} bins, {rows} rows, {threads} threads, {interpolation:?}: {taken} taken, {promised} promised, cap {cap}"
            );
            assert!(promised as u64 <= cap, "{promised} promised under a cap of {cap}");
            assert!(
                taken <= promised + small(bins),
                "{bins} bins, {rows} rows, {threads} threads: {taken} taken, {promised} promised"
            );
        }
    }
}

/// The slabs' arrays and the work on them together.
fn a_stream_stays_within_the_cap() {
    for (views, slices, cap) in [(16, 64, 3_000_000), (16, 64, 1_500_000), (300, 40, 3_000_000), (16, 64, 400_000)] {
        let g = Geometry::new(scene::half_turn(views), 128).with_rows(slices);
        let options = ContextOptions { threads: 2, memory_cap: cap, ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(g).expect("a geometry");
        let fill = |slab: Slab| {
            // SAFETY: as many elements as the shape says.
            unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) }.fill(1.0);
            Ok(())
        };
        let mut slabs = 0;
        let taken = taken(|| {
            let write = |_: Slab| {
                slabs += 1;
                Ok(())
            };
            ct.reconstruct_stream(DType::F32, fill, write).expect("success");
        });
        println!("{views} views, {slices} slices: {slabs} slabs, {taken} taken, cap {cap}");
        assert!(slabs > 1 && taken <= cap as usize + small(128), "{taken} taken under a cap of {cap}, {slabs} slabs");
    }
}

/// Stages before the filter, all of them in memory and in slabs.
fn stages_take_what_memory_says() {
    let outliers = |window| {
        Some(Outliers { window, depth: 3, unit: OutlierUnit::Noise, threshold: 10.0, side: OutlierSide::Both })
    };
    let phase =
        Some(Phase { method: PhaseMethod::Paganin, fresnel: 0.3, delta_beta: 30.0, alpha: 0.01, unsharp: [0.0; 2] });
    let vo = Some(Stripes::Vo(Vo { snr: 3.0, large: 31, small: 11, dropped: 0.1 }));
    let half = Some(HalfAcquisition::default());
    let tilt = || Some(Distortion { tilt: 0.03, ..Distortion::default() });
    for (name, outliers, distortion, phase, stripes, half) in [
        ("outliers", outliers(3), None, None, None, None),
        ("wide outliers", outliers(5), None, None, None, None),
        ("distortion", None, tilt(), None, None, None),
        ("outliers and distortion", outliers(3), tilt(), None, None, None),
        ("phase", None, None, phase, None, None),
        ("outliers and phase", outliers(3), None, phase, None, None),
        ("significant stripes", None, None, None, Some(Stripes::Significant), None),
        ("stripes", None, None, None, vo.clone(), None),
        ("half acquisition", None, None, None, None, half),
        ("all", outliers(5), tilt(), phase, vo, half),
    ] {
        for (threads, least) in [(1, false), (2, false), (2, true)] {
            let angles = (0..60).map(|v| 2.0 * std::f64::consts::PI * f64::from(v) / 60.0).collect();
            let g = Geometry { axis: vec![20.0], ..Geometry::new(angles, 100).with_rows(50) };
            let make = |memory_cap| {
                let options = ContextOptions { threads, memory_cap, ..on_processor() };
                let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
                ct.set_geometry(g.clone()).expect("a geometry");
                ct.set_options(Options { input: InputKind::Transmission, ..Options::default() }).expect("options");
                ct.set_outliers(outliers.clone()).expect("outliers");
                ct.set_distortion(distortion.clone()).expect("a distortion");
                ct.set_phase(phase).expect("phase");
                ct.set_stripes(stripes.clone()).expect("stripes");
                ct.set_half_acquisition(half).expect("half acquisition");
                ct
            };
            let cap = match make(u64::from(least)).memory() {
                Ok(whole) => whole,
                // What the refusal asks for.
                Err(e) => e.message.rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number"),
            };
            let mut ct = make(cap);
            let p: Vec<f32> = random(projection_len(&g), 1).iter().map(|v| 0.6 + 0.3 * v).collect();
            let mut v = vec![0.0; volume_len(&g)];
            let promised = ct.memory().expect("a cap that is enough") as usize;
            let (from, to) = (Array::new(&p, g.projection_shape()), ArrayMut::new(&mut v, g.volume_shape()));
            let taken = taken(|| ct.reconstruct(from.expect("projections"), to.expect("a volume")).expect("success"));
            println!("{name}, {threads} threads: {taken} taken, {promised} promised, cap {cap}");
            assert!(promised as u64 <= cap, "{name}: {promised} promised under a cap of {cap}");
            assert!(taken <= promised + small(100), "{name}, {threads} threads: {taken} taken, {promised} promised");
        }
    }
}

/// The beam of each view, fitted under the least memory, and a reconstruction by it: planes of the flat field are the plan's.
fn a_fit_takes_what_it_asks_for() {
    let scan = drift::Drifting { shape: [10, 60, 90], flats: 8, noise: [0.5, 1.0] };
    let ([_, rows, bins], single) =
        (scan.shape, |values: Vec<f64>| values.iter().map(|v| *v as f32).collect::<Vec<_>>());
    let (flats, frames) = (single(scan.flats()), single(scan.frames()));
    for (threads, binning) in [(1, 1), (3, 1), (2, 2)] {
        let make = |memory_cap| {
            let options = ContextOptions { threads, memory_cap, ..on_processor() };
            let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
            ct.set_geometry(Geometry::new(scene::half_turn(10), bins).with_rows(rows)).expect("a geometry");
            ct.set_options(Options { input: InputKind::Counts, ..Options::default() }).expect("options");
            let flats = Array::new(&flats, [scan.flats, rows, bins]).expect("flats");
            let options = FlatFieldOptions { eigenflats: 3, ..FlatFieldOptions::default() };
            ct.set_flat_field_by(Some(flats), None, &options).expect("a flat field");
            ct
        };
        let from = Array::new(&frames, scan.shape).expect("projections");
        let options = FlatFitOptions { binning };
        let said = make(1000).fit_flat_field(from, 0, &options).expect_err("too little").message;
        let cap: u64 = said.rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number");
        let mut ct = make(cap);
        let taken_by_fit = taken(|| {
            ct.fit_flat_field(from, 0, &options).expect("a fit");
        });
        println!("fit, {threads} threads: {taken_by_fit} taken, cap {cap}");
        assert!(taken_by_fit <= cap as usize + small(bins), "fit, {threads} threads: {taken_by_fit} taken, cap {cap}");
        let mut ct = make(1 << 30);
        ct.fit_flat_field(from, 0, &options).expect("a fit");
        let promised = ct.memory().expect("a figure") as usize;
        let g = ct.geometry().expect("a geometry").clone();
        let mut v = vec![0.0; volume_len(&g)];
        let to = ArrayMut::new(&mut v, g.volume_shape()).expect("a volume");
        let taken = taken(|| ct.reconstruct(from, to).expect("success"));
        assert!(taken <= promised + small(bins), "a beam that drifts: {taken} taken, {promised} promised");
    }
}

/// Percentiles and histograms.
fn stored_volumes_take_what_memory_says() {
    let given = Window::Given { low: -1.0, high: 1.0 };
    let percentiles = Window::Percentiles { low: 1.0, high: 99.0, slices: Some(3) };
    for (window, bins, cap) in [(given, 0, 1 << 20), (given, 65536, 3 << 20), (percentiles, 256, 18 << 20)] {
        let g = Geometry::new(scene::half_turn(40), 100).with_rows(30);
        let options = ContextOptions { threads: 2, memory_cap: cap, ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(g.clone()).expect("a geometry");
        let output = Output { dtype: DType::U8, window: Some(window), histogram_bins: bins, ..Output::default() };
        ct.set_output(output).expect("an output");
        let (p, mut v) = (random(projection_len(&g), 1), vec![0u8; volume_len(&g)]);
        let promised = ct.memory().expect("a cap that is enough") as usize;
        let (from, to) = (Array::new(&p, g.projection_shape()), ArrayMut::of(&mut v, g.volume_shape()));
        let taken = taken(|| ct.reconstruct(from.expect("projections"), to.expect("a volume")).expect("success"));
        println!("{window:?}, {bins} bins: {taken} taken, {promised} promised, cap {cap}");
        assert!(promised as u64 <= cap, "{promised} promised under a cap of {cap}");
        assert!(taken <= promised + small(100), "{window:?}, {bins} bins: {taken} taken, {promised} promised");
    }
}

/// What a scan is, and how it is reconstructed.
#[derive(Clone, Copy, Debug)]
struct Series {
    double: bool,
    maps: bool,
    field: bool,
    windows: bool,
    normal: u32,
    penalty: u32,
    warm_start: bool,
}

const COILS: usize = 3;
const SPOKE: usize = 128;
const SPOKES: usize = 48;
const SAMPLES: usize = SPOKE * SPOKES;

fn mri_scan(series: Series, memory_cap: u64, threads: u32) -> mri::Scan {
    let Series { double, maps, field, windows, normal, penalty, warm_start } = series;
    let spokes = (0..SPOKES).flat_map(|spoke| {
        let (sin, cos) = (std::f64::consts::PI * spoke as f64 / SPOKES as f64).sin_cos();
        (0..SPOKE).map(move |s| (s as f64 - 64.0) / 129.0).map(move |r| [r * cos, r * sin, 0.0])
    });
    let context = isoc_context_options { threads, memory_cap, ..mri::on(mri::PROCESSOR) };
    let mut scan = mri::Scan::with(&context, [1, 64, 60], spokes.collect(), COILS, double);
    scan.set_weights(vec![0.5; SAMPLES]);
    if maps {
        scan.set_maps(mri::random(COILS * scan.voxels(), 4));
    }
    if field {
        let hertz = (0..scan.voxels()).map(|v| (v % 60) as f64).collect();
        scan.set_field(hertz, (0..SAMPLES).map(|m| 1e-4 * (m % SPOKE) as f64).collect());
    }
    if windows {
        mri::ok(isoc_mri_set_windows(scan.mri, (SAMPLES / 2) as i64, (SAMPLES / 4) as i64));
    }
    scan.options(|o| {
        (o.method, o.normal, o.penalty, o.lambda, o.iterations) = (1, normal, penalty, 0.1, 2);
        o.warm_start = warm_start.into();
    });
    scan
}

fn stream_memory(scan: &mri::Scan, double: bool, at_once: i64) -> u64 {
    let (mut host, mut gpu) = (0, 1);
    // SAFETY: valid pointers.
    mri::ok(unsafe { isoc_mri_stream_memory(scan.mri, mri::complex(double), at_once, &mut host, &mut gpu) });
    assert_eq!(gpu, 0, "on the processor");
    host
}

/// Maps and image from samples alone, within their figure and under the least cap.
fn joint_maps_take_what_memory_says() {
    let plain =
        Series { double: false, maps: false, field: false, windows: false, normal: 1, penalty: 0, warm_start: false };
    let samples = mri::random(COILS * SAMPLES, 3);
    for series in
        [plain, Series { double: true, ..plain }, Series { normal: 2, ..plain }, Series { field: true, ..plain }]
    {
        for threads in [1, 2] {
            let (mut maps, mut image) = (vec![mri::C::default(); COILS * 64 * 60], vec![mri::C::default(); 64 * 60]);
            let to = mri::output(&mut maps, &[COILS as i64, 1, 64, 60]);
            let own = mri::output(&mut image, &[1, 64, 60]);
            let from = mri::tensor(&samples, &[COILS as i64, SAMPLES as i64]);
            // SAFETY: numbers; all zero is valid.
            let zero: isoc_mri_maps_options = unsafe { std::mem::zeroed() };
            let options =
                isoc_mri_maps_options { struct_size: size_of_val(&zero) as u32, steps: 2, iterations: 3, ..zero };
            // SAFETY: valid pointers.
            let find = |scan: &mri::Scan| unsafe { isoc_mri_find_maps(scan.mri, &options, &from, &to, &own) };
            let promise = |scan: &mri::Scan| {
                let mut bytes = 0;
                // SAFETY: valid pointers.
                mri::ok(unsafe { isoc_mri_maps_memory(scan.mri, &options, &mut bytes) });
                bytes as usize
            };
            let name = format!("joint, {series:?}, {threads} threads");
            let scan = mri_scan(series, 1 << 30, threads);
            let promised = promise(&scan);
            let taken_twice = taken(|| (0..2).for_each(|_| mri::ok(find(&scan))));
            println!("{name}: {taken_twice} taken, {promised} promised");
            assert!(taken_twice <= promised, "{name}: {taken_twice} taken, {promised} promised");
            let mut cap = 1 << 16;
            loop {
                match find(&mri_scan(series, cap, threads)) {
                    Status::Ok => break,
                    refused => assert_eq!(refused, Status::MemoryCap, "{name}: {}", mri::said()),
                }
                cap = mri::said().rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number");
            }
            assert!(cap <= promised as u64, "{name}: {cap} asked for, {promised} promised");
            let scan = mri_scan(series, cap, threads);
            let least = taken(|| mri::ok(find(&scan)));
            println!("{name}: {least} taken, cap {cap}");
            assert!(least as u64 <= cap, "{name}: {least} taken, cap {cap}");
        }
    }
}

/// Streams within their figure, and under the least cap; calls in memory after them have all of the cap.
fn mri_streams_take_what_memory_says() {
    let plain =
        Series { double: false, maps: true, field: false, windows: false, normal: 1, penalty: 0, warm_start: false };
    let samples = mri::random(COILS * SAMPLES, 3);
    for (series, at_once) in [
        (plain, 10 * SPOKE),
        (plain, SAMPLES / 2),
        (plain, SAMPLES),
        (Series { double: true, ..plain }, 10 * SPOKE),
        (Series { maps: false, ..plain }, 10 * SPOKE),
        (Series { normal: 2, ..plain }, 10 * SPOKE),
        (Series { field: true, normal: 2, ..plain }, 10 * SPOKE),
        (Series { field: true, ..plain }, 10 * SPOKE),
        (Series { warm_start: true, ..plain }, 10 * SPOKE),
        (Series { penalty: 3, warm_start: true, ..plain }, 10 * SPOKE),
        (Series { penalty: 4, maps: false, ..plain }, 10 * SPOKE),
        (Series { windows: true, ..plain }, 0),
        (Series { windows: true, normal: 2, warm_start: true, ..plain }, 0),
        (Series { windows: true, penalty: 5, ..plain }, 0),
    ] {
        for threads in [1, 2] {
            let at_once = at_once as i64;
            let mut out = vec![mri::C::default(); 3 * COILS * 64 * 60];
            let images = if series.maps { 1 } else { COILS } * if series.windows { 3 } else { 1 };
            let image = mri::output(&mut out[..images * 64 * 60], &[images as i64, 1, 64, 60]);
            let from = mri::tensor(&samples, &[COILS as i64, SAMPLES as i64]);
            let (dtype, all) = (mri::complex(series.double), (&raw const samples).cast_mut().cast());
            let stream = |scan: &mri::Scan, of: mri::Stream| {
                // SAFETY: valid pointers.
                unsafe { of(scan.mri, dtype, at_once, Some(mri::read_all), all, &image) }
            };
            // SAFETY: valid pointers.
            let in_memory = |scan: &mri::Scan, of: mri::Run| mri::ok(unsafe { of(scan.mri, &from, &image) });
            let name = format!("{series:?}, {at_once} at once, {threads} threads");

            // The first call makes what later ones have already; other calls come in between.
            let scan = mri_scan(series, 1 << 30, threads);
            let promised = stream_memory(&scan, series.double, at_once) as usize;
            let all_taken = taken(|| {
                for call in [isoc_mri_reconstruct_stream, isoc_mri_gridding_stream, isoc_mri_reconstruct_stream] {
                    mri::ok(stream(&scan, call));
                }
            });
            println!("{name}: {all_taken} taken, {promised} promised");
            assert!(all_taken <= promised, "{name}: {all_taken} taken, {promised} promised");

            // Under the least cap, which refusals tell.
            let mut cap = 2 * (COILS * SAMPLES * 16) as u64;
            let scan = loop {
                let scan = mri_scan(series, cap, threads);
                match stream(&scan, isoc_mri_reconstruct_stream) {
                    Status::Ok => break mri_scan(series, cap, threads),
                    refused => assert_eq!(refused, Status::MemoryCap, "{name}: {}", mri::said()),
                }
                cap = mri::said().rsplit(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a number");
            };
            assert!(cap <= promised as u64, "{name}: {cap} asked for, {promised} promised");
            let least = taken(|| mri::ok(stream(&scan, isoc_mri_reconstruct_stream)));
            println!("{name}: {least} taken, cap {cap}");
            assert!(least as u64 <= cap, "{name}: {least} taken, cap {cap}");

            // What stays is what calls in memory leave, too, transforms and Q, which count in every call; beside them lists of threads
            // and tasks, which go by who was first: less than half of a buffer, 31 kB at least.
            let left = |run: &dyn Fn(&mri::Scan)| {
                let scan = mri_scan(series, 1 << 30, threads);
                let before = NOW.load(Relaxed);
                run(&scan);
                // Less than before, where threads have given back what they had.
                NOW.load(Relaxed) as isize - before as isize
            };
            let [of_stream, of_call] = [
                left(&|scan| mri::ok(stream(scan, isoc_mri_reconstruct_stream))),
                left(&|scan| in_memory(scan, isoc_mri_reconstruct)),
            ];
            println!("{name}: {of_stream} and {of_call} left");
            assert!(of_stream <= of_call + (15 << 10), "{name}: a stream left {of_stream}, a call in memory {of_call}");
        }
    }
}

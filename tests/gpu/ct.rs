//! CT operators on the GPU.

use super::memory::OnGpu;
use super::{common, cpu, gpu, gpu_with};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Compute, Context, ContextOptions, NanPolicy};
use isocenter::ct::{Ct, Filter, Geometry, InputKind, Interpolation, Kernel, Options, Order, Pair, Precision, Slab};
use isocenter::ffi::context::{isoc_context_create, isoc_context_destroy, isoc_context_options};
use isocenter::ffi::ct::{
    isoc_ct_create, isoc_ct_destroy, isoc_ct_geometry, isoc_ct_reconstruct, isoc_ct_set_geometry,
};
use isocenter::ffi::tensor::{isoc_device, isoc_dtype, isoc_tensor};
use isocenter::phantom::Ellipse;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;
use std::sync::Arc;

fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn angles(views: usize) -> Vec<f64> {
    (0..views).map(|v| PI * v as f64 / views as f64 + 0.01).collect()
}

fn plan(context: &Arc<Context>, geometry: &Geometry, options: &Options) -> Ct {
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(geometry.clone()).expect("geometry");
    ct.set_options(options.clone()).expect("options");
    ct
}

/// Sums over what is next to a pixel or a ray, and over all of a row or an image.
fn readings() -> [Options; 2] {
    let band_limited = Options {
        interpolation: Interpolation::BandLimited,
        pair: Pair::BandLimited,
        tolerance: 1e-6,
        ..Options::default()
    };
    [Options::default(), band_limited]
}

/// Largest difference over the largest value of the reference.
fn error(seen: &[f32], expected: &[f32]) -> f64 {
    let max = expected.iter().fold(0.0f32, |a, v| a.max(v.abs()));
    let worst =
        seen.iter().zip(expected).map(|(a, b)| f64::from((a - b).abs())).fold(0.0, |a, d| if d <= a { a } else { d });
    worst / f64::from(max)
}

fn volume(ct: &mut Ct, data: &[f32], run: fn(&mut Ct, Array, ArrayMut) -> isocenter::error::Result<()>) -> Vec<f32> {
    let g = ct.geometry().expect("geometry").clone();
    let mut out = vec![f32::NAN; g.volume_shape().iter().product()];
    let view = Array::new(data, g.projection_shape()).expect("projections");
    run(ct, view, ArrayMut::new(&mut out, g.volume_shape()).expect("volume")).expect("run");
    out
}

fn cases() -> Vec<(&'static str, Geometry)> {
    let mut list = Vec::new();
    let g = Geometry::new(angles(90), 96).with_rows(70);
    list.push(("square", g.clone()));
    list.push(("sinograms", Geometry { order: Order::Sinograms, ..g.clone() }));
    list.push(("one slice", Geometry::new(angles(61), 100)));
    list.push(("uneven sizes", Geometry { nx: 77, ny: 53, ..Geometry::new(angles(47), 83).with_rows(9) }));
    list.push(("off centre", Geometry { axis: vec![30.3], x_offset: 7.5, y_offset: -11.25, ..g.clone() }));
    let axis = (0..90).map(|v| 47.0 + 0.01 * v as f64).collect();
    list.push(("axis a view", Geometry { axis, ..g.clone() }));
    list.push(("small pixels", Geometry { pixel_size: 0.3, ..g.clone() }));
    list.push(("wide pixels", Geometry { pixel_size: 1.4, nx: 60, ny: 90, ..g.clone() }));
    list.push((
        "very wide pixels",
        Geometry { pixel_size: 40.0, nx: 9, ny: 7, ..Geometry::new(angles(20), 300).with_rows(5) },
    ));
    list.push(("some rows", Geometry { first_row: 11, slices: 40, ..g.clone() }));
    list.push(("far away", Geometry { x_offset: 1e7, ..Geometry::new(angles(20), 40).with_rows(8) }));
    list.push(("one view", Geometry { ..Geometry::new(vec![0.3], 50).with_rows(3) }));
    list
}

/// Every family at both precisions.
fn kernels() -> impl Iterator<Item = (Kernel, Precision)> {
    let families =
        [Kernel::Auto, Kernel::TextureStandard, Kernel::Texture, Kernel::Alu, Kernel::Hybrid, Kernel::Tensor];
    families.into_iter().flat_map(|k| [(k, Precision::Single), (k, Precision::Half)])
}

/// Weights of texture units are multiples of 1/256, so each update is off by up to 1/512 of the step between two bins.
/// A pixel 40 bins wide is not the processor's strength: from run to run of pixels its positions are f32, good to 1e-4 of a bin.
fn reference_error(geometry: &Geometry) -> f64 {
    if geometry.pixel_size > 10.0 { 2e-4 } else { 0.0 }
}

/// f16 data: each value is off by at most 2^-12 of itself, weights by 2^-12, so random sums by a few 1e-4 of the largest;
/// f32 grade: positions to some 1e-6 of a bin, and f32 sums in another order.
fn tolerance(kernel: Kernel, precision: Precision) -> f64 {
    match (kernel, precision) {
        (Kernel::Texture | Kernel::TextureStandard, _) | (Kernel::Hybrid, Precision::Half) => 5e-3,
        (_, Precision::Half) => 1e-3,
        (_, Precision::Single) => 1e-5,
    }
}

/// Pixels of a slice that lie so near to the middle between two bins in some view that f32 may round either way.
fn on_the_fence(g: &Geometry, samples_a_bin: f64) -> Vec<bool> {
    let pixel = |k: usize| {
        (0..g.views()).any(|v| {
            let h = samples_a_bin * common::bin(g, v, k / g.nx, k % g.nx) + 0.5;
            (h - h.round()).abs() < 2e-5 * samples_a_bin.max(g.pixel_size * samples_a_bin)
        })
    };
    (0..g.ny * g.nx).map(pixel).collect()
}

#[test]
fn backprojection_agrees_with_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (name, geometry) in cases() {
        let data = random(geometry.projection_shape().iter().product(), 1);
        for (interpolation, samples) in
            [(Interpolation::Linear, 0.0), (Interpolation::Nearest, 1.0), (Interpolation::Oversampled, 4.0)]
        {
            let mut reference = plan(&cpu(), &geometry, &Options { interpolation, ..Options::default() });
            let mut expected = volume(&mut reference, &data, Ct::backproject);
            let fence =
                if samples > 0.0 { on_the_fence(&geometry, samples) } else { vec![false; geometry.ny * geometry.nx] };
            let skip = |values: &mut [f32]| {
                for slice in values.chunks_mut(fence.len()) {
                    slice.iter_mut().zip(&fence).filter(|(_, f)| **f).for_each(|(v, _)| *v = 0.0);
                }
            };
            skip(&mut expected);
            for (kernel, precision) in kernels() {
                let options = Options { interpolation, precision, kernel, ..Options::default() };
                let mut ct = plan(&gpu, &geometry, &options);
                let mut seen = vec![f32::NAN; expected.len()];
                let (p, v) = (geometry.projection_shape(), geometry.volume_shape());
                let done = ct.backproject(Array::new(&data, p).expect("in"), ArrayMut::new(&mut seen, v).expect("out"));
                if kernel != Kernel::Auto && done.as_ref().is_err_and(|e| e.message.contains("cannot serve")) {
                    continue;
                }
                done.expect("backproject");
                if name == "far away" {
                    assert!(seen.iter().all(|v| *v == 0.0), "{name} {kernel:?}");
                    continue;
                }
                skip(&mut seen);
                let e = error(&seen, &expected);
                println!("{name}, {interpolation:?}, {kernel:?}, {precision:?}: {e:.2e}");
                let allowed = tolerance(kernel, precision) + reference_error(&geometry);
                assert!(e < allowed, "{name} {interpolation:?} {kernel:?} {precision:?}: {e:.2e}");
            }
        }
    }
}

#[test]
fn reconstruction_agrees_with_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (name, geometry) in cases() {
        if geometry.views() < 2 {
            continue;
        }
        let data = random(geometry.projection_shape().iter().product(), 2);
        for precision in [Precision::Half, Precision::Single] {
            let options = Options { precision, ..Options::default() };
            let expected = volume(&mut plan(&cpu(), &geometry, &options), &data, Ct::reconstruct);
            let seen = volume(&mut plan(&gpu, &geometry, &options), &data, Ct::reconstruct);
            let e = error(&seen, &expected);
            println!("{name} {precision:?}: {e:.2e}");
            if name != "far away" {
                let allowed = tolerance(Kernel::Auto, precision) + reference_error(&geometry);
                assert!(e < allowed, "{name} {precision:?}: {e:.2e}");
            }
        }
    }
}

#[test]
fn filtering_agrees_with_the_processor() {
    let Some(gpu) = gpu() else { return };
    for bins in [1, 2, 31, 33, 100, 257, 1000, 1500, 4000, 8192, 8193, 20000, 70000] {
        for order in [Order::Frames, Order::Sinograms] {
            let geometry = Geometry { order, ..Geometry::new(angles(5), bins).with_rows(3) };
            let shape = geometry.projection_shape();
            let data = random(shape.iter().product(), 3);
            let run = |context: &Arc<Context>| {
                let mut out = vec![f32::NAN; data.len()];
                let mut ct = plan(context, &geometry, &Options::default());
                ct.filter(Array::new(&data, shape).expect("in"), ArrayMut::new(&mut out, shape).expect("out"))
                    .expect("filter");
                out
            };
            let e = error(&run(&gpu), &run(&cpu()));
            println!("{bins} {order:?}: {e:.2e}");
            // Transforms of different lengths in f32: a few 1e-7 a pass.
            assert!(e < 5e-6, "{bins} {order:?}: {e:.2e}");
        }
    }
}

#[test]
fn forward_and_adjoint_agree_with_the_processor_and_with_each_other() {
    let Some(gpu) = gpu() else { return };
    for (name, geometry) in cases() {
        let (p, v) = (geometry.projection_shape(), geometry.volume_shape());
        let x = random(v.iter().product(), 5);
        let y = random(p.iter().product(), 6);
        let run = |context: &Arc<Context>| {
            let mut ct = plan(context, &geometry, &Options::default());
            let mut ax = vec![0.0; y.len()];
            ct.forward(Array::new(&x, v).expect("x"), ArrayMut::new(&mut ax, p).expect("Ax")).expect("forward");
            (ax, volume(&mut ct, &y, Ct::adjoint))
        };
        let ((ax, aty), (ax0, aty0)) = (run(&gpu), run(&cpu()));
        if name == "far away" {
            assert!(ax.iter().chain(&aty).all(|v| *v == 0.0));
            continue;
        }
        let (e, f) = (error(&ax, &ax0), error(&aty, &aty0));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let norm = |a: &[f32]| dot(a, a).sqrt();
        // Rows outside the slices are 0 in Ax.
        let gap = (dot(&ax, &y) - dot(&x, &aty)).abs() / (norm(&ax) * norm(&y));
        println!("{name}: forward {e:.2e}, adjoint {f:.2e}, scalar products {gap:.2e}");
        // Positions to some 1e-6 of a pixel on both sides, sums of some hundred terms in f32.
        assert!(e < 1e-5 && f < 1e-5 && gap < 1e-6, "{name}: {e:.2e} {f:.2e} {gap:.2e}");
    }
}

#[test]
fn ten_runs_give_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    let geometry = Geometry::new(angles(70), 130).with_rows(67);
    let data = random(geometry.projection_shape().iter().product(), 7);
    for (kernel, precision) in kernels() {
        let mut ct = plan(&gpu, &geometry, &Options { kernel, precision, ..Options::default() });
        let first = volume(&mut ct, &data, Ct::reconstruct);
        for _ in 0..9 {
            let again = volume(&mut ct, &data, Ct::reconstruct);
            assert!(first.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "{kernel:?} {precision:?}");
        }
    }
}

#[test]
fn slabs_do_not_show() {
    let Some(whole) = gpu() else { return };
    let geometry = Geometry::new(angles(60), 90).with_rows(150);
    let data = random(geometry.projection_shape().iter().product(), 8);
    // Enough for some 10 slices at a time.
    let options = ContextOptions { gpu_memory_cap: 4 << 20, ..ContextOptions::default() };
    let Some(small) = gpu_with(options) else { return };
    for precision in [Precision::Single, Precision::Half] {
        let options = Options { precision, kernel: Kernel::Tensor, ..Options::default() };
        let a = volume(&mut plan(&whole, &geometry, &options), &data, Ct::reconstruct);
        let b = volume(&mut plan(&small, &geometry, &options), &data, Ct::reconstruct);
        assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()), "{precision:?}");
    }
}

#[test]
fn raw_counts_are_corrected_as_on_the_processor() {
    let Some(gpu) = gpu() else { return };
    for (order, options) in [Order::Frames, Order::Sinograms].into_iter().flat_map(|o| readings().map(|r| (o, r))) {
        let geometry = Geometry { order, first_row: 2, slices: 9, ..Geometry::new(angles(40), 61).with_rows(13) };
        let shape = geometry.projection_shape();
        let counts: Vec<u16> =
            random(shape.iter().product(), 9).iter().map(|v| (20000.0 + 15000.0 * v) as u16).collect();
        let flats: Vec<u16> = random(3 * 13 * 61, 10).iter().map(|v| (50000.0 + 5000.0 * v) as u16).collect();
        let darks: Vec<u16> = random(2 * 13 * 61, 11).iter().map(|v| (300.0 + 100.0 * v) as u16).collect();
        let run = |context: &Arc<Context>| {
            let mut ct = plan(context, &geometry, &options);
            let flats = Array::of(&flats, [3, 13, 61]).expect("flats");
            ct.set_flat_field(Some(flats), Some(Array::of(&darks, [2, 13, 61]).expect("darks"))).expect("flat field");
            let mut out = vec![f32::NAN; geometry.volume_shape().iter().product()];
            let out_view = ArrayMut::new(&mut out, geometry.volume_shape()).expect("volume");
            ct.reconstruct(Array::of(&counts, shape).expect("counts"), out_view).expect("reconstruct");
            out
        };
        let e = error(&run(&gpu), &run(&cpu()));
        println!("{order:?}, {:?}: {e:.2e}", options.interpolation);
        assert!(e < 1e-5, "{order:?}, {:?}: {e:.2e}", options.interpolation);
    }
}

/// Transmissions and counts of f32, through the fused filter, its long form and without a filter; and the caller's weights.
#[test]
fn floats_of_any_kind_and_own_weights_as_on_the_processor() {
    let Some(_) = gpu() else { return };
    for (bins, filter) in
        [(61, Filter::RamLak { cutoff: 1.0 }), (61, Filter::None), (9000, Filter::RamLak { cutoff: 1.0 })]
    {
        let side = 61;
        let geometry = Geometry {
            nx: side,
            ny: side,
            first_row: 2,
            slices: 5,
            pixel_size: bins as f64 / side as f64,
            ..Geometry::new(angles(40), bins).with_rows(9)
        };
        let shape = geometry.projection_shape();
        let mut values: Vec<f32> = random(shape.iter().product(), 14).iter().map(|v| 0.5 + 0.6 * v).collect();
        // Too little, too much, and what is not a number: in rows that are used.
        let at = |v: usize, r: usize, b: usize| (v * 9 + r) * bins + b;
        values[at(0, 2, 5)] = -1.0;
        values[at(3, 4, 60)] = 3.0;
        let mut bad = values.clone();
        bad[at(7, 3, 0)] = f32::NAN;
        bad[at(39, 6, bins - 1)] = f32::INFINITY;
        let flat: Vec<f32> = random(9 * bins, 15).iter().map(|v| 1.0 + 0.2 * v).collect();
        let own: Vec<f64> = (0..40).map(|v| 0.001 * f64::from(v)).collect();
        for input in [InputKind::Transmission, InputKind::Counts, InputKind::LineIntegrals] {
            for data in [&values, &bad] {
                let run = |compute: Compute| {
                    let options =
                        ContextOptions { compute, nan_policy: NanPolicy::Replace, ..ContextOptions::default() };
                    let context = Arc::new(Context::new(options).expect("a context"));
                    let options = Options { filter: filter.clone(), input, ..Options::default() };
                    let mut ct = plan(&context, &geometry, &options);
                    ct.set_flat_field(Some(Array::new(&flat, [1, 9, bins]).expect("flats")), None).expect("flat field");
                    ct.set_angular_weights(Some(&own)).expect("weights");
                    let mut out = vec![f32::NAN; geometry.volume_shape().iter().product()];
                    let view = ArrayMut::new(&mut out, geometry.volume_shape()).expect("volume");
                    ct.reconstruct(Array::new(data, shape).expect("data"), view).expect("reconstruct");
                    let replaced = ct.info().expect("info").replaced;
                    let mut filtered = vec![0.0; data.len()];
                    let view = ArrayMut::new(&mut filtered, shape).expect("filtered");
                    ct.filter(Array::new(data, shape).expect("data"), view).expect("filter");
                    (out, filtered, replaced, ct.info().expect("info").replaced)
                };
                let (seen, expected) = (run(Compute::Gpus(Vec::new())), run(Compute::Cpu));
                let (volume, filtered) = (error(&seen.0, &expected.0), error(&seen.1, &expected.1));
                assert!(filtered < 1e-5, "{bins} bins, {input:?}: {filtered:.2e}");
                // Positions of f32 are off by up to half of 2^-23 of the row, and noise steps by up to twice its largest value a bin.
                let tolerance = 1e-5 + bins as f64 * f64::from(f32::EPSILON);
                assert!(volume < tolerance, "{bins} bins, {input:?}: {volume:.2e}");
                assert_eq!((seen.2, seen.3), (expected.2, expected.3), "{bins} bins, {input:?}");
            }
        }
    }
}

/// Projections on the GPU are looked at, too, contiguous or not.
#[test]
fn counts_on_the_gpu_are_warned_of() {
    let Some(_) = gpu() else { return };
    let geometry = Geometry::new(angles(40), 64).with_rows(3);
    let shape = geometry.projection_shape();
    let log = Arc::new(std::sync::Mutex::new(Vec::new()));
    let copy = Arc::clone(&log);
    let options = ContextOptions {
        compute: Compute::Gpus(Vec::new()),
        log: Some(Box::new(move |level, text| copy.lock().expect("the log").push(format!("{level:?}: {text}")))),
        ..ContextOptions::default()
    };
    let context = Arc::new(Context::new(options).expect("a context"));
    let counts: Vec<f32> = (0..shape.iter().product()).map(|k| 1000.0 + (k % 97) as f32).collect();
    let device = OnGpu::new(&counts);
    let (bins, rows) = (64isize, 3isize);
    for strides in [[rows * bins, bins, 1], [1, 40, 3 * 40]] {
        let mut ct = plan(&context, &geometry, &Options::default());
        let mut out = vec![0.0; geometry.volume_shape().iter().product()];
        // SAFETY: the memory holds every element, and nothing else uses it during the call.
        let data = unsafe { Array::from_raw(device.address as *const u8, DType::F32, shape, strides, Some(0)) };
        log.lock().expect("the log").clear();
        ct.reconstruct(data, ArrayMut::new(&mut out, geometry.volume_shape()).expect("volume")).expect("reconstruct");
        let seen = log.lock().expect("the log").clone();
        assert!(seen.iter().any(|m| m.starts_with("Warning") && m.contains("whole numbers")), "{seen:?}");
    }
}

#[test]
fn what_is_not_a_number_is_found_or_replaced() {
    let Some(gpu) = gpu() else { return };
    let geometry = Geometry { first_row: 1, slices: 4, ..Geometry::new(angles(30), 40).with_rows(6) };
    let shape = geometry.projection_shape();
    let mut data = random(shape.iter().product(), 12);
    let at = |v: usize, r: usize, b: usize| (v * 6 + r) * 40 + b;
    data[at(3, 0, 7)] = f32::NAN; // a row that is not used
    data[at(20, 2, 5)] = f32::INFINITY;
    data[at(17, 4, 39)] = f32::NAN;
    let mut out = vec![0.0; geometry.volume_shape().iter().product()];
    let mut ct = plan(&gpu, &geometry, &Options::default());
    let view = ArrayMut::new(&mut out, geometry.volume_shape()).expect("volume");
    let e = ct.reconstruct(Array::new(&data, shape).expect("data"), view).expect_err("NaN");
    assert_eq!(e.status, isocenter::error::Status::NotFiniteData);
    assert!(e.message.contains("[17, 4, 39] is NaN"), "{}", e.message);
    // On the GPU, and read in parts: every slab begins elsewhere.
    data[at(17, 4, 39)] = f32::NEG_INFINITY;
    data[at(20, 2, 5)] = 0.0;
    let device = OnGpu::new(&data);
    // SAFETY: the memory holds every element, and nothing else uses it during the call.
    let view = unsafe { Array::from_raw(device.address as *const u8, DType::F32, shape, steps(shape), Some(0)) };
    let e = ct.reconstruct(view, ArrayMut::new(&mut out, geometry.volume_shape()).expect("volume")).expect_err("Inf");
    assert!(e.message.contains("[17, 4, 39] is -inf"), "{}", e.message);
    let read = |slab: Slab| {
        // SAFETY: the slab's array holds as many elements as its shape says.
        let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
        for (k, line) in to.chunks_exact_mut(40).enumerate() {
            line.copy_from_slice(&data[at(k / slab.shape[1], 1 + slab.first + k % slab.shape[1], 0)..][..40]);
        }
        Ok(())
    };
    let e = ct.reconstruct_stream(DType::F32, read, |_| Ok(())).expect_err("Inf");
    assert!(e.message.contains("[17, 4, 39] is -inf"), "{}", e.message);
    data[at(17, 4, 39)] = f32::NAN;
    data[at(20, 2, 5)] = f32::INFINITY;
    let options = || ContextOptions { nan_policy: NanPolicy::Replace, ..ContextOptions::default() };
    let Some(gpu) = gpu_with(options()) else { return };
    let cpu = Arc::new(Context::new(ContextOptions { compute: Compute::Cpu, ..options() }).expect("context"));
    let (mut a, mut b) = (plan(&gpu, &geometry, &Options::default()), plan(&cpu, &geometry, &Options::default()));
    let (x, y) = (volume(&mut a, &data, Ct::reconstruct), volume(&mut b, &data, Ct::reconstruct));
    assert!(error(&x, &y) < 1e-5);
    assert_eq!(a.info().expect("info").replaced, 2);
}

#[test]
fn any_strides_serve() {
    let Some(gpu) = gpu() else { return };
    let geometry = Geometry { order: Order::Frames, ..Geometry::new(angles(30), 41).with_rows(5) };
    let [v, r, b] = geometry.projection_shape();
    let data = random(v * r * b, 13);
    let expected = volume(&mut plan(&gpu, &geometry, &Options::default()), &data, Ct::reconstruct);
    // Bins slowest, views fastest, and a volume with columns slowest and gaps.
    let mut turned = vec![0.0f32; data.len()];
    for i in 0..v {
        for j in 0..r {
            for k in 0..b {
                turned[(k * r + j) * v + i] = data[(i * r + j) * b + k];
            }
        }
    }
    let [nz, ny, nx] = geometry.volume_shape();
    let (sx, sy, sz) = (ny * 2 * nz, 2 * nz, 2);
    let mut out = vec![7.0f32; nx * sx];
    // SAFETY: the arrays hold every element of these strides.
    let (p, o) = unsafe {
        let strides = [1, v as isize, (v * r) as isize];
        let p = Array::from_raw(turned.as_ptr().cast(), DType::F32, [v, r, b], strides, None);
        (
            p,
            ArrayMut::from_raw(
                out.as_mut_ptr().cast(),
                DType::F32,
                [nz, ny, nx],
                [sz as isize, sy as isize, sx as isize],
                None,
            ),
        )
    };
    plan(&gpu, &geometry, &Options::default()).reconstruct(p, o).expect("reconstruct");
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                assert_eq!(out[z * sz + y * sy + x * sx].to_bits(), expected[(z * ny + y) * nx + x].to_bits());
                assert_eq!(out[z * sz + y * sy + x * sx + 1], 7.0, "between the elements");
            }
        }
    }
}

#[test]
fn a_cancel_is_heeded() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let progress = move |_: f64, _| calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 1;
    let options =
        ContextOptions { progress: Some(Box::new(progress)), gpu_memory_cap: 64 << 20, ..ContextOptions::default() };
    let Some(gpu) = gpu_with(options) else { return };
    let geometry = Geometry::new(angles(600), 512).with_rows(400);
    let data = random(geometry.projection_shape().iter().product(), 14);
    let mut out = vec![0.0; geometry.volume_shape().iter().product()];
    let mut ct = plan(&gpu, &geometry, &Options { kernel: Kernel::TextureStandard, ..Options::default() });
    let view = ArrayMut::new(&mut out, geometry.volume_shape()).expect("volume");
    let e = ct.reconstruct(Array::new(&data, geometry.projection_shape()).expect("data"), view).expect_err("cancel");
    assert_eq!(e.status, isocenter::error::Status::Cancelled);
}

#[test]
fn streaming_gives_the_same_bits() {
    let Some(whole) = gpu() else { return };
    for (order, options) in [Order::Frames, Order::Sinograms].into_iter().flat_map(|o| readings().map(|r| (o, r))) {
        // Enough memory for some slices at a time.
        let gpu_memory_cap = if options.interpolation == Interpolation::Linear { 8 << 20 } else { 4 << 20 };
        let Some(small) = gpu_with(ContextOptions { gpu_memory_cap, ..ContextOptions::default() }) else { return };
        let geometry = Geometry { order, first_row: 2, slices: 30, ..Geometry::new(angles(60), 120).with_rows(35) };
        let (shape, pixels) = (geometry.projection_shape(), geometry.ny * geometry.nx);
        let data = random(shape.iter().product(), 15);
        let expected = volume(&mut plan(&whole, &geometry, &options), &data, Ct::reconstruct);
        let mut seen = vec![f32::NAN; expected.len()];
        let mut reads = 0;
        let read = |slab: Slab| {
            reads += 1;
            // SAFETY: the slab's array holds as many elements as its shape says.
            let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
            for (k, line) in to.chunks_exact_mut(geometry.bins).enumerate() {
                let (i, j) = (k / slab.shape[1], k % slab.shape[1]);
                let (i, j) = match order {
                    Order::Frames => (i, 2 + slab.first + j),
                    Order::Sinograms => (2 + slab.first + i, j),
                };
                line.copy_from_slice(&data[(i * shape[1] + j) * geometry.bins..][..geometry.bins]);
            }
            Ok(())
        };
        let write = |slab: Slab| {
            // SAFETY: as above.
            let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.count * pixels) };
            seen[slab.first * pixels..][..from.len()].copy_from_slice(from);
            Ok(())
        };
        let mut ct = plan(&small, &geometry, &options);
        ct.reconstruct_stream(DType::F32, read, write).expect("stream");
        assert!(reads > 3, "{reads} slabs");
        assert!(seen.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{order:?}");
        let failing = |_: Slab| Err(isocenter::error::Error::new(isocenter::error::Status::Callback, "no"));
        assert_eq!(
            ct.reconstruct_stream(DType::F32, failing, |_| Ok(())).map_err(|e| e.status),
            Err(isocenter::error::Status::Callback)
        );
    }
}

/// All GPUs that there are: each takes what slabs it can.
#[test]
fn several_gpus_give_the_same_bits() {
    let Some(one) = gpu() else { return };
    readings().iter().for_each(|options| several_gpus(&one, options));
}

fn several_gpus(one: &Arc<Context>, options: &Options) {
    let compute = Compute::Gpus(super::several());
    let all = Arc::new(Context::new(ContextOptions { compute, ..ContextOptions::default() }).expect("a context"));
    let geometry = Geometry::new(angles(60), 150).with_rows(75);
    let data = random(geometry.projection_shape().iter().product(), 21);
    let (mut a, mut b) = (plan(one, &geometry, options), plan(&all, &geometry, options));
    let same = |x: &[f32], y: &[f32]| x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits());
    let mut image = Vec::new();
    for run in [Ct::backproject, Ct::adjoint, Ct::reconstruct] {
        // A GPU that has been used before, too.
        for _ in 0..2 {
            image = volume(&mut a, &data, run);
            assert!(same(&image, &volume(&mut b, &data, run)));
        }
    }
    let project = |ct: &mut Ct, from: &[f32], filters: bool| {
        let mut out = vec![7.0; data.len()];
        let to = ArrayMut::new(&mut out, geometry.projection_shape()).expect("projections");
        let done = match filters {
            true => ct.filter(Array::new(from, geometry.projection_shape()).expect("projections"), to),
            false => ct.forward(Array::new(from, geometry.volume_shape()).expect("a volume"), to),
        };
        done.expect("success");
        out
    };
    assert!(same(&project(&mut a, &image, false), &project(&mut b, &image, false)));
    assert!(same(&project(&mut a, &data, true), &project(&mut b, &data, true)));
    let (views, pixels) = (geometry.views(), geometry.nx * geometry.ny);
    let mut streamed = vec![0.0f32; image.len()];
    let read = |slab: Slab| {
        // SAFETY: the slab's array holds as many elements as its shape says.
        let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
        for (k, line) in to.chunks_exact_mut(geometry.bins).enumerate() {
            let (view, row) = match geometry.order {
                Order::Frames => (k / slab.count, slab.first + k % slab.count),
                Order::Sinograms => (k % views, slab.first + k / views),
            };
            let at = match geometry.order {
                Order::Frames => view * geometry.rows + row,
                Order::Sinograms => row * views + view,
            };
            line.copy_from_slice(&data[at * geometry.bins..][..geometry.bins]);
        }
        Ok(())
    };
    let write = |slab: Slab| {
        // SAFETY: as above.
        let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.count * pixels) };
        streamed[slab.first * pixels..][..from.len()].copy_from_slice(from);
        Ok(())
    };
    b.reconstruct_stream(DType::F32, read, write).expect("stream");
    assert!(same(&image, &streamed));
}

#[test]
fn two_plans_of_two_contexts_run_at_the_same_time() {
    let (Some(a), Some(b)) = (gpu(), gpu()) else { return };
    let geometry = Geometry::new(angles(90), 150).with_rows(20);
    let data = random(geometry.projection_shape().iter().product(), 16);
    let expected = volume(&mut plan(&a, &geometry, &Options::default()), &data, Ct::reconstruct);
    std::thread::scope(|scope| {
        for context in [&a, &b, &a] {
            let (geometry, data, expected) = (&geometry, &data, &expected);
            scope.spawn(move || {
                for _ in 0..5 {
                    let seen = volume(&mut plan(context, geometry, &Options::default()), data, Ct::reconstruct);
                    assert!(seen.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits()));
                }
            });
        }
    });
}

#[test]
fn a_gpu_that_is_not_there_is_an_error() {
    let Some(_) = gpu() else { return };
    for gpus in [vec![99], vec![0, 99]] {
        let options = ContextOptions { compute: Compute::Gpus(gpus.clone()), ..ContextOptions::default() };
        let e = Context::new(options).expect_err("no such GPU");
        println!("{gpus:?}: {}", e.message);
        assert!(matches!(e.status, isocenter::error::Status::NoDevice | isocenter::error::Status::OutOfRange));
    }
}

#[test]
fn too_little_memory_is_an_error_that_says_how_much() {
    let Some(gpu) = gpu_with(ContextOptions { gpu_memory_cap: 10_000, ..ContextOptions::default() }) else { return };
    let geometry = Geometry::new(angles(60), 120);
    let data = random(geometry.projection_shape().iter().product(), 17);
    let mut out = vec![0.0; geometry.volume_shape().iter().product()];
    let view = ArrayMut::new(&mut out, geometry.volume_shape()).expect("volume");
    let mut ct = plan(&gpu, &geometry, &Options::default());
    let e = ct.reconstruct(Array::new(&data, geometry.projection_shape()).expect("data"), view).expect_err("memory");
    assert_eq!(e.status, isocenter::error::Status::MemoryCap);
    assert!(e.message.contains("10000") && e.message.contains("at least"), "{}", e.message);
}

#[test]
fn a_disk_keeps_its_value() {
    let Some(gpu) = gpu() else { return };
    for (pixel_size, bin_pitch, turn) in [(1.0, 1.0, PI), (0.5, 0.7, PI), (2.0, 1.6, 2.0 * PI)] {
        let views = (0..400).map(|v| turn * f64::from(v) / 400.0).collect();
        let geometry = Geometry { pixel_size, bin_pitch, ..Geometry::new(views, 256).with_rows(5) };
        let disk = Ellipse { value: 1.0, centre: [0.0; 2], semi: [60.0 * bin_pitch; 2], angle: 0.0 };
        for precision in [Precision::Single, Precision::Half] {
            let mut ct = plan(&gpu, &geometry, &Options { precision, ..Options::default() });
            let mut data = vec![0.0; geometry.projection_shape().iter().product()];
            let view = ArrayMut::new(&mut data, geometry.projection_shape()).expect("projections");
            ct.phantom_projections(&[disk], view).expect("phantom");
            let out = volume(&mut ct, &data, Ct::reconstruct);
            let (mut sum, mut count) = (0.0, 0);
            for (k, v) in out.iter().enumerate() {
                let (i, j) = ((k / 256) % 256, k % 256);
                let (x, y) = ((j as f64 - 127.5) * pixel_size, (i as f64 - 127.5) * pixel_size);
                if x.hypot(y) < 50.0 * bin_pitch {
                    sum += f64::from(*v);
                    count += 1;
                }
            }
            let mean = sum / f64::from(count);
            println!("pixel {pixel_size}, bin {bin_pitch}, {precision:?}: {mean:.5}");
            assert!((mean - 1.0).abs() < 0.003, "{mean}");
        }
    }
}

fn steps([_, b, c]: [usize; 3]) -> [isize; 3] {
    [(b * c) as isize, c as isize, 1]
}

#[test]
fn arrays_on_the_gpu_give_the_same_bits() {
    let Some(gpu) = gpu() else { return };
    readings().iter().for_each(|options| arrays_on_the_gpu(&gpu, options));
}

fn arrays_on_the_gpu(gpu: &Arc<Context>, options: &Options) {
    let geometry = Geometry { ny: 37, ..Geometry::new(angles(50), 64).with_rows(6) };
    let (p, v) = (geometry.projection_shape(), geometry.volume_shape());
    let (data, slices) = (random(p.iter().product(), 31), random(v.iter().product(), 32));
    let (projections, source) = (OnGpu::new(&data), OnGpu::new(&slices));
    // SAFETY: the memory holds every element, and nothing else uses it during a call.
    let view = |m: &OnGpu<f32>, shape, strides| unsafe {
        Array::from_raw(m.address as *const u8, DType::F32, shape, strides, Some(0))
    };
    // SAFETY: as above.
    let view_mut = |m: &OnGpu<f32>, shape, strides| unsafe {
        ArrayMut::from_raw(m.address as *mut u8, DType::F32, shape, strides, Some(0))
    };
    let mut ct = plan(gpu, &geometry, options);
    for run in [Ct::reconstruct as fn(&mut Ct, Array, ArrayMut) -> _, Ct::backproject, Ct::adjoint] {
        let expected = volume(&mut ct, &data, run);
        let out = OnGpu::new(&vec![f32::NAN; expected.len()]);
        run(&mut ct, view(&projections, p, steps(p)), view_mut(&out, v, steps(v))).expect("in place");
        assert!(out.read().iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
        // Columns two apart: what no kernel writes by itself.
        let wide = OnGpu::new(&vec![7.0; 2 * expected.len()]);
        run(&mut ct, view(&projections, p, steps(p)), view_mut(&wide, v, steps(v).map(|s| 2 * s))).expect("scattered");
        let seen = wide.read();
        assert!(seen.iter().step_by(2).zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert!(seen.iter().skip(1).step_by(2).all(|v| *v == 7.0));
        // From the GPU to the host.
        let mut host = vec![f32::NAN; expected.len()];
        run(&mut ct, view(&projections, p, steps(p)), ArrayMut::new(&mut host, v).expect("volume"))
            .expect("to the host");
        assert!(host.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let mut expected = vec![0.0; data.len()];
    ct.forward(Array::new(&slices, v).expect("volume"), ArrayMut::new(&mut expected, p).expect("projections"))
        .expect("forward");
    let out = OnGpu::new(&vec![f32::NAN; expected.len()]);
    ct.forward(view(&source, v, steps(v)), view_mut(&out, p, steps(p))).expect("forward in place");
    assert!(out.read().iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
    ct.filter(Array::new(&data, p).expect("in"), ArrayMut::new(&mut expected, p).expect("out")).expect("filter");
    ct.filter(view(&projections, p, steps(p)), view_mut(&out, p, steps(p))).expect("filter on the GPU");
    assert!(out.read().iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn an_address_that_is_not_of_the_gpu_is_refused() {
    let Some(_) = gpu() else { return };
    let options = isoc_context_options {
        struct_size: size_of::<isoc_context_options>() as u32,
        device: 2,
        // SAFETY: numbers, pointers and optional functions; all zero is valid.
        ..unsafe { std::mem::zeroed() }
    };
    let angles = [0.0, 1.0, 2.0];
    let geometry = isoc_ct_geometry {
        struct_size: size_of::<isoc_ct_geometry>() as u32,
        views: 3,
        bins: 8,
        angles: angles.as_ptr(),
        // SAFETY: as above.
        ..unsafe { std::mem::zeroed() }
    };
    let mut data = [0.0f32; 64];
    let (shape_in, shape_out) = ([3i64, 1, 8], [1i64, 8, 8]);
    let tensor = |data: *mut f32, device: (i32, i32), shape: &[i64; 3]| isoc_tensor {
        data: data.cast(),
        device: isoc_device { device_type: device.0, device_id: device.1 },
        ndim: 3,
        dtype: isoc_dtype { code: 2, bits: 32, lanes: 1 },
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let mut other = [0.0f32; 64];
    let (mut context, mut ct) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: every pointer is to a local of the right type and size.
    unsafe {
        assert_eq!(isoc_context_create(&options, &mut context) as i32, 0);
        assert_eq!(isoc_ct_create(context, &mut ct) as i32, 0);
        assert_eq!(isoc_ct_set_geometry(ct, &geometry) as i32, 0);
        for device in [(2, 0), (2, 77), (2, -1), (4, 0)] {
            let (p, v) = (tensor(data.as_mut_ptr(), device, &shape_in), tensor(other.as_mut_ptr(), (1, 0), &shape_out));
            let status = isoc_ct_reconstruct(ct, &p, &v);
            assert_eq!(status as i32, isocenter::error::Status::TensorDevice as i32, "{device:?}");
        }
        assert_eq!(isoc_ct_destroy(ct) as i32, 0);
        assert_eq!(isoc_context_destroy(context) as i32, 0);
    }
}

//! Volumes of 8 and 16 bits from a GPU: what is stored is what the formula makes of the GPU's own f32 volume, bit by bit, and so what the
//! processor stores up to the rounding of f32 results.

use super::memory::OnGpu;
use super::{cpu, gpu, gpu_with};
use isocenter::array::{Array, ArrayMut, DType, Element};
use isocenter::context::{Compute, Context, ContextOptions, Stage};
use isocenter::cpu::half::F16;
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Output, Slab, Window, Written};
use isocenter::error::Status;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Odd sides, rows that are wider than a block, and one slice.
fn geometries() -> [Geometry; 3] {
    let scan = |views, bins| {
        Geometry::new((0..views).map(|v| PI * v as f64 / views as f64 + 0.01).collect::<Vec<f64>>(), bins)
    };
    [
        Geometry { first_row: 3, slices: 37, ny: 53, nx: 77, ..scan(47, 83).with_rows(41) },
        Geometry { ny: 9, nx: 700, ..scan(20, 300).with_rows(5) },
        scan(61, 100),
    ]
}

fn readings() -> [Options; 2] {
    [Interpolation::Linear, Interpolation::BandLimited]
        .map(|interpolation| Options { interpolation, ..Options::default() })
}

fn plan(context: &Arc<Context>, g: &Geometry, options: &Options, output: Output) -> Ct {
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(options.clone()).expect("options");
    ct.set_output(output).expect("an output");
    ct
}

fn stored<T: Element>(ct: &mut Ct, data: &[f32], fill: T) -> (Vec<T>, Written) {
    let g = ct.geometry().expect("a geometry").clone();
    let mut volume = vec![fill; g.volume_shape().iter().product()];
    let from = Array::new(data, g.projection_shape()).expect("projections");
    ct.reconstruct(from, ArrayMut::of(&mut volume, g.volume_shape()).expect("a volume")).expect("a reconstruction");
    (volume, ct.written().expect("what was written").clone())
}

fn sorted_at(values: &[f32], percentiles: [f64; 2]) -> [f64; 2] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    percentiles.map(|p| {
        let rank = p / 100.0 * (sorted.len() - 1) as f64;
        let next = sorted[(rank as usize + 1).min(sorted.len() - 1)];
        f64::from(sorted[rank as usize]) * (1.0 - rank.fract()) + f64::from(next) * rank.fract()
    })
}

fn integer(v: f32, [low, high]: [f64; 2], largest: f64) -> f64 {
    ((f64::from(v) - low) * (largest / (high - low))).clamp(0.0, largest).round_ties_even()
}

fn clipped(values: &[f32], [low, high]: [f64; 2]) -> [u64; 2] {
    let count = |is: &dyn Fn(f64) -> bool| values.iter().filter(|v| is(f64::from(**v))).count() as u64;
    [count(&|v| v < low), count(&|v| v > high)]
}

/// The nearest f16, by another library.
fn f16(v: f32) -> F16 {
    F16(half::f16::from_f32(v).to_bits())
}

fn given([low, high]: [f64; 2]) -> Option<Window> {
    Some(Window::Given { low, high })
}

/// Types, histograms in shared memory and beyond, and the counts of what is clipped, by the formulas in f64.
#[test]
fn the_formulas_bit_by_bit() {
    let Some(context) = gpu() else { return };
    for g in geometries() {
        let data = random(g.projection_shape().iter().product(), 51);
        for options in readings() {
            let (values, _) = stored(&mut plan(&context, &g, &options, Output::default()), &data, f32::NAN);
            let window = sorted_at(&values, [4.0, 93.0]);
            let [low, high] = window;
            let with = |dtype, histogram_bins| {
                let mapped = dtype == DType::F16;
                plan(
                    &context,
                    &g,
                    &options,
                    Output { dtype, window: given(window), mapped, histogram_bins, ..Output::default() },
                )
            };
            let check = |written: &Written, bins: usize, bin: &dyn Fn(f32) -> usize| {
                assert_eq!(written.clipped, clipped(&values, window));
                let mut counts = vec![0; bins];
                values.iter().for_each(|v| counts[bin(*v)] += 1);
                assert_eq!(written.histogram, counts);
            };
            for bins in [100, 65536] {
                let (seen, written) = stored(&mut with(DType::U8, bins), &data, 7u8);
                assert_eq!(seen, values.iter().map(|v| integer(*v, window, 255.0) as u8).collect::<Vec<_>>());
                check(&written, bins, &|v| integer(v, window, 255.0) as usize * bins / 256);
                let (seen, written) = stored(&mut with(DType::U16, bins), &data, 7u16);
                assert_eq!(seen, values.iter().map(|v| integer(*v, window, 65535.0) as u16).collect::<Vec<_>>());
                check(&written, bins, &|v| integer(v, window, 65535.0) as usize * bins / 65536);
                let place = |v: f32| (f64::from(v) - low) * (1.0 / (high - low));
                let float_bin =
                    |v: f32| (((f64::from(v) - low) * (bins as f64 / (high - low))).max(0.0) as usize).min(bins - 1);
                let (seen, written) = stored(&mut with(DType::F16, bins), &data, F16(0x7e00));
                let exact = values.iter().map(|v| f16(place(*v).clamp(0.0, 1.0) as f32));
                assert_eq!(seen, exact.collect::<Vec<_>>());
                check(&written, bins, &float_bin);
                let (seen, written) = stored(&mut with(DType::F32, bins), &data, f32::NAN);
                assert_eq!(seen, values);
                check(&written, bins, &float_bin);
            }
        }
    }
}

/// f16 that hold values; what is too large for them is counted.
#[test]
fn halves_saturate() {
    let Some(context) = gpu() else { return };
    let [g, ..] = geometries();
    let mut data = random(g.projection_shape().iter().product(), 52);
    let options = Options::default();
    let values = |data: &[f32]| stored(&mut plan(&context, &g, &options, Output::default()), data, f32::NAN).0;
    let peak = values(&data).iter().fold(0.0f32, |a, v| a.max(v.abs()));
    data.iter_mut().for_each(|v| *v *= 2.5e5 / peak);
    let values = values(&data);
    let (seen, written) = stored(
        &mut plan(&context, &g, &options, Output { dtype: DType::F16, ..Output::default() }),
        &data,
        F16(0x7e00),
    );
    let exact: Vec<F16> = values.iter().map(|v| f16(v.clamp(-65504.0, 65504.0))).collect();
    assert_eq!(seen, exact);
    let outside = clipped(&values, [-65504.0, 65504.0]);
    assert!(outside.iter().all(|n| *n > 0) && written.clipped == outside, "{outside:?}: {written:?}");
}

fn inside(g: &Geometry, radius: f64, at: usize) -> bool {
    let (i, j) = ((at / g.nx % g.ny) as f64, (at % g.nx) as f64);
    let (y, x) = (i - (g.ny as f64 - 1.0) / 2.0, j - (g.nx as f64 - 1.0) / 2.0);
    (x * x + y * y).sqrt() <= radius * g.ny.min(g.nx) as f64 / 2.0
}

/// The window comes from slices that are reconstructed alone, whose values are those of the volume to 1e-5 of the largest (f32 sums in
/// another order), and within 2^-12 of their size of the sorted ones.
#[test]
fn percentiles_and_mask() {
    let Some(context) = gpu() else { return };
    for g in geometries() {
        let data = random(g.projection_shape().iter().product(), 53);
        for (options, slices) in readings().into_iter().zip([Some(6), None]) {
            let (values, _) = stored(&mut plan(&context, &g, &options, Output::default()), &data, f32::NAN);
            let largest = values.iter().fold(0.0f32, |a, v| a.max(v.abs()));
            let of = slices.filter(|n| *n < g.slices).map_or((0..g.slices).collect::<Vec<_>>(), |n: usize| {
                (0..n).map(|k| (2 * k + 1) * g.slices / (2 * n)).collect()
            });
            let area = g.ny * g.nx;
            let kept = |at: usize| inside(&g, 0.85, at);
            let some: Vec<f32> =
                (0..values.len()).filter(|at| kept(*at) && of.contains(&(at / area))).map(|at| values[at]).collect();
            let (low, high) = (2.0, 97.0);
            let window = Some(Window::Percentiles { low, high, slices });
            let output = Output {
                dtype: DType::U16,
                window,
                mask_radius: 0.85,
                mask_value: -0.01,
                histogram_bins: 50,
                ..Output::default()
            };
            let (seen, written) = stored(&mut plan(&context, &g, &options, output), &data, 0u16);
            let window = written.window.expect("a window");
            for (found, exact) in window.iter().zip(sorted_at(&some, [low, high])) {
                let bound = exact.abs() / 4096.0 + 1e-5 * f64::from(largest);
                assert!((found - exact).abs() <= bound, "{found} in place of {exact}");
            }
            assert_eq!(written.surveyed, of.len());
            let exact =
                (0..values.len()).map(|at| integer(if kept(at) { values[at] } else { -0.01 }, window, 65535.0) as u16);
            assert_eq!(seen, exact.collect::<Vec<_>>());
            assert_eq!(written.histogram.iter().sum::<u64>(), (0..values.len()).filter(|at| kept(*at)).count() as u64);
        }
    }
}

/// The processor's numbers, but for values that f32 rounding brings across the middle between two.
#[test]
fn the_processor_stores_the_same() {
    let Some(context) = gpu() else { return };
    let [g, ..] = geometries();
    let data = random(g.projection_shape().iter().product(), 54);
    for options in readings() {
        let (values, _) = stored(&mut plan(&cpu(), &g, &options, Output::default()), &data, f32::NAN);
        let window = sorted_at(&values, [1.0, 99.0]);
        let output = Output { dtype: DType::U8, window: given(window), histogram_bins: 256, ..Output::default() };
        let (a, of_cpu) = stored(&mut plan(&cpu(), &g, &options, output.clone()), &data, 0u8);
        let (b, of_gpu) = stored(&mut plan(&context, &g, &options, output), &data, 0u8);
        // f32 results differ by up to 2e-4 (the band-limited tolerance, twice) of the largest value: less than a step of the window.
        assert!(a.iter().zip(&b).all(|(a, b)| a.abs_diff(*b) <= 1));
        let other = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        assert!(other * 20 < a.len(), "{other} of {} differ", a.len());
        assert_eq!((of_cpu.slope, of_cpu.offset), (of_gpu.slope, of_gpu.offset));
        assert_eq!(of_gpu.histogram.iter().sum::<u64>(), a.len() as u64);
    }
}

/// Tensors on the GPU, of any strides; elements in between are left alone. Projections there as well, and on the host.
#[test]
fn tensors_on_the_gpu() {
    let Some(context) = gpu() else { return };
    fn check<T: Element + PartialEq + Debug>(context: &Arc<Context>, dtype: DType, fill: T) {
        for (g, options) in geometries().into_iter().zip(readings().into_iter().cycle()) {
            let data = random(g.projection_shape().iter().product(), 55);
            let (mapped, window) = (dtype == DType::F16, given([-0.05, 0.06]));
            let window = if dtype == DType::F32 { None } else { window };
            let mask_radius = if dtype == DType::F32 { 0.7 } else { 0.0 };
            let output = Output { dtype, window, mapped, mask_radius, ..Output::default() };
            let mut ct = plan(context, &g, &options, output);
            let (expected, _) = stored(&mut ct, &data, fill);
            let [z, y, x] = g.volume_shape().map(|n| n as isize);
            let projections = OnGpu::new(&data);
            for (strides, first) in
                [([y * x, x, 1], 0), ([1, z, z * y], 0), ([2 * y * x, 2 * x, 2], 0), ([y * x, -x, 1], (y - 1) * x)]
            {
                for resident in [false, true] {
                    let room = OnGpu::new(&vec![fill; 2 * expected.len()]);
                    let origin = (room.address as *mut T).wrapping_offset(first).cast::<u8>();
                    let p = g.projection_shape();
                    let steps = [(p[1] * p[2]) as isize, p[2] as isize, 1];
                    // SAFETY: elements inside the two arrays, distinct in the volume's, which nothing else uses.
                    let (from, to) = unsafe {
                        let from = match resident {
                            true => Array::from_raw(projections.address as *const u8, DType::F32, p, steps, Some(0)),
                            false => Array::new(&data, p).expect("projections"),
                        };
                        (from, ArrayMut::from_raw(origin, dtype, g.volume_shape(), strides, Some(0)))
                    };
                    ct.reconstruct(from, to).expect("a reconstruction");
                    let mut seen = room.read();
                    for (at, value) in expected.iter().enumerate() {
                        let [i, j, k] = [at / (g.ny * g.nx), at / g.nx % g.ny, at % g.nx].map(|n| n as isize);
                        let place = (first + i * strides[0] + j * strides[1] + k * strides[2]) as usize;
                        assert_eq!(seen[place], *value, "{dtype:?} {strides:?} at {at}");
                        seen[place] = fill;
                    }
                    assert!(seen.iter().all(|v| *v == fill), "{dtype:?} {strides:?}: elements in between");
                }
            }
        }
    }
    check(&context, DType::U8, 3u8);
    check(&context, DType::U16, 3u16);
    check(&context, DType::F16, F16(3));
    check(&context, DType::F32, 3.0f32);
}

/// The same scan several times, so that plans whose memory was laid out for another type go on.
#[test]
fn types_take_turns_in_one_plan() {
    let Some(context) = gpu() else { return };
    let [g, ..] = geometries();
    let data = random(g.projection_shape().iter().product(), 56);
    let mut ct = plan(&context, &g, &Options::default(), Output::default());
    let (values, _) = stored(&mut ct, &data, f32::NAN);
    let window = sorted_at(&values, [1.0, 99.0]);
    for _ in 0..2 {
        ct.set_output(Output { dtype: DType::U8, window: given(window), ..Output::default() }).expect("u8");
        let exact: Vec<u8> = values.iter().map(|v| integer(*v, window, 255.0) as u8).collect();
        assert_eq!(stored(&mut ct, &data, 0u8).0, exact);
        ct.set_output(Output::default()).expect("f32");
        assert_eq!(stored(&mut ct, &data, f32::NAN).0, values);
    }
}

/// Slab by slab, with callbacks and without, on one GPU and on all: the same numbers. Progress runs through both passes.
#[test]
fn streams_slabs_and_several_gpus() {
    let Some(context) = gpu() else { return };
    let [g, ..] = geometries();
    let data = random(g.projection_shape().iter().product(), 57);
    let area = g.ny * g.nx;
    for options in readings() {
        let window = Some(Window::Percentiles { low: 1.0, high: 99.0, slices: Some(5) });
        let output = Output { dtype: DType::U16, window, histogram_bins: 9, ..Output::default() };
        let (expected, of_whole) = stored(&mut plan(&context, &g, &options, output.clone()), &data, 0u16);
        for gpus in [vec![0], super::several()] {
            let reports = Arc::new(Mutex::new(Vec::new()));
            let copy = reports.clone();
            let progress = move |fraction: f64, stage: Stage| {
                copy.lock().expect("reports").push((fraction, stage));
                false
            };
            let all = Arc::new(
                Context::new(ContextOptions {
                    compute: Compute::Gpus(gpus),
                    progress: Some(Box::new(progress)),
                    ..ContextOptions::default()
                })
                .expect("a context"),
            );
            let mut ct = plan(&all, &g, &options, output.clone());
            let (seen, of_all) = stored(&mut ct, &data, 0u16);
            assert_eq!((seen, of_all), (expected.clone(), of_whole.clone()));
            let mut streamed = vec![0u16; expected.len()];
            let (mut read, mut wrote) = (Vec::new(), Vec::new());
            ct.reconstruct_stream(
                DType::F32,
                |slab: Slab| {
                    read.extend(slab.first..slab.first + slab.count);
                    // SAFETY: the slab's array holds as many elements as its shape says.
                    let to =
                        unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
                    for (k, line) in to.chunks_exact_mut(g.bins).enumerate() {
                        let (view, row) = (k / slab.count, g.first_row + slab.first + k % slab.count);
                        line.copy_from_slice(&data[(view * g.rows + row) * g.bins..][..g.bins]);
                    }
                    Ok(())
                },
                |slab: Slab| {
                    assert_eq!(slab.dtype, DType::U16);
                    wrote.extend(slab.first..slab.first + slab.count);
                    // SAFETY: as above.
                    let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<u16>(), slab.count * area) };
                    streamed[slab.first * area..][..from.len()].copy_from_slice(from);
                    Ok(())
                },
            )
            .expect("a stream");
            assert_eq!(streamed, expected);
            assert_eq!(ct.written(), Ok(&of_whole));
            let some: Vec<usize> = (0..5).map(|k| (2 * k + 1) * g.slices / 10).collect();
            assert_eq!(read, [some, (0..g.slices).collect()].concat());
            assert_eq!(wrote, (0..g.slices).collect::<Vec<_>>());
            let seen = reports.lock().expect("reports");
            assert_eq!(seen.iter().filter(|r| r.1 == Stage::Done).count(), 2, "{seen:?}");
            let calls: Vec<_> = seen.split_inclusive(|r| r.1 == Stage::Done).collect();
            assert!(calls.iter().all(|call| call.windows(2).all(|w| w[0].0 <= w[1].0)), "{seen:?}");
        }
    }
}

/// The slab's f32 results count in `isoc_ct_memory`, and a cap is kept.
#[test]
fn memory_is_counted() {
    let [g, ..] = geometries();
    let output = Output { dtype: DType::U16, window: given([-1.0, 1.0]), ..Output::default() };
    let Some(context) = gpu() else { return };
    let mut ct = plan(&context, &g, &Options::default(), output.clone());
    let (bytes, slab) = (ct.memory().expect("bytes"), ct.info().expect("info").slab_slices as u64);
    ct.set_output(Output::default()).expect("f32");
    // Two results of two bytes in place of four, and one of four.
    assert_eq!((ct.memory(), ct.info().expect("info").slab_slices as u64), (Ok(bytes), slab));
    let (expected, _) = stored(
        &mut plan(&context, &g, &Options::default(), output.clone()),
        &random(g.projection_shape().iter().product(), 58),
        0u16,
    );
    let Some(small) = gpu_with(ContextOptions { gpu_memory_cap: bytes / 2, ..ContextOptions::default() }) else {
        return;
    };
    let mut ct = plan(&small, &g, &Options::default(), output);
    assert!(ct.memory().expect("bytes") <= bytes / 2 && (ct.info().expect("info").slab_slices as u64) < slab);
    let (seen, _) = stored(&mut ct, &random(g.projection_shape().iter().product(), 58), 0u16);
    // Other slabs may have another kernel, whose sums differ in their last bits.
    assert!(seen.iter().zip(&expected).all(|(a, b)| a.abs_diff(*b) <= 1));
}

#[test]
fn a_volume_of_one_value_has_no_percentiles() {
    let Some(context) = gpu() else { return };
    let [g, ..] = geometries();
    let zeros = vec![0.0; g.projection_shape().iter().product()];
    let window = Some(Window::Percentiles { low: 0.1, high: 99.9, slices: Some(3) });
    let mut ct = plan(&context, &g, &Options::default(), Output { dtype: DType::U8, window, ..Output::default() });
    let mut volume = vec![9u8; g.volume_shape().iter().product()];
    let from = Array::new(&zeros, g.projection_shape()).expect("projections");
    let to = ArrayMut::of(&mut volume, g.volume_shape()).expect("a volume");
    assert_eq!(ct.reconstruct(from, to).map_err(|e| e.status), Err(Status::OutOfRange));
    assert!(volume.iter().all(|v| *v == 9), "nothing is written");
}

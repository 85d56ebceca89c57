//! Volumes of 8 and 16 bits: what is stored is what the documentation says of the f32 volume, bit by bit.

use crate::common::{on_processor, plan, projection_len, random, to_volume, volume_len};
use isocenter::array::{Array, ArrayMut, DType, Element};
use isocenter::context::{Context, ContextOptions, Stage};
use isocenter::cpu::half::F16;
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Output, Slab, Window, Written};
use isocenter::error::{Result, Status};
use std::f64::consts::PI;
use std::sync::{Arc, Mutex};

fn geometry() -> Geometry {
    let angles = (0..30).map(|v| PI * f64::from(v) / 30.0).collect();
    Geometry { first_row: 2, slices: 19, ny: 41, nx: 37, ..Geometry::new(angles, 45).with_rows(24) }
}

/// The nearest f16, by another library.
fn f16(v: f32) -> F16 {
    F16(half::f16::from_f32(v).to_bits())
}

/// The volume as f32, which the same plan makes of the same data, bit by bit.
fn f32s(g: &Geometry, options: &Options, data: &[f32]) -> Vec<f32> {
    let mut ct = plan(g, Level::detect(), 2);
    ct.set_options(options.clone()).expect("options");
    to_volume(&mut ct, g, Ct::reconstruct, data)
}

fn stored<T: Element>(ct: &mut Ct, g: &Geometry, data: &[f32], fill: T) -> Result<(Vec<T>, Written)> {
    let mut volume = vec![fill; volume_len(g)];
    let from = Array::new(data, g.projection_shape()).expect("projections");
    ct.reconstruct(from, ArrayMut::of(&mut volume, g.volume_shape()).expect("a volume"))?;
    Ok((volume, ct.written()?.clone()))
}

fn with_output(g: &Geometry, options: &Options, output: Output) -> Ct {
    let mut ct = plan(g, Level::detect(), 2);
    ct.set_options(options.clone()).expect("options");
    ct.set_output(output).expect("an output");
    ct
}

/// The formula of `isoc_ct_output`, in f64: ties to even, as `round_ties_even` has it.
fn integer(v: f32, low: f64, high: f64, largest: f64) -> f64 {
    ((f64::from(v) - low) * (largest / (high - low))).clamp(0.0, largest).round_ties_even()
}

fn both_interpolations() -> [Options; 2] {
    [Interpolation::Linear, Interpolation::BandLimited]
        .map(|interpolation| Options { interpolation, ..Options::default() })
}

/// Values at two percentiles, by sorting: rank p / 100 (n - 1), linear between neighbours.
fn sorted_at(values: &[f32], percentiles: [f64; 2]) -> [f64; 2] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    percentiles.map(|p| {
        let rank = p / 100.0 * (sorted.len() - 1) as f64;
        let (k, t) = (rank as usize, rank.fract());
        let next = sorted[(k + 1).min(sorted.len() - 1)];
        f64::from(sorted[k]) * (1.0 - t) + f64::from(next) * t
    })
}

fn given([low, high]: [f64; 2]) -> Option<Window> {
    Some(Window::Given { low, high })
}

fn percentiles(low: f64, high: f64, slices: Option<usize>) -> Option<Window> {
    Some(Window::Percentiles { low, high, slices })
}

fn clipped(values: &[f32], [low, high]: [f64; 2]) -> [u64; 2] {
    let count = |is: &dyn Fn(f64) -> bool| values.iter().filter(|v| is(f64::from(**v))).count() as u64;
    [count(&|v| v < low), count(&|v| v > high)]
}

#[test]
fn integers_of_a_given_window() {
    let g = geometry();
    let data = random(projection_len(&g), 31);
    for options in both_interpolations() {
        let expected = f32s(&g, &options, &data);
        let [low, high] = sorted_at(&expected, [7.0, 88.0]);
        let window = given([low, high]);
        let mut ct = with_output(&g, &options, Output { dtype: DType::U16, window, ..Output::default() });
        let (seen, written) = stored(&mut ct, &g, &data, 7u16).expect("u16");
        let exact: Vec<u16> = expected.iter().map(|v| integer(*v, low, high, 65535.0) as u16).collect();
        assert_eq!(seen, exact);
        let outside = clipped(&expected, [low, high]);
        assert!(outside.iter().all(|n| *n > 0) && written.clipped == outside, "{outside:?}: {written:?}");
        assert_eq!((written.window, written.surveyed), (Some([low, high]), 0));
        // Half a step each way, and the roundings of three operations in f64.
        let step = (high - low) / 65535.0;
        let inside = expected.iter().zip(&seen).filter(|(v, _)| (low..=high).contains(&f64::from(**v)));
        for (v, s) in inside {
            let back = written.offset + written.slope * f64::from(*s);
            assert!((back - f64::from(*v)).abs() <= 0.5 * step * (1.0 + 1e-9), "{v} came back as {back}");
        }
        ct.set_output(Output { dtype: DType::U8, window, ..Output::default() }).expect("an output");
        let (seen, _) = stored(&mut ct, &g, &data, 7u8).expect("u8");
        let exact: Vec<u8> = expected.iter().map(|v| integer(*v, low, high, 255.0) as u8).collect();
        assert_eq!(seen, exact);
    }
}

#[test]
fn every_level_stores_the_same_of_the_same_values() {
    let g = geometry();
    let data = random(projection_len(&g), 32);
    for level in Level::available() {
        let expected = to_volume(&mut plan(&g, level, 2), &g, Ct::reconstruct, &data);
        let [low, high] = sorted_at(&expected, [7.0, 88.0]);
        let mut ct = plan(&g, level, 2);
        ct.set_output(Output { dtype: DType::U8, window: given([low, high]), ..Output::default() }).expect("u8");
        let exact: Vec<u8> = expected.iter().map(|v| integer(*v, low, high, 255.0) as u8).collect();
        assert_eq!(stored(&mut ct, &g, &data, 0u8).expect("u8").0, exact, "{level:?}");
    }
}

/// f16 hold values, the nearest to them, or places in the window.
#[test]
fn halves() {
    let g = geometry();
    let options = Options::default();
    let mut data = random(projection_len(&g), 33);
    let peak = f32s(&g, &options, &data).iter().fold(0.0f32, |a, v| a.max(v.abs()));
    // A third or so is more than f16 can hold.
    data.iter_mut().for_each(|v| *v *= 2.5e5 / peak);
    let expected = f32s(&g, &options, &data);
    let mut ct = with_output(&g, &options, Output { dtype: DType::F16, ..Output::default() });
    let (seen, written) = stored(&mut ct, &g, &data, F16(0x7e00)).expect("f16");
    let exact: Vec<F16> = expected.iter().map(|v| f16(v.clamp(-65504.0, 65504.0))).collect();
    assert_eq!(seen, exact);
    let outside = clipped(&expected, [-65504.0, 65504.0]);
    assert!(outside.iter().all(|n| *n > 0) && written.clipped == outside, "{outside:?}: {written:?}");
    assert_eq!((written.slope, written.offset, written.window), (1.0, 0.0, None));

    let [low, high] = sorted_at(&expected, [1.0, 90.0]);
    let mapped = Output { dtype: DType::F16, window: given([low, high]), mapped: true, ..Output::default() };
    ct.set_output(mapped).expect("an output");
    let (seen, written) = stored(&mut ct, &g, &data, F16(0x7e00)).expect("f16 of a window");
    let place = |v: &f32| ((f64::from(*v) - low) * (1.0 / (high - low))).clamp(0.0, 1.0) as f32;
    let exact: Vec<F16> = expected.iter().map(|v| f16(place(v))).collect();
    assert_eq!(seen, exact);
    assert_eq!(written.clipped, clipped(&expected, [low, high]));
    assert!((written.slope / (high - low) - 1.0).abs() < 1e-15 && written.offset == low, "{written:?}");
}

/// Within 2^-12 of their size, which is the survey's promise, of those by sorting; much nearer here, where values lie densely: a rank is
/// interpolated between some of the 2^12 steps of its octave, each of which has several values.
#[test]
fn percentiles_are_those_of_sorted_values() {
    let g = geometry();
    let data = random(projection_len(&g), 34);
    for (options, slices) in both_interpolations().into_iter().zip([None, Some(5)]) {
        let expected = f32s(&g, &options, &data);
        let area = g.ny * g.nx;
        // Of n slices the k-th is in the middle of its part.
        let of = slices.map_or((0..g.slices).collect(), |n: usize| {
            (0..n).map(|k| (2 * k + 1) * g.slices / (2 * n)).collect::<Vec<_>>()
        });
        let values: Vec<f32> = of.iter().flat_map(|z| &expected[z * area..(z + 1) * area]).copied().collect();
        for [p, q] in [[0.1, 99.9], [2.0, 60.0], [0.0, 50.0], [45.0, 55.0]] {
            let window = percentiles(p, q, slices);
            let mut ct = with_output(&g, &options, Output { dtype: DType::U16, window, ..Output::default() });
            let (seen, written) = stored(&mut ct, &g, &data, 0u16).expect("u16");
            let [low, high] = written.window.expect("a window");
            for (found, exact) in [low, high].iter().zip(sorted_at(&values, [p, q])) {
                assert!((found - exact).abs() <= exact.abs() / 4096.0, "{p}, {q}: {found} in place of {exact}");
            }
            assert_eq!(written.surveyed, of.len());
            let exact: Vec<u16> = expected.iter().map(|v| integer(*v, low, high, 65535.0) as u16).collect();
            assert_eq!(seen, exact, "one window for all slices");
        }
    }
    // The smallest and the largest value are kept as they are.
    let options = Options::default();
    let expected = f32s(&g, &options, &data);
    let window = percentiles(0.0, 100.0, None);
    let mut ct = with_output(&g, &options, Output { dtype: DType::U8, window, ..Output::default() });
    let (_, written) = stored(&mut ct, &g, &data, 0u8).expect("u8");
    assert_eq!(written.window, Some(sorted_at(&expected, [0.0, 100.0])));
    assert_eq!(written.clipped, [0, 0]);
}

/// Where a pixel is inside the circle.
fn inside(g: &Geometry, radius: f64, at: usize) -> bool {
    let (i, j) = ((at / g.nx % g.ny) as f64, (at % g.nx) as f64);
    let (y, x) = (i - (g.ny as f64 - 1.0) / 2.0, j - (g.nx as f64 - 1.0) / 2.0);
    (x * x + y * y).sqrt() <= radius * g.ny.min(g.nx) as f64 / 2.0
}

#[test]
fn a_circle_is_kept_and_the_rest_does_not_count() {
    for (ny, nx, radius) in [(41, 37, 0.9), (36, 50, 1.0), (40, 40, 0.02), (31, 31, 1.5)] {
        let g = Geometry { ny, nx, ..geometry() };
        // Even sides have no pixel in the middle; the smallest circle still holds the four about it.
        let radius = if ny % 2 == 0 && radius < 0.1 { 0.04 } else { radius };
        let data = random(projection_len(&g), 35);
        for options in both_interpolations() {
            let expected = f32s(&g, &options, &data);
            let kept: Vec<f32> =
                expected.iter().enumerate().filter(|(at, _)| inside(&g, radius, *at)).map(|(_, v)| *v).collect();
            let masked = |value: f32| -> Vec<f32> {
                let masked = expected.iter().enumerate();
                masked.map(|(at, v)| if inside(&g, radius, at) { *v } else { value }).collect()
            };
            let circle = Output { mask_radius: radius, mask_value: -0.125, ..Output::default() };
            let mut ct = with_output(&g, &options, circle.clone());
            assert_eq!(stored(&mut ct, &g, &data, f32::NAN).expect("f32").0, masked(-0.125));

            let window = percentiles(1.0, 99.0, None);
            ct.set_output(Output { dtype: DType::U16, window, histogram_bins: 11, ..circle }).expect("an output");
            let (seen, written) = stored(&mut ct, &g, &data, 0u16).expect("u16");
            let [low, high] = written.window.expect("a window");
            for (found, exact) in [low, high].iter().zip(sorted_at(&kept, [1.0, 99.0])) {
                assert!((found - exact).abs() <= exact.abs() / 4096.0, "{found} in place of {exact}");
            }
            let exact: Vec<u16> = masked(-0.125).iter().map(|v| integer(*v, low, high, 65535.0) as u16).collect();
            assert_eq!(seen, exact);
            assert_eq!(written.clipped, clipped(&kept, [low, high]), "what is outside is not clipped");
            assert_eq!(written.histogram.iter().sum::<u64>(), kept.len() as u64);
        }
    }
    let g = Geometry { ny: 40, nx: 40, ..geometry() };
    let mut ct = with_output(&g, &Options::default(), Output { mask_radius: 0.02, ..Output::default() });
    let e = stored(&mut ct, &g, &random(projection_len(&g), 1), 0.0f32).expect_err("no pixel is inside");
    assert_eq!(e.status, Status::OutOfRange, "{}", e.message);
}

#[test]
fn histograms_are_of_what_was_written() {
    let g = geometry();
    let data = random(projection_len(&g), 36);
    let options = Options::default();
    let expected = f32s(&g, &options, &data);
    let [low, high] = sorted_at(&expected, [3.0, 97.0]);
    for (dtype, bins) in [
        (DType::U8, 256),
        (DType::U8, 7),
        (DType::U8, 1000),
        (DType::U16, 65536),
        (DType::U16, 100),
        (DType::F16, 33),
        (DType::F32, 1),
        (DType::F32, 1024),
    ] {
        let largest = if dtype == DType::U8 { 255.0 } else { 65535.0 };
        let bin = |v: &f32| match dtype {
            DType::U8 | DType::U16 => (integer(*v, low, high, largest) * bins as f64 / (largest + 1.0)) as usize,
            _ => (((f64::from(*v) - low) * (bins as f64 / (high - low))).max(0.0) as usize).min(bins - 1),
        };
        let mut counts = vec![0; bins];
        expected.iter().for_each(|v| counts[bin(v)] += 1);
        let output = Output { dtype, window: given([low, high]), histogram_bins: bins, ..Output::default() };
        let mut ct = with_output(&g, &options, output);
        let written = match dtype {
            DType::U8 => stored(&mut ct, &g, &data, 0u8).map(|s| s.1),
            DType::U16 => stored(&mut ct, &g, &data, 0u16).map(|s| s.1),
            DType::F16 => stored(&mut ct, &g, &data, F16(0)).map(|s| s.1),
            _ => {
                let (seen, written) = stored(&mut ct, &g, &data, 0f32).expect("f32");
                assert_eq!(seen, expected, "f32 are as they are");
                Ok(written)
            }
        };
        let written = written.expect("a volume");
        assert_eq!(written.histogram, counts, "{dtype:?}, {bins} bins");
        assert_eq!(written.clipped, clipped(&expected, [low, high]));
        assert_eq!(counts.iter().sum::<u64>(), expected.len() as u64);
    }
}

/// Fills a slab of a stream.
fn fill(g: &Geometry, all: &[f32], slab: &Slab) {
    // SAFETY: the slab's array holds as many elements as its shape says.
    let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
    for v in 0..g.views() {
        for r in 0..slab.count {
            let from = (v * g.rows + g.first_row + slab.first + r) * g.bins;
            to[(v * slab.count + r) * g.bins..][..g.bins].copy_from_slice(&all[from..from + g.bins]);
        }
    }
}

/// A volume from callback to callback, and the slabs that were read and written.
fn streamed<T: Element>(ct: &mut Ct, g: &Geometry, all: &[f32], fill_with: T) -> Result<(Vec<T>, [Vec<usize>; 2])> {
    let (mut out, mut read, mut wrote) = (vec![fill_with; volume_len(g)], Vec::new(), Vec::new());
    let area = g.ny * g.nx;
    ct.reconstruct_stream(
        DType::F32,
        |slab| {
            read.extend(slab.first..slab.first + slab.count);
            fill(g, all, &slab);
            Ok(())
        },
        |slab| {
            assert_eq!(slab.dtype, T::DTYPE);
            wrote.extend(slab.first..slab.first + slab.count);
            // SAFETY: as in `fill`.
            let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<T>(), slab.count * area) };
            out[slab.first * area..][..from.len()].copy_from_slice(from);
            Ok(())
        },
    )?;
    Ok((out, [read, wrote]))
}

fn capped(g: &Geometry, memory_cap: u64) -> Ct {
    let options = ContextOptions { memory_cap, threads: 2, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct
}

#[test]
fn slabs_and_streams_store_the_same() {
    let g = geometry();
    let data = random(projection_len(&g), 37);
    let options = Options::default();
    let expected = f32s(&g, &options, &data);
    let [low, high] = sorted_at(&expected, [3.0, 97.0]);
    let wide = Output { dtype: DType::U16, window: given([low, high]), ..Output::default() };
    // Sums differ in their last bits where slabs do: by 5e-6 of the largest value, as the tests of streams have it.
    let max = expected.iter().fold(0.0f32, |a, v| a.max(v.abs()));
    let off = 5e-6 * f64::from(max) / (high - low) * 65535.0;
    let near = |seen: &[u16]| {
        for (s, v) in seen.iter().zip(&expected) {
            let x = ((f64::from(*v) - low) / (high - low) * 65535.0).clamp(0.0, 65535.0);
            assert!((f64::from(*s) - x).abs() <= 0.5 + off, "{s} in place of {x}");
        }
    };
    // Room for a few slices at a time.
    let mut ct = capped(&g, 1 << 20);
    ct.set_output(wide).expect("an output");
    near(&stored(&mut ct, &g, &data, 0u16).expect("slabs").0);
    let (seen, [read, wrote]) = streamed(&mut ct, &g, &data, 0u16).expect("a stream");
    near(&seen);
    let all: Vec<usize> = (0..g.slices).collect();
    assert_eq!((&read, &wrote), (&all, &all));

    // With percentiles the slices of the first pass are read first, and nothing is written of them.
    for (memory_cap, slices, first) in [(18 << 20, Some(4), vec![2, 7, 11, 16]), (18 << 20, None, all.clone())] {
        let mut ct = capped(&g, memory_cap);
        let window = percentiles(5.0, 95.0, slices);
        ct.set_output(Output { dtype: DType::U8, window, histogram_bins: 16, ..Output::default() }).expect("an output");
        let (whole, of_whole) = stored(&mut ct, &g, &data, 0u8).expect("from percentiles");
        let (seen, [read, wrote]) = streamed(&mut ct, &g, &data, 0u8).expect("a stream");
        assert_eq!(read, [first, all.clone()].concat());
        assert_eq!(wrote, all);
        let of_stream = ct.written().expect("written");
        // The windows differ by no more than the values of which they are.
        let ([a, b], [c, d]) = (of_whole.window.expect("low, high"), of_stream.window.expect("low, high"));
        let bound = 1e-5 * f64::from(max);
        assert!((a - c).abs() <= bound && (b - d).abs() <= bound, "{of_whole:?}, {of_stream:?}");
        assert!(whole.iter().zip(&seen).all(|(a, b)| a.abs_diff(*b) <= 1));
        assert_eq!(of_stream.histogram.iter().sum::<u64>(), expected.len() as u64);
    }
}

/// Any strides, of all three types; elements in between are left alone.
#[test]
fn targets_of_any_strides() {
    fn check<T: Element + PartialEq + std::fmt::Debug>(dtype: DType, fill: T) {
        let g = geometry();
        let data = random(projection_len(&g), 38);
        let [nz, ny, nx] = g.volume_shape();
        let (mapped, window) = (dtype == DType::F16, given([-0.05, 0.06]));
        let mut ct = with_output(&g, &Options::default(), Output { dtype, window, mapped, ..Output::default() });
        let (expected, _) = stored(&mut ct, &g, &data, fill).expect("contiguous");
        let [z, y, x] = [nz, ny, nx].map(|n| n as isize);
        // Column-major; every second column; rows from the bottom; slices innermost.
        for (strides, first) in
            [([1, z, z * y], 0), ([2 * y * x, 2 * x, 2], 0), ([y * x, -x, 1], (y - 1) * x), ([1, x * z, z], 0)]
        {
            let mut room = vec![fill; 2 * expected.len()];
            let origin = room.as_mut_ptr().wrapping_offset(first);
            // SAFETY: inside `room`, and distinct.
            let to = unsafe { ArrayMut::from_raw(origin.cast(), dtype, [nz, ny, nx], strides, None) };
            ct.reconstruct(Array::new(&data, g.projection_shape()).expect("projections"), to).expect("strides");
            let mut left = room.clone();
            for (at, value) in expected.iter().enumerate() {
                let [i, j, k] = [at / (ny * nx), at / nx % ny, at % nx].map(|n| n as isize);
                let place = (first + i * strides[0] + j * strides[1] + k * strides[2]) as usize;
                assert_eq!(room[place], *value, "{dtype:?} {strides:?}");
                left[place] = fill;
            }
            assert!(left.iter().all(|v| *v == fill), "{dtype:?} {strides:?}: elements in between");
        }
    }
    check(DType::U8, 3u8);
    check(DType::U16, 3u16);
    check(DType::F16, F16(3));
}

#[test]
fn a_volume_of_one_value_has_no_percentiles() {
    let g = geometry();
    let zeros = vec![0.0; projection_len(&g)];
    let window = percentiles(0.1, 99.9, Some(3));
    let mut ct = with_output(&g, &Options::default(), Output { dtype: DType::U8, window, ..Output::default() });
    let mut volume = vec![9u8; volume_len(&g)];
    let from = || Array::new(&zeros, g.projection_shape()).expect("projections");
    let e = ct
        .reconstruct(from(), ArrayMut::of(&mut volume, g.volume_shape()).expect("a volume"))
        .expect_err("a window of zero width");
    assert_eq!(e.status, Status::OutOfRange);
    assert!(e.message.contains("are both 0.0") && e.message.contains("output.low"), "{}", e.message);
    assert!(volume.iter().all(|v| *v == 9), "nothing is written");
    assert_eq!(ct.written().expect_err("no volume").status, Status::NotConfigured);
    // A window serves it.
    ct.set_output(Output { dtype: DType::U8, window: given([-1.0, 1.0]), ..Output::default() }).expect("a window");
    let (seen, _) = stored(&mut ct, &g, &zeros, 9u8).expect("a volume");
    // 127.5 goes to the even neighbour.
    assert!(seen.iter().all(|v| *v == 128));
}

#[test]
fn another_type_is_refused_and_nothing_is_told_before() {
    let g = geometry();
    let data = random(projection_len(&g), 39);
    let mut ct = plan(&g, Level::detect(), 1);
    assert_eq!(ct.written().expect_err("no call yet").status, Status::NotConfigured);
    assert_eq!(stored(&mut ct, &g, &data, 0u16).expect_err("u16").status, Status::TensorDtype);
    let (volume, written) = stored(&mut ct, &g, &data, 0f32).expect("f32");
    assert_eq!((written.slope, written.offset, written.window, written.dtype), (1.0, 0.0, None, DType::F32));
    ct.set_output(Output { dtype: DType::U16, window: given([0.0, 1.0]), ..Output::default() }).expect("u16");
    assert_eq!(ct.written().expect_err("forgotten").status, Status::NotConfigured);
    for e in [stored(&mut ct, &g, &data, 0f32).map(drop), stored(&mut ct, &g, &data, 0u8).map(drop)] {
        let e = e.expect_err("another type");
        assert!(e.status == Status::TensorDtype && e.message.contains("[U16]"), "{}", e.message);
    }
    // The other calls keep f32.
    let back = to_volume(&mut ct, &g, Ct::backproject, &data);
    assert_eq!(back.len(), volume.len());
    ct.set_output(Output::default()).expect("f32");
    assert_eq!(stored(&mut ct, &g, &data, 0f32).expect("f32").0, volume);
}

#[test]
fn options_out_of_range_are_named() {
    let mut ct = plan(&geometry(), Level::detect(), 1);
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let bad = |window: Option<Window>| Output { dtype: DType::U16, window, ..Output::default() };
    let circle = |mask_radius, mask_value| Output { mask_radius, mask_value, ..Output::default() };
    for (output, status, text) in [
        (bad(given([1.0, 1.0])), Status::OutOfRange, "low must be below high"),
        (bad(given([2.0, 1.0])), Status::OutOfRange, "low must be below high"),
        (bad(given([nan, 1.0])), Status::NotFiniteParameter, "output.low is NaN"),
        (bad(given([0.0, inf])), Status::NotFiniteParameter, "output.high is inf"),
        (bad(given([0.0, 1e39])), Status::OutOfRange, "output.high is 1e39"),
        (bad(given([0.0, 1e-39])), Status::OutOfRange, "output.high - output.low"),
        (bad(percentiles(99.0, 1.0, None)), Status::OutOfRange, "output.low_percentile is 99.0"),
        (bad(percentiles(5.0, 5.0, None)), Status::OutOfRange, "low must be below high"),
        (bad(percentiles(-1.0, 5.0, None)), Status::OutOfRange, "output.low_percentile is -1.0"),
        (bad(percentiles(1.0, 100.5, None)), Status::OutOfRange, "output.high_percentile is 100.5"),
        (bad(percentiles(1.0, nan, None)), Status::NotFiniteParameter, "output.high_percentile"),
        (bad(percentiles(1.0, 99.0, Some(0))), Status::OutOfRange, "0 slices"),
        (bad(None), Status::OutOfRange, "need a window"),
        (Output { mapped: true, window: given([0.0, 1.0]), ..Output::default() }, Status::OutOfRange, "f16 alone"),
        (Output { dtype: DType::C64, ..Output::default() }, Status::TensorDtype, "C64"),
        (circle(-0.5, 0.0), Status::OutOfRange, "output.mask_radius is -0.5"),
        (circle(1.6, 0.0), Status::OutOfRange, "output.mask_radius is 1.6"),
        (circle(nan, 0.0), Status::NotFiniteParameter, "output.mask_radius"),
        (circle(1.0, inf), Status::NotFiniteParameter, "output.mask_value"),
        (circle(1.0, -1e39), Status::OutOfRange, "output.mask_value"),
        (
            Output { histogram_bins: 65537, window: given([0.0, 1.0]), ..Output::default() },
            Status::OutOfRange,
            "output.histogram_bins is 65537",
        ),
    ] {
        let e = ct.set_output(output).expect_err(text);
        assert!(e.status == status && e.message.contains(text), "{:?}: {}", e.status, e.message);
    }
}

#[test]
fn what_is_counted_shows_in_memory() {
    let mut ct = plan(&geometry(), Level::detect(), 3);
    let before = ct.memory().expect("bytes");
    let wide = Output { dtype: DType::U16, window: given([0.0, 1.0]), ..Output::default() };
    ct.set_output(wide.clone()).expect("u16");
    assert_eq!(ct.memory(), Ok(before), "rows are converted on their way");
    ct.set_output(Output { histogram_bins: 1000, ..wide.clone() }).expect("a histogram");
    // Of three threads, and their sum.
    assert_eq!(ct.memory(), Ok(before + 4 * 8000));
    ct.set_output(Output { window: percentiles(1.0, 99.0, None), ..wide }).expect("percentiles");
    assert_eq!(ct.memory(), Ok(before + (16 << 20)));
    let e = {
        let mut ct = capped(&geometry(), 15 << 20);
        let window = percentiles(1.0, 99.0, None);
        ct.set_output(Output { dtype: DType::U8, window, ..Output::default() }).expect("percentiles");
        ct.memory().expect_err("16 MiB of counts")
    };
    assert!(e.status == Status::MemoryCap && e.message.contains("alone need 16777216"), "{}", e.message);
}

type Reports = Arc<Mutex<Vec<(f64, Stage)>>>;

/// Room for a few slices at a time, with percentiles first. Cancels at `stop`.
fn reporting(g: &Geometry, stop: f64) -> (Ct, Reports) {
    let reports = Reports::default();
    let copy = Arc::clone(&reports);
    let progress = move |fraction, stage| {
        copy.lock().expect("reports").push((fraction, stage));
        fraction >= stop
    };
    let memory_cap = (16 << 20) + 300_000;
    let options = ContextOptions { memory_cap, progress: Some(Box::new(progress)), ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    let window = percentiles(1.0, 99.0, Some(6));
    ct.set_output(Output { dtype: DType::U8, window, ..Output::default() }).expect("an output");
    (ct, reports)
}

#[test]
fn progress_of_both_passes_is_one_calls() {
    let g = geometry();
    let data = random(projection_len(&g), 40);
    let (mut ct, reports) = reporting(&g, 2.0);
    streamed(&mut ct, &g, &data, 0u8).expect("success");
    let seen = reports.lock().expect("reports");
    assert!(seen.windows(2).all(|w| w[0].0 <= w[1].0), "{seen:?}");
    assert_eq!(seen.iter().filter(|r| r.1 == Stage::Done).count(), 1, "{seen:?}");
    assert_eq!((seen[0].0, seen.last().copied()), (0.0, Some((1.0, Stage::Done))));
    // Six of 19 + 6 slices are the first pass; parts of 2^50 are rounded down.
    assert!(seen.iter().any(|r| (r.0 - 6.0 / 25.0).abs() < 1e-9), "{seen:?}");
}

#[test]
fn a_cancel_is_heard_in_both_passes() {
    let g = geometry();
    let data = random(projection_len(&g), 41);
    for (stop, some) in [(0.1, false), (0.6, true)] {
        let (mut ct, _) = reporting(&g, stop);
        let mut written = 0;
        let reading = |slab: Slab| {
            fill(&g, &data, &slab);
            Ok(())
        };
        let writing = |slab: Slab| {
            written += slab.count;
            Ok(())
        };
        let e = ct.reconstruct_stream(DType::F32, reading, writing).expect_err("a cancel");
        assert_eq!(e.status, Status::Cancelled, "{}", e.message);
        assert_eq!(written > 0, some, "{written} slices written at {stop}");
        assert_eq!(ct.written().expect_err("not finished").status, Status::NotConfigured);
    }
}

/// Values that the NaN policy replaces are counted once, though percentiles meet them before.
#[test]
fn replaced_values_count_once() {
    let g = geometry();
    let mut data = random(projection_len(&g), 42);
    data[(g.rows + g.first_row + 3) * g.bins + 5] = f32::NAN;
    let options = ContextOptions { nan_policy: isocenter::context::NanPolicy::Replace, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    let window = percentiles(1.0, 99.0, None);
    ct.set_output(Output { dtype: DType::U8, window, ..Output::default() }).expect("an output");
    stored(&mut ct, &g, &data, 0u8).expect("a volume");
    assert_eq!(ct.info().expect("info").replaced, 1);
}

#[test]
fn one_slice() {
    let g = Geometry { slices: 1, ..geometry() };
    let data = random(projection_len(&g), 43);
    for options in both_interpolations() {
        let expected = f32s(&g, &options, &data);
        // More slices than there are: all.
        let window = percentiles(10.0, 90.0, Some(50));
        let mut ct = with_output(&g, &options, Output { dtype: DType::U8, window, ..Output::default() });
        let (seen, written) = stored(&mut ct, &g, &data, 0u8).expect("a volume");
        let [low, high] = written.window.expect("a window");
        assert_eq!(written.surveyed, 1);
        let exact: Vec<u8> = expected.iter().map(|v| integer(*v, low, high, 255.0) as u8).collect();
        assert_eq!(seen, exact);
    }
}

//! Lines in two steps, against transforms in f64. Skipped where there is no GPU, unless ISOC_GPU_REQUIRED is set.

use super::long::LongLine;
use super::*;
use crate::gpu::testing::{C, download, error, gpu, random, tolerance, upload};
use crate::gpu::{Device, DeviceMemory, Precision, Stream};
use isocenter_fft::Planner;
use rustfft::FftDirection;
use std::sync::Arc;

const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];

/// Where the scratch memory is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scratch {
    Apart,
    InFrom,
    InTo,
}

/// A pass across the fastest axis, in two steps.
struct Case {
    axis: usize,
    /// Of the axes other than that, the slower one first.
    others: [usize; 2],
    batches: usize,
    from: Window,
    to: Window,
    scratch: Scratch,
    factors: bool,
    direction: Direction,
}

/// Windows of all kinds and scratch memory wherever there is room, with factors and without, in both directions.
fn cases(n: usize, others: [usize; 2]) -> Vec<Case> {
    let part = |start: usize, count: usize, whole: bool| Window { start: start % n, count: count.max(1), whole };
    let windows = [
        (Window::all(n), Window::all(n)),
        (Window::all(n), Window::centred(2 * n / 3, n)),
        (Window::centred(n / 2, n), Window::all(n)),
        (part(n - 1, n / 2, true), part(1, n - 1, false)),
        (Window::first(n - 1), part(n - n / 4, n / 2, true)),
    ];
    let places = |(from, to): (Window, Window)| {
        let places = [(Scratch::Apart, true), (Scratch::InFrom, from.whole), (Scratch::InTo, to.whole)];
        places.into_iter().filter(|p| p.1).map(move |(scratch, _)| (from, to, scratch))
    };
    let case = |(i, (from, to, scratch)): (usize, (Window, Window, Scratch))| Case {
        axis: i % 2,
        others,
        batches: 1 + i / 2 % 2,
        from,
        to,
        scratch,
        factors: i > 0,
        direction: if i % 3 == 0 { Direction::Backward } else { Direction::Forward },
    };
    windows.into_iter().flat_map(places).enumerate().map(case).collect()
}

/// An array `[batch][z][y][x]` of what a window takes.
fn dims(case: &Case, window: Window, n: usize) -> [usize; 3] {
    let length = if window.whole { n } else { window.count };
    let [outer, inner] = case.others;
    if case.axis == 0 { [length, outer, inner] } else { [outer, length, inner] }
}

/// The elements of a window and their positions.
fn elements(window: Window, n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..window.count).map(move |i| (i, (window.start + i) % n))
}

/// Real numbers that f32 holds.
fn factors(n: usize, seed: u64) -> Vec<f64> {
    random(n, seed).iter().map(|v| 1.0 + v.re / 2.0).map(|v| f64::from(v as f32)).collect()
}

fn upload_real(device: &Arc<Device>, values: &[f64], precision: Precision) -> DeviceMemory {
    match precision {
        Precision::F32 => DeviceMemory::from_slice(device, &values.iter().map(|v| *v as f32).collect::<Vec<_>>()),
        Precision::F64 => DeviceMemory::from_slice(device, values),
    }
    .expect("memory")
}

fn check(device: &Arc<Device>, line: &LongLine, case: &Case, precision: Precision) {
    const SCALE: f64 = 0.5;
    let n = line.length();
    let (from_dims, to_dims) = (dims(case, case.from, n), dims(case, case.to, n));
    let all = |dims: [usize; 3]| case.batches * dims.iter().product::<usize>();
    // What is in `to` before stays where its window is not.
    let (values, before) = (random(all(from_dims), n as u64), random(all(to_dims), 1));
    let tables = [case.from, case.to].map(|w| factors(w.count, w.start as u64));
    let on_device = tables.each_ref().map(|t| upload_real(device, t, precision));
    let (from, to) = (upload(device, &values, precision), upload(device, &before, precision));
    let side = |memory: &DeviceMemory, dims, window, table: &DeviceMemory| {
        let side = Side::new(memory.address(), dims, window);
        if case.factors { side.factors(table.address()) } else { side }
    };
    let whole = dims(case, Window::all(n), n);
    let scratch = DeviceMemory::new(device, all(whole) * precision.complex()).expect("memory");
    let address = match case.scratch {
        Scratch::Apart => scratch.address(),
        Scratch::InFrom => from.address(),
        Scratch::InTo => to.address(),
    };
    let pass = Pass {
        kernels: &Kernels::new(device, precision).expect("kernels"),
        steps: Steps::Two(line, Side::new(address, whole, Window::all(n))),
        axis: case.axis,
        lines: whole,
        batches: case.batches,
        from: side(&from, from_dims, case.from, &on_device[0]),
        to: side(&to, to_dims, case.to, &on_device[1]),
        direction: case.direction,
        scale: SCALE,
        map_stride: 0,
        sum: Sum::No,
    };
    let stream = Stream::new(device).expect("stream");
    let _current = device.enter().expect("current");
    // SAFETY: memory of the sides' sizes.
    unsafe { pass.launch(&stream).expect("launch") };
    let seen = download(device, to.address(), before.len(), precision, &stream);

    let fft = Planner::new()
        .plan_fft(n, if case.direction == Direction::Forward { FftDirection::Forward } else { FftDirection::Inverse });
    let (mut wanted, mut found, mut untouched) = (Vec::new(), Vec::new(), vec![true; before.len()]);
    let [_, inner] = case.others;
    // Slower indices than the axis's: batches, and the outer ones where they are slower.
    let outer = if case.axis == 0 { 1 } else { case.others[0] };
    let stride = if case.axis == 0 { case.others[0] * inner } else { inner };
    for (slow, fast) in (0..case.batches * outer).flat_map(|s| (0..stride).map(move |f| (s, f))) {
        let at = |dims: [usize; 3], place: usize| (slow * dims[case.axis] + place) * stride + fast;
        let mut values_of_line = vec![C::default(); n];
        for (i, p) in elements(case.from, n) {
            let factor = if case.factors { tables[0][i] } else { 1.0 };
            values_of_line[p] = values[at(from_dims, if case.from.whole { p } else { i })] * factor;
        }
        fft.process(&mut values_of_line);
        for (i, p) in elements(case.to, n) {
            let place = at(to_dims, if case.to.whole { p } else { i });
            let factor = if case.factors { tables[1][i] } else { 1.0 };
            wanted.push(values_of_line[p] * factor * SCALE);
            found.push(seen[place]);
            untouched[place] = false;
        }
    }
    let what = format!("{n} along {}, {precision:?} {:?}, {:?} to {:?}", case.axis, case.direction, case.from, case.to);
    // The roots between the steps and the factors on both sides round as much as two more butterflies of two elements.
    let (error, limit) = (error(&found, &wanted), tolerance(4 * n, precision));
    assert!(error < limit, "{what}: {error:e}, not {limit:e}");
    let kept = case.scratch == Scratch::InTo || (0..before.len()).all(|i| !untouched[i] || seen[i] == before[i]);
    assert!(kept, "{what}: more was written");
}

/// Mistaken indices show where lines are short: few butterflies, few neighbours, blocks that are not full.
#[test]
fn short_lines_in_two_steps() {
    let Some(device) = gpu() else { return };
    let lengths = [[8, 8], [2, 3], [3, 2], [20, 18], [18, 20], [16, 2], [2, 16], [49, 7], [12, 32], [21, 15], [64, 60]];
    for (lengths, precision) in lengths.into_iter().flat_map(|l| PRECISIONS.map(|p| (l, p))) {
        let line = LongLine::of(&device, lengths, precision).expect("line");
        for others in [[1, 1], [3, 2], [2, 5], [1, 40]] {
            cases(line.length(), others).iter().for_each(|case| check(&device, &line, case, precision));
        }
    }
}

#[test]
fn long_lines() {
    let Some(device) = gpu() else { return };
    for n in [30_000, 32_768, 46_080, 65_536, 105_000] {
        for precision in PRECISIONS {
            let Ok(Transform::Long(line)) = Transform::new(&device, n, precision) else { panic!("{n} in one step") };
            cases(n, [2, 3]).iter().for_each(|case| check(&device, &line, case, precision));
        }
    }
    for n in [90_000, 1 << 20] {
        let line = LongLine::new(&device, n, Precision::F32).expect("line");
        cases(n, [1, 2]).iter().for_each(|case| check(&device, &line, case, Precision::F32));
    }
}

#[test]
fn long_lines_are_refused_along_the_fastest_axis() {
    let Some(device) = gpu() else { return };
    let line = LongLine::of(&device, [8, 8], Precision::F32).expect("line");
    let memory = DeviceMemory::new(&device, 64 * 8).expect("memory");
    let side = Side::new(memory.address(), [1, 1, 64], Window::all(64));
    let pass = Pass {
        kernels: &Kernels::new(&device, Precision::F32).expect("kernels"),
        steps: Steps::Two(&line, side),
        axis: 2,
        lines: [1, 1, 64],
        batches: 1,
        from: side,
        to: side,
        direction: Direction::Forward,
        scale: 1.0,
        map_stride: 0,
        sum: Sum::No,
    };
    let stream = Stream::new(&device).expect("stream");
    let _current = device.enter().expect("current");
    // SAFETY: memory of the sides' size.
    let refused = unsafe { pass.launch(&stream) };
    assert!(refused.is_err_and(|e| e.message.contains("fastest axis")));
}

#[test]
fn lengths_choose_their_steps() {
    let Some(device) = gpu() else { return };
    let new = |n| Transform::new(&device, n, Precision::F32);
    assert!(matches!(new(4096), Ok(Transform::Short(_))));
    assert!(matches!(new(32_768), Ok(Transform::Long(_))));
    for n in [0, 1, 11, 11 * 4096, 1 << 23] {
        assert!(new(n).is_err(), "{n}");
    }
}

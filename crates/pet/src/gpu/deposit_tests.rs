//! Events counted on a GPU: the processor's voxels, to the last one.

use super::*;
use crate::events::interleaved;
use crate::scanner::{Blocks, Crystals, Pairs, TimeBins};
use crate::view::View;
use crate::{Pet, deposit};
use isocenter_base::array::{DType, Layout};
use isocenter_base::context::{Compute, ContextOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;

const TILT: f64 = 0.2;

fn lattice() -> Lattice {
    Lattice::new([7, 20, 24], [4.0, 5.0, 6.0]).expect("a lattice")
}

fn grid() -> Views {
    Views::grid(8, 3, TILT).expect("views")
}

/// Directions anywhere, more of them where they are flat.
fn list() -> Views {
    let mut random = StdRng::seed_from_u64(5);
    let view = |_| View { azimuth: random.random_range(0.0..PI), tilt: random.random_range(-TILT..TILT) * 0.9 };
    Views::new((0..37).map(view).collect(), TILT).expect("views")
}

/// Of a scanner, some steep, some outside, some on borders between voxels and views, and some that are none.
fn events(count: usize) -> Vec<[f64; 7]> {
    let mut random = StdRng::seed_from_u64(1);
    (0..count)
        .map(|k| {
            let (azimuth, tilt) = (random.random_range(0.0..2.0 * PI), random.random_range(-1.1 * TILT..1.1 * TILT));
            let (azimuth, tilt) = if k % 5 == 0 { ((k % 16) as f64 * PI / 16.0, 0.0) } else { (azimuth, tilt) };
            let n = View { azimuth, tilt }.axes()[0];
            // Whole millimetres lie on borders.
            let place = [55.0f64, 55.0, 23.0].map(|half| {
                let v = random.random_range(-half..half);
                if k % 3 == 0 { v.round() } else { v }
            });
            let off = if k % 4 == 0 { 0.0 } else { random.random_range(-200.0..200.0) };
            let end = |t: f64| std::array::from_fn::<_, 3, _>(|a| place[a] + t * n[a]);
            let ([x1, y1, z1], [x2, y2, z2]) = (end(400.0 - off), end(-400.0 - off));
            let mut event = [x1, y1, z1, x2, y2, z2, off / HALF_LIGHT];
            match k % 97 {
                0 => event[k / 97 % 7] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][k % 3],
                1 => (event[3], event[4], event[5]) = (event[0], event[1], event[2]),
                2 => event[6] = f64::from(f32::MAX),
                3 => (event[0], event[1], event[3], event[4]) = (0.0, 0.0, 0.0, 0.0),
                _ => {}
            }
            event
        })
        .collect()
}

fn context(compute: Compute) -> Context {
    Context::new(ContextOptions { compute, ..ContextOptions::default() }).expect("a context")
}

/// Lists of events on the GPU, seven numbers each.
fn on_gpu<T: Element>(memory: &DeviceMemory, count: usize) -> EventArrays<'static> {
    let size = size_of::<T>();
    let at = |k: usize| std::ptr::without_provenance::<u8>(memory.address() as usize + k * size);
    // SAFETY: as many numbers, which stay for as long as the memory.
    unsafe {
        let positions = |k| Array::from_raw(at(k), T::DTYPE, [count, 3], [7, 1], Some(0));
        EventArrays {
            first: positions(0),
            second: positions(3),
            time: Array::from_raw(at(6), T::DTYPE, [count], [7], Some(0)),
        }
    }
}

/// Counts on the GPU from what is there before, `[view][z][y][x]`, or x slowest; events on the host, and on the GPU.
fn counted<T: Element, H: Element + Plain + Default + PartialEq>(
    device: &Arc<Device>,
    views: &Views,
    events: &[[T; 7]],
    before: &[H],
    turned: bool,
) -> (Vec<H>, Dropped) {
    let context = context(Compute::Gpus(vec![0]));
    let [nz, ny, nx] = lattice().shape();
    let shape = [views.list().len(), nz, ny, nx];
    let strides = match turned {
        false => [nz * ny * nx, ny * nx, nx, 1],
        true => [1, shape[0], shape[0] * nz, shape[0] * nz * ny],
    };
    let depositor = Depositor::new(device, views, None).expect("memory");
    let both = [false, true].map(|there| {
        let _current = device.enter().expect("a GPU");
        let histos = DeviceMemory::from_slice(device, before).expect("memory");
        let list = DeviceMemory::from_slice(device, events.as_flattened()).expect("memory");
        let origin = std::ptr::without_provenance::<u8>(histos.address() as usize);
        let strides = strides.map(|s| s as isize);
        // SAFETY: as many elements, which stay until the call has ended.
        let to = unsafe { ArrayMut::over(Layout { origin, dtype: H::DTYPE, shape, strides, gpu: Some(0) }) };
        let events = if there { on_gpu::<T>(&list, events.len()) } else { interleaved::read(events) };
        let dropped =
            depositor.deposit(&context, &lattice(), List::Positions(&events), &to.stacked(), (0, 0)).expect("success");
        let mut seen = vec![H::default(); before.len()];
        depositor.queue.fetch(histos.address(), &mut seen).expect("success");
        (seen, dropped)
    });
    let [host, gpu] = both;
    assert_eq!(host.1, gpu.1);
    assert!(host.0 == gpu.0, "events on the host and on the GPU");
    host
}

#[test]
fn the_gpu_counts_what_the_processor_counts() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let processor = context(Compute::Cpu);
    let double = events(200_000);
    let single: Vec<[f32; 7]> = double.iter().map(|e| e.map(|v| v as f32)).collect();
    let [nz, ny, nx] = lattice().shape();
    for views in [grid(), list(), Views::new(vec![View { azimuth: 0.3, tilt: 0.0 }], TILT).expect("a view")] {
        let (count, shape) = (views.list().len() * lattice().voxels(), [views.list().len(), nz, ny, nx]);
        let expect = |events: &EventArrays| {
            let mut counts = vec![3u32; count];
            let to = ArrayMut::of(&mut counts, shape).expect("counts");
            let dropped = deposit::deposit(&processor, &views, &lattice(), events, to).expect("success");
            (counts, dropped)
        };
        let expected = expect(&interleaved::read(&double));
        assert!(expected.1.not_finite > 0 && expected.1.equal_positions > 0 && expected.1.outside_tilts > 0);
        assert!(expected.1.total() < 100_000, "{:?}", expected.1);
        assert!(counted(&device, &views, &double, &vec![3u32; count], false) == expected, "f64");
        let expected = expect(&interleaved::read(&single));
        assert!(counted(&device, &views, &single, &vec![3u32; count], false) == expected, "f32");
        let (seen, dropped) = counted(&device, &views, &single, &vec![3f32; count], false);
        assert!(seen.iter().zip(&expected.0).all(|(a, b)| *a == *b as f32) && dropped == expected.1, "f32 counts");
        let (seen, _) = counted(&device, &views, &single, &vec![3u32; count], true);
        let n = shape[0];
        let turned =
            |k: usize| seen[(((k % nx) * ny + k / nx % ny) * nz + k / (nx * ny) % nz) * n + k / (nx * ny * nz)];
        assert!((0..count).all(|k| turned(k) == expected.0[k]), "another order");
    }
}

#[test]
fn full_voxels_stay_full_on_a_gpu() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let views = grid();
    let count = views.list().len() * lattice().voxels();
    let event = [400.0f64, 0.5, 0.5, -400.0, 0.5, 0.5, 0.0];
    let (seen, dropped) = counted(&device, &views, &vec![event; 5000], &vec![u32::MAX - 700; count], false);
    assert_eq!((dropped.overflow, dropped.total()), (4300, 4300));
    assert_eq!(seen.iter().filter(|c| **c == u32::MAX).count(), 1);
    let (seen, dropped) = counted(&device, &views, &vec![event; 5000], &vec![16_777_216.0f32 - 700.0; count], false);
    assert_eq!((dropped.overflow, seen.iter().filter(|c| **c == 16_777_216.0).count()), (4300, 1));
}

/// Through a plan: where arrays must be, and that a plan without a response counts.
#[test]
fn places_are_checked() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let list = events(100);
    let [nz, ny, nx] = lattice().shape();
    let views = grid();
    let (count, shape) = (views.list().len() * lattice().voxels(), [views.list().len(), nz, ny, nx]);
    let histos = DeviceMemory::from_slice(&device, &vec![0u32; count]).expect("memory");
    let there = DeviceMemory::from_slice(&device, list.as_flattened()).expect("memory");
    let origin = std::ptr::without_provenance::<u8>(histos.address() as usize);
    // SAFETY: as many elements, which stay until the end.
    let to = || unsafe { ArrayMut::over(Layout { gpu: Some(0), ..Layout::new(origin, DType::U32, shape) }) };
    let (host, gpu) = (interleaved::read(&list), on_gpu::<f64>(&there, list.len()));
    let mut pet = Pet::new(Arc::new(context(Compute::Gpus(vec![0]))));
    pet.set_geometry(lattice(), views).expect("a geometry");
    let dropped = pet.deposit(&host, to()).expect("success");
    assert_eq!(pet.deposit(&gpu, to()).expect("success"), dropped);
    let mixed = EventArrays { first: gpu.first, ..host };
    let error = pet.deposit(&mixed, to()).expect_err("two places").message;
    assert!(error.contains("first_positions and time_differences must all be in host memory"), "{error}");
    let mut counts = vec![0u32; count];
    let error = pet.deposit(&gpu, ArrayMut::of(&mut counts, shape).expect("counts")).expect_err("two places").message;
    assert!(error.contains("first_positions is in a GPU's memory; with histo-images in host memory"), "{error}");
}

/// Blocks of a ring.
const AROUND: u32 = 20;

/// Crystals about the lattice, two bins of time, two labels; a few that are none of these.
fn crystal_events(count: usize) -> (Scanner, Vec<u16>, Vec<u8>, Vec<u32>) {
    let blocks = Blocks {
        blocks: AROUND as usize,
        block_rings: 3,
        across: 5,
        along: 4,
        diameter: 180.0,
        pitch_across: 5.0,
        pitch_along: 3.0,
        block_pitch: 0.0,
        first_azimuth: 0.0,
    };
    let crystals = blocks.count().expect("crystals");
    let normal = |k| blocks.crystal(k)[1];
    let table = Crystals::new(crystals, |k| blocks.crystal(k)[0], Some(&normal), [4.5, 2.5]).expect("crystals");
    let bins = TimeBins::new(&[-300.0, 10.0, 350.0]).expect("bins");
    // Blocks that face each other are not measured, and some elements of the others.
    let modules: Vec<u32> = (0..crystals as u32).map(|k| k % (5 * AROUND) / 5).collect();
    let group = |k: usize| u32::from((k / AROUND as usize).abs_diff(k % AROUND as usize) != AROUND as usize / 2);
    let values = (0..60 * 60).map(|k| if k % 7 == 0 { 0.0 } else { 0.5 }).collect();
    let pairs = Pairs::new(&modules, (0..AROUND.pow(2) as usize).map(group).collect(), (60, values)).expect("pairs");
    let scanner = Scanner { time_bins: Some(bins), pairs: Some(pairs), ..table.into() };
    let mut random = StdRng::seed_from_u64(4);
    let mut below = |n: u16| random.random_range(0..n);
    let pairs = (0..2 * count).map(|k| if k % 101 == 0 { 5 } else { below(crystals as u16 + 1) }).collect();
    let bins = (0..count).map(|k| if k % 77 == 0 { 2 } else { below(2) as u8 }).collect();
    let labels = (0..count).map(|k| if k % 79 == 0 { 900_000 } else { u32::from(below(2)) }).collect();
    (scanner, pairs, bins, labels)
}

#[test]
fn crystals_are_counted_as_on_the_processor() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let count = 300_000;
    let (scanner, pairs, bins, labels) = crystal_events(count);
    let numbers: Vec<f32> = bins.iter().enumerate().map(|(k, b)| f32::from(*b) * 90.0 - (k % 50) as f32).collect();
    let [nz, ny, nx] = lattice().shape();
    for (views, cap) in [(grid(), 0), (list(), 0), (grid(), 600_000)] {
        let shape = [2, views.list().len(), nz, ny, nx];
        let voxels: usize = shape.iter().product();
        let processor = context(Compute::Cpu);
        for timed in [false, true] {
            // SAFETY: elements of the lists, which stay until the end.
            let list = |at: [*const u8; 4], gpu| unsafe {
                let (times, dtype) = if timed { (at[3], DType::F32) } else { (at[1], DType::U8) };
                CrystalArrays {
                    crystals: Array::from_raw(at[0], DType::U16, [count, 2], [2, 1], gpu),
                    times: Array::from_raw(times, dtype, [count], [1], gpu),
                    labels: Some(Array::from_raw(at[2], DType::U32, [count], [1], gpu)),
                    first: u64::from(u32::MAX) - 1000,
                }
            };
            let here = [pairs.as_ptr().cast(), bins.as_ptr(), labels.as_ptr().cast(), numbers.as_ptr().cast::<u8>()];
            let mut expected = vec![0u32; voxels];
            let to = ArrayMut::of(&mut expected, shape).expect("counts");
            let dropped = deposit::deposit_crystals(&processor, &views, &lattice(), (&scanner, &list(here, None)), to)
                .expect("success");
            assert!(
                dropped.unknown > 1000 && dropped.not_measured > 1000 && dropped.total() < count as u64 * 9 / 10,
                "{dropped:?}"
            );
            let options = ContextOptions { compute: Compute::Gpus(vec![0]), gpu_memory_cap: cap, ..Default::default() };
            let mut pet = Pet::new(Arc::new(Context::new(options).expect("a context")));
            pet.set_geometry(lattice(), views.clone()).expect("a geometry");
            pet.set_scanner(scanner.clone());
            let memory = [
                DeviceMemory::from_slice(&device, &pairs).expect("memory"),
                DeviceMemory::from_slice(&device, &bins).expect("memory"),
                DeviceMemory::from_slice(&device, &labels).expect("memory"),
                DeviceMemory::from_slice(&device, &numbers).expect("memory"),
            ];
            let there = memory.each_ref().map(|m| std::ptr::without_provenance::<u8>(m.address() as usize));
            for (at, gpu) in [(here, None), (there, Some(0))] {
                let histos = DeviceMemory::from_slice(&device, &vec![0u32; voxels]).expect("memory");
                let origin = std::ptr::without_provenance::<u8>(histos.address() as usize);
                // SAFETY: as many elements, which stay until the call has ended.
                let to = unsafe { ArrayMut::over(Layout { gpu: Some(0), ..Layout::new(origin, DType::U32, shape) }) };
                assert_eq!(pet.deposit_crystals(&list(at, gpu), to).expect("success"), dropped);
                let queue = Queue::new(&device).expect("a queue");
                let _current = device.enter().expect("a GPU");
                let mut seen = vec![0u32; voxels];
                queue.fetch(histos.address(), &mut seen).expect("success");
                assert!(seen == expected, "events on the GPU: {}", gpu.is_some());
            }
        }
    }
    let options = ContextOptions { compute: Compute::Gpus(vec![0]), gpu_memory_cap: 10_000, ..Default::default() };
    let mut pet = Pet::new(Arc::new(Context::new(options).expect("a context")));
    pet.set_geometry(lattice(), grid()).expect("a geometry");
    let histos =
        DeviceMemory::from_slice(&device, &vec![0u32; grid().list().len() * lattice().voxels()]).expect("memory");
    let origin = std::ptr::without_provenance::<u8>(histos.address() as usize);
    let shape = [grid().list().len(), nz, ny, nx];
    // SAFETY: as many elements, which stay until the end.
    let to = unsafe { ArrayMut::over(Layout { gpu: Some(0), ..Layout::new(origin, DType::U32, shape) }) };
    let error = pet.deposit(&interleaved::read(&events(100)), to).expect_err("no room").message;
    assert!(error.starts_with("gpu_memory_cap is 10000 bytes; depositing events needs"), "{error}");
}

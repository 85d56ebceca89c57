//! Scatter on a GPU: the processor's, but for rounding.

use super::*;
use crate::cases::noise;
use crate::factors::cases::histos;
use crate::factors::{Acquisition, Sampling};
use crate::scatter::cases::{crystals, lattice, scatter};
use crate::views::Views;
use isocenter_base::array::DType;
use isocenter_base::context::{Compute, ContextOptions};
use isocenter_base::gpu::DeviceMemory;

fn context(compute: Compute) -> Context {
    Context::new(ContextOptions { compute, ..ContextOptions::default() }).expect("a context")
}

/// Sums of some thousand products in f32: 1e-4 of the largest.
#[test]
fn scatter_is_the_processor_s() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let (with, without) = (context(Compute::Gpus(vec![0])), context(Compute::Cpu));
    let (views, lattice, detectors) = (Views::grid(5, 2, 0.25).expect("views"), lattice(), crystals().into());
    let (of, acquisition) = (scatter(&views, 24.0), Acquisition { duration: 1e6, ..Acquisition::default() });
    let sampling = Sampling::new(&views, &lattice, 12).expect("directions");
    let factors = Factors::new((sampling, &lattice), (&detectors, None), None, &acquisition).expect("factors");
    let [nz, ny, nx] = lattice.shape();
    let (shape, count) = ([10, nz, ny, nx], 10 * lattice.voxels());
    let counts: Vec<u32> = (0..count).map(|k| (k * 7 % 5) as u32).collect();
    let randoms: Vec<f32> = noise(count, 3).iter().map(|v| 0.5 * v.abs()).collect();
    for (is_fitted, has_randoms) in [(false, false), (false, true), (true, true), (true, false)] {
        let measured = || {
            let tails = Tails::new(&of, 15.0).expect("tails");
            is_fitted.then(|| (Array::of(&counts, shape).expect("counts"), tails))
        };
        let randoms = has_randoms.then(|| Array::of(&randoms, shape).expect("randoms"));
        let additive = |measured| Additive { scatter: &of, factors: &factors, measured, randoms };
        let mut expected = vec![0f32; count];
        let by_processor =
            additive(measured()).write(&without, &mut histos(&mut expected, 10, &lattice)).expect("scatter");
        let largest = expected.iter().copied().fold(0.0, f32::max);
        let check = |found: &[f32], by_gpu: &Found| {
            let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(largest > 0.0 && worst < 1e-4 * largest, "{worst} of {largest}");
            for (a, b) in [
                (by_gpu.scatter, by_processor.scatter),
                (by_gpu.tails, by_processor.tails),
                (by_gpu.tails_scatter, by_processor.tails_scatter),
                (by_gpu.scale, by_processor.scale),
                (by_gpu.scale_error, by_processor.scale_error),
            ] {
                assert!((a - b).abs() <= 1e-4 * b.abs(), "{by_gpu:?} {by_processor:?}");
            }
            assert_eq!(is_fitted, by_gpu.tails > 0.0);
        };
        let mut found = vec![f32::NAN; count];
        let by_gpu = write(&with, &device, &additive(measured()), &mut histos(&mut found, 10, &lattice), 0);
        check(&found, &by_gpu.expect("scatter"));
        // In the GPU's memory.
        let memory = DeviceMemory::from_slice(&device, &vec![f32::NAN; count]).expect("memory");
        let at = std::ptr::without_provenance_mut::<u8>(memory.address() as usize);
        let strides = [nz * ny * nx, ny * nx, nx, 1].map(|n| n as isize);
        // SAFETY: as many numbers, which stay for as long as the memory.
        let mut to = unsafe { ArrayMut::from_raw(at, DType::F32, shape, strides, Some(device.index())) };
        let by_gpu = write(&with, &device, &additive(measured()), &mut to, 0).expect("scatter");
        let queue = Queue::new(&device).expect("a queue");
        let _current = device.enter().expect("current");
        queue.fetch(memory.address(), &mut found).expect("values");
        check(&found, &by_gpu);
    }
}

/// The same arithmetic: not one point differs.
#[test]
fn tails_are_the_processor_s() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let context = context(Compute::Gpus(vec![0]));
    let views = Views::grid(7, 3, 0.25).expect("views");
    let of = scatter(&views, 24.0);
    let coarse = Coarse::of_voxels(&of.lattice);
    let queue = Queue::new(&device).expect("a queue");
    let count = coarse.points();
    for sigma in [4.0, 15.0, 60.0] {
        let tails = Tails::new(&of, sigma).expect("tails");
        let expected: Vec<f32> =
            (0..21).flat_map(|view| tails.view(&of, &coarse, view).expect("tails of a view")).collect();
        let mut found = vec![f32::NAN; 21 * count];
        let by_gpu = context.run(|job| {
            let _current = device.enter()?;
            // SAFETY: the GPU is current.
            let tails = unsafe { tails::find(&queue, &tails, &of.lines, &coarse, job)? };
            queue.fetch(tails.address(), &mut found)
        });
        by_gpu.expect("tails");
        let inside = expected.iter().filter(|v| **v == 0.0).count();
        assert!(inside > count && inside < 20 * count, "{inside} of {} points meet the body", 21 * count);
        let differing = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert_eq!(differing, 0, "of {}, sigma {sigma}", found.len());
    }
}

#[test]
fn counts_below_0_are_refused() {
    let Some(device) = isocenter_base::gpu::testing::gpu() else { return };
    let (views, lattice, detectors) = (Views::grid(2, 1, 0.25).expect("views"), lattice(), crystals().into());
    let of = scatter(&views, 40.0);
    let sampling = Sampling::new(&views, &lattice, 4).expect("directions");
    let factors =
        Factors::new((sampling, &lattice), (&detectors, None), None, &Acquisition::default()).expect("factors");
    let [nz, ny, nx] = lattice.shape();
    let mut randoms = vec![0f32; 2 * lattice.voxels()];
    let last = randoms.len() - 1;
    randoms[last] = -1.0;
    let mut out = randoms.clone();
    let given = Some(Array::of(&randoms, [2, nz, ny, nx]).expect("randoms"));
    let additive = Additive { scatter: &of, factors: &factors, measured: None, randoms: given };
    let context = Context::new(ContextOptions::default()).expect("a context");
    let e = write(&context, &device, &additive, &mut histos(&mut out, 2, &lattice), 0).expect_err("refused").message;
    assert_eq!(e, format!("randoms[1, {}, {}, {}] is -1; it must not be below 0", nz - 1, ny - 1, nx - 1));
}

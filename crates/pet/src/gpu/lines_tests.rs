//! Lines on a GPU: the processor's values to rounding.

use crate::lattice::Lattice;
use crate::lines::tests::{arrays, lattice, lines};
use crate::lines::{LinesOf, ListArrays};
use crate::prior::{Potential, Prior};
use crate::response::{Radial, Response};
use crate::views::Views;
use crate::{Algorithm, Options, Pet};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Compute, Context, ContextOptions};
use std::f64::consts::FRAC_PI_2;
use std::sync::Arc;

fn plan(lattice: Lattice, compute: Compute, gpu_memory_cap: u64) -> Pet {
    let context = Context::new(ContextOptions { compute, gpu_memory_cap, ..ContextOptions::default() });
    let mut pet = Pet::new(Arc::new(context.expect("a context")));
    pet.set_geometry(lattice, Views::grid(4, 1, 0.99 * FRAC_PI_2).expect("views")).expect("a geometry");
    pet
}

/// Of both sides: with a cap lists are brought part by part.
fn both(lattice: Lattice, cap: u64) -> [Pet; 2] {
    [plan(lattice, Compute::Cpu, 0), plan(lattice, Compute::Gpus(vec![0]), cap)]
}

fn noise(n: usize, seed: u64) -> Vec<f32> {
    crate::cases::noise(n, seed)
}

/// Largest difference over the largest value.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    let most = b.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    a.iter().zip(b).fold(0.0f32, |m, (a, b)| m.max((a - b).abs())) / most
}

/// Both sides take the same numbers of a line; sums of some 100 products in another order, and the error function to 3e-7, leave 3e-6.
#[test]
fn projections_are_the_processor_s() {
    if isocenter_base::gpu::testing::gpu().is_none() {
        return;
    }
    let (events, shape) = (lines(20_000, 11), lattice().shape());
    let (image, values) = (noise(lattice().voxels(), 12), noise(events.len(), 13));
    for (timed, widths) in [(false, 4.0), (true, 4.0), (true, 0.5)] {
        let found = both(lattice(), 0).map(|mut pet| {
            pet.set_response(Response::new(200.0, Radial::Constant(widths), 1.5 * widths)).expect("a response");
            let list: ListArrays = arrays(&events, timed);
            let (mut sums, mut back) = (vec![f32::NAN; events.len()], vec![f32::NAN; image.len()]);
            let from = Array::new(&image, shape).expect("an image");
            let to = ArrayMut::new(&mut sums, [events.len()]).expect("values");
            let dropped = pet.forward_lines(&list, from, to).expect("lines");
            let from = Array::new(&values, [events.len()]).expect("values");
            pet.adjoint_lines(&list, from, ArrayMut::new(&mut back, shape).expect("an image")).expect("lines");
            (sums, back, dropped)
        });
        let [cpu, gpu] = found;
        assert_eq!(cpu.2, gpu.2);
        assert!(apart(&gpu.0, &cpu.0) < 3e-6, "{timed} forward: {}", apart(&gpu.0, &cpu.0));
        assert!(apart(&gpu.1, &cpu.1) < 3e-6, "{timed} adjoint: {}", apart(&gpu.1, &cpu.1));
    }
}

/// Some passes from the same start: errors of a pass, 1e-6 or so, are multiplied in the next by quotients near 1 where there are counts. 1e-4 of the largest value is ten times what was seen.
#[test]
fn reconstructions_are_the_processor_s() {
    if isocenter_base::gpu::testing::gpu().is_none() {
        return;
    }
    // One that lines are ordered for, which no cache holds.
    let large = Lattice::new([66, 60, 70], [0.6, 0.8, 1.5]).expect("a lattice");
    let events = lines(60_000, 14);
    let (mut factors, additive) = (noise(events.len(), 16), noise(events.len(), 17));
    factors.iter_mut().step_by(50).for_each(|m| *m = 0.0);
    // Volumes, images that lines cross, and one piece of the list, but not all of it.
    let capped = 2_800_000;
    for (lattice, algorithm, cap) in [
        (lattice(), Algorithm::Mlem, 0),
        (lattice(), Algorithm::Osem, 0),
        (lattice(), Algorithm::Osem, capped),
        (lattice(), Algorithm::Svrg, 0),
        (large, Algorithm::Osem, 0),
    ] {
        let shape = lattice.shape();
        let seen: Vec<f32> = noise(lattice.voxels(), 15).iter().map(|v| 10.0 + v).collect();
        let of = LinesOf {
            factors: Some(Array::new(&factors, [events.len()]).expect("values")),
            additive: Some(Array::new(&additive, [events.len()]).expect("values")),
            sensitivity: Array::new(&seen, shape).expect("an image"),
        };
        let found = both(lattice, cap).map(|mut pet| {
            pet.set_response(Response::new(250.0, Radial::Constant(4.0), 5.0)).expect("a response");
            if algorithm == Algorithm::Svrg {
                let prior = Prior {
                    potential: Potential::RelativeDifference { gamma: 2.0, epsilon: 0.0 },
                    strength: 3.0,
                    anatomy_sigma: 0.0,
                };
                pet.set_prior(Some((prior, [None, None]))).expect("a prior");
            }
            pet.set_options(Options { algorithm, iterations: 4, subsets: 5, ..Options::default() }).expect("options");
            let mut image = vec![f32::NAN; seen.len()];
            let to = ArrayMut::new(&mut image, shape).expect("an image");
            let dropped = pet.reconstruct_lines(&arrays(&events, true), &of, to).expect("lines");
            let history: Vec<_> = pet.history().to_vec();
            (image, dropped, history)
        });
        let [cpu, gpu] = found;
        assert_eq!(cpu.1, gpu.1);
        assert!(cpu.1.outside_lattice > 1000 && cpu.1.total() < 30_000, "{:?}", cpu.1);
        for (a, b) in cpu.2.iter().zip(&gpu.2) {
            assert_eq!(a.skipped, b.skipped, "{algorithm:?}");
            assert!(a.skipped > 500, "{a:?}");
            assert!((a.log_likelihood - b.log_likelihood).abs() < 1e-5 * a.log_likelihood.abs(), "{a:?} {b:?}");
        }
        assert!(apart(&gpu.0, &cpu.0) < 1e-4, "{algorithm:?} {cap}: {}", apart(&gpu.0, &cpu.0));
    }
}

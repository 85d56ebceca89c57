//! Fast and exact sums of every size and kind of trajectory, to the tolerance that is asked for.

use super::device;
use super::scan::*;
use isocenter::ffi::mri::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;

/// Planes and volumes with odd and tiny sides; z, y, x.
const GRIDS: [[usize; 3]; 10] = [
    [1, 12, 18],
    [1, 15, 9],
    [1, 1, 11],
    [1, 3, 2],
    [1, 2, 1],
    [1, 67, 41],
    [10, 12, 8],
    [9, 5, 13],
    [2, 3, 20],
    [3, 1, 2],
];

/// Points x, y, z of every kind.
fn trajectories(dims: usize) -> Vec<(&'static str, Vec<[f64; 3]>)> {
    let flat = |k: [f64; 3]| if dims == 2 { [k[0], k[1], 0.0] } else { k };
    let mut rng = SmallRng::seed_from_u64(5);
    let mut any = |low: f64, high: f64, n: usize| -> Vec<[f64; 3]> {
        (0..n).map(|_| flat(std::array::from_fn(|_| rng.random_range(low..high)))).collect()
    };
    let (random, cluster, single) = (any(-0.5, 0.5, 400), any(0.123, 0.1235, 300), any(-0.5, 0.5, 1));
    let directions = any(-1.0, 1.0, 12);
    let radial = directions.iter().flat_map(|d| {
        let length = d.iter().map(|v| v * v).sum::<f64>().sqrt();
        (0..32).map(move |s| d.map(|v| v / length * (f64::from(s) / 32.0 - 0.5)))
    });
    let mut edges = any(-0.5, 0.5, 300);
    for (m, k) in edges.iter_mut().enumerate() {
        k[m % dims] = if m % 2 == 0 { -0.5 } else { 0.5 };
    }
    let corners = (0..27).map(|c| flat([1, 3, 9].map(|step| f64::from(c / step % 3) * 0.5 - 0.5)));
    vec![
        ("random", random),
        ("radial", radial.collect()),
        ("clustered", cluster),
        ("single", single),
        ("edges", edges.into_iter().chain(corners).collect()),
        ("middle", vec![[0.0; 3]; 3]),
    ]
}

/// l2, relative to what is expected, or to the sum of terms of random phase where they happen to cancel.
fn relative(seen: &[C], expected: &[C], terms: &[C]) -> f64 {
    let norm = |v: &[C]| v.iter().map(C::norm_sqr).sum::<f64>().sqrt();
    let wrong: Vec<C> = seen.iter().zip(expected).map(|(a, b)| a - b).collect();
    norm(&wrong) / norm(expected).max(norm(terms) * (expected.len() as f64).sqrt())
}

/// Fast sums: the tolerance. Exact ones: rounding, as in the suite. A spreading function's error depends on where a sample lies
/// between grid points; it is the tolerance at most on average over places (l2), and of samples of one place not averaged: twice as
/// much.
#[test]
fn every_size_and_trajectory_keeps_the_tolerance() {
    let Some(device) = device() else { return };
    for grid in GRIDS {
        let dims = if grid[0] == 1 { 2 } else { 3 };
        for (name, k) in trajectories(dims) {
            let one = matches!(name, "single" | "clustered" | "middle");
            let mut expected = None;
            for (double, method, tolerance) in [
                (false, 1, 1e-3),
                (false, 1, 1e-5),
                (true, 1, 1e-9),
                (true, 1, 1e-12),
                (false, 2, 2e-6),
                (true, 2, 1e-13),
            ] {
                let scan = Scan::new(device, grid, k.clone(), 1, double);
                scan.options(|o| (o.method, o.tolerance) = (method, if method == 1 { tolerance } else { 0.0 }));
                let (image, samples) = (random(scan.voxels(), 11), random(k.len(), 12));
                let (forward, adjoint) =
                    expected.get_or_insert_with(|| (scan.exact_forward(&image), scan.exact_adjoint(&samples)));
                let errors = [
                    relative(&scan.forward(&image), forward, &image),
                    relative(&scan.to_image(isoc_mri_adjoint, &samples), adjoint, &samples),
                ];
                let case = format!("{grid:?}, {name}, double {double}, method {method}, {tolerance:e}");
                println!("{case}: {:.1e} {:.1e}", errors[0], errors[1]);
                let allowed = tolerance * if one { 2.0 } else { 1.0 };
                for (e, name) in errors.into_iter().zip(["forward", "adjoint"]) {
                    assert!(e <= allowed, "{case}: {name} {e:.2e}");
                }
            }
        }
    }
}

/// Spokes through the middle, their ends evenly spread over a half sphere.
fn koosh_ball(spokes: usize, readout: usize) -> Vec<[f64; 3]> {
    let golden = PI * (3.0 - 5f64.sqrt());
    let mut k = Vec::with_capacity(spokes * readout);
    for s in 0..spokes {
        let z = (s as f64 + 0.5) / spokes as f64;
        let (sin, cos) = (golden * s as f64).sin_cos();
        let direction = [(1.0 - z * z).sqrt() * cos, (1.0 - z * z).sqrt() * sin, z];
        k.extend((0..readout).map(|r| direction.map(|d| d * (r as f64 / readout as f64 - 0.5))));
    }
    k
}

/// Against exact sums in f64 on the processor, which rounding leaves good to 1e-13.
#[test]
fn a_volume_of_96_a_side_keeps_the_tolerance() {
    let Some(device) = device() else { return };
    let (grid, k) = ([96, 96, 96], koosh_ball(120, 96));
    let exact = Scan::new(PROCESSOR, grid, k.clone(), 1, true);
    exact.options(|o| o.method = 2);
    let (image, samples) = (random(exact.voxels(), 21), random(k.len(), 22));
    let expected = (exact.forward(&image), exact.to_image(isoc_mri_adjoint, &samples));
    for (double, tolerance) in [(false, 1e-3), (false, 1e-5), (false, 1e-6), (true, 1e-9), (true, 1e-12)] {
        let scan = Scan::new(device, grid, k.clone(), 1, double);
        scan.options(|o| (o.method, o.tolerance) = (1, tolerance));
        let forward = error(&scan.forward(&image), &expected.0);
        let adjoint = error(&scan.to_image(isoc_mri_adjoint, &samples), &expected.1);
        println!("double {double}, {tolerance:e}: forward {forward:.1e}, adjoint {adjoint:.1e}");
        assert!(forward <= tolerance, "double {double}, {tolerance:e}: forward {forward:.2e}");
        assert!(adjoint <= tolerance, "double {double}, {tolerance:e}: adjoint {adjoint:.2e}");
    }
}

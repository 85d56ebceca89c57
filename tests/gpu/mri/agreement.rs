//! The GPU against the processor.

use super::array::{Array, Kind, Layout, same};
use super::scan::*;
use super::{device, everything, unit_roundoff, usual_tolerance};
use isocenter::ffi::mri::*;

fn dims(grid: [usize; 3]) -> usize {
    if grid[0] == 1 { 2 } else { 3 }
}

/// Each side is off by its tolerance (exact sums: by rounding, as in the suite), so they are apart by twice that. F^H W F has two
/// transforms one after the other, or Q: 5 tolerances, as in the suite. A solution is off by its system's condition, times what
/// operator and right-hand side are off, and times the residual: 4 random samples a voxel have a condition of 9 (Marchenko and Pastur:
/// the squares of 1 +- sqrt(1 / 4)), and the coils' power, a sum of 33 random squares, differs by a factor below 2.5 between voxels.
#[test]
fn many_coils_agree_with_the_processor() {
    let Some(_) = device() else { return };
    const COILS: usize = 33;
    const CONDITION: f64 = 25.0;
    for grid in [[1, 21, 18], [7, 6, 9]] {
        let n: usize = grid.iter().product();
        let (image, samples) = (random(COILS * n, 1), random(COILS * 4 * n, 2));
        for (double, method) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
            let tolerance = match (method, double) {
                (1, _) => usual_tolerance(double),
                (_, false) => 2e-6,
                (_, true) => 1e-13,
            };
            let residual = if double { 1e-9 } else { 1e-5 };
            for (maps, normal) in [(false, 1), (true, 1), (true, 2), (false, 2)] {
                let run = |device| {
                    let mut scan = Scan::new(device, grid, points(4 * n, dims(grid), 3), COILS, double);
                    if maps {
                        scan.set_maps(random(COILS * n, 4));
                    }
                    scan.options(|o| (o.method, o.normal, o.iterations, o.residual) = (method, normal, 60, residual));
                    let image = &image[..scan.images * n];
                    let solution = scan.to_image(isoc_mri_reconstruct, &samples);
                    let left = (0..scan.images).map(|i| *scan.history(i as i64).last().expect("residuals"));
                    assert!(left.fold(0.0, f64::max) <= residual, "device {device}: not solved");
                    [scan.forward(image), scan.to_image(isoc_mri_adjoint, &samples), scan.normal(image), solution]
                };
                let (seen, expected) = (run(GPU), run(PROCESSOR));
                let case = format!("{grid:?}, double {double}, method {method}, maps {maps}, normal {normal}");
                let solution = CONDITION * (2.0 * (5.0 + 1.0) * tolerance + 2.0 * residual);
                let allowed = [2.0 * tolerance, 2.0 * tolerance, 10.0 * tolerance, solution];
                for (what, name) in ["forward", "adjoint", "normal", "solution"].into_iter().enumerate() {
                    // Over all coils, and the worst of them.
                    let part = seen[what].len() / if maps && what > 0 { 1 } else { COILS };
                    let parts = seen[what].chunks(part).zip(expected[what].chunks(part));
                    let worst = parts.map(|(a, b)| error(a, b)).fold(0.0, f64::max);
                    println!("{case}: {name} {worst:.1e} of {:.1e}", allowed[what]);
                    assert!(worst <= allowed[what], "{case}: {name} {worst:.2e}");
                }
            }
        }
    }
}

/// R by rows, among them an empty one, one with a column twice, and columns in any order.
fn matrix(n: usize) -> (Vec<i64>, Vec<i64>, Vec<C>) {
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for row in 0..n + 5 {
        match row % 4 {
            0 => columns.extend([row % n, (7 * row + 3) % n, (row + 1) % n]),
            1 => columns.extend([(row + 2) % n, row % n, row % n]),
            2 => columns.push((5 * row) % n),
            _ => {}
        }
        starts.push(columns.len() as i64);
    }
    let values = random(columns.len(), 31);
    (starts, columns.into_iter().map(|c| c as i64).collect(), values)
}

/// Of a penalty of the size of F^H W F, both sides are off by 5 tolerances. Beside one that is 1e11 times as large, F^H W F and its error
/// vanish: what is left is rounding of some ten terms, three factors each: sqrt(30) unit round-offs where errors add up at random,
/// on two devices sqrt(2) as much: 8.
#[test]
fn every_penalty_agrees_with_the_processor() {
    let Some(_) = device() else { return };
    for grid in [[1, 12, 15], [6, 7, 9], [5, 1, 16], [1, 1, 9]] {
        let n: usize = grid.iter().product();
        let weights: Vec<f64> = random(dims(grid) * n, 32).iter().map(|v| 0.2 + v.norm()).collect();
        let (starts, columns, values) = matrix(n);
        for (double, maps) in [(false, false), (true, false), (false, true), (true, true)] {
            let scans = [GPU, PROCESSOR].map(|device| {
                let mut scan = Scan::new(device, grid, points(200, dims(grid), 33), 3, double);
                if maps {
                    scan.set_maps(random(3 * n, 34));
                }
                scan
            });
            let image = random(scans[0].images * n, 35);
            // Penalty 1 without weights first: they stay.
            for (penalty, weighted) in [(0, false), (1, false), (1, true), (2, true)] {
                for scan in scans.iter().filter(|_| weighted) {
                    let shape = [dims(grid) as i64, grid[0] as i64, grid[1] as i64, grid[2] as i64];
                    let rows = starts.len() as i64 - 1;
                    let t = tensor(&values, &[values.len() as i64]);
                    // SAFETY: valid pointers.
                    unsafe {
                        ok(isoc_mri_set_difference_weights(scan.mri, &tensor(&weights, &shape)));
                        let count = values.len() as i64;
                        ok(isoc_mri_set_matrix(scan.mri, rows, starts.as_ptr(), columns.as_ptr(), count, &t));
                    }
                }
                for (lambda, allowed) in [(100.0, 10.0 * usual_tolerance(double)), (1e14, 8.0 * unit_roundoff(double))]
                {
                    let [seen, expected] = [0, 1].map(|s: usize| {
                        scans[s].options(|o| (o.lambda, o.penalty) = (lambda, penalty));
                        scans[s].normal(&image)
                    });
                    let e = error(&seen, &expected);
                    let case = format!("{grid:?}, double {double}, maps {maps}, penalty {penalty}, lambda {lambda:e}");
                    println!("{case}: {e:.1e} of {allowed:.1e}");
                    assert!(e <= allowed, "{case}: {e:.2e}");
                }
            }
        }
    }
}

/// Radial weights are one formula in f64, on both sides. Iterative ones come from transforms to 1e-4: w becomes w / C w, which keeps
/// an error of w or makes it smaller (in logarithms its derivative is 1 minus a matrix of means), so that 10 iterations on two
/// devices add up to 20 times 1e-4 at most. The error of C w is relative to its largest values, in the middle; the weights there
/// are the smallest, so that first steps err more at the rim: twice as much in all.
#[test]
fn density_weights_agree_with_the_processor() {
    let Some(_) = device() else { return };
    let (spokes, readout) = (60, 48);
    for grid in [[1, 24, 30], [20, 24, 18]] {
        let mut k = Vec::new();
        for s in 0..spokes {
            let (sin, cos) = (2.4 * s as f64).sin_cos();
            let z = if grid[0] == 1 { 0.0 } else { (s as f64 + 0.5) / spokes as f64 };
            let r = (1.0 - z * z).sqrt();
            k.extend((0..readout).map(|i| [r * cos, r * sin, z].map(|d| d * (i as f64 - 24.0) / 48.0)));
        }
        for double in [false, true] {
            for (density, parameter, allowed) in [(1, readout as i64, 1e-7), (0, 1, 4e-4), (0, 10, 4e-3)] {
                let run = |device| {
                    let scan = Scan::new(device, grid, k.clone(), 1, double);
                    ok(isoc_mri_compute_weights(scan.mri, density, parameter));
                    let mut w = vec![f64::NAN; k.len()];
                    // SAFETY: valid pointers.
                    ok(unsafe { isoc_mri_get_weights(scan.mri, &output(&mut w, &[k.len() as i64])) });
                    w.into_iter().map(|w| C::new(w, 0.0)).collect::<Vec<_>>()
                };
                let e = error(&run(GPU), &run(PROCESSOR));
                println!("{grid:?}, double {double}, density {density}, {parameter}: {e:.1e}");
                // f32 plans keep weights in f32: 6e-8 of each.
                assert!(e <= allowed, "{grid:?}, double {double}, density {density}, {parameter}: {e:.2e}");
            }
        }
    }
}

/// The GPU's sine and cosine units err by 5e-7 at most, precise ones by 2e-7: factors differ by sqrt(2) times their sum at most,
/// 1e-6, and so do sums of terms of random phase. Rounding in running sums of 500 random terms is 6e-8 sqrt(500 / 2) of them, in both:
/// 1.3e-6; together not more than 1.6e-6.
#[test]
fn sines_of_the_hardware_stay_close() {
    let Some(_) = device() else { return };
    for (grid, coils) in [([1, 20, 25], 1), ([6, 8, 9], 3)] {
        let n: usize = grid.iter().product();
        for (positions, field) in [(true, false), (false, true), (true, true)] {
            for double in [false, true] {
                let mut scan = Scan::new(GPU, grid, points(500, dims(grid), 41), coils, double);
                if coils > 1 {
                    scan.set_maps(random(coils * n, 42));
                }
                if positions {
                    scan.set_positions(random(dims(grid) * n, 43).iter().map(|v| 40.0 * v.re).collect());
                }
                if field {
                    let hertz = random(n, 44).iter().map(|v| 200.0 * v.re).collect();
                    scan.set_field(hertz, (0..500).map(|m| 1e-4 * f64::from(m)).collect());
                }
                let (image, samples) = (random(n, 45), random(coils * 500, 46));
                let run = |sines| {
                    scan.options(|o| (o.method, o.sines) = (2, sines));
                    [scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples)]
                };
                for (hardware, precise) in run(1).into_iter().zip(run(0)) {
                    let e = error(&hardware, &precise);
                    let case = format!("{grid:?}, positions {positions}, field {field}, double {double}");
                    println!("{case}: {e:.1e}");
                    if double {
                        assert!(same(&hardware, &precise), "{case}: not in double precision");
                    } else {
                        assert!(e <= 1.6e-6, "{case}: {e:.2e}");
                        assert!(!same(&hardware, &precise), "{case}: the option does nothing");
                    }
                }
            }
        }
    }
}

/// On the voxels' own grid without a field map, and on the processor, the option changes nothing.
#[test]
fn sines_of_the_hardware_are_for_nothing_else() {
    let Some(_) = device() else { return };
    for (on, field) in [(GPU, false), (PROCESSOR, false), (PROCESSOR, true)] {
        for method in if field { vec![0] } else { vec![1, 2] } {
            let mut scan = Scan::new(on, [4, 6, 7], points(200, 3, 51), 2, false);
            if field {
                scan.set_field(random(168, 52).iter().map(|v| 200.0 * v.re).collect(), vec![1e-2; 200]);
            }
            let run = |sines| {
                scan.options(|o| (o.method, o.sines, o.iterations) = (method, sines, 4));
                everything(&scan)
            };
            assert!(same(&run(1), &run(0)), "device {on}, method {method}, field {field}");
        }
    }
}

/// As many iterations on both sides, of the plan's own precision. A step is off by its condition, times what operators are off (5 tolerances of each side, as
/// above, in the product of image and coils): alpha is 1/8 of the gain at least, samples are 4 a voxel, whose largest eigenvalue is 2.3, and coils and image
/// have a mean square of about 1: 20. Four steps add up, and conjugate gradient of few iterations errs as its solution. From arrays on the GPU to arrays on the GPU
/// these are the same bits.
#[test]
fn joint_maps_agree_with_the_processor() {
    let Some(_) = device() else { return };
    const COILS: usize = 5;
    // SAFETY: numbers; all zero is valid.
    let zero: isoc_mri_maps_options = unsafe { std::mem::zeroed() };
    let struct_size = size_of::<isoc_mri_maps_options>() as u32;
    let options = isoc_mri_maps_options { struct_size, steps: 4, iterations: 12, residual: -1.0, ..zero };
    for grid in [[1, 40, 37], [12, 14, 9]] {
        let n: usize = grid.iter().product();
        let samples = random(COILS * 4 * n, 2);
        let [nz, ny, nx] = grid.map(|n| n as i64);
        for (double, normal) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
            let run = |device, kind| {
                let scan = Scan::new(device, grid, points(4 * n, dims(grid), 3), COILS, double);
                scan.options(|o| o.normal = normal);
                let mut from = Array::complex(&samples, &scan.scan_shape(), Kind { double: true, ..kind });
                let mut maps = Array::empty(&[COILS as i64, nz, ny, nx], kind, 2);
                let mut image = Array::empty(&[nz, ny, nx], kind, 2);
                let (given, to, own) = (from.tensor(), maps.tensor(), image.tensor());
                // SAFETY: valid pointers.
                ok(unsafe { isoc_mri_find_maps(scan.mri, &options, &given, &to, &own) });
                assert!(maps.rest_is_untouched() && image.rest_is_untouched());
                [maps.values(), image.values()]
            };
            let seen = run(GPU, Kind::host(double));
            let expected = run(PROCESSOR, Kind::host(double));
            let bound = 4.0 * 20.0 * 10.0 * usual_tolerance(double);
            for (what, name) in ["maps", "image"].into_iter().enumerate() {
                let e = error(&seen[what], &expected[what]);
                println!("{grid:?}, double {double}, normal {normal}: {name} {e:.1e} of {bound:.1e}");
                assert!(e <= bound, "{grid:?}, double {double}, normal {normal}: {name} {e:.1e}");
            }
            for layout in [Layout::Contiguous, Layout::Gaps] {
                let there = run(GPU, Kind::gpu(layout, double));
                assert!(
                    same(&there[0], &seen[0]) && same(&there[1], &seen[1]),
                    "{grid:?}, double {double}, normal {normal}"
                );
            }
        }
    }
}

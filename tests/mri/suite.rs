//! `isoc_mri_*` against sums term by term in f64, and against dense solutions of small systems, on the device that the test
//! program names.

use super::device;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::mri::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::{PI, TAU};

const GRIDS: [[usize; 3]; 4] = [[1, 12, 15], [6, 7, 8], [1, 1, 9], [5, 1, 16]];

/// Tolerances of fast sums are the plan's; of exact ones, rounding: a sum of n random terms errs by about sqrt(n) unit
/// round-offs of a term, relative to a sum of size sqrt(n) terms; factors of phases add a few.
#[test]
fn sums_are_those_of_the_model() {
    let Some(device) = device() else { return };
    for grid in GRIDS {
        for (double, method, tolerance) in [(false, 1, 1e-5), (true, 1, 1e-9), (false, 2, 2e-6), (true, 2, 1e-13)] {
            for maps in [false, true] {
                let dims = if grid[0] == 1 { 2 } else { 3 };
                let mut scan = Scan::new(device, grid, points(150, dims, 1), 3, double);
                scan.options(|o| o.method = method);
                if maps {
                    scan.set_maps(random(3 * scan.voxels(), 2));
                }
                let image = random(scan.images * scan.voxels(), 3);
                let e = error(&scan.forward(&image), &scan.exact_forward(&image));
                assert!(e <= tolerance, "{grid:?}, double {double}, method {method}, maps {maps}: forward {e:.1e}");
                let samples = random(3 * 150, 4);
                let e = error(&scan.to_image(isoc_mri_adjoint, &samples), &scan.exact_adjoint(&samples));
                assert!(e <= tolerance, "{grid:?}, double {double}, method {method}, maps {maps}: adjoint {e:.1e}");
            }
        }
    }
}

/// A readout of so many milliseconds, spoke by spoke.
fn readout(samples: usize, spokes: usize, milliseconds: f64) -> Vec<f64> {
    let each = samples / spokes;
    (0..samples).map(|m| 1e-3 * milliseconds * ((m % each) as f64 / each as f64)).collect()
}

/// Fast sums by products keep to the plan's tolerance whatever it is, for off-resonance alone, decay alone and both, and for samples on lines
/// of several coils, which other kernels take. 300 Hz over 20 ms are 6 turns.
#[test]
fn a_field_by_products_keeps_to_the_tolerance() {
    let Some(device) = device() else { return };
    let spokes: Vec<[f64; 3]> = (0..240)
        .map(|m| {
            let (angle, radius) = (PI * f64::from(m / 20) / 12.0, (f64::from(m % 20) - 10.0) / 21.0);
            [radius * angle.cos(), radius * angle.sin(), 0.0]
        })
        .collect();
    for (grid, k) in [([1, 12, 15], points(240, 2, 71)), ([6, 7, 8], points(240, 3, 72)), ([1, 16, 16], spokes)] {
        for (range, rate) in [(300.0, 0.0), (0.0, 60.0), (300.0, 60.0)] {
            for (double, tolerance) in [(false, 1e-3), (false, 1e-5), (true, 1e-4), (true, 1e-9)] {
                for mapped in [false, true] {
                    let mut scan = Scan::new(device, grid, k.clone(), 2, double);
                    scan.options(|o| o.tolerance = tolerance);
                    let n = scan.voxels();
                    let hertz = random(n, 73).iter().map(|v| 0.5 * range * v.re + 40.0).collect();
                    let seconds = readout(240, 12, 20.0);
                    if rate > 0.0 {
                        let decay = random(n, 74).iter().map(|v| 0.5 * rate * (1.0 + v.re)).collect();
                        scan.set_decaying_field(hertz, seconds, decay);
                    } else {
                        scan.set_field(hertz, seconds);
                    }
                    if mapped {
                        scan.set_maps(random(2 * n, 75));
                    }
                    let name =
                        format!("{grid:?}, {range} Hz, {rate} / s, double {double}, {tolerance:e}, maps {mapped}");
                    let (image, samples) = (random(scan.images * n, 76), random(480, 77));
                    let forward = scan.forward(&image);
                    // What single precision adds at 1e-5: rounding of sums, 2e-6.
                    let bound = if double { tolerance } else { tolerance + 2e-6 };
                    let e = error(&forward, &scan.exact_forward(&image));
                    assert!(e <= bound, "{name}: forward {e:.1e}");
                    let back = scan.to_image(isoc_mri_adjoint, &samples);
                    let e = error(&back, &scan.exact_adjoint(&samples));
                    assert!(e <= bound, "{name}: adjoint {e:.1e}");
                    // The two are each other's transpose, better than they keep to the model: rounding, as without a field.
                    let (left, right) = (dot(&samples, &forward), dot(&back, &image));
                    let size = dot(&forward, &forward).re.sqrt() * dot(&samples, &samples).re.sqrt();
                    let rounding = if double { 1e-12 } else { 2e-6 };
                    assert!((left - right).norm() <= rounding * size, "{name}: {left} {right}");
                    let info = scan.info();
                    assert!((2..=30).contains(&info.field_terms), "{name}: {} terms", info.field_terms);
                    assert!(info.field_error > 0.0 && info.field_error <= tolerance, "{name}: {:e}", info.field_error);
                }
            }
        }
    }
}

/// Decay by products to round-off, off-resonance without: rounding as for a field without decay, times the products' own, about as many.
#[test]
fn exact_sums_decay() {
    let Some(device) = device() else { return };
    for (double, tolerance) in [(false, 4e-6), (true, 4e-13)] {
        for placed in [false, true] {
            let mut scan = Scan::new(device, [1, 9, 10], points(80, 2, 5), 2, double);
            scan.options(|o| o.method = 2);
            let (hertz, decay) = (random(90, 7), random(90, 8));
            let seconds = (0..80).map(|m| 2e-4 * f64::from(m)).collect();
            let of = |v: &[C], size: f64, middle: f64| v.iter().map(|v| size * (v.re + middle)).collect();
            scan.set_decaying_field(of(&hertz, 200.0, 0.0), seconds, of(&decay, 60.0, 1.0));
            if placed {
                scan.set_positions(random(180, 32).iter().map(|v| 5.0 * v.re).collect());
            }
            let (image, samples) = (random(180, 9), random(160, 10));
            let e = error(&scan.forward(&image), &scan.exact_forward(&image));
            assert!(e <= tolerance, "double {double}, places {placed}: forward {e:.1e}");
            let e = error(&scan.to_image(isoc_mri_adjoint, &samples), &scan.exact_adjoint(&samples));
            assert!(e <= tolerance, "double {double}, places {placed}: adjoint {e:.1e}");
        }
    }
}

#[test]
fn a_field_map_turns_the_phase() {
    let Some(device) = device() else { return };
    for (double, tolerance) in [(false, 2e-6), (true, 1e-13)] {
        let mut scan = Scan::new(device, [1, 9, 10], points(80, 2, 5), 2, double);
        scan.options(|o| o.method = 2);
        scan.set_maps(random(2 * 90, 6));
        let hertz = random(90, 7).iter().map(|v| 200.0 * v.re).collect();
        scan.set_field(hertz, (0..80).map(|m| 1e-4 * f64::from(m)).collect());
        let (image, samples) = (random(90, 8), random(160, 9));
        let e = error(&scan.forward(&image), &scan.exact_forward(&image));
        assert!(e <= tolerance, "forward {e:.1e}");
        let e = error(&scan.to_image(isoc_mri_adjoint, &samples), &scan.exact_adjoint(&samples));
        assert!(e <= tolerance, "adjoint {e:.1e}");
        // And the normal operator goes by pairs, where sums are exact.
        let twice = scan.exact_adjoint(&scan.exact_forward(&image));
        let e = error(&scan.normal(&image), &twice);
        assert!(e <= 2.0 * tolerance, "normal {e:.1e}");
    }
}

#[test]
fn voxels_may_be_anywhere() {
    let Some(device) = device() else { return };
    for grid in [[1, 6, 7], [3, 4, 5]] {
        for (double, tolerance) in [(false, 2e-6), (true, 1e-13)] {
            let dims = if grid[0] == 1 { 2 } else { 3 };
            let mut scan = Scan::new(device, grid, points(70, dims, 31), 1, double);
            let positions: Vec<f64> = random(scan.voxels() * dims, 32).iter().map(|v| 40.0 * v.re).collect();
            scan.set_positions(positions);
            let (image, samples) = (random(scan.voxels(), 33), random(70, 34));
            let e = error(&scan.forward(&image), &scan.exact_forward(&image));
            assert!(e <= tolerance, "forward {e:.1e}");
            let e = error(&scan.to_image(isoc_mri_adjoint, &samples), &scan.exact_adjoint(&samples));
            assert!(e <= tolerance, "adjoint {e:.1e}");
        }
    }
}

/// Rounding of two inner products of n terms: n unit round-offs at the very most; 1e-6 and 1e-12 are asked for.
#[test]
fn adjoint_is_the_transpose_of_forward() {
    let Some(device) = device() else { return };
    for (double, tolerance) in [(false, 1e-6), (true, 1e-12)] {
        for method in [1, 2] {
            let mut scan = Scan::new(device, [7, 8, 9], points(300, 3, 10), 2, double);
            scan.options(|o| o.method = method);
            scan.set_maps(random(2 * scan.voxels(), 11));
            let (image, samples) = (random(scan.voxels(), 12), random(600, 13));
            let (a, b) = (scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples));
            let (left, right) = (dot(&samples, &a), dot(&b, &image));
            let size = dot(&a, &a).re.sqrt() * dot(&samples, &samples).re.sqrt();
            assert!((left - right).norm() <= tolerance * size, "double {double}, method {method}: {left} {right}");
        }
    }
}

#[test]
fn every_unit_means_the_same_points() {
    let Some(device) = device() else { return };
    let scan = Scan::new(device, [1, 12, 16], points(100, 2, 14), 1, true);
    let image = random(scan.voxels(), 15);
    let expected = scan.forward(&image);
    for (unit, scale) in [(2, 0.0), (3, TAU)] {
        scan.set_geometry(unit, scale, true);
        // Points differ by rounding, which a phase of up to 8 x 2 pi makes 50 times larger.
        let e = error(&scan.forward(&image), &expected);
        assert!(e < 1e-9, "unit {unit}: {e:.1e}");
    }
    // Radians given as cycles.
    assert_eq!(scan.try_geometry(1, TAU, true), Status::OutOfRange);
    let text = said();
    assert!(text.contains("radians per voxel") && text.contains("trajectory["), "{text}");
    assert_eq!(scan.try_geometry(0, 1.0, true), Status::UnknownValue);
}

/// A trajectory of one axis is that of a plane of one row, whose second axis is 0: the same results, whatever the shape of its tensor.
#[test]
fn a_line_has_one_axis() {
    let Some(device) = device() else { return };
    let k: Vec<[f64; 3]> = points(90, 2, 91).into_iter().map(|[x, _, _]| [x, 0.0, 0.0]).collect();
    for double in [false, true] {
        let scan = Scan::new(device, [1, 1, 12], k.clone(), 2, double);
        let line = Scan::new(device, [1, 1, 12], k.clone(), 2, double);
        let values: Vec<f64> = k.iter().map(|k| 12.0 * k[0]).collect();
        let geometry = isoc_mri_geometry { axes: 1, ..line.geometry(2, double) };
        for shape in [vec![90], vec![90, 1]] {
            // SAFETY: valid pointers.
            ok(unsafe { isoc_mri_set_geometry(line.mri, &geometry, &tensor(&values, &shape)) });
            let (image, samples) = (random(24, 92), random(180, 93));
            let e = error(&line.forward(&image), &scan.exact_forward(&image));
            assert!(e <= if double { 1e-9 } else { 1e-5 }, "double {double}: {e:.1e}");
            // As divided and multiplied by 12, points differ by rounding.
            let same = |a: &[C], b: &[C]| error(a, b) <= if double { 1e-12 } else { 1e-6 };
            assert!(same(&line.forward(&image), &scan.forward(&image)));
            assert!(same(&line.to_image(isoc_mri_adjoint, &samples), &scan.to_image(isoc_mri_adjoint, &samples)));
        }
        let plane = Scan::new(device, [1, 2, 12], k.clone(), 2, double);
        let wrong = isoc_mri_geometry { axes: 1, ..plane.geometry(2, double) };
        // SAFETY: valid pointers.
        let status = unsafe { isoc_mri_set_geometry(plane.mri, &wrong, &tensor(&values, &[90, 1])) };
        assert_eq!(status, Status::OutOfRange);
        assert!(said().contains("geometry.axes is 1 with ny = 2 and nz = 1"), "{}", said());
    }
}

/// By Q, by a pair of transforms, and by the model, each to the transforms' tolerance.
#[test]
fn q_is_the_normal_operator() {
    let Some(device) = device() else { return };
    for grid in [[1, 12, 15], [6, 7, 8], [3, 1, 5]] {
        for (double, tolerance) in [(false, 1e-5), (true, 1e-9)] {
            for maps in [false, true] {
                let dims = if grid[0] == 1 { 2 } else { 3 };
                let mut scan = Scan::new(device, grid, points(400, dims, 16), 2, double);
                scan.set_weights((0..400).map(|m| f64::from(m % 7) * 0.3).collect());
                if maps {
                    scan.set_maps(random(2 * scan.voxels(), 17));
                }
                let image = random(scan.images * scan.voxels(), 18);
                let mut samples = scan.exact_forward(&image);
                for (m, s) in samples.iter_mut().enumerate() {
                    *s *= scan.weights.as_ref().expect("weights")[m % 400];
                }
                let expected = scan.exact_adjoint(&samples);
                for normal in [1, 2] {
                    scan.options(|o| o.normal = normal);
                    let e = error(&scan.normal(&image), &expected);
                    // Two transforms one after the other; F^H W F makes an image's small parts larger by its condition, here a few.
                    assert!(e <= 5.0 * tolerance, "{grid:?}, double {double}, maps {maps}, normal {normal}: {e:.1e}");
                }
            }
        }
    }
}

/// Where all samples are on the grid of the image's own frequencies along an axis, q repeats itself there and Q is as large as the image. It is the
/// same operator: with maps, with a field between factors of voxels, for any axes, and for samples that are nearly there.
#[test]
fn q_of_samples_on_the_grid_is_as_large_as_the_image() {
    let Some(device) = device() else { return };
    for (grid, whole, q) in [
        ([1, 12, 14], [true, true, false], [1, 12, 14]),
        ([1, 12, 14], [true, false, false], [1, 24, 14]),
        ([6, 8, 10], [true, true, true], [6, 8, 10]),
        ([6, 8, 10], [false, false, true], [6, 16, 20]),
        // Lengths that are no product of 2, 3, 5 and 7, or odd.
        ([1, 22, 15], [true, true, false], [1, 48, 30]),
    ] {
        for (double, tolerance, off, is_whole) in [
            (true, 1e-9, 0.0, true),
            // Of the tolerance's root mean square 2 may be moved: 2 sqrt(6) / 2 pi of it at most.
            (true, 1e-9, 7e-10, true),
            (true, 1e-9, 1e-9, false),
            (false, 1e-5, 7e-6, true),
            (false, 1e-5, 1e-3, false),
            (false, 1e-5, 0.3, false),
        ] {
            for (maps, field) in [(false, false), (true, false), (true, true)] {
                let dims = if grid[0] == 1 { 2 } else { 3 };
                let mut k = points(300, dims, 21);
                for (m, k) in k.iter_mut().enumerate() {
                    for d in (0..dims).filter(|d| whole[*d]) {
                        let n = grid[2 - d] as f64;
                        let moved = if m == 157 { off } else { 0.0 };
                        // Both ends of the range are one frequency.
                        k[d] = ((k[d] * n).round().clamp(-n / 2.0, n / 2.0) - moved * k[d].signum()) / n;
                    }
                }
                let mut scan = Scan::new(device, grid, k, 2, double);
                scan.set_weights((0..300).map(|m| f64::from(m % 7) * 0.3).collect());
                let n = scan.voxels();
                if maps {
                    scan.set_maps(random(2 * n, 22));
                }
                if field {
                    scan.set_field(random(n, 23).iter().map(|v| 100.0 * v.re).collect(), readout(300, 10, 10.0));
                }
                let image = random(scan.images * n, 24);
                let mut samples = scan.exact_forward(&image);
                for (m, s) in samples.iter_mut().enumerate() {
                    *s *= scan.weights.as_ref().expect("weights")[m % 300];
                }
                scan.options(|o| o.normal = 1);
                let e = error(&scan.normal(&image), &scan.exact_adjoint(&samples));
                let name =
                    format!("{grid:?}, whole {whole:?}, off by {off}, double {double}, maps {maps}, field {field}");
                // As for any samples; what is moved is one in 300.
                assert!(e <= 5.0 * tolerance, "{name}: {e:.1e}");
                let info = scan.info();
                let doubled = grid.map(|n| if n == 1 { 1 } else { (2 * n - 1) as i64 });
                for d in 0..3 {
                    let (found, own) = ([info.q_nz, info.q_ny, info.q_nx][d], q[d] as i64);
                    if is_whole || own > grid[d] as i64 {
                        assert_eq!(found, own, "{name}, axis {d}");
                    } else {
                        assert!(found >= doubled[d], "{name}, axis {d}: {found}");
                    }
                }
            }
        }
    }
}

#[test]
fn q_serves_another_plan() {
    let Some(device) = device() else { return };
    let mut scan = Scan::new(device, [1, 10, 12], points(200, 2, 19), 1, true);
    scan.set_weights((0..200).map(|m| 0.5 + f64::from(m % 3)).collect());
    let image = random(120, 20);
    let expected = scan.normal(&image);
    // SAFETY: all zero is valid.
    let mut info: isoc_mri_info = unsafe { std::mem::zeroed() };
    info.struct_size = size_of::<isoc_mri_info>() as u32;
    // SAFETY: a valid pointer.
    ok(unsafe { isoc_mri_get_info(scan.mri, &mut info) });
    assert_eq!((info.has_q, info.q_nz, info.images), (1, 1, 1));
    assert!(info.q_nx >= 23 && info.q_ny >= 19);
    let mut q = vec![f64::NAN; (info.q_nx * info.q_ny) as usize];
    let t = output(&mut q, &[info.q_ny, info.q_nx]);
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_export_q(scan.mri, &t) });
    assert!(q.iter().all(|v| v.is_finite()));
    let t = tensor(&q, &[info.q_ny, info.q_nx]);
    let other = Scan::new(device, [1, 10, 12], points(200, 2, 19), 1, true);
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_import_q(other.mri, &t) });
    assert!(other.normal(&image).iter().zip(&expected).all(|(a, b)| a == b));
}

/// Gaussian elimination with pivots.
pub(super) fn solve_dense(mut a: Vec<Vec<C>>, mut b: Vec<C>) -> Vec<C> {
    let n = b.len();
    for i in 0..n {
        let p = (i..n).max_by(|p, q| a[*p][i].norm().total_cmp(&a[*q][i].norm())).expect("rows");
        a.swap(i, p);
        b.swap(i, p);
        for j in i + 1..n {
            let f = a[j][i] / a[i][i];
            let (upper, lower) = a.split_at_mut(j);
            lower[0][i..].iter_mut().zip(&upper[i][i..]).for_each(|(x, y)| *x -= f * y);
            let bi = b[i];
            b[j] -= f * bi;
        }
    }
    for i in (0..n).rev() {
        let sum: C = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - sum) / a[i][i];
    }
    b
}

/// R of weighted differences on a grid, as rows of (column, value).
fn difference_rows([nz, ny, nx]: [usize; 3], weights: &[f64]) -> Vec<Vec<(usize, f64)>> {
    let n = nz * ny * nx;
    let mut rows = Vec::new();
    for (axis, (size, step)) in [(nx, 1), (ny, nx), (nz, nx * ny)].into_iter().enumerate().filter(|(_, (s, _))| *s > 1)
    {
        for i in (0..n).filter(|i| i / step % size + 1 < size) {
            let w = weights[axis * n + i];
            rows.push(vec![(i + step, w), (i, -w)]);
        }
    }
    rows
}

#[test]
fn the_solution_is_that_of_the_dense_system() {
    let Some(device) = device() else { return };
    for grid in [[1, 5, 6], [3, 3, 4]] {
        let dims = if grid[0] == 1 { 2 } else { 3 };
        let n: usize = grid.iter().product();
        let mut rng = SmallRng::seed_from_u64(30);
        let weights: Vec<f64> = (0..dims * n).map(|_| rng.random_range(0.2..1.5)).collect();
        let rows = difference_rows(grid, &weights);
        for penalty in 0..3u32 {
            for normal in [1, 2] {
                let mut scan = Scan::new(device, grid, points(4 * n, dims, 21), 2, true);
                scan.set_weights((0..4 * n).map(|_| rng.random_range(0.1..2.0)).collect());
                scan.set_maps(random(2 * n, 22));
                let lambda = 5.0;
                if penalty == 1 {
                    let shape = [dims as i64, grid[0] as i64, grid[1] as i64, grid[2] as i64];
                    // SAFETY: valid pointers.
                    ok(unsafe { isoc_mri_set_difference_weights(scan.mri, &tensor(&weights, &shape)) });
                }
                if penalty == 2 {
                    let mut starts = vec![0i64];
                    let (mut columns, mut values) = (Vec::new(), Vec::new());
                    for row in &rows {
                        for (c, v) in row {
                            columns.push(*c as i64);
                            values.push(C::new(*v, 0.0) * C::cis(0.3 * starts.len() as f64));
                        }
                        starts.push(columns.len() as i64);
                    }
                    let (count, shape) = (columns.len() as i64, [columns.len() as i64]);
                    let (r, t) = (rows.len() as i64, tensor(&values, &shape));
                    // SAFETY: valid pointers.
                    ok(unsafe { isoc_mri_set_matrix(scan.mri, r, starts.as_ptr(), columns.as_ptr(), count, &t) });
                }
                scan.options(|o| {
                    (o.lambda, o.penalty, o.normal, o.tolerance) = (lambda, penalty, normal, 1e-12);
                    (o.iterations, o.residual) = (300, 1e-11);
                });
                let samples = random(8 * n, 23);
                // The dense matrix, column by column.
                let mut a = vec![vec![C::default(); n]; n];
                for c in 0..n {
                    let mut unit = vec![C::default(); n];
                    unit[c] = C::new(1.0, 0.0);
                    let mut s = scan.exact_forward(&unit);
                    s.iter_mut()
                        .enumerate()
                        .for_each(|(m, s)| *s *= scan.weights.as_ref().expect("weights")[m % (4 * n)]);
                    for (row, v) in scan.exact_adjoint(&s).into_iter().enumerate() {
                        a[row][c] += v;
                    }
                    if penalty == 0 {
                        a[c][c] += lambda;
                    }
                }
                if penalty > 0 {
                    // A factor of modulus 1 for each row of R does not show in R^H R.
                    for row in &rows {
                        for (i, v) in row {
                            for (j, w) in row {
                                a[*i][*j] += lambda * v * w;
                            }
                        }
                    }
                }
                let mut weighted = samples.clone();
                weighted.iter_mut().enumerate().for_each(|(m, s)| *s *= scan.weights.as_ref().expect("w")[m % (4 * n)]);
                let expected = solve_dense(a, scan.exact_adjoint(&weighted));
                let seen = scan.to_image(isoc_mri_reconstruct, &samples);
                // Residual 1e-11 and transforms to 1e-12, times the condition of the system, below 1e3.
                let e = error(&seen, &expected);
                assert!(e < 1e-8, "{grid:?}, penalty {penalty}, normal {normal}: {e:.1e}");
                let history = scan.history(0);
                assert!((history[0] - 1.0).abs() < 1e-12 && *history.last().expect("residuals") <= 1e-11);
                assert!(history.len() - 1 <= 3 * n, "{} iterations", history.len() - 1);
            }
        }
    }
}

/// Penalty weights stay while another penalty is in use.
#[test]
fn penalties_may_take_turns() {
    let Some(device) = device() else { return };
    let image = random(42, 40);
    let weights: Vec<f64> = random(84, 41).iter().map(|v| v.norm()).collect();
    let scan = || {
        let scan = Scan::new(device, [1, 6, 7], points(90, 2, 42), 1, true);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_set_difference_weights(scan.mri, &tensor(&weights, &[2, 1, 6, 7])) });
        scan
    };
    let differences = |scan: &Scan| {
        scan.options(|o| (o.lambda, o.penalty) = (3.0, 1));
        scan.normal(&image)
    };
    let (one, other) = (scan(), scan());
    let expected = differences(&one);
    other.options(|o| o.lambda = 3.0);
    assert!(other.normal(&image) != expected, "R = 1 is another penalty");
    assert!(differences(&other) == expected);
}

#[test]
fn a_warm_start_goes_on_where_it_is() {
    let Some(device) = device() else { return };
    let scan = Scan::new(device, [1, 8, 8], points(300, 2, 24), 1, true);
    let samples = scan.exact_forward(&random(64, 25));
    scan.options(|o| (o.iterations, o.residual) = (200, 1e-10));
    let image = scan.to_image(isoc_mri_reconstruct, &samples);
    scan.options(|o| (o.iterations, o.residual, o.warm_start) = (200, 1e-8, 1));
    let mut again = image.clone();
    let (from, to) = (tensor(&samples, &scan.scan_shape()), output(&mut again, &scan.image_shape()));
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_reconstruct(scan.mri, &from, &to) });
    assert_eq!(scan.history(0).len(), 1, "already there");
    assert!(again == image);
}

#[test]
fn coils_without_maps_have_images_of_their_own() {
    let Some(device) = device() else { return };
    let scan = Scan::new(device, [1, 8, 9], points(300, 2, 26), 3, true);
    let images = random(3 * 72, 27);
    scan.options(|o| (o.iterations, o.residual) = (200, 1e-10));
    let seen = scan.to_image(isoc_mri_reconstruct, &scan.exact_forward(&images));
    // Residual times the condition of 300 random samples for 72 voxels, below 1e2.
    assert!(error(&seen, &images) < 1e-8);
    assert!((0..3).all(|k| *scan.history(k).last().expect("residuals") <= 1e-10));
}

/// Spokes through the centre, in a plane or over a sphere; the sample in the middle is at `shift` steps.
pub(super) fn spokes(dims: usize, count: usize, readout: usize, shift: f64) -> Vec<[f64; 3]> {
    let mut k = Vec::new();
    for s in 0..count {
        let part = s as f64 / count as f64;
        // Over a sphere: turned by the golden angle, at heights that give each the same part of it.
        let (angle, z) = if dims == 2 { (PI * part, 0.0) } else { (2.4 * s as f64, part + 0.5 / count as f64) };
        let (sin, cos) = angle.sin_cos();
        let r = (1.0 - z * z).sqrt();
        k.extend((0..readout).map(|i| {
            let at = (i as f64 - (readout / 2) as f64 + shift) / readout as f64;
            [at * r * cos, at * r * sin, at * z]
        }));
    }
    k
}

/// A plan's density weights.
fn weights_of(scan: &Scan) -> Vec<f64> {
    let mut w = vec![f64::NAN; scan.k.len()];
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_get_weights(scan.mri, &output(&mut w, &[scan.k.len() as i64])) });
    w
}

/// Points a voxel of k-space apart, a third of them measured twice: the kernel is 0 from each to all others, so that each stands for
/// one voxel of k-space, shared where there are two, and gridding is the inverse transform. Two transforms to 1e-4, as weights are found.
#[test]
fn iterative_weights_of_a_cartesian_scan_are_exact() {
    let Some(device) = device() else { return };
    for grid in [[1, 12, 15], [6, 7, 8]] {
        let [nz, ny, nx] = grid;
        let (voxels, axis) = (nz * ny * nx, |j: usize, n: usize| (j as f64 - (n / 2) as f64) / n as f64);
        let mut k: Vec<_> =
            (0..voxels).map(|v| [axis(v % nx, nx), axis(v / nx % ny, ny), axis(v / nx / ny, nz)]).collect();
        k.extend_from_within(..voxels / 3);
        let twice = |m: usize| m < voxels / 3 || m >= voxels;
        let cell = 1.0 / voxels as f64;
        let truth: Vec<_> = (0..k.len()).map(|m| C::new(if twice(m) { cell / 2.0 } else { cell }, 0.0)).collect();
        let scan = Scan::new(device, grid, k, 1, true);
        ok(isoc_mri_compute_weights(scan.mri, 0, 0));
        let seen: Vec<_> = weights_of(&scan).into_iter().map(|w| C::new(w, 0.0)).collect();
        let e = error(&seen, &truth);
        assert!(e <= 2e-4, "{grid:?}: weights {e:.1e}");
        let image = random(voxels, 41);
        let e = error(&scan.to_image(isoc_mri_gridding, &scan.forward(&image)), &image);
        assert!(e <= 2e-4, "{grid:?}: gridding {e:.1e}");
    }
}

/// With weights of either kind, gridding of a body of 1 is as near to it as the disc or ball of k-space that spokes reach allows; with
/// iterative ones also where there are half as many as the field of view asks for. What k-space allows is the gridding of a scan many
/// times as fine with the areas of its rings.
/// The mean inside is off by what of the point spread function lies further out than the weights look.
#[test]
fn density_weights_give_an_image_in_its_own_scale() {
    let Some(device) = device() else { return };
    for (grid, fine, scans) in
        [([1, 64, 64], (256, 512), [(101, 128), (50, 128)]), ([24, 24, 24], (3600, 96), [(900, 48), (450, 48)])]
    {
        let (dims, n) = (if grid[0] == 1 { 2 } else { 3 }, grid[2]);
        let semi = 0.35 * n as f64;
        let body = isoc_mri_ellipsoid {
            value: 1.0,
            x: 0.0,
            y: 0.0,
            z: 0.0,
            semi_x: semi,
            semi_y: semi,
            semi_z: semi,
            angle: 0.0,
        };
        // Error, and mean of a cube in the middle.
        let figures = |scan: &Scan| {
            let (mut samples, mut truth) = (vec![C::default(); scan.k.len()], vec![C::default(); scan.voxels()]);
            let s = output(&mut samples, &scan.scan_shape()[1..]);
            let t = output(&mut truth, &scan.image_shape()[1..]);
            // SAFETY: valid pointers.
            unsafe {
                ok(isoc_mri_phantom_samples(scan.mri, &body, 1, &s));
                ok(isoc_mri_phantom_image(scan.mri, &body, 1, &t));
            }
            let image = scan.to_image(isoc_mri_gridding, &samples);
            let inside = |v: usize| {
                let at = [v % n, v / n % n, if dims == 2 { n / 2 } else { v / n / n }];
                at.iter().all(|j| j.abs_diff(n / 2) <= n / 6)
            };
            let middle: Vec<f64> = (0..image.len()).filter(|v| inside(*v)).map(|v| image[v].re).collect();
            (error(&image, &truth), middle.iter().sum::<f64>() / middle.len() as f64)
        };
        let (count, readout) = fine;
        let mut scan = Scan::new(device, grid, spokes(dims, count, readout, 0.5), 1, true);
        let ring = |k: &[f64; 3]| {
            let r = k.iter().map(|v| v * v).sum::<f64>().sqrt();
            (if dims == 2 { TAU * r } else { 2.0 * TAU * r * r }) / (2 * count * readout) as f64
        };
        scan.set_weights(scan.k.iter().map(ring).collect());
        let (min, _) = figures(&scan);
        for (count, readout) in scans {
            for (density, parameter, shift) in [(0, 0, 0.0), (1, readout as i64, 0.0), (1, readout as i64, 0.5)] {
                let scan = Scan::new(device, grid, spokes(dims, count, readout, shift), 1, true);
                ok(isoc_mri_compute_weights(scan.mri, density, parameter));
                let (e, mean) = figures(&scan);
                let what = format!("{grid:?}, {count} spokes, density {density}, shift {shift}");
                // Areas give the gaps between too few spokes more weight than is best.
                let allowed = if density == 1 && count == scans[1].0 { 1.3 } else { 1.1 };
                assert!(e <= allowed * min, "{what}: error {e:.4}, the least is {min:.4}");
                assert!((mean - 1.0).abs() <= 0.01, "{what}: mean {mean:.4}");
            }
        }
        if dims == 2 {
            // Samples so far apart that copies of the body touch it: radial weights keep the mean all the same.
            let scan = Scan::new(device, grid, spokes(dims, 101, n, 0.0), 1, true);
            ok(isoc_mri_compute_weights(scan.mri, 1, n as i64));
            let (_, mean) = figures(&scan);
            assert!((mean - 1.0).abs() <= 0.01, "samples one field of view apart: mean {mean:.4}");
        }
    }
}

/// Spokes through the centre: the disc's area, and the same scale from either kind of weights.
#[test]
fn density_weights_are_areas() {
    let Some(device) = device() else { return };
    let (count, readout) = (64, 64);
    let scan = Scan::new(device, [1, 32, 32], spokes(2, count, readout, 0.0), 1, true);
    let total = |kind, parameter| {
        ok(isoc_mri_compute_weights(scan.mri, kind, parameter));
        weights_of(&scan).iter().sum::<f64>()
    };
    // Discs of radius 0.5 and half a step more on one side: pi / 4 up to a step, 1/32.
    let radial = total(1, 64);
    assert!((radial / (PI / 4.0) - 1.0).abs() < 0.03, "{radial}");
    // The kernel reaches 1/32 beyond the disc, where no sample is: at most (1 + 2/32)^2 of the area, at least the area less that.
    let iterative = total(0, 30);
    assert!((iterative / (PI / 4.0) - 1.0).abs() < 0.13, "{iterative}");
    // A constant disc comes out at its value in the middle.
    let disc =
        isoc_mri_ellipsoid { value: 2.0, x: 0.0, y: 0.0, z: 0.0, semi_x: 9.0, semi_y: 9.0, semi_z: 1.0, angle: 0.0 };
    let mut samples = vec![C::default(); count * readout];
    let t = output(&mut samples, &[(count * readout) as i64]);
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_phantom_samples(scan.mri, &disc, 1, &t) });
    let image = scan.to_image(isoc_mri_gridding, &samples);
    let middle: f64 = (12..21).flat_map(|y| (12..21).map(move |x| y * 32 + x)).map(|i| image[i].re).sum::<f64>() / 81.0;
    assert!((middle / 2.0 - 1.0).abs() < 0.05, "{middle}");
}

//! Images whose imaginary part counts, or that have none, against dense systems and where half of k-space is not sampled, on the device that
//! the test program names.

use super::device;
use super::scan::*;
use super::sparse::{data, haar, scan, smooth, system, times};
use super::suite::solve_dense;
use isocenter::error::Status;
use isocenter::ffi::mri::*;
use std::f64::consts::{PI, TAU};

const WAVELETS: u32 = 3;
const HAAR: u32 = 1;
const PAIR: u32 = 2;

fn real_part(values: &[C]) -> Vec<C> {
    values.iter().map(|v| C::new(v.re, 0.0)).collect()
}

/// Re(F^H W F) + lambda, and Re(F^H W d), are of all images, wherever the solution begins and however F^H W F is applied.
#[test]
fn equations_are_the_real_parts() {
    let Some(device) = device() else { return };
    for (grid, double, normal, warm) in [
        ([1, 9, 12], true, 0, false),
        ([1, 9, 12], true, PAIR, true),
        ([4, 5, 6], true, 0, true),
        ([4, 5, 6], false, PAIR, false),
        ([1, 7, 11], false, 0, false),
    ] {
        let (scan, samples) = scan(device, grid, double, true);
        let (mut a, b) = system(&scan, &samples, 0);
        let lambda = 20.0;
        a.iter_mut().for_each(|row| *row = real_part(row));
        a.iter_mut().enumerate().for_each(|(i, row)| row[i] += lambda);
        let expected = solve_dense(a, real_part(&b));
        scan.options(|o| {
            (o.imaginary, o.normal, o.lambda, o.warm_start) = (f64::INFINITY, normal, lambda, warm.into());
            (o.iterations, o.residual, o.tolerance) =
                (300, if double { 1e-11 } else { 1e-6 }, if double { 1e-12 } else { 1e-6 });
        });
        let mut image = random(scan.voxels(), 3);
        let (from, to) = (tensor(&samples, &scan.scan_shape()), output(&mut image, &scan.image_shape()));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_reconstruct(scan.mri, &from, &to) });
        assert!(image.iter().all(|v| v.im == 0.0), "{grid:?}");
        // The condition number is below 600 / 20: residuals of 1e-11 and 1e-6 leave thirty times as much, and transforms of 1e-12 and 1e-6 a
        // few times that.
        let e = error(&image, &expected);
        assert!(e < if double { 1e-9 } else { 1e-4 }, "{grid:?}, normal {normal}: {e:.1e}");
        // Another image than the real part of the complex one.
        scan.options(|o| (o.normal, o.lambda, o.iterations, o.residual) = (normal, lambda, 300, 1e-6));
        let free = real_part(&scan.to_image(isoc_mri_reconstruct, &samples));
        assert!(error(&free, &expected) > 0.01, "{grid:?}");
    }
}

/// Real and imaginary parts are unknowns of their own in the equations of a weight: those of imaginary parts have it on the diagonal.
#[test]
fn weights_of_imaginary_parts() {
    let Some(device) = device() else { return };
    for (grid, double, normal, lambda) in
        [([1, 9, 12], true, 0, 0.0), ([4, 5, 6], true, PAIR, 20.0), ([1, 7, 11], false, 0, 20.0)]
    {
        let (scan, samples) = scan(device, grid, double, true);
        let ((a, b), weight, n) = (system(&scan, &samples, 0), 70.0, scan.voxels());
        let mut both = vec![vec![C::default(); 2 * n]; 2 * n];
        for (i, row) in a.iter().enumerate() {
            for (j, v) in row.iter().enumerate() {
                (both[i][j].re, both[i][n + j].re, both[n + i][j].re, both[n + i][n + j].re) =
                    (v.re, -v.im, v.im, v.re);
            }
            both[i][i].re += lambda;
            both[n + i][n + i].re += lambda + weight;
        }
        let right = b.iter().map(|v| v.re).chain(b.iter().map(|v| v.im)).map(|v| C::new(v, 0.0)).collect();
        let parts = solve_dense(both, right);
        let expected: Vec<C> = (0..n).map(|i| C::new(parts[i].re, parts[n + i].re)).collect();
        scan.options(|o| {
            (o.imaginary, o.normal, o.lambda) = (weight, normal, lambda);
            (o.iterations, o.residual, o.tolerance) =
                (600, if double { 1e-11 } else { 1e-6 }, if double { 1e-12 } else { 1e-6 });
        });
        // The condition number is below 100 with lambda, and of the same order without.
        let e = error(&scan.to_image(isoc_mri_reconstruct, &samples), &expected);
        assert!(e < if double { 1e-8 } else { 1e-3 }, "{grid:?}, normal {normal}: {e:.1e}");
    }
}

/// Of images of few wavelets the data's gradient is real, too, and meets the conditions of the least.
#[test]
fn wavelets_of_real_images_meet_their_conditions() {
    let Some(device) = device() else { return };
    for algorithm in [2, 3] {
        let (grid, lambda) = ([1, 9, 12], 30.0);
        let (scan, samples) = scan(device, grid, true, true);
        scan.options(|o| {
            (o.imaginary, o.penalty, o.algorithm, o.wavelet, o.levels, o.fixed_grid) =
                (f64::INFINITY, WAVELETS, algorithm, HAAR, 1, 1);
            (o.lambda, o.iterations, o.residual, o.tolerance) = (lambda, 2000, 1e-9, 1e-12);
        });
        let x = scan.to_image(isoc_mri_reconstruct, &samples);
        assert!(x.iter().all(|v| v.im == 0.0));
        let (a, b) = system(&scan, &samples, 0);
        let gradient: Vec<C> = b.iter().zip(times(&a, &x)).map(|(b, ax)| b - ax).collect();
        let (g, c) = (haar(grid, &real_part(&gradient)), haar(grid, &x));
        let kept = c.iter().filter(|c| c.norm() > 1e-6).count();
        assert!((10..90).contains(&kept), "{kept} of {} are kept", c.len());
        for (g, c) in g.iter().zip(&c) {
            // The last step was 1e-9 of the image, some 8, and curvature is up to 500: 4e-6, and lambda is 30.
            let off =
                if c.norm() > 1e-6 { (g - c.scale(lambda / c.norm())).norm() } else { (g.norm() - lambda).max(0.0) };
            assert!(off < 1e-4 * lambda, "{algorithm}: {off:.1e}");
        }
        // The objective that was told is that of this image.
        let told = *scan.objective(0).last().expect("an objective");
        let value = smooth(&a, &b, data(&scan, &samples, 0), &x) + lambda * c.iter().map(|c| c.norm()).sum::<f64>();
        assert!((told / value - 1.0).abs() < 1e-9, "{told} {value}");
    }
}

/// Samples of k-space's one half, and of little more, tell a real image times a phase that is known; without that they do not.
#[test]
fn partial_fourier() {
    let Some(device) = device() else { return };
    let (ny, nx, beyond) = (24usize, 20usize, 2i64);
    let lines = -(beyond)..(ny as i64).div_euclid(2);
    let k: Vec<[f64; 3]> = lines
        .flat_map(|y| (0..nx as i64).map(move |x| [(x - nx as i64 / 2) as f64 / nx as f64, y as f64 / ny as f64, 0.0]))
        .collect();
    let mut scan = Scan::new(device, [1, ny, nx], k, 2, true);
    let place = |i: usize| ((i % nx) as f64 / nx as f64, (i / nx) as f64 / ny as f64);
    let truth: Vec<C> = (0..ny * nx)
        .map(|i| {
            let (x, y) = place(i);
            let inside = (x - 0.45).hypot(y - 0.55) < 0.35;
            C::new(if inside { 1.0 + f64::from(u8::from(x > 0.5 && y > 0.6)) } else { 0.0 }, 0.0)
        })
        .collect();
    let maps: Vec<C> = (0..2 * ny * nx)
        .map(|i| {
            let ((x, y), coil) = (place(i % (ny * nx)), i / (ny * nx));
            let size = if coil == 0 { 0.3 + x } else { 1.3 - x };
            C::from_polar(size, TAU * 0.3 * (x - 0.2) + PI * (y - 0.3) * (y - 0.3) + coil as f64)
        })
        .collect();
    scan.set_maps(maps);
    let samples = scan.exact_forward(&truth);
    let solved = |imaginary: f64| {
        scan.options(|o| (o.imaginary, o.iterations, o.residual, o.tolerance) = (imaginary, 400, 1e-9, 1e-12));
        error(&scan.to_image(isoc_mri_reconstruct, &samples), &truth)
    };
    // Both know more than all, 2 x 2 x 14 x 20 real numbers of 480.
    let [with, weighed, without] = [f64::INFINITY, 15.0, 0.0].map(solved);
    assert!(with < 1e-4 && weighed < 1e-3 && without > 0.1, "{with:.1e} {weighed:.1e} {without:.1e}");
}

#[test]
fn images_of_coils_have_phases_of_their_own() {
    let Some(device) = device() else { return };
    let (scan, samples) = scan(device, [1, 9, 12], false, false);
    scan.options(|o| o.imaginary = 1.0);
    let mut image = vec![C::default(); 2 * scan.voxels()];
    let (from, to) = (tensor(&samples, &scan.scan_shape()), output(&mut image, &scan.image_shape()));
    // SAFETY: valid pointers.
    assert_eq!(unsafe { isoc_mri_reconstruct(scan.mri, &from, &to) }, Status::NotConfigured);
    assert!(said().contains("options.imaginary") && said().contains("isoc_mri_set_maps"), "{}", said());
    // Transforms are as they were, and have imaginary parts.
    let image = scan.to_image(isoc_mri_adjoint, &samples);
    assert!(image.iter().any(|v| v.im != 0.0));
}

//! Coils and image from samples alone, on the device that the test program names.

use super::device;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::mri::*;
use isocenter::mri::phantom::{kspace, voxel_means};
use isocenter::phantom::Ellipse;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::{PI, TAU};

const N: usize = 96;
const COILS: usize = 8;

fn options() -> isoc_mri_maps_options {
    // SAFETY: numbers; all zero is valid.
    let zero: isoc_mri_maps_options = unsafe { std::mem::zeroed() };
    isoc_mri_maps_options { struct_size: size_of::<isoc_mri_maps_options>() as u32, ..zero }
}

fn object() -> Vec<Ellipse> {
    let n = N as f64;
    let e = |value, x, y, a, b, angle| Ellipse { value, centre: [x * n, y * n], semi: [a * n, b * n], angle };
    vec![
        e(1.0, 0.01, -0.02, 0.42, 0.36, 0.2),
        e(-0.6, 0.01, -0.02, 0.39, 0.33, 0.2),
        e(0.5, 0.15, 0.05, 0.06, 0.12, -0.4),
        e(0.7, -0.14, 0.08, 0.08, 0.05, 0.7),
        e(-0.3, -0.05, -0.18, 0.1, 0.04, 0.1),
        e(0.8, 0.02, 0.02, 0.015, 0.015, 0.0),
        e(0.4, 0.1, -0.15, 0.03, 0.02, 1.0),
    ]
}

/// A coil's waves: half cycles per field of view along x and y, and factors: ((1 + sin(pi d . r / N)) / 2)^2 with a linear phase across d.
fn waves(coil: usize) -> Vec<([f64; 2], C)> {
    let (sin, cos) = (TAU * (coil as f64 + 0.3) / COILS as f64).sin_cos();
    // (1 + (e - 1/e) / 2i)^2 / 4, e = exp(i pi d . r / N).
    let i = C::new(0.0, 1.0);
    let [a, b] = [1.0 / (2.0 * i), -1.0 / (2.0 * i)];
    let factors = [(2.0, a * a), (1.0, 2.0 * a), (0.0, 1.0 + 2.0 * a * b), (-1.0, 2.0 * b), (-2.0, b * b)];
    let turn = C::cis(1.7 * coil as f64);
    factors.map(|(q, f)| ([q * cos - 0.6 * sin, q * sin + 0.6 * cos], f * turn / 4.0)).to_vec()
}

fn sensitivities() -> Vec<C> {
    let place = |j: usize| j as f64 - (N / 2) as f64;
    let value = |coil: usize, r: usize| {
        let (x, y) = (place(r % N), place(r / N));
        waves(coil).iter().map(|(h, f)| f * C::cis(PI * (h[0] * x + h[1] * y) / N as f64)).sum::<C>()
    };
    (0..COILS * N * N).map(|i| value(i / (N * N), i % (N * N))).collect()
}

/// Exact samples of the object seen by the coils, and noise of so much of the largest one.
fn samples(k: &[[f64; 3]], noise: f64) -> Vec<C> {
    let mut out = Vec::new();
    for coil in 0..COILS {
        let mut sum = vec![C::default(); k.len()];
        for (half, f) in waves(coil) {
            let moved: Vec<[f64; 2]> =
                k.iter().map(|k| [k[0] - half[0] / (2 * N) as f64, k[1] - half[1] / (2 * N) as f64]).collect();
            let of = kspace(&object(), &moved).expect("a transform");
            sum.iter_mut().zip(of).for_each(|(s, v)| *s += f * v);
        }
        out.extend(sum);
    }
    let largest = out.iter().map(|v| v.norm()).fold(0.0, f64::max);
    let mut rng = SmallRng::seed_from_u64(5);
    let mut normal = || (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
    out.iter_mut().for_each(|v| *v += C::new(normal(), normal()) * noise * largest);
    out
}

fn radial(spokes: usize) -> Vec<[f64; 3]> {
    let at = |s: usize, t: usize| {
        let (sin, cos) = (1.941_611 * s as f64).sin_cos();
        let r = (t as f64 - N as f64) / (2 * N) as f64;
        [r * cos, r * sin, 0.0]
    };
    (0..spokes * 2 * N).map(|m| at(m / (2 * N), m % (2 * N))).collect()
}

/// Lines of random places, one in `factor`, denser towards the middle, but with gaps there, too.
fn lines(keep: impl Fn(i64) -> bool) -> Vec<[f64; 3]> {
    let half = (N / 2) as i64;
    let kept = (-half..half).filter(|y| keep(*y));
    kept.flat_map(|y| (0..N).map(move |x| [x as f64 / N as f64 - 0.5, y as f64 / N as f64, 0.0])).collect()
}

fn try_find(scan: &Scan, o: &isoc_mri_maps_options, samples: &[C]) -> (Status, Vec<C>, Vec<C>) {
    let n = scan.voxels();
    let (mut maps, mut image) = (vec![C::new(7.0, 0.0); scan.coils * n], vec![C::new(7.0, 0.0); n]);
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    let to = output(&mut maps, &[scan.coils as i64, nz, ny, nx]);
    let own = output(&mut image, &[nz, ny, nx]);
    // SAFETY: valid pointers.
    let status = unsafe { isoc_mri_find_maps(scan.mri, o, &tensor(samples, &scan.scan_shape()), &to, &own) };
    (status, maps, image)
}

#[test]
fn tuning() {
    let Some(device) = device() else { return };
    let truth = sensitivities();
    let n = N * N;
    let length: Vec<f64> =
        (0..n).map(|r| (0..COILS).map(|c| truth[c * n + r].norm_sqr()).sum::<f64>().sqrt()).collect();
    let unit: Vec<C> = (0..COILS * n).map(|i| truth[i] / length[i % n]).collect();
    let means = voxel_means(&object(), [N, N]).expect("means");
    let exact: Vec<f64> = means.iter().zip(&length).map(|(a, b)| a * b).collect();
    let inside: Vec<bool> = voxel_means(&object()[..1], [N, N]).expect("means").iter().map(|v| *v > 0.5).collect();
    let against = |image: &[C]| {
        let w: f64 = (0..n).filter(|r| inside[*r]).map(|r| (image[r].norm() - exact[r]).powi(2)).sum();
        let p: f64 = (0..n).filter(|r| inside[*r]).map(|r| exact[r].powi(2)).sum();
        (w / p).sqrt()
    };
    let apart = |a: &[C], b: &[C]| {
        let w: f64 = (0..n).filter(|r| inside[*r]).map(|r| (a[r].norm() - b[r].norm()).powi(2)).sum();
        let p: f64 = (0..n).filter(|r| inside[*r]).map(|r| b[r].norm_sqr()).sum();
        (w / p).sqrt()
    };
    let mut rng = SmallRng::seed_from_u64(3);
    let random_lines: Vec<bool> = (0..N)
        .map(|y| {
            let far = (y as f64 - 48.0).abs() / 48.0;
            rng.random_range(0.0..1.0) < (1.1 - 1.1 * far).clamp(0.25, 0.85)
        })
        .collect();
    let kept = random_lines.iter().filter(|k| **k).count();
    println!("{kept} of {N} lines; middle {:?}", &random_lines[36..60]);
    let cases = [
        ("full", lines(|_| true)),
        ("radial 48", radial(48)),
        ("radial 24", radial(24)),
        ("lines random", lines(|y| random_lines[(y + 48) as usize])),
        ("lines 2", lines(|y| y % 2 == 0)),
    ];
    for (name, k) in cases {
        for noise in [0.0, 3e-4] {
            let mut scan = Scan::new(device, [1, N, N], k.clone(), COILS, false);
            scan.options(|o| o.iterations = 40);
            let data = samples(&k, noise);
            scan.set_maps(unit.clone());
            let best = scan.to_image(isoc_mri_reconstruct, &data);
            // SAFETY: valid.
            ok(unsafe { isoc_mri_set_maps(scan.mri, std::ptr::null()) });
            for (steps, residual) in [(8, 0.1), (8, 0.01), (10, 0.1), (10, 0.01), (12, 0.01), (14, 0.01)] {
                let o = isoc_mri_maps_options { steps, residual, ..options() };
                let began = std::time::Instant::now();
                let (status, maps, image) = try_find(&scan, &o, &data);
                ok(status);
                let took = began.elapsed().as_secs_f64();
                let history = scan.history(0);
                scan.set_maps(maps);
                let sense = scan.to_image(isoc_mri_reconstruct, &data);
                // SAFETY: valid.
                ok(unsafe { isoc_mri_set_maps(scan.mri, std::ptr::null()) });
                println!(
                    "{name} noise {noise:e} steps {steps} res {residual}: best {:.4}; image {:.4} sense {:.4} apart {:.4}  {took:.2} s, left {:.1e}",
                    against(&best),
                    against(&image),
                    against(&sense),
                    apart(&sense, &best),
                    history.last().unwrap_or(&0.0)
                );
            }
        }
    }
}

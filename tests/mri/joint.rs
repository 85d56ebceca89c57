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

/// Cartesian lines at these numbers of cycles per field of view along y.
fn lines(kept: impl IntoIterator<Item = i64>) -> Vec<[f64; 3]> {
    let line = |y: i64| (0..N).map(move |x| [x as f64 / N as f64 - 0.5, y as f64 / N as f64, 0.0]);
    kept.into_iter().flat_map(line).collect()
}

/// Some 3 of 5 lines, denser towards the middle, where some are missing, too.
fn random_lines() -> Vec<i64> {
    let half = (N / 2) as i64;
    let mut rng = SmallRng::seed_from_u64(3);
    let mut keep = |y: &i64| {
        let far = (*y as f64 / half as f64).abs();
        rng.random_range(0.0..1.0) < (1.1 - 1.1 * far).clamp(0.25, 0.85)
    };
    let kept: Vec<i64> = (-half..half).filter(|y| keep(y)).collect();
    let missing = |y: i64| !kept.contains(&y);
    assert!((50..60).contains(&kept.len()) && [-9, -3, 2, 9].into_iter().all(missing), "{kept:?}");
    kept
}

/// The call's status, and maps and image.
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

fn find(scan: &Scan, o: &isoc_mri_maps_options, samples: &[C]) -> [Vec<C>; 2] {
    let (status, maps, image) = try_find(scan, o, samples);
    ok(status);
    [maps, image]
}

fn forget_maps(scan: &mut Scan) {
    // SAFETY: a valid handle.
    ok(unsafe { isoc_mri_set_maps(scan.mri, std::ptr::null()) });
    (scan.maps, scan.images) = (None, scan.coils);
}

/// The method's definition, with matrices.
struct Reference {
    /// `[sample][voxel]` of one coil, times the square root of the density weights.
    f: Vec<Vec<C>>,
    /// `[voxel][wave]`
    waves: Vec<Vec<f64>>,
    coils: usize,
    gain: f64,
}

impl Reference {
    /// All waves of twice the field of view.
    fn new(scan: &Scan, (scale, order): (f64, f64)) -> Self {
        let ones = vec![1.0; scan.k.len()];
        let weights = scan.weights.as_ref().unwrap_or(&ones);
        let n = scan.voxels();
        let f =
            (0..scan.k.len()).map(|m| (0..n).map(|r| scan.element(0, m, r) * weights[m].sqrt()).collect()).collect();
        let count = scan.grid.map(|n| 2 * n - 1);
        let waves = (0..n).map(|r| {
            let at = index(r, scan.grid);
            let value = |q: usize| {
                let of = index(q, count);
                let (mut value, mut square) = (1.0, 0.0);
                for a in 0..3 {
                    let (n, half) = (scan.grid[a], of[a].div_ceil(2) as f64);
                    let phase = PI * half * (at[a] as f64 - (n / 2) as f64) / n as f64;
                    let wave = if of[a] % 2 == 1 { phase.cos() } else { phase.sin() };
                    value *= if of[a] == 0 { 1.0 } else { 2f64.sqrt() * wave } / (n as f64).sqrt();
                    square += (half / (2 * n) as f64).powi(2);
                }
                value * (1.0 + scale * square).powf(-order / 2.0)
            };
            (0..count.iter().product()).map(value).collect()
        });
        Self { f, waves: waves.collect(), coils: scan.coils, gain: weights.iter().sum() }
    }

    fn voxels(&self) -> usize {
        self.waves.len()
    }

    fn count(&self) -> usize {
        self.waves[0].len()
    }

    fn coil(&self, x: &[C], c: usize) -> Vec<C> {
        let own = &x[self.voxels() + c * self.count()..][..self.count()];
        self.waves.iter().map(|w| w.iter().zip(own).map(|(w, a)| a * w).sum()).collect()
    }

    /// Weighed samples `[coil][sample]` of image and coils.
    fn samples(&self, x: &[C]) -> Vec<C> {
        let of_coil = |c| {
            let seen: Vec<C> = self.coil(x, c).iter().zip(x).map(|(c, r)| c * r).collect();
            self.f.iter().map(move |row| row.iter().zip(&seen).map(|(f, g)| f * g).sum::<C>()).collect::<Vec<_>>()
        };
        (0..self.coils).flat_map(of_coil).collect()
    }

    /// The derivative at x, `[coil and sample][unknown]`.
    fn derivative(&self, x: &[C]) -> Vec<Vec<C>> {
        let (n, count) = (self.voxels(), self.count());
        let mut rows = Vec::new();
        for c in 0..self.coils {
            let coil = self.coil(x, c);
            for f in &self.f {
                let mut row = vec![C::default(); n + self.coils * count];
                for r in 0..n {
                    row[r] = f[r] * coil[r];
                    let seen = f[r] * x[r];
                    let own = &mut row[n + c * count..][..count];
                    own.iter_mut().zip(&self.waves[r]).for_each(|(o, w)| *o += seen * w);
                }
                rows.push(row);
            }
        }
        rows
    }

    /// Maps, image, and what is left of the samples before the first step and after each.
    fn solve(&self, samples: &[C], steps: usize, (alpha, reduction): (f64, f64)) -> ([Vec<C>; 2], Vec<f64>) {
        let (n, unknowns) = (self.voxels(), self.voxels() + self.coils * self.count());
        let count = self.f.len();
        // F^H W s, and F of it, coil by coil.
        let (mut square, mut energy) = (0.0, 0.0);
        for own in samples.chunks_exact(count) {
            let right: Vec<C> = (0..n).map(|r| (0..count).map(|m| self.f[m][r].conj() * own[m]).sum()).collect();
            square += right.iter().map(C::norm_sqr).sum::<f64>();
            let again = self.f.iter().map(|row| row.iter().zip(&right).map(|(f, b)| f * b).sum::<C>().norm_sqr());
            energy += again.sum::<f64>();
        }
        let size = square / energy * (square / n as f64).sqrt() / (100.0 / 256.0);
        let data: Vec<C> = samples.iter().map(|s| s / size).collect();
        let length = |v: &[C]| v.iter().map(C::norm_sqr).sum::<f64>().sqrt();
        let mut start = vec![C::default(); unknowns];
        start[..n].fill(C::new(1.0, 0.0));
        let (mut x, mut left, mut alpha) = (start.clone(), Vec::new(), alpha);
        for _ in 0..steps {
            let rest: Vec<C> = data.iter().zip(self.samples(&x)).map(|(s, f)| s - f).collect();
            left.push(length(&rest) / length(&data));
            let d = self.derivative(&x);
            let weight = alpha * self.gain;
            let mut matrix = vec![C::default(); unknowns * unknowns];
            let mut right: Vec<C> = (0..unknowns).map(|u| (start[u] - x[u]) * weight).collect();
            for (row, rest) in d.iter().zip(&rest) {
                for u in 0..unknowns {
                    let own = row[u].conj();
                    if own == C::default() {
                        continue;
                    }
                    right[u] += own * rest;
                    let to = &mut matrix[u * unknowns..][..=u];
                    to.iter_mut().zip(row).for_each(|(m, v)| *m += own * v);
                }
            }
            (0..unknowns).for_each(|u| matrix[u * unknowns + u] += weight);
            let step = cholesky(&mut matrix, right);
            x.iter_mut().zip(step).for_each(|(x, h)| *x += h);
            alpha *= reduction;
        }
        let rest: Vec<C> = data.iter().zip(self.samples(&x)).map(|(s, f)| s - f).collect();
        left.push(length(&rest) / length(&data));
        let mut maps: Vec<C> = (0..self.coils).flat_map(|c| self.coil(&x, c)).collect();
        let mean = (maps.iter().map(C::norm_sqr).sum::<f64>() / n as f64).sqrt();
        let mut image = x[..n].to_vec();
        for r in 0..n {
            let own = (0..self.coils).map(|c| maps[c * n + r].norm_sqr()).sum::<f64>().sqrt().max(0.1 * mean);
            (0..self.coils).for_each(|c| maps[c * n + r] /= own);
            image[r] *= own * size;
        }
        ([maps, image], left)
    }
}

/// z, y, x
fn index(k: usize, of: [usize; 3]) -> [usize; 3] {
    [k / of[1] / of[2], k / of[2] % of[1], k % of[2]]
}

/// The solution of a Hermitian system, of which the lower half is given.
fn cholesky(matrix: &mut [C], mut right: Vec<C>) -> Vec<C> {
    let n = right.len();
    for i in 0..n {
        let (before, rest) = matrix.split_at_mut(i * n);
        let own = &mut rest[..n];
        for j in 0..i {
            let of = &before[j * n..][..=j];
            let sum: C = own[..j].iter().zip(of).map(|(a, b)| a * b.conj()).sum();
            own[j] = (own[j] - sum) / of[j].re;
        }
        let sum: f64 = own[..i].iter().map(C::norm_sqr).sum();
        own[i] = (own[i].re - sum).sqrt().into();
        let sum: C = own[..i].iter().zip(&right).map(|(a, b)| a * b).sum();
        right[i] = (right[i] - sum) / own[i].re;
    }
    for i in (0..n).rev() {
        let sum: C = (i + 1..n).map(|j| matrix[j * n + i].conj() * right[j]).sum();
        right[i] = (right[i] - sum) / matrix[i * n + i].re;
    }
    right
}

/// The reference's derivative is that of its samples: they are products of two unknowns, whose central difference is the derivative, to
/// rounding of some thousand terms over a step of 1e-2. Its transpose is made of it.
#[test]
fn the_derivative_is_that_of_the_products() {
    let Some(device) = device() else { return };
    let scan = Scan::new(device, [1, 4, 5], points(30, 2, 1), 2, true);
    let reference = Reference::new(&scan, (20.0, 6.0));
    let count = 20 + 2 * reference.count();
    let (x, h) = (random(count, 2), random(count, 3));
    let moved = |by: f64| reference.samples(&x.iter().zip(&h).map(|(x, h)| x + h * by).collect::<Vec<_>>());
    let difference: Vec<C> = moved(1e-2).iter().zip(moved(-1e-2)).map(|(a, b)| (a - b) / 2e-2).collect();
    let of = |row: &Vec<C>| row.iter().zip(&h).map(|(d, h)| d * h).sum::<C>();
    let derivative: Vec<C> = reference.derivative(&x).iter().map(of).collect();
    assert!(error(&derivative, &difference) < 1e-12, "{:.1e}", error(&derivative, &difference));
}

/// A step is off by what its system is off, times its condition, below 30 here: alpha is 1/8 of the gain at least, and the largest eigenvalue of
/// D^H N D the gain times 3.4, which is (1 + sqrt(voxels / samples))^2 of random samples (Marchenko and Pastur). Systems are off by tolerances of sums: of exact ones 2e-13 and
/// 2e-6, as in the suite, and of products with a field 1e-9; and they are solved to a residual. Four steps add up: 120 of both. What the usual
/// norm leaves out of waves is below rounding.
#[test]
fn it_is_the_method_step_by_step() {
    let Some(device) = device() else { return };
    for (grid, coils, count) in [([1, 7, 6], 3, 60), ([3, 4, 5], 2, 90)] {
        let dims = if grid[0] == 1 { 2 } else { 3 };
        for (double, weighed, field, normal) in
            [(true, false, false, 1), (true, true, false, 2), (false, true, false, 1), (true, true, true, 0)]
        {
            for (scale, order) in [(20.0, 6.0), (220.0, 32.0)] {
                let mut scan = Scan::new(device, grid, points(count, dims, 4), coils, double);
                if weighed {
                    scan.set_weights(random(count, 5).iter().map(|v| 1.5 + v.re).collect());
                }
                if field {
                    let hertz = random(scan.voxels(), 6).iter().map(|v| 40.0 * v.re).collect();
                    scan.set_field(hertz, (0..count).map(|m| 1e-4 * m as f64).collect());
                }
                scan.options(|o| (o.method, o.normal) = (if field { 1 } else { 2 }, normal));
                let data = random(coils * count, 7);
                let weights = scan.weights.clone().unwrap_or(vec![1.0; count]);
                let weighed_data: Vec<C> =
                    data.iter().enumerate().map(|(i, v)| v * weights[i % count].sqrt()).collect();
                let reference = Reference::new(&scan, (scale, order));
                let (expected, left) = reference.solve(&weighed_data, 4, (1.0, 0.5));
                let residual = if double { 1e-12 } else { 1e-6 };
                let o = isoc_mri_maps_options { steps: 4, iterations: 400, residual, scale, order, ..options() };
                let found = find(&scan, &o, &data);
                let tolerance = match (double, field) {
                    (true, false) => 2e-13 + residual,
                    (true, true) => 1e-9,
                    _ => 2e-6 + residual,
                };
                let name =
                    format!("{grid:?}, double {double}, weights {weighed}, field {field}, norm {scale}, {order}");
                let history = scan.history(0);
                for (what, (seen, expected)) in ["maps", "image"].iter().zip(found.iter().zip(&expected)) {
                    let (e, bound) = (error(seen, expected), 120.0 * tolerance);
                    println!("{name}: {what} {e:.1e} of {bound:.1e}");
                    assert!(e <= bound, "{name}: {what} {e:.1e}");
                }
                assert_eq!(history.len(), 5, "{name}");
                // Squares of what is left are a difference of the samples' own, which single precision has to 1e-5.
                history.iter().zip(&left).for_each(|(a, b)| {
                    assert!((a - b).abs() <= 1e-4f64.max(120.0 * tolerance), "{name}: {history:?} {left:?}")
                });
            }
        }
    }
}

/// The phantom, and what is known of it: coils over their length, the object times that length, and where the object is.
struct Known {
    maps: Vec<C>,
    image: Vec<f64>,
    inside: Vec<bool>,
}

impl Known {
    fn new() -> Self {
        let (mut maps, n) = (sensitivities(), N * N);
        let means = |e: &[Ellipse]| voxel_means(e, [N, N]).expect("means");
        let (mut image, inside) = (means(&object()), means(&object()[..1]).iter().map(|v| *v > 0.5).collect());
        for r in 0..n {
            let length = (0..COILS).map(|c| maps[c * n + r].norm_sqr()).sum::<f64>().sqrt();
            (0..COILS).for_each(|c| maps[c * n + r] /= length);
            image[r] *= length;
        }
        Self { maps, image, inside }
    }

    /// Relative error of moduli where the object is.
    fn error(&self, image: &[C]) -> f64 {
        let voxels = || (0..N * N).filter(|r| self.inside[*r]);
        let wrong: f64 = voxels().map(|r| (image[r].norm() - self.image[r]).powi(2)).sum();
        (wrong / voxels().map(|r| self.image[r].powi(2)).sum::<f64>()).sqrt()
    }
}

/// Maps by ESPIRiT from the middle 24 x 24 of k-space, which the scans below do not have.
fn espirit(scan: &Scan) -> Vec<C> {
    let middle = |i: usize, n: usize| (i as f64 - (n / 2) as f64) / N as f64;
    let k: Vec<[f64; 3]> = (0..24 * 24).map(|i| [middle(i % 24, 24), middle(i / 24, 24), 0.0]).collect();
    let data = samples(&k, 0.0);
    let mut maps = vec![C::default(); COILS * N * N];
    let n = N as i64;
    let (from, to) = (tensor(&data, &[COILS as i64, 24, 24]), output(&mut maps, &[COILS as i64, n, n]));
    // SAFETY: valid pointers; NULL options are the defaults.
    ok(unsafe { isoc_coil_maps(scan.ctx, std::ptr::null(), &from, &to, std::ptr::null()) });
    maps
}

/// An image that is reconstructed with these maps is as good as one with the true ones: within 2 % of its error of 48 and 24 spokes of 151, and
/// 12 % of random lines, of which the middle lacks some (measured: below 1 % and 6 %). The error of true maps is what Fourier sums leave at edges, and noise
/// adds. ESPIRiT gets the whole middle besides, and cuts out what is around the object, which is worth 7 % of few spokes: within 12 % of it, too.
#[test]
fn maps_are_as_good_as_the_true_ones() {
    let Some(device) = device() else { return };
    let known = Known::new();
    for (name, k, bound) in [
        ("48 spokes", radial(48), 1.02),
        ("24 spokes", radial(24), 1.02),
        ("random lines", lines(random_lines()), 1.12),
    ] {
        for noise in [0.0, 3e-4] {
            let mut scan = Scan::new(device, [1, N, N], k.clone(), COILS, false);
            scan.options(|o| o.iterations = 40);
            let data = samples(&k, noise);
            let [maps, image] = find(&scan, &options(), &data);
            let calibrated = espirit(&scan);
            let mut with = |maps: &[C]| {
                scan.set_maps(maps.to_vec());
                let image = scan.to_image(isoc_mri_reconstruct, &data);
                forget_maps(&mut scan);
                known.error(&image)
            };
            let [own, truth, calibrated] = [&maps, &known.maps, &calibrated].map(|maps| with(maps));
            let joint = known.error(&image);
            println!(
                "{name}, noise {noise}: {own:.4}, true maps {truth:.4}, ESPIRiT {calibrated:.4}, the image itself {joint:.4}"
            );
            assert!(
                own <= bound * truth,
                "{name}, noise {noise}: {own:.4} with these maps, {truth:.4} with the true ones"
            );
            assert!(
                own <= 1.12 * calibrated,
                "{name}, noise {noise}: {own:.4} with these maps, {calibrated:.4} with ESPIRiT's"
            );
            // The image itself is regularised, too: no worse than a tenth more.
            assert!(joint <= 1.1 * truth, "{name}, noise {noise}: {joint:.4}, {truth:.4} with the true maps");
        }
    }
}

/// Maps have a length of 1 where the object is, and image times maps is what the call explains the samples by: 1 / 500 of them is left of 24 spokes after the default steps
/// (measured: 2.2e-3, of samples without noise), which the history says, to the tolerance of sums and rounding of a difference of squares.
#[test]
fn image_times_maps_explains_the_samples() {
    let Some(device) = device() else { return };
    let k = radial(24);
    let scan = Scan::new(device, [1, N, N], k.clone(), COILS, true);
    let data = samples(&k, 0.0);
    let [maps, image] = find(&scan, &options(), &data);
    let n = N * N;
    let inside = Known::new().inside;
    for r in 0..n {
        let length = (0..COILS).map(|c| maps[c * n + r].norm_sqr()).sum::<f64>();
        // Where the object is; around it maps may be shorter.
        assert!(length < 1.0 + 1e-12 && (!inside[r] || length > 1.0 - 1e-12), "{r}: {length}");
    }
    let seen: Vec<C> = (0..COILS * n).map(|i| maps[i] * image[i % n]).collect();
    let (left, history) = (error(&scan.forward(&seen), &data), scan.history(0));
    assert!(left < 3e-3, "{left}");
    assert!(history.len() == 11 && history[0] == 1.0 && (history[10] - left).abs() < 1e-5, "{left}: {history:?}");
    assert!(history.windows(2).all(|w| w[1] < w[0]), "{history:?}");
}

/// Shots see the image times phases of their own: what the history says is left is what is left of samples through these, by Q and by pairs. Sums are
/// those of 1e-9, and what is left of random samples is most of them.
#[test]
fn shots_are_heeded() {
    let Some(device) = device() else { return };
    for normal in [1, 2] {
        let scan = Scan::new(device, [1, 9, 8], points(200, 2, 51), 3, true);
        scan.options(|o| o.normal = normal);
        let data = random(3 * 200, 52);
        let [plain, _] = find(&scan, &options(), &data);
        let shots: Vec<i64> = (0..200).map(|m| m % 3).collect();
        let phases: Vec<C> = random(3 * 72, 53).iter().map(|v| C::cis(2.0 * v.re)).collect();
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_set_shots(scan.mri, shots.as_ptr(), &tensor(&phases, &[3, 9, 8])) });
        let [maps, image] = find(&scan, &options(), &data);
        assert!(error(&maps, &plain) > 0.1, "phases have a say");
        let seen: Vec<C> = (0..3 * 72).map(|i| maps[i] * image[i % 72]).collect();
        let (left, history) = (error(&scan.forward(&seen), &data), scan.history(0));
        assert!((history[10] - left).abs() < 1e-7, "normal {normal}: {left}, {history:?}");
    }
}

/// A power of two takes no digit away, so that maps are the same bits whatever the unit, and the image as much larger.
#[test]
fn the_unit_of_samples_has_no_say() {
    let Some(device) = device() else { return };
    for double in [false, true] {
        let scan = Scan::new(device, [1, 9, 11], points(150, 2, 11), 3, double);
        let data = random(3 * 150, 12);
        let [maps, image] = find(&scan, &options(), &data);
        for size in [2f64.powi(20), 2f64.powi(-20)] {
            let scaled: Vec<C> = data.iter().map(|v| v * size).collect();
            let [same, larger] = find(&scan, &options(), &scaled);
            assert!(same == maps, "{size:e}, double {double}");
            assert!(larger.iter().zip(&image).all(|(a, b)| *a == b * size), "{size:e}, double {double}");
        }
    }
}

/// The same values for any number of threads.
#[test]
fn threads_have_no_say() {
    let Some(device) = device() else { return };
    let data = random(4 * 300, 22);
    let all = [1, 2, 5].map(|threads| {
        let options_of = isocenter::ffi::context::isoc_context_options { threads, ..on(device) };
        let scan = Scan::with(&options_of, [4, 12, 11], points(300, 3, 21), 4, false);
        find(&scan, &options(), &data)
    });
    assert!(all[0] == all[1] && all[0] == all[2]);
}

/// Values that are no number are an error, and leave arrays alone, or count as 0, as the context says.
#[test]
fn what_is_no_number_is_refused_or_replaced() {
    let Some(device) = device() else { return };
    let mut data = random(3 * 100, 31);
    let make = |nan_policy| {
        let options = isocenter::ffi::context::isoc_context_options { nan_policy, ..on(device) };
        Scan::with(&options, [1, 8, 9], points(100, 2, 32), 3, false)
    };
    data[7] = C::default();
    data[205] = C::default();
    let expected = find(&make(1), &options(), &data);
    data[7].re = f64::NAN;
    data[205].im = f64::INFINITY;
    let scan = make(0);
    let (status, maps, image) = try_find(&scan, &options(), &data);
    assert_eq!(status, Status::NotFiniteData, "{}", said());
    assert!(said().contains("samples"), "{}", said());
    assert!(maps.iter().chain(&image).all(|v| *v == C::new(7.0, 0.0)), "written");
    let scan = make(1);
    assert!(find(&scan, &options(), &data) == expected);
    assert_eq!(scan.info().replaced_values, 2);
}

/// What a message says of options, and what is wrong with them.
type Change = (&'static str, fn(&mut isoc_mri_maps_options));

#[test]
fn what_cannot_be_told_is_an_error() {
    let Some(device) = device() else { return };
    let data = random(3 * 100, 41);
    let refused = |scan: &Scan, data: &[C], o: &isoc_mri_maps_options, status: Status, words: &str| {
        let (seen, maps, image) = try_find(scan, o, data);
        assert_eq!(seen, status, "{words}: {}", said());
        assert!(said().contains(words), "{words}: {}", said());
        assert!(maps.iter().chain(&image).all(|v| *v == C::new(7.0, 0.0)), "{words}: written");
    };
    let mut scan = Scan::new(device, [1, 8, 9], points(100, 2, 42), 3, false);
    let range: [Change; 11] = [
        ("options.steps is -1", |o| o.steps = -1),
        ("options.steps is 1001", |o| o.steps = 1001),
        ("options.iterations is -2", |o| o.iterations = -2),
        ("options.residual is 1", |o| o.residual = 1.0),
        ("options.alpha is -1", |o| o.alpha = -1.0),
        ("options.alpha is 10000000", |o| o.alpha = 1e7),
        ("options.reduction is 1.5", |o| o.reduction = 1.5),
        ("options.scale is -220", |o| o.scale = -220.0),
        ("options.order is 1", |o| o.order = 1.0),
        ("options.order is 201", |o| o.order = 201.0),
        ("options.reserved is 1", |o| o.reserved = 1),
    ];
    for (words, change) in range {
        let mut o = options();
        change(&mut o);
        refused(&scan, &data, &o, Status::OutOfRange, words);
    }
    let not_finite: [Change; 5] = [
        ("options.residual is NaN", |o| o.residual = f64::NAN),
        ("options.alpha is inf", |o| o.alpha = f64::INFINITY),
        ("options.reduction is NaN", |o| o.reduction = f64::NAN),
        ("options.scale is NaN", |o| o.scale = f64::NAN),
        ("options.order is -inf", |o| o.order = f64::NEG_INFINITY),
    ];
    for (words, change) in not_finite {
        let mut o = options();
        change(&mut o);
        refused(&scan, &data, &o, Status::NotFiniteParameter, words);
    }
    refused(&scan, &vec![C::default(); 300], &options(), Status::OutOfRange, "samples are 0");
    let single = Scan::new(device, [1, 8, 9], points(100, 2, 42), 1, false);
    refused(&single, &data[..100], &options(), Status::NotConfigured, "geometry.coils is 1");
    let mut bytes = 0;
    // SAFETY: valid pointers.
    assert_eq!(unsafe { isoc_mri_maps_memory(single.mri, std::ptr::null(), &mut bytes) }, Status::NotConfigured);
    // SAFETY: as above; NULL options are the defaults.
    ok(unsafe { isoc_mri_maps_memory(scan.mri, std::ptr::null(), &mut bytes) });
    assert!(bytes > 0);
    scan.set_maps(random(3 * 72, 43));
    refused(&scan, &data, &options(), Status::NotConfigured, "maps already");
    forget_maps(&mut scan);
    let _ = find(&scan, &options(), &data);
    ok(isoc_mri_set_windows(scan.mri, 50, 25));
    refused(&scan, &data, &options(), Status::NotConfigured, "frames");
    // SAFETY: as above.
    ok(unsafe { isoc_mri_set_frames(scan.mri, 0, std::ptr::null(), std::ptr::null()) });
    let basis = random(100 * 2, 44);
    // SAFETY: as above.
    ok(unsafe { isoc_mri_set_basis(scan.mri, &tensor(&basis, &[100, 2]), std::ptr::null()) });
    refused(&scan, &data, &options(), Status::NotConfigured, "basis");
}

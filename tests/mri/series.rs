//! Images that change while samples are taken, and frames, against sums term by term in f64 and plans of each frame, on the device that the
//! test program names.

use super::device;
use super::scan::*;
use super::sparse::haar;
use isocenter::error::Status;
use isocenter::ffi::mri::*;
use isocenter::ffi::tensor::isoc_tensor;
use std::f64::consts::PI;

const COILS: usize = 2;
const SAMPLES: usize = 240;
/// Rows of a basis.
const TIMES: usize = 9;

/// Twelve spokes of 20 samples, which other kernels take than points anywhere.
fn spokes() -> Vec<[f64; 3]> {
    (0..SAMPLES)
        .map(|m| {
            let (angle, radius) = (PI * (m / 20) as f64 / 12.0, ((m % 20) as f64 - 10.0) / 21.0);
            [radius * angle.cos(), radius * angle.sin(), 0.0]
        })
        .collect()
}

/// A scan with weights, and as it were of one image, for sums term by term.
fn scan(device: u32, grid: [usize; 3], k: Vec<[f64; 3]>, mapped: bool, double: bool) -> Scan {
    let mut scan = Scan::new(device, grid, k, COILS, double);
    scan.set_weights((0..SAMPLES).map(|m| 0.3 + (m % 7) as f64 * 0.3).collect());
    if mapped {
        scan.set_maps(random(COILS * scan.voxels(), 4));
    }
    scan
}

/// `[time][image]`, and the time of each sample.
struct Basis {
    images: usize,
    values: Vec<C>,
    times: Vec<i64>,
}

impl Basis {
    fn new(images: usize, complex: bool) -> Self {
        let values = random(TIMES * images, 9).iter().map(|v| if complex { *v } else { C::new(v.re, 0.0) }).collect();
        Self { images, values, times: (0..SAMPLES).map(|m| ((m / 20 * 5) % TIMES) as i64).collect() }
    }

    fn at(&self, m: usize, k: usize) -> C {
        self.values[self.times[m] as usize * self.images + k]
    }

    fn try_set(&self, scan: &Scan) -> Status {
        let shape = [TIMES as i64, self.images as i64];
        // SAFETY: valid pointers.
        unsafe { isoc_mri_set_basis(scan.mri, &tensor(&self.values, &shape), self.times.as_ptr()) }
    }

    /// F by the model's words, images `[coil][image]`, or `[image]` with maps.
    fn exact_forward(&self, scan: &Scan, images: &[C]) -> Vec<C> {
        let mut samples = vec![C::default(); COILS * SAMPLES];
        for k in 0..self.images {
            let of_one = scan.exact_forward(&self.image(scan, images, k));
            samples.iter_mut().zip(&of_one).enumerate().for_each(|(i, (s, v))| *s += self.at(i % SAMPLES, k) * v);
        }
        samples
    }

    fn exact_adjoint(&self, scan: &Scan, samples: &[C]) -> Vec<C> {
        let (n, problems) = (scan.voxels(), scan.images);
        let mut images = vec![C::default(); problems * self.images * n];
        for k in 0..self.images {
            let seen: Vec<C> = samples.iter().enumerate().map(|(i, s)| self.at(i % SAMPLES, k).conj() * s).collect();
            let of_one = scan.exact_adjoint(&seen);
            for p in 0..problems {
                images[(p * self.images + k) * n..][..n].copy_from_slice(&of_one[p * n..][..n]);
            }
        }
        images
    }

    fn exact_normal(&self, scan: &Scan, images: &[C]) -> Vec<C> {
        let weights = scan.weights.as_ref().expect("weights");
        let mut samples = self.exact_forward(scan, images);
        samples.iter_mut().enumerate().for_each(|(i, s)| *s *= weights[i % SAMPLES]);
        self.exact_adjoint(scan, &samples)
    }

    /// Image k of each problem.
    fn image(&self, scan: &Scan, images: &[C], k: usize) -> Vec<C> {
        let n = scan.voxels();
        (0..scan.images).flat_map(|p| images[(p * self.images + k) * n..][..n].to_vec()).collect()
    }
}

fn run(scan: &Scan, call: Run, from: (&[C], &[i64]), to: &[i64]) -> Vec<C> {
    let mut out = vec![C::new(f64::NAN, 0.0); to.iter().product::<i64>() as usize];
    // SAFETY: valid pointers.
    ok(unsafe { call(scan.mri, &tensor(from.0, from.1), &output(&mut out, to)) });
    out
}

fn images_shape(scan: &Scan, series: usize) -> [i64; 4] {
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    [(scan.images * series) as i64, nz, ny, nx]
}

/// Tolerances of one image's fast sums are the plan's. Those of several images err independently, and samples are sums of them times numbers of
/// size 1: relative to such a sum the error is that of one. Rounding in single precision adds 2e-6, as without a basis.
#[test]
fn sums_of_a_basis_are_those_of_the_model() {
    let Some(device) = device() else { return };
    for (grid, k) in [([1, 12, 15], points(SAMPLES, 2, 1)), ([6, 7, 8], points(SAMPLES, 3, 2)), ([1, 16, 16], spokes())]
    {
        for (double, method, bound) in [(false, 1, 1.2e-5), (true, 1, 1e-9), (true, 2, 1e-13)] {
            for (images, complex) in [(1, true), (3, false), (5, true)] {
                for (mapped, field) in [(false, false), (true, false), (true, true)] {
                    let mut scan = scan(device, grid, k.clone(), mapped, double);
                    scan.options(|o| o.method = method);
                    if field {
                        let hertz = random(scan.voxels(), 5).iter().map(|v| 150.0 * v.re).collect();
                        scan.set_field(hertz, (0..SAMPLES).map(|m| 1e-3 * (m % 20) as f64).collect());
                    }
                    let basis = Basis::new(images, complex);
                    ok(basis.try_set(&scan));
                    let name = format!(
                        "{grid:?}, double {double}, method {method}, {images} images, complex {complex}, maps {mapped}, field {field}"
                    );
                    let (shape, samples_shape) = (images_shape(&scan, images), scan.scan_shape());
                    let x = random(scan.images * images * scan.voxels(), 6);
                    let d = random(COILS * SAMPLES, 7);
                    let forward = run(&scan, isoc_mri_forward, (&x, &shape), &samples_shape);
                    let e = error(&forward, &basis.exact_forward(&scan, &x));
                    assert!(e <= bound, "{name}: forward {e:.1e}");
                    let adjoint = run(&scan, isoc_mri_adjoint, (&d, &samples_shape), &shape);
                    let e = error(&adjoint, &basis.exact_adjoint(&scan, &d));
                    assert!(e <= bound, "{name}: adjoint {e:.1e}");
                    // Transposes of each other to rounding.
                    let (left, right) = (dot(&d, &forward), dot(&adjoint, &x));
                    let size = dot(&forward, &forward).re.sqrt() * dot(&d, &d).re.sqrt();
                    let rounding = if double { 1e-12 } else { 2e-6 };
                    assert!((left - right).norm() <= rounding * size, "{name}: {left} {right}");
                }
            }
        }
    }
}

/// Q of each pair of images errs by the tolerance of the transform that makes it, independently of the others; a pair of transforms by two.
/// Nine images take another kernel on a GPU than eight, and 17 pairs of transforms.
#[test]
fn q_of_a_basis_is_a_matrix_of_convolutions() {
    let Some(device) = device() else { return };
    for grid in [[1, 12, 15], [5, 6, 7], [1, 33, 40]] {
        for (double, tolerance, bound) in [(false, 1e-5, 1.2e-5), (true, 1e-9, 1e-9)] {
            for (images, complex) in [(1, false), (2, true), (5, false), (8, true), (9, true), (17, false)] {
                for mapped in [false, true] {
                    let dims = if grid[0] == 1 { 2 } else { 3 };
                    let scan = scan(device, grid, points(SAMPLES, dims, 3), mapped, double);
                    let basis = Basis::new(images, complex);
                    ok(basis.try_set(&scan));
                    let x = random(scan.images * images * scan.voxels(), 6);
                    let shape = images_shape(&scan, images);
                    let expected = basis.exact_normal(&scan, &x);
                    for normal in [0, 2] {
                        scan.options(|o| (o.normal, o.tolerance) = (normal, tolerance));
                        let seen = run(&scan, isoc_mri_normal, (&x, &shape), &shape);
                        let e = error(&seen, &expected);
                        let name = format!(
                            "{grid:?}, double {double}, {images} images, complex {complex}, maps {mapped}, normal {normal}"
                        );
                        assert!(e <= if normal == 2 { 2.0 * bound } else { bound }, "{name}: {e:.1e}");
                        let terms = if complex { images * images } else { images * (images + 1) / 2 };
                        // Q stays once it is there.
                        let there = if images > 16 && device != PROCESSOR { 0 } else { terms as i64 };
                        assert_eq!(scan.info().normal_terms, there, "{name}");
                    }
                }
            }
        }
    }
}

/// The solution leaves nothing of the system's residual but what the tolerances leave, whatever the penalty.
#[test]
fn images_of_a_basis_solve_their_system() {
    let Some(device) = device() else { return };
    for mapped in [false, true] {
        let scan = scan(device, [1, 9, 8], points(SAMPLES, 2, 3), mapped, true);
        let basis = Basis::new(2, true);
        ok(basis.try_set(&scan));
        let shape = images_shape(&scan, 2);
        let n = scan.voxels();
        let d = basis.exact_forward(&scan, &random(scan.images * 2 * n, 8));
        let weights = scan.weights.as_ref().expect("weights");
        let weighed: Vec<C> = d.iter().enumerate().map(|(i, s)| s * weights[i % SAMPLES]).collect();
        let right = basis.exact_adjoint(&scan, &weighed);
        for penalty in [0, 1] {
            scan.options(|o| (o.penalty, o.lambda, o.iterations, o.residual) = (penalty, 0.5, 400, 1e-11));
            let x = run(&scan, isoc_mri_reconstruct, (&d, &scan.scan_shape()), &shape);
            let mut left = basis.exact_normal(&scan, &x);
            for (image, out) in x.chunks(n).zip(left.chunks_mut(n)) {
                for i in 0..n {
                    let (row, column) = (i / 8, i % 8);
                    out[i] += if penalty == 0 {
                        image[i] * 0.5
                    } else {
                        let neighbours = [
                            (row > 0).then(|| image[i - 8]),
                            (row < 8).then(|| image[i + 8]),
                            (column > 0).then(|| image[i - 1]),
                            (column < 7).then(|| image[i + 1]),
                        ];
                        neighbours.into_iter().flatten().map(|v| (image[i] - v) * 0.5).sum::<C>()
                    };
                }
            }
            // Q's tolerance of 1e-9, times what the inverse makes of it: no more than the condition, below 1e3 here.
            let e = error(&left, &right);
            assert!(e <= 1e-8, "maps {mapped}, penalty {penalty}: {e:.1e}");
        }
        // Penalties that are no squares go image by image: of the objective's terms the data's alone are shared.
        for (penalty, algorithm) in [(3, 2), (3, 3), (4, 2), (4, 3)] {
            let change = |o: &mut isoc_mri_options| {
                (o.penalty, o.algorithm, o.lambda) = (penalty, algorithm, 20.0);
                (o.iterations, o.fixed_grid, o.wavelet, o.levels, o.residual) = (3000, 1, 1, 1, 1e-9);
            };
            scan.options(change);
            let x = run(&scan, isoc_mri_reconstruct, (&d, &scan.scan_shape()), &shape);
            let objective = |x: &[C]| {
                let seen = basis.exact_forward(&scan, x);
                let off = seen.iter().zip(&d).enumerate();
                let data: f64 = off.map(|(i, (s, d))| weights[i % SAMPLES] * (s - d).norm_sqr() / 2.0).sum();
                data + 20.0 * x.chunks(n).map(|image| size(penalty, image)).sum::<f64>()
            };
            let least = objective(&x);
            let told: f64 = (0..scan.images).map(|p| *scan.objective(p as i64).last().expect("objectives")).sum();
            assert!((told / least - 1.0).abs() <= 1e-7, "{mapped} {penalty} {algorithm}: told {told}, is {least}");
            // Nothing near it is less.
            for seed in 20..26 {
                let mut near = x.clone();
                near.iter_mut().zip(random(x.len(), seed)).for_each(|(v, r)| *v += r * 1e-3);
                assert!(objective(&near) > least * (1.0 - 1e-9), "{mapped} {penalty} {algorithm}: less beside it");
            }
        }
    }
}

/// Of an image of (9, 8) voxels, squared: Haar's coefficients of one level, or the length of each voxel's differences.
fn squares(penalty: u32, image: &[C]) -> Vec<f64> {
    if penalty == 3 {
        return haar([1, 9, 8], image).iter().map(|c| c.norm_sqr()).collect();
    }
    let at = |y: usize, x: usize| image[y * 8 + x];
    let of = |y, x| {
        let right = if x < 7 { (at(y, x + 1) - at(y, x)).norm_sqr() } else { 0.0 };
        right + if y < 8 { (at(y + 1, x) - at(y, x)).norm_sqr() } else { 0.0 }
    };
    (0..72).map(|i| of(i / 8, i % 8)).collect()
}

/// The penalty of an image of (9, 8) voxels.
fn size(penalty: u32, image: &[C]) -> f64 {
    squares(penalty, image).into_iter().map(f64::sqrt).sum()
}

/// Frames of any lengths, out of order, some samples in two of them and some in none.
const FIRST: [i64; 3] = [100, 0, 60];
const COUNTS: [i64; 3] = [140, 80, 100];

fn set_frames(scan: &Scan, first: &[i64], counts: &[i64]) -> Status {
    // SAFETY: valid pointers.
    unsafe { isoc_mri_set_frames(scan.mri, first.len() as i64, first.as_ptr(), counts.as_ptr()) }
}

/// The scan of a frame alone.
fn alone(scan: &Scan, device: u32, range: std::ops::Range<usize>, double: bool) -> Scan {
    let mut part = Scan::new(device, scan.grid, scan.k[range.clone()].to_vec(), COILS, double);
    if let Some(weights) = &scan.weights {
        part.set_weights(weights[range.clone()].to_vec());
    }
    if let Some(maps) = &scan.maps {
        part.set_maps(maps.clone());
    }
    if let Some((hertz, seconds)) = &scan.field {
        part.set_field(hertz.clone(), seconds[range].to_vec());
    }
    part
}

fn samples_of(d: &[C], range: &std::ops::Range<usize>) -> Vec<C> {
    d.chunks(SAMPLES).flat_map(|coil| coil[range.clone()].to_vec()).collect()
}

/// The same kernels run in the same order: bits agree on the processor. On a GPU sums by atomic additions come in any order, so that there it
/// is rounding, through twenty iterations.
#[test]
fn frames_are_scans_of_their_own() {
    let Some(device) = device() else { return };
    for (grid, dims) in [([1, 12, 15], 2), ([5, 6, 7], 3)] {
        for (mapped, field) in [(false, false), (true, false), (true, true)] {
            let mut scan = scan(device, grid, points(SAMPLES, dims, 3), mapped, true);
            if field {
                let hertz = random(scan.voxels(), 5).iter().map(|v| 150.0 * v.re).collect();
                scan.set_field(hertz, (0..SAMPLES).map(|m| 1e-3 * (m % 20) as f64).collect());
            }
            ok(set_frames(&scan, &FIRST, &COUNTS));
            let (n, frames) = (scan.images * scan.voxels(), FIRST.len());
            assert_eq!(scan.info().images, (frames * scan.images) as i64);
            let (shape, samples_shape) = (images_shape(&scan, frames), scan.scan_shape());
            let (x, d) = (random(frames * n, 11), random(COILS * SAMPLES, 12));
            for penalty in [1, 4] {
                let change = |o: &mut isoc_mri_options| {
                    (o.penalty, o.lambda, o.iterations, o.warm_start) = (penalty, 0.3, 20, 1);
                };
                scan.options(change);
                let mut solved = x.clone();
                // SAFETY: valid pointers.
                ok(unsafe {
                    isoc_mri_reconstruct(scan.mri, &tensor(&d, &samples_shape), &output(&mut solved, &shape))
                });
                let adjoint = run(&scan, isoc_mri_adjoint, (&d, &samples_shape), &shape);
                let gridding = run(&scan, isoc_mri_gridding, (&d, &samples_shape), &shape);
                let normal = (penalty == 1).then(|| run(&scan, isoc_mri_normal, (&x, &shape), &shape));
                for f in 0..frames {
                    let range = FIRST[f] as usize..(FIRST[f] + COUNTS[f]) as usize;
                    let own = alone(&scan, device, range.clone(), true);
                    own.options(change);
                    let part = samples_of(&d, &range);
                    let mut expected = x[f * n..][..n].to_vec();
                    let (from, to) = (tensor(&part, &own.scan_shape()), output(&mut expected, &own.image_shape()));
                    // SAFETY: valid pointers.
                    ok(unsafe { isoc_mri_reconstruct(own.mri, &from, &to) });
                    let same = |seen: &[C], expected: &[C], what: &str| {
                        let seen = &seen[f * n..][..n];
                        let e = error(seen, expected);
                        let bound = if device == PROCESSOR { 0.0 } else { 1e-9 };
                        assert!(e <= bound, "{grid:?}, maps {mapped}, frame {f}, penalty {penalty}: {what} {e:.1e}");
                    };
                    same(&solved, &expected, "reconstruct");
                    same(&adjoint, &own.to_image(isoc_mri_adjoint, &part), "adjoint");
                    same(&gridding, &own.to_image(isoc_mri_gridding, &part), "gridding");
                    if let Some(normal) = &normal {
                        same(normal, &own.normal(&x[f * n..][..n]), "normal");
                    }
                    let history = scan.history((f * scan.images) as i64);
                    let (a, b) = (history.last().expect("a history"), *own.history(0).last().expect("a history"));
                    assert!((a / b - 1.0).abs() <= if device == PROCESSOR { 0.0 } else { 1e-6 }, "{a:e} {b:e}");
                }
            }
        }
    }
}

/// Samples of frames side by side are those of one image where all frames have the same, and 0 in no frame.
#[test]
fn frames_side_by_side_have_samples() {
    let Some(device) = device() else { return };
    let scan = scan(device, [1, 12, 15], points(SAMPLES, 2, 3), true, true);
    let image = random(scan.voxels(), 13);
    let whole = scan.forward(&image);
    ok(set_frames(&scan, &[120, 0], &[80, 100]));
    let shape = images_shape(&scan, 2);
    let seen = run(&scan, isoc_mri_forward, ([image.clone(), image].concat().as_slice(), &shape), &scan.scan_shape());
    for (i, (s, w)) in seen.iter().zip(&whole).enumerate() {
        let m = i % SAMPLES;
        let there = m < 100 || (120..200).contains(&m);
        // Both within the tolerance of the model, whose samples are about sqrt(180) in size.
        let off = if there { (s - w).norm() } else { s.norm() };
        assert!(off <= if there { 1e-7 } else { 0.0 }, "{m}: {off:.1e}");
    }
}

/// Weights of a frame are those of a plan of its samples, which are about twice as large for half of the spokes.
#[test]
fn frames_have_weights_of_their_own() {
    let Some(device) = device() else { return };
    let mut scan = Scan::new(device, [1, 16, 16], spokes(), COILS, false);
    scan.set_maps(random(COILS * 256, 4));
    ok(isoc_mri_set_windows(scan.mri, 120, 60));
    assert_eq!(scan.info().images, 3);
    for (density, parameter) in [(1, 20), (0, 10)] {
        ok(isoc_mri_compute_weights(scan.mri, density, parameter));
        let d = random(COILS * SAMPLES, 12);
        let seen = run(&scan, isoc_mri_gridding, (&d, &scan.scan_shape()), &images_shape(&scan, 3));
        for f in 0..3 {
            let range = f * 60..f * 60 + 120;
            let own = alone(&scan, device, range.clone(), false);
            ok(isoc_mri_compute_weights(own.mri, density, parameter));
            let expected = own.to_image(isoc_mri_gridding, &samples_of(&d, &range));
            let e = error(&seen[f * 256..][..256], &expected);
            assert!(e <= if device == PROCESSOR { 0.0 } else { 1e-5 }, "density {density}, frame {f}: {e:.1e}");
        }
        let mut weights = vec![0.0; SAMPLES];
        // SAFETY: valid pointers.
        let status = unsafe { isoc_mri_get_weights(scan.mri, &output(&mut weights, &[SAMPLES as i64])) };
        assert_eq!(status, Status::NotConfigured);
        assert!(said().contains("sample 60 is in frame 0 and in frame 1"), "{}", said());
    }
}

/// The sum of singular values of blocks of 3 x 3 voxels by images, of (9, 8) voxels.
fn nuclear(images: &[C], count: usize) -> f64 {
    let mut sum = 0.0;
    for by in 0..3 {
        for bx in 0..3 {
            let columns = if bx == 2 { 2 } else { 3 };
            let block = faer::Mat::from_fn(3 * columns, count, |v, k| {
                images[k * 72 + (3 * by + v / columns) * 8 + 3 * bx + v % columns]
            });
            sum += block.singular_values().expect("singular values").iter().sum::<f64>();
        }
    }
    sum
}

/// What a penalty is of all images of a problem, of (9, 8) voxels.
fn of_all_images(penalty: u32, images: &[C], count: usize) -> f64 {
    match penalty {
        5 => nuclear(images, count),
        // The root of the sum over images of squares that the penalty of one has, place by place.
        _ => {
            let of_each: Vec<Vec<f64>> = images.chunks(72).map(|image| squares(penalty, image)).collect();
            (0..of_each[0].len()).map(|i| of_each.iter().map(|image| image[i]).sum::<f64>().sqrt()).sum()
        }
    }
}

/// Of 2 and 3 images a block has more voxels, of 20 fewer.
#[test]
fn blocks_of_low_rank_make_the_objective_least() {
    images_together_make_the_objective_least(5, &[None, Some(3), Some(20)]);
}

#[test]
fn joint_wavelets_make_the_objective_least() {
    images_together_make_the_objective_least(3, &[None, Some(3)]);
}

#[test]
fn joint_variation_makes_the_objective_least() {
    images_together_make_the_objective_least(4, &[None, Some(3)]);
}

/// Images of a basis (None), and frames, together: what is told is the objective, and nothing near is less; from the told weight on nothing is
/// left; every way gives the same images.
fn images_together_make_the_objective_least(penalty: u32, series: &[Option<usize>]) {
    let Some(device) = device() else { return };
    let k = points(SAMPLES, 2, 3);
    for (mapped, double) in [(true, true), (false, true), (true, false)] {
        for series in series.iter().copied() {
            let scan = scan(device, [1, 9, 8], k.clone(), mapped, double);
            let basis = Basis::new(2, true);
            let images = series.unwrap_or(2);
            let (n, problems) = (scan.voxels(), scan.images);
            let windows = SAMPLES - 10 * (images - 1);
            let ranges: Vec<_> = (0..images).map(|f| f * 10..f * 10 + windows).collect();
            match series {
                None => ok(basis.try_set(&scan)),
                Some(_) => ok(isoc_mri_set_windows(scan.mri, windows as i64, 10)),
            }
            let shape = images_shape(&scan, images);
            let d = random(COILS * SAMPLES, 14);
            let weights = scan.weights.as_ref().expect("weights");
            // Images of a problem; series are frame by frame, those of a basis coil by coil.
            let of = |x: &[C], p: usize| -> Vec<C> {
                let place = |i: usize| if series.is_some() { i * problems + p } else { p * images + i };
                (0..images).flat_map(|i| x[place(i) * n..][..n].to_vec()).collect()
            };
            let data = |x: &[C]| -> f64 {
                let square = |i: usize, s: C, d: C| weights[i % SAMPLES] * (s - d).norm_sqr() / 2.0;
                if series.is_none() {
                    let seen = basis.exact_forward(&scan, x);
                    return seen.iter().zip(&d).enumerate().map(|(i, (s, d))| square(i, *s, *d)).sum();
                }
                let mut sum = 0.0;
                for (f, range) in ranges.iter().enumerate() {
                    let seen = scan.exact_forward(&x[f * problems * n..][..problems * n]);
                    let all = seen.iter().zip(&d).enumerate();
                    sum += all
                        .filter(|(i, _)| range.contains(&(i % SAMPLES)))
                        .map(|(i, (s, d))| square(i, *s, *d))
                        .sum::<f64>();
                }
                sum
            };
            let mut found = Vec::new();
            for (algorithm, normal) in [(2, 1), (3, 1), (2, 2)] {
                let change = |o: &mut isoc_mri_options| {
                    (o.penalty, o.algorithm, o.normal, o.block, o.fixed_grid) = (penalty, algorithm, normal, 3, 1);
                    (o.joint, o.wavelet, o.levels) = (u32::from(penalty != 5), 1, 1);
                    (o.lambda, o.iterations, o.residual) = (30.0, 2000, if double { 1e-9 } else { 1e-6 });
                };
                scan.options(change);
                let x = run(&scan, isoc_mri_reconstruct, (&d, &scan.scan_shape()), &shape);
                let name = format!(
                    "{penalty}, maps {mapped}, double {double}, {series:?}, algorithm {algorithm}, normal {normal}"
                );
                let all = |x: &[C], p| of_all_images(penalty, &of(x, p), images);
                let objective = |x: &[C]| data(x) + 30.0 * (0..problems).map(|p| all(x, p)).sum::<f64>();
                let least = objective(&x);
                let told: f64 = (0..problems).map(|p| *scan.objective(p as i64).last().expect("objectives")).sum();
                // Rounding of sums over samples, and of singular values as roots, relative to the whole; in single precision of transforms, too.
                let bound = if double { 1e-7 } else { 1e-4 };
                assert!((told / least - 1.0).abs() <= bound, "{name}: told {told}, is {least}");
                for p in 0..problems as i64 {
                    let (values, gaps) = (scan.objective(p), scan.gap(p));
                    if penalty == 4 {
                        assert!(gaps.is_empty(), "{name}: {gaps:?}");
                        continue;
                    }
                    assert_eq!(gaps.len(), values.len(), "{name}");
                    let last = values[values.len() - 1];
                    for (value, gap) in values.iter().zip(&gaps) {
                        assert!(value - gap <= last * (1.0 + bound), "{name}: {value} - {gap} is above {last}");
                    }
                    // Steps are 1e-9 (1e-6) of the image at the end, and curvature some 1e3 of lambda's 30 for images of some 10: a dual
                    // is that much shorter.
                    let end = gaps[gaps.len() - 1];
                    assert!(end <= 10.0 * bound * last, "{name}: {end} of {last}");
                }
                for seed in 20..24 {
                    let mut near = x.clone();
                    near.iter_mut()
                        .zip(random(x.len(), seed))
                        .for_each(|(v, r)| *v += r * if double { 1e-3 } else { 0.03 });
                    assert!(objective(&near) > least * (1.0 - 1e-9), "{name}: less beside it");
                }
                let limit = scan.info().lambda_limit;
                assert!(limit > 30.0 || penalty == 4, "{name}: {limit}");
                if algorithm == 2 && penalty != 4 {
                    scan.options(|o| {
                        change(o);
                        o.lambda = 1.001 * limit;
                    });
                    let nothing = run(&scan, isoc_mri_reconstruct, (&d, &scan.scan_shape()), &shape);
                    assert!(nothing.iter().all(|v| *v == C::default()), "{name}: something is left at {limit}");
                }
                found.push((x, least));
            }
            // Where they stop, steps are 1e-9 of the image, and what is left to go some hundred times that. The primal-dual method's objective of
            // total variation falls by one over the iterations: after 2000 images are apart by up to 5e-3, and objectives by its square, times a few.
            let bound = if double { 1e-6 } else { 3e-3 };
            for (k, (x, least)) in found.iter().enumerate().skip(1) {
                let off = (least / found[0].1 - 1.0).abs();
                let (e, bound) = if penalty == 4 { (off, 1e-4f64.max(bound)) } else { (error(x, &found[0].0), bound) };
                assert!(e <= bound, "{penalty}, maps {mapped}, double {double}, {series:?}, way {k}: {e:.1e}");
            }
        }
    }
}

type Attempt<'a> = (Box<dyn Fn(&Scan) -> Status + 'a>, Status, &'a str);

#[test]
fn mistakes_are_named() {
    let Some(device) = device() else { return };
    let scan = scan(device, [1, 12, 15], points(SAMPLES, 2, 3), true, false);
    let basis = |values: Vec<C>, shape: Vec<i64>, times: Option<Vec<i64>>| {
        move |scan: &Scan| {
            let times = times.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
            // SAFETY: valid pointers.
            unsafe { isoc_mri_set_basis(scan.mri, &tensor(&values, &shape), times) }
        }
    };
    let (ones, all) = (vec![C::new(1.0, 0.0); 6], |row: i64| Some(vec![row; SAMPLES]));
    let frames = |first: &'static [i64], counts: &'static [i64]| move |scan: &Scan| set_frames(scan, first, counts);
    let windows = |length, step| move |scan: &Scan| isoc_mri_set_windows(scan.mri, length, step);
    let mut bad = ones.clone();
    bad[4] = C::new(f64::NAN, 0.0);
    let mut silent = ones.clone();
    [1, 3, 5].iter().for_each(|i| silent[*i] = C::default());
    let attempts: Vec<Attempt> = vec![
        (Box::new(basis(ones.clone(), vec![3, 2], None)), Status::TensorShape, "basis has 3 rows, the trajectory 240"),
        (Box::new(basis(ones.clone(), vec![3, 2], all(3))), Status::OutOfRange, "times[0] is 3; it must be 0 to 2"),
        (Box::new(basis(ones.clone(), vec![3, 2], all(-1))), Status::OutOfRange, "times[0] is -1"),
        (Box::new(basis(ones.clone(), vec![6], all(0))), Status::TensorNdim, "basis"),
        (Box::new(basis(bad, vec![3, 2], all(0))), Status::NotFiniteData, "basis[2, 0]"),
        (Box::new(basis(silent, vec![3, 2], all(1))), Status::OutOfRange, "column 1 of basis is 0 at every sample"),
        (Box::new(basis(vec![C::new(1.0, 0.0); 195], vec![3, 65], all(0))), Status::OutOfRange, "1 to 64"),
        (Box::new(frames(&[0, 200], &[10, 41])), Status::OutOfRange, "frame 1 has 41 samples from 200 on"),
        (Box::new(frames(&[-1], &[10])), Status::OutOfRange, "frame 0 has 10 samples from -1 on"),
        (Box::new(frames(&[3], &[0])), Status::OutOfRange, "frame 0 has 0 samples"),
        (Box::new(frames(&[1], &[i64::MAX])), Status::OutOfRange, "frame 0 has"),
        (Box::new(windows(241, 10)), Status::OutOfRange, "longer than the series, of 240 samples"),
        (Box::new(windows(0, 10)), Status::OutOfRange, "length"),
        (Box::new(windows(20, 0)), Status::OutOfRange, "step"),
    ];
    for (k, (attempt, status, words)) in attempts.iter().enumerate() {
        assert_eq!(attempt(&scan), *status, "{k}: {}", said());
        assert!(said().contains(words), "{k}: {}", said());
        // Nothing has changed.
        assert_eq!(scan.info().images, 1, "{k}");
    }
    // Low rank is of a series, and so is what images share.
    let (mut x, d) = (vec![C::default(); scan.voxels()], random(COILS * SAMPLES, 2));
    let to = output(&mut x, &[1, 12, 15]);
    for (penalty, joint, named) in [(5, 0, "options.penalty is 5"), (3, 1, "options.joint"), (4, 1, "options.joint")] {
        scan.options(|o| (o.penalty, o.lambda, o.joint) = (penalty, 1.0, joint));
        // SAFETY: valid pointers.
        let status = unsafe { isoc_mri_reconstruct(scan.mri, &tensor(&d, &scan.scan_shape()), &to) };
        assert_eq!(status, Status::NotConfigured);
        assert!(said().contains(named) && said().contains("isoc_mri_set_basis comes first"), "{}", said());
    }
    scan.options(|_| {});
    // One excludes the other, and neither has one Q.
    let q_of = |scan: &Scan| {
        let mut q = vec![0.0; 24 * 30];
        let shape = [1, scan.info().q_ny, scan.info().q_nx];
        // SAFETY: valid pointers.
        unsafe { isoc_mri_export_q(scan.mri, &output(&mut q, &shape)) }
    };
    let before = scan.to_image(isoc_mri_adjoint, &d);
    ok(Basis::new(2, false).try_set(&scan));
    run(&scan, isoc_mri_adjoint, (&d, &scan.scan_shape()), &images_shape(&scan, 2));
    run(&scan, isoc_mri_reconstruct, (&d, &scan.scan_shape()), &images_shape(&scan, 2));
    assert_eq!(set_frames(&scan, &[0], &[10]), Status::NotConfigured);
    assert_eq!(q_of(&scan), Status::NotConfigured);
    assert!(said().contains("a matrix of convolutions"), "{}", said());
    // SAFETY: valid pointers; NULL forgets it.
    ok(unsafe { isoc_mri_set_basis(scan.mri, std::ptr::null(), std::ptr::null()) });
    // As it was: on a GPU but for the order of additions.
    let e = error(&scan.to_image(isoc_mri_adjoint, &d), &before);
    assert!(e <= if device == PROCESSOR { 0.0 } else { 1e-6 }, "{e:.1e}");
    ok(set_frames(&scan, &[0, 5], &[10, 10]));
    assert_eq!(Basis::new(2, false).try_set(&scan), Status::NotConfigured);
    assert_eq!(q_of(&scan), Status::NotConfigured);
    let (shape, mut out) = (images_shape(&scan, 2), vec![C::default(); COILS * SAMPLES]);
    let x = random(2 * scan.voxels(), 1);
    let to = output(&mut out, &scan.scan_shape());
    // SAFETY: valid pointers.
    assert_eq!(unsafe { isoc_mri_forward(scan.mri, &tensor(&x, &shape), &to) }, Status::NotConfigured);
    assert!(said().contains("sample 5 is in frame 0 and in frame 1"), "{}", said());
    let one = |to: &isoc_tensor| {
        // SAFETY: valid pointers.
        unsafe { isoc_mri_adjoint(scan.mri, &tensor(&out, &scan.scan_shape()), to) }
    };
    let mut image = vec![C::default(); scan.voxels()];
    assert_eq!(one(&output(&mut image, &[1, 12, 15])), Status::TensorShape);
    assert!(said().contains("there are several images"), "{}", said());
    // 0 frames: one scan.
    ok(set_frames(&scan, &[], &[]));
    ok(one(&output(&mut image, &[1, 12, 15])));
}

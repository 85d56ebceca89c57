//! Several sets of coil sensitivities, on the device that the test program names: coils see the sum of an image times its sensitivities for each set.

use super::device;
use super::scan::*;
use super::suite::{solve_dense, spokes};
use isocenter::error::Status;
use isocenter::ffi::mri::*;

const COILS: usize = 3;
const SETS: usize = 2;
const IMAGES: usize = 2;

/// Sets `[set][coil][voxel]`.
pub(super) fn set_maps(scan: &mut Scan, maps: &[C]) {
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    let sets = (maps.len() / scan.coils / scan.voxels()) as i64;
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_set_maps(scan.mri, &tensor(maps, &[sets, scan.coils as i64, nz, ny, nx])) });
    scan.images = sets as usize;
}

/// Columns of a basis, one row a sample.
fn set_basis(scan: &mut Scan, basis: &[C]) {
    let shape = [scan.k.len() as i64, IMAGES as i64];
    // SAFETY: valid pointers; without times there is a row for each sample.
    ok(unsafe { isoc_mri_set_basis(scan.mri, &tensor(basis, &shape), std::ptr::null()) });
    scan.images *= IMAGES;
}

/// The model's words: those of one set, summed. Images `[set][image of a basis]`.
struct Model {
    maps: Vec<C>,
    basis: Option<Vec<C>>,
}

impl Model {
    fn each(&self, scan: &mut Scan, mut work: impl FnMut(&Scan, usize, &dyn Fn(usize) -> C)) {
        let (images, each, of_basis) =
            (scan.images, scan.coils * scan.voxels(), self.basis.as_ref().map_or(1, |_| IMAGES));
        scan.images = 1;
        for (set, maps) in self.maps.chunks(each).enumerate() {
            scan.maps = Some(maps.to_vec());
            for k in 0..of_basis {
                let factor = |m: usize| self.basis.as_ref().map_or(C::new(1.0, 0.0), |b| b[m * IMAGES + k]);
                work(scan, set * of_basis + k, &factor);
            }
        }
        scan.images = images;
    }

    fn forward(&self, scan: &mut Scan, images: &[C]) -> Vec<C> {
        let (voxels, count) = (scan.voxels(), scan.k.len());
        let mut samples = vec![C::default(); scan.coils * count];
        self.each(scan, |scan, k, factor| {
            let seen = scan.exact_forward(&images[k * voxels..][..voxels]);
            samples.iter_mut().zip(seen).enumerate().for_each(|(i, (s, v))| *s += factor(i % count) * v);
        });
        samples
    }

    fn adjoint(&self, scan: &mut Scan, samples: &[C]) -> Vec<C> {
        let (voxels, count) = (scan.voxels(), scan.k.len());
        let mut images = vec![C::default(); scan.images * voxels];
        self.each(scan, |scan, k, factor| {
            let turned: Vec<_> = samples.iter().enumerate().map(|(i, s)| factor(i % count).conj() * s).collect();
            images[k * voxels..][..voxels].copy_from_slice(&scan.exact_adjoint(&turned));
        });
        images
    }
}

fn weigh(scan: &Scan, samples: &mut [C]) {
    let weights = scan.weights.as_ref().expect("weights");
    samples.iter_mut().enumerate().for_each(|(i, s)| *s *= weights[i % weights.len()]);
}

/// Rows of a Cartesian scan.
fn rows() -> Vec<[f64; 3]> {
    (0..240).map(|m| [f64::from(m % 20) / 20.0 - 0.5, f64::from(m / 20) / 12.0 - 0.5, 0.0]).collect()
}

/// Planes of random samples in a stack.
fn planes() -> Vec<[f64; 3]> {
    let plane = points(40, 2, 7);
    (0..6).flat_map(|z| plane.iter().map(move |[x, y, _]| [*x, *y, f64::from(z) / 6.0 - 0.5])).collect()
}

/// Forward and adjoint transforms and F^H W F by Q and by pairs, for samples anywhere, on lines, in planes and on the grid, fast and exact, with a field
/// and with a basis: bounds as for one set.
#[test]
fn operators_are_those_of_the_model() {
    let Some(device) = device() else { return };
    for (grid, k) in [
        ([1, 12, 15], points(200, 2, 1)),
        ([6, 7, 8], points(200, 3, 2)),
        ([1, 16, 16], spokes(2, 12, 20, 0.0)),
        ([6, 7, 8], planes()),
        ([1, 12, 20], rows()),
    ] {
        for (double, method, tolerance) in [(false, 1, 1e-5), (true, 1, 1e-9), (false, 2, 2e-6), (true, 2, 1e-13)] {
            for effect in ["none", "field", "basis"] {
                let name = format!("{grid:?}, {} samples, double {double}, method {method}, {effect}", k.len());
                let mut scan = Scan::new(device, grid, k.clone(), COILS, double);
                scan.set_weights((0..k.len()).map(|m| 0.2 + f64::from(m as u32 % 7) * 0.3).collect());
                let n = scan.voxels();
                let basis = (effect == "basis").then(|| random(k.len() * IMAGES, 3));
                let model = Model { maps: random(SETS * COILS * n, 4), basis };
                set_maps(&mut scan, &model.maps);
                match effect {
                    "field" => {
                        let seconds = (0..k.len()).map(|m| 1e-5 * m as f64).collect();
                        scan.set_field(random(n, 5).iter().map(|v| 200.0 * v.re).collect(), seconds);
                    }
                    "basis" => set_basis(&mut scan, model.basis.as_ref().expect("a basis")),
                    _ => {}
                }
                scan.options(|o| o.method = method);
                let (image, samples) = (random(scan.images * n, 6), random(COILS * k.len(), 7));
                assert_eq!(scan.info().images as usize, scan.images, "{name}");
                // A field's products, and rounding of their sums in single precision, as for one set.
                let tolerance =
                    if effect == "field" { tolerance + if double { 1e-13 } else { 2e-6 } } else { tolerance };
                let (forward, back) = (scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples));
                let e = error(&forward, &model.forward(&mut scan, &image));
                assert!(e <= tolerance, "{name}: forward {e:.1e}");
                let e = error(&back, &model.adjoint(&mut scan, &samples));
                assert!(e <= tolerance, "{name}: adjoint {e:.1e}");
                let mut weighted = model.forward(&mut scan, &image);
                weigh(&scan, &mut weighted);
                let expected = model.adjoint(&mut scan, &weighted);
                for normal in [1, 2] {
                    scan.options(|o| (o.method, o.normal) = (method, normal));
                    let e = error(&scan.normal(&image), &expected);
                    assert!(e <= 5.0 * tolerance, "{name}, normal {normal}: {e:.1e}");
                }
            }
        }
    }
}

/// Each image has the penalty of an image.
#[test]
fn the_solution_is_that_of_the_dense_system() {
    let Some(device) = device() else { return };
    let (grid, lambda) = ([1, 4, 5], 3.0);
    let (n, count) = (20, 160);
    for penalty in [0, 1] {
        for normal in [1, 2] {
            let mut scan = Scan::new(device, grid, points(count, 2, 21), COILS, true);
            scan.set_weights((0..count).map(|m| 0.1 + f64::from(m as u32 % 5)).collect());
            let model = Model { maps: random(SETS * COILS * n, 22), basis: None };
            set_maps(&mut scan, &model.maps);
            scan.options(|o| {
                (o.lambda, o.penalty, o.normal, o.tolerance) = (lambda, penalty, normal, 1e-12);
                (o.iterations, o.residual) = (300, 1e-11);
            });
            let mut a = vec![vec![C::default(); SETS * n]; SETS * n];
            for c in 0..SETS * n {
                let mut unit = vec![C::default(); SETS * n];
                unit[c] = C::new(1.0, 0.0);
                let mut seen = model.forward(&mut scan, &unit);
                weigh(&scan, &mut seen);
                for (row, v) in model.adjoint(&mut scan, &seen).into_iter().enumerate() {
                    a[row][c] += v;
                }
                a[c][c] += if penalty == 0 { lambda } else { 0.0 };
            }
            for image in (0..SETS).filter(|_| penalty == 1) {
                for (i, step, size) in (0..n).flat_map(|i| [(i, 1, 5), (i, 5, 4)]) {
                    if i / step % size + 1 < size {
                        let (i, j) = (image * n + i, image * n + i + step);
                        for (row, column, v) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                            a[row][column] += lambda * v;
                        }
                    }
                }
            }
            let mut samples = random(COILS * count, 23);
            let seen = scan.to_image(isoc_mri_reconstruct, &samples);
            weigh(&scan, &mut samples);
            let expected = solve_dense(a, model.adjoint(&mut scan, &samples));
            // As for one set: residual and transforms, times the condition of the system, below 1e3.
            let e = error(&seen, &expected);
            assert!(e < 1e-8, "penalty {penalty}, normal {normal}: {e:.1e}");
        }
    }
}

/// One set in a dimension of its own is the same as without it, and no sets are left behind.
#[test]
fn one_set_is_one_set() {
    let Some(device) = device() else { return };
    let mut scan = Scan::new(device, [1, 9, 10], points(80, 2, 31), COILS, true);
    let (maps, samples) = (random(COILS * 90, 32), random(COILS * 80, 33));
    set_maps(&mut scan, &random(SETS * COILS * 90, 34));
    scan.set_maps(maps.clone());
    let expected = scan.to_image(isoc_mri_adjoint, &samples);
    set_maps(&mut scan, &maps);
    assert!(scan.to_image(isoc_mri_adjoint, &samples) == expected);
    // SAFETY: NULL forgets them.
    ok(unsafe { isoc_mri_set_maps(scan.mri, std::ptr::null()) });
    assert_eq!(scan.info().images, COILS as i64);
    // Of planes z may be left out.
    let [both, _] = [(); 2].map(|()| random(SETS * COILS * 90, 35));
    // SAFETY: valid pointers.
    ok(unsafe { isoc_mri_set_maps(scan.mri, &tensor(&both, &[SETS as i64, COILS as i64, 9, 10])) });
    assert_eq!(scan.info().images, SETS as i64);
}

#[test]
fn sets_that_do_not_fit_are_refused() {
    let Some(device) = device() else { return };
    let mut scan = Scan::new(device, [1, 9, 10], points(80, 2, 41), COILS, true);
    let maps = random(4 * COILS * 90, 42);
    let attempt = |scan: &Scan, maps: &[C], shape: &[i64]| {
        // SAFETY: valid pointers.
        unsafe { isoc_mri_set_maps(scan.mri, &tensor(maps, shape)) }
    };
    for (shape, status, named) in [
        (vec![4, 3, 1, 9, 10], Status::OutOfRange, "maps have 4 sets for 3 coils"),
        (vec![4, 3, 9, 10], Status::OutOfRange, "maps have 4 sets for 3 coils"),
        (vec![2, 2, 1, 9, 10], Status::TensorShape, "(sets, coils, nz, ny, nx)"),
        (vec![2, 3, 1, 10, 9], Status::TensorShape, "of as many elements"),
        (vec![2, 4, 9, 10], Status::TensorShape, "maps.shape[1] is 4; it must be 1"),
        (vec![1, 2, 3, 1, 9, 10], Status::TensorNdim, "maps.ndim is 6"),
    ] {
        assert_eq!(attempt(&scan, &maps, &shape), status, "{shape:?}: {}", said());
        assert!(said().contains(named), "{shape:?}: {}", said());
    }
    let mut bad = random(SETS * COILS * 90, 43);
    bad[(COILS + 2) * 90 + 37].im = f64::NAN;
    assert_eq!(attempt(&scan, &bad, &[2, 3, 1, 9, 10]), Status::NotFiniteData);
    assert!(said().contains("maps[1][2, 0, 3, 7]"), "{}", said());
    set_maps(&mut scan, &random(SETS * COILS * 90, 44));
    let (samples, mut one) = (random(COILS * 80, 45), vec![C::default(); 90]);
    let (from, to) = (tensor(&samples, &scan.scan_shape()), output(&mut one, &[1, 1, 9, 10]));
    // SAFETY: valid pointers.
    assert_eq!(unsafe { isoc_mri_adjoint(scan.mri, &from, &to) }, Status::TensorShape);
    assert!(said().contains("with 2 sets of maps (isoc_mri_set_maps) there are as many images"), "{}", said());
}

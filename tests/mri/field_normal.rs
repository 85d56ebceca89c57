//! F^H W F with a field, by Q and by pairs of transforms, against sums term by term in f64, on the device that the test program names.

use super::device;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::mri::*;

/// What acts besides grid and trajectory.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// Between the fastest and the slowest voxel.
    hertz: f64,
    /// Of the fastest decay, in 1/s.
    decay: f64,
}

/// Readouts of 20 ms: 300 Hz are 6 turns.
fn readouts(samples: usize) -> Vec<f64> {
    (0..samples).map(|m| 0.02 * (m % 20) as f64 / 20.0).collect()
}

/// A scan with a field that is off the middle, density weights, and if asked for coil sensitivities.
fn scan(device: u32, grid: [usize; 3], samples: usize, field: Field, mapped: bool, double: bool) -> Scan {
    let dims = if grid[0] == 1 { 2 } else { 3 };
    let mut scan = Scan::new(device, grid, points(samples, dims, 1), 2, double);
    let n = scan.voxels();
    let hertz = random(n, 2).iter().map(|v| 0.5 * field.hertz * v.re + 40.0).collect();
    if field.decay > 0.0 {
        let decay = random(n, 3).iter().map(|v| 0.5 * field.decay * (1.0 + v.re)).collect();
        scan.set_decaying_field(hertz, readouts(samples), decay);
    } else {
        scan.set_field(hertz, readouts(samples));
    }
    scan.set_weights((0..samples).map(|m| 0.3 + (m % 7) as f64 * 0.3).collect());
    if mapped {
        scan.set_maps(random(2 * n, 4));
    }
    scan
}

/// F^H W F by the model's words.
fn exact_normal(scan: &Scan, image: &[C]) -> Vec<C> {
    let mut samples = scan.exact_forward(image);
    let count = scan.k.len();
    let weights = scan.weights.as_ref().expect("weights");
    samples.iter_mut().enumerate().for_each(|(m, s)| *s *= weights[m % count]);
    scan.exact_adjoint(&samples)
}

const FIELDS: [Field; 3] =
    [Field { hertz: 300.0, decay: 0.0 }, Field { hertz: 0.0, decay: 60.0 }, Field { hertz: 300.0, decay: 60.0 }];

/// Convolutions are off by 0.7 of the tolerance over all pairs of voxels, the transforms that make their kernels by half of it, independently:
/// 0.9. A random image's product is a sum over pairs of random phase, whose relative error is that of pairs, but for the diagonal, on which all
/// samples add up: the fit is better there, since small differences of rates come about most. Exact sums, and single precision: rounding of
/// two transforms, 1e-6 or 1e-14, times sqrt(30) for some thirty terms, each as large as their sum.
#[test]
fn q_keeps_to_the_tolerance() {
    let Some(device) = device() else { return };
    for grid in [[1, 12, 15], [5, 6, 7]] {
        for field in FIELDS {
            for (double, method, tolerance, bound) in [
                (false, 0, 1e-3, 1e-3),
                (false, 0, 1e-5, 1e-5),
                (true, 0, 1e-4, 1e-4),
                (true, 0, 1e-9, 1e-9),
                (false, 2, 0.0, 6e-6),
                (true, 2, 0.0, 6e-14),
            ] {
                for mapped in [false, true] {
                    let scan = scan(device, grid, 400, field, mapped, double);
                    scan.options(|o| (o.method, o.tolerance, o.normal) = (method, tolerance, 1));
                    let [image, other] = [5, 6].map(|seed| random(scan.images * scan.voxels(), seed));
                    let seen = scan.normal(&image);
                    let name = format!("{grid:?}, {field:?}, double {double}, {method}, {tolerance:e}, maps {mapped}");
                    let info = scan.info();
                    let e = error(&seen, &exact_normal(&scan, &image));
                    println!("{name}: {e:.1e} of {bound:.1e}, {} convolutions", info.normal_terms);
                    assert!(e <= bound, "{name}: {e:.1e}");
                    assert!((3..=60).contains(&info.normal_terms), "{name}: {} convolutions", info.normal_terms);
                    assert!(method == 2 || info.normal_error > 0.0 && info.normal_error <= tolerance, "{name}");
                    // Hermitian, better than it is near to the model: rounding, as without a field, of some thirty terms.
                    let (left, right) = (dot(&other, &seen), dot(&scan.normal(&other), &image));
                    let size = dot(&seen, &seen).re.sqrt() * dot(&other, &other).re.sqrt();
                    let rounding = if double { 1e-12 } else { 4e-6 };
                    assert!((left - right).norm() <= rounding * size, "{name}: {left} {right}");
                }
            }
        }
    }
}

/// Both stop at a residual of 1e-9, of operators that differ by a few tolerances of 1e-9, times the condition of the system: 5 weighted random
/// samples a voxel, below 1e2.
#[test]
fn solutions_by_q_are_those_by_pairs() {
    let Some(device) = device() else { return };
    for (grid, mapped) in [([1, 12, 15], true), ([4, 5, 6], false)] {
        for field in FIELDS {
            let scan = scan(device, grid, 1000, field, mapped, true);
            let truth = random(scan.images * scan.voxels(), 7);
            let samples = scan.exact_forward(&truth);
            let [by_q, by_pairs] = [1, 2].map(|normal| {
                scan.options(|o| (o.normal, o.iterations, o.residual) = (normal, 200, 1e-9));
                scan.to_image(isoc_mri_reconstruct, &samples)
            });
            for (image, of, bound) in [(&by_q, &by_pairs, 1e-6), (&by_q, &truth, 1e-6)] {
                let e = error(image, of);
                assert!(e <= bound, "{grid:?}, {field:?}: {e:.1e}");
            }
        }
    }
}

/// What Q is of may change at any time.
#[test]
fn q_is_forgotten_with_what_it_is_of() {
    let Some(device) = device() else { return };
    let field = FIELDS[2];
    let mut scan = scan(device, [1, 9, 10], 300, field, false, true);
    let image = random(180, 8);
    let options = |scan: &Scan, tolerance| scan.options(|o| (o.normal, o.tolerance) = (1, tolerance));
    options(&scan, 1e-9);
    let check = |scan: &Scan, bound: f64, what: &str| {
        let e = error(&scan.normal(&image), &exact_normal(scan, &image));
        assert!(e <= bound, "{what}: {e:.1e}");
        assert_eq!(scan.info().has_q, 1, "{what}");
        e
    };
    assert_eq!((scan.info().has_q, scan.info().normal_terms), (0, 0));
    ok(isoc_mri_compute_q(scan.mri));
    let terms = scan.info().normal_terms;
    assert!(scan.info().has_q == 1 && terms > 3, "{terms}");
    check(&scan, 1e-9, "as set up");
    scan.set_weights((0..300).map(|m| f64::from(1 + m % 2)).collect());
    assert_eq!((scan.info().has_q, scan.info().normal_terms), (0, 0), "other weights");
    check(&scan, 1e-9, "other weights");
    let hertz = random(90, 9).iter().map(|v| 80.0 * v.re).collect();
    scan.set_field(hertz, readouts(300));
    scan.decay = None;
    assert_eq!(scan.info().has_q, 0, "another field");
    check(&scan, 1e-9, "another field");
    options(&scan, 1e-3);
    assert_eq!(scan.info().has_q, 0, "another tolerance");
    let e = check(&scan, 1e-3, "another tolerance");
    assert!(e > 1e-8 && scan.info().normal_terms < terms, "the tolerance does nothing: {e:.1e}");
    // SAFETY: a valid pointer.
    ok(unsafe { isoc_mri_set_field(scan.mri, std::ptr::null(), std::ptr::null(), std::ptr::null()) });
    scan.field = None;
    assert_eq!(scan.info().has_q, 0, "no field");
    // By one convolution, to its transform's tolerance.
    check(&scan, 5e-3, "no field");
    assert_eq!(scan.info().normal_terms, 0);
}

/// Voxels that are nowhere near a grid, and fields of more than 128 turns, are for pairs of transforms.
#[test]
fn what_is_no_convolution_goes_by_pairs() {
    let Some(device) = device() else { return };
    let image = random(30, 11);
    for (placed, turns, status, words) in [
        (true, 6.0, Status::NotConfigured, ["voxel positions", "options.normal"]),
        (false, 140.0, Status::OutOfRange, ["turns 140 times", "options.normal"]),
    ] {
        let mut scan = Scan::new(device, [1, 5, 6], points(100, 2, 10), 1, true);
        let hertz = (0..30).map(|r| turns / 0.02 * f64::from(r) / 29.0).collect();
        scan.set_field(hertz, (0..100).map(|m| 0.02 * f64::from(m) / 99.0).collect());
        scan.set_weights(vec![1.0; 100]);
        if placed {
            scan.set_positions(random(60, 12).iter().map(|v| 3.0 * v.re).collect());
        }
        // Two exact sums.
        scan.options(|o| o.method = 2);
        let e = error(&scan.normal(&image), &exact_normal(&scan, &image));
        assert!(e <= 2e-13, "{words:?}: {e:.1e}");
        assert_eq!((scan.info().has_q, scan.info().normal_terms), (0, 0));
        assert_eq!(isoc_mri_compute_q(scan.mri), status);
        let told = said();
        assert!(words.iter().all(|w| told.contains(w)), "{told}");
        scan.options(|o| (o.method, o.normal) = (2, 1));
        let mut out = vec![C::default(); 30];
        let (from, to) = (tensor(&image, &scan.image_shape()), output(&mut out, &scan.image_shape()));
        // SAFETY: valid pointers.
        assert_eq!(unsafe { isoc_mri_normal(scan.mri, &from, &to) }, status);
        assert!(words.iter().all(|w| said().contains(w)), "{}", said());
        assert!(out.iter().all(|v| *v == C::default()), "nothing is written");
    }
}

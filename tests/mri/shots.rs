//! Shots of one image, each of which sees it times factors of its own, on the device that the test program names.

use super::device;
use super::scan::*;
use super::suite::{solve_dense, spokes};
use isocenter::error::Status;
use isocenter::ffi::mri::*;

const COILS: usize = 3;
const SHOTS: usize = 3;

/// The shot of each sample: some follow each other, and are not as many.
fn shots(samples: usize) -> Vec<i64> {
    (0..samples as i64).map(|m| (m / 7 + m / 50) % SHOTS as i64).collect()
}

pub(super) fn set_shots(scan: &Scan, shots: &[i64], phases: &[C], count: usize) -> Status {
    let [nz, ny, nx] = scan.grid.map(|n| n as i64);
    // SAFETY: valid pointers, and as many shots as samples.
    unsafe { isoc_mri_set_shots(scan.mri, shots.as_ptr(), &tensor(phases, &[count as i64, nz, ny, nx])) }
}

/// The model's words: a shot's samples of the image times its factors.
fn exact_forward(scan: &Scan, (shots, phases): (&[i64], &[C]), images: &[C]) -> Vec<C> {
    let (n, count) = (scan.voxels(), scan.k.len());
    let mut samples = vec![C::default(); scan.coils * count];
    for (shot, phases) in phases.chunks(n).enumerate() {
        let seen: Vec<C> = images.iter().enumerate().map(|(i, v)| phases[i % n] * v).collect();
        let of_shot = scan.exact_forward(&seen);
        let own = |i: &usize| shots[i % count] == shot as i64;
        (0..samples.len()).filter(own).for_each(|i| samples[i] = of_shot[i]);
    }
    samples
}

fn exact_adjoint(scan: &Scan, (shots, phases): (&[i64], &[C]), samples: &[C]) -> Vec<C> {
    let (n, count) = (scan.voxels(), scan.k.len());
    let mut images = vec![C::default(); scan.images * n];
    for (shot, phases) in phases.chunks(n).enumerate() {
        let own = |i: usize| if shots[i % count] == shot as i64 { samples[i] } else { C::default() };
        let seen = scan.exact_adjoint(&(0..samples.len()).map(own).collect::<Vec<_>>());
        images.iter_mut().zip(seen).enumerate().for_each(|(i, (image, v))| *image += phases[i % n].conj() * v);
    }
    images
}

fn weigh(scan: &Scan, samples: &mut [C]) {
    let weights = scan.weights.as_ref().expect("weights");
    samples.iter_mut().enumerate().for_each(|(i, s)| *s *= weights[i % weights.len()]);
}

/// Forward and adjoint transforms and F^H W F by Q and by pairs, with sensitivities and without, and with a field: bounds as for one shot.
#[test]
fn operators_are_those_of_the_model() {
    let Some(device) = device() else { return };
    for (grid, k) in
        [([1, 12, 15], points(200, 2, 1)), ([6, 7, 8], points(200, 3, 2)), ([1, 16, 16], spokes(2, 12, 20, 0.0))]
    {
        for (double, method, tolerance) in [(false, 1, 1e-5), (true, 1, 1e-9), (false, 2, 2e-6), (true, 2, 1e-13)] {
            for (maps, field) in [(false, false), (true, false), (true, true)] {
                let name = format!("{grid:?}, double {double}, method {method}, maps {maps}, field {field}");
                let mut scan = Scan::new(device, grid, k.clone(), COILS, double);
                scan.set_weights((0..k.len()).map(|m| 0.2 + f64::from(m as u32 % 7) * 0.3).collect());
                let n = scan.voxels();
                let (shots, phases) = (shots(k.len()), random(SHOTS * n, 4));
                if maps {
                    scan.set_maps(random(COILS * n, 5));
                }
                if field {
                    let seconds = (0..k.len()).map(|m| 1e-5 * m as f64).collect();
                    scan.set_field(random(n, 6).iter().map(|v| 200.0 * v.re).collect(), seconds);
                }
                ok(set_shots(&scan, &shots, &phases, SHOTS));
                scan.options(|o| o.method = method);
                assert_eq!(scan.info().images as usize, scan.images, "{name}");
                let of = (&*shots, &*phases);
                let (image, samples) = (random(scan.images * n, 7), random(COILS * k.len(), 8));
                // A field's products, and rounding of their sums in single precision, as for one shot.
                let tolerance = if field { tolerance + if double { 1e-13 } else { 2e-6 } } else { tolerance };
                let e = error(&scan.forward(&image), &exact_forward(&scan, of, &image));
                assert!(e <= tolerance, "{name}: forward {e:.1e}");
                let e = error(&scan.to_image(isoc_mri_adjoint, &samples), &exact_adjoint(&scan, of, &samples));
                assert!(e <= tolerance, "{name}: adjoint {e:.1e}");
                let mut weighted = exact_forward(&scan, of, &image);
                weigh(&scan, &mut weighted);
                let expected = exact_adjoint(&scan, of, &weighted);
                // A field with a basis, which shots are within, has no Q.
                for normal in if field { 2..3 } else { 1..3 } {
                    scan.options(|o| (o.method, o.normal) = (method, normal));
                    let e = error(&scan.normal(&image), &expected);
                    assert!(e <= 5.0 * tolerance, "{name}, normal {normal}: {e:.1e}");
                }
            }
        }
    }
}

#[test]
fn the_solution_is_that_of_the_dense_system() {
    let Some(device) = device() else { return };
    let (grid, lambda, n, count) = ([1, 4, 5], 3.0, 20, 160);
    for normal in [1, 2] {
        let mut scan = Scan::new(device, grid, points(count, 2, 21), COILS, true);
        scan.set_weights((0..count).map(|m| 0.1 + f64::from(m as u32 % 5)).collect());
        scan.set_maps(random(COILS * n, 22));
        let (shots, phases) = (shots(count), random(SHOTS * n, 23));
        ok(set_shots(&scan, &shots, &phases, SHOTS));
        scan.options(|o| {
            (o.lambda, o.normal, o.tolerance) = (lambda, normal, 1e-12);
            (o.iterations, o.residual) = (300, 1e-11);
        });
        let of = (&*shots, &*phases);
        let mut a = vec![vec![C::default(); n]; n];
        for c in 0..n {
            let mut unit = vec![C::default(); n];
            unit[c] = C::new(1.0, 0.0);
            let mut seen = exact_forward(&scan, of, &unit);
            weigh(&scan, &mut seen);
            for (row, v) in exact_adjoint(&scan, of, &seen).into_iter().enumerate() {
                a[row][c] += v;
            }
            a[c][c] += lambda;
        }
        let mut samples = random(COILS * count, 24);
        let seen = scan.to_image(isoc_mri_reconstruct, &samples);
        weigh(&scan, &mut samples);
        // As in the suite: residual and transforms, times the condition of the system, below 1e3.
        let e = error(&seen, &solve_dense(a, exact_adjoint(&scan, of, &samples)));
        assert!(e < 1e-8, "normal {normal}: {e:.1e}");
    }
}

#[test]
fn shots_are_forgotten_and_exclude_series() {
    let Some(device) = device() else { return };
    let mut scan = Scan::new(device, [1, 9, 10], points(80, 2, 31), COILS, true);
    scan.set_maps(random(COILS * 90, 32));
    let (image, phases) = (random(90, 33), random(SHOTS * 90, 34));
    let expected = scan.forward(&image);
    ok(set_shots(&scan, &shots(80), &phases, SHOTS));
    assert!(scan.forward(&image) != expected);
    // SAFETY: valid pointers.
    unsafe {
        let basis = tensor(&phases, &[80, 1]);
        assert_eq!(isoc_mri_set_basis(scan.mri, &basis, std::ptr::null()), Status::NotConfigured);
        assert!(said().contains("shots (isoc_mri_set_shots) and a basis"), "{}", said());
        assert_eq!(isoc_mri_set_windows(scan.mri, 40, 40), Status::NotConfigured);
        let info = scan.info();
        let mut q = vec![0.0; (info.q_ny * info.q_nx) as usize];
        assert_eq!(isoc_mri_export_q(scan.mri, &output(&mut q, &[1, info.q_ny, info.q_nx])), Status::NotConfigured);
        assert!(said().contains("with shots (isoc_mri_set_shots)"), "{}", said());
        ok(isoc_mri_set_shots(scan.mri, std::ptr::null(), std::ptr::null()));
    }
    assert!(scan.forward(&image) == expected);
    let mut bad = phases.clone();
    bad[100].re = f64::INFINITY;
    assert_eq!(set_shots(&scan, &shots(80), &bad, SHOTS), Status::NotFiniteData);
    assert!(said().contains("phases[1, 0, 1, 0]"), "{}", said());
    assert_eq!(set_shots(&scan, &shots(80), &phases, 2), Status::OutOfRange);
    assert!(said().contains("it must be 0 to 1, a shot that phases has"), "{}", said());
    assert!(scan.forward(&image) == expected, "the plan is as it was");
}

//! Spokes through the middle, of one coil and of many side by side, on the device that the test program names.

use super::device;
use super::scan::*;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;

/// Of plans in single precision whose options leave it alone.
const TOLERANCE: f64 = 1e-5;

/// Spokes in golden angles, their sample `centre` at the origin, the farthest at 0.5.
fn spokes(count: usize, readout: usize, centre: f64) -> Vec<[f64; 3]> {
    let farthest = centre.max((readout - 1) as f64 - centre);
    let spoke = |s: usize| {
        let (sin, cos) = (2.399_963 * s as f64).sin_cos();
        (0..readout).map(move |r| 0.5 * (r as f64 - centre) / farthest).map(move |k| [k * cos, k * sin, 0.0])
    };
    (0..count).flat_map(spoke).collect()
}

/// Each coil's part of all, and the worst of them; terms are random, so that none cancel.
fn worst(seen: &[C], expected: &[C], parts: usize) -> f64 {
    let part = seen.len() / parts;
    seen.chunks(part).zip(expected.chunks(part)).map(|(a, b)| error(a, b)).fold(0.0, f64::max)
}

/// Against sums in f64, each other's adjoint, and the same bits again. Fast sums are each other's adjoint but for rounding, so within the
/// tolerance.
#[test]
fn coils_of_every_number_keep_the_tolerance() {
    let Some(device) = device() else { return };
    // One end missing, both ends, the origin between two samples.
    for (grid, readout, centre) in [([1, 20, 18], 24, 12.0), ([1, 17, 21], 25, 12.0), ([1, 18, 21], 24, 11.5)] {
        for (coils, maps) in [1, 2, 3, 8, 33, 70].into_iter().flat_map(|n| [(n, false), (n, true)]) {
            let mut scan = Scan::new(device, grid, spokes(30, readout, centre), coils, false);
            if maps {
                scan.set_maps(random(coils * scan.voxels(), 1));
            }
            scan.options(|o| o.method = 1);
            let (image, samples) = (random(scan.images * scan.voxels(), 2), random(coils * scan.k.len(), 3));
            let case = format!("{grid:?}, {readout} samples about {centre}, {coils} coils, maps {maps}");
            let run = || (scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples));
            let (forward, adjoint) = run();
            let again = run();
            assert!((&forward, &adjoint) == (&again.0, &again.1), "{case}: other bits");
            let errors = [
                worst(&forward, &scan.exact_forward(&image), coils),
                worst(&adjoint, &scan.exact_adjoint(&samples), scan.images),
            ];
            println!("{case}: {:.1e} {:.1e}", errors[0], errors[1]);
            assert!(errors.iter().all(|e| *e <= TOLERANCE), "{case}: {errors:?}");
            let norm = |v: &[C]| v.iter().map(C::norm_sqr).sum::<f64>().sqrt();
            let apart = (dot(&forward, &samples) - dot(&image, &adjoint)).norm() / (norm(&forward) * norm(&samples));
            assert!(apart <= TOLERANCE, "{case}: {apart:.1e} from adjoint");
        }
    }
}

/// Many coils side by side, and the same with one sample that is off its spoke, which takes sorted points: each side is off by its
/// tolerance, and F^H F by 5 tolerances, as in the suite.
#[test]
fn spokes_and_other_points_agree() {
    let Some(device) = device() else { return };
    let (grid, coils) = ([1, 48, 48], 52);
    let k = spokes(120, 96, 48.0);
    let (image, samples) = (random(48 * 48, 5), random(coils * k.len(), 6));
    let run = |off: f64| {
        let mut k = k.clone();
        k[1000][0] += off;
        let mut scan = Scan::new(device, grid, k, coils, false);
        scan.set_maps(random(coils * 48 * 48, 4));
        scan.options(|o| (o.method, o.normal) = (1, 2));
        [scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples), scan.normal(&image)]
    };
    // Of 11,520 samples one has phases that are off by up to 2 pi 1e-5 24, 1.5e-3: 1.4e-5 of all in l2, twice that there and back.
    let allowed = [2.0, 2.0, 10.0].map(|times| times * TOLERANCE + 2.0 * 1.4e-5);
    for ((seen, expected), allowed) in run(0.0).iter().zip(&run(1e-5)).zip(allowed) {
        let e = error(seen, expected);
        println!("{e:.1e} of {allowed:.1e}");
        assert!(e <= allowed && e > 0.0, "{e:.2e}");
    }
}

/// Of the processor; a GPU's kernels have one number of them anyway.
#[test]
fn threads_change_no_bits() {
    let Some(device) = device() else { return };
    for coils in [2, 5, 8, 11] {
        let run = |threads| {
            let options = isoc_context_options { threads, ..on(device) };
            let mut scan = Scan::with(&options, [1, 70, 66], spokes(90, 64, 32.0), coils, false);
            scan.set_maps(random(coils * scan.voxels(), 1));
            scan.options(|o| o.method = 1);
            let (image, samples) = (random(scan.voxels(), 2), random(coils * scan.k.len(), 3));
            (scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples))
        };
        assert!(run(1) == run(3), "{coils} coils");
    }
}

/// Under a cap below what eight coils side by side take there are fewer, with the same bits: the fine grids of 8 coils are 0.8 MB.
#[test]
fn a_cap_takes_fewer_coils_at_a_time() {
    let Some(device) = device() else { return };
    let run = |memory_cap| {
        let options = isoc_context_options { memory_cap, ..on(device) };
        let scan = Scan::with(&options, [1, 90, 90], spokes(60, 64, 32.0), 8, false);
        scan.options(|o| o.method = 1);
        let (image, samples) = (random(scan.images * scan.voxels(), 2), random(8 * scan.k.len(), 3));
        let mut bytes = 0;
        // SAFETY: a plan, and room for a number.
        ok(unsafe { isoc_mri_memory(scan.mri, &mut bytes) });
        (bytes, [scan.forward(&image), scan.to_image(isoc_mri_adjoint, &samples)])
    };
    let (bytes, expected) = run(0);
    for less in [1, 500_000] {
        assert!(run(bytes - less).1 == expected, "{less} bytes less than {bytes}");
    }
}

//! Fast sums with a measured field map against sums term by term.

use super::device;
use super::scan::*;
use super::warnings::measured;
use isocenter::ffi::mri::isoc_mri_adjoint;
use std::f64::consts::TAU;
use std::path::Path;

/// 324 Hz over 92 ms, a spiral of 184,660 samples, 512 x 512 voxels: 30 turns. Of the samples of random images, which are alike, some hundreds
/// are looked at, and the root of the mean square of their errors is that of all to a tenth or so.
#[test]
fn a_measured_field_is_within_the_tolerance() {
    let Some(device) = device() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/mri/fieldmap512_spiral");
    let read = |name: &str| measured(&folder.join(name));
    let (Some(k), Some(field), Some(times)) = (read("trajectory.npy"), read("field.npy"), read("times.npy")) else {
        println!("skipped: there is no {}", folder.display());
        return;
    };
    let points: Vec<[f64; 3]> = k.chunks_exact(2).map(|k| [k[0] / 512.0, k[1] / 512.0, 0.0]).collect();
    // The map is in radians a second.
    let hertz: Vec<f64> = field.iter().map(|f| f / TAU).collect();
    for tolerance in [1e-3, 1e-5] {
        let mut scan = Scan::new(device, [1, 512, 512], points.clone(), 1, true);
        scan.options(|o| o.tolerance = tolerance);
        scan.set_field(hertz.clone(), times.clone());
        let image = random(512 * 512, 1);
        let samples = scan.forward(&image);
        let (mut wrong, mut power) = (0.0, 0.0);
        for m in (0..samples.len()).step_by(701) {
            let exact: C = (0..image.len()).map(|r| scan.element(0, m, r) * image[r]).sum();
            wrong += (samples[m] - exact).norm_sqr();
            power += exact.norm_sqr();
        }
        let e = (wrong / power).sqrt();
        assert!(e <= 1.2 * tolerance, "{tolerance:e}: {e:.1e}");
        let info = scan.info();
        assert!((30..=50).contains(&info.field_terms), "{} terms", info.field_terms);
        // And back.
        let other = random(samples.len(), 2);
        let back = scan.to_image(isoc_mri_adjoint, &other);
        let size = dot(&samples, &samples).re.sqrt() * dot(&other, &other).re.sqrt();
        let difference = dot(&other, &samples) - dot(&back, &image);
        // Rounding of inner products of 2e5 and 3e5 numbers of f64.
        assert!(difference.norm() <= 1e-11 * size, "{difference}");
    }
}

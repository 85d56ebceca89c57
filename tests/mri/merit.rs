//! PSNR and percent error of images for which both are plain.

use isocenter::error::Status;
use isocenter::mri::merit::{percent_error, psnr};
use rustfft::num_complex::Complex;

fn close(seen: f64, expected: f64) {
    assert!((seen - expected).abs() < 1e-12 * expected.abs(), "{seen}, not {expected}");
}

#[test]
fn a_constant_error_gives_its_own_ratio() {
    // Peak 4, error 0.04 everywhere: 20 log10(100). The truth's mean square is (16 + 1 + 4 + 0) / 4.
    let truth = [4.0, -1.0, 2.0, 0.0].map(|v| Complex::new(v, 0.0));
    let image = truth.map(|v| v + Complex::new(0.0, 0.04));
    close(psnr(&image, &truth).expect("a measure"), 40.0);
    close(percent_error(&image, &truth).expect("a measure"), 4.0 / 5.25f64.sqrt());
}

#[test]
fn one_wrong_voxel_is_averaged_over_all() {
    // |3 + 4i| = 5 is the peak; an error of modulus 1 in one of 25 voxels: root of the mean square 0.2, 20 log10(25).
    let truth = [Complex::new(3.0f32, 4.0); 25];
    let mut image = truth;
    image[7] += Complex::new(0.0, 1.0);
    close(psnr(&image, &truth).expect("a measure"), 20.0 * 25.0f64.log10());
    close(percent_error(&image, &truth).expect("a measure"), 4.0);
}

#[test]
fn a_turned_phase_is_an_error() {
    let truth = [Complex::new(1.0, 0.0); 3];
    let image = [Complex::new(0.0, 1.0); 3];
    close(psnr(&image, &truth).expect("a measure"), -10.0 * 2.0f64.log10());
    close(percent_error(&image, &truth).expect("a measure"), 100.0 * 2.0f64.sqrt());
}

#[test]
fn equal_images_have_no_error() {
    let truth = [Complex::new(1.0, -2.0); 3];
    assert_eq!(psnr(&truth, &truth).expect("a measure"), f64::INFINITY);
    assert_eq!(percent_error(&truth, &truth).expect("a measure"), 0.0);
}

#[test]
fn what_has_no_measure_is_refused() {
    let (zeros, ones) = ([Complex::default(); 2], [Complex::new(1.0f32, 0.0); 2]);
    for measure in [psnr, percent_error] {
        let status = |image: &[_], truth: &[_]| measure(image, truth).expect_err("a refusal").status;
        assert_eq!(status(&ones, &ones[..1]), Status::TensorShape);
        assert_eq!(status(&ones, &zeros), Status::OutOfRange);
        assert_eq!(status(&[], &[]), Status::OutOfRange);
    }
}

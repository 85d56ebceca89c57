//! Figures of merit of an image, from its distance to the true one: the two of Kirk and Hwu, "Programming Massively Parallel Processors",
//! chapter 11 (figure 11.18 and section 11.4). Complex images differ by the modulus of their difference, phase included.

use isocenter_base::error::{Result, fail};
use rustfft::num_complex::Complex;

/// Peak signal-to-noise ratio in dB: 20 log10(max |truth| / root of the mean of |image - truth|^2); infinite if they agree.
pub fn psnr<T: Copy + Into<f64>>(image: &[Complex<T>], truth: &[Complex<T>]) -> Result<f64> {
    let error = mean_square_error(image, truth)?;
    let peak = truth.iter().map(|t| square(wide(t))).fold(0.0, f64::max);
    Ok(10.0 * (peak / error).log10())
}

/// Root mean square of the error over that of the truth, in percent.
pub fn percent_error<T: Copy + Into<f64>>(image: &[Complex<T>], truth: &[Complex<T>]) -> Result<f64> {
    let error = mean_square_error(image, truth)?;
    let power = truth.iter().map(|t| square(wide(t))).sum::<f64>() / truth.len() as f64;
    Ok(100.0 * (error / power).sqrt())
}

/// Refuses what has no measure: images of different sizes, a truth that is 0 everywhere.
fn mean_square_error<T: Copy + Into<f64>>(image: &[Complex<T>], truth: &[Complex<T>]) -> Result<f64> {
    if image.len() != truth.len() {
        fail!(TensorShape, "the image has {} voxels, the truth {}; they must be the same", image.len(), truth.len());
    }
    if truth.iter().all(|t| square(wide(t)) == 0.0) {
        fail!(OutOfRange, "the true image is 0 in all of its {} voxels; at least one must differ", truth.len());
    }
    let sum: f64 = image.iter().zip(truth).map(|(i, t)| square(wide(i) - wide(t))).sum();
    Ok(sum / truth.len() as f64)
}

fn wide<T: Copy + Into<f64>>(value: &Complex<T>) -> Complex<f64> {
    Complex::new(value.re.into(), value.im.into())
}

fn square(value: Complex<f64>) -> f64 {
    value.norm_sqr()
}

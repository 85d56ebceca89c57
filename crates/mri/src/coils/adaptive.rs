//! Adaptive combination: D. O. Walsh, A. F. Gmitro, M. W. Marcellin, "Adaptive reconstruction of phased array MR imagery", Magn. Reson.
//! Med. 43:682-690, 2000.
//!
//! At each voxel the coils' covariance over a block of neighbours, in the images of the calibration data; sensitivities are its strongest
//! eigenvector. The covariance's Fourier coefficients are correlations of the data, times the transform of the block.

use super::correlation::correlations;
use super::lags::Lags;
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;
use std::f64::consts::PI;

/// Hann's window over an axis of k-space, 1 at frequency 0: the data end at some frequency, and images would ring.
fn taper(n: usize) -> Result<Vec<f64>> {
    let middle = (n / 2) as f64;
    collected((0..n).map(|j| (PI * (j as f64 - middle) / (n as f64 + 1.0)).cos().powi(2)))
}

/// Voxels of a block along an axis of `n`: as asked for, an odd number, where there are so many.
fn side(window: usize, n: usize) -> usize {
    window.min(n - (1 - n % 2))
}

/// Transform of a block of voxels at distances -reach to reach, 1 at 0.
fn block(window: usize, n: usize, reach: usize) -> Result<Vec<f64>> {
    let (reach, width) = (reach as i64, side(window, n) as f64);
    collected((-reach..=reach).map(|lag| {
        let angle = PI * lag as f64 / n as f64;
        if lag % n as i64 == 0 { 1.0 } else { (width * angle).sin() / (width * angle.sin()) }
    }))
}

/// Coefficients of the covariances on a grid, their mean trace 1.
pub(super) fn covariance_lags(
    data: &[Complex<f64>],
    (coils, shape): (usize, [usize; 3]),
    grid: [usize; 3],
    window: usize,
    job: &Job,
) -> Result<Lags> {
    let tapers = [taper(shape[0])?, taper(shape[1])?, taper(shape[2])?];
    let blocks = [
        block(window, grid[0], shape[0] - 1)?,
        block(window, grid[1], shape[1] - 1)?,
        block(window, grid[2], shape[2] - 1)?,
    ];
    let mut lags = correlations(data, coils, shape, (&tapers, &blocks), job)?;
    let count = lags.count();
    let trace: f64 = super::lags::pairs(coils)
        .zip(lags.values.chunks_exact(count))
        .filter(|((c, d), _)| c == d)
        .map(|(_, values)| values[count / 2].re)
        .sum();
    if trace > 0.0 {
        lags.values.iter_mut().for_each(|v| *v /= trace);
    }
    Ok(lags)
}

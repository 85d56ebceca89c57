//! Noise prewhitening: K. P. Pruessmann, M. Weiger, P. Boernert, P. Boesiger, "Advances in sensitivity encoding with arbitrary k-space
//! trajectories", Magn. Reson. Med. 46:638-651, 2001, section on noise decorrelation; in the units of P. Kellman, E. R. McVeigh, "Image
//! reconstruction in SNR units", Magn. Reson. Med. 54:1439-1447, 2005.

use super::gram::gram;
use isocenter_base::error::{Result, fail};
use isocenter_solve::hermitian::{cholesky, inverse_lower};
use rustfft::num_complex::Complex;
use std::f64::consts::SQRT_2;

/// What is left of a coil's noise without that of the coils before it, relative to it, that counts as nothing: rounding of f32 data.
const NOTHING: f64 = 1e-12;

/// The matrix `[coil][coil]`, lower triangular, that makes noise `[coil][sample]` independent, its real and imaginary parts of variance 1.
pub(super) fn whitening_matrix(noise: &[Complex<f64>], coils: usize) -> Result<Vec<Complex<f64>>> {
    let samples = noise.len() / coils;
    if samples < coils {
        fail!(
            TensorShape,
            "noise has {samples} samples of {coils} coils; there must be at least as many samples as coils, and should be hundreds of times as many"
        );
    }
    let mut covariance = gram(noise, coils)?;
    covariance.iter_mut().for_each(|v| *v /= samples as f64);
    let factor = match cholesky(&covariance, coils, NOTHING)? {
        Ok(factor) => factor,
        Err(c) if covariance[c * coils + c].re == 0.0 => {
            fail!(
                OutOfRange,
                "noise of coil {c} is 0 in all {samples} samples; each coil must have noise, or be left out"
            )
        }
        Err(c) => fail!(
            OutOfRange,
            "noise of coil {c} is a combination of the coils' before it: the covariance is singular; leave the coil out, or compress first"
        ),
    };
    let mut inverse = inverse_lower(&factor, coils)?;
    inverse.iter_mut().for_each(|v| *v *= SQRT_2);
    Ok(inverse)
}

//! Imaginary parts of images.

use isocenter_base::cpu::parallel::*;
use isocenter_nufft::Scalar;
use isocenter_solve::cpu::GRAIN;
use rustfft::num_complex::Complex;

/// They become 0.
pub(super) fn clear<T: Scalar>(images: &mut [Complex<T>]) {
    images.par_iter_mut().with_min_len(GRAIN).for_each(|v| v.im = T::ZERO);
}

/// out = out + weight times i times that of images.
pub(super) fn add<T: Scalar>(weight: T, images: &[Complex<T>], out: &mut [Complex<T>]) {
    let both = out.par_iter_mut().zip(images).with_min_len(GRAIN);
    both.for_each(|(o, v)| o.im = o.im + weight * v.im);
}

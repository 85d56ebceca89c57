//! Density weights of samples, and images of coils: times their sensitivities, and combined to one.

use crate::cpu::simd::Real;
use crate::solve::cpu::GRAIN;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

/// samples `[coil][sample]` = weights times samples.
pub(super) fn weigh<T: Real>(weights: &[T], samples: &mut [Complex<T>]) {
    for coil in samples.chunks_exact_mut(weights.len()) {
        coil.par_iter_mut().zip(weights).with_min_len(GRAIN).for_each(|(s, w)| *s = s.scale(*w));
    }
}

/// coil image = map times image.
pub(super) fn multiply<T: Real>(map: &[Complex<T>], image: &[Complex<T>], coil_image: &mut [Complex<T>]) {
    coil_image.par_iter_mut().zip(image).zip(map).with_min_len(GRAIN).for_each(|((c, i), s)| *c = *i * *s);
}

/// image = image + conj(map) times coil image.
pub(super) fn combine<T: Real>(map: &[Complex<T>], coil_image: &[Complex<T>], image: &mut [Complex<T>]) {
    image.par_iter_mut().zip(coil_image).zip(map).with_min_len(GRAIN).for_each(|((i, c), s)| *i = *i + s.conj() * *c);
}

//! Correlations between the coils' calibration data, at all distances, by Fourier transforms of twice their size.

use super::lags::{Lags, pairs};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{Buffer, filled};
use isocenter_base::cpu::fft::{Axis, BoxFft};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

/// Sum over q of x_c(q) conj(x_d(q - l)), of data `[coil][z][y][x]` that are multiplied by `taper`, times `window` at each distance
/// from -(n - 1) to n - 1.
pub(super) fn correlations(
    data: &[Complex<f64>],
    coils: usize,
    shape: [usize; 3],
    (taper, window): (&[Vec<f64>; 3], &[Vec<f64>; 3]),
    job: &Job,
) -> Result<Lags> {
    let mut lags = Lags::zero(coils, shape.map(|n| n - 1))?;
    let lens = shape.map(|n| (2 * n - 1).next_power_of_two());
    let strides = [lens[1] * lens[2], lens[2]];
    let axes = |start: fn(usize, usize) -> usize, count: fn(usize) -> usize| {
        std::array::from_fn(|a| Axis { len: lens[a], start: start(shape[a], lens[a]), count: count(shape[a]) })
    };
    let there = BoxFft::<f64>::new(axes(|_, _| 0, |n| n), strides, FftDirection::Forward)?;
    let back = BoxFft::<f64>::new(axes(|n, len| (len - (n - 1)) % len, |n| 2 * n - 1), strides, FftDirection::Inverse)?;
    let size = there.grid_len();
    let mut spectra = Buffer::<Complex<f64>>::zeroed(coils * size)?;
    for (grid, coil) in spectra.chunks_exact_mut(size).zip(data.chunks_exact(data.len() / coils)) {
        job.check()?;
        there.expand(coil, taper, grid)?;
    }
    let mut factors: [Vec<f64>; 3] = [filled(0, 0.0)?, filled(0, 0.0)?, filled(0, 0.0)?];
    for (a, factor) in factors.iter_mut().enumerate() {
        *factor = isocenter_base::cpu::buffer::collected(window[a].iter().map(|w| w / lens[a] as f64))?;
    }
    let count = lags.count();
    let mut product = Buffer::<Complex<f64>>::zeroed(size)?;
    for ((c, d), out) in pairs(coils).zip(lags.values.chunks_exact_mut(count)) {
        job.check()?;
        let [left, right] = [c, d].map(|c| &spectra[c * size..][..size]);
        product.par_iter_mut().zip(left).zip(right).with_min_len(1 << 12).for_each(|((p, a), b)| *p = a * b.conj());
        back.crop(&mut product, &factors, out)?;
    }
    Ok(lags)
}

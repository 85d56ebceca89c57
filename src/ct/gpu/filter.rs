//! The filter's tables on a device.

use super::rows::DeviceFilter;
use crate::ct::filter::{Filter, Padding, response};
use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory};
use rustfft::num_complex::Complex;
use std::f64::consts::PI;
use std::sync::Arc;

/// log2 of the lengths that kernels were made for.
const LOGS: std::ops::RangeInclusive<u32> = 6..=14;

/// log2 of the transforms' length for rows of `bins`.
fn log(bins: usize) -> u32 {
    (2 * bins - 1).next_power_of_two().trailing_zeros().max(*LOGS.start())
}

/// Length of the transforms on a GPU.
pub(super) fn padded_bins(bins: usize) -> usize {
    1 << log(bins)
}

/// A filter on a device, and what it multiplies the largest value by at most: the sum of its impulse response's sizes.
pub(super) fn upload(
    device: &Arc<Device>,
    filter: &Filter,
    padding: Padding,
    bins: usize,
    bin_pitch: f64,
) -> Result<Option<(DeviceFilter, f64)>> {
    if *filter == Filter::None {
        return Ok(None);
    }
    let log = log(bins);
    if !LOGS.contains(&log) {
        fail!(OutOfRange, "geometry.bins is {bins}; filtering on a GPU takes at most 8192");
    }
    let n = 1usize << log;
    let natural = response(filter, n);
    let mut impulse: Vec<Complex<f64>> =
        natural.iter().map(|&h| Complex { re: h / bin_pitch / n as f64, im: 0.0 }).collect();
    rustfft::FftPlanner::new().plan_fft_inverse(n).process(&mut impulse);
    let gain: f64 = impulse.iter().map(|z| z.re.abs()).sum();
    let scaled: Vec<f32> = (0..n).map(|i| (natural[frequency(i, log)] / bin_pitch / n as f64) as f32).collect();
    let root = |k: usize| {
        let (sin, cos) = (-2.0 * PI * k as f64 / n as f64).sin_cos();
        [cos as f32, sin as f32]
    };
    let roots: Vec<[f32; 2]> = (0..n).map(root).collect();
    let (roots, response) = (DeviceMemory::from_slice(device, &roots)?, DeviceMemory::from_slice(device, &scaled)?);
    Ok(Some((DeviceFilter { log, roots, response, edge: padding == Padding::Edge }, gain)))
}

/// Frequency that the kernels' forward transform leaves at place `i`: radix 16 from the top, the rest last.
fn frequency(i: usize, log: u32) -> usize {
    let (mut left, mut k, mut weight, mut rest) = (log, 0, 1, i);
    while left > 4 {
        left -= 4;
        k += weight * (rest >> left);
        rest &= (1 << left) - 1;
        weight *= 16;
    }
    k + weight * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_a_permutation_with_digits_reversed() {
        for log in LOGS {
            let n = 1usize << log;
            let mut seen = vec![false; n];
            (0..n).for_each(|i| seen[frequency(i, log)] = true);
            assert!(seen.iter().all(|s| *s), "2^{log}");
        }
        // 256 = 16 x 16: digits change places.
        assert_eq!(frequency(0x3a, 8), 0xa3);
        // 128 = 16 x 8: place 8 a + b holds a + 16 b.
        assert_eq!(frequency(8 * 5 + 3, 7), 5 + 16 * 3);
    }

    #[test]
    fn transforms_are_long_enough() {
        for bins in [1, 2, 32, 33, 1000, 2048, 2049, 8192] {
            let n = padded_bins(bins);
            assert!(n >= 2 * bins - 1 && n >= 64 && (n == 64 || n / 2 < 2 * bins - 1), "{bins}: {n}");
        }
    }
}

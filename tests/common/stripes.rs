//! Sinograms with stripes, and plain f64 versions of what removes them.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;

/// Standard deviation of noise in the scenes.
pub const NOISE: f64 = 0.01;

/// Blobs of some widths on their sinusoids in something that fills all rows, with noise: (view, bin).
pub fn blobs(views: usize, bins: usize, seed: u64) -> Vec<f32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut blob = || {
        let part = |r: &mut SmallRng, low: f64, high: f64| r.random_range(low..high) * bins as f64;
        let (away, width) = (part(&mut rng, 0.0, 0.25), part(&mut rng, 0.1, 0.2));
        (away, width, rng.random_range(0.0..PI), rng.random_range(0.2..0.8))
    };
    let blobs: Vec<_> = (0..6).map(|_| blob()).collect();
    let mut rng = SmallRng::seed_from_u64(seed + 1);
    let mut normal =
        || (-2.0 * rng.random_range(1e-9..1.0f64).ln()).sqrt() * (2.0 * PI * rng.random_range(0.0..1.0)).cos();
    let value = |v: usize, k: usize| -> f64 {
        let (angle, x) = (PI * v as f64 / views as f64, k as f64 - (bins - 1) as f64 / 2.0);
        0.5 + blobs
            .iter()
            .map(|(r, w, phase, a)| a * (-((x - r * (angle - phase).cos()) / w).powi(2) / 2.0).exp())
            .sum::<f64>()
    };
    (0..views * bins).map(|i| (value(i / bins, i % bins) + NOISE * normal()) as f32).collect()
}

/// What is done to some bins.
pub const OFFSETS: [(usize, f64); 5] = [(20, 0.05), (33, -0.03), (34, 0.02), (60, 0.015), (75, -0.08)];
pub const DEAD: usize = 48;
pub const FLUCTUATING: usize = 41;
pub const PARTIAL: usize = 85;
pub const WIDE: std::ops::Range<usize> = 100..108;

/// Offsets, a dead bin, one that fluctuates, one that is off in a third of the views, and a wide stripe; for 128 bins or more.
pub fn striped(clean: &[f32], bins: usize) -> Vec<f32> {
    let views = clean.len() / bins;
    let mut rng = SmallRng::seed_from_u64(9);
    let mut bad = clean.to_vec();
    for (v, row) in bad.chunks_exact_mut(bins).enumerate() {
        OFFSETS.iter().for_each(|(k, by)| row[*k] += *by as f32);
        WIDE.for_each(|k| row[k] += 0.06);
        row[DEAD] = 0.4;
        row[FLUCTUATING] += rng.random_range(-0.3f32..0.3);
        if v < views / 3 {
            row[PARTIAL] += 0.06;
        }
    }
    bad
}

fn mirrored(k: isize, n: usize) -> usize {
    let k = k.rem_euclid(2 * n as isize) as usize;
    if k < n { k } else { 2 * n - 1 - k }
}

/// Medians over a window of a list, the window of an even number reaching one farther down.
fn medians(list: &[f64], window: usize) -> Vec<f64> {
    let at = |k: usize, i: usize| list[mirrored((k + i) as isize - (window / 2) as isize, list.len())];
    (0..list.len())
        .map(|k| {
            let mut around: Vec<f64> = (0..window).map(|i| at(k, i)).collect();
            around.sort_by(f64::total_cmp);
            around[window / 2]
        })
        .collect()
}

/// A column's views in the rising order of their values.
fn order(sinogram: &[f64], bins: usize, bin: usize) -> Vec<usize> {
    let mut views: Vec<usize> = (0..sinogram.len() / bins).collect();
    views.sort_by(|a, b| sinogram[a * bins + bin].total_cmp(&sinogram[b * bins + bin]));
    views
}

/// Algorithm 3 of Vo, Atwood and Drakopoulos 2018.
pub fn sorting(sinogram: &[f64], bins: usize, window: usize) -> Vec<f64> {
    let orders: Vec<Vec<usize>> = (0..bins).map(|k| order(sinogram, bins, k)).collect();
    let mut result = sinogram.to_vec();
    for rank in 0..sinogram.len() / bins {
        let line: Vec<f64> = (0..bins).map(|k| sinogram[orders[k][rank] * bins + k]).collect();
        medians(&line, window).iter().enumerate().for_each(|(k, m)| result[orders[k][rank] * bins + k] = *m);
    }
    result
}

/// Algorithm 4, with the bins next to what it finds.
fn detect(list: &[f64], snr: f64) -> Vec<bool> {
    let n = list.len();
    let mut sorted = list.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle: Vec<(f64, f64)> = (n / 4..n - n / 4 - 1).map(|k| (k as f64, sorted[k])).collect();
    let count = middle.len() as f64;
    let (x, y) = (middle.iter().map(|p| p.0).sum::<f64>() / count, middle.iter().map(|p| p.1).sum::<f64>() / count);
    let slope = middle.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>()
        / middle.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>();
    let (low, high) = (y - slope * x, y + slope * ((n - 1) as f64 - x));
    let noise = high - low;
    // Nothing stands out of what is no noise.
    if noise < 1e-5 {
        return vec![false; n];
    }
    let found: Vec<bool> = list
        .iter()
        .map(|v| {
            (sorted[n - 1] - high).abs() / noise >= snr && *v > high + noise * snr / 2.0
                || (low - sorted[0]).abs() / noise >= snr && *v <= low - noise * snr / 2.0
        })
        .collect();
    (0..n).map(|k| found[k.saturating_sub(1)..n.min(k + 2)].contains(&true)).collect()
}

/// All of it: algorithms 6, 5 and 3.
pub fn vo(sinogram: &[f64], bins: usize, (snr, large, small, dropped): (f64, usize, usize, f64)) -> Vec<f64> {
    let views = sinogram.len() / bins;
    let mut s = sinogram.to_vec();
    let column = |s: &[f64], k: usize| -> Vec<f64> { (0..views).map(|v| s[v * bins + k]).collect() };
    let rough: Vec<f64> = (0..bins)
        .map(|k| {
            let c = column(&s, k);
            let smooth = |v: usize| (0..10).map(|i| c[mirrored(v as isize - 5 + i, views)]).sum::<f64>() / 10.0;
            (0..views).map(|v| (c[v] - smooth(v)).abs()).sum()
        })
        .collect();
    let around = medians(&rough, large);
    let mut dead = detect(&rough.iter().zip(&around).map(|(r, a)| r / a).collect::<Vec<_>>(), snr);
    dead[..2].fill(false);
    dead[bins - 2..].fill(false);
    // More than a third cannot be.
    let trusted = 3 * dead.iter().filter(|d| **d).count() < bins;
    for k in (0..bins).filter(|k| trusted && dead[*k]) {
        let (mut a, mut b) = (k, k);
        while dead[a] {
            a -= 1;
        }
        while dead[b] {
            b += 1;
        }
        for v in 0..views {
            let (low, high) = (s[v * bins + a], s[v * bins + b]);
            s[v * bins + k] = low + (high - low) * (k - a) as f64 / (b - a) as f64;
        }
    }
    let smooth = sorting(&s, bins, large);
    let cut = (0.5 * dropped * views as f64) as usize;
    let mean = |s: &[f64], k: usize| {
        let mut c = column(s, k);
        c.sort_by(f64::total_cmp);
        c[cut..views - cut].iter().sum::<f64>()
    };
    let factors: Vec<f64> = (0..bins).map(|k| mean(&s, k) / mean(&smooth, k)).collect();
    let stripes = detect(&factors, snr);
    for (i, v) in s.iter_mut().enumerate() {
        let k = i % bins;
        *v = if stripes[k] { smooth[i] } else { *v / factors[k] };
    }
    sorting(&s, bins, small)
}

/// Titarenko, Withers and Yagola 2010 by its closed form: coefficients of the second differences of the means. Bins count from 1 in the
/// paper: n - |i - j| and n + 1 - i - j.
pub fn regularised(sinogram: &[f64], bins: usize, alpha: f64) -> Vec<f64> {
    let views = sinogram.len() / bins;
    let mean: Vec<f64> =
        (0..bins).map(|k| (0..views).map(|v| sinogram[v * bins + k]).sum::<f64>() / views as f64).collect();
    let (tau, n) = (2.0 * (alpha.sqrt() / 2.0).asinh(), bins as f64);
    let scale = (tau / 2.0).tanh() / (alpha * (n * tau).sinh());
    let offset = |i: usize| -> f64 {
        (0..bins)
            .map(|j| {
                let apart = n - (i as f64 - j as f64).abs();
                let together = n - 1.0 - (i + j) as f64;
                let steps = [j.checked_sub(1), (j + 1 < bins).then_some(j + 1)];
                let bend: f64 = steps.into_iter().flatten().map(|k| mean[j] - mean[k]).sum();
                scale * ((apart * tau).cosh() + (together * tau).cosh()) * bend
            })
            .sum()
    };
    let offsets: Vec<f64> = (0..bins).map(offset).collect();
    sinogram.iter().enumerate().map(|(i, v)| v - offsets[i % bins]).collect()
}

//! Sinograms with stripes, and plain f64 versions of what removes them.

use super::normal;
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
    let value = |v: usize, k: usize| -> f64 {
        let (angle, x) = (PI * v as f64 / views as f64, k as f64 - (bins - 1) as f64 / 2.0);
        0.5 + blobs
            .iter()
            .map(|(r, w, phase, a)| a * (-((x - r * (angle - phase).cos()) / w).powi(2) / 2.0).exp())
            .sum::<f64>()
    };
    (0..views * bins).map(|i| (value(i / bins, i % bins) + NOISE * normal(&mut rng)) as f32).collect()
}

/// Line integrals of three ellipses with edges, about an axis 1.8 bins beside the middle, with noise: (view, bin). The ellipses turn off-centre,
/// so that no edge stays in a bin.
pub fn ellipses((views, bins): (usize, usize), noise: f64, seed: u64) -> Vec<f32> {
    // Value, middle, half axes and angle, in parts of the detector.
    let ellipses = [
        (0.02, 0.0, 0.0, 0.40, 0.36, 0.3),
        (0.024, 0.15, 0.1, 0.08, 0.06, 0.7),
        (-0.012, -0.18, -0.05, 0.1, 0.07, -0.4),
    ];
    let (mut rng, n) = (SmallRng::seed_from_u64(seed), bins as f64);
    let value = |v: usize, k: usize| -> f64 {
        let (t, s) = (PI * v as f64 / views as f64, k as f64 - ellipses_axis(bins));
        let of = |&(value, x, y, a, b, turn): &(f64, f64, f64, f64, f64, f64)| {
            let (a, b) = (a * n, b * n);
            let r2 = (a * (t - turn).cos()).powi(2) + (b * (t - turn).sin()).powi(2);
            let d = s - n * (x * t.cos() + y * t.sin());
            2.0 * value * a * b * (r2 - d * d).max(0.0).sqrt() / r2
        };
        ellipses.iter().map(of).sum()
    };
    (0..views * bins).map(|i| (value(i / bins, i % bins) + noise * normal(&mut rng)) as f32).collect()
}

/// Their axis.
pub fn ellipses_axis(bins: usize) -> f64 {
    (bins - 1) as f64 / 2.0 + 1.8
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

/// Daubechies' scaling filter of extremal phase: the minimum-phase factor of |H|^2 without its zeros at half the sampling frequency is the
/// exponential of the causal half of the cepstrum, its coefficients a power series'.
fn daubechies(order: usize) -> Vec<f64> {
    const SAMPLES: usize = 1024;
    let log = |i: usize| {
        let y = (PI * i as f64 / SAMPLES as f64).sin().powi(2);
        let mut term = 1.0;
        let mut sum = 0.0;
        for k in 0..order {
            sum += term;
            term *= y * (order + k) as f64 / (k + 1) as f64;
        }
        sum.ln()
    };
    let cepstrum = |m: usize| -> f64 {
        let wave = |i: usize| (2.0 * PI * (i * m % SAMPLES) as f64 / SAMPLES as f64).cos();
        (0..SAMPLES).map(|i| log(i) * wave(i)).sum::<f64>() / SAMPLES as f64
    };
    let c: Vec<f64> = (0..order).map(cepstrum).collect();
    let mut h = vec![(c[0] / 2.0).exp()];
    for k in 1..order {
        h.push((1..=k).map(|m| m as f64 * c[m] * h[k - m]).sum::<f64>() / k as f64);
    }
    for _ in 0..order {
        h.push(0.0);
        h = (0..h.len()).map(|k| (h[k] + k.checked_sub(1).map_or(0.0, |k| h[k])) / 2.0).collect();
    }
    let sum: f64 = h.iter().sum();
    h.iter().map(|h| h * 2.0f64.sqrt() / sum).collect()
}

type Image = Vec<Vec<f64>>;

fn transposed(image: &Image) -> Image {
    (0..image[0].len()).map(|k| image.iter().map(|row| row[k]).collect()).collect()
}

/// Low and high band of every row: every other value of a correlation with each filter, the row going on in mirror image.
fn bands(image: &Image, filters: &[Vec<f64>; 2]) -> [Image; 2] {
    let taps = filters[0].len();
    let band = |row: &Vec<f64>, filter: &[f64]| -> Vec<f64> {
        let at = |k: usize, j: usize| row[mirrored((2 * k + j + 2) as isize - taps as isize, row.len())];
        (0..(row.len() + taps - 1) / 2).map(|k| (0..taps).map(|j| filter[j] * at(k, j)).sum()).collect()
    };
    filters.each_ref().map(|filter| image.iter().map(|row| band(row, filter)).collect())
}

/// Rows of so many values by their bands.
fn joined(bands: &[Image; 2], filters: &[Vec<f64>; 2], len: usize) -> Image {
    let taps = filters[0].len();
    let mut image = vec![vec![0.0; len]; bands[0].len()];
    for (band, filter) in bands.iter().zip(filters) {
        for (row, coefficients) in image.iter_mut().zip(band) {
            for (k, c) in coefficients.iter().enumerate() {
                for (j, h) in filter.iter().enumerate() {
                    if let Some(value) = (2 * k + j + 2).checked_sub(taps).and_then(|i| row.get_mut(i)) {
                        *value += c * h;
                    }
                }
            }
        }
    }
    image
}

/// Columns whose frequency f is multiplied by 1 - exp(-f^2 / (2 sigma^2)).
fn damped(image: &Image, sigma: f64) -> Image {
    let column = |x: &Vec<f64>| -> Vec<f64> {
        let n = x.len();
        let angle = |f: usize, y: usize| 2.0 * PI * (f * y % n) as f64 / n as f64;
        let mut damped = vec![0.0; n];
        for f in 0..n {
            let (re, im) = x
                .iter()
                .enumerate()
                .fold((0.0, 0.0), |(re, im), (y, x)| (re + x * angle(f, y).cos(), im - x * angle(f, y).sin()));
            // Of 0..n the upper half are negative frequencies.
            let frequency = f.min(n - f) as f64;
            let factor = (1.0 - (-(frequency / sigma).powi(2) / 2.0).exp()) / n as f64;
            for (y, value) in damped.iter_mut().enumerate() {
                *value += factor * (re * angle(f, y).cos() - im * angle(f, y).sin());
            }
        }
        damped
    };
    transposed(&transposed(image).iter().map(column).collect())
}

/// Munch, Trtik, Marone and Stampanoni 2009, with all bands; padded by a tenth of the shorter side, 150 at most: along views with each
/// bin's mean, along bins with the value at the end.
pub fn wavelet_fourier(sinogram: &[f64], bins: usize, (levels, sigma, order): (usize, f64, usize)) -> Vec<f64> {
    let views = sinogram.len() / bins;
    let pad = 150.min(views.min(bins) / 10);
    let mean = |k: usize| (0..views).map(|v| sinogram[v * bins + k]).sum::<f64>() / views as f64;
    let means: Vec<f64> = (0..bins).map(mean).collect();
    let row = |v: usize| -> Vec<f64> {
        let inside = v.checked_sub(pad).filter(|v| *v < views);
        let row = inside.map_or(&means[..], |v| &sinogram[v * bins..][..bins]);
        (0..bins + 2 * pad).map(|k| row[k.saturating_sub(pad).min(bins - 1)]).collect()
    };
    let padded: Image = (0..views + 2 * pad).map(row).collect();
    let low = daubechies(order);
    let high = (0..low.len()).map(|k| low[low.len() - 1 - k] * if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let filters = [low, high];
    let clean = cleaned(&padded, &filters, levels, sigma);
    clean[pad..pad + views].iter().flat_map(|row| &row[pad..pad + bins]).copied().collect()
}

fn cleaned(image: &Image, filters: &[Vec<f64>; 2], levels: usize, sigma: f64) -> Image {
    if levels == 0 {
        return image.clone();
    }
    // Along bins, then along views.
    let along_views = |image: &Image| bands(&transposed(image), filters).map(|band| transposed(&band));
    let [low, high] = bands(image, filters);
    let ([low_low, low_high], [high_low, high_high]) = (along_views(&low), along_views(&high));
    let back = |bands: [&Image; 2]| transposed(&joined(&bands.map(transposed), filters, image.len()));
    let low = back([&cleaned(&low_low, filters, levels - 1, sigma), &low_high]);
    let high = back([&damped(&high_low, sigma), &high_high]);
    joined(&[low, high], filters, image[0].len())
}

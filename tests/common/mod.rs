//! Plain f64 double loops: what the operators are checked against. Slow on purpose.
#![allow(dead_code, unreachable_pub)] // Each test binary uses its part.

pub mod drift;
pub mod frames;
pub mod iterative;
pub mod scene;
pub mod stripes;
pub mod told;
pub mod views;

use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Filter, Geometry, Interpolation, Order};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use std::f64::consts::PI;
use std::sync::Arc;

/// Options of a context on the processor, whatever else the machine has.
pub fn on_processor() -> ContextOptions {
    ContextOptions { compute: Compute::Cpu, ..ContextOptions::default() }
}

/// A plan with its own threads.
pub fn plan(geometry: &Geometry, level: Level, threads: usize) -> Ct {
    let options = ContextOptions { level: Some(level), threads, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(geometry.clone()).expect("a geometry");
    ct
}

/// Uniform in -1..1, the same every time.
pub fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// Normal, of deviation 1.
pub fn normal(rng: &mut SmallRng) -> f64 {
    (-2.0 * rng.random_range(1e-9..1.0f64).ln()).sqrt() * (2.0 * PI * rng.random_range(0.0..1.0)).cos()
}

pub fn volume_len(g: &Geometry) -> usize {
    g.volume_shape().iter().product()
}

pub fn projection_len(g: &Geometry) -> usize {
    g.projection_shape().iter().product()
}

/// Every filter with a window, Butterworth's with two orders.
pub fn windows(cutoff: f64, [low, high]: [f64; 2]) -> [Filter; 8] {
    [
        Filter::RamLak { cutoff },
        Filter::SheppLogan { cutoff },
        Filter::Cosine { cutoff },
        Filter::Hamming { cutoff },
        Filter::Hann { cutoff },
        Filter::Parzen { cutoff },
        Filter::Butterworth { cutoff, order: low },
        Filter::Butterworth { cutoff, order: high },
    ]
}

pub type Operator = fn(&mut Ct, Array, ArrayMut) -> isocenter::error::Result<()>;

/// projections -> volume
pub fn to_volume(ct: &mut Ct, g: &Geometry, run: Operator, projections: &[f32]) -> Vec<f32> {
    let mut volume = vec![f32::NAN; volume_len(g)];
    let (p, v) = (Array::new(projections, g.projection_shape()), ArrayMut::new(&mut volume, g.volume_shape()));
    run(ct, p.expect("projections"), v.expect("a volume")).expect("success");
    volume
}

/// volume -> projections; rows outside the slices stay 0.
pub fn to_projections(ct: &mut Ct, g: &Geometry, run: Operator, volume: &[f32]) -> Vec<f32> {
    let mut projections = vec![0.0; projection_len(g)];
    let (v, p) = (Array::new(volume, g.volume_shape()), ArrayMut::new(&mut projections, g.projection_shape()));
    run(ct, v.expect("a volume"), p.expect("projections")).expect("success");
    projections
}

/// h of conventions: the fractional bin of pixel (i, j) in view p.
pub fn bin(g: &Geometry, p: usize, i: usize, j: usize) -> f64 {
    let (cx, cy) = ((g.nx as f64 - 1.0) / 2.0 + g.x_offset, (g.ny as f64 - 1.0) / 2.0 + g.y_offset);
    let axis = if g.axis.len() == 1 { g.axis[0] } else { g.axis[p] };
    let (sin, cos) = g.angles[p].sin_cos();
    axis + g.pixel_size / g.bin_pitch * ((j as f64 - cx) * cos - (i as f64 - cy) * sin)
}

/// Value of a row at a fractional bin, zero outside.
pub fn sample(row: &dyn Fn(isize) -> f64, h: f64, interpolation: Interpolation) -> f64 {
    let linear = |h: f64| {
        let (k, t) = (h.floor(), h - h.floor());
        row(k as isize) * (1.0 - t) + row(k as isize + 1) * t
    };
    match interpolation {
        Interpolation::Linear => linear(h),
        Interpolation::Nearest => row((h + 0.5).floor() as isize),
        Interpolation::Oversampled => linear((4.0 * h + 0.5).floor() / 4.0),
        Interpolation::BandLimited => unreachable!("it takes all of the row"),
    }
}

fn at(g: &Geometry, projections: &[f32], p: usize, row: usize, k: isize) -> f64 {
    if k < 0 || k >= g.bins as isize { 0.0 } else { f64::from(projections[(p * g.rows + row) * g.bins + k as usize]) }
}

/// Pixel-driven back projection, projections in frame order.
pub fn backproject(
    g: &Geometry,
    interpolation: Interpolation,
    weights: Option<&[f64]>,
    projections: &[f32],
) -> Vec<f64> {
    pixels(g, |z, i, j| {
        (0..g.views())
            .map(|p| {
                let row = |k| at(g, projections, p, g.first_row + z, k);
                weights.map_or(1.0, |w| w[p]) * sample(&row, bin(g, p, i, j), interpolation)
            })
            .sum()
    })
}

/// (1/P) sum over f = -last .. last of exp(2 pi i f d / P), both ends with half their weight.
fn dirichlet(d: f64, period: usize, last: usize) -> f64 {
    let n = period as f64;
    let d = d.rem_euclid(n);
    let d = d.min(n - d);
    let all = 2.0 * last as f64 / n;
    if d < 1e-9 { all } else { (PI * d * all).sin() / (n * (PI * d / n).tan()) }
}

/// Weight of a pixel for a bin at distance d in view p, in the pair of band-limited functions.
fn band_limited_weight(g: &Geometry, period: usize, p: usize, d: f64) -> f64 {
    let ratio = g.pixel_size / g.bin_pitch;
    let m = g.angles[p].cos().abs().max(g.angles[p].sin().abs());
    let last = (period as f64 / (2.0 * ratio * m) * (1.0 + 1e-9)) as usize;
    g.pixel_size * ratio * dirichlet(d, period, last.clamp(1, period / 2))
}

/// Line integrals of the band-limited functions through the pixels, in frame order.
pub fn band_limited_forward(g: &Geometry, period: usize, volume: &[f32]) -> Vec<f64> {
    let frame = |p: usize| -> Vec<f64> {
        let mut frame = vec![0.0; g.rows * g.bins];
        for at in 0..g.nx * g.ny {
            let value = |z: usize| f64::from(volume[z * g.nx * g.ny + at]);
            if (0..g.slices).all(|z| value(z) == 0.0) {
                continue;
            }
            let h = bin(g, p, at / g.nx, at % g.nx);
            for k in 0..g.bins {
                let weight = band_limited_weight(g, period, p, h - k as f64);
                (0..g.slices).for_each(|z| frame[(g.first_row + z) * g.bins + k] += value(z) * weight);
            }
        }
        frame
    };
    let frames: Vec<Vec<f64>> = (0..g.views()).into_par_iter().map(frame).collect();
    frames.concat()
}

/// Their transpose, from projections in frame order.
pub fn band_limited_adjoint(g: &Geometry, period: usize, projections: &[f32]) -> Vec<f64> {
    let weight = |p: usize, d: f64| band_limited_weight(g, period, p, d);
    band_limited_sums(g, projections, weight)
}

/// Back projection by the trigonometric polynomial through each row's samples and zeros up to `period`, projections in frame order.
pub fn band_limited(g: &Geometry, period: usize, weights: Option<&[f64]>, projections: &[f32]) -> Vec<f64> {
    let weight = |p: usize, d: f64| weights.map_or(1.0, |w| w[p]) * dirichlet(d, period, period / 2);
    band_limited_sums(g, projections, weight)
}

/// Sums over samples, which view p weighs by their distance from the pixel.
fn band_limited_sums(g: &Geometry, projections: &[f32], weight: impl Fn(usize, f64) -> f64 + Sync) -> Vec<f64> {
    let pixel = |at: usize| {
        let mut sums = vec![0.0; g.slices];
        for p in 0..g.views() {
            let h = bin(g, p, at / g.nx, at % g.nx);
            for k in 0..g.bins {
                let value = |z: usize| f64::from(projections[(p * g.rows + g.first_row + z) * g.bins + k]);
                if (0..g.slices).all(|z| value(z) == 0.0) {
                    continue;
                }
                let weight = weight(p, h - k as f64);
                sums.iter_mut().enumerate().for_each(|(z, sum)| *sum += weight * value(z));
            }
        }
        sums
    };
    let sums: Vec<Vec<f64>> = (0..g.ny * g.nx).into_par_iter().map(pixel).collect();
    (0..g.slices).flat_map(|z| sums.iter().map(move |s| s[z])).collect()
}

/// Weight of pixel (i, j) for bin k in view p.
pub fn joseph(g: &Geometry, p: usize, i: usize, j: usize, k: usize) -> f64 {
    let m = g.angles[p].cos().abs().max(g.angles[p].sin().abs());
    let reach = m * g.pixel_size / g.bin_pitch;
    g.pixel_size / m * (1.0 - ((k as f64 - bin(g, p, i, j)) / reach).abs()).max(0.0)
}

pub fn adjoint(g: &Geometry, projections: &[f32]) -> Vec<f64> {
    pixels(g, |z, i, j| {
        let view = |p| {
            (0..g.bins).map(|k| joseph(g, p, i, j, k) * at(g, projections, p, g.first_row + z, k as isize)).sum::<f64>()
        };
        (0..g.views()).map(view).sum()
    })
}

/// In frame order.
pub fn forward(g: &Geometry, volume: &[f32]) -> Vec<f64> {
    let mut out = vec![0.0; g.views() * g.rows * g.bins];
    for p in 0..g.views() {
        for i in 0..g.ny {
            for j in 0..g.nx {
                for k in 0..g.bins {
                    let w = joseph(g, p, i, j, k);
                    if w > 0.0 {
                        for z in 0..g.slices {
                            out[(p * g.rows + g.first_row + z) * g.bins + k] +=
                                w * f64::from(volume[(z * g.ny + i) * g.nx + j]);
                        }
                    }
                }
            }
        }
    }
    out
}

fn pixels(g: &Geometry, value: impl Fn(usize, usize, usize) -> f64) -> Vec<f64> {
    let mut out = Vec::with_capacity(volume_len(g));
    for z in 0..g.slices {
        for i in 0..g.ny {
            for j in 0..g.nx {
                out.push(value(z, i, j));
            }
        }
    }
    out
}

/// Largest difference over the largest magnitude.
pub fn error(seen: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let worst = seen
        .iter()
        .zip(expected)
        .map(|(s, e)| (f64::from(*s) - e).abs())
        .fold(0.0, |m: f64, d| if d > m || d.is_nan() { d } else { m });
    worst / scale
}

pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// |<A x, y> - <x, A' y>| over |A x| |y|, for a y that is mostly A x: of two random vectors the products nearly vanish, and with
/// them what a wrong scale would do. Entries of A x and A' y err by some 1e-6 of their size, at random; where their terms cancel, by that
/// of the terms, so that |A x| is taken for `minimum` at least.
pub fn mismatch(ct: &mut Ct, g: &Geometry, seed: u64, minimum: f64) -> f64 {
    let (x, mut y) = (random(volume_len(g), seed), random(projection_len(g), seed + 1));
    // `forward` leaves rows outside the slices alone, so they are no part of A.
    let [_, rows, bins] = [g.views(), g.rows, g.bins];
    for (k, v) in y.iter_mut().enumerate() {
        let row = if g.order == Order::Frames { k / bins % rows } else { k / (g.views() * bins) };
        if !(g.first_row..g.first_row + g.slices).contains(&row) {
            *v = 0.0;
        }
    }
    let ax = to_projections(ct, g, Ct::forward, &x);
    let size = 0.5 * (dot(&ax, &ax) / dot(&y, &y)).sqrt() as f32;
    y.iter_mut().zip(&ax).for_each(|(y, ax)| *y = *y * size + ax);
    let aty = to_volume(ct, g, Ct::adjoint, &y);
    let norm = dot(&ax, &ax).sqrt().max(minimum) * dot(&y, &y).sqrt();
    assert!(norm > 0.0, "nothing on the detector");
    (dot(&ax, &y) - dot(&x, &aty)).abs() / norm
}

/// A row convolved with the ramp's exact samples, term by term, zero outside the row.
pub fn ramp_filtered(row: &[f32], bin_pitch: f64) -> Vec<f64> {
    let ramp = |n: usize| match n {
        0 => 0.25,
        n if n % 2 == 0 => 0.0,
        n => -1.0 / (std::f64::consts::PI * n as f64).powi(2),
    };
    let at =
        |k: usize| row.iter().enumerate().map(|(m, v)| f64::from(*v) * ramp(k.abs_diff(m))).sum::<f64>() / bin_pitch;
    (0..row.len()).map(at).collect()
}

//! A filter in space: `h(n)`, what a bin takes from the one n bins away, and the sums of its tails.
//!
//! h(n) is the integral of `R(f) exp(2 pi i f n)` over the frequencies -1/2 to 1/2 in cycles a bin, R = window times |f| or the caller's
//! response. The plain ramp's are known (Ramachandran and Lakshminarayanan 1971; Kak and Slaney, eq. 3.61): 1/4 at n = 0, -1/(pi n)^2 at odd
//! n, 0 at even n. So the length of a transform has no say in what a row becomes, and the mean stays right.

use super::Filter;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::error::Result;
use isocenter_fft::Planner;
use rustfft::num_complex::Complex;
use std::f64::consts::PI;

/// A kernel, over so many bins on either side; a length unit is a bin.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// h(0), h(1), ...; it is even.
    pub(crate) taps: Vec<f64>,
    /// The sum of all taps from n + 1 on, at n: what a bin that lies n bins from a row's end takes from the edge value beyond.
    pub(crate) tails: Vec<f64>,
}

impl Kernel {
    /// For rows of `bins`; None where rows pass as they are.
    pub(crate) fn new(filter: &Filter, bins: usize) -> Result<Option<Self>> {
        let (taps, mean) = match filter {
            Filter::None => return Ok(None),
            Filter::Custom(response) => (interpolated(response, bins)?, f64::from(response[0])),
            Filter::RamLak { cutoff: 1.0 } => (collected((0..bins).map(ramp))?, 0.0),
            _ => (windowed(filter, bins)?, 0.0),
        };
        // All taps sum to the response at frequency 0.
        let mut left = 0.5 * (mean - taps[0]);
        let tail = |n: usize| {
            left -= if n == 0 { 0.0 } else { taps[n] };
            left
        };
        let tails = collected((0..bins).map(tail))?;
        Ok(Some(Self { taps, tails }))
    }

    /// Response of transforms of `length`, 2 bins - 1 or more: of the taps within a row, so that the convolution is linear.
    pub(crate) fn response(&self, length: usize) -> Result<Vec<f64>> {
        let mut line: Vec<Complex<f64>> = zeros(length)?;
        for (n, &h) in self.taps.iter().enumerate() {
            line[n].re = h;
            line[(length - n) % length].re = h;
        }
        transform(&mut line)?;
        collected(line.iter().map(|z| z.re))
    }

    /// What it multiplies the largest value of a row by at most, with the edge values beyond or not.
    pub(crate) fn gain(&self, edge: bool) -> f64 {
        let sizes = |values: &[f64]| values.iter().map(|v| v.abs()).sum::<f64>();
        let tail = self.tails.iter().fold(0.0, |most: f64, t| most.max(t.abs()));
        self.taps[0].abs() + 2.0 * sizes(&self.taps[1..]) + if edge { 2.0 * tail } else { 0.0 }
    }
}

/// With exp(2 pi i j k / length), in place.
fn transform(line: &mut [Complex<f64>]) -> Result<()> {
    let fft = Planner::new().plan_fft_inverse(line.len());
    fft.process_with_scratch(line, &mut zeros(fft.get_inplace_scratch_len())?);
    Ok(())
}

fn ramp(n: usize) -> f64 {
    match n {
        0 => 0.25,
        n if n % 2 == 1 => -1.0 / (PI * n as f64).powi(2),
        _ => 0.0,
    }
}

/// The kernel of a response that is linear between values evenly spaced from 0 to 1/2: as that repeats in frequency, its Fourier
/// coefficients are those of the values times the ones of a triangle.
fn interpolated(response: &[f32], bins: usize) -> Result<Vec<f64>> {
    let period = 2 * (response.len() - 1);
    let value = |k: usize| f64::from(response[k.min(period - k)]) / period as f64;
    let mut line = collected((0..period).map(|k| Complex { re: value(k), im: 0.0 }))?;
    transform(&mut line)?;
    let triangle = |n: usize| {
        let x = PI * n as f64 / period as f64;
        if n == 0 { 1.0 } else { (x.sin() / x).powi(2) }
    };
    collected((0..bins).map(|n| line[n % period].re * triangle(n)))
}

/// Nodes and weights of Gauss and Legendre over 0 to 1, mirrored: with 8 of them, a smooth integrand times half a turn of a wave or less is
/// summed to rounding.
const NODES: [(f64, f64); 4] = [
    (0.01985507175123188, 0.05061426814518813),
    (0.10166676129318664, 0.11119051722668724),
    (0.2372337950418355, 0.15685332293894363),
    (0.4082826787521751, 0.181341891689181),
];

/// (place, weight) of all nodes.
fn nodes() -> impl Iterator<Item = (f64, f64)> {
    NODES.into_iter().flat_map(|(x, w)| [(x, w), (1.0 - x, w)])
}

/// The kernel of a window times |f|, by quadrature over equal panels, which a transform for each node sums at once. Panels in which the
/// window begins anew or changes faster than nodes follow are cut into pieces, summed one by one.
fn windowed(filter: &Filter, bins: usize) -> Result<Vec<f64>> {
    let panels = super::padded_bins(bins.max(64)) / 2;
    let length = 2 * panels;
    let width = 0.5 / panels as f64;
    let integrand = |f: f64| 2.0 * f * filter.window(2.0 * f);
    let (ends, end) = (filter.seams(), filter.end().min(0.5));
    let smooth =
        |a: f64, b: f64| !ends.iter().any(|s| a < *s && *s < b) && b - a <= 0.6 * filter.distance_to_pole(a, b);
    let whole = collected((0..panels).map(|p| smooth(p as f64 * width, (p + 1) as f64 * width)))?;
    let mut taps: Vec<f64> = zeros(bins)?;
    let mut line: Vec<Complex<f64>> = zeros(length)?;
    for (at, weight) in nodes() {
        line.fill(Complex::default());
        for (p, z) in line.iter_mut().enumerate().take(panels).filter(|(p, _)| whole[*p]) {
            let f = (p as f64 + at) * width;
            z.re = if f < end { weight * width * integrand(f) } else { 0.0 };
        }
        transform(&mut line)?;
        for (n, h) in taps.iter_mut().enumerate() {
            let (sin, cos) = (2.0 * PI * n as f64 * at * width).sin_cos();
            *h += line[n].re * cos - line[n].im * sin;
        }
    }
    for p in (0..panels).filter(|p| !whole[*p]) {
        let mut pieces = vec![(p as f64 * width, (p + 1) as f64 * width)];
        while let Some((a, b)) = pieces.pop() {
            if a >= end {
                continue;
            }
            if let Some(seam) = ends.iter().copied().find(|s| a < *s && *s < b) {
                pieces.extend([(a, seam), (seam, b)]);
            } else if !smooth(a, b) {
                let middle = 0.5 * (a + b);
                pieces.extend([(a, middle), (middle, b)]);
            } else {
                for (at, weight) in nodes() {
                    let f = a + (b - a) * at;
                    let value = weight * (b - a) * integrand(f);
                    taps.iter_mut().enumerate().for_each(|(n, h)| *h += value * (2.0 * PI * f * n as f64).cos());
                }
            }
        }
    }
    Ok(taps)
}

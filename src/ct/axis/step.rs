//! The axis to a small part of a bin: where the step between both sides of the seams vanishes.
//!
//! A row is cut out about the present place by a window that is symmetric there, so that what lies beyond the detector, and is seen by
//! one side alone, does not count. With the axis d bins away the transforms of both sides are turned by -2 pi f d and 2 pi f d: the step
//! is -4 pi i f d times the value between them, of which least squares over frequencies make d. A frequency counts by the inverse of
//! its variance: noise, what the fit over angles cannot follow, what is sampled too coarsely; and by how much of it is signal. Stripes are
//! the same on both sides, so that of a step's two parts only the one that is odd about the axis has them: the even part is free of them.

use super::background::{BACKGROUNDS, Part};
use super::kernels::{Kernel, kernels};
use super::line::{Line, fit, median};
use super::rows::Rows;
use super::seams::{Near, Seams};
use crate::context::Job;
use crate::cpu::buffer::{append, collected, zeros};
use crate::ct::rows::filter::padded_bins;
use crate::error::Result;
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::f64::consts::{PI, TAU};
use std::ops::Range;
use std::sync::Arc;

/// Part of the window's half-width in which it falls off.
const TAPER: f64 = 0.25;
/// Frequencies from here on hold nothing but noise, and those that are measured end where it begins to matter.
const NOISE_FROM: f64 = 0.4;
const MEASURED_TO: f64 = 0.25;
/// Ratio of neighbouring frequencies that are judged together.
const BAND: f64 = 1.08;
/// Fits that leave a larger part of a wave's power are not taken, however little noise they leave: what they leave is the same sign over
/// many frequencies, which adds up where noise does not. (Simulated scans: 1e-7 and 1e-6 are as good, 1e-5 is three times worse.)
const MAX_BIAS: f64 = 1e-7;
/// Frequencies, of the transform's, that smooth backgrounds reach.
const SMOOTH_TO: usize = 256;
const ITERATIONS: usize = 14;
/// Bins that the place moves in a step at most.
const MAX_MOVE: f64 = 3.0;

/// A band of frequencies about a seam.
#[derive(Clone, Copy)]
struct Choice {
    kernel: usize,
    /// Of the step's even part and of its odd one.
    weights: [f64; 2],
    /// Variance of the value between both sides.
    noise: f64,
}

impl Choice {
    fn counts(&self) -> bool {
        self.weights[0] > 0.0
    }
}

pub(super) struct Steps {
    fft: Arc<dyn Fft<f32>>,
    bands: Vec<Range<usize>>,
    /// Of each seam.
    kernels: Vec<Vec<Kernel>>,
    /// `[seam][band]`.
    choices: Vec<Vec<Choice>>,
    /// Half-widths of the rows' windows.
    halves: Vec<f64>,
}

/// Where the rows settled.
pub(super) struct Settled {
    pub(super) line: Line,
    pub(super) error: f64,
    /// What noise alone makes of it.
    pub(super) noise: f64,
    /// Robust deviation of rows from the line.
    pub(super) scatter: f64,
}

/// Memory of one row's work.
struct Scratch {
    line: Vec<Complex<f32>>,
    fft: Vec<Complex<f32>>,
    window: Vec<f32>,
    turns: Vec<Complex<f64>>,
}

impl Steps {
    pub(super) fn new(rows: &Rows, seams: &Seams, centres: &[f64]) -> Result<Self> {
        let length = padded_bins(rows.bins);
        let fft = FftPlanner::new().plan_fft_forward(length);
        let end = rows.bins as f64 - 1.0;
        let halves = collected(centres.iter().map(|c| c.min(end - c).max(2.0)))?;
        let mut bands: Vec<Range<usize>> = Vec::new();
        let measured = (length as f64 * MEASURED_TO) as usize;
        let mut first = 1;
        while first < measured {
            let next = ((first as f64 * BAND) as usize).max(first + 1).min(measured);
            append(&mut bands, first..next)?;
            first = next;
        }
        let mut steps = Self { fft, bands, kernels: Vec::new(), choices: Vec::new(), halves };
        steps.kernels = seams.list.iter().map(kernels).collect::<Result<_>>()?;
        steps.choose(rows, seams, centres)?;
        Ok(steps)
    }

    fn scratch(&self, bins: usize) -> Result<Scratch> {
        let (length, fft) = (self.fft.len(), self.fft.get_inplace_scratch_len());
        Ok(Scratch { line: zeros(length)?, fft: zeros(fft)?, window: zeros(bins)?, turns: zeros(length / 2)? })
    }

    /// Chooses each band's fit: the one that leaves the least variance.
    fn choose(&mut self, rows: &Rows, seams: &Seams, centres: &[f64]) -> Result<()> {
        let length = self.fft.len();
        let powers = (0..rows.lines.len()).into_par_iter().map(|k| self.power(rows, seams, k, centres[k]));
        let powers = powers.collect::<Result<Vec<(Vec<f64>, [f64; 2])>>>()?;
        let count = (powers.len() * seams.list.len() * 2) as f64;
        let power = |q: usize| powers.iter().map(|(p, _)| p[q]).sum::<f64>() / count;
        // Sum of the squared window.
        let [window, fourth] = [0, 1].map(|k| powers.iter().map(|(_, w)| w[k]).sum::<f64>() / powers.len() as f64);
        // A window makes neighbouring frequencies alike: this part of them is independent.
        let overlap = window * window / fourth / length as f64;
        let high = (length as f64 * NOISE_FROM) as usize..length / 2;
        let noise = high.clone().map(power).sum::<f64>() / high.len().max(1) as f64;
        let noise = noise.max(f64::MIN_POSITIVE);
        let radius = self.halves.iter().copied().fold(0.0, f64::max);
        for (seam, kernels) in seams.list.iter().zip(&self.kernels) {
            let mut choices = Vec::new();
            for band in &self.bands {
                let signal = (band.clone().map(power).sum::<f64>() / band.len() as f64 - noise).max(0.0);
                let frequency = (band.start + band.end - 1) as f64 / 2.0 / length as f64;
                // Edges of a slice make rows whose power falls as the third power of the frequency: what lies beyond the sampling's limit
                // is folded back, and a mirrored row folds it differently.
                let folded = 2.0 * signal * (frequency / (1.0 - frequency)).powi(3);
                let judged = kernels.iter().enumerate().filter_map(|(k, kernel)| {
                    let [step, value] = kernel.noise().map(|v| v * noise);
                    let bias = kernel.bias(seam, frequency, radius);
                    if bias > MAX_BIAS {
                        return None;
                    }
                    // A part has half of the variance; stripes are in one part alone.
                    let even = 0.5 * (step + signal * bias + folded);
                    let odd = even + 2.0 * rows.stripes * window;
                    let weights = [even, odd].map(|v| overlap * signal / (signal + value) / v);
                    Some(Choice { kernel: k, weights, noise: value })
                });
                let best =
                    judged.max_by(|a, b| (a.weights[0] + a.weights[1]).total_cmp(&(b.weights[0] + b.weights[1])));
                append(&mut choices, best.unwrap_or(Choice { kernel: 0, weights: [0.0; 2], noise: 0.0 }))?;
            }
            append(&mut self.choices, choices)?;
        }
        Ok(())
    }

    /// Power of the pairs' rows over frequencies, and the sums of the window's second and fourth powers.
    fn power(&self, rows: &Rows, seams: &Seams, row: usize, centre: f64) -> Result<(Vec<f64>, [f64; 2])> {
        let (mut scratch, half) = (self.scratch(rows.bins)?, self.fft.len() / 2);
        self.aim(&mut scratch, row, centre);
        let mut power: Vec<f64> = zeros(half)?;
        for seam in &seams.list {
            self.transform(rows, row, seam.pair, &mut scratch);
            for (q, sum) in power.iter_mut().enumerate().skip(1) {
                let [a, b] = apart(&scratch.line, q);
                *sum += a.norm_sqr() + b.norm_sqr();
            }
        }
        Ok((power, [2, 4].map(|n| scratch.window.iter().map(|w| f64::from(*w).powi(n)).sum())))
    }

    /// Prepares window and turns for a place.
    fn aim(&self, scratch: &mut Scratch, row: usize, centre: f64) {
        let half = self.halves[row];
        for (k, w) in scratch.window.iter_mut().enumerate() {
            let u = (k as f64 - centre).abs() / half;
            let fall = ((u - 1.0 + TAPER) / TAPER).clamp(0.0, 1.0);
            *w = (0.5 + 0.5 * (PI * fall).cos()) as f32;
        }
        let length = self.fft.len() as f64;
        for (q, turn) in scratch.turns.iter_mut().enumerate() {
            *turn = Complex::from_polar(1.0, TAU * q as f64 / length * centre);
        }
    }

    /// Transforms the windowed rows of two views as one.
    fn transform(&self, rows: &Rows, row: usize, views: [usize; 2], scratch: &mut Scratch) {
        let (a, b) = (rows.row(row, views[0]), rows.row(row, views[1]));
        scratch.line.fill(Complex::default());
        for (((z, w), a), b) in scratch.line.iter_mut().zip(&scratch.window).zip(a).zip(b) {
            *z = Complex { re: w * a, im: w * b };
        }
        self.fft.process_with_scratch(&mut scratch.line, &mut scratch.fft);
    }

    /// Transforms of smooth backgrounds in the window, about its middle: the even ones, which are real, and the odd ones, which are not.
    fn smooth(&self, scratch: &mut Scratch, row: usize, centre: f64) -> Result<Vec<[Complex<f64>; BACKGROUNDS]>> {
        let count = SMOOTH_TO.min(self.fft.len() / 2);
        let mut smooth: Vec<[Complex<f64>; BACKGROUNDS]> = zeros(count)?;
        for order in 0..BACKGROUNDS {
            scratch.line.fill(Complex::default());
            for (k, (z, w)) in scratch.line.iter_mut().zip(&scratch.window).enumerate() {
                let u = ((k as f64 - centre) / self.halves[row]) as f32;
                let even = w * u.powi(2 * order as i32);
                *z = Complex { re: even, im: even * u };
            }
            self.fft.process_with_scratch(&mut scratch.line, &mut scratch.fft);
            for (q, to) in smooth.iter_mut().enumerate().skip(1) {
                let [even, odd] = apart(&scratch.line, q).map(|z| z * scratch.turns[q]);
                to[order] = Complex { re: even.re, im: odd.im };
            }
        }
        Ok(smooth)
    }

    /// What a row says at a place: the sums whose ratio is how far its axis is from there.
    fn measure(&self, rows: &Rows, seams: &Seams, row: usize, centre: f64) -> Result<[f64; 2]> {
        let mut scratch = self.scratch(rows.bins)?;
        self.aim(&mut scratch, row, centre);
        let smooth = self.smooth(&mut scratch, row, centre)?;
        let length = self.fft.len() as f64;
        let mut sums = [0.0; 2];
        let mut sides: Vec<[Complex<f64>; 2]> = zeros(self.bands.last().map_or(0, |b| b.end))?;
        for ((seam, kernels), choices) in seams.list.iter().zip(&self.kernels).zip(&self.choices) {
            sides.fill(Default::default());
            let used = choices.iter().filter(|c| c.counts()).map(|c| kernels[c.kernel].weights.len()).max();
            for (pair, near) in seam.near[..used.unwrap_or(0)].chunks(2).enumerate() {
                let views = [near[0].view, near.last().map_or(near[0].view, |n| n.view)];
                self.transform(rows, row, views, &mut scratch);
                for (band, choice) in self.bands.iter().zip(choices).filter(|(_, c)| c.counts()) {
                    let weights = &kernels[choice.kernel].weights;
                    let Some(weights) = weights.get(2 * pair..) else { continue };
                    for q in band.clone() {
                        let values = apart(&scratch.line, q);
                        for ((value, Near { far, .. }), [step, between]) in values.iter().zip(near).zip(weights) {
                            let turned = value * scratch.turns[q];
                            let value = if *far { turned.conj() } else { turned };
                            sides[q][0] += value * *step;
                            sides[q][1] += value * *between;
                        }
                    }
                }
            }
            let mut parts: [Part; 2] = Default::default();
            for (band, choice) in self.bands.iter().zip(choices).filter(|(_, c)| c.counts()) {
                for q in band.clone() {
                    let [step, value] = sides[q];
                    let slope = 2.0 * TAU * q as f64 / length;
                    let smooth = smooth.get(q).copied().unwrap_or_default();
                    // A step of -i slope d value.
                    let noise = slope * slope * choice.noise / 2.0;
                    parts[0].add(choice.weights[0], step.re, slope * value.im, noise, smooth.map(|z| z.re));
                    parts[1].add(choice.weights[1], step.im, -slope * value.re, noise, smooth.map(|z| z.im));
                }
            }
            for [shift, information] in parts.map(|p| p.left()) {
                sums[0] += shift;
                sums[1] += information;
            }
        }
        Ok(sums)
    }

    /// Moves the rows' places until nothing is left to measure.
    pub(super) fn settle(
        &self,
        rows: &Rows,
        seams: &Seams,
        centres: &mut [f64],
        tilt: bool,
        job: &Job,
    ) -> Result<Settled> {
        let count = rows.lines.len();
        let mut before: Option<f64> = None;
        let mut result = Settled { line: Line::through(0.0), error: f64::INFINITY, noise: f64::INFINITY, scatter: 0.0 };
        for round in 0..ITERATIONS {
            job.check()?;
            job.advance(1.0 / ITERATIONS as f64);
            let sums = (0..count).into_par_iter().map(|k| self.measure(rows, seams, k, centres[k]));
            let sums = sums.collect::<Result<Vec<[f64; 2]>>>()?;
            let total: f64 = sums.iter().map(|s| s[1].max(0.0)).sum();
            // Rows without signal have no say, and none of those that have says all.
            let floor = 1e-9 * total / count as f64;
            let weights = collected(sums.iter().map(|s| s[1].max(0.0)))?;
            let told = |k: usize| if sums[k][1] > floor { sums[k][0] / sums[k][1] } else { 0.0 };
            let places = collected((0..count).map(|k| centres[k] + told(k).clamp(-MAX_MOVE, MAX_MOVE)))?;
            let line = fit(&rows.lines, &places, &weights, tilt)?;
            let moves = collected((0..count).map(|k| line.at(rows.lines[k] as f64) - centres[k]))?;
            let step = moves.iter().sum::<f64>() / count as f64;
            // The window moves along, so that steps shrink by a steady ratio: every other one goes to where they end.
            let ratio = before.filter(|_| round % 2 == 1).map_or(0.0, |b| step / b);
            let stretch = if ratio.abs() < 0.8 { 1.0 / (1.0 - ratio) } else { 1.0 };
            centres.iter_mut().zip(&moves).for_each(|(c, m)| *c += m + step * (stretch - 1.0));
            before = Some(step);
            let strays = collected(places.iter().zip(&rows.lines).map(|(p, l)| (p - line.at(*l as f64)).abs()))?;
            let seen: f64 = strays.iter().zip(&weights).map(|(s, w)| (w * s).powi(2)).sum::<f64>().sqrt() / total;
            let shifted = line.shifted(step * (stretch - 1.0));
            let noise = 1.0 / total.max(f64::MIN_POSITIVE).sqrt();
            result = Settled { line: shifted, error: seen.max(noise), noise, scatter: median(strays) / 0.6745 };
            if moves.iter().all(|m| m.abs() < 2e-6 * rows.bins as f64 / 640.0) {
                break;
            }
        }
        Ok(result)
    }
}

/// The transforms of two rows that were transformed as real and imaginary part.
fn apart(line: &[Complex<f32>], q: usize) -> [Complex<f64>; 2] {
    let wide = |z: Complex<f32>| Complex { re: f64::from(z.re), im: f64::from(z.im) };
    let (z, mirrored) = (wide(line[q]), wide(line[line.len() - q]).conj());
    let (sum, difference) = (z + mirrored, z - mirrored);
    [sum / 2.0, Complex { re: difference.im / 2.0, im: -difference.re / 2.0 }]
}

//! Transforms of rows about a place, cut out by a window that is symmetric there.

use super::background::BACKGROUNDS;
use super::rows::Rows;
use super::seams::Seams;
use crate::rows::filter::padded_bins;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::error::Result;
use isocenter_fft::Planner;
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::f64::consts::{PI, TAU};
use std::sync::Arc;

/// Part of the window's half-width in which it falls off.
const TAPER: f64 = 0.25;
/// Frequencies, of the transform's, that smooth backgrounds reach.
const SMOOTH_TO: usize = 256;

pub(super) struct Spectra {
    fft: Arc<dyn Fft<f32>>,
    /// Half-widths of the rows' windows.
    halves: Vec<f64>,
    /// From the place to the detector's farther end, at most: what is as far from the axis crosses the window that fast.
    pub(super) reach: f64,
}

/// Memory of one row's work.
pub(super) struct Scratch {
    line: Vec<Complex<f32>>,
    fft: Vec<Complex<f32>>,
    window: Vec<f32>,
    turns: Vec<Complex<f64>>,
}

impl Spectra {
    /// Windows as wide as the detector is on both sides of these places.
    pub(super) fn new(bins: usize, centres: &[f64]) -> Result<Self> {
        let fft = Planner::new().plan_fft_forward(padded_bins(bins));
        let end = bins as f64 - 1.0;
        let halves = collected(centres.iter().map(|c| c.min(end - c).max(2.0)))?;
        Ok(Self { fft, halves, reach: centres.iter().map(|c| c.max(end - c)).fold(0.0, f64::max) })
    }

    /// Length of the transforms.
    pub(super) fn length(&self) -> usize {
        self.fft.len()
    }

    /// How much further the detector reaches on the far side of a place than the window on both, at most.
    pub(super) fn aside(&self) -> f64 {
        self.reach / self.halves.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Mean sizes of a row's values in the middle of its window, and where that falls off, over the seams' pairs.
    pub(super) fn cut(&self, rows: &Rows, seams: &Seams, row: usize, centre: f64) -> [f64; 2] {
        let half = self.halves[row];
        let inner = half * (1.0 - TAPER);
        let mut sums = [[0.0; 2]; 2];
        for view in seams.list.iter().flat_map(|s| s.pair) {
            let values =
                rows.row(row, view).iter().enumerate().map(|(k, v)| ((k as f64 - centre).abs(), f64::from(v.abs())));
            for (distance, value) in values.filter(|(d, _)| *d <= half) {
                let [sum, count] = &mut sums[usize::from(distance > inner)];
                (*sum, *count) = (*sum + value, *count + 1.0);
            }
        }
        sums.map(|[sum, count]| sum / f64::max(count, 1.0))
    }

    /// Memory for a row that is looked at about a place.
    pub(super) fn about(&self, bins: usize, row: usize, centre: f64) -> Result<Scratch> {
        let (length, fft, half) = (self.length(), self.fft.get_inplace_scratch_len(), self.halves[row]);
        let falls = |k: usize| (((k as f64 - centre).abs() / half - 1.0 + TAPER) / TAPER).clamp(0.0, 1.0);
        let window = collected((0..bins).map(|k| (0.5 + 0.5 * (PI * falls(k)).cos()) as f32))?;
        let turn = |q: usize| Complex::from_polar(1.0, TAU * q as f64 / length as f64 * centre);
        Ok(Scratch { line: zeros(length)?, fft: zeros(fft)?, window, turns: collected((0..length / 2).map(turn))? })
    }

    /// Transforms two windowed rows as one.
    pub(super) fn transform(&self, scratch: &mut Scratch, a: &[f32], b: &[f32]) {
        scratch.line.fill(Complex::default());
        for (((z, w), a), b) in scratch.line.iter_mut().zip(&scratch.window).zip(a).zip(b) {
            *z = Complex { re: w * a, im: w * b };
        }
        self.fft.process_with_scratch(&mut scratch.line, &mut scratch.fft);
    }

    /// Transforms of smooth backgrounds in the window, about its middle: real parts of the even ones, imaginary parts of the odd ones.
    pub(super) fn smooth(
        &self,
        scratch: &mut Scratch,
        row: usize,
        centre: f64,
    ) -> Result<Vec<[Complex<f64>; BACKGROUNDS]>> {
        let mut smooth: Vec<[Complex<f64>; BACKGROUNDS]> = zeros(SMOOTH_TO.min(self.length() / 2))?;
        let bins = scratch.window.len();
        let place = |k: usize| ((k as f64 - centre) / self.halves[row]) as f32;
        for order in 0..BACKGROUNDS as i32 {
            let even = collected((0..bins).map(|k| place(k).powi(2 * order)))?;
            let odd = collected((0..bins).map(|k| place(k).powi(2 * order + 1)))?;
            self.transform(scratch, &even, &odd);
            for (q, to) in smooth.iter_mut().enumerate().skip(1) {
                let [even, odd] = scratch.turned(q);
                to[order as usize] = Complex { re: even.re, im: odd.im };
            }
        }
        Ok(smooth)
    }
}

impl Scratch {
    /// Sums of the window's second and fourth powers.
    pub(super) fn window_powers(&self) -> [f64; 2] {
        [2, 4].map(|n| self.window.iter().map(|w| f64::from(*w).powi(n)).sum())
    }

    /// What two rows that were transformed together have at a frequency above 0.
    pub(super) fn apart(&self, q: usize) -> [Complex<f64>; 2] {
        let wide = |z: Complex<f32>| Complex { re: f64::from(z.re), im: f64::from(z.im) };
        let (z, mirrored) = (wide(self.line[q]), wide(self.line[self.line.len() - q]).conj());
        let (sum, difference) = (z + mirrored, z - mirrored);
        [sum / 2.0, Complex { re: difference.im / 2.0, im: -difference.re / 2.0 }]
    }

    /// The same with the place as origin.
    pub(super) fn turned(&self, q: usize) -> [Complex<f64>; 2] {
        self.apart(q).map(|z| z * self.turns[q])
    }
}

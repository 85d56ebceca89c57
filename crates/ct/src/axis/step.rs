//! The axis to a small part of a bin: where the step between both sides of the seams vanishes.
//!
//! A row is cut out about the present place by a window that is symmetric there, so that what lies beyond the detector, and is seen by
//! one side alone, does not count. With the axis d bins away the transforms of both sides are turned by -2 pi f d and 2 pi f d: the step
//! is -4 pi i f d times the value between them, of which least squares over frequencies make d. A frequency counts by the inverse of
//! its variance: noise, what the fit over angles cannot follow, what is sampled too coarsely; and by how much of it is signal. Stripes are
//! the same on both sides, so that of a step's two parts only the one that is odd about the axis has them: the even one is free of them.

use super::background::{BACKGROUNDS, Part, variances};
use super::choice::{Chosen, bands, choose};
use super::line::{Line, fit, median};
use super::rows::Rows;
use super::seams::{Near, Seams};
use super::spectra::Spectra;
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;
use std::ops::Range;

const ITERATIONS: usize = 14;
/// Bins that the place moves in a step at most.
const MAX_MOVE: f64 = 3.0;
/// What rows have in common their scatter does not tell: edges that are sampled at other places of a bin, views between which features move.
/// With it 98 % of 989 simulated scans are within twice the error (`benches/axis_errors.py`).
const COMMON: f64 = 1.35;
/// What windows leave in bins about one seam where they cut off the object, which enters and leaves them from view to view; more where they are narrower than
/// the detector (simulated scans).
const CUT: f64 = 0.1;
/// They do where values at their ends are larger than this part of those in their middle (noise has less), and do so fully from the second on.
const CUT_FROM: [f64; 2] = [0.2, 0.5];

pub(super) struct Steps {
    spectra: Spectra,
    bands: Vec<Range<usize>>,
    /// Of each seam.
    chosen: Vec<Chosen>,
    /// Standard error that windows leave.
    cut: f64,
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

impl Steps {
    pub(super) fn new(rows: &Rows, seams: &Seams, centres: &[f64]) -> Result<Self> {
        let spectra = Spectra::new(rows.bins, centres)?;
        let bands = bands(spectra.length())?;
        let chosen = choose(&spectra, &bands, rows, seams, centres)?;
        let [mut middle, mut ends] = [0.0; 2];
        for (k, centre) in centres.iter().enumerate() {
            let [inner, outer] = spectra.cut(rows, seams, k, *centre);
            (middle, ends) = (middle + inner, ends + outer);
        }
        let [from, to] = CUT_FROM;
        let part = if middle > 0.0 { ((ends / middle - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
        let cut = CUT * part * spectra.aside().sqrt() / seams.list.len() as f64;
        Ok(Self { spectra, bands, chosen, cut })
    }

    /// What a row says at a place: even and odd part about each seam.
    fn measure(&self, rows: &Rows, seams: &Seams, row: usize, centre: f64) -> Result<Vec<Part>> {
        let Self { spectra, bands, chosen, .. } = self;
        let mut scratch = spectra.about(rows.bins, row, centre)?;
        let smooth = spectra.smooth(&mut scratch, row, centre)?;
        let last = bands.last().map_or(0, |b| b.end);
        let mut stripes: Vec<f64> = zeros(last)?;
        if let Some(mean) = rows.mean(row) {
            spectra.transform(&mut scratch, mean, mean);
            stripes.iter_mut().enumerate().skip(1).for_each(|(q, s)| *s = 2.0 * scratch.turned(q)[0].im);
        }
        let mut sides: Vec<[Complex<f64>; 2]> = zeros(last)?;
        let mut parts: Vec<Part> = zeros(2 * chosen.len())?;
        for ((seam, Chosen { kernels, choices }), parts) in seams.list.iter().zip(chosen).zip(parts.chunks_mut(2)) {
            sides.fill(Default::default());
            let used = choices.iter().filter(|c| c.counts()).map(|c| kernels[c.kernel].weights.len()).max();
            for (pair, near) in seam.near[..used.unwrap_or(0)].chunks(2).enumerate() {
                let views = [near[0].view, near.last().map_or(near[0].view, |n| n.view)];
                spectra.transform(&mut scratch, rows.row(row, views[0]), rows.row(row, views[1]));
                for (band, choice) in bands.iter().zip(choices).filter(|(_, c)| c.counts()) {
                    let Some(weights) = kernels[choice.kernel].weights.get(2 * pair..) else { continue };
                    for q in band.clone() {
                        for ((value, Near { far, .. }), [step, between]) in
                            scratch.turned(q).iter().zip(near).zip(weights)
                        {
                            let value = if *far { value.conj() } else { *value };
                            sides[q][0] += value * *step;
                            sides[q][1] += value * *between;
                        }
                    }
                }
            }
            for (band, choice) in bands.iter().zip(choices).filter(|(_, c)| c.counts()) {
                for q in band.clone() {
                    let [step, value] = sides[q];
                    let slope = 2.0 * TAU * q as f64 / spectra.length() as f64;
                    let smooth = smooth.get(q).copied().unwrap_or_default();
                    let noise = slope * slope * choice.noise / 2.0;
                    // A step of -i slope d value.
                    parts[0].add(choice.weights[0], step.re, slope * value.im, noise, smooth.map(|z| z.re));
                    let odd = step.im - choice.stripes * stripes[q];
                    parts[1].add(choice.weights[1], odd, -slope * value.re, noise, smooth.map(|z| z.im));
                }
            }
        }
        Ok(parts)
    }

    fn measured(&self, rows: &Rows, seams: &Seams, centres: &[f64]) -> Result<Vec<Vec<Part>>> {
        (0..centres.len()).into_par_iter().map(|k| self.measure(rows, seams, k, centres[k])).collect()
    }

    /// Moves the rows' places until nothing is left to measure: without backgrounds, then with such as were seen.
    pub(super) fn settle(
        &self,
        rows: &Rows,
        seams: &Seams,
        centres: &mut [f64],
        tilt: bool,
        job: &Job,
    ) -> Result<Settled> {
        let without = self.approach(rows, seams, centres, tilt, [[f64::INFINITY; BACKGROUNDS]; 2], job)?;
        let mut sums: Vec<Part> = zeros(2 * self.chosen.len())?;
        for parts in self.measured(rows, seams, centres)? {
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
        // Rows share the beam, and so their backgrounds: each row expects its part of them.
        let count = rows.lines.len() as f64;
        let expected = [0, 1].map(|k| variances(sums.iter().skip(k).step_by(2)).map(|v| 1.0 / (v * count)));
        if expected.as_flattened().iter().all(|e| e.is_infinite()) {
            return Ok(without);
        }
        self.approach(rows, seams, centres, tilt, expected, job)
    }

    fn approach(
        &self,
        rows: &Rows,
        seams: &Seams,
        centres: &mut [f64],
        tilt: bool,
        expected: [[f64; BACKGROUNDS]; 2],
        job: &Job,
    ) -> Result<Settled> {
        let count = rows.lines.len();
        let mut before: Option<f64> = None;
        let mut result = Settled { line: Line::through(0.0), error: f64::INFINITY, noise: f64::INFINITY, scatter: 0.0 };
        for round in 0..ITERATIONS {
            job.check()?;
            job.advance(0.5 / ITERATIONS as f64);
            let sums = self.measured(rows, seams, centres)?;
            let sum = |parts: &Vec<Part>| {
                parts
                    .iter()
                    .enumerate()
                    .map(|(k, p)| p.shift(expected[k % 2]))
                    .fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d])
            };
            let sums = collected(sums.iter().map(sum))?;
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
            let error = (COMMON * seen.max(noise)).hypot(self.cut);
            result = Settled { line: shifted, error, noise, scatter: median(strays) / 0.6745 };
            if moves.iter().all(|m| m.abs() < 2e-6 * rows.bins as f64 / 640.0) {
                break;
            }
        }
        Ok(result)
    }
}

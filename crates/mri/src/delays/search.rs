//! Delays with which samples of the middle of k-space fit an image best.

use super::fit::{Fit, Solution, Tangents};
use super::middle::Middle;
use super::pairs::{Delays, PAIRS};
use super::shift::{Readouts, Shift};
use isocenter_base::context::Job;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_solve::dense::{cholesky, solve};
use rustfft::num_complex::Complex;

/// Voxels of the fit beyond twice the radius: samples there are also of frequencies beyond.
const EDGE: f64 = 1.5;
/// The same for what delays move, at most, in cycles per field of view, of two axes and of three.
const MARGIN: [f64; 2] = [2.5, 1.0];
/// Ridge of the fit.
const RIDGE: f64 = 1e-6;
/// Radius of the first look.
const FIRST: [f64; 2] = [4.0, 1.5];
/// Its ridge, which says that a hundredth of the energy is not looked at: so the valley is wide.
const FIRST_RIDGE: f64 = 1e-2;
const FIRST_COILS: usize = 3;
const FIRST_STEPS: usize = 6;
/// It begins with delays that are so many cycles per field of view apart, and no less than so many samples; no step is longer.
const APART: [f64; 2] = [0.6, 0.5];
const MAX_STEPS: usize = 30;
/// A step of so many samples is the last.
const LAST: f64 = 1e-4;
/// For derivatives, in samples.
const NUDGE: f64 = 1e-3;
/// What the cubic between samples and the fit's resolution leave, in cycles per field of view.
const FLOOR: f64 = 5e-4;

pub(super) struct Search<'a> {
    pub(super) readouts: &'a Readouts<'a>,
    pub(super) middle: &'a Middle,
    /// Voxels along x, y, z.
    pub(super) sides: [usize; 3],
    pub(super) level: Level,
    pub(super) range: f64,
}

/// What was found, and how far to trust it.
pub(super) struct Found {
    pub(super) delays: Delays,
    pub(super) errors: Delays,
    pub(super) confidence: f64,
}

/// One fit, with the samples that it is of.
struct Trial<'a> {
    search: &'a Search<'a>,
    fit: Fit,
    side: usize,
    samples: Vec<usize>,
}

impl Search<'_> {
    /// Of data `[coil][sample of the middle]`, strongest coils first.
    pub(super) fn run(&self, data: &[Complex<f64>], coils: usize, job: &Job) -> Result<Found> {
        let kind = self.middle.axes.len() - 2;
        let first = FIRST[kind].min(self.middle.radius);
        let few = coils.min(FIRST_COILS);
        let some = &data[..few * self.middle.samples.len()];
        let start = self.trial(some, few, [first, 0.5, FIRST_RIDGE])?.look(job)?;
        let moved = start.iter().fold(0.0f64, |most, v| most.max(v.abs())) * self.middle.step;
        self.trial(data, coils, [self.middle.radius, moved.min(MARGIN[kind]), RIDGE])?.refine(start, job)
    }

    fn trial<'s>(
        &'s self,
        data: &[Complex<f64>],
        coils: usize,
        [radius, margin, ridge]: [f64; 3],
    ) -> Result<Trial<'s>> {
        let Middle { samples, axes, .. } = self.middle;
        let nominal =
            |m: usize| axes.iter().map(|d| (self.readouts.axes[*d][m] * self.sides[*d] as f64).powi(2)).sum::<f64>();
        let inside: Vec<usize> = (0..samples.len()).filter(|k| nominal(samples[*k]) <= radius * radius).collect();
        let of_coil = data.chunks_exact(samples.len());
        let data = of_coil.flat_map(|coil| inside.iter().map(|k| coil[*k])).collect();
        let side = 2 * (radius + EDGE + margin).ceil() as usize;
        let fit = Fit::new(self.level, [side, axes.len()], ridge, data, coils)?;
        Ok(Trial { search: self, fit, side, samples: inside.iter().map(|k| samples[*k]).collect() })
    }

    /// Of the first look's delays, in samples.
    fn apart(&self) -> f64 {
        (APART[0] / self.middle.step).max(APART[1])
    }

    /// Pairs of axes that delays are looked for of.
    fn unknown(&self) -> Vec<usize> {
        (0..PAIRS.len()).filter(|p| PAIRS[*p].iter().all(|d| self.middle.axes.contains(d))).collect()
    }
}

impl Trial<'_> {
    /// Places of the samples along z, y, x in cycles per voxel of the fit, within +-0.5.
    fn points(&self, delays: &Delays) -> Vec<[f64; 3]> {
        let (Search { readouts, middle, sides, .. }, shift) = (self.search, Shift::new(delays));
        // Axes that readouts do not move along are left out: the last two, or all three.
        let scale = |d: &usize| sides[*d] as f64 / self.side as f64;
        let point = |m: &usize| {
            let (place, mut out) = (shift.place(readouts, *m), [0.0; 3]);
            for (k, d) in middle.axes.iter().enumerate() {
                let at = place[*d] * scale(d);
                out[2 - k] = at - at.round();
            }
            out
        };
        self.samples.par_iter().map(point).collect()
    }

    fn solve(&mut self, delays: &Delays, job: &Job) -> Result<Solution> {
        job.check()?;
        let points = self.points(delays);
        self.fit.solve(&points)
    }

    /// The likeliest of where descents from equal delays along all axes end.
    fn look(&mut self, job: &Job) -> Result<Delays> {
        let Search { range, middle, .. } = self.search;
        let apart = self.search.apart();
        let count = (range / apart).floor() as i32;
        let mut best = (f64::INFINITY, [0.0; 6]);
        // Small ones first, so that they stay where others are as good.
        for step in (0..=count).flat_map(|k| if k == 0 { vec![0] } else { vec![k, -k] }) {
            let mut start = [0.0; 6];
            middle.axes.iter().for_each(|d| start[*d] = f64::from(step) * apart);
            let (at, solution, _) = self.descend(start, FIRST_STEPS, &|s| s.surprise, job)?;
            if solution.surprise < best.0 {
                best = (solution.surprise, at);
            }
        }
        Ok(best.1)
    }

    fn tangents(&mut self, at: &Delays, solution: &Solution) -> Result<Tangents> {
        let moves = self.search.unknown().into_iter().map(|p| {
            let nudged = |by: f64| {
                let mut delays = *at;
                delays[p] += by;
                self.points(&delays)
            };
            let difference = |a: f64, b: f64| (a - b - (a - b).round()) / (2.0 * NUDGE);
            let both = nudged(NUDGE).into_iter().zip(nudged(-NUDGE));
            both.map(|(a, b)| [0, 1, 2].map(|d| difference(a[d], b[d]))).collect()
        });
        let moves: Vec<Vec<[f64; 3]>> = moves.collect();
        self.fit.tangents(solution, &moves)
    }

    /// Gauss and Newton's steps, damped as Levenberg and Marquardt's: where they end, and whether that is the end.
    fn descend(
        &mut self,
        start: Delays,
        steps: usize,
        height: &dyn Fn(&Solution) -> f64,
        job: &Job,
    ) -> Result<(Delays, Solution, bool)> {
        let unknown = self.search.unknown();
        let (mut at, mut damping, longest) = (start, 0.0, self.search.apart());
        let mut solution = self.solve(&at, job)?;
        let mut tangents = self.tangents(&at, &solution)?;
        for _ in 0..steps {
            let Some(step) = step(&tangents, damping) else { break };
            let length = step.iter().map(|v| v * v).sum::<f64>().sqrt();
            let mut tried = at;
            unknown.iter().zip(&step).for_each(|(p, v)| tried[*p] += v * (longest / length).min(1.0));
            let next = self.solve(&tried, job)?;
            let lower = height(&next) < height(&solution);
            if lower {
                (at, solution, damping) = (tried, next, damping / 10.0);
            }
            if length <= LAST {
                return Ok((at, solution, true));
            }
            if lower {
                tangents = self.tangents(&at, &solution)?;
            } else {
                damping = (10.0 * damping).max(1e-3);
            }
        }
        Ok((at, solution, false))
    }

    /// The best delays near some, and their errors.
    fn refine(&mut self, start: Delays, job: &Job) -> Result<Found> {
        let (at, _, ended) = self.descend(start, MAX_STEPS, &|s| s.cost, job)?;
        if !ended {
            fail!(
                OutOfRange,
                "no delays within {} samples (options.range) make samples agree in the middle of k-space: readouts do not cross often enough, or something else differs between them (motion, another trajectory or unit)",
                self.search.range
            );
        }
        // The plan has the places of what was tried last.
        let solution = self.solve(&at, job)?;
        self.told(at, &solution)
    }

    fn told(&mut self, delays: Delays, solution: &Solution) -> Result<Found> {
        let unknown = self.search.unknown();
        let tangents = self.tangents(&delays, solution)?;
        let (samples, length) = (self.samples.len() as f64, self.search.readouts.length);
        let mut numbers: Vec<usize> = self.samples.iter().map(|m| m / length).collect();
        let readout = numbers.clone();
        numbers.dedup();
        let readout: Vec<usize> = readout.iter().map(|r| numbers.partition_point(|n| n < r)).collect();
        let scores = self.fit.scores(&tangents, &readout)?;
        let count = unknown.len();
        let Some(inverse) = inverse(&tangents.matrix, count) else {
            fail!(OutOfRange, "the readouts do not tell all delays apart: they cross in too few directions");
        };
        // By the residual if it is noise; and by how far readouts, each of which may have faults of its own, disagree.
        let freedom = self.fit.freedom(solution)?;
        let variance = solution.cost / (freedom * self.fit.coils() as f64);
        let spread = samples / freedom;
        let mut errors = [0.0; 6];
        for (k, p) in unknown.iter().enumerate() {
            let row = &inverse[k * count..][..count];
            let of_noise = 0.5 * variance * row[k];
            let of_readouts: f64 = (0..numbers.len())
                .map(|r| row.iter().zip(&scores).map(|(v, s)| v * s[r]).sum::<f64>().powi(2))
                .sum::<f64>()
                * spread.powi(2);
            errors[*p] = (of_noise.max(of_readouts) + (FLOOR / self.search.middle.step).powi(2)).sqrt();
        }
        let whole = self.fit.energy() / (samples * self.fit.coils() as f64);
        let confidence = (1.0 - variance / whole).clamp(0.0, 1.0);
        Ok(Found { delays, errors, confidence })
    }
}

/// Of a system with as much of its diagonal added.
fn step(tangents: &Tangents, damping: f64) -> Option<Vec<f64>> {
    let (mut matrix, mut step) = (tangents.matrix.clone(), tangents.gradient.clone());
    let count = step.len();
    (0..count).for_each(|k| matrix[k * count + k] *= 1.0 + damping);
    let least = 1e-12 * (0..count).map(|k| matrix[k * count + k]).fold(0.0, f64::max);
    if !cholesky(&mut matrix, count, least) {
        return None;
    }
    solve(&matrix, &mut step);
    Some(step)
}

fn inverse(matrix: &[f64], count: usize) -> Option<Vec<f64>> {
    let mut factor = matrix.to_vec();
    let least = 1e-12 * (0..count).map(|k| matrix[k * count + k]).fold(0.0, f64::max);
    if !cholesky(&mut factor, count, least) {
        return None;
    }
    let mut out = Vec::new();
    for k in 0..count {
        let mut column: Vec<f64> = (0..count).map(|i| f64::from(u8::from(i == k))).collect();
        solve(&factor, &mut column);
        out.extend(column);
    }
    Some(out)
}

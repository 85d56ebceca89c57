//! Which views each frequency takes, and how much it counts: by the variance of its step.

use super::kernels::{Kernel, kernels};
use super::rows::Rows;
use super::seams::{Seam, Seams};
use super::spectra::Spectra;
use isocenter_base::cpu::buffer::{append, collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use std::f64::consts::PI;
use std::ops::Range;

/// Frequencies from here on hold nothing but noise, and those that are measured end where it begins to matter. (Simulated scans: to 0.1 and to
/// 0.25 errors are a tenth larger.)
const NOISE_FROM: f64 = 0.4;
const MEASURED_TO: f64 = 0.15;
/// Ratio of neighbouring frequencies that are judged together.
const BAND: f64 = 1.08;
/// Fits that leave a larger part of a wave's power are not taken, however little noise they leave: what they leave is the same sign over
/// many frequencies, which adds up where noise does not. (Simulated scans: 1e-6 to 1e-4 are as good, and say a smaller error than they have.)
const MAX_BIAS: f64 = 1e-7;

/// A band of frequencies about a seam.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) kernel: usize,
    /// Of the step's even part and of its odd one: inverse variances of its parts at a frequency, as far as neighbouring ones are
    /// independent, times the part of the value's power that is signal.
    pub(super) weights: [f64; 2],
    /// Variance of the value between both sides.
    pub(super) noise: f64,
    /// Part of the mean over views that is stripes.
    pub(super) stripes: f64,
}

impl Choice {
    pub(super) fn counts(&self) -> bool {
        self.weights[0] > 0.0
    }
}

/// What is taken of a seam.
pub(super) struct Chosen {
    pub(super) kernels: Vec<Kernel>,
    /// Of each band.
    pub(super) choices: Vec<Choice>,
}

/// Bands of frequencies that are measured.
pub(super) fn bands(length: usize) -> Result<Vec<Range<usize>>> {
    let mut bands = Vec::new();
    let measured = (length as f64 * MEASURED_TO) as usize;
    let mut first = 1;
    while first < measured {
        let next = ((first as f64 * BAND) as usize).max(first + 1).min(measured);
        append(&mut bands, first..next)?;
        first = next;
    }
    Ok(bands)
}

/// What the pairs' rows have at frequencies.
struct Power {
    /// Mean over rows and views.
    mean: Vec<f64>,
    /// What noise makes of it.
    noise: f64,
    /// Means of the sums of the window's second and fourth powers.
    window: [f64; 2],
}

impl Power {
    fn of(spectra: &Spectra, rows: &Rows, seams: &Seams, centres: &[f64]) -> Result<Self> {
        let (length, count) = (spectra.length(), rows.lines.len());
        let each = (0..count).into_par_iter().map(|k| row_power(spectra, rows, seams, k, centres[k]));
        let each = each.collect::<Result<Vec<_>>>()?;
        let views = (count * seams.list.len() * 2) as f64;
        let mean = collected((0..length / 2).map(|q| each.iter().map(|(p, _)| p[q]).sum::<f64>() / views))?;
        let high = &mean[((length as f64 * NOISE_FROM) as usize).min(length / 2 - 1)..];
        let noise = (high.iter().sum::<f64>() / high.len() as f64).max(f64::MIN_POSITIVE);
        let window = [0, 1].map(|k| each.iter().map(|(_, w)| w[k]).sum::<f64>() / count as f64);
        Ok(Self { mean, noise, window })
    }

    fn signal(&self, band: &Range<usize>) -> f64 {
        (self.mean[band.clone()].iter().sum::<f64>() / band.len() as f64 - self.noise).max(0.0)
    }
}

fn row_power(spectra: &Spectra, rows: &Rows, seams: &Seams, row: usize, centre: f64) -> Result<(Vec<f64>, [f64; 2])> {
    let mut scratch = spectra.about(rows.bins, row, centre)?;
    let mut power: Vec<f64> = zeros(spectra.length() / 2)?;
    for seam in &seams.list {
        let [a, b] = seam.pair.map(|view| rows.row(row, view));
        spectra.transform(&mut scratch, a, b);
        for (q, sum) in power.iter_mut().enumerate().skip(1) {
            *sum += scratch.apart(q).iter().map(|z| z.norm_sqr()).sum::<f64>();
        }
    }
    Ok((power, scratch.window_powers()))
}

/// Chooses each band's fit about each seam: the one that leaves the least variance.
pub(super) fn choose(
    spectra: &Spectra,
    bands: &[Range<usize>],
    rows: &Rows,
    seams: &Seams,
    centres: &[f64],
) -> Result<Vec<Chosen>> {
    let power = Power::of(spectra, rows, seams, centres)?;
    let mut list = Vec::new();
    for seam in &seams.list {
        append(&mut list, of_seam(spectra, bands, rows, seam, &power)?)?;
    }
    Ok(list)
}

fn of_seam(spectra: &Spectra, bands: &[Range<usize>], rows: &Rows, seam: &Seam, power: &Power) -> Result<Chosen> {
    let (length, radius) = (spectra.length() as f64, spectra.reach);
    let [window, fourth] = power.window;
    // A window makes neighbouring frequencies alike: this part of them is independent.
    let independent = window * window / fourth / length;
    // What is the same in all rows is not averaged over them, as noise is.
    let shared = rows.lines.len() as f64;
    let kernels = kernels(seam)?;
    let mut choices = Vec::new();
    // Sums over many views vanish for some high frequencies by chance, at all radii that are looked at: a fit that does not follow coarser
    // waves does not follow finer ones.
    let mut bias: Vec<f64> = zeros(kernels.len())?;
    for band in bands {
        let frequency = (band.start + band.end - 1) as f64 / 2.0 / length;
        let signal = power.signal(band);
        // Edges of a slice make rows whose power falls with the third power of the frequency. What lies beyond the sampling's limit is
        // folded back, another part of it in each view; that of an edge is as far off at all frequencies, and adds up like ten.
        let folded = 10.0 * signal * (frequency / (1.0 - frequency)).powi(3);
        // The mean over views tells stripes but for the object's own mean, which falls with the frequency as the mean of a wave over
        // directions does; its size is that of 24 simulated scans, where it is 4 to 7 for all frequencies.
        let object = 6.0 * signal / (PI * PI * frequency * radius);
        let stripes = rows.stripes * window;
        let known = stripes / (stripes + shared * object).max(f64::MIN_POSITIVE);
        bias.iter_mut().zip(&kernels).for_each(|(b, kernel)| *b = b.max(kernel.bias(seam, frequency, radius)));
        let judged = kernels.iter().zip(&bias).enumerate().filter(|(_, (_, bias))| **bias <= MAX_BIAS);
        let judged = judged.map(|(k, (kernel, bias))| {
            let [step, value] = kernel.noise();
            let noise = value * power.noise;
            // Each part has half of the variance; stripes are in the odd one alone.
            let even = 0.5 * (step * (power.noise + shared * folded) + shared * signal * bias);
            let odd = even + 2.0 * stripes * (1.0 - known);
            let weights = [even, odd].map(|v| independent * signal / (signal + noise) / v);
            Choice { kernel: k, weights, noise, stripes: known }
        });
        let best = judged.max_by(|a, b| (a.weights[0] + a.weights[1]).total_cmp(&(b.weights[0] + b.weights[1])));
        append(&mut choices, best.unwrap_or(Choice { kernel: 0, weights: [0.0; 2], noise: 0.0, stripes: 0.0 }))?;
    }
    Ok(Chosen { kernels, choices })
}

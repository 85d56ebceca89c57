//! The ramp filter of filtered back projection.
//!
//! Ramp: the exact samples of the band-limited ramp (Ramachandran and Lakshminarayanan 1971; Kak and Slaney, eq. 3.61):
//! 1/4 at n = 0, -1/(pi n)^2 at odd n, 0 at even n, over the bin pitch. Transforming these, instead of sampling |f|, keeps
//! the mean right: the response at frequency 0 is small but not 0.

use isocenter_base::cpu::buffer::{collected, probe, zeros};
use isocenter_base::error::{Result, fail};
use isocenter_fft::Planner;
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::f64::consts::PI;
use std::sync::Arc;

/// Filter of `filter` and `reconstruct`; cutoffs are fractions of the Nyquist frequency.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Filter {
    /// The plain ramp.
    RamLak { cutoff: f64 },
    /// sinc(f / 2).
    SheppLogan { cutoff: f64 },
    /// cos(pi f / 2).
    Cosine { cutoff: f64 },
    /// 0.54 + 0.46 cos(pi f).
    Hamming { cutoff: f64 },
    /// 0.5 + 0.5 cos(pi f).
    Hann { cutoff: f64 },
    /// 1 - 6 f^2 (1 - f) up to 1/2, 2 (1 - f)^3 above.
    Parzen { cutoff: f64 },
    /// 1 / sqrt(1 + f^(2 order)).
    Butterworth { cutoff: f64, order: f64 },
    /// Rows pass as they are.
    None,
    /// Frequency response evenly spaced from 0 to Nyquist, both in; cycles a bin.
    Custom(Vec<f32>),
}

/// What lies beyond the ends of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Zeros.
    #[default]
    Zero,
    /// The edge values.
    Edge,
}

impl Filter {
    /// Refuses parameters out of range, naming the field.
    pub fn check(&self) -> Result<()> {
        match self {
            Filter::RamLak { cutoff }
            | Filter::SheppLogan { cutoff }
            | Filter::Cosine { cutoff }
            | Filter::Hamming { cutoff }
            | Filter::Hann { cutoff }
            | Filter::Parzen { cutoff } => check_cutoff(*cutoff),
            Filter::Butterworth { cutoff, order } => {
                check_cutoff(*cutoff)?;
                if !order.is_finite() {
                    fail!(NotFiniteParameter, "options.butterworth_order is {order}; it must be finite");
                }
                if !(0.5..=64.0).contains(order) {
                    fail!(OutOfRange, "options.butterworth_order is {order}; it must be 0.5 to 64");
                }
                Ok(())
            }
            Filter::None => Ok(()),
            Filter::Custom(response) => {
                if response.len() < 2 {
                    fail!(OutOfRange, "options.response_count is {}; it must be at least 2", response.len());
                }
                match response.iter().enumerate().find(|(_, v)| !v.is_finite()) {
                    Some((k, v)) => fail!(NotFiniteParameter, "options.response[{k}] is {v}; it must be finite"),
                    None => Ok(()),
                }
            }
        }
    }

    /// Window at `nyquist`, the frequency as a fraction of Nyquist.
    fn window(&self, nyquist: f64) -> f64 {
        let within = |cutoff: &f64, w: fn(f64) -> f64| if nyquist <= *cutoff { w(nyquist / cutoff) } else { 0.0 };
        match self {
            Filter::RamLak { cutoff } => within(cutoff, |_| 1.0),
            Filter::SheppLogan { cutoff } => {
                within(cutoff, |f| if f == 0.0 { 1.0 } else { (PI * f / 2.0).sin() / (PI * f / 2.0) })
            }
            Filter::Cosine { cutoff } => within(cutoff, |f| (PI * f / 2.0).cos()),
            Filter::Hamming { cutoff } => within(cutoff, |f| 0.54 + 0.46 * (PI * f).cos()),
            Filter::Hann { cutoff } => within(cutoff, |f| 0.5 + 0.5 * (PI * f).cos()),
            Filter::Parzen { cutoff } => {
                within(cutoff, |f| if f <= 0.5 { 1.0 - 6.0 * f * f * (1.0 - f) } else { 2.0 * (1.0 - f).powi(3) })
            }
            Filter::Butterworth { cutoff, order } => 1.0 / (1.0 + (nyquist / cutoff).powf(2.0 * order)).sqrt(),
            Filter::None | Filter::Custom(_) => 1.0,
        }
    }
}

fn check_cutoff(cutoff: f64) -> Result<()> {
    if !cutoff.is_finite() {
        fail!(NotFiniteParameter, "options.cutoff is {cutoff}; it must be finite");
    }
    if !(cutoff > 0.0 && cutoff <= 1.0) {
        fail!(OutOfRange, "options.cutoff is {cutoff}; it must be above 0 and at most 1");
    }
    Ok(())
}

/// Length of the transforms for rows of `bins`: at least 2 bins - 1, so that zero padding makes the convolution linear; even,
/// with no prime factor above 5.
pub(crate) fn padded_bins(bins: usize) -> usize {
    (2 * bins..).step_by(2).find(|&n| [2, 3, 5].iter().fold(n, |n, p| strip(n, *p)) == 1).unwrap_or(2 * bins)
}

fn strip(mut n: usize, prime: usize) -> usize {
    while n.is_multiple_of(prime) {
        n /= prime;
    }
    n
}

/// A filter made ready for rows of one length.
pub(crate) struct RowFilter {
    bins: usize,
    padding: Padding,
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
    /// Response over the transform's length, its scale included; empty for [`Filter::None`].
    response: Vec<f32>,
}

/// A thread's working memory.
pub(crate) struct Scratch {
    line: Vec<Complex<f32>>,
    fft: Vec<Complex<f32>>,
}

impl RowFilter {
    pub(crate) fn new(filter: &Filter, padding: Padding, bins: usize, bin_pitch: f64) -> Result<Self> {
        let padded = padded_bins(bins);
        // The planner's tables.
        probe(Self::table_bytes(bins))?;
        let mut planner = Planner::new();
        let response = collected(response(filter, padded)?.iter().map(|h| (h / bin_pitch / padded as f64) as f32))?;
        let (forward, inverse) = (planner.plan_fft_forward(padded), planner.plan_fft_inverse(padded));
        Ok(Self { bins, padding, forward, inverse, response })
    }

    pub(crate) fn scratch(&self) -> Result<Scratch> {
        let [line, fft] = self.line_lens();
        Ok(Scratch { line: zeros(line)?, fft: zeros(fft)? })
    }

    /// Bytes of one [`Scratch`]: the transform, and as much again for rustfft.
    pub(crate) fn scratch_bytes(bins: usize) -> u64 {
        2 * 8 * padded_bins(bins) as u64
    }

    /// Bytes of the response and of rustfft's tables for both directions.
    pub(crate) fn table_bytes(bins: usize) -> u64 {
        (4 + 4 * 8) * padded_bins(bins) as u64 + (32 << 10)
    }

    /// Numbers in a line of [`RowFilter::apply_to_line`], and those that it works in besides.
    pub(crate) fn line_lens(&self) -> [usize; 2] {
        let fft = self.forward.get_inplace_scratch_len().max(self.inverse.get_inplace_scratch_len());
        [self.forward.len(), fft]
    }

    /// Filters two rows in place, as the real and imaginary part of one: the response is real and even, so they stay apart.
    pub(crate) fn apply(&self, a: &mut [f32], b: &mut [f32], scratch: &mut Scratch) {
        if self.response.is_empty() {
            return;
        }
        let Scratch { line, fft } = scratch;
        for ((z, &re), &im) in line.iter_mut().zip(a.iter()).zip(b.iter()) {
            *z = Complex { re, im };
        }
        self.apply_to_line(line, fft);
        for ((z, re), im) in line.iter().zip(a).zip(b) {
            (*re, *im) = (z.re, z.im);
        }
    }

    /// Filters the two rows that a line begins with, as real and imaginary part; what follows them is lost.
    pub(crate) fn apply_to_line(&self, line: &mut [Complex<f32>], fft: &mut [Complex<f32>]) {
        if self.response.is_empty() {
            return;
        }
        let (rows, beyond) = line.split_at_mut(self.bins);
        match self.padding {
            Padding::Zero => beyond.fill(Complex::default()),
            Padding::Edge => {
                let (first, last) = (rows[0], rows[self.bins - 1]);
                let (after, before) = beyond.split_at_mut(beyond.len() / 2);
                after.fill(last);
                before.fill(first);
            }
        }
        self.forward.process_with_scratch(line, fft);
        for (z, h) in line.iter_mut().zip(&self.response) {
            *z = z.scale(*h);
        }
        self.inverse.process_with_scratch(line, fft);
    }
}

/// Frequency response in cycles a bin, over the whole transform.
pub(crate) fn response(filter: &Filter, padded: usize) -> Result<Vec<f64>> {
    let nyquist = |k: usize| k.min(padded - k) as f64 / (padded / 2) as f64;
    match filter {
        Filter::None => Ok(Vec::new()),
        Filter::Custom(given) => collected((0..padded).map(|k| interpolate(given, nyquist(k)))),
        _ => {
            let ramp = ramp(padded)?;
            collected((0..padded).map(|k| ramp[k] * filter.window(nyquist(k))))
        }
    }
}

/// Transform of the exact spatial samples of the ramp.
fn ramp(padded: usize) -> Result<Vec<f64>> {
    let sample = |k: usize| {
        let n = k.min(padded - k) as f64;
        Complex {
            re: if k == 0 {
                0.25
            } else if n % 2.0 == 1.0 {
                -1.0 / (PI * n).powi(2)
            } else {
                0.0
            },
            im: 0.0,
        }
    };
    let mut line: Vec<Complex<f64>> = collected((0..padded).map(sample))?;
    let fft = Planner::new().plan_fft_forward(padded);
    fft.process_with_scratch(&mut line, &mut zeros(fft.get_inplace_scratch_len())?);
    collected(line.iter().map(|z| z.re))
}

fn interpolate(given: &[f32], nyquist: f64) -> f64 {
    let at = nyquist * (given.len() - 1) as f64;
    let k = (at as usize).min(given.len() - 2);
    let t = at - k as f64;
    f64::from(given[k]) * (1.0 - t) + f64::from(given[k + 1]) * t
}

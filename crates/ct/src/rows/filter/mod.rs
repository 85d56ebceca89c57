//! The filter of filtered back projection: which one, its kernel, and rows of the processor.

mod kernel;
mod row;

pub(crate) use kernel::Kernel;
pub(crate) use row::{RowFilter, Scratch};

use isocenter_base::error::{Result, fail};
use std::f64::consts::PI;

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
    /// The edge values, for ever.
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

    /// Where the window ends, in cycles a bin; Nyquist or beyond where it does not.
    fn end(&self) -> f64 {
        match self {
            Filter::RamLak { cutoff }
            | Filter::SheppLogan { cutoff }
            | Filter::Cosine { cutoff }
            | Filter::Hamming { cutoff }
            | Filter::Hann { cutoff }
            | Filter::Parzen { cutoff } => 0.5 * cutoff,
            Filter::Butterworth { .. } | Filter::None | Filter::Custom(_) => 0.5,
        }
    }

    /// Where the window goes from one formula to the next.
    fn seams(&self) -> [f64; 2] {
        let end = self.end();
        [if matches!(self, Filter::Parzen { .. }) { 0.5 * end } else { end }, end]
    }

    /// How far the frequencies `a` to `b` are from where the window has no value, in the complex plane: smooth within that.
    fn distance_to_pole(&self, a: f64, b: f64) -> f64 {
        let Filter::Butterworth { cutoff, order } = self else { return f64::INFINITY };
        let (sin, cos) = (PI / (2.0 * order)).sin_cos();
        let (re, im) = (0.5 * cutoff * cos, 0.5 * cutoff * sin);
        (re - re.clamp(a, b)).hypot(im)
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

//! Phase retrieval: frames of transmissions filtered in two dimensions, so that edges that free space has made bright become the
//! attenuation behind them again.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::{Result, fail};
use std::f64::consts::PI;

/// Formula of a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhaseMethod {
    /// Paganin, Mayo, Gureyev, Miller, Wilkins, Journal of Microscopy 206, 33 (2002).
    #[default]
    Paganin,
    /// The contrast transfer function of one distance.
    Ctf,
}

/// How phase is retrieved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// By which formula.
    pub method: PhaseMethod,
    /// Wavelength times distance, in squared bins.
    pub fresnel: f64,
    /// Ratio of the refractive index's decrement and its imaginary part.
    pub delta_beta: f64,
    /// Of the contrast transfer function: where it is small, in parts of its envelope's square.
    pub alpha: f64,
    /// Standard deviation of the unsharp mask, in bins, and how much of what it takes away is added; 0 for none.
    pub unsharp: [f64; 2],
}

/// X rays of 1 keV have this wavelength, in micrometres.
const KEV_WAVELENGTH: f64 = 1.239_841_984e-3;

/// What a scan's user knows.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Of the photons.
    pub energy_kev: f64,
    /// From sample to detector.
    pub distance_mm: f64,
    /// A bin at the sample.
    pub pixel_um: f64,
}

impl Setup {
    /// Wavelength times distance, in squared bins; refuses what is in other units.
    pub fn fresnel(&self) -> Result<f64> {
        let Self { energy_kev, distance_mm, .. } = *self;
        within("energy_kev", energy_kev, [1.0, 1000.0], ["is the energy in MeV?", "is the energy in eV?"])?;
        within(
            "distance_mm",
            distance_mm,
            [1.0, 1e5],
            ["is the distance in metres?", "is the distance in micrometres?"],
        )?;
        self.check_pixel()?;
        Ok(KEV_WAVELENGTH / energy_kev * distance_mm * 1e3 / (self.pixel_um * self.pixel_um))
    }

    /// The pixel alone.
    pub fn check_pixel(&self) -> Result<()> {
        let hints = ["is the pixel in millimetres or metres?", "is the pixel in nanometres?"];
        within("pixel_um", self.pixel_um, [0.01, 1000.0], hints)
    }
}

/// An error unless a value lies between; which unit was meant, if it is too small, or too large.
fn within(name: &str, value: f64, [low, high]: [f64; 2], [small, large]: [&str; 2]) -> Result<()> {
    if !value.is_finite() {
        fail!(NotFiniteParameter, "phase.{name} is {value}; it must be finite");
    }
    if value <= 0.0 {
        fail!(OutOfRange, "phase.{name} is {value}; it must be {low} to {high}");
    }
    if !(low..=high).contains(&value) {
        let hint = if value < low { small } else { large };
        fail!(OutOfRange, "phase.{name} is {value}; it must be {low} to {high}: {hint}");
    }
    Ok(())
}

/// A slab's results depend on what is farther away than its margins by less than this part of a step there: by Paganin's formula, and by the
/// contrast transfer function, whose kernel is far longer.
const TOLERANCES: [f64; 2] = [1e-6, 1e-5];
/// How much farther than the detector's longer side a kernel may reach.
const LONGEST: usize = 4;
/// Rows and bins beside a slab that any filter is given.
const MIN_REACH: f64 = 8.0;

impl Phase {
    /// Refuses parameters out of range, naming the field.
    pub fn check(&self) -> Result<()> {
        let no = ["", ""];
        within("delta_beta", self.delta_beta, [1e-3, 1e6], no)?;
        within("alpha", self.alpha, [1e-8, 1.0], no)?;
        let [sigma, amount] = self.unsharp;
        for (name, value) in [("unsharp_sigma", sigma), ("unsharp_amount", amount)] {
            if !value.is_finite() {
                fail!(NotFiniteParameter, "phase.{name} is {value}; it must be finite");
            }
            if !(0.0..=100.0).contains(&value) {
                fail!(OutOfRange, "phase.{name} is {value}; it must be 0 to 100");
            }
        }
        if (sigma == 0.0) != (amount == 0.0) {
            fail!(
                OutOfRange,
                "phase.unsharp_sigma is {sigma} and unsharp_amount {amount}; an unsharp mask has both, none has neither"
            );
        }
        Ok(())
    }

    /// Refuses a kernel that is far longer than a detector's sides.
    pub(crate) fn check_detector(&self, rows: usize, bins: usize) -> Result<()> {
        let (reach, most) = (self.reach(), LONGEST * rows.max(bins).max(64));
        if reach > most {
            fail!(
                OutOfRange,
                "phase: the filter's kernel reaches over {reach} bins, and the detector has {bins} in {rows} rows: are energy, distance and pixel in their units?"
            );
        }
        Ok(())
    }

    /// Paganin's length squared, in squared bins: pi lambda z delta / beta.
    fn length_squared(&self) -> f64 {
        PI * self.fresnel * self.delta_beta
    }

    /// What frequencies are multiplied by, at so many squared cycles a bin.
    pub(crate) fn response(&self, squared: f64) -> f64 {
        let retrieved = match self.method {
            PhaseMethod::Paganin => 1.0 / (1.0 + self.length_squared() * squared),
            PhaseMethod::Ctf => {
                let chi = PI * self.fresnel * squared;
                let transfer = chi.cos() + self.delta_beta * chi.sin();
                let envelope = 1.0 + (self.delta_beta * chi.min(PI / 2.0).sin()).powi(2);
                (1.0 + self.alpha) * transfer / (transfer * transfer + self.alpha * envelope)
            }
        };
        let [sigma, amount] = self.unsharp;
        retrieved * (1.0 + amount * (1.0 - (-2.0 * PI * PI * sigma * sigma * squared).exp()))
    }

    /// What transforms of (rows, bins) are multiplied by, for frequencies from 0 on in both directions, so that there and back is one.
    pub(crate) fn table(&self, [ny, nx]: [usize; 2]) -> Result<Vec<f32>> {
        let mut table = zeros((ny / 2 + 1) * (nx / 2 + 1))?;
        for (y, row) in table.chunks_exact_mut(nx / 2 + 1).enumerate() {
            let across = (y as f64 / ny as f64).powi(2);
            for (x, value) in row.iter_mut().enumerate() {
                *value = (self.response(across + (x as f64 / nx as f64).powi(2)) / (ny * nx) as f64) as f32;
            }
        }
        Ok(table)
    }

    /// What transmissions become before the filter, and what it gives becomes a line integral: by the formulas of `isoc_ct_phase_method`.
    pub(crate) fn is_linear(&self) -> bool {
        self.method == PhaseMethod::Ctf
    }

    /// Rows and bins on either side that a value depends on. Paganin's kernel falls by exp(-2 pi r / length); that of the contrast transfer
    /// function rings behind its zeros, by exp(-r sqrt(alpha) / (fresnel f)). Both have alternating tails k / (2 pi r)^2 from the kink k of
    /// the response at the highest frequency, of which a step sees half of the last one.
    pub(crate) fn reach(&self) -> usize {
        let tolerance = TOLERANCES[usize::from(self.is_linear())];
        let falls = -tolerance.ln();
        let smooth = falls / (2.0 * PI) * self.length_squared().sqrt();
        let rings = match self.method {
            PhaseMethod::Ctf if self.fresnel > 1.0 => 0.5 * falls * self.fresnel / self.alpha.sqrt(),
            _ => 0.0,
        };
        // Along the border of the frequencies.
        let falls_by = |y: f64| (self.response(0.25 + y * y) - self.response(0.499 * 0.499 + y * y)).abs();
        let kink = 2.0 * (0..=64).map(|k| falls_by(f64::from(k) / 128.0)).fold(0.0, f64::max) / 0.001;
        let alternates = (0.5 * kink / tolerance).sqrt() / (2.0 * PI);
        // Beyond the longest detector there is nothing.
        (smooth.max(rings).max(alternates) + MIN_REACH + 6.0 * self.unsharp[0]).ceil().min((1u64 << 20) as f64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_literature() {
        // 20 keV, 100 mm, 1 um: lambda z is 0.062 nm x 100 mm.
        let setup = Setup { energy_kev: 20.0, distance_mm: 100.0, pixel_um: 1.0 };
        let fresnel = setup.fresnel().unwrap();
        assert!((fresnel - 6.199_209_92).abs() < 1e-8);
        let phase = Phase { method: PhaseMethod::Paganin, fresnel, delta_beta: 100.0, alpha: 0.0, unsharp: [0.0; 2] };
        // 1 / (1 + 4 pi^2 f^2 z delta / mu), mu = 4 pi beta / lambda.
        let z_delta_over_mu = fresnel * 100.0 / (4.0 * PI);
        let expected = 1.0 / (1.0 + 4.0 * PI * PI * 0.01 * z_delta_over_mu);
        assert!((phase.response(0.01) - expected).abs() < 1e-12);
        // 44.13 bins times ln(1e6) / 2 pi, and 8.
        assert_eq!(phase.reach(), 106);
        // Where waves are long both formulas agree.
        let ctf = Phase { method: PhaseMethod::Ctf, alpha: 1e-6, ..phase };
        assert!((ctf.response(1e-5) / phase.response(1e-5) - 1.0).abs() < 1e-4);
    }
}

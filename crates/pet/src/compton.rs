//! Compton scattering of annihilation photons, and how many of the scattered ones a detector's energy window takes.
//!
//! O. Klein, Y. Nishina, Z. Phys. 52, 1929; energies in units of the electron's rest energy, which is that of the photons: 1.

use super::response::FWHM_PER_SIGMA;
use isocenter_base::error::{Result, fail};
use std::f64::consts::{PI, SQRT_2};

/// Of the photons of an annihilation, keV.
pub(super) const REST: f64 = 510.998_95;

/// What is left of a photon's energy when it has turned by an angle of this cosine.
#[inline(always)]
pub(super) fn energy(cosine: f64) -> f64 {
    1.0 / (2.0 - cosine)
}

/// The cosine of the angle by which a photon has turned that has this energy, from 1/3 to 1.
pub(super) fn cosine(energy: f64) -> f64 {
    2.0 - 1.0 / energy
}

/// The differential cross section, in half the square of the classical electron radius a steradian.
#[inline(always)]
pub(super) fn differential(cosine: f64) -> f64 {
    let k = energy(cosine);
    k * k * (k + 1.0 / k - 1.0 + cosine * cosine)
}

/// The total cross section of a photon of this energy, in the same unit.
#[inline(always)]
pub(super) fn total(energy: f64) -> f64 {
    let (e, log) = (energy, (1.0 + 2.0 * energy).ln());
    let first = (1.0 + e) / (e * e) * (2.0 * (1.0 + e) / (1.0 + 2.0 * e) - log / e);
    4.0 * PI * (first + log / (2.0 * e) - (1.0 + 3.0 * e) / (1.0 + 2.0 * e).powi(2))
}

/// A detector's energy resolution and window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnergyWindow {
    /// Full width at half maximum over the energy, of unscattered photons. It falls with the root of the energy.
    pub resolution: f64,
    /// keV.
    pub lower: f64,
    /// keV.
    pub upper: f64,
}

impl Default for EnergyWindow {
    /// 11 %, 435 to 585 keV.
    fn default() -> Self {
        Self { resolution: 0.11, lower: 435.0, upper: 585.0 }
    }
}

impl EnergyWindow {
    /// `name`: of the struct that a caller has set.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let Self { resolution, lower, upper } = *self;
        for (field, v) in [("energy_resolution", resolution), ("energy_lower", lower), ("energy_upper", upper)] {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "{name}.{field} is {v}; it must be finite");
            }
        }
        if !(resolution > 0.0 && resolution <= 1.0) {
            fail!(
                OutOfRange,
                "{name}.energy_resolution is {resolution}; it must be above 0 and at most 1, the width over the energy"
            );
        }
        if !(lower > 0.0 && lower < REST) {
            fail!(OutOfRange, "{name}.energy_lower is {lower} keV; it must be above 0 and below 511");
        }
        if upper <= REST {
            fail!(OutOfRange, "{name}.energy_upper is {upper} keV; it must be above 511");
        }
        Ok(())
    }

    /// The part of photons of this energy that the window takes.
    fn part(&self, energy: f64) -> f64 {
        let sigma = self.resolution / FWHM_PER_SIGMA * energy.sqrt();
        let below = |edge: f64| 0.5 * (1.0 + erf((edge / REST - energy) / (sigma * SQRT_2)));
        below(self.upper) - below(self.lower)
    }

    /// [`EnergyWindow::part`] over that of unscattered photons.
    pub(super) fn acceptance(&self, energy: f64) -> f64 {
        self.part(energy) / self.part(1.0)
    }
}

/// The error function, to 1.2e-7 of the complement's own size (W. H. Press et al., Numerical Recipes, 1992, section 6.2).
fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let series = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let sum = series.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let complement = t * (sum - x * x).exp();
    if x < 0.0 { complement - 1.0 } else { 1.0 - complement }
}

/// Cosines in a table of the acceptance: it changes by 0.4 % at most from one to the next, by 3e-6 between them as a straight line does not.
const STEPS: usize = 1024;

/// What the geometry of a scattering decides, by its cosine from -1 to 1.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The part of the scattered photons a steradian, times the acceptance; and the attenuation's ratio to that of unscattered photons.
    pub(super) values: Vec<[f32; 2]>,
}

impl Table {
    pub(super) fn new(window: &EnergyWindow) -> Self {
        let of = |k: usize| {
            let cosine = 2.0 * k as f64 / STEPS as f64 - 1.0;
            let e = energy(cosine);
            let part = differential(cosine) / total(1.0) * window.acceptance(e);
            [part as f32, (total(e) / total(1.0)) as f32]
        };
        Self { values: (0..=STEPS).map(of).collect() }
    }

    #[inline(always)]
    pub(super) fn at(&self, cosine: f32) -> [f32; 2] {
        let at = (cosine.clamp(-1.0, 1.0) + 1.0) * (0.5 * STEPS as f32);
        let k = (at as usize).min(STEPS - 1);
        let (a, b, f) = (self.values[k], self.values[k + 1], at - k as f32);
        [a[0] + f * (b[0] - a[0]), a[1] + f * (b[1] - a[1])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of the differential cross section is the total one; at low energies that of Thomson, 8/3 pi r^2.
    #[test]
    fn cross_sections_belong_together() {
        let steps = 100_000;
        let of = |k: usize| differential(2.0 * (k as f64 + 0.5) / f64::from(steps) - 1.0);
        let integral = 2.0 * PI * 2.0 / f64::from(steps) * (0..steps as usize).map(of).sum::<f64>();
        assert!((integral / total(1.0) - 1.0).abs() < 1e-8, "{integral} {}", total(1.0));
        assert!((total(1e-3) / (16.0 / 3.0 * PI) - (1.0 - 2e-3)).abs() < 1e-5, "{}", total(1e-3));
        // 0.2866 barn an electron at 511 keV (tables of J. H. Hubbell); r = 2.8179 fm.
        assert!((total(1.0) * 0.5 * 0.079_408 - 0.2866).abs() < 1e-4, "{}", total(1.0) * 0.5 * 0.079_408);
        for c in [-1.0, -0.3, 0.8, 1.0] {
            assert!((cosine(energy(c)) - c).abs() < 1e-12);
        }
    }

    #[test]
    fn windows_take_what_a_gaussian_has_in_them() {
        // Of tables of the normal distribution.
        for (x, expected) in [(0.0, 0.0), (0.5, 0.520_499_878), (-1.0, -0.842_700_793), (2.0, 0.995_322_265)] {
            assert!((erf(x) - expected).abs() < 2e-7, "{x}: {}", erf(x));
        }
        let window = EnergyWindow::default();
        assert!((window.acceptance(1.0) - 1.0).abs() < 1e-12);
        // A photon at the lower edge, half of whose energies are below it.
        assert!((window.part(435.0 / REST) - 0.5).abs() < 1e-3);
        assert!(window.acceptance(0.6) < 1e-3);
        let table = Table::new(&window);
        for c in [-0.99f32, -0.2, 0.3, 0.701, 0.9, 1.0] {
            let [part, ratio] = table.at(c);
            let e = energy(f64::from(c));
            let expected = differential(f64::from(c)) / total(1.0) * window.acceptance(e);
            assert!(
                (f64::from(part) - expected).abs() < 1e-5 * differential(1.0) / total(1.0),
                "{c}: {part} {expected}"
            );
            assert!((f64::from(ratio) - total(e) / total(1.0)).abs() < 1e-5);
        }
    }

    #[test]
    fn what_is_no_window_is_refused() {
        let of = |w: EnergyWindow| w.check("options").expect_err("refused").message;
        let plain = EnergyWindow::default();
        assert_eq!(plain.check("options"), Ok(()));
        assert!(of(EnergyWindow { resolution: 11.0, ..plain }).contains("options.energy_resolution is 11"));
        assert!(of(EnergyWindow { lower: 600.0, ..plain }).contains("below 511"));
        assert!(of(EnergyWindow { upper: 0.5, ..plain }).contains("options.energy_upper is 0.5 keV"));
        assert!(of(EnergyWindow { upper: f64::NAN, ..plain }).contains("finite"));
    }
}

//! What is scanned and how: the source, the attenuation, the scanner, its resolution, and the events besides the true ones.

use super::source::Source;
use crate::compton::EnergyWindow;
use crate::factors::AttenuationMap;
use crate::phantom::Phantom;
use crate::response::Radial;
use isocenter_base::error::{Result, fail};
use std::f64::consts::FRAC_PI_2;

/// A cylinder of detectors about the z axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scanner {
    /// In mm.
    pub diameter: f64,
    /// In mm.
    pub axial_length: f64,
    /// Largest tilt of a line, up or down, in radians.
    pub max_tilt: f64,
}

impl Default for Scanner {
    /// The scanner of the DIRECT measurements.
    fn default() -> Self {
        Self { diameter: 930.0, axial_length: 250.0, max_tilt: 10f64.to_radians() }
    }
}

/// How measured events are blurred; widths at half maximum, 0 for none.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// Of the time difference, in ps.
    pub time: f64,
    /// Across the line in the transverse plane, by the place's distance from the axis along that direction.
    pub radial: Radial,
    /// Across the line and the radial direction, in mm.
    pub axial: f64,
}

/// Events besides the true ones, as fractions of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// Ends uniform on the detectors, time difference uniform in the window, place between the ends.
    pub randoms: f64,
    /// Largest time difference of a random event, in ps.
    pub window: f64,
    /// Isotropic lines through places of a smooth density: uniform along the detectors' length, Gaussian across.
    pub scatter: f64,
    /// Standard deviation of that Gaussian, in mm.
    pub scatter_sigma: f64,
    /// In place of these, photons that the attenuation scatters once, as many as there are, in the detectors' energy window.
    pub compton: Option<EnergyWindow>,
}

impl Default for Background {
    /// None; if there are any, a window of 3 ns and a Gaussian of 120 mm.
    fn default() -> Self {
        Self { randoms: 0.0, window: 3000.0, scatter: 0.0, scatter_sigma: 120.0, compton: None }
    }
}

/// What is scanned, and how.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    /// Where decays are.
    pub source: Source<'a>,
    /// Whose attenuation photons meet.
    pub attenuation: &'a Phantom,
    /// What they meet in place of it.
    pub map: Option<AttenuationMap<'a>>,
    /// The detectors.
    pub scanner: Scanner,
    /// Blur.
    pub resolution: Resolution,
    /// Other events.
    pub background: Background,
}

/// How many events of each kind were measured, and out of how many draws: these scale the expected counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Tally {
    pub trues: u64,
    pub scatter: u64,
    pub randoms: u64,
    /// Decays within the scanner's tilts, measured or not, that it would have taken.
    pub decays: u64,
    /// Of a smooth density, draws; of photons that are scattered, decays in any direction.
    pub scatter_draws: u64,
    pub random_draws: u64,
}

impl Tally {
    pub(super) fn add(self, other: Self) -> Self {
        Self {
            trues: self.trues + other.trues,
            scatter: self.scatter + other.scatter,
            randoms: self.randoms + other.randoms,
            decays: self.decays + other.decays,
            scatter_draws: self.scatter_draws + other.scatter_draws,
            random_draws: self.random_draws + other.random_draws,
        }
    }
}

impl Scan<'_> {
    /// Refuses what no scanner is.
    pub(super) fn check(&self) -> Result<()> {
        let (s, r, b) = (&self.scanner, &self.resolution, &self.background);
        let positive = [
            ("scan.diameter", s.diameter, "mm"),
            ("scan.axial_length", s.axial_length, "mm"),
            ("geometry.max_tilt", s.max_tilt, "rad"),
            ("scan.random_window", b.window, "ps"),
            ("scan.scatter_sigma", b.scatter_sigma, "mm"),
        ];
        if let Some((name, v, unit)) = positive.into_iter().find(|(_, v, _)| !(v.is_finite() && *v > 0.0)) {
            fail!(OutOfRange, "{name} is {v} {unit}; it must be above 0 and finite");
        }
        if s.max_tilt >= FRAC_PI_2 {
            fail!(OutOfRange, "geometry.max_tilt is {} rad; it must be below pi/2", s.max_tilt);
        }
        not_negative("scan.tof_fwhm", r.time, "ps")?;
        not_negative("scan.axial_fwhm", r.axial, "mm")?;
        r.radial.check("scan", |name, width| not_negative(name, width, "mm"))?;
        if !(b.randoms >= 0.0 && b.scatter >= 0.0 && b.randoms + b.scatter < 1.0) {
            let (r, s) = (b.randoms, b.scatter);
            fail!(
                OutOfRange,
                "scan.randoms is {r} and scan.scatter {s}; each must be at least 0, both together below 1"
            );
        }
        if let Some(window) = &b.compton {
            window.check("scan")?;
            if b.scatter != 0.0 {
                fail!(
                    OutOfRange,
                    "scan.scatter is {} beside an energy window, with which photons scatter; it must be 0",
                    b.scatter
                );
            }
        }
        Ok(())
    }
}

fn not_negative(name: &str, v: f64, unit: &str) -> Result<()> {
    if !(v.is_finite() && v >= 0.0) {
        fail!(OutOfRange, "{name} is {v} {unit}; it must be at least 0 and finite");
    }
    Ok(())
}

//! Monte Carlo of the events of a time-of-flight scan. Every chunk of events has its own random numbers, so that a seed gives the
//! same events for any number of threads.
//!
//! A decay has a uniform place in the source's activity and a direction that is isotropic within the scanner's tilts. Its line
//! is moved by the radial and axial blur; it counts if the moved line ends on the detectors and the photons survive the
//! attenuation along it. What an event measures is blurred along the line by the time of flight. Attenuation and acceptance
//! belong to the measured line: this is the model `A_v * (H_v f)` of the reconstruction, in which they multiply what the
//! resolution has blurred.

use super::events::{EventArraysMut, EventsMut};
use super::phantom::Phantom;
use super::response::Radial;
use super::simulation_draws::{Drawer, KINDS, Kind};
use super::simulation_random::Random;
use super::simulation_source::{Sampler, Source};
use crate::context::{Context, Job, Stage};
use crate::error::{Result, fail};
use rayon::prelude::*;
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
}

impl Default for Background {
    /// None; if there is any, a window of 3 ns and a Gaussian of 120 mm.
    fn default() -> Self {
        Self { randoms: 0.0, window: 3000.0, scatter: 0.0, scatter_sigma: 120.0 }
    }
}

/// What is scanned, and how.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    /// Where decays are.
    pub source: Source<'a>,
    /// Whose attenuation photons meet.
    pub attenuation: &'a Phantom,
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
    pub scatter_draws: u64,
    pub random_draws: u64,
}

impl Tally {
    fn add(self, other: Self) -> Self {
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

/// Events that a task makes at once.
pub(super) const CHUNK: usize = 1 << 12;

impl Scan<'_> {
    /// Measures as many events as the arrays hold. The same events for a seed, whatever the threads.
    pub fn simulate(&self, context: &Context, seed: u64, to: EventArraysMut) -> Result<Tally> {
        self.check()?;
        let events = EventsMut::new(to)?;
        let sampler = Sampler::new(context, self)?;
        let drawer = Drawer { scan: self, sampler: &sampler, level: context.level(), seed };
        let drawn = context.run(|job| {
            job.enter(Stage::Simulate);
            (0..events.len().div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| {
                    let first = chunk * CHUNK;
                    let n = CHUNK.min(events.len() - first);
                    let tally = self.chunk(&drawer, chunk as u64, n, job, |k, event| {
                        // SAFETY: each event is one task's.
                        unsafe { events.write(first + k, event) }
                    })?;
                    job.advance(n as f64 / events.len() as f64);
                    Ok(tally)
                })
                .try_reduce(Tally::default, |a, b| Ok(a.add(b)))
        })?;
        Ok(Tally { decays: (drawn.decays as f64 * sampler.decays_a_draw()).round() as u64, ..drawn })
    }

    /// Draws which of `n` events are of which kind, and then the events. Its decays are draws.
    fn chunk(
        &self,
        drawer: &Drawer,
        chunk: u64,
        n: usize,
        job: &Job,
        mut write: impl FnMut(usize, &[f64; 7]),
    ) -> Result<Tally> {
        let b = &self.background;
        let mut random = Random::new(drawer.seed, KINDS, chunk);
        let mut places = [const { Vec::new() }; Kind::ALL.len()];
        while places.iter().map(Vec::len).sum::<usize>() < n {
            for u in random.uniform().as_flattened() {
                let kind = match u {
                    u if *u < b.randoms => Kind::Random,
                    u if *u < b.randoms + b.scatter => Kind::Scatter,
                    _ => Kind::True,
                };
                let k = places.iter().map(Vec::len).sum();
                if k < n {
                    places[kind as usize].push(k);
                }
            }
        }
        let mut draws = [0; Kind::ALL.len()];
        for kind in Kind::ALL {
            let places = &places[kind as usize];
            let (events, drawn) = drawer.draw(kind, chunk, places.len(), job)?;
            draws[kind as usize] = drawn;
            for (k, event) in places.iter().zip(&events) {
                write(*k, event);
            }
        }
        let count = |kind: Kind| places[kind as usize].len() as u64;
        let drawn = |kind: Kind| draws[kind as usize];
        Ok(Tally {
            trues: count(Kind::True),
            scatter: count(Kind::Scatter),
            randoms: count(Kind::Random),
            decays: drawn(Kind::True),
            scatter_draws: drawn(Kind::Scatter),
            random_draws: drawn(Kind::Random),
        })
    }

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
        Ok(())
    }
}

fn not_negative(name: &str, v: f64, unit: &str) -> Result<()> {
    if !(v.is_finite() && v >= 0.0) {
        fail!(OutOfRange, "{name} is {v} {unit}; it must be at least 0 and finite");
    }
    Ok(())
}

#[cfg(test)]
#[path = "simulation_tests.rs"]
mod tests;

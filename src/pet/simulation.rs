//! Monte Carlo of the events of a time-of-flight scan. Every event has its own random numbers, so that a seed gives the same
//! events for any number of threads.
//!
//! A decay has a uniform place in the source's activity and a direction that is isotropic within the scanner's tilts. Its line
//! is moved by the radial and axial blur; it counts if the moved line ends on the detectors and the photons survive the
//! attenuation along it. What an event measures is blurred along the line by the time of flight. Attenuation and acceptance
//! belong to the measured line: this is the model `A_v * (H_v f)` of the reconstruction, in which they multiply what the
//! resolution has blurred.

use super::deposit::Events;
use super::lattice::Lattice;
use super::phantom::Phantom;
use super::response::{FWHM_PER_SIGMA, HALF_LIGHT, Radial};
use super::simulation_random::Random;
use crate::cpu::buffer::zeros;
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

impl Scanner {
    /// Where the line `place + t * along` ends on the detectors: t below and above 0. `None` if the place is outside the
    /// cylinder or an end misses the detectors.
    pub(super) fn ends(&self, place: [f64; 3], along: [f64; 3]) -> Option<(f64, f64)> {
        let ([x, y, z], [u, v, w]) = (place, along);
        let radius = self.diameter / 2.0;
        let (square, middle) = (u * u + v * v, -(x * u + y * v));
        let rest = radius * radius - x * x - y * y;
        if rest <= 0.0 || square == 0.0 {
            return None;
        }
        let half = (middle * middle + square * rest).sqrt();
        let (a, b) = ((middle - half) / square, (middle + half) / square);
        let reach = self.axial_length / 2.0;
        ((z + a * w).abs() <= reach && (z + b * w).abs() <= reach).then_some((a, b))
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

/// Where decays are.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// In a phantom's activity.
    Phantom(&'a Phantom),
    /// In the voxels of an image of activity for a volume; uniform within a voxel.
    Image(&'a [f32], Lattice),
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
    /// Decays within the scanner's tilts, measured or not.
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

/// A simulated list.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Seven numbers for each event: x1, y1, z1, x2, y2, z2 in mm, t2 - t1 in ps.
    pub list: Vec<f32>,
    /// Counts.
    pub tally: Tally,
}

impl Simulated {
    /// The list as [`super::deposit::deposit`] takes it.
    pub fn events(&self) -> Events<'_, f32> {
        let first = self.list.as_ptr();
        // SAFETY: the list holds seven numbers for each event.
        unsafe { Events::from_raw(std::array::from_fn(|k| first.wrapping_add(k)), [7; 7], self.list.len() / 7) }
    }
}

/// What an event is.
#[derive(Clone, Copy)]
enum Kind {
    True,
    Scatter,
    Random,
}

/// Events that a task makes at once.
const CHUNK: usize = 1 << 12;
/// Draws for one event after which the scan is taken to measure nothing.
const MOST_DRAWS: u64 = 1 << 22;

impl Scan<'_> {
    /// Measures this many events.
    pub fn simulate(&self, events: usize, seed: u64) -> Result<Simulated> {
        self.check()?;
        let sampler = Sampler::new(&self.source)?;
        let Some(len) = events.checked_mul(7) else {
            fail!(SizeOverflow, "{events} events do not fit the address space");
        };
        let mut list = zeros::<f32>(len)?;
        let tally = list
            .par_chunks_mut(7 * CHUNK)
            .enumerate()
            .map(|(chunk, list)| {
                let mut tally = Tally::default();
                for (k, event) in list.chunks_exact_mut(7).enumerate() {
                    let mut random = Random::new(seed, (chunk * CHUNK + k) as u64);
                    let measured = self.measure(&sampler, &mut random, &mut tally)?;
                    for (e, v) in event.iter_mut().zip(measured) {
                        *e = v as f32;
                    }
                }
                Ok(tally)
            })
            .try_reduce(Tally::default, |a, b| Ok(a.add(b)))?;
        Ok(Simulated { list, tally })
    }

    pub(super) fn check(&self) -> Result<()> {
        let (s, r, b) = (&self.scanner, &self.resolution, &self.background);
        let positive = [
            ("scanner.diameter", s.diameter),
            ("scanner.axial_length", s.axial_length),
            ("scanner.max_tilt", s.max_tilt),
            ("background.window", b.window),
            ("background.scatter_sigma", b.scatter_sigma),
        ];
        if let Some((name, v)) = positive.into_iter().find(|(_, v)| !(v.is_finite() && *v > 0.0)) {
            fail!(OutOfRange, "{name} is {v}; it must be above 0 and finite");
        }
        if s.max_tilt >= FRAC_PI_2 {
            fail!(OutOfRange, "scanner.max_tilt is {}; it must be below pi/2", s.max_tilt);
        }
        not_negative("resolution.time", r.time)?;
        not_negative("resolution.axial", r.axial)?;
        r.radial.check(not_negative)?;
        if !(b.randoms >= 0.0 && b.scatter >= 0.0 && b.randoms + b.scatter < 1.0) {
            let (r, s) = (b.randoms, b.scatter);
            fail!(OutOfRange, "the fractions are {r} of randoms, {s} of scatter; at least 0, together below 1");
        }
        Ok(())
    }

    fn measure(&self, sampler: &Sampler, random: &mut Random, tally: &mut Tally) -> Result<[f64; 7]> {
        let (u, b) = (random.uniform(), &self.background);
        let kind = match u {
            u if u < b.randoms => Kind::Random,
            u if u < b.randoms + b.scatter => Kind::Scatter,
            _ => Kind::True,
        };
        for draws in 1..=MOST_DRAWS {
            let event = match kind {
                Kind::True => self.true_event(sampler, random),
                Kind::Scatter => self.scattered_event(random),
                Kind::Random => self.random_event(random),
            };
            if let Some(event) = event {
                let (measured, of) = match kind {
                    Kind::True => (&mut tally.trues, &mut tally.decays),
                    Kind::Scatter => (&mut tally.scatter, &mut tally.scatter_draws),
                    Kind::Random => (&mut tally.randoms, &mut tally.random_draws),
                };
                *measured += 1;
                *of += draws;
                return Ok(event);
            }
        }
        fail!(OutOfRange, "none of {MOST_DRAWS} draws was measured: the scanner sees no such events");
    }

    fn true_event(&self, sampler: &Sampler, random: &mut Random) -> Option<[f64; 7]> {
        let place = sampler.place(random);
        let (n, radial, axial) = self.direction(random);
        let across = place[0] * radial[0] + place[1] * radial[1];
        let [a, b] = random.normal();
        let a = a * self.resolution.radial.fwhm(across) / FWHM_PER_SIGMA;
        let b = b * self.resolution.axial / FWHM_PER_SIGMA;
        let moved = std::array::from_fn(|d| place[d] + a * radial[d] + b * axial[d]);
        let ends = self.scanner.ends(moved, n)?;
        if random.uniform() >= (-self.attenuation.line_integral(moved, n)).exp() {
            return None;
        }
        let along = HALF_LIGHT * self.resolution.time / FWHM_PER_SIGMA * random.normal()[0];
        Some(event(moved, n, ends, along))
    }

    fn scattered_event(&self, random: &mut Random) -> Option<[f64; 7]> {
        let [x, y] = random.normal().map(|v| v * self.background.scatter_sigma);
        let place = [x, y, self.scanner.axial_length * (random.uniform() - 0.5)];
        let n = self.direction(random).0;
        Some(event(place, n, self.scanner.ends(place, n)?, 0.0))
    }

    fn random_event(&self, random: &mut Random) -> Option<[f64; 7]> {
        let mut end = || {
            let [cos, sin] = random.turn();
            let radius = self.scanner.diameter / 2.0;
            [radius * cos, radius * sin, self.scanner.axial_length * (random.uniform() - 0.5)]
        };
        let ([x1, y1, z1], [x2, y2, z2]) = (end(), end());
        let dt = self.background.window * (2.0 * random.uniform() - 1.0);
        let length = ((x1 - x2).powi(2) + (y1 - y2).powi(2) + (z1 - z2).powi(2)).sqrt();
        let tilted = (z1 - z2).abs() > self.scanner.max_tilt.sin() * length;
        let between = HALF_LIGHT * dt.abs() < length / 2.0;
        (!tilted && between).then_some([x1, y1, z1, x2, y2, z2, dt])
    }

    /// A unit vector within the tilts, and the radial and axial ones across it.
    fn direction(&self, random: &mut Random) -> ([f64; 3], [f64; 3], [f64; 3]) {
        let [cos, sin] = random.turn();
        let w = self.scanner.max_tilt.sin() * (2.0 * random.uniform() - 1.0);
        let c = (1.0 - w * w).sqrt();
        ([c * cos, c * sin, w], [-sin, cos, 0.0], [-w * cos, -w * sin, c])
    }
}

fn not_negative(name: &str, v: f64) -> Result<()> {
    if !(v.is_finite() && v >= 0.0) {
        fail!(OutOfRange, "{name} is {v}; it must be at least 0 and finite");
    }
    Ok(())
}

/// An event on the line through `place`, measured `along` from there.
fn event(place: [f64; 3], n: [f64; 3], (a, b): (f64, f64), along: f64) -> [f64; 7] {
    let end = |t: f64| std::array::from_fn::<_, 3, _>(|d| place[d] + t * n[d]);
    let ([x1, y1, z1], [x2, y2, z2]) = (end(b), end(a));
    [x1, y1, z1, x2, y2, z2, (along - 0.5 * (a + b)) / HALF_LIGHT]
}

/// Draws places in proportion to activity.
enum Sampler<'a> {
    /// Bodies of positive activity, with running sums of what they hold; and whether negative ones take some away.
    Phantom { phantom: &'a Phantom, bodies: Vec<usize>, sums: Vec<f64>, thinned: bool },
    /// Running sums over voxels.
    Image { lattice: Lattice, sums: Vec<f64> },
}

impl<'a> Sampler<'a> {
    fn new(source: &Source<'a>) -> Result<Self> {
        let mut sum = 0.0;
        let mut running = |v: f64| {
            sum += v;
            sum
        };
        let sampler = match *source {
            Source::Phantom(phantom) => {
                let objects = phantom.objects();
                let bodies: Vec<usize> = (0..objects.len()).filter(|k| objects[*k].activity > 0.0).collect();
                let sums = bodies.iter().map(|k| running(objects[*k].activity * objects[*k].shape.volume())).collect();
                Sampler::Phantom { phantom, bodies, sums, thinned: objects.iter().any(|o| o.activity < 0.0) }
            }
            Source::Image(image, lattice) => {
                if image.len() != lattice.voxels() {
                    let shape = lattice.shape();
                    fail!(TensorShape, "the activity has {} values; {shape:?} were expected", image.len());
                }
                if let Some((k, v)) = image.iter().enumerate().find(|(_, v)| !(v.is_finite() && **v >= 0.0)) {
                    fail!(OutOfRange, "the activity of voxel {k} is {v}; it must be at least 0 and finite");
                }
                let mut sums = zeros::<f64>(image.len())?;
                for (s, v) in sums.iter_mut().zip(image) {
                    *s = running(f64::from(*v));
                }
                Sampler::Image { lattice, sums }
            }
        };
        if sum <= 0.0 {
            fail!(OutOfRange, "the source has no activity; some of it must be above 0");
        }
        Ok(sampler)
    }

    fn place(&self, random: &mut Random) -> [f64; 3] {
        let (Sampler::Phantom { sums, .. } | Sampler::Image { sums, .. }) = self;
        loop {
            let u = random.uniform() * sums[sums.len() - 1];
            let k = sums.partition_point(|s| *s <= u).min(sums.len() - 1);
            match self {
                Sampler::Phantom { phantom, bodies, thinned, .. } => {
                    let place = phantom.objects()[bodies[k]].shape.place(&mut || random.uniform());
                    if !thinned || random.uniform() * positive(phantom, place) < phantom.activity(place) {
                        return place;
                    }
                }
                Sampler::Image { lattice, .. } => {
                    let [nx, ny, _] = lattice.along();
                    let at = [k % nx, k / nx % ny, k / (nx * ny)];
                    return std::array::from_fn(|d| {
                        lattice.position(d, at[d]) + (random.uniform() - 0.5) * lattice.voxel()[d]
                    });
                }
            }
        }
    }
}

/// Sum of the positive activities at a place.
fn positive(phantom: &Phantom, place: [f64; 3]) -> f64 {
    phantom.objects().iter().filter(|o| o.activity > 0.0 && o.shape.contains(place)).map(|o| o.activity).sum()
}

#[cfg(test)]
#[path = "simulation_tests.rs"]
mod tests;

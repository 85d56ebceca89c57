//! Draws of events of one kind until as many as are wanted were measured, many draws at a time.

use super::medium::Medium;
use super::sampler::{Decays, Sampler, UNIFORMS};
use super::scan::Scan;
use super::scattering::Scattering;
use crate::response::{FWHM_PER_SIGMA, HALF_LIGHT};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::reserved;
use isocenter_base::cpu::elementary::ln;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::random::{BATCH, Batch, OneByOne, Random, normal, turn};
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::{Result, fail};

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    True,
    Scatter,
    Random,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::True, Kind::Scatter, Kind::Random];
}

/// Draws after which a scan that measured none of them is taken to measure nothing.
const MAX_DRAWS: u64 = 1 << 22;

/// Streams of random numbers besides those of the kinds: which event is of which kind, and the blur of the time.
pub(super) const KINDS: u32 = Kind::ALL.len() as u32;
const TIMING: u32 = KINDS + 1;
const TIMING_OF_SCATTER: u32 = KINDS + 2;
const FLIGHTS: u32 = KINDS + 3;

/// Draws the events of a scan.
pub(super) struct Drawer<'a> {
    pub(super) scan: &'a Scan<'a>,
    pub(super) sampler: &'a Sampler<'a>,
    pub(super) scattering: Option<&'a Scattering<'a>>,
    /// In place of the bodies.
    pub(super) map: Option<&'a Medium<'a>>,
    pub(super) level: Level,
    pub(super) seed: u64,
}

/// Events, and how many draws they took.
type Drawn = (Vec<[f64; 7]>, u64);

/// [`Drawer::draw`] as code for a level.
struct Draw<'a> {
    drawer: &'a Drawer<'a>,
    kind: Kind,
    chunk: u64,
    n: usize,
    job: &'a Job,
}

impl Plain for Draw<'_> {
    type Output = Result<Drawn>;

    #[inline(always)]
    fn run(self) -> Result<Drawn> {
        self.drawer.draw_any(self.kind, self.chunk, self.n, self.job)
    }
}

/// Lines through places, and where on them their events are measured.
struct Lines {
    /// What true events are made of.
    decays: Decays,
    place: [Batch; 3],
    along: [Batch; 3],
    /// The detectors, as distances from the place.
    ends: [Batch; 2],
    /// The event, likewise; decays get theirs once they are measured.
    at: Batch,
    /// Those that are measured.
    measured: [bool; BATCH],
}

impl Lines {
    fn event(&self, i: usize) -> [f64; 7] {
        let end = |t: f64| std::array::from_fn::<_, 3, _>(|d| self.place[d][i] + t * self.along[d][i]);
        let [a, b] = [self.ends[0][i], self.ends[1][i]];
        let ([x1, y1, z1], [x2, y2, z2]) = (end(b), end(a));
        [x1, y1, z1, x2, y2, z2, (self.at[i] - 0.5 * (a + b)) / HALF_LIGHT]
    }
}

impl Drawer<'_> {
    /// So many events, and how many draws it took.
    pub(super) fn draw(&self, kind: Kind, chunk: u64, n: usize, job: &Job) -> Result<Drawn> {
        if let (Kind::Scatter, Some(scattering)) = (kind, self.scattering) {
            return self.draw_scattered(scattering, chunk, n, job);
        }
        vectorised(self.level, Draw { drawer: self, kind, chunk, n, job })
    }

    #[inline(always)]
    fn draw_any(&self, kind: Kind, chunk: u64, n: usize, job: &Job) -> Result<Drawn> {
        let mut random = Random::new(self.seed, kind as u32, chunk);
        let mut normals = OneByOne::normal(Random::new(self.seed, TIMING, chunk));
        let mut flights = OneByOne::uniform(Random::new(self.seed, FLIGHTS, chunk));
        let mut lines = Lines {
            decays: Decays::new(),
            place: [[0.0; BATCH]; 3],
            along: [[0.0; BATCH]; 3],
            ends: [[0.0; BATCH]; 2],
            at: [0.0; BATCH],
            measured: [false; BATCH],
        };
        let blur = HALF_LIGHT * self.scan.resolution.time / FWHM_PER_SIGMA;
        let mut events = reserved(n)?;
        let (mut draws, mut since) = (0, 0);
        while events.len() < n {
            job.check()?;
            match kind {
                Kind::True => self.decays(&mut random, &mut flights, &mut lines),
                Kind::Scatter => self.scattered(&mut random, &mut lines),
                Kind::Random => self.accidental(&mut random, &mut lines),
            }
            for i in 0..BATCH {
                draws += 1;
                since += 1;
                if lines.measured[i] {
                    if kind == Kind::True {
                        lines.at[i] = blur * normals.draw();
                    }
                    events.push(lines.event(i));
                    since = 0;
                    // Further draws are as if they had not been made.
                    if events.len() == n {
                        break;
                    }
                }
            }
            self.check_draws(since, kind)?;
        }
        Ok((events, draws))
    }

    fn draw_scattered(&self, scattering: &Scattering, chunk: u64, n: usize, job: &Job) -> Result<Drawn> {
        let mut random = OneByOne::uniform(Random::new(self.seed, Kind::Scatter as u32, chunk));
        let mut normals = OneByOne::normal(Random::new(self.seed, TIMING_OF_SCATTER, chunk));
        let mut events = reserved(n)?;
        let (mut draws, mut last) = (0, 0);
        while events.len() < n {
            if draws % BATCH as u64 == 0 {
                job.check()?;
            }
            draws += 1;
            match scattering.draw(&mut random, &mut normals)? {
                Some(event) => {
                    events.push(event);
                    last = draws;
                }
                None => self.check_draws(draws - last, Kind::Scatter)?,
            }
        }
        Ok((events, draws))
    }

    /// An error after so many draws in vain.
    fn check_draws(&self, since: u64, kind: Kind) -> Result<()> {
        if since > MAX_DRAWS {
            let (across, long) = (self.scan.scanner.diameter, self.scan.scanner.axial_length);
            fail!(
                OutOfRange,
                "none of {MAX_DRAWS} draws of a {} event was measured: scan.diameter is {across} mm and scan.axial_length \
                 {long} mm, which see none of the phantom",
                ["true", "scatter", "random"][kind as usize]
            );
        }
        Ok(())
    }

    #[inline(always)]
    fn decays(&self, random: &mut Random, flights: &mut OneByOne, lines: &mut Lines) {
        let resolution = &self.scan.resolution;
        let ([a, b, c, d], [e, f, g, survival]) = (random.uniform(), random.uniform());
        let [v, p, q, _] = random.uniform();
        let uniforms: [Batch; UNIFORMS] = [a, b, c, d, e, f, g];
        self.sampler.draw(&uniforms, &mut lines.decays);
        lines.place = lines.decays.place;
        self.directions(&lines.decays.azimuth, &v, &mut lines.along);
        let mut width = [0.0; BATCH];
        for (i, width) in width.iter_mut().enumerate() {
            let [x, y, _] = lines.radial(i);
            *width = lines.place[0][i] * x + lines.place[1][i] * y;
        }
        for w in &mut width {
            *w = resolution.radial.fwhm(*w) / FWHM_PER_SIGMA;
        }
        let axial = resolution.axial / FWHM_PER_SIGMA;
        for i in 0..BATCH {
            let [m, n] = normal(p[i], q[i]);
            let (radial, w) = (lines.radial(i), lines.along[2][i]);
            let across = [-w * radial[1], w * radial[0], (1.0 - w * w).sqrt()];
            for d in 0..3 {
                lines.place[d][i] += m * width[i] * radial[d] + n * axial * across[d];
            }
        }
        self.find_ends(lines);
        if let Some(map) = self.map {
            for i in 0..BATCH {
                if lines.measured[i] & lines.decays.real[i] {
                    let along = [0, 1, 2].map(|d| lines.along[d][i]);
                    let [behind, ahead] = [lines.ends[0][i], lines.ends[1][i]];
                    let from = [0, 1, 2].map(|d| lines.place[d][i] + behind * along[d]);
                    lines.measured[i] = map.passes(from, along, ahead - behind, 1.0, flights);
                } else {
                    lines.measured[i] = false;
                }
            }
            return;
        }
        let mut integral = [0.0; BATCH];
        self.scan.attenuation.line_integrals(&lines.place, &lines.along, &mut integral);
        for i in 0..BATCH {
            let Decays { real, minimum, .. } = &lines.decays;
            lines.measured[i] &= real[i] & (-ln(survival[i]) > integral[i] - minimum[i]);
        }
    }

    #[inline(always)]
    fn scattered(&self, random: &mut Random, lines: &mut Lines) {
        let ([a, b, c, d], [e, ..]) = (random.uniform(), random.uniform());
        self.directions(&a, &b, &mut lines.along);
        for i in 0..BATCH {
            let [x, y] = normal(c[i], d[i]).map(|v| v * self.scan.background.scatter_sigma);
            (lines.place[0][i], lines.place[1][i]) = (x, y);
            lines.place[2][i] = self.scan.scanner.axial_length * (e[i] - 0.5);
        }
        self.find_ends(lines);
    }

    #[inline(always)]
    fn accidental(&self, random: &mut Random, lines: &mut Lines) {
        let (scanner, window) = (&self.scan.scanner, self.scan.background.window);
        let (radius, steepest) = (scanner.diameter / 2.0, scanner.max_tilt.sin());
        let ([a, b, c, d], [e, ..]) = (random.uniform(), random.uniform());
        for i in 0..BATCH {
            let end = |u: f64, v: f64| {
                let [cos, sin] = turn(u);
                [radius * cos, radius * sin, scanner.axial_length * (v - 0.5)]
            };
            let (first, second) = (end(a[i], b[i]), end(c[i], d[i]));
            let apart: [f64; 3] = std::array::from_fn(|d| first[d] - second[d]);
            let length = (apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2]).sqrt();
            for d in 0..3 {
                lines.place[d][i] = 0.5 * (first[d] + second[d]);
                lines.along[d][i] = apart[d] / length;
            }
            (lines.ends[0][i], lines.ends[1][i]) = (-0.5 * length, 0.5 * length);
            lines.at[i] = HALF_LIGHT * window * (2.0 * e[i] - 1.0);
            lines.measured[i] = (apart[2].abs() <= steepest * length) & (lines.at[i].abs() < 0.5 * length);
        }
    }

    /// Isotropic within the scanner's tilts.
    #[inline(always)]
    fn directions(&self, u: &Batch, v: &Batch, along: &mut [Batch; 3]) {
        let steepest = self.scan.scanner.max_tilt.sin();
        for i in 0..BATCH {
            let [cos, sin] = turn(u[i]);
            let w = steepest * (2.0 * v[i] - 1.0);
            let c = (1.0 - w * w).sqrt();
            (along[0][i], along[1][i], along[2][i]) = (c * cos, c * sin, w);
        }
    }

    /// Where lines end on the detectors; they are measured if they do.
    #[inline(always)]
    fn find_ends(&self, lines: &mut Lines) {
        let radius = self.scan.scanner.diameter / 2.0;
        let reach = self.scan.scanner.axial_length / 2.0;
        for i in 0..BATCH {
            let [x, y, z] = [0, 1, 2].map(|d| lines.place[d][i]);
            let [u, v, w] = [0, 1, 2].map(|d| lines.along[d][i]);
            let (square, middle) = (u * u + v * v, -(x * u + y * v));
            let rest = radius * radius - x * x - y * y;
            let half = (middle * middle + square * rest).sqrt();
            let (a, b) = ((middle - half) / square, (middle + half) / square);
            (lines.ends[0][i], lines.ends[1][i]) = (a, b);
            lines.measured[i] = (rest > 0.0) & ((z + a * w).abs() <= reach) & ((z + b * w).abs() <= reach);
        }
    }
}

impl Lines {
    /// Unit vector across a line, in the transverse plane.
    #[inline(always)]
    fn radial(&self, i: usize) -> [f64; 3] {
        let (u, v) = (self.along[0][i], self.along[1][i]);
        let across = 1.0 / (u * u + v * v).sqrt();
        [-v * across, u * across, 0.0]
    }
}

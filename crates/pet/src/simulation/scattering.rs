//! Decays of which one photon is scattered once, by Compton's effect, where the attenuation is: photon by photon.
//!
//! A decay's photons leave in opposite directions. One goes straight to the detectors; the other flies on, is turned as Klein and Nishina say, and is measured if its energy is in the window. Both must not be scattered elsewhere. Lines between the ends are within the scanner's tilts.

use super::choice::Choice;
use super::medium::Medium;
use super::scan::Scan;
use super::source::Source;
use crate::compton::{EnergyWindow, cosine, differential, energy, total};
use crate::lattice::Lattice;
use crate::phantom::{Object, Phantom};
use crate::response::{FWHM_PER_SIGMA, HALF_LIGHT};
use isocenter_base::cpu::random::{OneByOne, turn};
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// Energies at which the window is looked at.
const ENERGIES: usize = 4096;
/// Of the window's largest part: what it takes less of is not drawn.
const NEGLIGIBLE: f64 = 1e-6;
/// Places that may be drawn in vain.
const MAX_PLACES: usize = 1 << 20;

pub(super) struct Scattering<'a> {
    scan: &'a Scan<'a>,
    window: EnergyWindow,
    places: Places<'a>,
    medium: Medium<'a>,
    /// Largest part of photons of one energy that the window takes; least cosine of the angle of those that it takes.
    most: f64,
    least: f64,
}

/// Where decays are, in proportion to the activity.
enum Places<'a> {
    Phantom { phantom: &'a Phantom, bodies: Vec<&'a Object>, choice: Choice },
    Image { lattice: Lattice, choice: Choice },
}

impl<'a> Places<'a> {
    fn new(source: Source<'a>) -> Result<Self> {
        Ok(match source {
            Source::Phantom(phantom) => {
                let bodies: Vec<&Object> = phantom.objects().iter().filter(|o| o.activity > 0.0).collect();
                let choice = Choice::new(bodies.iter().map(|o| o.activity * o.shape.volume()))?;
                Self::Phantom { phantom, bodies, choice }
            }
            Source::Image(image, lattice) => {
                Self::Image { lattice, choice: Choice::new(image.iter().map(|v| f64::from(*v)))? }
            }
        })
    }

    fn draw(&self, random: &mut OneByOne) -> Result<[f64; 3]> {
        match (0..MAX_PLACES).find_map(|_| self.try_draw(random)) {
            Some(place) => Ok(place),
            None => fail!(OutOfRange, "the phantom has next to no activity anywhere"),
        }
    }

    fn try_draw(&self, random: &mut OneByOne) -> Option<[f64; 3]> {
        match self {
            Self::Image { lattice, choice } => {
                // The first number's steps are as coarse as 32 bits are.
                let k = choice.pick(random.draw() + (random.draw() - 0.5) / 4_294_967_296.0);
                let [nx, ny, _] = lattice.along();
                let at = [k % nx, k / nx % ny, k / (nx * ny)];
                Some([0, 1, 2].map(|d| lattice.position(d, at[d]) + (random.draw() - 0.5) * lattice.voxel()[d]))
            }
            Self::Phantom { phantom, bodies, choice } => {
                let body = bodies[choice.pick(random.draw())];
                let (centre, reach) = body.shape.extent();
                let place = [0, 1, 2].map(|d| centre[d] + (2.0 * random.draw() - 1.0) * reach[d]);
                // Bodies with less than what is about them take from it.
                let positive: f64 = bodies.iter().filter(|o| o.shape.contains(place)).map(|o| o.activity).sum();
                let is_kept = random.draw() * positive < phantom.activity(place);
                (is_kept && body.shape.contains(place)).then_some(place)
            }
        }
    }
}

impl<'a> Scattering<'a> {
    pub(super) fn new(scan: &'a Scan<'a>, window: EnergyWindow) -> Result<Self> {
        window.check("scan")?;
        let medium = Medium::new(scan)?;
        if medium.is_empty() {
            fail!(OutOfRange, "there is no attenuation: nothing scatters");
        }
        let energies = || (0..=ENERGIES).map(|k| (1.0 + 2.0 * k as f64 / ENERGIES as f64) / 3.0);
        let most = energies().map(|e| window.acceptance(e)).fold(0.0, f64::max);
        let taken = energies().find(|e| window.acceptance(*e) > NEGLIGIBLE * most).unwrap_or(1.0);
        let least = cosine(taken).min(1.0 - 1.0 / ENERGIES as f64);
        Ok(Self { scan, window, places: Places::new(scan.source)?, medium, most, least })
    }

    /// Decays in any direction that a draw stands for. Of the two photons it is either, and angles are drawn alike that are not.
    pub(super) fn decays_a_draw(&self) -> f64 {
        let drawn = TAU * differential(1.0) * self.most * (1.0 - self.least) / total(1.0);
        1.0 / (2.0 * drawn)
    }

    /// How far the detectors are, if they are in this direction.
    fn end(&self, [x, y, z]: [f64; 3], [u, v, w]: [f64; 3]) -> Option<f64> {
        let (radius, reach) = (self.scan.scanner.diameter / 2.0, self.scan.scanner.axial_length / 2.0);
        let (square, middle, rest) = (u * u + v * v, -(x * u + y * v), radius * radius - x * x - y * y);
        let far = (middle + (middle * middle + square * rest).sqrt()) / square;
        (rest > 0.0 && (z + far * w).abs() <= reach).then_some(far)
    }

    /// A decay, as an event if it is one.
    pub(super) fn draw(&self, random: &mut OneByOne, normals: &mut OneByOne) -> Result<Option<[f64; 7]>> {
        let place = self.places.draw(random)?;
        let ([cos, sin], w) = (turn(random.draw()), 2.0 * random.draw() - 1.0);
        let c = (1.0 - w * w).sqrt();
        let along = [c * cos, c * sin, w];
        let back = along.map(|v| -v);
        let Some(straight) = self.end(place, back) else { return Ok(None) };
        let Some(flown) = self.medium.flight(place, along, 2.0 * self.scan.scanner.diameter, 1.0, random) else {
            return Ok(None);
        };
        let scatter: [f64; 3] = std::array::from_fn(|d| place[d] + flown * along[d]);
        let angle = self.least + random.draw() * (1.0 - self.least);
        let left = energy(angle);
        if random.draw() * differential(1.0) * self.most > differential(angle) * self.window.acceptance(left) {
            return Ok(None);
        }
        let turned = turned(along, angle, turn(random.draw()));
        let Some(rest) = self.end(scatter, turned) else { return Ok(None) };
        let times = total(left) / total(1.0);
        if !(self.medium.passes(place, back, straight, 1.0, random)
            && self.medium.passes(scatter, turned, rest, times, random))
        {
            return Ok(None);
        }
        let ends: [[f64; 3]; 2] = [
            std::array::from_fn(|d| place[d] + straight * back[d]),
            std::array::from_fn(|d| scatter[d] + rest * turned[d]),
        ];
        let length = (0..3).map(|d| (ends[0][d] - ends[1][d]).powi(2)).sum::<f64>().sqrt();
        if (ends[0][2] - ends[1][2]).abs() > self.scan.scanner.max_tilt.sin() * length {
            return Ok(None);
        }
        let later = (flown + rest - straight) / (2.0 * HALF_LIGHT);
        let time = later + self.scan.resolution.time / FWHM_PER_SIGMA * normals.draw();
        let [[x1, y1, z1], [x2, y2, z2]] = ends;
        Ok(Some(match random.draw() < 0.5 {
            true => [x1, y1, z1, x2, y2, z2, time],
            false => [x2, y2, z2, x1, y1, z1, -time],
        }))
    }
}

/// A direction turned by an angle, about itself by another.
fn turned([u, v, w]: [f64; 3], cosine: f64, [cos, sin]: [f64; 2]) -> [f64; 3] {
    let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
    // Two unit vectors across, from the axis that it is least along.
    let flat = (u * u + v * v).sqrt();
    let (a, b) = match flat > 1e-3 {
        true => ([-v / flat, u / flat, 0.0], [-u * w / flat, -v * w / flat, flat]),
        false => ([1.0, 0.0, 0.0], [0.0, w, -v]),
    };
    let off: [f64; 3] = std::array::from_fn(|d| [u, v, w][d] * cosine + sine * (cos * a[d] + sin * b[d]));
    let length = off.iter().map(|c| c * c).sum::<f64>().sqrt();
    off.map(|c| c / length)
}

//! Draws of decays that are mostly measured.
//!
//! Few photons leave a thick body, so that most of the decays drawn from its activity alone are lost. Here squares of the bodies are
//! drawn, and ranges of azimuth, in proportion to the activity and to the largest survival of any line from there. What was drawn
//! too often by that is kept less often, by the line's own survival over the largest: the events are distributed as before.

use super::scan::Scan;
use crate::phantom::{Object, Phantom};
use crate::response::FWHM_PER_SIGMA;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;
use isocenter_base::phantom::Shape;
use std::f64::consts::PI;

/// Parts of bodies and azimuths.
pub(super) struct Envelope<'a> {
    squares: Vec<Square<'a>>,
    /// Ranges of half a turn.
    ranges: usize,
    /// Minimum line integral of each square and range.
    minimum: Vec<f64>,
}

/// A part of a body's extent.
pub(super) struct Square<'a> {
    pub(super) body: &'a Object,
    pub(super) low: [f64; 3],
    pub(super) size: [f64; 3],
}

/// Sides of squares in mm, and ranges of azimuth, if memory allows.
const SIDE: f64 = 10.0;
const RANGES: usize = 64;
/// Maximum of squares along a body, and of squares and ranges in all; and bytes of each, with what it takes to choose one.
const ALONG: usize = 64;
const MAX_TOTAL: usize = 1 << 20;
const BYTES: u64 = 32;
/// No normal number is larger: they are made of uniform ones that are at least 2^-33.
const FARTHEST: f64 = 6.8;

impl<'a> Envelope<'a> {
    pub(super) fn new(phantom: &'a Phantom, scan: &Scan, memory_cap: u64) -> Result<Self> {
        let bodies: Vec<&Object> = phantom.objects().iter().filter(|o| o.activity > 0.0).collect();
        let room = (memory_cap / BYTES).min(MAX_TOTAL as u64) as usize / bodies.len().max(1);
        let ranges = room.clamp(1, RANGES);
        let along = ((room / ranges) as f64).sqrt().floor().clamp(1.0, ALONG as f64);
        let limits = Limits::new(scan);
        let mut squares = Vec::new();
        for body in bodies {
            let (centre, reach) = body.shape.extent();
            // What is beyond is not measured, however it is blurred.
            let low: [f64; 3] = std::array::from_fn(|d| (centre[d] - reach[d]).max(-limits.places[d]));
            let high: [f64; 3] = std::array::from_fn(|d| (centre[d] + reach[d]).min(limits.places[d]));
            if (0..3).any(|d| low[d] >= high[d]) {
                continue;
            }
            let count = [0, 1].map(|d| ((high[d] - low[d]) / SIDE).ceil().clamp(1.0, along) as usize);
            let size = [(high[0] - low[0]) / count[0] as f64, (high[1] - low[1]) / count[1] as f64, high[2] - low[2]];
            let square = |k: usize| {
                let at = [(k % count[0]) as f64, (k / count[0]) as f64, 0.0];
                Square { body, low: std::array::from_fn(|d| low[d] + at[d] * size[d]), size }
            };
            squares.extend((0..count[0] * count[1]).map(square).filter(Square::meets_body));
        }
        let mut minimum = zeros::<f64>(squares.len() * ranges)?;
        for (k, minimum) in minimum.iter_mut().enumerate() {
            let azimuth = PI * ((k % ranges) as f64 + 0.5) / ranges as f64;
            *minimum = limits.minimum(&squares[k / ranges], azimuth, PI / ranges as f64);
        }
        Ok(Self { squares, ranges, minimum })
    }

    /// In proportion to what is measured at most.
    pub(super) fn weights(&self) -> impl ExactSizeIterator<Item = f64> {
        self.minimum.iter().enumerate().map(|(k, minimum)| {
            let Square { body, size, .. } = &self.squares[k / self.ranges];
            body.activity * size.iter().product::<f64>() * (-minimum).exp() / self.ranges as f64
        })
    }

    /// A square, an azimuth of half a turn (in turns) and the minimum line integral there.
    #[inline(always)]
    pub(super) fn at(&self, k: usize, part: f64) -> (&Square<'a>, f64, f64) {
        let azimuth = ((k % self.ranges) as f64 + part) / (2 * self.ranges) as f64;
        (&self.squares[k / self.ranges], azimuth, self.minimum[k])
    }
}

impl Square<'_> {
    fn centre(&self) -> [f64; 2] {
        [0, 1].map(|d| self.low[d] + 0.5 * self.size[d])
    }

    /// From its centre to a corner.
    fn half_diagonal(&self) -> f64 {
        0.5 * self.size[0].hypot(self.size[1])
    }

    /// False only where the body is not.
    fn meets_body(&self) -> bool {
        let (centre, reach) = self.body.shape.extent();
        if let Shape::Box { .. } = self.body.shape {
            return true;
        }
        // The point of the square that is nearest to the axis.
        let nearest = |d: usize| {
            let (low, high) = (self.low[d] - centre[d], self.low[d] + self.size[d] - centre[d]);
            0f64.clamp(low.min(high), high.max(low)) / reach[d]
        };
        nearest(0).hypot(nearest(1)) <= 1.0
    }
}

/// What a scan allows.
struct Limits {
    /// Farthest places along x, y, z of which lines are measured.
    places: [f64; 3],
    /// Farthest radial blur.
    blur: f64,
    /// Bodies by which every line loses, and those by which it may gain.
    bodies: Vec<Object>,
    longest: f64,
}

impl Limits {
    fn new(scan: &Scan) -> Self {
        let (scanner, resolution) = (&scan.scanner, &scan.resolution);
        let blur = FARTHEST * resolution.radial.largest() / FWHM_PER_SIGMA;
        let axial = FARTHEST * resolution.axial / FWHM_PER_SIGMA;
        let (radius, half) = (scanner.diameter / 2.0, scanner.axial_length / 2.0);
        // Between its ends a line is within the detectors' length, so that such a cylinder has no ends for it.
        let endless = |o: &Object| match o.shape {
            Shape::Cylinder { centre, radius: r, length } => {
                centre[0].hypot(centre[1]) + r <= radius && length / 2.0 >= half + centre[2].abs()
            }
            _ => false,
        };
        // By a map, lines may lose nothing.
        let bodies = scan.attenuation.attenuating().filter(|_| scan.map.is_none());
        let bodies = bodies.filter(|o| o.attenuation < 0.0 || endless(o)).copied().collect();
        let places = [radius + blur + axial, radius + blur + axial, half + axial];
        Self { places, blur, bodies, longest: 1.0 / scanner.max_tilt.cos() }
    }

    /// Below the line integral of every line from a square whose azimuth is at most half of `range` away.
    fn minimum(&self, square: &Square, azimuth: f64, range: f64) -> f64 {
        let (sin, cos) = azimuth.sin_cos();
        let [x, y] = square.centre();
        let integral = |o: &Object| {
            let (centre, reach) = o.shape.extent();
            if o.attenuation < 0.0 {
                let half = reach.iter().map(|r| r * r).sum::<f64>().sqrt();
                let across = if let Shape::Cylinder { radius, .. } = o.shape { radius * self.longest } else { half };
                return o.attenuation * 2.0 * across.min(half);
            }
            let (dx, dy) = (x - centre[0], y - centre[1]);
            let half = square.half_diagonal();
            let turned = 0.5 * range * (dx.hypot(dy) + half);
            let distance = (dy * cos - dx * sin).abs() + half + turned + self.blur;
            o.attenuation * 2.0 * (reach[0] * reach[0] - distance * distance).max(0.0).sqrt()
        };
        self.bodies.iter().map(integral).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::{Background, Resolution, Scanner};
    use super::super::source::Source;
    use super::*;
    use crate::response::Radial;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// Lines from anywhere in a square, of any azimuth of the range and any tilt, moved as far as they can be.
    #[test]
    fn no_line_loses_less() {
        let cylinder = |x, radius, length| Shape::Cylinder { centre: [x, 0.0, 0.0], radius, length };
        let object = |shape, attenuation| Object { shape, activity: 1.0, attenuation };
        let phantom = Phantom::new(vec![
            object(cylinder(10.0, 120.0, 300.0), 0.0096),
            object(cylinder(-30.0, 40.0, 100.0), -0.004),
            object(Shape::sphere([20.0, 50.0, 30.0], 25.0), 0.01),
            object(Shape::Box { centre: [0.0, -60.0, 0.0], size: [20.0, 30.0, 40.0] }, -0.002),
        ])
        .unwrap();
        let radial = Radial::Table { radius: vec![0.0, 100.0], fwhm: vec![3.0, 6.0] };
        let scan = Scan {
            source: Source::Phantom(&phantom),
            attenuation: &phantom,
            map: None,
            scanner: Scanner::default(),
            resolution: Resolution { time: 0.0, radial, axial: 6.0 },
            background: Background::default(),
        };
        let envelope = Envelope::new(&phantom, &scan, 1 << 30).unwrap();
        let farthest = FARTHEST * 6.0 / FWHM_PER_SIGMA;
        let mut random = StdRng::seed_from_u64(1);
        let mut tight = 0;
        for _ in 0..200_000 {
            let k = random.random_range(0..envelope.minimum.len());
            let (square, azimuth, minimum) = envelope.at(k, random.random_range(0.0..1.0));
            let (sin, cos) = (2.0 * PI * azimuth).sin_cos();
            let tilt: f64 = random.random_range(-1.0..1.0) * scan.scanner.max_tilt;
            let blur = random.random_range(-1.0..1.0) * farthest;
            let place: [f64; 3] =
                std::array::from_fn(|d| square.low[d] + random.random_range(0.0..1.0) * square.size[d]);
            let moved = [place[0] - blur * sin, place[1] + blur * cos, place[2]];
            let along = [cos * tilt.cos(), sin * tilt.cos(), tilt.sin()];
            // Only lines that are measured count.
            let Some(ends) = ends(&scan.scanner, moved, along) else { continue };
            assert!(ends[0] < ends[1]);
            let mut integral = [0.0];
            phantom.line_integrals(&moved.map(|v| [v]), &along.map(|v| [v]), &mut integral);
            assert!(integral[0] >= minimum - 1e-9, "{} {minimum}", integral[0]);
            tight += usize::from(integral[0] < minimum + 1.0);
        }
        assert!(tight > 50_000, "{tight}");
    }

    fn ends(scanner: &Scanner, place: [f64; 3], along: [f64; 3]) -> Option<[f64; 2]> {
        let radius = scanner.diameter / 2.0;
        let ring = Shape::Cylinder { centre: [0.0; 3], radius, length: 1e9 };
        let [a, b] = ring.chord(place, along);
        let inside = |t: f64| (place[2] + t * along[2]).abs() <= scanner.axial_length / 2.0;
        (inside(a) && inside(b)).then_some([a, b])
    }
}

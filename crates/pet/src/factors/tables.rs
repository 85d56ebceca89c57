//! What lines are measured with: efficiencies of the crystals that they meet, and the part of photons that the attenuation lets through.

use super::attenuation::Map;
use super::cones::{Cone, Direction, FINE, Lines};
use crate::bits::{centred, mix};
use crate::scanner::{Nears, Pairs, Surface};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};

/// Crystals as lines meet them.
#[derive(Debug)]
pub(crate) struct Detectors<'a> {
    pub(crate) surface: Surface,
    /// Of each crystal; of random coincidences, how many photons each detects a second.
    pub(crate) efficiencies: Vec<f32>,
    /// Every photon is detected, by the first crystal that it meets: those behind it detect none.
    pub(crate) first_alone: bool,
    pub(crate) pairs: Option<&'a Pairs>,
    /// Of random coincidences: how far from the middle of a line they are at most, mm.
    pub(crate) accidental: Option<f64>,
}

/// How far detectors are from where lines are nearest to the axis: behind and ahead. A place beyond is not between them. Infinity where there are none.
pub(crate) type Between = [f32; 2];

/// What tells the lines of a direction from those of all others.
pub(crate) fn seed(view: usize, direction: usize) -> u32 {
    mix((view as u32).wrapping_mul(0x9e37_79b9) ^ direction as u32)
}

impl Detectors<'_> {
    /// Lines of a direction in row `i` along `s`, efficiencies of all pairs of crystals that they cross times the part of photons that gets through their cells, if there is a map. Each has a `z`
    /// of its own, and every eighth the same direction and `s`, all anywhere in what they stand for: so that a voxel's lines have no pattern that crystals might have,
    /// too. Lines with an even number come first, then the others: those of voxels one above the other are neighbours.
    pub(super) fn measured(
        &self,
        lines: &Lines,
        direction: &Direction,
        (seed, i): (u32, usize),
        through: Option<&[f32]>,
        out: &mut [f32],
    ) -> Between {
        let fans: [Fan; FANS] =
            std::array::from_fn(|fan| Fan::new(lines, direction, seed ^ (i * FANS + fan) as u32, i));
        let mut near = [[Nears::default(); 2]; FANS];
        let mut between = [f32::INFINITY; 2];
        let cells = lines.count[1];
        for j in 0..FINE * cells {
            let (Fan { bits, flat, along }, [front, rear]) = (&fans[j % FANS], &mut near[j % FANS]);
            let z = lines.height(Lines::fine(j, centred(bits ^ (j as u32).wrapping_mul(0x85eb_ca6b), 3)));
            let place = [flat[0], flat[1], z];
            let mut value = match self.surface.layers() {
                // Without lists of crystals that there are none of.
                1 => {
                    let ahead = self.surface.meet_near(0, &mut front[0], place, *along);
                    let behind = ahead.and_then(|_| self.surface.meet_near(0, &mut rear[0], place, along.map(|c| -c)));
                    self.line([behind.as_slice(), ahead.as_slice()], *along, &mut between)
                }
                _ => {
                    let ahead = self.surface.crossed_near(front, place, *along);
                    match ahead.all() {
                        [] => 0.0,
                        _ => {
                            let behind = self.surface.crossed_near(rear, place, along.map(|c| -c));
                            let ends =
                                [&behind, &ahead].map(|end| if self.first_alone { end.first() } else { end.all() });
                            self.line(ends, *along, &mut between)
                        }
                    }
                }
            };
            if value > 0.0 {
                value *= through.map_or(1.0, |part| part[j / FINE]);
            }
            out[j % FINE * cells + j / FINE] = value;
        }
        between
    }

    /// What a line is measured with, by all pairs of crystals that it crosses behind and ahead; `between` becomes as small as they make it.
    #[inline(always)]
    fn line(&self, [behind, ahead]: [&[(usize, f64)]; 2], along: [f64; 3], between: &mut Between) -> f32 {
        let mut sum = 0.0;
        for (a, t) in behind.iter().copied() {
            for (b, u) in ahead.iter().copied() {
                let mut value = self.efficiencies[a] * self.efficiencies[b];
                if let Some(pairs) = self.pairs {
                    value *= pairs.efficiency(a, b);
                }
                let mut ends = [t, u];
                if let Some(reach) = self.accidental {
                    let planes = self.surface.parts().planes;
                    value *= ((t + u) * (t + u) / (planes[a].facing(along) * planes[b].facing(along))) as f32;
                    let middle = 0.5 * (u - t);
                    ends = [reach - middle, reach + middle];
                }
                if value > 0.0 {
                    *between = [between[0].min(ends[0] as f32), between[1].min(ends[1] as f32)];
                    sum += value;
                }
            }
        }
        sum
    }
}

/// Fans of lines above each other in a row.
const FANS: usize = 8;

/// Lines that differ in z alone.
struct Fan {
    bits: u32,
    /// Where they are nearest to the axis, but for z.
    flat: [f64; 2],
    along: [f64; 3],
}

impl Fan {
    fn new(lines: &Lines, direction: &Direction, number: u32, i: usize) -> Self {
        let bits = mix(number);
        let s = lines.off_axis(Lines::fine(i, centred(bits, 0)));
        let (sin, cos) = (direction.azimuth + direction.width * centred(bits, 1)).sin_cos();
        let sine = direction.sine + direction.height * centred(bits, 2);
        let cosine = (1.0 - sine * sine).sqrt();
        Self { bits, flat: [-s * sin, s * cos], along: [cos * cosine, sin * cosine, sine] }
    }
}

/// The part of photons that gets through cells `i` along `s`, in the direction of a cone's middle.
pub(super) fn through(level: Level, map: &Map, lines: &Lines, cone: &Cone, i: usize, out: &mut [f32]) {
    vectorised(level, Through { map, lines, direction: &cone.middle, i, out });
}

struct Through<'a> {
    map: &'a Map,
    lines: &'a Lines,
    direction: &'a Direction,
    i: usize,
    out: &'a mut [f32],
}

impl Plain for Through<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.map.integrals(self.lines, self.direction, self.i, self.out);
        for v in self.out {
            *v = isocenter_base::cpu::elementary::exp(-f64::from(*v)) as f32;
        }
    }
}

//! What photons meet: bodies, or a map of voxels.

use super::scan::Scan;
use crate::factors::AttenuationMap;
use crate::phantom::Phantom;
use isocenter_base::cpu::elementary::ln;
use isocenter_base::cpu::random::OneByOne;
use isocenter_base::error::{Result, fail};

/// What attenuates, by place.
pub(super) struct Medium<'a> {
    of: Of<'a>,
    /// No place attenuates more, 1/mm.
    densest: f64,
}

enum Of<'a> {
    Bodies(&'a Phantom),
    Map(AttenuationMap<'a>),
}

impl<'a> Medium<'a> {
    pub(super) fn new(scan: &Scan<'a>) -> Result<Self> {
        let Some(map) = scan.map else {
            let densest = scan.attenuation.attenuating().map(|o| o.attenuation.max(0.0)).sum();
            return Ok(Self { of: Of::Bodies(scan.attenuation), densest });
        };
        if let Some(k) = map.values.iter().position(|v| !(v.is_finite() && *v >= 0.0)) {
            let [_, ny, nx] = map.shape;
            let at = [k / (nx * ny), k / nx % ny, k % nx];
            fail!(OutOfRange, "attenuation{at:?} is {} /mm; it must be at least 0 and finite", map.values[k]);
        }
        let densest = f64::from(map.values.iter().copied().fold(0.0, f32::max));
        Ok(Self { of: Of::Map(map), densest })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.densest <= 0.0
    }

    fn at(&self, place: [f64; 3]) -> f64 {
        match &self.of {
            Of::Bodies(phantom) => {
                phantom.attenuating().filter(|o| o.shape.contains(place)).map(|o| o.attenuation).sum()
            }
            Of::Map(map) => {
                let [nz, ny, nx] = map.shape;
                let index = |d: usize, n: usize| {
                    let at = (place[d] - map.centre[d]) / map.voxel[d] + 0.5 * n as f64;
                    (at >= 0.0 && at < n as f64).then_some(at as usize)
                };
                match (index(0, nx), index(1, ny), index(2, nz)) {
                    (Some(x), Some(y), Some(z)) => f64::from(map.values[(z * ny + y) * nx + x]),
                    _ => 0.0,
                }
            }
        }
    }

    /// How far a photon comes, if not so far, through so many times the attenuation. Steps are as long as in the densest place, each taken to end there as
    /// the place's own attenuation is to that (E. R. Woodcock et al., Argonne ANL-7050, 1965).
    pub(super) fn flight(
        &self,
        from: [f64; 3],
        along: [f64; 3],
        length: f64,
        times: f64,
        random: &mut OneByOne,
    ) -> Option<f64> {
        if self.is_empty() {
            return None;
        }
        let mut at = 0.0;
        loop {
            at -= ln(random.draw()) / (self.densest * times);
            if at >= length {
                return None;
            }
            if random.draw() * self.densest < self.at(std::array::from_fn(|d| from[d] + at * along[d])) {
                return Some(at);
            }
        }
    }

    /// Whether a photon passes so far.
    pub(super) fn passes(
        &self,
        from: [f64; 3],
        along: [f64; 3],
        length: f64,
        times: f64,
        random: &mut OneByOne,
    ) -> bool {
        self.flight(from, along, length, times, random).is_none()
    }
}

//! Where decays are.

use super::elementary::whole;
use super::lattice::Lattice;
use super::phantom::{Object, Phantom, Unit};
use super::simulation_random::{DRAWS, Each};
use crate::context::Context;
use crate::cpu::buffer::zeros;
use crate::error::{Result, fail};

/// Where decays are.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// In a phantom's activity.
    Phantom(&'a Phantom),
    /// In the voxels of an image of activity for a volume; uniform within a voxel.
    Image(&'a [f32], Lattice),
}

impl Source<'_> {
    /// Integral of the activity over all space.
    pub(super) fn total(&self) -> f64 {
        match self {
            Source::Phantom(phantom) => phantom.total_activity(),
            Source::Image(image, lattice) => image.iter().map(|v| f64::from(*v)).sum::<f64>() * lattice.voxel_volume(),
        }
    }
}

/// Uniform numbers that a place is made of.
pub(super) const UNIFORMS: usize = 7;

/// Draws places in proportion to activity.
pub(super) enum Sampler<'a> {
    /// Bodies of positive activity; and whether negative ones take some away.
    Phantom {
        phantom: &'a Phantom,
        bodies: Vec<&'a Object>,
        choice: Choice,
        thinned: bool,
    },
    Image {
        lattice: Lattice,
        choice: Choice,
    },
}

impl<'a> Sampler<'a> {
    pub(super) fn new(context: &Context, source: &Source<'a>) -> Result<Self> {
        match *source {
            Source::Phantom(phantom) => {
                let objects = phantom.objects();
                let bodies: Vec<&Object> = objects.iter().filter(|o| o.activity > 0.0).collect();
                let choice = Choice::new(bodies.iter().map(|o| o.activity * o.shape.volume()))?;
                Ok(Sampler::Phantom { phantom, bodies, choice, thinned: objects.iter().any(|o| o.activity < 0.0) })
            }
            Source::Image(image, lattice) => {
                if image.len() != lattice.voxels() {
                    let shape = lattice.shape();
                    fail!(TensorShape, "the activity has {} values; {shape:?} were expected", image.len());
                }
                if let Some((k, v)) = image.iter().enumerate().find(|(_, v)| !(v.is_finite() && **v >= 0.0)) {
                    fail!(OutOfRange, "the activity of voxel {k} is {v}; it must be at least 0 and finite");
                }
                let (needed, cap) = ((image.len() * Choice::BYTES) as u64, context.memory_cap());
                if needed > cap {
                    fail!(MemoryCap, "a source of voxels needs {needed} bytes; the context's memory cap is {cap}");
                }
                Ok(Sampler::Image { lattice, choice: Choice::new(image.iter().map(|v| f64::from(*v)))? })
            }
        }
    }

    /// Places, and which of the draws are decays at all.
    #[inline(always)]
    pub(super) fn places(&self, uniform: &[Each; UNIFORMS], place: &mut [Each; 3], real: &mut [bool; DRAWS]) {
        real.fill(true);
        let [first, second, part @ ..] = uniform;
        let mut units = [[0.0; DRAWS]; 9];
        if let Sampler::Phantom { .. } = self {
            for i in 0..DRAWS {
                let Unit { cylinder, ball, cube } = Unit::new(std::array::from_fn(|k| part[k][i]));
                for (unit, v) in units.iter_mut().zip([cylinder, ball, cube].as_flattened()) {
                    unit[i] = *v;
                }
            }
        }
        let unit = |i: usize| {
            let at = |k: usize| [units[k][i], units[k + 1][i], units[k + 2][i]];
            Unit { cylinder: at(0), ball: at(3), cube: at(6) }
        };
        for i in 0..DRAWS {
            // The first number's steps are as coarse as 32 bits are.
            let k = match self {
                Sampler::Phantom { choice, .. } => choice.pick(first[i]),
                Sampler::Image { choice, .. } => choice.pick(first[i] + (second[i] - 0.5) / 4_294_967_296.0),
            };
            let p = match self {
                Sampler::Phantom { phantom, bodies, thinned, .. } => {
                    let p = bodies[k].shape.place(&unit(i));
                    real[i] = !thinned || second[i] * positive(phantom, p) < phantom.activity(p);
                    p
                }
                Sampler::Image { lattice, .. } => {
                    let [nx, ny, _] = lattice.along();
                    let at = [k % nx, k / nx % ny, k / (nx * ny)];
                    std::array::from_fn(|d| lattice.position(d, at[d]) + (part[d][i] - 0.5) * lattice.voxel()[d])
                }
            };
            for (place, p) in place.iter_mut().zip(p) {
                place[i] = p;
            }
        }
    }
}

/// Sum of the positive activities at a place.
fn positive(phantom: &Phantom, place: [f64; 3]) -> f64 {
    phantom.objects().iter().filter(|o| o.activity > 0.0 && o.shape.contains(place)).map(|o| o.activity).sum()
}

/// Picks one of several in proportion to their amounts.
pub(super) struct Choice {
    /// Running sums.
    sums: Vec<f64>,
    /// For each of as many equal parts of the whole, the first whose sum is beyond the part's beginning.
    guide: Vec<u32>,
}

impl Choice {
    /// For each.
    const BYTES: usize = 12;

    fn new(amounts: impl ExactSizeIterator<Item = f64>) -> Result<Self> {
        let n = amounts.len();
        let (mut sums, mut guide) = (zeros::<f64>(n)?, zeros::<u32>(n)?);
        let mut sum = 0.0;
        for (s, v) in sums.iter_mut().zip(amounts) {
            sum += v;
            *s = sum;
        }
        if sum <= 0.0 {
            fail!(OutOfRange, "the source has no activity; some of it must be above 0");
        }
        let mut k = 0;
        for (part, guide) in guide.iter_mut().enumerate() {
            while k < n - 1 && sums[k] <= part as f64 / n as f64 * sum {
                k += 1;
            }
            *guide = k as u32;
        }
        Ok(Self { sums, guide })
    }

    /// By a number between 0 and 1.
    #[inline(always)]
    fn pick(&self, u: f64) -> usize {
        let last = self.sums.len() - 1;
        let amount = u * self.sums[last];
        // Rounding may put the number a part too far.
        let part = whole(u * self.guide.len() as f64 - 1e-6, last as f64) as usize;
        let mut k = self.guide[part] as usize;
        while k < last && self.sums[k] <= amount {
            k += 1;
        }
        k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_in_proportion() {
        let choice = Choice::new([0.0, 3.0, 0.0, 0.0, 1.0, 4.0, 0.0].into_iter()).unwrap();
        for k in 0..8000 {
            let u = (k as f64 + 0.5) / 8000.0;
            let expected = if u < 0.375 {
                1
            } else if u < 0.5 {
                4
            } else {
                5
            };
            assert_eq!(choice.pick(u), expected, "{u}");
        }
        assert!(Choice::new([0.0, 0.0].into_iter()).is_err() && Choice::new(std::iter::empty()).is_err());
    }
}

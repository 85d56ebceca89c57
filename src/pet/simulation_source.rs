//! Where decays are.

use super::elementary::whole;
use super::lattice::Lattice;
use super::phantom::Phantom;
use super::simulation::Scan;
use super::simulation_envelope::Envelope;
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

/// Uniform numbers that a decay is made of.
pub(super) const UNIFORMS: usize = 7;

/// Decays that are drawn, more of them where more are measured.
pub(super) struct Decays {
    pub(super) place: [Each; 3],
    /// In turns.
    pub(super) azimuth: Each,
    /// Less than this no line like it loses: the logarithm of how much more often it is drawn.
    pub(super) least: Each,
    /// Whether it is a decay at all.
    pub(super) real: [bool; DRAWS],
}

impl Decays {
    pub(super) fn new() -> Self {
        let each = [0.0; DRAWS];
        Self { place: [each; 3], azimuth: each, least: each, real: [true; DRAWS] }
    }
}

/// Draws decays in proportion to activity.
pub(super) enum Sampler<'a> {
    Phantom { phantom: &'a Phantom, envelope: Envelope<'a>, choice: Choice, thinned: bool },
    Image { lattice: Lattice, choice: Choice },
}

impl<'a> Sampler<'a> {
    pub(super) fn new(context: &Context, scan: &Scan<'a>) -> Result<Self> {
        match scan.source {
            Source::Phantom(phantom) => {
                let envelope = Envelope::new(phantom, scan, context.memory_cap(0))?;
                let choice = Choice::new(envelope.weights())?;
                let thinned = phantom.objects().iter().any(|o| o.activity < 0.0);
                Ok(Sampler::Phantom { phantom, envelope, choice, thinned })
            }
            Source::Image(image, lattice) => {
                if image.len() != lattice.voxels() {
                    let shape = lattice.shape();
                    fail!(TensorShape, "the activity has {} values; {shape:?} were expected", image.len());
                }
                if let Some((k, v)) = image.iter().enumerate().find(|(_, v)| !(v.is_finite() && **v >= 0.0)) {
                    fail!(OutOfRange, "the activity of voxel {k} is {v}; it must be at least 0 and finite");
                }
                let (needed, cap) = ((image.len() * Choice::BYTES) as u64, context.memory_cap(0));
                if needed > cap {
                    fail!(MemoryCap, "a source of voxels needs {needed} bytes; the context's memory cap is {cap}");
                }
                Ok(Sampler::Image { lattice, choice: Choice::new(image.iter().map(|v| f64::from(*v)))? })
            }
        }
    }

    /// Decays that a draw stands for.
    pub(super) fn decays_a_draw(&self) -> f64 {
        match self {
            Sampler::Phantom { phantom, choice, .. } => phantom.total_activity() / choice.total(),
            Sampler::Image { .. } => 1.0,
        }
    }

    #[inline(always)]
    pub(super) fn draw(&self, uniform: &[Each; UNIFORMS], out: &mut Decays) {
        let [first, second, x, y, z, turn, side] = uniform;
        for i in 0..DRAWS {
            let part = [x[i], y[i], z[i]];
            let place: [f64; 3] = match self {
                Sampler::Phantom { phantom, envelope, choice, thinned } => {
                    let (square, azimuth, least) = envelope.at(choice.pick(first[i]), turn[i]);
                    let place = std::array::from_fn(|d| square.low[d] + part[d] * square.size[d]);
                    out.real[i] = square.body.shape.contains(place)
                        && (!thinned || second[i] * positive(phantom, place) < phantom.activity(place));
                    out.azimuth[i] = azimuth + if side[i] < 0.5 { 0.0 } else { 0.5 };
                    out.least[i] = least;
                    place
                }
                Sampler::Image { lattice, choice } => {
                    // The first number's steps are as coarse as 32 bits are.
                    let k = choice.pick(first[i] + (second[i] - 0.5) / 4_294_967_296.0);
                    let [nx, ny, _] = lattice.along();
                    let at = [k % nx, k / nx % ny, k / (nx * ny)];
                    out.azimuth[i] = turn[i];
                    std::array::from_fn(|d| lattice.position(d, at[d]) + (part[d] - 0.5) * lattice.voxel()[d])
                }
            };
            for (column, p) in out.place.iter_mut().zip(place) {
                column[i] = p;
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

    /// Sum of the amounts.
    fn total(&self) -> f64 {
        self.sums[self.sums.len() - 1]
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

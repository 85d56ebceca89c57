//! Decays in proportion to the activity of a source.

use super::choice::Choice;
use super::envelope::Envelope;
use super::scan::Scan;
use super::source::Source;
use crate::lattice::Lattice;
use crate::phantom::Phantom;
use isocenter_base::context::Context;
use isocenter_base::cpu::random::{BATCH, Batch};
use isocenter_base::error::{Result, fail};

/// Uniform numbers that a decay is made of.
pub(super) const UNIFORMS: usize = 7;

/// Decays that are drawn, more of them where more are measured.
pub(super) struct Decays {
    pub(super) place: [Batch; 3],
    /// In turns.
    pub(super) azimuth: Batch,
    /// A lower bound of the line integral of attenuation along any such line: the logarithm of how much more often it is drawn.
    pub(super) minimum: Batch,
    /// Whether it is a decay at all.
    pub(super) real: [bool; BATCH],
}

impl Decays {
    pub(super) fn new() -> Self {
        let each = [0.0; BATCH];
        Self { place: [each; 3], azimuth: each, minimum: each, real: [true; BATCH] }
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
                    fail!(MemoryCap, "memory_cap is {cap} bytes; a source of voxels needs {needed}");
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
    pub(super) fn draw(&self, uniform: &[Batch; UNIFORMS], out: &mut Decays) {
        let [first, second, x, y, z, turn, side] = uniform;
        for i in 0..BATCH {
            let part = [x[i], y[i], z[i]];
            let place: [f64; 3] = match self {
                Sampler::Phantom { phantom, envelope, choice, thinned } => {
                    let (square, azimuth, minimum) = envelope.at(choice.pick(first[i]), turn[i]);
                    let place = std::array::from_fn(|d| square.low[d] + part[d] * square.size[d]);
                    out.real[i] = square.body.shape.contains(place)
                        && (!thinned || second[i] * positive(phantom, place) < phantom.activity(place));
                    out.azimuth[i] = azimuth + if side[i] < 0.5 { 0.0 } else { 0.5 };
                    out.minimum[i] = minimum;
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

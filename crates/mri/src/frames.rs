//! Frames of a series: ranges of a scan's samples, which may overlap, with images of their own.

use super::engine::{Engine, Solve};
use super::transform::{Effects, Fourier};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::{collected, copied};
use isocenter_base::error::{Result, fail};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of frames.
pub const MAX_FRAMES: usize = 1 << 16;

/// The samples of each frame.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    ranges: Vec<Range<usize>>,
    /// Density weights of each frame's samples; None for the scan's.
    weights: Option<Vec<Vec<f64>>>,
}

impl Frames {
    /// Frame f has `counts[f]` samples from `first[f]` on.
    pub(super) fn new(first: &[i64], counts: &[i64], samples: usize) -> Result<Self> {
        let mut ranges = isocenter_base::cpu::buffer::reserved(first.len())?;
        for (f, (from, count)) in first.iter().zip(counts).enumerate() {
            let range = usize::try_from(*from).ok().zip(usize::try_from(*count).ok());
            match range.and_then(|(from, count)| Some(from..from.checked_add(count)?)) {
                Some(range) if range.end <= samples && !range.is_empty() => ranges.push(range),
                _ => fail!(
                    OutOfRange,
                    "frame {f} has {count} samples from {from} on; it must have 1 or more of those from 0 to {}",
                    samples - 1
                ),
            }
        }
        Ok(Self { ranges, weights: None })
    }

    /// Windows of so many samples, so many apart, as long as they are whole.
    pub(super) fn windows(length: usize, step: usize, samples: usize) -> Result<Self> {
        if !(1..=samples).contains(&length) {
            fail!(OutOfRange, "length is {length}; a window must have 1 to {samples} samples, those of the trajectory");
        }
        if step == 0 {
            fail!(OutOfRange, "step is 0; windows must be 1 or more samples apart");
        }
        let count = (samples - length) / step + 1;
        if count > MAX_FRAMES {
            fail!(OutOfRange, "{count} windows of {length} samples, {step} apart; there must be at most {MAX_FRAMES}");
        }
        let ranges = collected((0..count).map(|f| f * step..f * step + length))?;
        Ok(Self { ranges, weights: None })
    }

    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// A frame's samples.
    pub(super) fn range(&self, frame: usize) -> &Range<usize> {
        &self.ranges[frame]
    }

    /// The frame with the most samples.
    pub(super) fn longest(&self) -> usize {
        (0..self.count()).max_by_key(|f| self.ranges[*f].len()).unwrap_or_default()
    }

    pub(super) fn have_weights(&self) -> bool {
        self.weights.is_some()
    }

    /// Density weights of each frame's samples; None for the scan's.
    pub(super) fn set_weights(&mut self, weights: Option<Vec<Vec<f64>>>) {
        self.weights = weights;
    }

    pub(super) fn weights(&self) -> Option<&[Vec<f64>]> {
        self.weights.as_deref()
    }

    /// Parts of a scan's samples, so many each and the rest in the last.
    pub(super) fn parts(of: usize, samples: usize) -> Result<Self> {
        let ranges = collected((0..samples).step_by(of).map(|first| first..samples.min(first + of)))?;
        Ok(Self { ranges, weights: None })
    }

    /// A frame's settings: what belongs to all is kept besides.
    pub(super) fn beside<E: Engine>(&self, engine: &mut E, fourier: &Fourier, solve: &Solve) -> Result<Solve> {
        let q = engine.has_q();
        let kept = self.kept(engine, fourier, q)?;
        let scan = engine.scan();
        let images = self.count() as u64 * (scan.problems() * scan.unknowns()) as u64;
        let starts = if solve.warm_start { images } else { 0 };
        let all = if solve.holds_samples { (scan.coils * scan.samples()) as u64 } else { 0 };
        Ok(Solve { besides: solve.besides + images + starts + all + kept, holds_samples: true, ..*solve })
    }

    /// Numbers that stay while the longest frame is worked on: of its side, and of the Q of all samples if there is one.
    pub(super) fn kept<E: Engine>(&self, engine: &mut E, fourier: &Fourier, q: bool) -> Result<u64> {
        let told = self.told_bytes(engine);
        let q = if q { engine.q_bytes(fourier)? } else { 0 };
        Ok((told + q).div_ceil(2 * size_of::<E::Scalar>() as u64))
    }

    /// Of what [`Frames::side`] copies for the longest frame, where that counts: on a GPU it does not, since it is on the host.
    fn told_bytes<E: Engine>(&self, engine: &E) -> u64 {
        if E::WAITS {
            return 0;
        }
        let weights = self.have_weights() || engine.scan().weights.is_some();
        let Effects { field, basis, .. } = &engine.scan().effects;
        let (double, real) = (size_of::<f64>(), size_of::<E::Scalar>());
        let sample = 3 * double
            + if weights { double + real } else { 0 }
            + if field.is_some() { double } else { 0 }
            + if basis.is_some() { size_of::<u32>() } else { 0 };
        (sample * self.range(self.longest()).len()) as u64
    }

    /// Maximum number of bytes for the solutions: of frames one after the other, or of all together.
    pub(super) fn memory<E: Engine>(
        &self,
        engine: &mut E,
        context: &Context,
        fourier: &Fourier,
        solve: &Solve,
    ) -> Result<u64> {
        let solve = match solve.takes_frames_together() {
            true => self.together(engine, fourier, solve)?,
            false => self.beside(engine, fourier, solve)?,
        };
        let mut side = self.side(engine, self.longest())?;
        with_side(engine, &mut side, |engine| engine.memory(context, fourier, &solve))
    }

    /// What an engine knows of a frame's samples.
    pub(super) fn side<E: Engine>(&self, engine: &mut E, frame: usize) -> Result<E::Side> {
        let (scan, range) = (engine.scan(), &self.ranges[frame]);
        let trajectory = Arc::new(scan.trajectory.part(range)?);
        let weights = match (&self.weights, &scan.weights) {
            (Some(own), _) => Some(copied(&own[frame])?),
            (None, Some(all)) => Some(copied(&all[range.clone()])?),
            (None, None) => None,
        };
        let field = match &scan.effects.field {
            Some(field) => Some(Arc::new(field.part(range)?)),
            None => None,
        };
        let basis = match &scan.effects.basis {
            Some(basis) => Some(Arc::new(basis.part(range)?)),
            None => None,
        };
        let effects = Effects { field, basis, ..scan.effects.clone() };
        engine.side(trajectory, weights, effects)
    }

    /// All frames' settings, where their images are of one problem.
    pub(super) fn together<E: Engine>(&self, engine: &mut E, fourier: &Fourier, solve: &Solve) -> Result<Solve> {
        let beside = self.beside(engine, fourier, solve)?;
        let mut side = self.side(engine, self.longest())?;
        let bytes = with_side(engine, &mut side, |engine| engine.side_bytes(fourier, solve))? + self.told_bytes(engine);
        // One is counted as if it were alone.
        let sides = (self.count() as u64 - 1).saturating_mul(bytes) / (2 * size_of::<E::Scalar>() as u64);
        Ok(Solve { frames: self.count(), besides: beside.besides.saturating_add(sides), ..beside })
    }

    /// Works on each frame; `after` takes what belonged to its samples.
    pub(super) fn each<E: Engine>(
        &self,
        engine: &mut E,
        mut work: impl FnMut(&mut E, usize, &mut E::Side) -> Result<()>,
        mut after: impl FnMut(E::Side),
    ) -> Result<()> {
        for frame in 0..self.count() {
            let mut side = self.side(engine, frame)?;
            work(engine, frame, &mut side)?;
            after(side);
        }
        Ok(())
    }

    /// An error if a sample is in two frames, which then has two values.
    pub(super) fn check_apart(&self) -> Result<()> {
        let mut order: Vec<usize> = collected(0..self.count())?;
        order.sort_unstable_by_key(|f| self.ranges[*f].start);
        for pair in order.windows(2) {
            let [a, b] = [&self.ranges[pair[0]], &self.ranges[pair[1]]];
            if b.start < a.end {
                fail!(
                    NotConfigured,
                    "sample {} is in frame {} and in frame {}: what is it of? The forward transform takes frames that do not overlap",
                    b.start,
                    pair[0],
                    pair[1]
                );
            }
        }
        Ok(())
    }
}

/// Works with an engine on a part of the samples.
pub(super) fn with_side<E: Engine, R>(
    engine: &mut E,
    side: &mut E::Side,
    work: impl FnOnce(&mut E) -> Result<R>,
) -> Result<R> {
    let with = WithSide::new(engine, side);
    work(with.engine)
}

/// An engine that has another side, until this goes: a fault on the way leaves no plan with samples that are not its own.
struct WithSide<'a, E: Engine> {
    engine: &'a mut E,
    side: &'a mut E::Side,
}

impl<'a, E: Engine> WithSide<'a, E> {
    fn new(engine: &'a mut E, side: &'a mut E::Side) -> Self {
        engine.exchange(side);
        Self { engine, side }
    }
}

impl<E: Engine> Drop for WithSide<'_, E> {
    fn drop(&mut self) {
        self.engine.exchange(self.side);
    }
}

//! A frame's part of a vector of all frames.

use super::engine::{Engine, Vector};
use super::frames::Frames;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_solve::Vectors;
use std::ops::Range;

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Samples of its range, of each coil.
    Samples,
    /// Its images.
    Images,
}

impl Part {
    /// Where it is, while the engine has all samples.
    pub(super) fn pieces<E: Engine>(self, e: &E, (frames, frame): (&Frames, usize)) -> Result<Vec<Range<usize>>> {
        let scan = e.scan();
        match self {
            Self::Samples => {
                let (range, all) = (frames.range(frame), scan.samples());
                collected((0..scan.coils).map(|coil| coil * all + range.start..coil * all + range.end))
            }
            Self::Images => {
                let count = scan.problems() * scan.unknowns();
                collected(std::iter::once(frame * count..(frame + 1) * count))
            }
        }
    }

    /// A copy of a frame's part.
    pub(super) fn gather<E: Engine>(self, e: &mut E, all: &Vector<E>, of: (&Frames, usize)) -> Result<Vector<E>> {
        let pieces = self.pieces(e, of)?;
        let mut part = e.vectors().uninitialised(pieces.iter().map(Range::len).sum())?;
        let mut at = 0;
        for piece in pieces {
            e.vectors().copy((all, piece.start), (&mut part, at), piece.len())?;
            at += piece.len();
        }
        Ok(part)
    }

    /// The other way round.
    pub(super) fn scatter<E: Engine>(
        self,
        e: &mut E,
        part: &Vector<E>,
        all: &mut Vector<E>,
        of: (&Frames, usize),
    ) -> Result<()> {
        let mut at = 0;
        for piece in self.pieces(e, of)? {
            e.vectors().copy((part, at), (all, piece.start), piece.len())?;
            at += piece.len();
        }
        Ok(())
    }
}

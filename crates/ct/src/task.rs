//! What a call asks of an engine: an operator, and all of the plan that it depends on.

use super::band_limited::BandLimited;
use super::geometry::Geometry;
use super::iterative::Iteration;
use super::iterative::options::Algorithm;
use super::options::{Interpolation, Kernel, Pair, Precision};
use super::output::{Finish, Pass};
use super::rows::Chain;
use super::slab::Queue;
use isocenter_base::context::Stage;
use isocenter_base::error::Result;
use std::ops::Range;

/// What a call computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Reconstruct,
    /// The same by iterations.
    Iterate,
    Backproject,
    Filter,
    Adjoint,
    Forward,
}

impl Operator {
    /// What an algorithm reconstructs by.
    pub(super) fn to_reconstruct(algorithm: Algorithm) -> Self {
        if algorithm == Algorithm::Fbp { Self::Reconstruct } else { Self::Iterate }
    }

    /// For the log.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reconstruct | Self::Iterate => "reconstruct",
            Self::Backproject => "backproject",
            Self::Filter => "filter",
            Self::Adjoint => "adjoint",
            Self::Forward => "forward",
        }
    }

    /// The stage that most of its time goes to.
    pub(super) fn stage(self) -> Stage {
        match self {
            Self::Filter => Stage::Filter,
            Self::Reconstruct | Self::Backproject => Stage::Backproject,
            Self::Iterate => Stage::Iterate,
            Self::Adjoint => Stage::Adjoint,
            Self::Forward => Stage::Forward,
        }
    }
}

impl Task<'_> {
    /// The slices that the call works on.
    pub(super) fn queue(&self) -> Result<Queue> {
        match self.pass.finish {
            Finish::Survey(survey) => Queue::new(survey.slices().iter().cloned()),
            Finish::Direct | Finish::Write(_) => Queue::new(std::iter::once(0..self.geometry.slices)),
        }
    }

    /// As many of them as are next to each other, at most.
    pub(super) fn neighbours(&self) -> usize {
        match self.pass.finish {
            Finish::Survey(survey) => survey.slices().iter().map(Range::len).max().unwrap_or(0),
            Finish::Direct | Finish::Write(_) => self.geometry.slices,
        }
    }

    /// Whether no slice is done without the others.
    pub(super) fn together(&self) -> bool {
        self.iteration.is_some_and(|iteration| iteration.depth.is_some())
    }

    /// What band-limited sums take, where the operator is one.
    pub(super) fn band_limited(&self) -> Result<Option<BandLimited>> {
        let band_limited = match self.operator {
            Operator::Reconstruct | Operator::Backproject => self.interpolation == Interpolation::BandLimited,
            Operator::Forward | Operator::Adjoint | Operator::Iterate => self.pair == Pair::BandLimited,
            Operator::Filter => false,
        };
        band_limited.then(|| BandLimited::new(self.geometry, self.tolerance)).transpose()
    }
}

/// One call, as the plan has it; its arrays are beside it.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) operator: Operator,
    /// What it computes with; of half acquisition, that of the widened rows.
    pub(super) geometry: &'a Geometry,
    /// The caller's: projections are as this says. Views, rows and the volume are the same in both.
    pub(super) detector: &'a Geometry,
    pub(super) interpolation: Interpolation,
    pub(super) pair: Pair,
    /// Of band-limited sums.
    pub(super) tolerance: f64,
    /// What the rows of projections pass on their way; nothing where a volume is read.
    pub(super) rows: Chain<'a>,
    /// Back projector on a GPU, and the precision of its data.
    pub(super) kernel: Kernel,
    pub(super) precision: Precision,
    /// The caller's stream, for arrays on a GPU.
    pub(super) stream: usize,
    /// Of [`Operator::Iterate`].
    pub(super) iteration: Option<&'a Iteration<'a>>,
    /// What becomes of its results.
    pub(super) pass: Pass<'a>,
}

//! What rows pass on their way from the caller's projections to the back projector, a file for each stage, in this order:
//!
//! 1. [`kind`]: what the values are, and so what makes line integrals of them: the [`flat_field`], the [`logarithm`], or nothing;
//! 2. [`stripes`];
//! 3. [`filter`];
//! 4. the angular weights, which the packing of a row multiplies by.
//!
//! Most work on a row alone (the filter on two at a time, as real and imaginary part), so the processor runs them while it
//! packs, and a GPU in one kernel (`kernels/ct/filter.cu`). Where there are [`Stages`] that see more than a row, line integrals of a
//! slab are made first, in a buffer of its own, the stages work there, and the others take it from there. [`reader`] reads the caller's
//! arrays; [`doubts`] looks at what they seem to hold.

pub(super) mod doubts;
pub(super) mod filter;
pub(super) mod flat_field;
pub(super) mod kind;
mod logarithm;
pub(super) mod reader;
pub(super) mod stripes;

use crate::error::Result;
use filter::{Filter, Padding};
use kind::Correction;
use stripes::Stripes;

/// Stages that see more than a row: all of a slice's.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    pub(super) stripes: Option<Stripes>,
}

impl Stages {
    /// Itself, if there is any.
    pub(super) fn any(&self) -> Option<&Self> {
        self.stripes.is_some().then_some(self)
    }

    /// Refuses what does not go with so many views of so many bins.
    pub(super) fn check_size(&self, views: usize, bins: usize) -> Result<()> {
        self.stripes.as_ref().map_or(Ok(()), |stripes| stripes.check_size(views, bins))
    }
}

/// The stages of a call.
#[derive(Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) correction: Correction<'a>,
    pub(super) stages: Option<&'a Stages>,
    pub(super) filter: Option<(&'a Filter, Padding)>,
    /// What each view is multiplied by.
    pub(super) weights: Option<&'a [f64]>,
}

impl Chain<'_> {
    /// Rows pass as they are.
    pub(super) const NONE: Self = Self { correction: Correction::None, stages: None, filter: None, weights: None };
}

//! The matched pair that iterations go by.

use super::banded::BandedPair;
use super::resident::{Joseph, Kept};
use crate::cpu::groups::Lanes;
use crate::geometry::Geometry;
use crate::iterative::Iteration;
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use std::ops::Range;

pub(super) enum Pairs<'a> {
    Joseph(Joseph<'a>),
    /// Of all views.
    Banded(Box<BandedPair<'a>>),
}

impl<'a> Pairs<'a> {
    pub(super) fn new(g: &'a Geometry, iteration: &'a Iteration, level: Level, threads: usize) -> Result<Self> {
        Ok(match iteration.band_limited {
            None => Self::Joseph(Joseph::new(&iteration.subsets, threads)?),
            Some(band_limited) => Self::Banded(Box::new(BandedPair::new(g, level, threads, band_limited)?)),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Joseph(pairs) => pairs.len(),
            Self::Banded(_) => 1,
        }
    }

    /// Sizes of vectors; of the band-limited pair slices do not lie in lanes.
    pub(super) fn kept(&self, g: &Geometry, lanes: Lanes, groups: usize) -> Result<Kept> {
        match self {
            Self::Joseph(pairs) => Ok(pairs.kept(g, lanes, groups)),
            Self::Banded(pair) => pair.kept(lanes.count() * groups),
        }
    }

    /// Bytes beside the vectors and what is packed.
    pub(super) fn other_bytes(&self, g: &Geometry, kept: &Kept, threads: usize) -> u64 {
        match self {
            Self::Joseph(_) => threads as u64 * Joseph::thread_bytes(g, kept.side),
            Self::Banded(pair) => pair.other_bytes(kept.groups),
        }
    }

    /// Independent tasks of a group.
    pub(super) fn tasks(&self, g: &Geometry, lanes: Lanes) -> usize {
        match self {
            Self::Joseph(pairs) => pairs.tasks(g, lanes),
            Self::Banded(_) => 1,
        }
    }

    /// Views of a subset, among those that vectors hold.
    pub(super) fn views(&self, subset: usize) -> Range<usize> {
        match self {
            Self::Joseph(pairs) => pairs.views(subset),
            Self::Banded(pair) => 0..pair.views(),
        }
    }

    /// rows = A image, of one subset.
    pub(super) fn forward(
        &self,
        at_work: (&Context, &Job),
        kept: &Kept,
        subset: usize,
        image: &[f32],
        packed: &mut [f32],
        rows: &mut [f32],
    ) -> Result<()> {
        match self {
            Self::Joseph(pairs) => pairs.forward(at_work, kept, subset, image, packed, rows),
            Self::Banded(pair) => pair.forward(at_work, kept.groups, image, packed, rows),
        }
    }

    /// image = A^T rows, of one subset.
    pub(super) fn adjoint(
        &self,
        at_work: (&Context, &Job),
        kept: &Kept,
        subset: usize,
        rows: &[f32],
        packed: &mut [f32],
        image: &mut [f32],
    ) -> Result<()> {
        match self {
            Self::Joseph(pairs) => pairs.adjoint(at_work, kept, subset, rows, packed, image),
            Self::Banded(pair) => pair.adjoint(at_work, kept.groups, rows, packed, image),
        }
    }
}

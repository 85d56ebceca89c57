//! What rows pass on their way from the caller's projections to the back projector, a file for each stage, in this order:
//!
//! 1. [`outliers`], on raw frames;
//! 2. [`kind`]: what the values are, and so what makes line integrals of them: the [`flat_field`], the [`logarithm`], or nothing;
//! 3. [`distortion`], of a frame's transmissions (or line integrals, where the caller has these);
//! 4. [`phase`], between a frame's transmissions and their logarithm;
//! 5. [`stripes`];
//! 6. [`half_acquisition`], which widens rows;
//! 7. [`filter`];
//! 8. the angular weights, which the packing of a row multiplies by.
//!
//! Most work on a row alone (the filter on two at a time, as real and imaginary part), so the processor runs them while it
//! packs, and a GPU in one kernel (`kernels/ct/filter.cu`). Where there are [`Stages`] that see more than a row, line integrals of a
//! slab are made first, in a buffer of its own, the stages work there, and the others take it from there. [`reader`] reads the caller's
//! arrays, [`source`] some rows of them for calls that look at few; [`doubts`] looks at what they seem to hold.

pub(super) mod distortion;
pub(super) mod doubts;
pub(super) mod filter;
pub(super) mod flat_field;
pub(super) mod half_acquisition;
pub(super) mod kind;
mod logarithm;
pub(super) mod median;
pub(super) mod outliers;
pub(super) mod phase;
pub(super) mod reader;
pub(super) mod source;
pub(super) mod stripes;

use crate::geometry::Geometry;
use distortion::Distortion;
use filter::{Filter, Padding};
use half_acquisition::Halves;
use isocenter_base::error::{Result, fail};
use kind::Correction;
use outliers::Outliers;
use phase::Phase;
use stripes::{ByAngle, Stripes};

/// Stages that see more than a row: its neighbours in frames, or all of a slice's.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    pub(super) outliers: Option<Outliers>,
    pub(super) distortion: Option<Distortion>,
    pub(super) phase: Option<Phase>,
    pub(super) stripes: Option<Stripes>,
}

impl Stages {
    /// Itself, if there is any.
    pub(super) fn any(&self) -> Option<&Self> {
        let frames = self.outliers.is_some() || self.on_frames();
        (frames || self.stripes.is_some()).then_some(self)
    }

    /// Whether transmissions of whole frames are made, and line integrals of these.
    pub(super) fn on_frames(&self) -> bool {
        self.distortion.is_some() || self.phase.is_some()
    }

    /// Detector rows on either side of a slab that are read for it.
    pub(super) fn reach(&self, detector: &Geometry) -> usize {
        self.outliers.as_ref().map_or(0, Outliers::reach) + self.measured_reach(detector)
    }

    /// Of these, those whose transmissions are made.
    pub(super) fn measured_reach(&self, detector: &Geometry) -> usize {
        self.distortion.as_ref().map_or(0, |distortion| distortion.reach(detector)) + self.phase_reach()
    }

    /// Of these, those that are wanted without distortion.
    pub(super) fn phase_reach(&self) -> usize {
        self.phase.as_ref().map_or(0, Phase::reach)
    }

    /// Refuses what does not go with projections that are so corrected.
    pub(super) fn check(&self, correction: Correction) -> Result<()> {
        let first = [("isoc_ct_set_outliers", self.outliers.is_some()), ("isoc_ct_set_phase", self.phase.is_some())];
        if let (Some((name, _)), Correction::None) = (first.iter().find(|(_, on)| *on), correction) {
            fail!(
                FlatField,
                "projections are line integrals, and {name} is for counts and transmissions; turn it off, or set options.input to 1 (counts) or 2 (transmission)"
            );
        }
        Ok(())
    }

    /// Refuses what does not go with the sizes of a scan.
    pub(super) fn check_size(&self, g: &Geometry) -> Result<()> {
        self.distortion.as_ref().map_or(Ok(()), |distortion| distortion.check_size(g))?;
        self.phase.as_ref().map_or(Ok(()), |phase| phase.check_detector(g.rows, g.bins))?;
        self.stripes.as_ref().map_or(Ok(()), |stripes| stripes.check_size(g.views(), g.bins))
    }
}

/// The stages of a call.
#[derive(Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) correction: Correction<'a>,
    /// Where line integrals are made first: for these, or by a flat field that varies, which the processor has no need of.
    pub(super) stages: Option<&'a Stages>,
    /// For the removal of stripes, where views are not in the order of their angles.
    pub(super) by_angle: Option<&'a ByAngle>,
    /// After the stages, which are there where this is.
    pub(super) halves: Option<&'a Halves>,
    pub(super) filter: Option<(&'a Filter, Padding)>,
    /// What each view is multiplied by.
    pub(super) weights: Option<&'a [f64]>,
}

impl Chain<'_> {
    /// Detector rows on either side of a slab that are read for it.
    pub(super) fn reach(&self, detector: &Geometry) -> usize {
        self.stages.map_or(0, |stages| stages.reach(detector))
    }

    /// Rows pass as they are.
    pub(super) const NONE: Self =
        Self { correction: Correction::None, stages: None, by_angle: None, halves: None, filter: None, weights: None };
}

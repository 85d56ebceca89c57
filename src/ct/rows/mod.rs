//! What rows pass on their way from the caller's projections to the back projector, a file for each stage, in this order:
//!
//! 1. [`kind`]: what the values are, and so what makes line integrals of them: the [`flat_field`], the [`logarithm`], or nothing;
//! 2. [`filter`];
//! 3. the angular weights, which the packing of a row multiplies by.
//!
//! All of them work on a row alone (the filter on two at a time, as real and imaginary part), so the processor runs them while it
//! packs, and a GPU in one kernel (`kernels/ct/filter.cu`). A stage that sees more than a row, a sinogram or a frame, would run
//! between them, on the rows of a slab. [`reader`] reads the caller's arrays; [`doubts`] looks at what they seem to hold.

pub(super) mod doubts;
pub(super) mod filter;
pub(super) mod flat_field;
pub(super) mod kind;
mod logarithm;
pub(super) mod reader;

use filter::{Filter, Padding};
use kind::Correction;

/// The stages of a call.
#[derive(Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) correction: Correction<'a>,
    pub(super) filter: Option<(&'a Filter, Padding)>,
    /// What each view is multiplied by.
    pub(super) weights: Option<&'a [f64]>,
}

impl Chain<'_> {
    /// Rows pass as they are.
    pub(super) const NONE: Self = Self { correction: Correction::None, filter: None, weights: None };
}

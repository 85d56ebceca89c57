//! Iterative reconstruction: what it minimises and by which steps, wherever the vectors are.
//!
//! 1. [`options`]: what was asked for, and whether it goes together;
//! 2. [`subsets`]: the views of each step;
//! 3. [`space`]: the vectors of some slices and what is done to them, which the processor and GPUs implement;
//! 4. a file for each method: [`sirt`] (OS-SART, with subsets), [`cgls`], [`mlem`] (OSEM), [`variation`], whose steps go by [`norms`];
//! 5. [`history`]: what the iterations found.
//!
//! Slices are worked on side by side and are independent: each has step lengths and an end of its own, so that results do not depend
//! on how slices are shared out.

mod cgls;
pub(super) mod history;
mod mlem;
pub(super) mod norms;
pub(super) mod options;
mod sirt;
pub(super) mod space;
pub(super) mod subsets;
mod variation;

use crate::ct::geometry::Geometry;
use crate::ct::output::mask::Mask;
use crate::error::Result;
use history::History;
use options::{Algorithm, Iterative};
use space::{Needs, Space};
use subsets::Subsets;

/// One call's iterations.
pub(super) struct Iteration<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) options: &'a Iterative,
    pub(super) subsets: Subsets,
    /// Pixels that are reconstructed; others stay 0.
    pub(super) mask: Mask,
    pub(super) history: History,
    /// Rays of a slice.
    pub(super) rays: usize,
}

impl<'a> Iteration<'a> {
    pub(super) fn new(algorithm: Algorithm, options: &'a Iterative, g: &Geometry) -> Result<Self> {
        options.check_for(algorithm, g)?;
        let subsets = Subsets::new(g, options.subsets)?;
        let mask = Mask::new(g, options.mask_radius, "iterative.mask_radius")?;
        let rays = g.views() * g.bins;
        Ok(Self { algorithm, options, subsets, mask, history: History::default(), rays })
    }

    /// What the method takes.
    pub(super) fn needs(&self) -> Needs {
        match self.algorithm {
            Algorithm::Fbp => Needs::NOTHING,
            Algorithm::Sirt => sirt::NEEDS,
            Algorithm::Cgls => cgls::NEEDS,
            Algorithm::Mlem => mlem::NEEDS,
            Algorithm::TotalVariation => variation::NEEDS,
        }
    }

    /// All iterations on data that are resident: [`space::DATA`] holds them, [`space::X`] where to begin.
    pub(super) fn run<S: Space>(&self, space: &mut S) -> Result<()> {
        match self.algorithm {
            Algorithm::Fbp => Ok(()),
            Algorithm::Sirt => sirt::run(space, self),
            Algorithm::Cgls => cgls::run(space, self),
            Algorithm::Mlem => mlem::run(space, self),
            Algorithm::TotalVariation => variation::run(space, self),
        }
    }
}

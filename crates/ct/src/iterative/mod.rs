//! Iterative reconstruction: what it minimises and by which steps, wherever the vectors are.
//!
//! 1. [`options`]: what was asked for, and whether it goes together;
//! 2. [`subsets`]: the views of each step;
//! 3. [`space`]: the vectors of some slices and what is done to them, which the processor and GPUs implement;
//! 4. a file for each method: [`sirt`] (OS-SART, with subsets), [`cgls`], [`mlem`] (OSEM), [`variation`] and [`fista`], whose steps go by
//!    [`norms`];
//!    [`rings`] finds the detector's offsets with the image; [`smooth`] makes steps of total variation larger;
//!    [`base`] keeps what is added to an image apart from it;
//! 5. [`iteration`]: a call's; [`history`]: what the iterations found; [`kept`]: what is kept from call to call.
//!
//! Slices are worked on side by side and are independent: each has step lengths and an end of its own, so that results do not depend
//! on how slices are shared out. But for total variation of the volume: that has all slices together.

mod base;
mod cgls;
mod fista;
pub(super) mod history;
mod iteration;
pub(super) mod kept;
mod mlem;
pub(super) mod norms;
pub(super) mod options;
mod rings;
mod sirt;
pub(super) mod smooth;
pub(super) mod space;
pub(super) mod subsets;
pub(super) mod variation;
pub(super) mod weights;

use isocenter_base::error::{Result, fail};
pub(super) use iteration::Iteration;
use options::{Algorithm, Weighting};
use space::{Needs, Rows, Space, Sum, X};

/// An error where an image is not finite, as of data near the largest numbers of single precision. Squares in f64 are finite where these are.
fn finite<S: Space>(space: &mut S) -> Result<()> {
    let square = Sum(0);
    space.clear(square)?;
    space.weigh(X, 1.0, square)?;
    if space.read(square)?.iter().all(|v| v.is_finite()) {
        return Ok(());
    }
    fail!(
        OutOfRange,
        "an image has left single precision: projections are too large; divide them, and all options in their unit, by a power of ten"
    )
}

impl Iteration<'_> {
    /// What the method takes.
    pub(super) fn needs(&self) -> Needs {
        let needs = self.method_needs();
        let more = if self.options.weighting == Weighting::Uniform { 0 } else { 2 };
        Needs { rows: needs.rows + more, offsets: rings::offsets(self), ..needs }
    }

    /// The square roots of rays' weights, and rows to multiply by them: vectors of A are those of S A, S these roots.
    pub(super) fn weights(&self) -> Option<[Rows; 2]> {
        let first = self.method_needs().rows;
        (self.options.weighting != Weighting::Uniform).then_some([Rows(first), Rows(first + 1)])
    }

    /// Those of weights that are made of the data.
    pub(super) fn roots_of_data(&self) -> Option<Rows> {
        self.weights().filter(|_| self.options.weighting == Weighting::Transmission).map(|[roots, _]| roots)
    }

    fn method_needs(&self) -> Needs {
        match self.algorithm {
            Algorithm::Fbp => Needs::NOTHING,
            Algorithm::Sirt => sirt::NEEDS,
            Algorithm::Cgls => cgls::needs(self),
            Algorithm::Mlem => mlem::NEEDS,
            Algorithm::TotalVariation => variation::needs(self),
            Algorithm::Fista => fista::needs(self),
        }
    }

    /// All iterations on data that are resident: [`space::DATA`] holds them, [`space::X`] where to begin.
    pub(super) fn run<S: Space>(&self, space: &mut S) -> Result<()> {
        match self.algorithm {
            Algorithm::Fbp => return Ok(()),
            Algorithm::Sirt => sirt::run(space, self),
            Algorithm::Cgls => cgls::run(space, self),
            Algorithm::Mlem => mlem::run(space, self),
            Algorithm::TotalVariation => variation::run(space, self),
            Algorithm::Fista => fista::run(space, self),
        }?;
        finite(space)
    }
}

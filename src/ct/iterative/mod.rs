//! Iterative reconstruction: what it minimises and by which steps, wherever the vectors are.
//!
//! 1. [`options`]: what was asked for, and whether it goes together;
//! 2. [`subsets`]: the views of each step;
//! 3. [`space`]: the vectors of some slices and what is done to them, which the processor and GPUs implement;
//! 4. a file for each method: [`sirt`] (OS-SART, with subsets), [`cgls`], [`mlem`] (OSEM), [`variation`] and [`fista`], whose steps go by
//!    [`norms`];
//!    [`rings`] finds the detector's offsets with the image;
//! 5. [`history`]: what the iterations found; [`kept`]: what is kept from call to call.
//!
//! Slices are worked on side by side and are independent: each has step lengths and an end of its own, so that results do not depend
//! on how slices are shared out. But for total variation of the volume: that has all slices together.

mod cgls;
mod fista;
pub(super) mod history;
pub(super) mod kept;
mod mlem;
pub(super) mod norms;
pub(super) mod options;
mod rings;
mod sirt;
pub(super) mod space;
pub(super) mod subsets;
pub(super) mod variation;
pub(super) mod weights;

use crate::context::{Context, LogLevel};
use crate::ct::band_limited::BandLimited;
use crate::ct::geometry::Geometry;
use crate::ct::output::mask::Mask;
use crate::ct::toeplitz::{Doubled, Toeplitz, check_inside};
use crate::error::{Error, Result, fail};
use history::History;
use kept::Kept;
use norms::Norms;
use options::{Algorithm, Iterative, Normal, Variation, Weighting};
use space::{Needs, Rows, Space};
use std::sync::{Arc, OnceLock};
use subsets::Subsets;
use weights::RayWeights;

/// One call's iterations.
pub(super) struct Iteration<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) options: &'a Iterative,
    pub(super) subsets: Subsets,
    /// Of the band-limited pair; None for Joseph's.
    pub(super) band_limited: Option<BandLimited>,
    /// The caller's weights of rays, where they count.
    pub(super) given: Option<&'a RayWeights>,
    /// The convolution that A^T A is, once it has been made; None where the pair applies it.
    pub(super) convolution: Option<OnceLock<Arc<Toeplitz>>>,
    /// Why there is none, where there might have been.
    no_convolution: Option<Error>,
    kept: &'a Kept,
    /// Pixels that are reconstructed; others stay 0.
    pub(super) mask: Mask,
    pub(super) history: History,
    pub(super) views: usize,
    /// Rays of a slice.
    pub(super) rays: usize,
    /// How much differences to the next slice count, where they do: no slice is done without the others then.
    pub(super) depth: Option<f32>,
}

impl<'a> Iteration<'a> {
    pub(super) fn new(
        algorithm: Algorithm,
        options: &'a Iterative,
        g: &Geometry,
        (band_limited, kept): (Option<BandLimited>, &'a Kept),
        given: Option<&'a RayWeights>,
    ) -> Result<Self> {
        options.check_for(algorithm, band_limited.is_some(), g)?;
        let subsets = Subsets::new(g, options.subsets)?;
        let mask = Mask::new(g, options.mask_radius, "iterative.mask_radius")?;
        let (views, rays) = (g.views(), g.views() * g.bins);
        let weighted = options.weighting != Weighting::Uniform;
        let given = given.filter(|_| options.weighting == Weighting::Given);
        if given.is_none() && options.weighting == Weighting::Given {
            fail!(
                NotConfigured,
                "iterative.weighting is 2 (given), and no weights are: call isoc_ct_set_ray_weights after the geometry"
            );
        }
        let convolves = matches!(algorithm, Algorithm::Cgls | Algorithm::Fista)
            && band_limited.is_some()
            && options.normal != Normal::Pair
            && !weighted;
        let radius = (options.mask_radius > 0.0).then(|| options.mask_radius * g.nx.min(g.ny) as f64 / 2.0);
        let (convolution, no_convolution) = match (convolves, check_inside(g, radius)) {
            (true, Ok(())) => (Some(OnceLock::new()), None),
            (true, Err(e)) if options.normal == Normal::Toeplitz => return Err(e),
            (true, Err(e)) => (None, Some(e)),
            (false, _) => (None, None),
        };
        // Rows of the detector are as far apart as its bins.
        let depth = (options.variation == Variation::Volume).then_some((g.pixel_size / g.bin_pitch) as f32);
        let history = History::default();
        Ok(Self {
            algorithm,
            options,
            subsets,
            band_limited,
            given,
            convolution,
            no_convolution,
            kept,
            mask,
            history,
            views,
            rays,
            depth,
        })
    }

    /// Makes what all slabs share, or takes it from an earlier call.
    pub(super) fn prepare(&self, context: &Context, g: &Geometry) -> Result<()> {
        let word = self.algorithm.word();
        if let Some(e) = &self.no_convolution {
            context.log(LogLevel::Info, || {
                format!("{word}: A^T A by the pair, since it is no convolution: {}", e.message)
            });
        }
        let (Some(place), Some(band_limited)) = (&self.convolution, self.band_limited) else { return Ok(()) };
        let make = || {
            let (cap, [held, making]) = (context.memory_cap(0), Toeplitz::memory(g, band_limited, context.level())?);
            let needed = held.saturating_add(making);
            if needed > cap {
                fail!(
                    MemoryCap,
                    "memory_cap is {cap} bytes; A^T A as a convolution needs {needed} while it is made (iterative.normal 1, pair, does without)"
                );
            }
            context.install(|| Toeplitz::new(g, band_limited, context.level()))
        };
        let toeplitz = self.kept.convolution(band_limited, make)?;
        let [y, x] = toeplitz.shape.grid;
        context.log(LogLevel::Info, || format!("{word}: A^T A as a convolution, on {y} x {x} points"));
        // Nobody else has set it.
        let _ = place.set(toeplitz);
        Ok(())
    }

    /// Norms of this pair, if an earlier slab or call has found them.
    pub(super) fn known_norms(&self) -> Option<Norms> {
        self.kept.norms((self.band_limited, self.options.mask_radius))
    }

    pub(super) fn keep_norms(&self, norms: Norms) {
        self.kept.keep_norms((self.band_limited, self.options.mask_radius), norms);
    }

    /// What the convolution works on.
    pub(super) fn doubled(&self, g: &Geometry) -> Option<Doubled> {
        self.convolution.as_ref().map(|_| Doubled::of(g))
    }

    /// The convolution, once it has been made.
    pub(super) fn made(&self) -> Option<&Arc<Toeplitz>> {
        self.convolution.as_ref().and_then(OnceLock::get)
    }

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

    /// Whether data must not be negative.
    pub(super) fn is_poisson(&self) -> bool {
        self.options.is_poisson(self.algorithm)
    }

    /// Norms of the weighted pair, or more than those.
    fn weighted(&self, norms: Norms) -> Norms {
        let largest = self.given.map_or(1.0, |given| given.largest);
        Norms { normal: largest * norms.normal, typical: largest * norms.typical, ..norms }
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
            Algorithm::Fbp => Ok(()),
            Algorithm::Sirt => sirt::run(space, self),
            Algorithm::Cgls => cgls::run(space, self),
            Algorithm::Mlem => mlem::run(space, self),
            Algorithm::TotalVariation => variation::run(space, self),
            Algorithm::Fista => fista::run(space, self),
        }
    }
}

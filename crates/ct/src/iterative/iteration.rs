//! One call's iterations: what was asked for, and what is made of it before any slab.

use super::history::History;
use super::kept::{Kept, Normed};
use super::norms::Norms;
use super::options::{Algorithm, Iterative, Normal, Variation, Weighting};
use super::smooth::Smooth;
use super::subsets::Subsets;
use super::weights::RayWeights;
use crate::band_limited::BandLimited;
use crate::geometry::Geometry;
use crate::output::mask::Mask;
use crate::toeplitz::{Doubled, Toeplitz, check_inside};
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::error::{Error, Result, fail};
use std::sync::{Arc, OnceLock};

/// One call's iterations.
pub(crate) struct Iteration<'a> {
    pub(crate) algorithm: Algorithm,
    pub(crate) options: &'a Iterative,
    pub(crate) subsets: Subsets,
    /// Of the band-limited pair; None for Joseph's.
    pub(crate) band_limited: Option<BandLimited>,
    /// The caller's weights of rays, where they count.
    pub(crate) given: Option<&'a RayWeights>,
    /// The convolution that A^T A is, once it has been made; None where the pair applies it.
    pub(crate) convolution: Option<OnceLock<Arc<Toeplitz>>>,
    /// Why there is none, where there might have been.
    no_convolution: Option<Error>,
    kept: &'a Kept,
    /// Components of rows along which steps are smaller, where there are such.
    pub(crate) smooth: Option<Smooth>,
    /// Pixels that are reconstructed; others stay 0.
    pub(crate) mask: Mask,
    pub(crate) history: History,
    pub(crate) views: usize,
    /// Rays of a slice.
    pub(crate) rays: usize,
    /// How much differences to the next slice count, where they do: no slice is done without the others then.
    pub(crate) depth: Option<f32>,
}

impl<'a> Iteration<'a> {
    pub(crate) fn new(
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
        // Conjugate gradient by the convolution comes to the convolution's minimum, not to the pair's, so that it has to be asked for.
        let asked_for =
            options.normal == Normal::Toeplitz || options.normal == Normal::Auto && algorithm == Algorithm::Fista;
        let convolves =
            matches!(algorithm, Algorithm::Cgls | Algorithm::Fista) && band_limited.is_some() && asked_for && !weighted;
        let radius = (options.mask_radius > 0.0).then(|| options.mask_radius * g.nx.min(g.ny) as f64 / 2.0);
        let (convolution, no_convolution) = match (convolves, check_inside(g, radius)) {
            (true, Ok(())) => (Some(OnceLock::new()), None),
            (true, Err(e)) if options.normal == Normal::Toeplitz => return Err(e),
            (true, Err(e)) => (None, Some(e)),
            (false, _) => (None, None),
        };
        // Rows of the detector are as far apart as its bins.
        let depth = (options.variation == Variation::Volume).then_some((g.pixel_size / g.bin_pitch) as f32);
        let (history, smooth) = (History::default(), Smooth::of(algorithm, options, g)?);
        Ok(Self {
            algorithm,
            options,
            subsets,
            band_limited,
            given,
            convolution,
            no_convolution,
            kept,
            smooth,
            mask,
            history,
            views,
            rays,
            depth,
        })
    }

    /// Makes what all slabs share, or takes it from an earlier call.
    pub(crate) fn prepare(&self, context: &Context, g: &Geometry) -> Result<()> {
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
    pub(crate) fn known_norms(&self) -> Option<Norms> {
        self.kept.norms(self.normed())
    }

    pub(crate) fn keep_norms(&self, norms: Norms) {
        self.kept.keep_norms(self.normed(), norms);
    }

    fn normed(&self) -> Normed {
        (self.band_limited, self.options.mask_radius, self.smooth.is_some())
    }

    /// What the convolution works on.
    pub(crate) fn doubled(&self, g: &Geometry) -> Option<Doubled> {
        self.convolution.as_ref().map(|_| Doubled::of(g))
    }

    /// The convolution, once it has been made.
    pub(crate) fn made(&self) -> Option<&Arc<Toeplitz>> {
        self.convolution.as_ref().and_then(OnceLock::get)
    }

    /// Whether data must not be negative.
    pub(crate) fn is_poisson(&self) -> bool {
        self.options.is_poisson(self.algorithm)
    }

    /// What the first image is moved into: MLEM multiplies what is not below 0.
    pub(crate) fn bounds_of_start(&self) -> [f32; 2] {
        let [lower, upper] = self.options.bounds.map(|b| b as f32);
        [if self.algorithm == Algorithm::Mlem { lower.max(0.0) } else { lower }, upper]
    }

    /// What the caller's weights of rays are in: objectives are told in 1, and what is weighed against them is in this.
    pub(crate) fn unit(&self) -> f64 {
        self.given.map_or(1.0, |given| given.unit)
    }

    pub(crate) fn regularisation(&self) -> f64 {
        self.options.regularisation / self.unit()
    }

    pub(crate) fn ring_weight(&self) -> f64 {
        self.options.ring_weight / self.unit()
    }

    /// The root of the caller's mean weight over the largest.
    pub(crate) fn mean_root(&self) -> f64 {
        self.given.map_or(1.0, |given| (given.mean / given.largest).sqrt())
    }

    /// Norms of the weighted pair, or more than those.
    pub(crate) fn weighted(&self, norms: Norms) -> Norms {
        let largest = self.given.map_or(1.0, |given| given.largest);
        Norms { normal: largest * norms.normal, typical: largest * norms.typical, ..norms }
    }
}

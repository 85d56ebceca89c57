//! One slab of a call, and what all slabs share.

use crate::context::{Context, Job};
use crate::ct::geometry::Geometry;
use crate::ct::gpu::band_limited::Volume;
use crate::ct::iterative::Iteration;
use crate::ct::iterative::norms::Norms;
use crate::gpu::DeviceMemory;

/// What all slices share.
#[derive(Debug)]
pub(super) struct Factors {
    /// Of each bin, subset after subset.
    pub(super) rays: Option<DeviceMemory>,
    /// Of each subset's pixels.
    pub(super) pixels: Vec<DeviceMemory>,
    pub(super) norms: Option<Norms>,
}

/// Some slices.
pub(in crate::ct::gpu) struct Slab<'a> {
    pub(in crate::ct::gpu) context: &'a Context,
    pub(in crate::ct::gpu) job: &'a Job,
    pub(in crate::ct::gpu) geometry: &'a Geometry,
    pub(in crate::ct::gpu) iteration: &'a Iteration<'a>,
    pub(in crate::ct::gpu) first: usize,
    pub(in crate::ct::gpu) count: usize,
    /// Those that progress counts.
    pub(in crate::ct::gpu) own: usize,
    /// Of band-limited sums, and of the convolution.
    pub(in crate::ct::gpu) workspace: u64,
}

/// Where a slab's data are, and where its results go.
pub(in crate::ct::gpu) struct Ends {
    /// Line integrals, (slice, view, bin).
    pub(in crate::ct::gpu) rows: u64,
    /// Where the iterations begin: address and strides; None for the method's own.
    pub(in crate::ct::gpu) start: Option<(u64, [i64; 3])>,
    pub(in crate::ct::gpu) volume: Volume,
}

//! One slab of a call, and what all slabs share.

use crate::geometry::Geometry;
use crate::gpu::band_limited::Volume;
use crate::iterative::Iteration;
use crate::iterative::norms::Norms;
use crate::iterative::smooth::Smooth;
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory};
use std::sync::Arc;

/// What all slices share.
#[derive(Debug)]
pub(super) struct Factors {
    /// Of each bin, subset after subset.
    pub(super) rays: Option<DeviceMemory>,
    /// Of each subset's pixels.
    pub(super) pixels: Vec<DeviceMemory>,
    pub(super) norms: Option<Norms>,
}

/// Smooth components on the device.
#[derive(Debug)]
pub(super) struct SmoothTables {
    pub(super) table: DeviceMemory,
    pub(super) parts: DeviceMemory,
    pub(super) count: usize,
}

impl SmoothTables {
    pub(super) fn new(device: &Arc<Device>, smooth: &Smooth) -> Result<Self> {
        let parts = collected(smooth.parts.iter().map(|part| *part as f32))?;
        Ok(Self {
            table: DeviceMemory::from_slice(device, &smooth.table)?,
            parts: DeviceMemory::from_slice(device, &parts)?,
            count: smooth.len(),
        })
    }
}

/// Some slices.
pub(in crate::gpu) struct Slab<'a> {
    pub(in crate::gpu) context: &'a Context,
    pub(in crate::gpu) job: &'a Job,
    pub(in crate::gpu) geometry: &'a Geometry,
    pub(in crate::gpu) iteration: &'a Iteration<'a>,
    pub(in crate::gpu) first: usize,
    pub(in crate::gpu) count: usize,
    /// Those that progress counts.
    pub(in crate::gpu) own: usize,
    /// Of band-limited sums, and of the convolution.
    pub(in crate::gpu) workspace: u64,
}

/// Where a slab's data are, and where its results go.
pub(in crate::gpu) struct Ends {
    /// Line integrals, (slice, view, bin).
    pub(in crate::gpu) rows: u64,
    /// Where the iterations begin: address and strides; None for the method's own.
    pub(in crate::gpu) start: Option<(u64, [i64; 3])>,
    pub(in crate::gpu) volume: Volume,
}

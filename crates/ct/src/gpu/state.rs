//! What a plan keeps on one GPU from call to call.

use super::band_limited::DeviceBandLimited;
use super::kernels::Kernels;
use super::stripes_wavelet::DeviceTables;
use super::textures::Textures;
use super::toeplitz::DeviceProduct;
use crate::toeplitz::Toeplitz;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory};
use std::sync::Arc;

/// Memory that is kept, and replaced when it is too small (or far too large).
#[derive(Debug, Default)]
pub(super) struct Slot(Option<DeviceMemory>);

impl Slot {
    /// At least `bytes`, with whatever was there before.
    pub(super) fn take(&mut self, device: &Arc<Device>, bytes: usize) -> Result<&DeviceMemory> {
        let fits = self.0.as_ref().is_some_and(|m| m.bytes() >= bytes && m.bytes() / 4 <= bytes.max(1 << 16));
        if !fits {
            // First away with the old one: both might not fit.
            self.0 = None;
            self.0 = Some(DeviceMemory::new(device, bytes)?);
        }
        Ok(self.0.as_ref().unwrap_or_else(|| unreachable!("just filled")))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |m| m.bytes() as u64)
    }

    pub(super) fn address(&self) -> u64 {
        self.0.as_ref().map_or(0, DeviceMemory::address)
    }
}

/// Memory of the compute stream: one slab uses it at a time.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) packed: Slot,
    pub(super) largest: Slot,
    pub(super) up: Slot,
    pub(super) down: Slot,
    /// Lines of transforms too long for shared memory.
    pub(super) lines: Slot,
    /// Transmissions as measured, those without distortion, and the grids in which phase is retrieved.
    pub(super) frames: Slot,
    pub(super) undistorted: Slot,
    pub(super) grids: Slot,
    /// Line integrals that stages work on, and the lists that they work with.
    pub(super) integrals: Slot,
    pub(super) lists: Slot,
    /// Rows of half acquisitions, widened.
    pub(super) widened: Slot,
    /// Frequencies, fine grids and parts of band-limited sums.
    pub(super) sums: Slot,
    /// Vectors of iterations, what their pair packs, slices' numbers, what watches vectors, and the volume that they begin with.
    pub(super) vectors: Slot,
    pub(super) pair: Slot,
    pub(super) numbers: Slot,
    pub(super) watched: Slot,
    pub(super) start: Slot,
    /// Finished slices that are still to be converted.
    pub(super) volume: Slot,
}

/// One GPU of a plan.
#[derive(Debug)]
pub(super) struct State {
    pub(super) device: Arc<Device>,
    pub(super) kernels: Kernels,
    /// Over the packed rows of the last launch that used textures.
    pub(super) textures: Option<Textures>,
    /// Of the last call that was band-limited.
    pub(super) band_limited: Option<DeviceBandLimited>,
    /// The convolution that A^T A was in the last iterations where it was one.
    pub(super) convolution: Option<(Arc<Toeplitz>, DeviceProduct)>,
    /// Of the last call that removed stripes by wavelets.
    pub(super) wavelet: Option<DeviceTables>,
    /// By which the hybrid kernels' blocks share out their tiles.
    pub(super) counters: Slot,
}

impl State {
    /// Makes a convolution ready, unless it is.
    pub(super) fn convolve(&mut self, toeplitz: &Arc<Toeplitz>) -> Result<()> {
        if self.convolution.as_ref().is_none_or(|(known, _)| !Arc::ptr_eq(known, toeplitz)) {
            self.convolution = None;
            self.convolution = Some((toeplitz.clone(), DeviceProduct::new(&self.device, toeplitz)?));
        }
        Ok(())
    }
}

//! Kernels of a plan on one GPU, looked up when first launched.

use super::{frames, iterative, phase, stripes, stripes_vo, stripes_wavelet};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Image};
use std::sync::OnceLock;

/// What tells the kernels of back projectors apart: the source, and all that a name is made from.
pub(super) type Variant = (&'static Image, [usize; 4]);

/// Those of `kernels/ct/range.cu`.
#[derive(Debug)]
pub(super) struct RowKernels {
    pub(super) begin: Function,
    pub(super) range: Function,
    pub(super) report: Function,
    pub(super) scale: Function,
}

impl RowKernels {
    fn new(device: &Device) -> Result<Self> {
        let kernel = |name| device.function(&crate::images::RANGE, name);
        Ok(Self {
            begin: kernel("ct_begin")?,
            range: kernel("ct_range")?,
            report: kernel("ct_report")?,
            scale: kernel("ct_scale")?,
        })
    }
}

/// All but those that tables hold, such as the filter's.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    rows: OnceLock<RowKernels>,
    pack: OnceLock<Function>,
    frames: OnceLock<frames::Kernels>,
    distortion: OnceLock<Function>,
    halves: OnceLock<Function>,
    phase: OnceLock<phase::Kernels>,
    stripes: OnceLock<stripes::Kernels>,
    vo: OnceLock<stripes_vo::Kernels>,
    wavelet: OnceLock<stripes_wavelet::Kernels>,
    iterative: OnceLock<iterative::Kernels>,
    /// Few: a plan has one projector, unless it measures them all.
    projectors: Vec<(Variant, Function)>,
}

impl Kernels {
    pub(super) fn rows(&self, device: &Device) -> Result<&RowKernels> {
        kept(&self.rows, || RowKernels::new(device))
    }

    /// Packs rows that are not filtered.
    pub(super) fn pack(&self, device: &Device) -> Result<&Function> {
        kept(&self.pack, || device.function(&crate::images::FILTER, "ct_pack"))
    }

    pub(super) fn frames(&self, device: &Device) -> Result<&frames::Kernels> {
        kept(&self.frames, || frames::Kernels::new(device))
    }

    /// Reads frames without their distortion.
    pub(super) fn distortion(&self, device: &Device) -> Result<&Function> {
        kept(&self.distortion, || device.function(&crate::images::DISTORTION, "ct_distortion"))
    }

    /// Widens the rows of half acquisitions.
    pub(super) fn halves(&self, device: &Device) -> Result<&Function> {
        kept(&self.halves, || device.function(&crate::images::HALF_ACQUISITION, "ct_halves"))
    }

    pub(super) fn phase(&self, device: &Device) -> Result<&phase::Kernels> {
        kept(&self.phase, || phase::Kernels::new(device))
    }

    pub(super) fn stripes(&self, device: &Device) -> Result<&stripes::Kernels> {
        kept(&self.stripes, || stripes::Kernels::new(device))
    }

    pub(super) fn vo(&self, device: &Device) -> Result<&stripes_vo::Kernels> {
        kept(&self.vo, || stripes_vo::Kernels::new(device))
    }

    pub(super) fn wavelet(&self, device: &Device) -> Result<&stripes_wavelet::Kernels> {
        kept(&self.wavelet, || stripes_wavelet::Kernels::new(device))
    }

    pub(super) fn iterative(&self, device: &Device) -> Result<&iterative::Kernels> {
        kept(&self.iterative, || iterative::Kernels::new(device))
    }

    /// A back projector's; `name` is called when it is new.
    pub(super) fn projector(
        &mut self,
        device: &Device,
        variant: Variant,
        name: impl FnOnce() -> String,
    ) -> Result<Function> {
        if let Some((_, kernel)) = self.projectors.iter().find(|(v, _)| *v == variant) {
            return Ok(kernel.clone());
        }
        let kernel = device.function(variant.0, &name())?;
        self.projectors.push((variant, kernel.clone()));
        Ok(kernel)
    }
}

/// The value that is there, or made now.
fn kept<V>(place: &OnceLock<V>, make: impl FnOnce() -> Result<V>) -> Result<&V> {
    match place.get() {
        Some(value) => Ok(value),
        None => {
            let value = make()?;
            Ok(place.get_or_init(|| value))
        }
    }
}

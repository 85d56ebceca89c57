//! Kernels of iterations on one GPU, looked up together.

use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function};

/// The kernels of `kernels/ct/iterative.cu`, and of the files beside it.
#[derive(Debug)]
pub(in crate::gpu) struct Kernels {
    pub(super) residual: Function,
    pub(super) ratio: Function,
    pub(super) add: Function,
    pub(super) distance: Function,
    pub(super) difference: Function,
    pub(super) blend: Function,
    pub(super) turn: Function,
    pub(super) descend: Function,
    pub(super) relax: Function,
    pub(super) multiply: Function,
    pub(super) square: Function,
    pub(super) inner: Function,
    pub(super) times: Function,
    pub(super) slope: Function,
    pub(super) beyond: Function,
    pub(super) conjugate: Function,
    pub(super) counted: Function,
    pub(super) oppose: Function,
    pub(super) transmission: Function,
    pub(super) inverse: Function,
    pub(super) sign: Function,
    pub(super) load: Function,
    pub(super) begin: Function,
    pub(super) store: Function,
    pub(super) end: Function,
    pub(super) record: Function,
    pub(super) lessen: Function,
    pub(super) variation: VariationKernels,
    pub(super) fista: FistaKernels,
    pub(super) rings: RingKernels,
    /// Kernel of `kernels/ct/smooth.cu`.
    pub(super) approach: Function,
}

impl Kernels {
    pub(in crate::gpu) fn new(device: &Device) -> Result<Self> {
        let kernel = |name: &str| device.function(&crate::images::ITERATIVE, &format!("ct_iterative_{name}"));
        Ok(Self {
            residual: kernel("residual")?,
            ratio: kernel("ratio")?,
            add: kernel("add")?,
            distance: kernel("distance")?,
            difference: kernel("difference")?,
            blend: kernel("blend")?,
            turn: kernel("turn")?,
            descend: kernel("descend")?,
            relax: kernel("relax")?,
            multiply: kernel("multiply")?,
            square: kernel("square")?,
            inner: kernel("inner")?,
            times: kernel("times")?,
            slope: kernel("slope")?,
            beyond: kernel("beyond")?,
            conjugate: kernel("conjugate")?,
            counted: kernel("counted")?,
            oppose: kernel("oppose")?,
            transmission: kernel("transmission")?,
            inverse: kernel("inverse")?,
            sign: kernel("sign")?,
            load: kernel("load")?,
            begin: kernel("begin")?,
            store: kernel("store")?,
            end: kernel("end")?,
            record: kernel("record")?,
            lessen: kernel("lessen")?,
            variation: VariationKernels::new(device)?,
            fista: FistaKernels::new(device)?,
            rings: RingKernels::new(device)?,
            approach: device.function(&crate::images::SMOOTH, "ct_smooth_approach")?,
        })
    }
}

/// Of `kernels/ct/variation.cu`.
#[derive(Debug)]
pub(super) struct VariationKernels {
    pub(super) primal: Function,
    pub(super) dual: Function,
    pub(super) bound: Function,
    pub(super) limit: Function,
    pub(super) polish: Function,
    pub(super) moved: Function,
}

impl VariationKernels {
    fn new(device: &Device) -> Result<Self> {
        let kernel = |name: &str| device.function(&crate::images::VARIATION, &format!("ct_variation_{name}"));
        Ok(Self {
            primal: kernel("primal")?,
            dual: kernel("dual")?,
            bound: kernel("bound")?,
            limit: kernel("limit")?,
            polish: kernel("polish")?,
            moved: kernel("moved")?,
        })
    }
}

/// Of `kernels/ct/fista.cu`.
#[derive(Debug)]
pub(super) struct FistaKernels {
    pub(super) hasten: Function,
    pub(super) excess: Function,
    pub(super) quicken: Function,
}

impl FistaKernels {
    fn new(device: &Device) -> Result<Self> {
        let kernel = |name: &str| device.function(&crate::images::FISTA, &format!("ct_fista_{name}"));
        Ok(Self { hasten: kernel("hasten")?, excess: kernel("excess")?, quicken: kernel("quicken")? })
    }
}

/// Of `kernels/ct/rings.cu`.
#[derive(Debug)]
pub(super) struct RingKernels {
    pub(super) spread: Function,
    pub(super) gather: Function,
    pub(super) shift: Function,
    pub(super) limit: Function,
}

impl RingKernels {
    fn new(device: &Device) -> Result<Self> {
        let kernel = |name: &str| device.function(&crate::images::RINGS, &format!("ct_rings_{name}"));
        Ok(Self {
            spread: kernel("spread")?,
            gather: kernel("gather")?,
            shift: kernel("shift")?,
            limit: kernel("limit")?,
        })
    }
}

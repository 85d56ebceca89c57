//! Plans.

use crate::ffi::context::isoc_context;
use crate::ffi::plans::Plans;
use isocenter_base::error::{Result, Status};
use isocenter_mri::Mri;

/// A plan for non-Cartesian MRI: geometry, options, weights, maps, Q. Opaque. Any thread may use it; calls on one plan wait for
/// each other, different plans run at the same time. It computes on the first GPU of its context, or on the processor; the
/// context's other GPUs take some of the coils where there are coil sensitivities and coils times voxels are 2^23 or more, and frames of a
/// series (isoc_mri_set_frames) where frames times coils times voxels are.
///
/// Tensors are in host memory, or in the first GPU's: then they are used where they are, in the order that isoc_mri_set_stream sets.
pub struct isoc_mri {
    _opaque: [u8; 0],
}

static PLANS: Plans<Mri> = Plans::new("isoc_mri");

pub(super) fn with_plan(handle: *const isoc_mri, body: impl FnOnce(&mut Mri) -> Result<()>) -> Status {
    PLANS.with(handle, body)
}

/// Makes a plan; give it a geometry next.
///
/// # Safety
/// `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_create(ctx: *const isoc_context, out: *mut *mut isoc_mri) -> Status {
    // SAFETY: by this function's contract.
    unsafe { PLANS.create(ctx, out, Mri::new) }
}

/// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_mri_destroy(mri: *mut isoc_mri) -> Status {
    PLANS.destroy(mri)
}

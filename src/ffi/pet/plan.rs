//! Plans.

use crate::ffi::context::isoc_context;
use crate::ffi::plans::Plans;
use isocenter_base::error::{Result, Status};
use isocenter_pet::Pet;

/// A plan for DIRECT time-of-flight PET: lattice, views, response, options. Opaque. Any thread may use it; calls on one plan wait for
/// each other, different plans run at the same time. It computes on the first GPU of its context, or on the processor.
///
/// The events of a view's directions make a histo-image, in which each lies where its time difference says. The histo-image that
/// is expected of an image f is `e_v = A_v (H_v f) + b_v`, with A attenuation x normalisation and b scatter + randoms; H gives
/// each voxel of f to the voxels about it by that voxel's kernel, H' is its transpose.
pub struct isoc_pet {
    _opaque: [u8; 0],
}

static PLANS: Plans<Pet> = Plans::new("isoc_pet");

pub(super) fn with_plan(handle: *const isoc_pet, body: impl FnOnce(&mut Pet) -> Result<()>) -> Status {
    PLANS.with(handle, body)
}

/// Makes a plan; give it a geometry and a response next.
///
/// # Safety
/// `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_create(ctx: *const isoc_context, out: *mut *mut isoc_pet) -> Status {
    // SAFETY: by this function's contract.
    unsafe { PLANS.create(ctx, out, Pet::new) }
}

/// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_pet_destroy(pet: *mut isoc_pet) -> Status {
    PLANS.destroy(pet)
}

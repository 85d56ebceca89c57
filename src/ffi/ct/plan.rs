//! Plans.

use crate::ffi::context::isoc_context;
use crate::ffi::plans::Plans;
use isocenter_base::error::{Result, Status};
use isocenter_ct::Ct;

/// A plan for parallel-beam CT: geometry, options, flat field. Opaque. Any thread may use it; calls on one plan wait for
/// each other, different plans run at the same time.
pub struct isoc_ct {
    _opaque: [u8; 0],
}

static PLANS: Plans<Ct> = Plans::new("isoc_ct");

pub(super) fn with_plan(handle: *const isoc_ct, body: impl FnOnce(&mut Ct) -> Result<()>) -> Status {
    PLANS.with(handle, body)
}

/// Makes a plan; give it a geometry next.
///
/// # Safety
/// `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_create(ctx: *const isoc_context, out: *mut *mut isoc_ct) -> Status {
    // SAFETY: by this function's contract.
    unsafe { PLANS.create(ctx, out, Ct::new) }
}

/// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_ct_destroy(ct: *mut isoc_ct) -> Status {
    PLANS.destroy(ct)
}

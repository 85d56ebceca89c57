//! Plans of one kind, behind their handles.

use super::boundary::{Registry, Serial, guard, set_out};
use super::context::{context, isoc_context};
use isocenter_base::context::Context;
use isocenter_base::error::{Result, Status, fail};
use std::sync::Arc;

/// The plans of a modality.
pub(super) struct Plans<T>(Registry<Serial<T>>);

impl<T> Plans<T> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self(Registry::new(name))
    }

    /// A new plan's handle.
    ///
    /// # Safety
    /// `out` is NULL or writable.
    pub(super) unsafe fn create<H>(
        &self,
        ctx: *const isoc_context,
        out: *mut *mut H,
        make: impl FnOnce(Arc<Context>) -> T,
    ) -> Status {
        guard(|| {
            let context = context(ctx)?;
            if out.is_null() {
                fail!(NullPointer, "out is NULL");
            }
            let handle = self.0.insert(Serial::new(make(context)));
            // SAFETY: by this function's contract.
            unsafe { set_out(out, handle, "out") }
        })
    }

    pub(super) fn destroy<H>(&self, handle: *mut H) -> Status {
        guard(|| self.0.destroy(handle))
    }

    /// Does something with a plan, alone.
    pub(super) fn with<H>(&self, handle: *const H, body: impl FnOnce(&mut T) -> Result<()>) -> Status {
        guard(|| self.0.get(handle)?.with(body))
    }
}

//! A kernel, and its limit of shared memory.

use super::driver::check;
use crate::error::Result;
use cudarc::driver::sys;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A kernel of one GPU; lives as long as its device.
#[derive(Clone, Debug)]
pub struct Function {
    raw: sys::CUfunction,
    /// Dynamic shared memory that a launch may have.
    max_shared: i32,
    /// The driver's limit, which is lower at first, is that.
    is_raised: Arc<AtomicBool>,
}

// SAFETY: driver handles may be used from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    /// Of a loaded module; needs its GPU, whose blocks can have so much shared memory, to be current.
    pub(super) fn new(raw: sys::CUfunction, block_shared_bytes: usize) -> Result<Self> {
        let mut fixed = 0;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        // SAFETY: a function of the current GPU and a local.
        check("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&mut fixed, attribute, raw) })?;
        let max_shared = (block_shared_bytes as i32).saturating_sub(fixed);
        Ok(Self { raw, max_shared, is_raised: Arc::new(AtomicBool::new(false)) })
    }

    pub(super) fn raw(&self) -> sys::CUfunction {
        self.raw
    }

    /// Raises the driver's limit of dynamic shared memory to all that a block can have, once and for all launches: plans on other threads
    /// launch the same function with other sizes, and a limit made for one launch would be the next one's error. Kernels that need no more
    /// than usual keep their limit, since they run a percent or two slower with a higher one.
    pub(super) fn raise_shared_limit(&self) -> Result<()> {
        if self.is_raised.load(Ordering::Acquire) {
            return Ok(());
        }
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a function of the current GPU. Threads that come here at the same time set the same value.
        check("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.raw, attribute, self.max_shared) })?;
        self.is_raised.store(true, Ordering::Release);
        Ok(())
    }
}

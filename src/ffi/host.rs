//! `isoc_host_*`: memory that GPUs copy to and from at full speed.

use super::boundary::{guard, set_out};
use super::context::{context, isoc_context};
use isocenter_base::context::HostMemory;
use isocenter_base::error::{Status, fail};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex};

/// What callers hold, by address, and the process that allocated it.
static ALLOCATED: LazyLock<Mutex<HashMap<usize, (HostMemory, u32)>>> = LazyLock::new(Mutex::default);

/// Allocates host memory for tensors, aligned to 64 bytes or more, uninitialised. With a context that computes on GPUs it is
/// page-locked: copies then run at the full speed of the bus and beside other work, where ordinary memory goes through staging
/// buffers. Page-locking takes time (about 0.3 s a gigabyte): allocate once, use often. With other contexts it is ordinary
/// memory. The memory outlives the context.
///
/// # Safety
/// `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_host_alloc(ctx: *const isoc_context, bytes: u64, out: *mut *mut c_void) -> Status {
    guard(|| {
        let context = context(ctx)?;
        if out.is_null() {
            fail!(NullPointer, "out is NULL");
        }
        let bytes = match usize::try_from(bytes) {
            Ok(n) if n > 0 && n <= isize::MAX as usize / 2 => n,
            _ => fail!(OutOfRange, "bytes is {bytes}; it must be 1 to 2^62 - 1"),
        };
        let memory = context.host_memory(bytes)?;
        let address = memory.data();
        ALLOCATED.lock().unwrap_or_else(|e| e.into_inner()).insert(address.addr(), (memory, std::process::id()));
        // SAFETY: by this function's contract.
        unsafe { set_out(out, address.cast(), "out") }
    })
}

/// Frees memory from isoc_host_alloc; NULL is accepted, any other address that is not such memory is
/// ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_host_free(data: *mut c_void) -> Status {
    guard(|| {
        if data.is_null() {
            return Ok(());
        }
        let mut allocated = ALLOCATED.lock().unwrap_or_else(|e| e.into_inner());
        match allocated.get(&data.addr()) {
            // A child's copy: what page-locks it is its parent's.
            Some((_, process)) if *process != std::process::id() => return Ok(()),
            Some(_) => {}
            None => fail!(InvalidHandle, "{data:p} is not memory from isoc_host_alloc, or was freed already"),
        }
        let memory = allocated.remove(&data.addr());
        drop(allocated);
        drop(memory);
        Ok(())
    })
}

//! What the plan decided, and the memory of a reconstruction.

use super::plan::{isoc_pet, with_plan};
use crate::ffi::boundary::{Sized32, set_out, write_struct};
use isocenter_base::error::Status;

/// What a plan found and decided.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_info {
    /// sizeof(isoc_pet_info), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Views.
    pub views: i64,
    /// NaN and Inf values replaced in the last call that read data.
    pub replaced_values: i64,
    /// Passes of the last reconstruction, for isoc_pet_history.
    pub iterations: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_info {
    const NAME: &'static str = "isoc_pet_info";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Tells what the plan found and decided.
///
/// # Safety
/// `info` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_get_info(pet: *mut isoc_pet, info: *mut isoc_pet_info) -> Status {
    with_plan(pet, |pet| {
        let value = isoc_pet_info {
            struct_size: 0,
            reserved: 0,
            views: pet.views()?.len() as i64,
            replaced_values: pet.replaced() as i64,
            iterations: pet.history().len() as i64,
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(info, &value) }
    })
}

/// Number of bytes of working memory that isoc_pet_reconstruct needs under the present geometry, response and options: of the host, or of the GPU that it
/// computes on. Makes the kernels, of which as many are kept as the context's memory cap has room for. Where the cap leaves room beside all this, a
/// reconstruction keeps histo-images on the GPU, and sensitivities of OSEM's or gradients of SVRG's subsets, too.
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_memory(pet: *mut isoc_pet, bytes: *mut u64) -> Status {
    // SAFETY: by this function's contract.
    with_plan(pet, |pet| unsafe { set_out(bytes, pet.memory()?, "bytes") })
}

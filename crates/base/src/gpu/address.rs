//! Whose memory an address is.

use cudarc::driver::sys::{self, CUmemorytype, CUpointer_attribute};
use std::ffi::c_void;

/// What the driver knows of an address: the kind of memory and the GPU that it belongs to; None if it was not made by CUDA.
/// Needs a GPU to be current.
pub(super) fn owner(address: *const u8) -> Option<(CUmemorytype, i32)> {
    let (mut kind, mut ordinal) = (0u32, -1i32);
    let mut attributes = [
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    ];
    let mut values = [std::ptr::from_mut(&mut kind).cast::<c_void>(), std::ptr::from_mut(&mut ordinal).cast()];
    // SAFETY: the driver only looks the address up (an unknown one is no error), and writes to the two locals.
    let result =
        unsafe { sys::cuPointerGetAttributes(2, attributes.as_mut_ptr(), values.as_mut_ptr(), address.addr() as u64) };
    let known = [CUmemorytype::CU_MEMORYTYPE_HOST, CUmemorytype::CU_MEMORYTYPE_DEVICE];
    let kind = known.into_iter().find(|k| *k as u32 == kind)?;
    (result == sys::CUresult::CUDA_SUCCESS).then_some((kind, ordinal))
}

/// Whether a host pointer is of page-locked memory, which is copied as it is; needs a GPU to be current.
pub fn is_pinned(data: *const u8) -> bool {
    owner(data).is_some_and(|(kind, _)| kind == CUmemorytype::CU_MEMORYTYPE_HOST)
}

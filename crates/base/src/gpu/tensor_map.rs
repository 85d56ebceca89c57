//! Tensor maps: descriptions of device arrays, from which the tensor memory accelerator (TMA, compute capability 9.0 and later) copies
//! boxes to shared memory in one instruction.

use super::driver::check;
use crate::error::Result;
use cudarc::driver::sys::{
    self, CUtensorMapDataType, CUtensorMapFloatOOBfill, CUtensorMapInterleave, CUtensorMapL2promotion,
    CUtensorMapSwizzle,
};

/// A `CUtensorMap`, as a kernel takes it.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct TensorMap([u8; 128]);

impl TensorMap {
    /// Where no kernel looks at it.
    pub const NONE: Self = Self([0; 128]);

    /// A contiguous array of `shape` elements of 8 bytes, fastest dimension first, fetched in boxes of `size`; zeros outside.
    pub fn new(address: u64, shape: [usize; 3], size: [usize; 3]) -> Result<Self> {
        let dims = shape.map(|n| n as u64);
        let strides = [8 * dims[0], 8 * dims[0] * dims[1]];
        let size = size.map(|n| n as u32);
        // SAFETY: all zero is a valid value, filled in by the driver.
        let mut map: sys::CUtensorMap = unsafe { std::mem::zeroed() };
        // SAFETY: arrays of as many values as there are dimensions.
        check("cuTensorMapEncodeTiled", unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_INT64,
                3,
                address as *mut std::ffi::c_void,
                dims.as_ptr(),
                strides.as_ptr(),
                size.as_ptr(),
                [1; 3].as_ptr(),
                CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
                CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        })?;
        const _: () = assert!(size_of::<sys::CUtensorMap>() == 128);
        // SAFETY: plain bytes of the same size.
        Ok(Self(unsafe { std::mem::transmute::<sys::CUtensorMap, [u8; 128]>(map) }))
    }
}

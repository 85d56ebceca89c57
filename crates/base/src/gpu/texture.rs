//! Two-dimensional textures over rows in device memory.

use super::device::Device;
use super::driver::check;
use crate::error::Result;
use cudarc::driver::sys::{self, CUaddress_mode, CUarray_format, CUfilter_mode, CUresourcetype};
use std::sync::Arc;

/// Type of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texel {
    pub half: bool,
    pub channels: u32,
}

impl Texel {
    fn bytes(self) -> usize {
        self.channels as usize * if self.half { 2 } else { 4 }
    }
}

/// A texture object: coordinates in texels, zero outside.
#[derive(Debug)]
pub struct Texture {
    raw: u64,
    device: Arc<Device>,
}

impl Texture {
    /// `height` rows of `width` texels, one after another from `address` on; `linear` interpolates in hardware.
    ///
    /// # Safety
    /// The rows outlive the texture and every launch that reads it.
    pub unsafe fn new(
        device: &Arc<Device>,
        address: u64,
        texel: Texel,
        [width, height]: [usize; 2],
        linear: bool,
    ) -> Result<Self> {
        let _current = device.enter()?;
        // SAFETY: all zero is a valid description, filled in below.
        let (mut resource, mut texture): (sys::CUDA_RESOURCE_DESC, sys::CUDA_TEXTURE_DESC) =
            unsafe { std::mem::zeroed() };
        resource.resType = CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
        resource.res.pitch2D = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
            devPtr: address,
            format: if texel.half { CUarray_format::CU_AD_FORMAT_HALF } else { CUarray_format::CU_AD_FORMAT_FLOAT },
            numChannels: texel.channels,
            width,
            height,
            pitchInBytes: width * texel.bytes(),
        };
        texture.addressMode = [CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER; 3];
        texture.filterMode =
            if linear { CUfilter_mode::CU_TR_FILTER_MODE_LINEAR } else { CUfilter_mode::CU_TR_FILTER_MODE_POINT };
        let mut raw = 0;
        // SAFETY: a context is current; descriptions and a local.
        check("cuTexObjectCreate", unsafe { sys::cuTexObjectCreate(&mut raw, &resource, &texture, std::ptr::null()) })?;
        Ok(Self { raw, device: device.clone() })
    }

    /// What a kernel takes as `cudaTextureObject_t`.
    pub fn raw(&self) -> u64 {
        self.raw
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: made in `new`, used no more.
            unsafe { sys::cuTexObjectDestroy(self.raw) };
        }
    }
}

//! What the plan decided; memory.

use super::plan::{isoc_mri, with_plan};
use crate::ffi::boundary::{Sized32, set_out, write_struct};
use isocenter_base::error::Status;

/// What a plan found and decided.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_info {
    /// sizeof(isoc_mri_info), set by the caller.
    pub struct_size: u32,
    /// 1 once Q is there.
    pub has_q: u32,
    /// Images of a scan: 1 with coil maps, or one for each set of them, else one a coil; of a series as many for each frame, or each image of a basis.
    pub images: i64,
    /// The fast transform's grid along x; 0 before it was needed.
    pub fine_nx: i64,
    /// Along y.
    pub fine_ny: i64,
    /// Along z; of samples in planes of constant kz on a regular grid the length of the transform along z.
    pub fine_nz: i64,
    /// Width of its spreading function, in grid points.
    pub width: i64,
    /// Q along x: at least 2 nx - 1, or nx where all samples are on the image's own frequencies, n / nx cycles per voxel.
    pub q_nx: i64,
    /// Q along y.
    pub q_ny: i64,
    /// Q along z.
    pub q_nz: i64,
    /// NaN and Inf values replaced in the last call that read data.
    pub replaced_values: i64,
    /// Products that sums with a field take; 0 without a field, and before they were needed.
    pub field_terms: i64,
    /// The relative l2 error of these products, over samples and voxels.
    pub field_error: f64,
    /// Convolutions that Q stands for with a field; 0 without a field, and before Q is there.
    pub normal_terms: i64,
    /// The relative l2 error of their sum, over samples and pairs of voxels.
    pub normal_error: f64,
    /// The lambda from which on the wavelet or low-rank penalty of the last isoc_mri_reconstruct leaves images of zeros: the largest wavelet
    /// coefficient of F^H W samples, or singular value of their blocks. Of total variation, which has no such number, that of wavelets. 0 where
    /// no such penalty was in use.
    pub lambda_limit: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_info {
    const NAME: &'static str = "isoc_mri_info";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Tells what the plan found and decided.
///
/// # Safety
/// `info` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_get_info(mri: *mut isoc_mri, info: *mut isoc_mri_info) -> Status {
    with_plan(mri, |mri| {
        let found = mri.info()?;
        let ([fz, fy, fx], [qz, qy, qx]) = (found.fine_grid.map(|n| n as i64), found.q_grid.map(|n| n as i64));
        let value = isoc_mri_info {
            struct_size: 0,
            has_q: found.has_q.into(),
            images: found.images as i64,
            fine_nx: fx,
            fine_ny: fy,
            fine_nz: fz,
            width: found.width as i64,
            q_nx: qx,
            q_ny: qy,
            q_nz: qz,
            replaced_values: found.replaced as i64,
            field_terms: found.terms as i64,
            field_error: found.terms_error,
            normal_terms: found.normal_terms as i64,
            normal_error: found.normal_error,
            lambda_limit: found.lambda_limit,
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(info, &value) }
    })
}

/// Maximum number of bytes of working memory that isoc_mri_reconstruct uses under the present geometry and options: of the host, or of the GPU
/// that it computes on, where a smaller gpu_memory_cap may still do.
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_memory(mri: *mut isoc_mri, bytes: *mut u64) -> Status {
    // SAFETY: by this function's contract.
    with_plan(mri, |mri| unsafe { set_out(bytes, mri.memory()?, "bytes") })
}

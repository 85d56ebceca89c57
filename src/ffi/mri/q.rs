//! The Toeplitz kernel Q.

use super::plan::{isoc_mri, with_plan};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status};
use isocenter_mri::Mri;

fn expect_q(mri: &Mri) -> Result<Expected<'_, 3>> {
    let shape = mri.q_grid()?;
    Ok(Expected {
        name: "q",
        shape,
        dims: ["q_nz", "q_ny", "q_nx"],
        optional: &[0],
        dtypes: DType::REAL,
        gpus: mri.gpus(),
    })
}

/// Makes Q of the trajectory and the weights, with a field of that, too, unless it is there; isoc_mri_reconstruct does so by itself. One Q
/// serves every scan of a trajectory.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_mri_compute_q(mri: *mut isoc_mri) -> Status {
    with_plan(mri, Mri::compute_q)
}

/// Copies Q out: real (q_nz, q_ny, q_nx) of isoc_mri_info. It is the discrete Fourier transform of q(d) = sum_m w_m exp(2 pi i k_m . d)
/// over differences of voxels, d = 0 and frequency 0 first along every axis. With a field there are several, and none is copied
/// (ISOC_STATUS_NOT_CONFIGURED).
///
/// # Safety
/// `q` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_export_q(mri: *mut isoc_mri, q: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe { mri.export_q(expect_q(mri)?.output(q)?) }
    })
}

/// Takes a Q from isoc_mri_export_q of a plan with the same grid, trajectory and weights; a plan with a field takes none.
///
/// # Safety
/// `q` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_import_q(mri: *mut isoc_mri, q: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe { mri.import_q(expect_q(mri)?.input(q)?) }
    })
}

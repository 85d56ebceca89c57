//! How far an image is from the true one.

use super::plan::{isoc_mri, with_plan};
use super::tensors::expect_grids;
use crate::ffi::tensor::isoc_tensor;
use isocenter_base::array::DType;
use isocenter_base::error::Status;

/// Compares an image with the true one, both complex (nz, ny, nx): peak signal-to-noise ratio, 20 log10(max |truth| / root mean square of
/// |image - truth|), in dB, and root mean square of the error over that of the truth, in percent. Either pointer may be NULL.
///
/// # Safety
/// Tensors are NULL or valid; `psnr` and `percent_error` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_compare(
    mri: *mut isoc_mri,
    image: *const isoc_tensor,
    truth: *const isoc_tensor,
    psnr: *mut f64,
    percent_error: *mut f64,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        let (decibels, percent) = unsafe {
            let image = expect_grids(mri, "image", (1, "coils"), DType::COMPLEX)?.input(image)?;
            let truth = expect_grids(mri, "truth", (1, "coils"), DType::COMPLEX)?.input(truth)?;
            mri.compare(image, truth)?
        };
        for (p, value) in [(psnr, decibels), (percent_error, percent)] {
            if !p.is_null() {
                // SAFETY: by this function's contract.
                unsafe { p.write_unaligned(value) };
            }
        }
        Ok(())
    })
}

//! The weight of total variation that projections ask for.

use super::plan::{isoc_ct, with_plan};
use super::tensors::expect_projections;
use crate::ffi::boundary::set_out;
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::Status;

/// Suggests isoc_ct_iterative.regularisation for ISOC_CT_ALGORITHM_TOTAL_VARIATION by the plan's projections: `weight` gets
/// 0.7 s q^1.6 (N / 64)^0.7 sqrt(views) pixel_size in the length unit, s the standard deviation of the noise of a line integral, N the pixels along the slice's shorter side, and q
/// the deviation, over s, of what up to 4 slices leave of their data that total variation of 0.5 s sqrt(views) pixel_size makes in up to 60 iterations: edges that are sharper than
/// pixels can show leave more than noise, and ask for more. q counts up to 8. The slices are made within the bounds and the mask of isoc_ct_set_iterative, or above 0 where there is no lower bound; the object must lie
/// within them. Of 576 simulated scans of parts of one value (64 to 512 pixels, 30 to 180 views, noise of 0.3 to 3 %) the error with this weight was within 1.1 times of the least in 88 %, and within 1.5 in all; of a smooth object
/// 8 times as much was nearer to the truth. Nothing in the plan changes.
///
/// s is the root of the mean variance over blocks of 64 bins and 16 views, of each the median size of third differences along the bins
/// over 0.6745 sqrt(20) (D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet shrinkage", Biometrika 81, 1994): right
/// for independent normal noise, also where it changes along the row. Up to 16 rows of the volume and 4 million line integrals are looked
/// at, evenly spread; of n of them s has a standard error of 1.8 / sqrt(n) of itself. Edges and stripes count as noise to some part: s is
/// 7 % too large for the Shepp-Logan phantom on 128 bins with noise of 3 % of the largest line integral, 15 % with 1 %. Where neighbouring
/// bins share noise, as by a scintillator's blur or by the interpolation that takes distortion out, s is too small.
///
/// Line integrals are looked at as they are after the flat field, the logarithm and isoc_ct_set_distortion; stripes and outliers are still
/// in them, and outliers hardly count.
///
/// `projections`: as isoc_ct_reconstruct takes them, on the host or on a GPU, from which the rows needed are copied to the host. The slices are made where
/// the context's are. `noise`: gets s; may be NULL. Both are left alone where the call fails, and 0 where there is no noise.
///
/// ISOC_STATUS_OUT_OF_RANGE: there are fewer than 16 bins, or isoc_ct_set_phase is set, after which neighbouring bins share noise.
/// ISOC_STATUS_NOT_FINITE_DATA: a row that is looked at holds NaN or Inf, which the NaN policy "replace" makes 0. ISOC_STATUS_MEMORY_CAP:
/// not even one row, or one slice with its data, fits the context's memory_cap; fewer are taken where not all do. Calls on one plan wait for each other.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_suggest_regularisation(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    weight: *mut f64,
    noise: *mut f64,
) -> Status {
    with_plan(ct, |ct| {
        let expected = expect_projections(ct.geometry()?, "projections", DType::FRAMES);
        // SAFETY: by this function's contract.
        let projections = unsafe { Expected { gpus: ct.gpus(), ..expected }.input(projections)? };
        let suggested = ct.suggest_regularisation(projections)?;
        // SAFETY: by this function's contract.
        unsafe { set_out(weight, suggested.weight, "weight")? };
        if !noise.is_null() {
            // SAFETY: by this function's contract.
            unsafe { noise.write_unaligned(suggested.noise) };
        }
        Ok(())
    })
}

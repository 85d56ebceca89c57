//! The weight of total variation that the noise of projections asks for.

use super::plan::{isoc_ct, with_plan};
use super::tensors::expect_projections;
use crate::ffi::boundary::set_out;
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::Status;

/// Suggests isoc_ct_iterative.regularisation for ISOC_CT_ALGORITHM_TOTAL_VARIATION by the noise of the plan's projections:
/// `weight` gets 0.5 s sqrt(views) pixel_size in the length unit, s the standard deviation of the noise of a line integral. Of Shepp-Logan
/// phantoms half of that to twice as much made the slices that were nearest to the truth. Where the object has few parts, or edges that are
/// sharper than pixels can show, 2 to 8 times as much did: slices with more are worth a look. Nothing in the plan changes.
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
/// `projections`: as isoc_ct_reconstruct takes them, on the host or on a GPU, from which the rows needed are copied to the host, where the
/// estimate runs. `noise`: gets s; may be NULL. Both are left alone where the call fails, and 0 where there is no noise.
///
/// ISOC_STATUS_OUT_OF_RANGE: there are fewer than 16 bins, or isoc_ct_set_phase is set, after which neighbouring bins share noise.
/// ISOC_STATUS_NOT_FINITE_DATA: a row that is looked at holds NaN or Inf, which the NaN policy "replace" makes 0. ISOC_STATUS_MEMORY_CAP:
/// not even one row fits the context's memory_cap; fewer rows are taken where not all do. Calls on one plan wait for each other.
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

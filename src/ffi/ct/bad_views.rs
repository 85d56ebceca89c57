//! Views that are no measurement of the object.

use super::plan::{isoc_ct, with_plan};
use super::tensors::expect_projections;
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Status, fail};
use isocenter_ct::ViewFault;

/// What isoc_ct_find_bad_views finds wrong with a view. All but ISOC_CT_VIEW_FAULT_DOUBTFUL are certain.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_view_fault {
    /// Nothing.
    None = 0,
    /// Counts at the dark level: the beam was off, or a shutter closed. Of counts and transmissions.
    Black = 1,
    /// Most values are the largest number of the detector, which is 2^n - 1 for 8 bits or more, and above the full beam. Of counts and transmissions.
    Saturated = 2,
    /// All values are those of the view before, at another angle, in a scan whose noise makes any two frames differ.
    Frozen = 3,
    /// Most values are NaN or Inf.
    NotFinite = 4,
    /// Darker or brighter than usual by 1.35 or more, all of a sudden: a part of the beam was lost, or it was stronger. Or an object did that.
    Doubtful = 5,
}

/// Finds views that are no measurement of the object, which would change the values of all slices: `faults` gets an isoc_ct_view_fault for
/// each view. Nothing in the plan changes: to leave views out, set a geometry without their angles, and give
/// `reconstruct` the frames that are left (a strided tensor where these are evenly spaced), or copy these in isoc_ct_read_fn. Positions of
/// flats and a monitor are to be those of the views left, too.
///
/// Eight detector rows are looked at, evenly spread, of every view, or all where there are fewer; how frames are stored, on which device and
/// in how many threads has no say. With t = (raw - dark) / (flat - dark), of the mean flat, cut to -0.5 to 0.5:
///
/// Black: the mean of t and four of its standard errors are below 0.004, and below a third of what a tenth of the views exceed, over 256 values at
/// least, or 16 where flats have a million counts in those that are looked at. So a sample that leaves a hundredth of the beam is not black, nor when the beam has decayed to a half. Where the dark is noisy, and the
/// detector small, or the dark level has drifted by more, black views may be doubtful alone. Frozen: at least a third of
/// all views differ from the one before by noise (a quarter of the values change, and third differences of the changes
/// along the bins have alternating signs), and so do the nearest ones before and behind. So data without noise have none, whatever the
/// object; the first of equal frames is good. Doubtful: the 7/8 quantile of the means of 32 bins, which is air where there is air, is off
/// from the median of the 17 views about it by angle by a factor of 1.35 and 12 times the typical distance, and falls at once
/// beside views that stay, all within 2 degrees. Line integrals tell frozen, not finite and doubtful views alone.
///
/// `projections`: as isoc_ct_reconstruct takes them, on the host or on a GPU, from which the rows are copied to the host; NaN
/// and Inf are no error whatever the NaN policy. Counts need a flat field; with eigenflats the call comes before isoc_ct_fit_flat_field.
/// `view_count`: room in `faults`, which has to be the number of views. Where the call fails or is cancelled `faults` is left alone.
///
/// # Safety
/// `projections` is NULL or valid; `faults` is NULL or holds `view_count` writable values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_find_bad_views(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    faults: *mut u32,
    view_count: i64,
) -> Status {
    with_plan(ct, |ct| {
        let g = ct.geometry()?;
        let views = g.angles.len();
        if faults.is_null() {
            fail!(NullPointer, "faults is NULL");
        }
        if usize::try_from(view_count) != Ok(views) {
            fail!(OutOfRange, "view_count is {view_count}; it must be the number of views, {views}");
        }
        let expected = expect_projections(g, "projections", DType::FRAMES);
        // SAFETY: by this function's contract.
        let projections = unsafe { Expected { gpus: ct.gpus(), ..expected }.input(projections)? };
        for (k, fault) in ct.find_bad_views(projections)?.into_iter().enumerate() {
            let number = match fault {
                None => isoc_ct_view_fault::None,
                Some(ViewFault::Black) => isoc_ct_view_fault::Black,
                Some(ViewFault::Saturated) => isoc_ct_view_fault::Saturated,
                Some(ViewFault::Frozen) => isoc_ct_view_fault::Frozen,
                Some(ViewFault::NotFinite) => isoc_ct_view_fault::NotFinite,
                Some(ViewFault::Doubtful) => isoc_ct_view_fault::Doubtful,
            };
            // SAFETY: `view_count` values, by this function's contract.
            unsafe { faults.add(k).write_unaligned(number as u32) };
        }
        Ok(())
    })
}

//! Half acquisition.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, read_struct};
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{HalfAcquisition, Rise};

/// How the weights of a half acquisition rise from 0 to 2 over the bins that opposite views both see; u is a bin's distance from its
/// view's axis, -1 to 1 over the overlap, positive towards the detector's larger part.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_rise {
    /// 1 + u (3 - u^2) / 2, whose slope begins and ends with 0.
    Smooth = 0,
    /// 1 + u.
    Linear = 1,
}

/// How the halves of a half acquisition are joined: a full turn about an axis near an edge of the detector, or up to a quarter of its bins
/// beyond, so that the field is nearly twice as wide as the detector. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_half_acquisition {
    /// sizeof(isoc_ct_half_acquisition).
    pub struct_size: u32,
    /// An isoc_ct_rise.
    pub rise: u32,
    /// Bins over which the weights rise: 1 to 2 (1 + the bins from the axis to the nearer edge), of all views' axes the
    /// nearest. 0 means that maximum, which averages most noise out; with less, bins at the edge that are bad have no weight.
    pub overlap: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_half_acquisition {
    const NAME: &'static str = "isoc_ct_half_acquisition";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_half_acquisition {
    fn to_options(self) -> Result<HalfAcquisition> {
        let rise = match self.rise {
            0 => Rise::Smooth,
            1 => Rise::Linear,
            v => {
                fail!(UnknownValue, "half_acquisition.rise is {v}; it must be 0 (smooth) or 1 (linear) (isoc_ct_rise)")
            }
        };
        Ok(HalfAcquisition { overlap: self.overlap, rise })
    }
}

/// Takes scans for half acquisitions in `reconstruct` and `reconstruct_stream`: line integrals, after the stripes and before the filter,
/// are weighed where opposite views see the same rays, and rows are widened by zeros to the whole field about the axis; no view is
/// resampled or stitched to another. Geometry and projections are as the detector has them, with one axis or one a view; a volume of the
/// whole field has nx and ny of about 2 (bins - overlap / 2). Angles, which may be uneven, make a full turn. NULL turns it off, as it is
/// at first. It holds until set again, whatever the geometry.
///
/// Angular weights are then half the gaps of the full turn, in sum pi; the caller's own stay in force. isoc_ct_info tells the bins that
/// rows become, and the overlap; isoc_ct_find_axis finds the axis, and says whether a scan is a half acquisition. isoc_ct_filter,
/// isoc_ct_backproject, isoc_ct_forward and isoc_ct_adjoint take rows as they are: filtered rows need more bins than the detector has. So
/// do iterative algorithms, which need no weights where rays are measured twice: with this set they are ISOC_STATUS_OUT_OF_RANGE.
///
/// ISOC_STATUS_OUT_OF_RANGE, here or from the calls that use it after another geometry, where the axis is further than a quarter of the
/// bins beyond the edge, where the overlap wanted is larger than there is, where less than half of the views have an opposite one to
/// two steps of the scan, and for rows of more than 2^20 bins. Gaps in the turn, and a hole about an axis beyond the edge whose rays
/// nobody measured, are warnings in the log, with angles and radius.
///
/// # Safety
/// `half_acquisition` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_half_acquisition(
    ct: *mut isoc_ct,
    half_acquisition: *const isoc_ct_half_acquisition,
) -> Status {
    with_plan(ct, |ct| {
        let options = if half_acquisition.is_null() {
            None
        } else {
            // SAFETY: by this function's contract.
            Some(unsafe { read_struct(half_acquisition)? }.to_options()?)
        };
        ct.set_half_acquisition(options)
    })
}

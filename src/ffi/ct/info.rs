//! What the plan found and decided; angular weights; memory.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{OutList, Sized32, array, set_out, write_struct};
use isocenter_base::error::{Status, fail};

/// What a plan found and decided. Angles are in radians, modulo pi; all 0 where there is only one (but angle_covered, which may be
/// of the caller's weights).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_info {
    /// sizeof(isoc_ct_info), set by the caller.
    pub struct_size: u32,
    /// 1 if all gaps between neighbouring angles agree to 1 %.
    pub evenly_spaced: u32,
    /// Different angles; views closer than a tenth of the mean gap count as one angle and share its weight.
    pub distinct_angles: i64,
    /// Median gap between neighbouring angles.
    pub angular_spacing: f64,
    /// Sum of the angular weights in force: pi, less the missing wedges; or that of the caller's weights.
    pub angle_covered: f64,
    /// Gaps that stand out, and so are not spread over their edges: more than three times as large as the next smaller one (and as the
    /// median), as long as there are at most four of them, and more than pi / 16; shorter ones, of lost views, are spread.
    pub missing_wedges: i64,
    /// Start of the largest gap.
    pub largest_gap_start: f64,
    /// Size of the largest gap.
    pub largest_gap: f64,
    /// Length of the filter's Fourier transforms.
    pub padded_bins: i64,
    /// Slices that `reconstruct` works on at a time under the memory cap.
    pub slab_slices: i64,
    /// NaN and Inf values (and pixels without a usable flat field) replaced in the last call that read data.
    pub replaced_values: i64,
    /// ISOC_CT_INTERPOLATION_BAND_LIMITED and ISOC_CT_PROJECTOR_BAND_LIMITED: P, the bins after which a row repeats; it grows with the
    /// distance of the farthest pixel from the detector. 0 with others.
    pub period: i64,
    /// Outliers (isoc_ct_set_outliers) removed in the last call that read data.
    pub outliers: i64,
    /// Pixels that isoc_ct_set_flat_field found bad, which are replaced by their neighbours.
    pub bad_pixels: i64,
    /// Bins of the rows that `reconstruct` computes with: the detector's, or under half acquisition those of the whole field.
    pub computed_bins: i64,
    /// Half acquisition: bins over which its weights rise. 0 without.
    pub overlap: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_info {
    const NAME: &'static str = "isoc_ct_info";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Tells what the plan found in the geometry and decided under the present options.
///
/// # Safety
/// `info` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_get_info(ct: *mut isoc_ct, info: *mut isoc_ct_info) -> Status {
    with_plan(ct, |ct| {
        let found = ct.info()?;
        let angular = found.angular.as_ref();
        let value = isoc_ct_info {
            struct_size: 0,
            evenly_spaced: angular.is_some_and(|a| a.evenly_spaced).into(),
            distinct_angles: angular.map_or(1, |a| a.distinct as i64),
            angular_spacing: angular.map_or(0.0, |a| a.spacing),
            angle_covered: found.covered,
            missing_wedges: angular.map_or(0, |a| a.missing_wedges as i64),
            largest_gap_start: angular.map_or(0.0, |a| a.largest_gap_start),
            largest_gap: angular.map_or(0.0, |a| a.largest_gap),
            padded_bins: found.padded_bins as i64,
            slab_slices: found.slab_slices as i64,
            replaced_values: found.replaced as i64,
            period: found.period as i64,
            outliers: found.outliers as i64,
            bad_pixels: found.bad_pixels as i64,
            computed_bins: found.computed_bins as i64,
            overlap: found.overlap,
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(info, &value) }
    })
}

/// Writes the angular weight of each view (radians) to `out`, which has room for `capacity`; `count`, which may be NULL, gets how many
/// there are: the number of views. `out` NULL with `capacity` 0 asks for the number alone; a smaller capacity is
/// ISOC_STATUS_OUT_OF_RANGE, and nothing is written.
///
/// The caller's own, if isoc_ct_set_angular_weights has set any; else half the gap to the neighbour on either side, angles taken modulo
/// pi, where missing wedges (see isoc_ct_info) count nothing; under half acquisition half of that, angles taken modulo 2 pi.
///
/// # Safety
/// `out` is NULL or holds `capacity` writable values; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_get_angular_weights(
    ct: *mut isoc_ct,
    out: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(ct, |ct| {
        let weights = ct.angular_weights()?;
        // SAFETY: by this function's contract.
        unsafe { OutList { names: ["out", "capacity"], out, capacity, count }.fill(weights.iter().copied()) }
    })
}

/// Sets the angular weights: `weight_count` values in radians, one a view, finite and 0 or more, with a sum above 0 (pi keeps
/// attenuation's scale; a larger one is warned of). Copied; they hold until the next isoc_ct_set_geometry. NULL with 0 goes back to the
/// weights that the plan works out. `reconstruct`, weighted `backproject` and streams use them, also for one view or equal angles.
///
/// # Safety
/// `weights` is NULL or holds `weight_count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_angular_weights(
    ct: *mut isoc_ct,
    weights: *const f64,
    weight_count: i64,
) -> Status {
    with_plan(ct, |ct| {
        let views = ct.geometry()?.views();
        if weights.is_null() && weight_count == 0 {
            return ct.set_angular_weights(None);
        }
        if usize::try_from(weight_count) != Ok(views) {
            fail!(OutOfRange, "weight_count is {weight_count}; it must be the number of views, {views}");
        }
        // SAFETY: `weight_count` values, by this function's contract.
        ct.set_angular_weights(Some(unsafe { array(weights, views, "weights") }?))
    })
}

/// Bytes of working memory that `reconstruct` will allocate under the present geometry, options and memory cap; on GPUs, of each
/// one's memory, between arrays in host memory. A plan keeps it for its next call, until it gets a geometry or is destroyed.
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_memory(ct: *mut isoc_ct, bytes: *mut u64) -> Status {
    // SAFETY: by this function's contract.
    with_plan(ct, |ct| unsafe { set_out(bytes, ct.memory()?, "bytes") })
}

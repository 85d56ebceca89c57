//! The search for the rotation axis.

use super::plan::{isoc_ct, with_plan};
use super::tensors::expect_projections;
use crate::ffi::boundary::{Sized32, count, read_struct, write_struct};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{AxisMethod, AxisOptions, MAX_SIDE};

/// How isoc_ct_find_axis looks for the axis.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_axis_method {
    /// ISOC_CT_AXIS_METHOD_OPPOSITE_VIEWS where two views are half a turn apart (to a tenth of a step), or most views lie between two of such (an odd
    /// number of views a turn), checked by ISOC_CT_AXIS_METHOD_SINOGRAM, else that. Where they contradict each other by a bin, or have too little to go by,
    /// ISOC_CT_AXIS_METHOD_SHARPNESS decides, and the confidence is halved; where it agrees with none of them the axis cannot be told.
    Auto = 0,
    /// Views half a turn apart are each other's mirror images: up to 24 such pairs, spread over the turn, and the views about each. Bins and views that a
    /// detector has spoiled (dead, flickering, without beam) are seen for what they are, and left out.
    OppositeViews = 1,
    /// Half a turn alone, at any angles: where it ends it continues with its first views, mirrored.
    Sinogram = 2,
    /// Trial slices, band-limited, of up to 4 rows averaged to 512 bins at most: where the entropy of their grey values is smallest. For an
    /// axis that most of the object is seen from both sides of; slower, and good to a tenth of an averaged
    /// bin or so.
    Sharpness = 3,
}

/// Where and how isoc_ct_find_axis looks. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_axis_options {
    /// sizeof(isoc_ct_axis_options).
    pub struct_size: u32,
    /// An isoc_ct_axis_method.
    pub method: u32,
    /// First axis to look at, as a fractional bin. `low` and `high` both 0: all of the detector but max(4, bins / 64) bins at
    /// either end, which are the limits in any case; by ISOC_CT_AXIS_METHOD_SHARPNESS its middle half.
    pub low: f64,
    /// Last axis to look at.
    pub high: f64,
    /// Detector rows to use, evenly spread over those of the volume; 0 means up to 24. With the views that are needed they take
    /// 256 MiB at most, and half of the context's memory_cap: fewer are read where these are more.
    pub rows: i64,
    /// Non-zero: the tilt is wanted, so that the axis may change from row to row along a line.
    pub tilt: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_axis_options {
    const NAME: &'static str = "isoc_ct_axis_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What isoc_ct_find_axis found. `struct_size`, `curve` and `curve_count` are the caller's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_axis {
    /// sizeof(isoc_ct_axis).
    pub struct_size: u32,
    /// The isoc_ct_axis_method that decided.
    pub method: u32,
    /// The axis as a fractional bin, for the middle row of the volume, first_row + (slices - 1) / 2: what isoc_ct_geometry.axis takes.
    pub axis: f64,
    /// Bins by which the axis moves from a detector row to the next, which isoc_ct_distortion.tilt takes; 0 where the tilt was not asked for.
    pub tilt: f64,
    /// Standard error of `axis` in bins, from noise, stripes, sampling, how far rows agree, and an object that reaches beyond the bins seen from both sides: of
    /// simulated scans 95 % and more are within twice of it. Moving samples and wrong angles add to it.
    pub error: f64,
    /// 0 to 1: how much better opposite views agree there (or how much sharper slices are) than at the next best place of the range; half of it
    /// where methods contradicted each other.
    pub confidence: f64,
    /// 1 if most views have an opposite one, and the axis is so near an edge that less than half of the detector is seen from both sides, or rows end in
    /// the object on the axis' side and in air on the other: isoc_ct_set_half_acquisition is for such scans.
    pub half_acquisition: u32,
    /// Zero.
    pub reserved: u32,
    /// Gets the score over the range that was looked at, `curve_count` values, the best being the smallest: n ln(m), m the squared difference of opposite views
    /// mirrored there, over the variance of both, and n the part of the bins that they share; of sharpness the sum of the entropies of trial
    /// slices. NULL with 0 for none.
    pub curve: *mut f64,
    /// Number of values in `curve`, up to 2^20.
    pub curve_count: i64,
    /// The axis that the curve's first value is of.
    pub curve_first: f64,
    /// Distance between the curve's values in bins.
    pub curve_step: f64,
}

// SAFETY: numbers and a pointer; all zero is valid.
unsafe impl Sized32 for isoc_ct_axis {
    const NAME: &'static str = "isoc_ct_axis";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_axis_options {
    fn to_options(self) -> Result<AxisOptions> {
        let method = match self.method {
            0 => AxisMethod::Auto,
            1 => AxisMethod::OppositeViews,
            2 => AxisMethod::Sinogram,
            3 => AxisMethod::Sharpness,
            v => fail!(UnknownValue, "options.method is {v}; it must be 0 to 3 (isoc_ct_axis_method)"),
        };
        let range = (self.low != 0.0 || self.high != 0.0).then_some([self.low, self.high]);
        let rows = count(self.rows, "options.rows", 0, MAX_SIDE)?;
        Ok(AxisOptions { method, range, rows, tilt: self.tilt != 0, curve: 0 })
    }
}

/// Finds the rotation axis of the plan's scan from its projections. The plan's own axis has no say, and nothing in the plan changes: give
/// what was found to isoc_ct_set_geometry. A threshold, a mask or a first guess is not needed.
///
/// Rows are mirrored about the axis half a turn later. The place where that fits best is found over the whole range, then the step
/// between a direction's views and the mirrored ones half a turn later is measured, for each frequency of a row with as many views about it
/// as make it most precise: see N. T. Vo et al., "Reliable method for calculating the center of rotation in parallel-beam tomography", Opt.
/// Express 22, 2014, for what half a turn tells. Rows that stray count less.
///
/// What isoc_ct_set_distortion says is taken out of the rows before; no other step of the frames is.
///
/// `projections`: as isoc_ct_reconstruct takes them, on the host or on a GPU, from which the rows needed are copied to the host, where the
/// search runs. `options`: NULL for the defaults.
///
/// Where the axis cannot be told the call says why, and `found` is left alone: ISOC_STATUS_TOO_FEW_VIEWS and ISOC_STATUS_EQUAL_ANGLES, and
/// ISOC_STATUS_OUT_OF_RANGE for angles that miss half a turn by more than 0.12 rad, for rows without structure, and for rows that contradict
/// each other. An axis beside the detector, where opposite views share no ray, cannot be found; of one
/// near an edge bins / 16 or so have to be seen from both sides, fewer where `low` and `high` say where it is. ISOC_STATUS_MEMORY_CAP: not
/// even one row fits the context's memory_cap; fewer rows than wanted are taken where not all do.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_find_axis(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    options: *const isoc_ct_axis_options,
    found: *mut isoc_ct_axis,
) -> Status {
    with_plan(ct, |ct| {
        let mut options = if options.is_null() {
            AxisOptions::default()
        } else {
            // SAFETY: by this function's contract.
            unsafe { read_struct(options)? }.to_options()?
        };
        // SAFETY: by this function's contract.
        let mut value = unsafe { read_struct(found.cast_const())? };
        options.curve = count(value.curve_count, "found.curve_count", 0, MAX_SIDE)?;
        if options.curve > 0 && value.curve.is_null() {
            fail!(NullPointer, "found.curve is NULL with found.curve_count {}", options.curve);
        }
        let expected = expect_projections(ct.geometry()?, "projections", DType::FRAMES);
        // SAFETY: by this function's contract.
        let projections = unsafe { Expected { gpus: ct.gpus(), ..expected }.input(projections)? };
        let axis = ct.find_axis(projections, &options)?;
        value.method = match axis.method {
            AxisMethod::Auto => 0,
            AxisMethod::OppositeViews => 1,
            AxisMethod::Sinogram => 2,
            AxisMethod::Sharpness => 3,
        };
        (value.axis, value.tilt, value.error, value.confidence) = (axis.axis, axis.tilt, axis.error, axis.confidence);
        (value.half_acquisition, value.reserved) = (axis.half_acquisition.into(), 0);
        [value.curve_first, value.curve_step] = axis.curve_at;
        for (k, v) in axis.curve.iter().enumerate() {
            // SAFETY: `curve_count` values, by this function's contract.
            unsafe { value.curve.add(k).write_unaligned(*v) };
        }
        // SAFETY: by this function's contract.
        unsafe { write_struct(found, &value) }
    })
}

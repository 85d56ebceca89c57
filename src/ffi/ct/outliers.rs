//! How outliers are removed.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, count, read_struct};
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{MAX_SIDE, OutlierSide, OutlierUnit, Outliers};

/// What isoc_ct_outliers.threshold is a multiple of.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_outlier_unit {
    /// The noise of the neighbourhood: 1.4826 times the median of the distances from its median, and at least a 200th of that median.
    Noise = 0,
    /// The median of the neighbourhood.
    Median = 1,
    /// Counts.
    Count = 2,
}

/// Which values isoc_ct_outliers means.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_outlier_side {
    /// Those above the median, as X rays and particles that hit the sensor leave them (zingers).
    Bright = 0,
    /// Those below the median.
    Dark = 1,
    /// Either.
    Both = 2,
}

/// What an outlier is: a raw value that is farther than threshold * unit from the median of its neighbourhood, which it then becomes.
/// Beyond the detector and the scan, its outermost bins, rows and views are repeated. Set `struct_size` and zero the rest for the
/// defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_outliers {
    /// sizeof(isoc_ct_outliers).
    pub struct_size: u32,
    /// An isoc_ct_outlier_unit.
    pub unit: u32,
    /// An isoc_ct_outlier_side.
    pub side: u32,
    /// Bins and rows of a neighbourhood: 3 or 5; 0 means 3.
    pub window: i64,
    /// Views of a neighbourhood, in their order, or frames of flats and darks: 1 (in the frame alone) or 3; 0 means 3.
    pub depth: i64,
    /// 1e-6 to 1e9; 0 means 10 times the noise, or 0.2 of the median. Counts have to be said.
    pub threshold: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_outliers {
    const NAME: &'static str = "isoc_ct_outliers";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_outliers {
    pub(super) fn to_outliers(self) -> Result<Outliers> {
        let or = |value: i64, name: &str| Ok(if value == 0 { 3 } else { count(value, name, 1, MAX_SIDE)? });
        let (window, depth) = (or(self.window, "outliers.window")?, or(self.depth, "outliers.depth")?);
        let (unit, usual) = match self.unit {
            0 => (OutlierUnit::Noise, 10.0),
            1 => (OutlierUnit::Median, 0.2),
            2 => (OutlierUnit::Count, 0.0),
            v => fail!(UnknownValue, "outliers.unit is {v}; it must be 0 to 2 (isoc_ct_outlier_unit)"),
        };
        let side = match self.side {
            0 => OutlierSide::Bright,
            1 => OutlierSide::Dark,
            2 => OutlierSide::Both,
            v => fail!(UnknownValue, "outliers.side is {v}; it must be 0 to 2 (isoc_ct_outlier_side)"),
        };
        if self.threshold == 0.0 && unit == OutlierUnit::Count {
            fail!(OutOfRange, "outliers.threshold is 0; with outliers.unit 2 (count) it must be a number of counts");
        }
        let threshold = if self.threshold == 0.0 { usual } else { self.threshold };
        let outliers = Outliers { window, depth, unit, threshold, side };
        outliers.check()?;
        Ok(outliers)
    }
}

/// Removes outliers from raw frames (counts or transmissions) in `filter`, `reconstruct` and `reconstruct_stream`, before the flat field.
/// NULL turns it off, as it is at first. It holds until set again, whatever the geometry. The work on a slab looks at window / 2 detector
/// rows on either side, which `read` of a stream is asked for as well; results do not depend on slabs. Values that are NaN or Inf count as
/// the largest in their neighbourhood, and are treated by the NaN policy as ever. isoc_ct_info.outliers says how many there were in the
/// last call. Line integrals stay as they are: a call whose projections are line integrals is ISOC_STATUS_FLAT_FIELD.
///
/// # Safety
/// `outliers` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_outliers(ct: *mut isoc_ct, outliers: *const isoc_ct_outliers) -> Status {
    with_plan(ct, |ct| {
        let outliers = if outliers.is_null() {
            None
        } else {
            // SAFETY: by this function's contract.
            Some(unsafe { read_struct(outliers)? }.to_outliers()?)
        };
        ct.set_outliers(outliers)
    })
}

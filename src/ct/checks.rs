//! What operators ask of the caller's arrays.

use crate::array::{DType, Layout};
use crate::error::{Result, fail};

/// Element types of projections, flats and darks that may be counts; of everything else.
pub(super) const COUNTS: &[DType] = &[DType::F32, DType::U16, DType::U8];
pub(super) const FLOATS: &[DType] = &[DType::F32];

/// Refuses an array of another shape or type.
pub(super) fn check(name: &str, array: &Layout, shape: [usize; 3], dtypes: &[DType]) -> Result<()> {
    let Layout { shape: seen, dtype, .. } = *array;
    if seen != shape {
        fail!(TensorShape, "{name} has shape {seen:?}; it must have {shape:?}");
    }
    check_dtype(name, dtype, dtypes)
}

pub(super) fn check_dtype(name: &str, seen: DType, allowed: &[DType]) -> Result<()> {
    if !allowed.contains(&seen) {
        fail!(TensorDtype, "elements of {name} are {seen:?}; this call takes {allowed:?}");
    }
    Ok(())
}

//! Flats and darks.

use super::plan::{isoc_ct, with_plan};
use crate::array::{Array, DType};
use crate::ct::MAX_SIDE;
use crate::error::{Result, Status};
use crate::ffi::boundary::count;
use crate::ffi::tensor::{Expected, isoc_tensor};

/// For counts: `filter` and `reconstruct` make -ln((raw - dark) / (flat - dark)) of them. Integers are counts; of f32
/// isoc_ct_options.input has to say what they are. Flats and darks are (frames, rows, bins) or, for one frame, (rows,
/// bins), of f32, u16 or u8; the frames are averaged and copied. `darks` may be NULL for zeros. `flats` NULL (then `darks`
/// too) forgets the flat field. Call it after isoc_ct_set_geometry; it stays until a geometry with other rows or bins. A
/// flat that is not above its dark is ISOC_STATUS_FLAT_FIELD, or, with the NaN policy "replace", a pixel that reads as 0
/// and is counted.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_flat_field(
    ct: *mut isoc_ct,
    flats: *const isoc_tensor,
    darks: *const isoc_tensor,
) -> Status {
    with_plan(ct, |ct| {
        let geometry = ct.geometry()?;
        let frames = |tensor: *const isoc_tensor, name: &'static str| -> Result<Option<Array>> {
            if tensor.is_null() {
                return Ok(None);
            }
            // SAFETY: readable, by this function's contract.
            let t = unsafe { tensor.read_unaligned() };
            let n = if t.ndim == 3 && !t.shape.is_null() {
                // SAFETY: three sizes, by the tensor's documentation.
                count(unsafe { t.shape.read_unaligned() }, &format!("{name}.shape[0]"), 1, MAX_SIDE)?
            } else {
                1
            };
            let shape = [n, geometry.rows, geometry.bins];
            let expected = Expected {
                name,
                shape,
                dims: ["frames", "rows", "bins"],
                optional: &[0],
                dtypes: DType::FRAMES,
                gpus: &[],
            };
            // SAFETY: by this function's contract.
            unsafe { expected.input(tensor) }.map(Some)
        };
        let (flats, darks) = (frames(flats, "flats")?, frames(darks, "darks")?);
        ct.set_flat_field(flats, darks)
    })
}

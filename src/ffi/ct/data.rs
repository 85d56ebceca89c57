//! Data that need not be in memory at once, or are computed: streams and phantoms.

use super::plan::{isoc_ct, with_plan};
use super::tensors::{expect_projections, expect_volume};
use crate::ffi::boundary::{OutList, array, count, guard};
use crate::ffi::tensor::{isoc_dtype, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::phantom::{Ellipse, SheppLogan};
use isocenter_ct::{MAX_SIDE, Order, Slab};
use std::ffi::c_void;

/// Sets of isoc_ct_shepp_logan.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_shepp_logan_kind {
    /// Shepp and Logan 1974: contrasts of 1 to 2 %.
    Original = 0,
    /// Toft 1996: the same ellipses with contrasts that can be seen.
    Modified = 1,
}

/// Number of ellipses of a Shepp-Logan phantom.
pub const ISOC_CT_SHEPP_LOGAN_ELLIPSES: i64 = 10;

/// An ellipse of constant attenuation; where ellipses overlap, values add.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_ellipse {
    /// Attenuation a length unit.
    pub value: f64,
    /// Centre, from the rotation axis, in length units; x along columns, y upwards.
    pub x: f64,
    /// See x.
    pub y: f64,
    /// Semi-axis along x before rotation, in length units.
    pub semi_x: f64,
    /// Semi-axis along y before rotation, in length units.
    pub semi_y: f64,
    /// Counter-clockwise rotation in radians.
    pub angle: f64,
}

impl From<&isoc_ct_ellipse> for Ellipse {
    fn from(e: &isoc_ct_ellipse) -> Self {
        let isoc_ct_ellipse { value, x, y, semi_x, semi_y, angle } = *e;
        Ellipse { value, centre: [x, y], semi: [semi_x, semi_y], angle }
    }
}

/// Writes the ellipses of a Shepp-Logan phantom that fills a circle of the given radius (length units),
/// ISOC_CT_SHEPP_LOGAN_ELLIPSES of them.
///
/// # Safety
/// `ellipses` is NULL or has room for `capacity` elements; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_shepp_logan(
    kind: u32,
    radius: f64,
    ellipses: *mut isoc_ct_ellipse,
    capacity: i64,
    count: *mut i64,
) -> Status {
    guard(|| {
        let kind = match kind {
            0 => SheppLogan::Original,
            1 => SheppLogan::Modified,
            v => fail!(UnknownValue, "kind is {v}; it must be 0 or 1 (isoc_ct_shepp_logan_kind)"),
        };
        let made = kind.section(radius)?.map(|e| {
            let Ellipse { value, centre: [x, y], semi: [semi_x, semi_y], angle } = e;
            isoc_ct_ellipse { value, x, y, semi_x, semi_y, angle }
        });
        // SAFETY: by this function's contract.
        unsafe { OutList { names: ["ellipses", "capacity"], out: ellipses, capacity, count }.fill(made.into_iter()) }
    })
}

/// # Safety
/// As for `array`.
unsafe fn to_ellipses(ellipses: *const isoc_ct_ellipse, ellipse_count: i64) -> Result<Vec<Ellipse>> {
    let n = count(ellipse_count, "ellipse_count", 1, MAX_SIDE)?;
    // SAFETY: by this function's contract.
    collected(unsafe { array(ellipses, n, "ellipses") }?.iter().map(Ellipse::from))
}

/// Fills `projections` for slices first to first + count of the volume: detector rows first_row + first on, in the geometry's
/// order with `count` rows, (views, count, bins) or (count, views, bins), contiguous. Where a stage looks at neighbouring rows
/// (isoc_ct_set_outliers, isoc_ct_set_distortion, isoc_ct_set_phase), those are asked for too, as far as the detector has them, and `first` may be below 0: parts then overlap, or each begins where the last one ended. Returns
/// 0, or anything else to stop. Must not throw, keep the pointer, or use the plan (ISOC_STATUS_BUSY).
pub type isoc_ct_read_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, first: i64, count: i64, projections: *const isoc_tensor) -> i32>;

/// Takes slices first to first + count of the volume from `volume`, (count, ny, nx), contiguous, f32 or of the type of
/// isoc_ct_set_output. Otherwise as for isoc_ct_read_fn.
pub type isoc_ct_write_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, first: i64, count: i64, volume: *const isoc_tensor) -> i32>;

/// Filtered back projection like isoc_ct_reconstruct, for data and volumes that do not fit memory: `read` is asked for the
/// projections of some slices at a time, in order, and `write` gets the finished slices, in order. GPUs work meanwhile on the
/// slabs in between (two for each GPU), so that reading, computing and writing overlap. `dtype` is the projections' type
/// (ISOC_F32, or ISOC_U16 or ISOC_U8 of counts: see isoc_ct_input). Both callbacks, and progress, come from the thread that made the call.
/// isoc_ct_info.slab_slices says how many slices a slab has at most.
///
/// When a callback returns non-zero the call stops with ISOC_STATUS_CALLBACK; slices that `write` took are good, no others.
/// NaN and Inf are found slab by slab: the message names the index in the whole array.
///
/// # Safety
/// `read` and `write` are NULL or functions of these types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_reconstruct_stream(
    ct: *mut isoc_ct,
    dtype: isoc_dtype,
    read: isoc_ct_read_fn,
    write: isoc_ct_write_fn,
    user: *mut c_void,
) -> Status {
    with_plan(ct, |ct| {
        let (Some(read), Some(write)) = (read, write) else {
            let name = if read.is_none() { "read" } else { "write" };
            fail!(NullPointer, "{name} is NULL");
        };
        let g = ct.geometry()?;
        let dtype = expect_projections(g, "projections", DType::FRAMES).check_dtype(dtype)?;
        let (top, rows_at) = (g.first_row as i64, if g.order == Order::Sinograms { 0 } else { 1 });
        type Call = unsafe extern "C" fn(*mut c_void, i64, i64, *const isoc_tensor) -> i32;
        let pass = |name: &str, call: Call, slab: Slab, [first, count]: [i64; 2]| {
            let shape = slab.shape.map(|n| n as i64);
            let tensor = isoc_tensor::contiguous(slab.data.cast(), slab.dtype, &shape);
            // SAFETY: the caller's function, with the caller's pointer and a tensor that is valid for the call.
            match unsafe { call(user, first, count, &tensor) } {
                0 => Ok(()),
                code => fail!(Callback, "{name} returned {code} for slices {first} to {}", first + count),
            }
        };
        ct.reconstruct_stream(
            dtype,
            |slab| pass("read", read, slab, [slab.first_row as i64 - top, slab.shape[rows_at] as i64]),
            |slab| pass("write", write, slab, [slab.first as i64, slab.count as i64]),
        )
    })
}

/// The phantom's exact mean over each pixel, the same in every slice: the truth to compare a reconstruction with.
///
/// # Safety
/// `ellipses` is NULL or holds `ellipse_count` elements; `volume` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_phantom_volume(
    ct: *mut isoc_ct,
    ellipses: *const isoc_ct_ellipse,
    ellipse_count: i64,
    volume: *const isoc_tensor,
) -> Status {
    with_plan(ct, |ct| {
        // SAFETY: by this function's contract.
        let (ellipses, target) =
            unsafe { (to_ellipses(ellipses, ellipse_count)?, expect_volume(ct.geometry()?).output(volume)?) };
        ct.phantom_volume(&ellipses, target)
    })
}

/// The phantom's exact line integrals at the bins' centres, in the geometry's length unit, the same in every row.
///
/// # Safety
/// `ellipses` is NULL or holds `ellipse_count` elements; `projections` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_phantom_projections(
    ct: *mut isoc_ct,
    ellipses: *const isoc_ct_ellipse,
    ellipse_count: i64,
    projections: *const isoc_tensor,
) -> Status {
    with_plan(ct, |ct| {
        let expected = expect_projections(ct.geometry()?, "projections", DType::FLOAT);
        // SAFETY: by this function's contract.
        let (ellipses, target) = unsafe { (to_ellipses(ellipses, ellipse_count)?, expected.output(projections)?) };
        ct.phantom_projections(&ellipses, target)
    })
}

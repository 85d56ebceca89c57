//! The beam of each view.

use super::plan::{isoc_ct, with_plan};
use super::tensors::expect_projections;
use crate::ffi::boundary::{Sized32, count, read_struct, write_struct};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{FlatFitOptions, Geometry, MAX_SIDE, Order};

/// How isoc_ct_fit_flat_field looks at frames. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_flat_fit_options {
    /// sizeof(isoc_ct_flat_fit_options).
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Rows and bins of the blocks whose means are compared; 0 makes 100 to 200 blocks of the longer side (1 where that is shorter). There
    /// must be four blocks for each component and four more.
    pub binning: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_flat_fit_options {
    const NAME: &'static str = "isoc_ct_flat_fit_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What isoc_ct_fit_flat_field found. `struct_size`, both arrays and `component_count` are the caller's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_flat_fit {
    /// sizeof(isoc_ct_flat_fit).
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Components that the flat field has: isoc_ct_flat_field_options.eigenflats at most, strongest first.
    pub components: i64,
    /// Gets the part of the flats' variance that each of the first `component_count` components explains, 0 beyond those that there are;
    /// NULL for none.
    pub explained: *mut f64,
    /// Gets the weights of the first `component_count` components in each view of the call, `component_count` values after each other for
    /// a view, 0 beyond those that there are; those of the flats themselves have a root mean square of 1. NULL for none.
    pub weights: *mut f64,
    /// Values in `explained`, and of each view in `weights`: 0 without them, otherwise up to 20.
    pub component_count: i64,
    /// Values in `weights`: the views of the call times `component_count`; 0 without it.
    pub weight_count: i64,
    /// Total variation of a frame's transmissions (of blocks, with the beam's strength left out), over their sum, on average over the
    /// views: by the flats alone.
    pub variation_before: f64,
    /// The same with the components.
    pub variation_after: f64,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_ct_flat_fit {
    const NAME: &'static str = "isoc_ct_flat_fit";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Room for more components than there can be is a mistake.
const MAX_COMPONENTS: usize = 20;

/// As many views as the tensor has, to be checked against the rest of it.
///
/// # Safety
/// `tensor` is NULL or readable.
unsafe fn views(tensor: *const isoc_tensor, g: &Geometry) -> Result<usize> {
    if tensor.is_null() {
        return Ok(g.angles.len());
    }
    // SAFETY: readable, by this function's contract.
    let t = unsafe { tensor.read_unaligned() };
    let dim = usize::from(g.order == Order::Sinograms && t.ndim == 3);
    if t.shape.is_null() || !(2..=3).contains(&t.ndim) {
        return Ok(g.angles.len());
    }
    // SAFETY: `ndim` sizes, by the tensor's documentation.
    let given = unsafe { t.shape.add(dim).read_unaligned() };
    count(given, &format!("projections.shape[{dim}]"), 1, g.angles.len())
}

/// Finds what the beam of views has of the flat field's components (isoc_ct_flat_field_options.eigenflats), by their frames: dynamic
/// flat-field correction, V. Van Nieuwenhove, J. De Beenhouwer, F. De Carlo, L. Mancini, F. Marone, J. Sijbers, "Dynamic intensity
/// normalization using eigen flat fields in X-ray imaging", Opt. Express 23, 27975, 2015. The beam of a view becomes
/// `s (F + w1 u1 + w2 u2 + ...)`: F what the flats say of it (groups, monitor), u the components, w the weights for which the total
/// variation of (frame - dark) / beam, times the mean of the beam, is smallest, over blocks of pixels, and s what keeps the mean transmission of the frame
/// at that of (frame - dark) / F.
///
/// `projections`: whole frames of the views first_view, first_view + 1, ..., as many as the tensor has: (views, rows, bins), or (rows, views,
/// bins) as isoc_ct_geometry.order says; u16, u8, or f32 counts (isoc_ct_options.input), on the host or on a GPU, from which
/// they are copied to the host some at a time. Views are independent of each other: a scan may be fitted in parts, in any order, as frames come
/// from disk, and a view again. Frames are taken as they are, outliers and all.
///
/// Every view of the scan has to be fitted before `filter`, `reconstruct`, `reconstruct_stream` and isoc_ct_find_axis take counts:
/// otherwise these are ISOC_STATUS_FLAT_FIELD, and name the first view that is missing. Where no component stands above noise there is
/// nothing to fit, and nothing missing. isoc_ct_set_flat_field forgets the fit, as does what forgets the flat field.
///
/// `options`: NULL for the defaults. `found`: NULL, or gets what was found. It runs on the context's worker threads with progress, a view a
/// task; cancelled or failed, it leaves the plan as it was. ISOC_STATUS_FLAT_FIELD: the flat field was set without eigenflats.
///
/// # Safety
/// Pointers are NULL or valid; the arrays in `found` are as its documentation says, `weights` with views x component_count values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_fit_flat_field(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    first_view: i64,
    options: *const isoc_ct_flat_fit_options,
    found: *mut isoc_ct_flat_fit,
) -> Status {
    with_plan(ct, |ct| {
        let binning = if options.is_null() {
            0
        } else {
            // SAFETY: by this function's contract.
            count(unsafe { read_struct(options)? }.binning, "options.binning", 0, MAX_SIDE)?
        };
        // SAFETY: by this function's contract.
        let given = (!found.is_null()).then(|| unsafe { read_struct(found.cast_const()) }).transpose()?;
        let mut room = 0;
        if let Some(value) = &given {
            room = count(value.component_count, "found.component_count", 0, MAX_COMPONENTS)?;
            if room == 0 && !value.explained.is_null() {
                fail!(
                    OutOfRange,
                    "found.component_count is 0 while found.explained is not NULL; it says what that has room for"
                );
            }
        }
        let g = ct.geometry()?;
        // SAFETY: by this function's contract.
        let views = unsafe { views(projections, g)? };
        let mut expected = expect_projections(g, "projections", DType::FRAMES);
        expected.shape[usize::from(g.order == Order::Sinograms)] = views;
        if let Some(value) = &given {
            let (n, needed) = (value.weight_count, if value.weights.is_null() { 0 } else { (views * room) as i64 });
            if n != needed {
                let of =
                    if needed == 0 { "without found.weights".into() } else { format!("for {views} views of {room}") };
                fail!(OutOfRange, "found.weight_count is {n}; it must be {needed} {of}");
            }
        }
        let first = count(first_view, "first_view", 0, g.angles.len() - 1)?;
        // SAFETY: by this function's contract.
        let frames = unsafe { Expected { gpus: ct.gpus(), ..expected }.input(projections)? };
        let fit = ct.fit_flat_field(frames, first, &FlatFitOptions { binning })?;
        let Some(mut value) = given else { return Ok(()) };
        let components = fit.explained.len();
        value.components = components as i64;
        [value.variation_before, value.variation_after] = fit.variation;
        for k in 0..room {
            if !value.explained.is_null() {
                let part = fit.explained.get(k).copied().unwrap_or(0.0);
                // SAFETY: `component_count` values, by this function's contract.
                unsafe { value.explained.add(k).write_unaligned(part) };
            }
            for view in 0..if value.weights.is_null() { 0 } else { views } {
                let weight = if k < components { fit.weights[view * components + k] } else { 0.0 };
                // SAFETY: `component_count` values for each view, by this function's contract.
                unsafe { value.weights.add(view * room + k).write_unaligned(weight) };
            }
        }
        // SAFETY: by this function's contract.
        unsafe { write_struct(found, &value) }
    })
}

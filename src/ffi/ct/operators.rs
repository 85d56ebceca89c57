//! The operators, from tensor to tensor.

use super::plan::{isoc_ct, with_plan};
use super::tensors::{expect_output, expect_projections, expect_volume};
use crate::ffi::tensor::{Expected, check_apart, isoc_tensor};
use isocenter_base::array::{Array, ArrayMut, DType};
use isocenter_base::error::{Result, Status};
use isocenter_ct::{Ct, Geometry, Output};

/// A call that reads one tensor and writes another, after checking both.
///
/// # Safety
/// Tensors are NULL or as `isoc_tensor` says, for the length of the call.
unsafe fn transform(
    handle: *const isoc_ct,
    input: (*const isoc_tensor, impl FnOnce(&Geometry) -> Expected<'static>),
    output: (*const isoc_tensor, impl FnOnce(&Geometry, &Output) -> Expected<'static>),
    run: impl FnOnce(&mut Ct, Array, ArrayMut) -> Result<()>,
) -> Status {
    with_plan(handle, |ct| {
        let geometry = ct.geometry()?;
        let gpus = ct.gpus();
        let (from, to) = (Expected { gpus, ..input.1(geometry) }, Expected { gpus, ..output.1(geometry, ct.output()) });
        // SAFETY: by this function's contract.
        let (source, target) = unsafe { (from.input(input.0)?, to.output(output.0)?) };
        check_apart((source.layout(), from.name), (target.layout(), to.name))?;
        run(ct, source, target)
    })
}

/// Filters every row of the slices: projections -> filtered, both of the projections' shape; rows outside the slices are
/// left alone; after a cancel some rows may have been written. The ramp is in 1 / bin_pitch, without angular weights:
/// `filter`, then a weighted `backproject`, is `reconstruct`.
///
/// `projections`: f32 line integrals, or what isoc_ct_options.input says. `filtered`: f32.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_filter(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    filtered: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", DType::FRAMES));
    let output = (filtered, |g: &Geometry, _: &Output| expect_projections(g, "filtered", DType::FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, output, Ct::filter) }
}

/// Back projection: volume(i, j) = sum over views of projections at h (see isoc_ct_geometry), interpolated as the options
/// say; unscaled, unless the options ask for angular weights.
///
/// `projections`: f32; `volume`: f32, (slices, ny, nx).
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_backproject(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    volume: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", DType::FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, (volume, |g, _| expect_volume(g)), Ct::backproject) }
}

/// Forward projection: line integrals of the volume at the bins' centres, in its length unit, by isoc_ct_options.projector. Rows outside
/// the slices are left alone; after a cancel some may have been written in part.
///
/// `volume`: f32, (slices, ny, nx); `projections`: f32.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_forward(
    ct: *mut isoc_ct,
    volume: *const isoc_tensor,
    projections: *const isoc_tensor,
) -> Status {
    let output = (projections, |g: &Geometry, _: &Output| expect_projections(g, "projections", DType::FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, (volume, expect_volume), output, Ct::forward) }
}

/// The exact transpose of `forward`, for iterative methods.
///
/// `projections`: f32; `volume`: f32, (slices, ny, nx).
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_adjoint(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    volume: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", DType::FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, (volume, |g, _| expect_volume(g)), Ct::adjoint) }
}

/// Reconstruction by isoc_ct_options.algorithm; by default filtered back projection: sum over views of angular weight x filtered
/// projection. The result is attenuation a length unit: a uniform disk of 1.0 comes out as 1.0 for any pixel size, bin pitch, number of
/// views, half or full turn.
///
/// `projections`: f32 line integrals, counts (u16, u8) with a flat field, or what isoc_ct_options.input says; `volume`: (slices, ny, nx),
/// f32, or of the type of isoc_ct_set_output.
/// The volume is written slab by slab: after an error or a cancel each slice is either finished or untouched.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_reconstruct(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    volume: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", DType::FRAMES));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, (volume, expect_output), Ct::reconstruct) }
}

//! The operators, from tensor to tensor.

use super::plan::{isoc_pet, with_plan};
use super::tensors::{expect_histos, expect_image};
use crate::ffi::boundary::{OutList, array, count};
use crate::ffi::tensor::{check_apart, isoc_tensor};
use isocenter_base::array::{Array, DType};
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::{Histos, Iteration, Pet};

/// What a pass over the views saw.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_iteration {
    /// Sum of `d ln e - e`, each view with the image as it was when the view's turn came.
    pub log_likelihood: f64,
    /// What the prior takes off, `beta R`, for the image that the pass began with; 0 without a prior.
    pub penalty: f64,
    /// `|after - before| / |after|` of the image; 0 unless isoc_pet_options.stop_change or stop_region_change is set.
    pub change: f64,
    /// The largest change of a region's mean, over the mean of all regions; 0 as `change`, or without regions.
    pub region_change: f64,
    /// Voxels with counts where none are expected: they changed nothing.
    pub skipped_voxels: u64,
}

/// Views that a call names; all of them for NULL.
///
/// # Safety
/// `views` is NULL or holds as many numbers.
unsafe fn chosen(pet: &Pet, views: *const i64, number: i64) -> Result<Vec<usize>> {
    let all = pet.views()?.len();
    if views.is_null() {
        if number != 0 && usize::try_from(number) != Ok(all) {
            fail!(OutOfRange, "view_count is {number} with views NULL; it must be 0 or {all}");
        }
        return Ok((0..all).collect());
    }
    let number = count(number, "view_count", 1, all)?;
    // SAFETY: by this function's contract.
    let list = unsafe { array(views, number, "views") }?;
    list.iter().enumerate().map(|(k, v)| count(*v, &format!("views[{k}]"), 0, all - 1)).collect()
}

/// Histo-images = H image, of the views that are named: f32 (view_count, nz, ny, nx) in their order; `views` NULL with a `view_count`
/// of 0 means all.
///
/// Views are written one after the other: a call that is cancelled has written some, one with bad input none.
///
/// Here and below an image is f32 (nz, ny, nx), and a dimension of one view may be left out.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_forward(
    pet: *mut isoc_pet,
    views: *const i64,
    view_count: i64,
    image: *const isoc_tensor,
    histo_images: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let views = chosen(pet, views, view_count)?;
            let from = expect_image(pet, "image")?.input(image)?;
            let to = expect_histos(pet, "histo_images", views.len(), DType::FLOAT)?.output(histo_images)?;
            check_apart((from.layout(), "image"), (to.layout(), "histo_images"))?;
            pet.forward(&views, from, to)
        }
    })
}

/// Image = sum of H' histo-images over the views that are named: the exact transpose of isoc_pet_forward. Histo-images f32 or u32
/// (view_count, nz, ny, nx).
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_adjoint(
    pet: *mut isoc_pet,
    views: *const i64,
    view_count: i64,
    histo_images: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let views = chosen(pet, views, view_count)?;
            let from = expect_histos(pet, "histo_images", views.len(), DType::HISTOS)?.input(histo_images)?;
            let to = expect_image(pet, "image")?.output(image)?;
            check_apart((from.layout(), "histo_images"), (to.layout(), "image"))?;
            pet.adjoint(&views, from, to)
        }
    })
}

/// # Safety
/// The tensor is NULL or valid.
pub(super) unsafe fn optional<'a>(
    pet: &Pet,
    name: &'static str,
    tensor: *const isoc_tensor,
) -> Result<Option<Array<'a, 4>>> {
    if tensor.is_null() {
        return Ok(None);
    }
    let views = pet.views()?.len();
    // SAFETY: by this function's contract.
    unsafe { expect_histos(pet, name, views, DType::FLOAT)?.input(tensor) }.map(Some)
}

/// Image = sum of H' A over all views; `factors`: f32 (views, nz, ny, nx), not negative, or NULL for 1.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_sensitivity(
    pet: *mut isoc_pet,
    factors: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let from = optional(pet, "factors", factors)?;
            let to = expect_image(pet, "image")?.output(image)?;
            if let Some(from) = &from {
                check_apart((from.layout(), "factors"), (to.layout(), "image"))?;
            }
            pet.sensitivity(from, to)
        }
    })
}

/// Reconstructs the image from measured histo-images f32 or u32 (views, nz, ny, nx), with `factors` (attenuation x normalisation;
/// NULL: 1) and `additive` (scatter + randoms; NULL: 0), f32 of the same shape. No value may be negative. Where a factor is 0
/// nothing is measured; a voxel that no view sees becomes 0. Nothing is written unless all of it is there.
///
/// The image is in counts a voxel and view where factors are attenuation and normalisation alone. With relaxation 1 and one view a
/// block, RAMLA gets from a uniform image to a sharp one in few passes and goes on to noise: fewer passes, or less relaxation.
///
/// The first GPU of the context computes. Its other GPUs take some views of each subset of OSEM, MLEM, BSREM and SVRG where that is faster, if histo-images
/// fit the memory of the first and each one's views that of the others; the image is the same to rounding. RAMLA's views follow one another, on the first.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_reconstruct(
    pet: *mut isoc_pet,
    measured: *const isoc_tensor,
    factors: *const isoc_tensor,
    additive: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let views = pet.views()?.len();
            let measured = expect_histos(pet, "measured", views, DType::HISTOS)?.input(measured)?;
            let factors = optional(pet, "factors", factors)?;
            let additive = optional(pet, "additive", additive)?;
            let to = expect_image(pet, "image")?.output(image)?;
            check_apart((measured.layout(), "measured"), (to.layout(), "image"))?;
            for (from, name) in [(&factors, "factors"), (&additive, "additive")] {
                if let Some(from) = from {
                    check_apart((from.layout(), name), (to.layout(), "image"))?;
                }
            }
            pet.reconstruct(&Histos { measured, factors, additive }, to)
        }
    })
}

/// Writes what each pass of the last reconstruction saw.
///
/// # Safety
/// `iterations` is NULL or has room for `capacity` elements; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_history(
    pet: *mut isoc_pet,
    iterations: *mut isoc_pet_iteration,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(pet, |pet| {
        let told = |i: &Iteration| isoc_pet_iteration {
            log_likelihood: i.log_likelihood,
            penalty: i.penalty,
            change: i.change,
            region_change: i.region_change,
            skipped_voxels: i.skipped,
        };
        let list = OutList { names: ["iterations", "capacity"], out: iterations, capacity, count };
        // SAFETY: by this function's contract.
        unsafe { list.fill(pet.history().iter().map(told)) }
    })
}

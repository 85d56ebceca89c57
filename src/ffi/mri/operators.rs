//! The operators, from tensor to tensor.

use super::plan::{isoc_mri, with_plan};
use super::tensors::{expect_images_of, expect_samples_of, images_from, images_to, samples_from, samples_to, scans_of};
use crate::ffi::boundary::{OutList, count as number};
use crate::ffi::tensor::{check_apart, isoc_tensor};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::error::{Result, Status, fail};
use isocenter_mri::Mri;
use isocenter_solve::history::Progress;

/// samples = F image: what the scanner would measure. `image`: complex (nz, ny, nx), or (coils, nz, ny, nx) without coil maps;
/// `samples`: complex (coils, samples).
///
/// This call, isoc_mri_adjoint, isoc_mri_gridding and isoc_mri_reconstruct take several scans of the plan's kind, too, such as slices or repetitions, one after
/// the other: `samples` (scans, coils, samples), and `image` (scans, images, nz, ny, nx), without images where there is one and without nz of planes. Their
/// progress is that of all; images of the scans before one that fails are written.
///
/// Here and below: complex64 or complex128; sizes of 1 may be left out; nothing is written unless all of it is there.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_forward(
    mri: *mut isoc_mri,
    image: *const isoc_tensor,
    samples: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe {
            if let Some(scans) = scans_of(mri, samples)? {
                let (from, mut to) = (
                    expect_images_of(mri, "image", scans)?.input(image)?,
                    expect_samples_of(mri, scans)?.output(samples)?,
                );
                check_apart((from.layout(), "image"), (to.layout(), "samples"))?;
                return mri.each_scan(scans, |mri, k| mri.forward(from.part(k), to.part(k)));
            }
            let (from, to) = (images_from(mri, "image", image)?, samples_to(mri, samples)?);
            check_apart((from.layout(), "image"), (to.layout(), "samples"))?;
            mri.forward(from, to)
        }
    })
}

/// # Safety
/// Tensors are NULL or valid.
unsafe fn to_image(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
    run: fn(&mut Mri, Array<2>, ArrayMut<4>) -> Result<()>,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe {
            if let Some(scans) = scans_of(mri, samples)? {
                let (from, mut to) = (
                    expect_samples_of(mri, scans)?.input(samples)?,
                    expect_images_of(mri, "image", scans)?.output(image)?,
                );
                check_apart((from.layout(), "samples"), (to.layout(), "image"))?;
                return mri.each_scan(scans, |mri, k| run(mri, from.part(k), to.part(k)));
            }
            let (from, to) = (samples_from(mri, samples)?, images_to(mri, "image", image)?);
            check_apart((from.layout(), "samples"), (to.layout(), "image"))?;
            run(mri, from, to)
        }
    })
}

/// image = F^H samples, unscaled: the exact transpose of isoc_mri_forward, to the transforms' tolerance.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_adjoint(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe { to_image(mri, samples, image, Mri::adjoint) }
}

/// image = F^H W samples: gridding, the quick reconstruction that others are compared with. In the image's own scale with weights
/// from isoc_mri_compute_weights (and coil maps whose squares add up to 1); without weights, each sample counts 1, and the log gets a
/// warning.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_gridding(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe { to_image(mri, samples, image, Mri::gridding) }
}

/// out = (F^H W F + lambda R^H R) image: the system that isoc_mri_reconstruct solves, for solvers of your own.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_normal(
    mri: *mut isoc_mri,
    image: *const isoc_tensor,
    out: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe {
            let (from, to) = (images_from(mri, "image", image)?, images_to(mri, "out", out)?);
            check_apart((from.layout(), "image"), (to.layout(), "out"))?;
            mri.normal(from, to)
        }
    })
}

/// The image that minimises |F image - samples|^2 / 2, in the norm of the density weights, + lambda times the penalty, for each image.
/// With penalties 0 to 2 that is the solution of (F^H W F + lambda R^H R) image = F^H W samples, by conjugate gradient. Progress is reported, and a wish to
/// cancel heeded, at each iteration.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_reconstruct(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe { to_image(mri, samples, image, Mri::reconstruct) }
}

/// |residual| / |right-hand side| of image `image` in the last isoc_mri_reconstruct (of several scans, all images scan by scan), before the first iteration and after each; with
/// penalties 3 and 4, |step| / |image| of each iteration, after 1 for the start. After isoc_mri_find_maps, of image 0: |F maps image - samples| / |samples|
/// in the weights' norm, before the first step and after each.
///
/// # Safety
/// `residuals` is NULL or has room for `capacity` values; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_history(
    mri: *mut isoc_mri,
    image: i64,
    residuals: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe {
        list(mri, image, OutList { names: ["residuals", "capacity"], out: residuals, capacity, count }, |p| {
            &p.residuals
        })
    }
}

/// |F image - samples|^2 / 2 in the weights' norm + lambda times the penalty of image `image` in the last isoc_mri_reconstruct, before
/// the first iteration and after each; none with penalties 0 to 2, and of moving wavelets as they lay in each iteration.
///
/// # Safety
/// `objectives` is NULL or has room for `capacity` values; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_objective(
    mri: *mut isoc_mri,
    image: i64,
    objectives: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe {
        list(mri, image, OutList { names: ["objectives", "capacity"], out: objectives, capacity, count }, |p| {
            &p.objectives
        })
    }
}

/// How far each value of isoc_mri_objective is above its minimum at most: its difference to the highest lower bound seen so far (a scaled
/// residual's, Kim et al. 2007), looked for before the first iteration, after every tenth and after the last. It is as exact as transforms
/// are: `tolerance` times |samples|^2. Of wavelets and blocks that stay where they are (options.fixed_grid, or the primal-dual method); none
/// with other penalties, and none of a grid that moves, which has no one minimum.
///
/// # Safety
/// `gaps` is NULL or has room for `capacity` values; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_gap(
    mri: *mut isoc_mri,
    image: i64,
    gaps: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe { list(mri, image, OutList { names: ["gaps", "capacity"], out: gaps, capacity, count }, |p| &p.gaps) }
}

/// # Safety
/// As for `OutList::fill`.
unsafe fn list(mri: *mut isoc_mri, image: i64, list: OutList<f64>, of: fn(&Progress) -> &Vec<f64>) -> Status {
    with_plan(mri, |mri| {
        let solutions = mri.solutions();
        let Some(last) = solutions.len().checked_sub(1) else {
            fail!(
                NotConfigured,
                "nothing was reconstructed yet; isoc_mri_reconstruct (or isoc_mri_find_maps) comes first"
            );
        };
        let found = of(&solutions[number(image, "image", 0, last)?]);
        // SAFETY: by this function's contract.
        unsafe { list.fill(found.iter().copied()) }
    })
}

//! Contrast recovery and noise of images.

use super::plan::{isoc_pet, with_plan};
use super::tensors::expect_host_image;
use crate::ffi::boundary::{array, count, set_out};
use crate::ffi::tensor::isoc_tensor;
use isocenter_base::error::{Status, fail};

const MAX_SPHERES: usize = 1 << 20;

/// Mean over spheres of 10 mm of `((s - b) / b) / (ratio - 1)`: s the mean of a disc of 10 mm about a sphere's centre, b that of the
/// ring about it of 24 to 40 mm, both in the nearest slice; 1 is the true contrast. `centres`: (centre_count, 3) of x, y, z in mm;
/// `ratio`: the spheres' activity over the background's. Image f32 in host memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_contrast_recovery(
    pet: *mut isoc_pet,
    image: *const isoc_tensor,
    centres: *const f64,
    centre_count: i64,
    ratio: f64,
    recovery: *mut f64,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract; three coordinates have the alignment of one.
        unsafe {
            let from = expect_host_image(pet, "image")?.input(image)?;
            let number = count(centre_count, "centre_count", 1, MAX_SPHERES)?;
            let centres = array(centres.cast::<[f64; 3]>(), number, "centres")?;
            if let Some((k, c)) = centres.iter().enumerate().find(|(_, c)| !c.iter().all(|v| v.is_finite())) {
                fail!(NotFiniteParameter, "centres[{k}] is {c:?}");
            }
            set_out(recovery, pet.contrast_recovery(&from, centres, ratio)?, "recovery")
        }
    })
}

/// Standard deviation of voxels over their mean in the central disc of 50 mm. Image f32 in host memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_noise(pet: *mut isoc_pet, image: *const isoc_tensor, noise: *mut f64) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let from = expect_host_image(pet, "image")?.input(image)?;
            set_out(noise, pet.noise(&from)?, "noise")
        }
    })
}

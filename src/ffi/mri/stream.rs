//! Samples that need not be in memory at once.

use super::geometry::MAX_SAMPLES;
use super::plan::{isoc_mri, with_plan};
use super::tensors::{expect_samples, images_to};
use crate::ffi::boundary::{count, set_bytes};
use crate::ffi::tensor::{isoc_dtype, isoc_tensor};
use isocenter_base::array::{ArrayMut, DType};
use isocenter_base::error::{Result, Status, fail};
use isocenter_mri::{Mri, Portion};
use std::ffi::c_void;

/// Fills `samples`, (coils, count), contiguous, of the type that the call was given, with samples first to first + count of the trajectory.
/// Returns 0, or anything else to stop. Must not throw, keep the pointer, or use the plan (ISOC_STATUS_BUSY).
pub type isoc_mri_read_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, first: i64, count: i64, samples: *const isoc_tensor) -> i32>;

/// isoc_mri_reconstruct for samples that do not fit memory: `read` is asked for `at_once` of them at a time (0: for 2^24 values, or an
/// eighth of the memory cap), in order, each once; a multiple of a readout's samples keeps straight lines whole. With frames
/// (isoc_mri_set_frames) it is asked for each frame's in turn, whole, so that those of windows that overlap are asked for again, and
/// `at_once` is 0 or no less than the longest. `dtype` is the samples' type, ISOC_C64 or ISOC_C128. `read`, and progress, come from the thread
/// that made the call; a part is read while the one before is computed with, so that there are two of them in host memory.
///
/// In memory are the trajectory and what belongs to one coil's samples of it, maps, images and Q, instead of samples of all coils; results
/// differ from those of isoc_mri_reconstruct by rounding. When F^H W F goes by pairs of transforms (isoc_mri_options.normal 2, or no Q)
/// samples of a problem's coils are kept in between as they are there.
///
/// When `read` returns non-zero the call stops with ISOC_STATUS_CALLBACK, and nothing is written. Values that are NaN or Inf are found part by part.
///
/// # Safety
/// `read` is NULL or a function of this type; `image` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_reconstruct_stream(
    mri: *mut isoc_mri,
    dtype: isoc_dtype,
    at_once: i64,
    read: isoc_mri_read_fn,
    user: *mut c_void,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe {
        stream(mri, (dtype, at_once), (read, user), image, |mri, dtype, at_once, read, image| {
            mri.reconstruct_stream(dtype, at_once, read, image)
        })
    }
}

/// isoc_mri_gridding for samples that do not fit memory, as in isoc_mri_reconstruct_stream.
///
/// # Safety
/// As for isoc_mri_reconstruct_stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_gridding_stream(
    mri: *mut isoc_mri,
    dtype: isoc_dtype,
    at_once: i64,
    read: isoc_mri_read_fn,
    user: *mut c_void,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe {
        stream(mri, (dtype, at_once), (read, user), image, |mri, dtype, at_once, read, image| {
            mri.gridding_stream(dtype, at_once, read, image)
        })
    }
}

/// Maximum number of bytes of working memory that isoc_mri_reconstruct_stream uses under the present geometry and options, with `dtype` and
/// `at_once` as it takes them; isoc_mri_gridding_stream uses no more. `host_bytes`: of the host, as memory_cap counts them; `gpu_bytes`: of
/// the GPU that it computes on, as gpu_memory_cap does, 0 on the processor. Smaller caps may still do. With a GPU, what counts on the host
/// is what `read` fills, which the plan keeps for its next stream until isoc_mri_set_geometry.
///
/// ISOC_STATUS_MEMORY_CAP: what `read` fills is more than memory_cap.
///
/// # Safety
/// `host_bytes` and `gpu_bytes` are NULL, for what is not wanted, or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_stream_memory(
    mri: *mut isoc_mri,
    dtype: isoc_dtype,
    at_once: i64,
    host_bytes: *mut u64,
    gpu_bytes: *mut u64,
) -> Status {
    with_plan(mri, |mri| {
        let (dtype, at_once) = portions(mri, dtype, at_once)?;
        let found = mri.stream_memory(dtype, at_once)?;
        // SAFETY: by this function's contract.
        unsafe { set_bytes([host_bytes, gpu_bytes], [found.host, found.gpu]) };
        Ok(())
    })
}

/// Type and number of the samples that are read at a time.
fn portions(mri: &Mri, dtype: isoc_dtype, at_once: i64) -> Result<(DType, usize)> {
    Ok((expect_samples(mri)?.check_dtype(dtype)?, count(at_once, "at_once", 0, MAX_SAMPLES)?))
}

/// Brings samples of a portion.
type Read<'a> = &'a mut dyn FnMut(Portion) -> Result<()>;

/// # Safety
/// As for [`isoc_mri_reconstruct_stream`].
unsafe fn stream(
    mri: *mut isoc_mri,
    (dtype, at_once): (isoc_dtype, i64),
    (read, user): (isoc_mri_read_fn, *mut c_void),
    image: *const isoc_tensor,
    run: fn(&mut Mri, DType, usize, Read, ArrayMut<4>) -> Result<()>,
) -> Status {
    with_plan(mri, |mri| {
        let Some(read) = read else { fail!(NullPointer, "read is NULL") };
        let (dtype, at_once) = portions(mri, dtype, at_once)?;
        // SAFETY: by this function's contract.
        let to = unsafe { images_to(mri, "image", image)? };
        let mut pass = |portion: Portion| {
            let Portion { first, count, coils, data, dtype } = portion;
            let (first, count) = (first as i64, count as i64);
            let shape = [coils as i64, count];
            let tensor = isoc_tensor::contiguous(data.cast(), dtype, &shape);
            // SAFETY: the caller's function, with the caller's pointer and a tensor that is valid for the call.
            match unsafe { read(user, first, count, &tensor) } {
                0 => Ok(()),
                code => fail!(Callback, "read returned {code} for samples {first} to {}", first + count),
            }
        };
        run(mri, dtype, at_once, &mut pass, to)
    })
}

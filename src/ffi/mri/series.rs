//! Series: frames with images of their own, images that change while samples are taken, and shots of one image.

use super::coils::any_sizes;
use super::geometry::MAX_SAMPLES;
use super::plan::{isoc_mri, with_plan};
use super::tensors::expect_grids;
use crate::ffi::boundary::{array, count};
use crate::ffi::tensor::{Expected, isoc_tensor, sizes};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_mri::{MAX_FRAMES, Mri};

/// Makes the scan a series of frames with images of their own: frame f has `counts[f]` samples from `first[f]` on, in the trajectory's
/// order; frames may overlap, and leave samples out. Images of all calls are then (frames, nz, ny, nx), or without coil maps
/// (frames x coils, nz, ny, nx), frame by frame; samples stay those of the whole trajectory. 0 frames make it one scan again, as
/// isoc_mri_set_geometry does.
///
/// Each frame is computed as a scan of its samples with their weights, field times and the maps of all, one after the other, in memory for
/// one beside all samples and images; where frames times coils times voxels are 2^23 or more, several at a time by as many GPUs as the context
/// has (but those that a penalty takes together, and those of a stream). isoc_mri_compute_weights then finds weights of each frame by itself, so that gridding
/// (isoc_mri_gridding) has the image's scale; it comes after this. isoc_mri_forward takes frames that do not overlap. There is no Q to
/// compute ahead, export or import. A basis (isoc_mri_set_basis) and frames exclude each other (ISOC_STATUS_NOT_CONFIGURED).
///
/// # Safety
/// `first` and `counts` are NULL or hold `frames` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_frames(
    mri: *mut isoc_mri,
    frames: i64,
    first: *const i64,
    counts: *const i64,
) -> Status {
    with_plan(mri, |mri| {
        mri.geometry()?;
        let frames = count(frames, "frames", 0, MAX_FRAMES)?;
        if frames == 0 {
            return mri.forget_frames();
        }
        // SAFETY: by this function's contract.
        unsafe { mri.set_frames(array(first, frames, "first")?, array(counts, frames, "counts")?) }
    })
}

/// The same with windows of equal length: frame f has `length` samples from f x `step` on, as long as the trajectory has so many. A
/// sliding window over spokes of golden angles has a multiple of the spoke's samples as both.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_mri_set_windows(mri: *mut isoc_mri, length: i64, step: i64) -> Status {
    with_plan(mri, |mri| {
        let samples = mri.samples()?;
        let length = count(length, "length", 1, MAX_SAMPLES)?;
        if length > samples {
            fail!(OutOfRange, "length is {length}: a window longer than the series, of {samples} samples");
        }
        mri.set_windows(length, count(step, "step", 1, MAX_SAMPLES)?)
    })
}

/// Sets a temporal basis: images change while samples are taken, as sums of a few. Sample m is then the sum over images k of
/// basis(time of m, k) (F rho_k)(m). `basis` is real or complex (times, images), at most 64 images; `times` has the row of each sample,
/// `samples` values; NULL: rows are samples. Copied. Images of all calls are (images, nz, ny, nx), or without coil maps
/// (coils x images, nz, ny, nx), coil by coil. `basis` NULL forgets it, as isoc_mri_set_geometry does.
///
/// F^H W F by Q is a matrix of convolutions between images, images (images + 1) / 2 of them, images^2 for a complex basis
/// (isoc_mri_info.normal_terms), and takes a Fourier transform there and back for each image and coil, whatever the number of times: Tamir et
/// al., Magn. Reson. Med. 77, 2017; Mani et al. 74, 2015. On a GPU it serves up to 16 images, and no field (isoc_mri_set_field): pairs of
/// transforms do the rest. Penalties are sums over the images.
///
/// # Safety
/// `basis` is NULL or valid; `times` is NULL or holds as many values as the trajectory has samples.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_basis(
    mri: *mut isoc_mri,
    basis: *const isoc_tensor,
    times: *const i64,
) -> Status {
    with_plan(mri, |mri| {
        let samples = mri.samples()?;
        if basis.is_null() {
            if times.is_null() {
                return mri.forget_basis();
            }
            fail!(NullPointer, "basis is NULL, and times is not");
        }
        // SAFETY: by this function's contract.
        unsafe {
            let expected = expect_basis(mri, basis)?;
            let times = (!times.is_null()).then(|| array(times, samples, "times")).transpose()?;
            mri.set_basis(expected.input(basis)?, times)
        }
    })
}

/// Whatever times and images the tensor says that it has.
///
/// # Safety
/// `basis` is valid.
unsafe fn expect_basis(mri: &Mri, basis: *const isoc_tensor) -> Result<Expected<'_, 2>> {
    let of = |shape: [usize; 2]| Expected {
        name: "basis",
        shape,
        dims: ["times", "images"],
        optional: &[],
        dtypes: DType::NUMBERS,
        gpus: mri.gpus(),
    };
    // SAFETY: by this function's contract; `sizes` reads two where there are as many.
    let seen = unsafe {
        let t = basis.read_unaligned();
        if t.ndim == 2 && !t.shape.is_null() { sizes(&t, 2) } else { Vec::new() }
    };
    match seen[..] {
        [times, images] => {
            Ok(of([count(times, "times of basis", 1, MAX_SAMPLES)?, count(images, "images of basis", 1, MAX_SAMPLES)?]))
        }
        // Says what a basis is.
        _ => Ok(of([mri.samples()?, 1])),
    }
}

/// Says that samples are of shots, between which the object's phase changes, as in diffusion scans: sample m sees the image times `phases` of its
/// shot. `phases` is complex (shots, nz, ny, nx), at most 64 shots, any factors; `shots` has the shot of each sample, `samples` values from 0 on.
/// Copied. All shots are of one image, and calls have as many images as without. Both NULL forget shots, as isoc_mri_set_geometry does.
///
/// F^H W F by Q is a convolution for each shot between its phases, and takes a Fourier transform there and back for each shot and coil. Shots, frames and a
/// basis exclude each other (ISOC_STATUS_NOT_CONFIGURED). N.-k. Chen, A. Guidon, H.-C. Chang, A. W. Song, "A robust multi-shot scan strategy for
/// high-resolution diffusion weighted MRI enabled by multiplexed sensitivity-encoding (MUSE)", NeuroImage 72, 2013.
///
/// # Safety
/// `shots` is NULL or holds as many values as the trajectory has samples; `phases` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_shots(
    mri: *mut isoc_mri,
    shots: *const i64,
    phases: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        let samples = mri.samples()?;
        match (shots.is_null(), phases.is_null()) {
            (true, true) => return mri.forget_shots(),
            (true, false) => fail!(NullPointer, "shots is NULL, and phases is not"),
            (false, true) => fail!(NullPointer, "phases is NULL, and shots is not"),
            (false, false) => {}
        }
        // SAFETY: by this function's contract.
        unsafe {
            let shots = array(shots, samples, "shots")?;
            let last = shots.iter().max().map_or(0, |s| usize::try_from(*s).unwrap_or(0));
            let count = any_sizes(phases, "phases").ok().and_then(|sizes| sizes.first().copied()).unwrap_or(last + 1);
            let phases = expect_grids(mri, "phases", (count, "shots"), DType::NUMBERS)?.input(phases)?;
            mri.set_shots(shots, phases)
        }
    })
}

//! Launches `kernels/mri/coils.cu`: density weights of samples, and images of coils, times their sensitivities and combined to one.

use crate::error::Result;
use crate::gpu::fft::Maps;
use crate::gpu::{DeviceReal, Queue};

const IMAGE: &str = "mri/coils";

/// Mirrors `Weigh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Weigh {
    weights: u64,
    samples: u64,
    count: i64,
    coils: i64,
}

/// Mirrors `Coils`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Coils {
    maps: u64,
    image: u64,
    coils: u64,
    voxels: i64,
    count: i64,
    add: i32,
}

/// # Safety
/// `P` is laid out as the kernel's parameter; its arrays stay valid until the stream has passed the launch; the GPU is current.
unsafe fn launch<T: DeviceReal, P: Copy>(queue: &Queue, verb: &str, count: usize, parameter: &P) -> Result<()> {
    let name = format!("coils_{verb}_{}", T::PRECISION.suffix());
    // SAFETY: by this function's contract.
    unsafe { queue.each(IMAGE, &name, count, parameter) }
}

/// samples `[coil][count]` = weights times samples; the weights are real.
///
/// # Safety
/// Both are on the queue's GPU, and stay valid until its stream has passed the call; the GPU is current.
pub(super) unsafe fn weigh<T: DeviceReal>(
    queue: &Queue,
    weights: u64,
    samples: u64,
    count: usize,
    coils: usize,
) -> Result<()> {
    let arguments = Weigh { weights, samples, count: count as i64, coils: coils as i64 };
    // SAFETY: by this function's contract; the struct mirrors the kernel's.
    unsafe { launch::<T, _>(queue, "weigh", count, &arguments) }
}

/// `coils[coil]` = maps times image.
///
/// # Safety
/// As for [`weigh`], with maps and images of `count` coils.
pub(super) unsafe fn multiply<T: DeviceReal>(
    queue: &Queue,
    maps: Maps,
    image: u64,
    coils: u64,
    [voxels, count]: [usize; 2],
) -> Result<()> {
    let arguments = Coils { maps: maps.address, image, coils, voxels: voxels as i64, count: count as i64, add: 0 };
    // SAFETY: by this function's contract; the struct mirrors the kernel's.
    unsafe { launch::<T, _>(queue, "multiply", voxels, &arguments) }
}

/// image = sum over coils of conj(maps) times coils, added to what is there if `add`.
///
/// # Safety
/// As for [`multiply`].
pub(super) unsafe fn combine<T: DeviceReal>(
    queue: &Queue,
    maps: Maps,
    (image, add): (u64, bool),
    coils: u64,
    [voxels, count]: [usize; 2],
) -> Result<()> {
    let arguments =
        Coils { maps: maps.address, image, coils, voxels: voxels as i64, count: count as i64, add: add.into() };
    // SAFETY: by this function's contract; the struct mirrors the kernel's.
    unsafe { launch::<T, _>(queue, "combine", voxels, &arguments) }
}

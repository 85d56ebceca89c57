//! Coil sensitivities and image from samples alone.

use super::plan::{isoc_mri, with_plan};
use super::tensors::{by_coils, expect_grids, samples_from};
use crate::ffi::boundary::{Sized32, count, read_struct, set_out};
use crate::ffi::tensor::{check_apart, isoc_tensor};
use isocenter_base::array::{ArrayMut, DType};
use isocenter_base::error::{Result, Status, fail};
use isocenter_mri::Mri;
use isocenter_mri::joint::{Joining, MAX_STEPS, Sobolev};

/// How isoc_mri_find_maps works. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_maps_options {
    /// sizeof(isoc_mri_maps_options).
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Gauss-Newton steps, 1 to 1000; 0 means 10. Regularisation gets smaller with each: more steps follow the samples, and their noise, more closely.
    pub steps: i64,
    /// Maximum number of conjugate-gradient iterations of a step, 1 to 1000; 0 means 100.
    pub iterations: i64,
    /// |residual| / |right-hand side| that ends these, below 1; 0 means 0.1, a negative number none.
    pub residual: f64,
    /// Weight of the regularisation in the first step, above 0 to 1e6; 0 means 1. It weighs squares of samples over the sum of their density
    /// weights, of samples whose size is such that the gridded image has a root mean square of 100/256 over its voxels.
    pub alpha: f64,
    /// Its factor from one step to the next, above 0 to 1; 0 means 0.5.
    pub reduction: f64,
    /// a in the coils' norm, which weighs a frequency of k cycles per voxel by (1 + a |k|^2)^(b/2); 0.001 to 1e9; 0 means 220. Larger: smoother coils.
    pub scale: f64,
    /// b in it, 2 to 200; 0 means 32.
    pub order: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_maps_options {
    const NAME: &'static str = "isoc_mri_maps_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_mri_maps_options {
    /// # Safety
    /// `options` is NULL or valid.
    unsafe fn joining(options: *const Self) -> Result<Joining> {
        let default = Joining::default();
        if options.is_null() {
            return Ok(default);
        }
        // SAFETY: by this function's contract.
        let Self { reserved, steps, iterations, residual, alpha, reduction, scale, order, .. } =
            unsafe { read_struct(options) }?;
        if reserved != 0 {
            fail!(OutOfRange, "options.reserved is {reserved}; it must be 0");
        }
        let number = |v: i64, name: &str, default: usize| -> Result<usize> {
            Ok(if v == 0 { default } else { count(v, name, 1, MAX_STEPS)? })
        };
        let real = |v: f64, default: f64| if v == 0.0 { default } else { v };
        Ok(Joining {
            steps: number(steps, "options.steps", default.steps)?,
            iterations: number(iterations, "options.iterations", default.iterations)?,
            residual: if residual < 0.0 && residual.is_finite() { 0.0 } else { real(residual, default.residual) },
            alpha: real(alpha, default.alpha),
            reduction: real(reduction, default.reduction),
            norm: Sobolev { scale: real(scale, default.norm.scale), order: real(order, default.norm.order) },
        })
    }
}

/// Maps or an image.
///
/// # Safety
/// `tensor` is NULL or valid.
unsafe fn grids<'a>(
    mri: &Mri,
    name: &'static str,
    first: (usize, &'static str),
    tensor: *const isoc_tensor,
) -> Result<ArrayMut<'a, 4>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 4>(mri, expect_grids(mri, name, first, DType::COMPLEX)?.output(tensor), tensor, false) }
}

/// Finds coil sensitivities and the image together, from samples alone: for scans without calibration data, of any trajectory, with or without density
/// weights, whose middle of k-space may be undersampled or missing in parts. `samples`: complex (coils, samples), two coils or more;
/// `maps`: complex (coils, nz, ny, nx), for isoc_mri_set_maps; `image`, unless NULL: complex (nz, ny, nx). The plan itself has no maps, and
/// gets none.
///
/// Regularised nonlinear inversion (Uecker, Hohage, Block and Frahm, Magn. Reson. Med. 60, 2008): Gauss-Newton steps for image and coils, from an image
/// of 1 and coils of 0, whose regularisation alpha (|image - 1|^2 + |coils|^2) gets smaller from step to step. The coils' norm is a Sobolev
/// norm, by which frequency k in cycles per voxel counts (1 + 220 |k|^2)^16, as in BART's nlinv: a wave of 25 voxels counts a hundred times as much as a
/// constant. They are made of waves of twice the field of view, so that they need not agree at its two ends.
///
/// At each voxel the squares of the maps' moduli add up to 1, where coils are longer than a tenth of their root mean square over all voxels. Elsewhere, away from
/// the object, coils are divided by that tenth, so that maps fade, and mean nothing. `image` times maps explains the samples everywhere. A smooth phase of the object is in the maps: samples tell only the sum of both.
///
/// Results do not depend on the samples' unit. Options of the plan that have a say are those of transforms and of the normal operator; a field,
/// voxel positions and shots are heeded. Progress is reported and a wish to cancel heeded at each iteration; nothing is written unless all of it is there.
/// Compress coils first (isoc_coil_compression) where there are many: each iteration takes two Fourier transforms of every coil.
/// isoc_mri_history has how far the samples are from `image` times maps, relative to them, before the first step and after each.
///
/// Where all samples are on lines that are further apart than the field of view asks for, an image and its fold-overs explain them alike, and the log gets a warning.
///
/// ISOC_STATUS_NOT_CONFIGURED: a plan of one coil, with maps, with frames, or with a basis; ISOC_STATUS_OUT_OF_RANGE: samples that are all 0;
/// ISOC_STATUS_MEMORY_CAP.
///
/// # Safety
/// `options` is NULL or valid; tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_find_maps(
    mri: *mut isoc_mri,
    options: *const isoc_mri_maps_options,
    samples: *const isoc_tensor,
    maps: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe {
            let joining = isoc_mri_maps_options::joining(options)?;
            let from = samples_from(mri, samples)?;
            let to = grids(mri, "maps", (mri.geometry()?.coils, "coils"), maps)?;
            let own = if image.is_null() { None } else { Some(grids(mri, "image", (1, "images"), image)?) };
            check_apart((from.layout(), "samples"), (to.layout(), "maps"))?;
            if let Some(own) = &own {
                check_apart((from.layout(), "samples"), (own.layout(), "image"))?;
                check_apart((own.layout(), "image"), (to.layout(), "maps"))?;
            }
            mri.find_maps(from, to, own, &joining)
        }
    })
}

/// Maximum number of bytes of working memory that isoc_mri_find_maps uses under the present geometry and options: of the host, or of the GPU
/// that it computes on, where a smaller gpu_memory_cap may still do.
///
/// # Safety
/// `options` is NULL or valid; `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_maps_memory(
    mri: *mut isoc_mri,
    options: *const isoc_mri_maps_options,
    bytes: *mut u64,
) -> Status {
    // SAFETY: by this function's contract.
    with_plan(mri, |mri| unsafe {
        set_out(bytes, mri.maps_memory(&isoc_mri_maps_options::joining(options)?)?, "bytes")
    })
}

//! Phantoms: their samples and their images.

use super::plan::{isoc_mri, with_plan};
use super::tensors::{expect_by_sample, expect_grids};
use crate::ffi::boundary::{OutList, array, count, guard};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::phantom::{Ellipsoid, SheppLogan};
use isocenter_mri::MAX_SIDE;

/// Contrasts of isoc_mri_shepp_logan.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_shepp_logan_kind {
    /// As published.
    Original = 0,
    /// Contrasts that can be seen.
    Modified = 1,
}

/// Number of ellipsoids of a Shepp-Logan head.
pub const ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS: i64 = 10;

/// An ellipsoid of constant value; where ellipsoids overlap, values add. Lengths are in voxels, from the voxel at position 0. In a
/// plane z and semi_z are not looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_ellipsoid {
    /// Value inside.
    pub value: f64,
    /// Centre.
    pub x: f64,
    /// Centre.
    pub y: f64,
    /// Centre.
    pub z: f64,
    /// Semi-axis along x before rotation.
    pub semi_x: f64,
    /// Along y.
    pub semi_y: f64,
    /// Along z.
    pub semi_z: f64,
    /// Rotation about z in radians, from x towards y.
    pub angle: f64,
}

/// Ellipsoids of the 3-D Shepp-Logan head for an image that is 2 half_xy voxels wide and high and 2 half_z deep; for a plane
/// (half_z = 0) ellipses: ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS of them; those that a plane does not meet have the value 0.
///
/// # Safety
/// `ellipsoids` is NULL or has room for `capacity` elements; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_shepp_logan(
    kind: u32,
    half_xy: f64,
    half_z: f64,
    ellipsoids: *mut isoc_mri_ellipsoid,
    capacity: i64,
    count: *mut i64,
) -> Status {
    guard(|| {
        let kind = match kind {
            0 => SheppLogan::Original,
            1 => SheppLogan::Modified,
            v => fail!(UnknownValue, "kind is {v}; it must be 0 or 1 (isoc_mri_shepp_logan_kind)"),
        };
        let mut found = [isoc_mri_ellipsoid {
            value: 0.0,
            x: 0.0,
            y: 0.0,
            z: 0.0,
            semi_x: 1.0,
            semi_y: 1.0,
            semi_z: 1.0,
            angle: 0.0,
        }; ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS as usize];
        if half_z == 0.0 {
            for (to, e) in found.iter_mut().zip(kind.head_slice(half_xy)?) {
                let Ellipsoid { value, centre: [x, y], semi: [semi_x, semi_y], angle } = e;
                *to = isoc_mri_ellipsoid { value, x, y, semi_x, semi_y, angle, ..*to };
            }
        } else {
            for (to, e) in found.iter_mut().zip(kind.head(half_xy, half_z)?) {
                let Ellipsoid { value, centre: [x, y, z], semi: [semi_x, semi_y, semi_z], angle } = e;
                *to = isoc_mri_ellipsoid { value, x, y, z, semi_x, semi_y, semi_z, angle };
            }
        }
        let list = OutList { names: ["ellipsoids", "capacity"], out: ellipsoids, capacity, count };
        // SAFETY: by this function's contract.
        unsafe { list.fill(found.into_iter()) }
    })
}

/// # Safety
/// `ellipsoids` is NULL or holds `ellipsoid_count` values.
unsafe fn phantom<'a>(ellipsoids: *const isoc_mri_ellipsoid, ellipsoid_count: i64) -> Result<&'a [isoc_mri_ellipsoid]> {
    let n = count(ellipsoid_count, "ellipsoid_count", 1, MAX_SIDE)?;
    // SAFETY: by this function's contract.
    unsafe { array(ellipsoids, n, "ellipsoids") }
}

fn solids(list: &[isoc_mri_ellipsoid]) -> Result<Vec<Ellipsoid<3>>> {
    let solid = |e: &isoc_mri_ellipsoid| Ellipsoid {
        value: e.value,
        centre: [e.x, e.y, e.z],
        semi: [e.semi_x, e.semi_y, e.semi_z],
        angle: e.angle,
    };
    collected(list.iter().map(solid))
}

fn flats(list: &[isoc_mri_ellipsoid]) -> Result<Vec<Ellipsoid<2>>> {
    let flat = |e: &isoc_mri_ellipsoid| Ellipsoid {
        value: e.value,
        centre: [e.x, e.y],
        semi: [e.semi_x, e.semi_y],
        angle: e.angle,
    };
    collected(list.iter().map(flat))
}

/// Writes what one coil without a sensitivity profile measures of a phantom, exactly (the ellipsoids' Fourier transform, not the
/// voxels'): complex (samples).
///
/// # Safety
/// `ellipsoids` holds `ellipsoid_count` values; `samples` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_phantom_samples(
    mri: *mut isoc_mri,
    ellipsoids: *const isoc_mri_ellipsoid,
    ellipsoid_count: i64,
    samples: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        let list = unsafe { phantom(ellipsoids, ellipsoid_count) }?;
        let expected = Expected { dtypes: DType::COMPLEX, name: "samples", ..expect_by_sample(mri, "samples")? };
        // SAFETY: by this function's contract.
        unsafe {
            let to = expected.output(samples)?;
            if mri.axes()? == 2 {
                mri.phantom_samples(&flats(list)?, to)
            } else {
                mri.phantom_samples(&solids(list)?, to)
            }
        }
    })
}

/// Writes the mean of a phantom over each voxel: complex (nz, ny, nx).
///
/// # Safety
/// As for isoc_mri_phantom_samples.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_phantom_image(
    mri: *mut isoc_mri,
    ellipsoids: *const isoc_mri_ellipsoid,
    ellipsoid_count: i64,
    image: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        let list = unsafe { phantom(ellipsoids, ellipsoid_count) }?;
        let expected = expect_grids(mri, "image", (1, "coils"), DType::COMPLEX)?;
        // SAFETY: by this function's contract.
        unsafe {
            let to = expected.output(image)?;
            if mri.axes()? == 2 { mri.phantom_image(&flats(list)?, to) } else { mri.phantom_image(&solids(list)?, to) }
        }
    })
}

//! What the calls expect of their tensors.

use super::coils::any_sizes;
use crate::ffi::tensor::{Expected, isoc_tensor, sizes};
use isocenter_base::array::{Array, ArrayMut, DType};
use isocenter_base::error::{Result, Status};
use isocenter_mri::{Geometry, Mri};

/// One value a sample.
pub(super) fn expect_by_sample<'m>(mri: &'m Mri, name: &'static str) -> Result<Expected<'m, 1>> {
    Ok(Expected {
        name,
        shape: [mri.samples()?],
        dims: ["samples"],
        optional: &[],
        dtypes: DType::REAL,
        gpus: mri.gpus(),
    })
}

pub(super) fn expect_samples(mri: &Mri) -> Result<Expected<'_, 2>> {
    let shape = [mri.geometry()?.coils, mri.samples()?];
    Ok(Expected {
        name: "samples",
        shape,
        dims: ["coils", "samples"],
        optional: &[0],
        dtypes: DType::COMPLEX,
        gpus: mri.gpus(),
    })
}

/// `first` images, maps or axes of the geometry's grid.
pub(super) fn expect_grids<'m>(
    mri: &'m Mri,
    name: &'static str,
    (first, what): (usize, &'static str),
    dtypes: &'static [DType],
) -> Result<Expected<'m, 4>> {
    let [nz, ny, nx] = mri.geometry()?.grid;
    Ok(Expected {
        name,
        shape: [first, nz, ny, nx],
        dims: [what, "nz", "ny", "nx"],
        optional: &[0, 1],
        dtypes,
        gpus: mri.gpus(),
    })
}

fn expect_images<'m>(mri: &'m Mri, name: &'static str) -> Result<Expected<'m, 4>> {
    expect_grids(
        mri,
        name,
        (mri.images()?, if mri.is_series()? || mri.sets()? > 1 { "images" } else { "coils" }),
        DType::COMPLEX,
    )
}

/// An array's elements, or an error that says what its coils have to do with it. `images`: not samples or maps.
///
/// # Safety
/// As for [`Expected::input`] or [`Expected::output`], which gave `parsed` of `N` dimensions.
pub(super) unsafe fn by_coils<A, const N: usize>(
    mri: &Mri,
    parsed: Result<A>,
    tensor: *const isoc_tensor,
    images: bool,
) -> Result<A> {
    let mut error = match parsed {
        Err(e) if [Status::TensorShape, Status::TensorNdim].contains(&e.status) => e,
        parsed => return parsed,
    };
    // SAFETY: shapes were looked at, so that the tensor is readable; the rest by this function's contract.
    let (seen, ndim) = unsafe {
        let t = tensor.read_unaligned();
        (sizes(&t, N), t.ndim)
    };
    if N == 2 && ndim == 3 {
        error.message += "; spokes or shots and their samples are one dimension";
    }
    let Geometry { coils, grid: [nz, ny, nx], .. } = *mri.geometry()?;
    let own = if N == 2 { vec![mri.samples()?] } else { vec![nz, ny, nx] };
    let own: Vec<i64> = own.into_iter().map(|n| n as i64).collect();
    // Sizes of 1 may be left out.
    let plane = own.strip_prefix(&[1]).filter(|rest| rest.len() == 2);
    let first = [Some(own.as_slice()), plane].into_iter().flatten().find_map(|own| match seen.strip_suffix(own)? {
        [] => Some(1),
        [n] => Some(*n),
        _ => None,
    });
    if images && mri.is_series()? {
        error.message += "; with frames or a basis (isoc_mri_set_frames, isoc_mri_set_basis) there are several images";
        return Err(error);
    }
    if images && mri.sets()? > 1 {
        error.message += &format!("; with {} sets of maps (isoc_mri_set_maps) there are as many images", mri.sets()?);
        return Err(error);
    }
    let mapped = mri.images()? != coils;
    match first {
        Some(n) if images && mapped && n == coils as i64 => {
            error.message += "; with maps (isoc_mri_set_maps) all coils see one image";
        }
        Some(1) if images && !mapped && coils > 1 => {
            let text = format!(
                "; geometry.coils is {coils}, and without maps (isoc_mri_set_maps) each coil has an image of its own"
            );
            error.message += &text;
        }
        Some(n) if n > 0 && n != coils as i64 && !(images && mapped) => {
            error.message += &format!("; geometry.coils is {coils}: set it to {n} for {n} coil(s)");
        }
        _ => {}
    }
    Err(error)
}

/// Scans that samples are of, where the tensor has them as a dimension in front of the plan's coils and samples.
///
/// # Safety
/// `samples` is NULL or valid.
pub(super) unsafe fn scans_of(mri: &Mri, samples: *const isoc_tensor) -> Result<Option<usize>> {
    let own = [mri.geometry()?.coils, mri.samples()?];
    // SAFETY: by this function's contract.
    match unsafe { any_sizes(samples, "samples") }.unwrap_or_default()[..] {
        [scans, coils, count] if [coils, count] == own => Ok(Some(scans)),
        _ => Ok(None),
    }
}

pub(super) fn expect_samples_of(mri: &Mri, scans: usize) -> Result<Expected<'_, 3>> {
    let shape = [scans, mri.geometry()?.coils, mri.samples()?];
    let dims = ["scans", "coils", "samples"];
    Ok(Expected { name: "samples", shape, dims, optional: &[], dtypes: DType::COMPLEX, gpus: mri.gpus() })
}

pub(super) fn expect_images_of<'m>(mri: &'m Mri, name: &'static str, scans: usize) -> Result<Expected<'m, 5>> {
    let [nz, ny, nx] = mri.geometry()?.grid;
    Ok(Expected {
        name,
        shape: [scans, mri.images()?, nz, ny, nx],
        dims: ["scans", "images", "nz", "ny", "nx"],
        optional: &[2, 1],
        dtypes: DType::COMPLEX,
        gpus: mri.gpus(),
    })
}

/// Sensitivities `[set][coil][z][y][x]`; one set may come without its dimension, and planes without z.
///
/// # Safety
/// As for [`Expected::input`].
pub(super) unsafe fn maps_from<'a>(mri: &Mri, maps: *const isoc_tensor) -> Result<Array<'a, 5>> {
    let Geometry { coils, grid: [nz, ny, nx], .. } = *mri.geometry()?;
    // SAFETY: by this function's contract.
    let sets = match unsafe { any_sizes(maps, "maps") }.unwrap_or_default()[..] {
        [sets, _, _, _, _] => sets,
        [sets, found, _, _] if nz == 1 && coils > 1 && found == coils => sets,
        _ => {
            let expected = expect_grids(mri, "maps", (coils, "coils"), DType::COMPLEX)?;
            // SAFETY: as above.
            let one = unsafe { by_coils::<_, 4>(mri, expected.input(maps), maps, false)? };
            return Ok(one.stacked());
        }
    };
    let expected = Expected {
        name: "maps",
        shape: [sets, coils, nz, ny, nx],
        dims: ["sets", "coils", "nz", "ny", "nx"],
        optional: &[2],
        dtypes: DType::COMPLEX,
        gpus: mri.gpus(),
    };
    // SAFETY: as above.
    unsafe { expected.input(maps) }
}

/// # Safety
/// As for [`Expected::input`].
pub(super) unsafe fn samples_from<'a>(mri: &Mri, samples: *const isoc_tensor) -> Result<Array<'a, 2>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 2>(mri, expect_samples(mri)?.input(samples), samples, false) }
}

/// # Safety
/// As for [`Expected::input`].
pub(super) unsafe fn images_from<'a>(mri: &Mri, name: &'static str, image: *const isoc_tensor) -> Result<Array<'a, 4>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 4>(mri, expect_images(mri, name)?.input(image), image, true) }
}

/// # Safety
/// As for [`Expected::output`].
pub(super) unsafe fn samples_to<'a>(mri: &Mri, samples: *const isoc_tensor) -> Result<ArrayMut<'a, 2>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 2>(mri, expect_samples(mri)?.output(samples), samples, false) }
}

/// # Safety
/// As for [`Expected::output`].
pub(super) unsafe fn images_to<'a>(
    mri: &Mri,
    name: &'static str,
    image: *const isoc_tensor,
) -> Result<ArrayMut<'a, 4>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 4>(mri, expect_images(mri, name)?.output(image), image, true) }
}

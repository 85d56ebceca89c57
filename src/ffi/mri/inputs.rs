//! What a plan is told besides: weights, maps, field, positions, matrix.

use super::geometry::MAX_SAMPLES;
use super::options::MAX_ITERATIONS;
use super::plan::{isoc_mri, with_plan};
use super::tensors::{expect_by_sample, expect_grids, maps_from};
use crate::ffi::boundary::{array, count};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Status, fail};
use isocenter_mri::Density;

/// How density weights are found.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_density {
    /// For any trajectory: weights whose convolution with a kernel (the squared transform of the field of view) is 1 at every sample,
    /// which makes F^H W F nearest to 1; `parameter` iterations, 0 means 10. Pipe and Menon, Magn. Reson. Med. 41, 1999, Eq. 10;
    /// Johnson and Pipe, 61, 2009. It takes memory and time of a field of view twice as wide, as Q does. No sample stands for more
    /// than 1 / (voxels of the image): where they are further apart than the field of view asks for, weights add up to less than the
    /// area.
    Iterative = 0,
    /// For straight spokes through or from the centre, each of `parameter` evenly spaced samples: a step times the circle (sphere) on
    /// which a sample lies, shared by the spokes. Spokes that pass the centre at more than a quarter of their length are an error
    /// (ISOC_STATUS_OUT_OF_RANGE), those that go on in the next one or pass it at more than two steps a warning in the log.
    Radial = 1,
}

/// Sets density weights W, one a sample, not negative and not all 0: real (samples); copied. NULL means 1. Forgets Q.
///
/// # Safety
/// `weights` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_weights(mri: *mut isoc_mri, weights: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        if weights.is_null() {
            return mri.set_weights(None);
        }
        // SAFETY: by this function's contract.
        unsafe { mri.set_weights(Some(expect_by_sample(mri, "weights")?.input(weights)?)) }
    })
}

/// Finds density weights and sets them; `density` is an isoc_mri_density. They are areas (volumes) of k-space in cycles per voxel, so
/// that isoc_mri_gridding gives an image in its own scale.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_mri_compute_weights(mri: *mut isoc_mri, density: u32, parameter: i64) -> Status {
    with_plan(mri, |mri| {
        let density = match density {
            0 => match count(parameter, "parameter", 0, MAX_ITERATIONS)? {
                0 => Density::Iterative(10),
                n => Density::Iterative(n),
            },
            1 if parameter == 0 => {
                fail!(
                    OutOfRange,
                    "parameter is 0; with radial weights it must be the number of samples of a spoke, 2 or more"
                )
            }
            1 => Density::Radial(count(parameter, "parameter", 2, MAX_SAMPLES)?),
            v => fail!(UnknownValue, "density is {v}; it must be 0 or 1 (isoc_mri_density)"),
        };
        mri.compute_weights(density)
    })
}

/// Writes the density weights, 1 where none were set: real (samples).
///
/// # Safety
/// `weights` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_get_weights(mri: *mut isoc_mri, weights: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe { mri.copy_weights(expect_by_sample(mri, "weights")?.output(weights)?) }
    })
}

/// Sets coil sensitivities S, complex (coils, nz, ny, nx); copied. With them all coils see one image; NULL forgets them, and each coil
/// then has an image of its own.
///
/// Several sets, (sets, coils, nz, ny, nx), of planes also (sets, coils, ny, nx), as isoc_coil_maps writes them: all coils see the sum of as many
/// images, each by its own set, where one set does not explain the data, as with a field of view smaller than the object (soft SENSE: Uecker et
/// al., Magn. Reson. Med. 71, 2014). Images are then (sets, nz, ny, nx), with a basis (sets x images of a basis, ...), and each has the
/// penalty of an image; the root of the sum of their squares is what to look at.
///
/// ISOC_STATUS_OUT_OF_RANGE: more sets than coils.
///
/// # Safety
/// `maps` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_maps(mri: *mut isoc_mri, maps: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        if maps.is_null() {
            return mri.set_maps(None);
        }
        // SAFETY: by this function's contract.
        let maps = unsafe { maps_from(mri, maps)? };
        mri.set_maps(Some(maps))
    })
}

/// Sets off-resonance and decay: `field` real (nz, ny, nx) in Hz, `times` real (samples) in seconds from where phases agree (the echo of a
/// spin echo, the excitation of a gradient echo), `decay` real (nz, ny, nx), R2* = 1 / T2* in 1/s, not negative; copied. `field` or `decay`
/// may be NULL. Sample m then has the factor exp(-(2 pi i field(r) + decay(r)) times_m) besides.
///
/// Fast sums are then sums of products of those without, as many as the tolerance takes (isoc_mri_info.field_terms; about one for each turn
/// between the fastest and the slowest voxel while samples are taken, and ten more): Sutton, Noll and Fessler, IEEE Trans. Med.
/// Imaging 22, 2003, at times and by interpolators that fit the field's histogram best. ISOC_MRI_METHOD_EXACT takes no products for
/// off-resonance, and those for decay to round-off. All three NULL forget it.
///
/// F^H W F by Q is then a sum of convolutions, each between factors of voxels (isoc_mri_info.normal_terms; about two for each turn, and ten
/// more): Fessler et al., IEEE Trans. Signal Process. 53, 2005, with products for the sums of decays and the differences of frequencies of all
/// pairs of voxels. It is Hermitian to rounding, and as near to F^H W F as the tolerance says: eigenvalues may fall below 0 by so much of the
/// largest. Q takes normal_terms times as much memory and time as without a field. More than 128 turns are for pairs of transforms.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_field(
    mri: *mut isoc_mri,
    field: *const isoc_tensor,
    times: *const isoc_tensor,
    decay: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        if field.is_null() && decay.is_null() {
            if times.is_null() {
                return mri.forget_field();
            }
            fail!(NullPointer, "field is NULL, and so is decay; with times one of them must be there");
        }
        let [nz, ny, nx] = mri.geometry()?.grid;
        // SAFETY: by this function's contract.
        unsafe {
            let map = |tensor: *const isoc_tensor, name| {
                let expected = Expected {
                    name,
                    shape: [nz, ny, nx],
                    dims: ["nz", "ny", "nx"],
                    optional: &[0],
                    dtypes: DType::REAL,
                    gpus: mri.gpus(),
                };
                (!tensor.is_null()).then(|| expected.input(tensor)).transpose()
            };
            let (field, decay) = (map(field, "field")?, map(decay, "decay")?);
            let times = expect_by_sample(mri, "times")?.input(times)?;
            mri.set_field(field, times, decay)
        }
    })
}

/// Sets where the voxels are, where they are on no regular grid: real (nz, ny, nx, axes), x first, in voxels from position 0; copied.
/// Sums are then exact, and F^H W F is applied by pairs of them. NULL goes back to the grid.
///
/// # Safety
/// `positions` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_positions(mri: *mut isoc_mri, positions: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        if positions.is_null() {
            return mri.set_positions(None);
        }
        let [nz, ny, nx] = mri.geometry()?.grid;
        let expected = Expected {
            name: "positions",
            shape: [nz, ny, nx, mri.axes()?],
            dims: ["nz", "ny", "nx", "axes"],
            optional: &[0, 1],
            dtypes: DType::REAL,
            gpus: mri.gpus(),
        };
        // SAFETY: by this function's contract.
        unsafe { mri.set_positions(Some(expected.input(positions)?)) }
    })
}

/// Sets the weights of ISOC_MRI_PENALTY_DIFFERENCES: real (axes, nz, ny, nx), x first, 2 axes for a plane and 3 for a volume;
/// copied. The weight at a voxel is that of the difference between it and the next one along the axis: small where anatomy
/// has an edge. NULL means 1.
///
/// # Safety
/// `weights` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_difference_weights(mri: *mut isoc_mri, weights: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        if weights.is_null() {
            return mri.set_difference_weights(None);
        }
        let axes = if mri.geometry()?.grid[0] == 1 { 2 } else { 3 };
        // SAFETY: by this function's contract.
        unsafe {
            mri.set_difference_weights(Some(expect_grids(mri, "weights", (axes, "axes"), DType::REAL)?.input(weights)?))
        }
    })
}

/// Sets R of ISOC_MRI_PENALTY_MATRIX as compressed sparse rows over the voxels in the image's order: row i has the entries
/// `row_starts[i]` to `row_starts[i + 1]` of `columns` and `values`. `rows` + 1 row_starts; `values` is real or complex, (entries). Copied.
///
/// # Safety
/// Pointers are NULL or hold as many values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_matrix(
    mri: *mut isoc_mri,
    rows: i64,
    row_starts: *const i64,
    columns: *const i64,
    entries: i64,
    values: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        mri.geometry()?;
        let rows = count(rows, "rows", 1, MAX_SAMPLES)?;
        let entries = count(entries, "entries", 1, MAX_SAMPLES)?;
        let expected = Expected {
            name: "values",
            shape: [entries],
            dims: ["entries"],
            optional: &[],
            dtypes: DType::NUMBERS,
            gpus: mri.gpus(),
        };
        // SAFETY: by this function's contract.
        unsafe {
            let starts = array(row_starts, rows + 1, "row_starts")?;
            let columns = array(columns, entries, "columns")?;
            mri.set_matrix(starts, columns, expected.input(values)?)
        }
    })
}

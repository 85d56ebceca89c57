//! Image and trajectory.

use super::plan::{isoc_mri, with_plan};
use crate::ffi::boundary::{Sized32, count, read_struct};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_mri::{Geometry, MAX_SIDE, Precision, Unit};

/// Unit of a trajectory. 0 is none of them: there is no default, since a wrong guess folds or shrinks the image.
///
/// cbindgen:prefix-with-name=false
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_unit {
    /// Within +-0.5.
    IsocMriUnitCyclesPerVoxel = 1,
    /// Within +-N/2 along an axis of N voxels.
    IsocMriUnitCyclesPerFieldOfView = 2,
    /// Within +-pi.
    IsocMriUnitRadiansPerVoxel = 3,
}

/// Precision of the arithmetic. Tensors may be of either precision, whatever this is.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_precision {
    /// f32.
    Single = 0,
    /// f64.
    Double = 1,
}

/// Image and scan.
///
/// Voxel j of an axis of N is at position j - floor(N / 2). An image has nz x ny x nx voxels, x fastest; a tensor of a plane
/// (nz = 1) may leave z out. Model: `s_c(k_m) = sum_r S_c(r) rho(r) exp(-2 pi i k_m . r)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_geometry {
    /// sizeof(isoc_mri_geometry).
    pub struct_size: u32,
    /// An isoc_mri_unit; required.
    pub unit: u32,
    /// An isoc_mri_precision.
    pub precision: u32,
    /// Axes of the trajectory: 1 (for lines, ny = nz = 1), 2 (for planes) or 3; 0 means 2 where nz is 1, else 3.
    pub axes: u32,
    /// Voxels along x.
    pub nx: i64,
    /// Voxels along y.
    pub ny: i64,
    /// Voxels along z; 0 or 1 makes a plane.
    pub nz: i64,
    /// Samples of the trajectory, of each coil.
    pub samples: i64,
    /// Receiver coils; 0 means 1.
    pub coils: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_geometry {
    const NAME: &'static str = "isoc_mri_geometry";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// More samples than any scan has: a larger number is a mistake.
pub(super) const MAX_SAMPLES: usize = 1 << 40;
const MAX_COILS: usize = 1 << 16;

fn unit(value: u32) -> Result<Unit> {
    match value {
        1 => Ok(Unit::CyclesPerVoxel),
        2 => Ok(Unit::CyclesPerFieldOfView),
        3 => Ok(Unit::RadiansPerVoxel),
        v => fail!(UnknownValue, "geometry.unit is {v}; it must be 1 to 3 (isoc_mri_unit), since there is no default"),
    }
}

impl isoc_mri_geometry {
    pub(super) fn to_geometry(self) -> Result<Geometry> {
        let precision = match self.precision {
            0 => Precision::Single,
            1 => Precision::Double,
            v => fail!(UnknownValue, "geometry.precision is {v}; it must be 0 or 1 (isoc_mri_precision)"),
        };
        let nx = count(self.nx, "geometry.nx", 1, MAX_SIDE)?;
        let ny = count(self.ny, "geometry.ny", 1, MAX_SIDE)?;
        let nz = count(self.nz, "geometry.nz", 0, MAX_SIDE)?.max(1);
        let coils = count(self.coils, "geometry.coils", 0, MAX_COILS)?.max(1);
        Ok(Geometry { grid: [nz, ny, nx], coils, precision })
    }
}

/// Sets image and trajectory, (samples, 2) for a plane, (samples, 3) for a volume or, with geometry.axes 1, (samples) for a line, x first, f32 or f64, on the host or on the GPU; copied.
/// A plan on a GPU keeps it there, 8 bytes a number, if it came from there or has 65,536 samples or more, and if that is no more than a
/// sixteenth of the memory; isoc_mri_memory counts it. Samples out of the
/// unit's range are an error that names the first one and the units that all would fit, or, up to a tenth beyond, what to do; samples that all stay below a quarter of it
/// are a warning in the log. Forgets weights, maps, field,
/// positions, the penalty's weights and matrix, and Q.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_geometry(
    mri: *mut isoc_mri,
    geometry: *const isoc_mri_geometry,
    trajectory: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        let g = unsafe { read_struct(geometry) }?;
        let unit = unit(g.unit)?;
        let samples = count(g.samples, "geometry.samples", 1, MAX_SAMPLES)?;
        let geometry = g.to_geometry()?;
        let dims = match (g.axes, geometry.grid) {
            (1, [1, 1, _]) => 1,
            (0 | 2, [1, _, _]) => 2,
            (0 | 3, _) => 3,
            (n, [nz, ny, _]) => fail!(
                OutOfRange,
                "geometry.axes is {n} with ny = {ny} and nz = {nz}; it must be 0 or 3, 2 for a plane, or 1 for a line of ny = nz = 1"
            ),
        };
        let expected = Expected {
            name: "trajectory",
            shape: [samples, dims],
            dims: ["samples", "axes"],
            optional: &[1],
            dtypes: DType::REAL,
            gpus: mri.gpus(),
        };
        // SAFETY: by this function's contract.
        let trajectory = unsafe { mri.read_trajectory(expected.input(trajectory)?, unit, geometry.grid) }?;
        mri.set_geometry(geometry, trajectory)
    })
}

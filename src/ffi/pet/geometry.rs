//! Lattice and views.

use super::plan::{isoc_pet, with_plan};
use crate::ffi::boundary::{OutList, Sized32, count, read_struct};
use crate::ffi::tensor::{Expected, first_size, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::lattice::MAX_SIDE;
use isocenter_pet::{Lattice, View, Views};

/// Lattice and views, in millimetres and radians.
///
/// Image and histo-images have nz x ny x nx voxels, x fastest; the centre of the lattice is the centre of the scanner. A view with
/// azimuth p and tilt t looks along `n = (cos p cos t, sin p cos t, sin t)`, the same as along -n; its radial axis is
/// `(-sin p, cos p, 0)`, its axial axis the product of the two.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_geometry {
    /// sizeof(isoc_pet_geometry).
    pub struct_size: u32,
    /// Of a grid of views, which has azimuths x tilts of them; 0 means 1.
    pub tilts: u32,
    /// Voxels along x.
    pub nx: i64,
    /// Voxels along y.
    pub ny: i64,
    /// Voxels along z.
    pub nz: i64,
    /// Size of a voxel along x, mm.
    pub voxel_x: f64,
    /// Along y; 0 means as along x.
    pub voxel_y: f64,
    /// Along z; 0 means as along x.
    pub voxel_z: f64,
    /// Of a grid of views: azimuth i is i pi / azimuths, and view `i * tilts + j` has azimuth i and tilt j. With a list of views both
    /// are 0.
    pub azimuths: i64,
    /// Largest tilt of an event, up or down, rad, above 0: the tilts of a grid are the centres of equal parts between it and its
    /// negative.
    pub max_tilt: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_geometry {
    const NAME: &'static str = "isoc_pet_geometry";
    const FIRST_SIZE: usize = size_of::<Self>();
}

pub(super) const MAX_VIEWS: usize = 1 << 16;

impl isoc_pet_geometry {
    pub(super) fn to_lattice(self) -> Result<Lattice> {
        let side = |v: i64, name: &str| count(v, name, 1, MAX_SIDE);
        let shape = [side(self.nz, "geometry.nz")?, side(self.ny, "geometry.ny")?, side(self.nx, "geometry.nx")?];
        let or_x = |v: f64| if v == 0.0 { self.voxel_x } else { v };
        Lattice::new(shape, [self.voxel_x, or_x(self.voxel_y), or_x(self.voxel_z)])
    }
}

/// Sets lattice and views: a grid of azimuths x tilts, or a list, f32 or f64 (views, 2) of azimuth and tilt, none of which may
/// repeat another's direction. Forgets tables, order, prior and regions, and keeps the response; calls that
/// need one which does not fit the new lattice are ISOC_STATUS_OUT_OF_RANGE until one is set that does.
///
/// # Safety
/// Pointers are NULL or valid; `views` NULL means a grid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_geometry(
    pet: *mut isoc_pet,
    geometry: *const isoc_pet_geometry,
    views: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        let g = unsafe { read_struct(geometry) }?;
        let lattice = g.to_lattice()?;
        let views = if views.is_null() {
            let azimuths = count(g.azimuths, "geometry.azimuths", 1, MAX_VIEWS)?;
            let tilts = count(g.tilts.into(), "geometry.tilts", 0, MAX_VIEWS)?.max(1);
            Views::grid(azimuths, tilts, g.max_tilt)?
        } else {
            for (name, n) in [("azimuths", g.azimuths), ("tilts", g.tilts.into())] {
                if n != 0 {
                    fail!(OutOfRange, "geometry.{name} is {n} beside a list of views; it must be 0 then");
                }
            }
            // SAFETY: by this function's contract.
            let number = unsafe { first_size(views, "views", &["views", "angles"]) }?;
            let number = count(number, "views.shape[0]", 1, MAX_VIEWS)?;
            let expected = Expected {
                name: "views",
                shape: [number, 2],
                dims: ["views", "angles"],
                optional: &[],
                dtypes: DType::REAL,
                gpus: &[],
            };
            // SAFETY: by this function's contract.
            unsafe { pet.read_views(expected.input(views)?, g.max_tilt) }?
        };
        pet.set_geometry(lattice, views)
    })
}

/// Writes the directions of all views: (count, 2) of azimuth and tilt, rad. `capacity` and `count` are of views, two numbers each.
///
/// # Safety
/// `views` is NULL or has room for `capacity` views; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_get_views(
    pet: *mut isoc_pet,
    views: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(pet, |pet| {
        let list = OutList { names: ["views", "capacity"], out: views.cast::<[f64; 2]>(), capacity, count };
        // SAFETY: two numbers a view, by this function's contract.
        unsafe { list.fill(pet.views()?.iter().map(|View { azimuth, tilt }| [*azimuth, *tilt])) }
    })
}

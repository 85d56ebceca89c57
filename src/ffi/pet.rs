//! `isoc_pet_*`: plans, projections, reconstruction.

use super::boundary::{OutList, Registry, Serial, Sized32, array, count, guard, read_struct, set_out, write_struct};
use super::context::{context, isoc_context};
use super::tensor::{Expected, check_apart, first_size, isoc_tensor};
use crate::array::{Array, DType};
use crate::error::{Result, Status, fail};
use crate::pet::lattice::MAX_SIDE;
use crate::pet::{
    Algorithm, Cut, Histos, Iteration, Lattice, Method, Options, Order, Pet, Profile, Projector, Radial, Response,
    Shape, View, Views,
};
use std::ffi::c_void;

/// Radial profile of the response.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_profile {
    /// A Gaussian.
    Symmetric = 0,
    /// Two Gaussians: isoc_pet_response.ratio, shift and share.
    Asymmetric = 1,
}

/// Where a response is cut off.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_cut {
    /// At a number of sigmas along each of its axes.
    Box = 0,
    /// At an ellipsoid of a number of sigmas.
    Ellipsoid = 1,
}

/// How projections are computed.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_projector {
    /// The faster of the others, for each view; on a GPU Fourier transforms for kernels that do not vary alone.
    Auto = 0,
    /// Sums over the kernel, to rounding.
    Gather = 1,
    /// By Fourier transforms; kernels that vary are expanded to isoc_pet_options.tolerance, which takes a while. Values within rounding
    /// are 0, expected counts within the tolerance none, and quotients A d / e at most 1e4 times the largest A.
    Fourier = 2,
}

/// What is iterated.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_algorithm {
    /// Block RAMLA, one view a block: `f = f + lambda f H'[A (d / e - 1)]`.
    Ramla = 0,
    /// Ordered subsets of isoc_pet_options.subsets: `f = f / S H'[A d / e]` with sums over a subset, `S = H' A`; where a
    /// subset's S is 0, f stays.
    Osem = 1,
    /// The same with all views at once: the likelihood never falls.
    Mlem = 2,
}

/// The order of views in a pass.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_order {
    /// Each far from the one before, by steps of 0.382 of a half turn.
    Geometric = 0,
    /// Another in every pass, from isoc_pet_options.seed.
    Random = 1,
    /// That of isoc_pet_set_order.
    Given = 2,
}

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

/// What timing and detectors do to a point: full widths at half maximum.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_response {
    /// sizeof(isoc_pet_response).
    pub struct_size: u32,
    /// An isoc_pet_profile.
    pub profile: u32,
    /// An isoc_pet_cut.
    pub cut: u32,
    /// Pairs of radial_table; 0 means that radial_fwhm holds everywhere.
    pub radial_table_count: u32,
    /// Of the time difference, ps.
    pub tof_fwhm: f64,
    /// Across the line in the transverse plane, mm.
    pub radial_fwhm: f64,
    /// Across the line and the radial axis, mm.
    pub axial_fwhm: f64,
    /// Pairs of a signed distance from the axis (mm, ascending) and the radial width there (mm): linear between, constant beyond
    /// the ends. A table that begins at 0 or above holds for either sign.
    pub radial_table: *const f64,
    /// Voxels whose distances from the axis lie in one step of so many mm share a kernel; 0 means 2.
    pub step: f64,
    /// Sigmas at which kernels are cut; 0 means 3.
    pub cut_width: f64,
    /// Asymmetric: sigma of the second Gaussian over that of the first, at least 1.
    pub ratio: f64,
    /// Asymmetric: the second one is moved towards the axis by so many of the first one's sigmas.
    pub shift: f64,
    /// Asymmetric: the second one's share of the mass.
    pub share: f64,
}

// SAFETY: numbers and a pointer; all zero is valid.
unsafe impl Sized32 for isoc_pet_response {
    const NAME: &'static str = "isoc_pet_response";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// How to reconstruct. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_options {
    /// sizeof(isoc_pet_options).
    pub struct_size: u32,
    /// An isoc_pet_algorithm.
    pub algorithm: u32,
    /// An isoc_pet_order.
    pub order: u32,
    /// An isoc_pet_projector.
    pub projector: u32,
    /// Non-zero: isoc_pet_reconstruct begins with the image that it is given, instead of a uniform one.
    pub warm_start: u32,
    /// OSEM: subsets of views; 0 means 8, or one a view where there are fewer.
    pub subsets: u32,
    /// Passes over all views; 0 means 10.
    pub iterations: i64,
    /// Passes made before, by other calls: relaxation and random orders go on from there.
    pub first_iteration: i64,
    /// Of ISOC_PET_ORDER_RANDOM: the same orders for the same seed.
    pub seed: u64,
    /// RAMLA: in pass k, `lambda = relaxation / (1 + relaxation_decay k) / largest A`; above 0 and at most 1, which keeps images
    /// positive; 0 means 1.
    pub relaxation: f64,
    /// How fast lambda falls from pass to pass, in the formula of relaxation; 0 or more.
    pub relaxation_decay: f64,
    /// Fourier projector: largest error of a kernel's expansion, relative to its largest value; 0 means 1e-5.
    pub tolerance: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_options {
    const NAME: &'static str = "isoc_pet_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What a pass over the views saw.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_iteration {
    /// Sum of `d ln e - e`, each view with the image as it was when the view's turn came.
    pub log_likelihood: f64,
    /// Voxels with counts where none are expected: they changed nothing.
    pub skipped_voxels: u64,
}

/// What a plan found and decided.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_info {
    /// sizeof(isoc_pet_info), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Views.
    pub views: i64,
    /// NaN and Inf values replaced in the last call that read data.
    pub replaced_values: i64,
    /// Passes of the last reconstruction, for isoc_pet_history.
    pub iterations: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_info {
    const NAME: &'static str = "isoc_pet_info";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Sizes of a view's tables, and what their kernels hold.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_table_sizes {
    /// sizeof(isoc_pet_table_sizes), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Kernels: identifiers are 0 to kernels - 1.
    pub kernels: i64,
    /// Voxels of a kernel.
    pub offsets: i64,
    /// The least mass that the cut leaves of a kernel; 1 of the caller's own.
    pub least_mass: f64,
    /// The greatest.
    pub greatest_mass: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_table_sizes {
    const NAME: &'static str = "isoc_pet_table_sizes";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Where isoc_pet_get_tables writes a view's tables, in the form that isoc_pet_set_tables takes: of each array its capacity, and how many
/// elements there are, which the call sets. An array with capacity 0 is left out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_tables {
    /// sizeof(isoc_pet_tables).
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// (ny, nx): the kernel of all voxels of a column.
    pub map: *mut u32,
    /// Room in `map`.
    pub map_capacity: i64,
    /// Set to ny nx.
    pub map_count: i64,
    /// (offset_count, 3) in voxels along x, y, z, in the order of z, y, x.
    pub offsets: *mut i32,
    /// Room in `offsets`, of three numbers each.
    pub offset_capacity: i64,
    /// Set to the voxels of a kernel.
    pub offset_count: i64,
    /// (kernels, offset_count), each kernel's sum 1.
    pub values: *mut f32,
    /// Room in `values`.
    pub value_capacity: i64,
    /// Set to kernels x offset_count.
    pub value_count: i64,
    /// (kernels): the mass that the cut left of each; 1 of the caller's own.
    pub mass: *mut f64,
    /// Room in `mass`.
    pub mass_capacity: i64,
    /// Set to the number of kernels.
    pub mass_count: i64,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_pet_tables {
    const NAME: &'static str = "isoc_pet_tables";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// A plan for DIRECT time-of-flight PET: lattice, views, response, options. Opaque. Any thread may use it; calls on one plan wait for
/// each other, different plans run at the same time. It computes on the first GPU of its context, or on the processor.
///
/// The events of a view's directions make a histo-image, in which each lies where its time difference says. The histo-image that
/// is expected of an image f is `e_v = A_v (H_v f) + b_v`, with A attenuation x normalisation and b scatter + randoms; H gives
/// each voxel of f to the voxels about it by that voxel's kernel, H' is its transpose.
pub struct isoc_pet {
    _opaque: [u8; 0],
}

static PLANS: Registry<Serial<Pet>> = Registry::new("isoc_pet");

pub(super) fn with_plan(handle: *const isoc_pet, body: impl FnOnce(&mut Pet) -> Result<()>) -> Status {
    guard(|| PLANS.get(handle)?.with(body))
}

const MAX_VIEWS: usize = 1 << 16;
const MAX_ENTRIES: usize = 1 << 20;
const MAX_ITERATIONS: usize = 1 << 20;
pub(super) const REAL: &[DType] = &[DType::F32, DType::F64];
pub(super) const IMAGE: &[DType] = &[DType::F32];
pub(super) const HISTO: &[DType] = &[DType::F32, DType::U32];

impl isoc_pet_geometry {
    fn to_lattice(self) -> Result<Lattice> {
        let side = |v: i64, name: &str| count(v, name, 1, MAX_SIDE);
        let shape = [side(self.nz, "geometry.nz")?, side(self.ny, "geometry.ny")?, side(self.nx, "geometry.nx")?];
        let or_x = |v: f64| if v == 0.0 { self.voxel_x } else { v };
        Lattice::new(shape, [self.voxel_x, or_x(self.voxel_y), or_x(self.voxel_z)])
    }
}

/// # Safety
/// The table is NULL or has as many pairs as `number`.
pub(super) unsafe fn radial(number: u32, fwhm: f64, table: *const f64, name: &str) -> Result<Radial> {
    let n = count(number.into(), &format!("{name}_count"), 0, MAX_ENTRIES)?;
    if n == 0 {
        return Ok(Radial::Constant(fwhm));
    }
    // SAFETY: by this function's contract.
    let pairs = unsafe { array(table.cast::<[f64; 2]>(), n, name) }?;
    Ok(Radial::Table { radius: pairs.iter().map(|p| p[0]).collect(), fwhm: pairs.iter().map(|p| p[1]).collect() })
}

impl isoc_pet_response {
    /// # Safety
    /// The radial table has as many pairs as the struct says.
    unsafe fn to_response(self) -> Result<Response> {
        let profile = match self.profile {
            0 => Profile::Symmetric,
            1 => Profile::Asymmetric { ratio: self.ratio, shift: self.shift, share: self.share },
            v => fail!(UnknownValue, "response.profile is {v}; it must be 0 or 1 (isoc_pet_profile)"),
        };
        let shape = match self.cut {
            0 => Shape::Box,
            1 => Shape::Ellipsoid,
            v => fail!(UnknownValue, "response.cut is {v}; it must be 0 or 1 (isoc_pet_cut)"),
        };
        // SAFETY: by this function's contract.
        let radial =
            unsafe { radial(self.radial_table_count, self.radial_fwhm, self.radial_table, "response.radial_table") }?;
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        Ok(Response {
            tof_fwhm_ps: self.tof_fwhm,
            radial,
            axial_fwhm: self.axial_fwhm,
            profile,
            step: or(self.step, 2.0),
            cut: Cut { shape, k: or(self.cut_width, 3.0) },
        })
    }
}

impl isoc_pet_options {
    fn to_options(self) -> Result<Options> {
        let algorithm = match self.algorithm {
            0 => Algorithm::Ramla,
            1 => Algorithm::Osem,
            2 => Algorithm::Mlem,
            v => fail!(UnknownValue, "options.algorithm is {v}; it must be 0 to 2 (isoc_pet_algorithm)"),
        };
        let order = match self.order {
            0 => Order::Geometric,
            1 => Order::Random(self.seed),
            2 => Order::Given,
            v => fail!(UnknownValue, "options.order is {v}; it must be 0 to 2 (isoc_pet_order)"),
        };
        let projector = match self.projector {
            0 => Projector::Auto,
            1 => Projector::Gather,
            2 => Projector::Fourier,
            v => fail!(UnknownValue, "options.projector is {v}; it must be 0 to 2 (isoc_pet_projector)"),
        };
        let default = Options::default();
        let iterations = match count(self.iterations, "options.iterations", 0, MAX_ITERATIONS)? {
            0 => default.iterations,
            n => n,
        };
        Ok(Options {
            algorithm,
            order,
            method: Method { projector, tolerance: self.tolerance },
            iterations,
            first_iteration: count(self.first_iteration, "options.first_iteration", 0, MAX_ITERATIONS)?,
            subsets: count(self.subsets.into(), "options.subsets", 0, MAX_VIEWS)?,
            relaxation: if self.relaxation == 0.0 { default.relaxation } else { self.relaxation },
            decay: self.relaxation_decay,
            warm_start: self.warm_start != 0,
        })
    }
}

/// An image.
pub(super) fn expect_image<'p>(pet: &'p Pet, name: &'static str) -> Result<Expected<'p, 3>> {
    let shape = pet.lattice()?.shape();
    Ok(Expected { name, shape, dims: ["nz", "ny", "nx"], optional: &[], dtypes: IMAGE, gpus: pet.gpus() })
}

/// So many histo-images.
pub(super) fn expect_histos<'p>(
    pet: &'p Pet,
    name: &'static str,
    views: usize,
    dtypes: &'static [DType],
) -> Result<Expected<'p, 4>> {
    let [nz, ny, nx] = pet.lattice()?.shape();
    let (shape, dims) = ([views, nz, ny, nx], ["views", "nz", "ny", "nx"]);
    Ok(Expected { name, shape, dims, optional: &[0], dtypes, gpus: pet.gpus() })
}

/// Views that a call names; all of them for NULL.
///
/// # Safety
/// `views` is NULL or holds as many numbers.
unsafe fn chosen(pet: &Pet, views: *const i64, number: i64) -> Result<Vec<usize>> {
    let all = pet.views()?.len();
    if views.is_null() {
        if number != 0 && usize::try_from(number) != Ok(all) {
            fail!(OutOfRange, "view_count is {number} with views NULL; it must be 0 or {all}");
        }
        return Ok((0..all).collect());
    }
    let number = count(number, "view_count", 1, all)?;
    // SAFETY: by this function's contract.
    let list = unsafe { array(views, number, "views") }?;
    list.iter().enumerate().map(|(k, v)| count(*v, &format!("views[{k}]"), 0, all - 1)).collect()
}

/// Makes a plan; give it a geometry and a response next.
///
/// # Safety
/// `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_create(ctx: *const isoc_context, out: *mut *mut isoc_pet) -> Status {
    guard(|| {
        let context = context(ctx)?;
        if out.is_null() {
            fail!(NullPointer, "out is NULL");
        }
        let handle = PLANS.insert(Serial::new(Pet::new(context)));
        // SAFETY: by this function's contract.
        unsafe { set_out(out, handle, "out") }
    })
}

/// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_pet_destroy(pet: *mut isoc_pet) -> Status {
    guard(|| PLANS.destroy(pet))
}

/// Sets lattice and views: a grid of azimuths x tilts, or a list, f32 or f64 (views, 2) of azimuth and tilt, none of which may
/// repeat another's direction. Forgets tables and order, and keeps the response; calls that
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
                dtypes: REAL,
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

/// Sets the response of all views that have no tables of their own; copied. Kernels must fit into the lattice, and no sigma may be
/// below a fiftieth of a voxel. A sigma below a voxel is integrated over the voxel.
///
/// # Safety
/// `response` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_response(pet: *mut isoc_pet, response: *const isoc_pet_response) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        let response = unsafe { read_struct(response)?.to_response() }?;
        pet.set_response(response)
    })
}

/// Sets the caller's own kernels of a view; copied. `map`: (ny, nx), so that map_count is ny nx, the kernel of all voxels of a column;
/// `offsets`: (offset_count, 3) in voxels along x, y, z, none twice; `values`: (kernels, offset_count), value_count in all, not negative,
/// scaled to a sum of 1 for each kernel. A voxel p of the image gives to p + m of the histo-image with the weight that its kernel has at
/// offset m, and H' brings it back from there.
///
/// # Safety
/// Pointers are NULL or hold as many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_tables(
    pet: *mut isoc_pet,
    view: i64,
    map: *const u32,
    map_count: i64,
    offsets: *const i32,
    offset_count: i64,
    values: *const f32,
    value_count: i64,
) -> Status {
    with_plan(pet, |pet| {
        let view = count(view, "view", 0, pet.views()?.len() - 1)?;
        let [_, ny, nx] = pet.lattice()?.shape();
        if usize::try_from(map_count) != Ok(nx * ny) {
            fail!(OutOfRange, "map_count is {map_count}; it must be ny x nx, {ny} x {nx}");
        }
        let offset_count = count(offset_count, "offset_count", 1, MAX_ENTRIES)?;
        let value_count = count(value_count, "value_count", offset_count, MAX_ENTRIES * offset_count)?;
        if value_count % offset_count != 0 {
            fail!(OutOfRange, "value_count is {value_count}; it must be a multiple of offset_count, {offset_count}");
        }
        // SAFETY: by this function's contract; three offsets have the alignment of one.
        unsafe {
            let map = array(map, nx * ny, "map")?;
            let offsets = array(offsets.cast::<[i32; 3]>(), offset_count, "offsets")?;
            let values = array(values, value_count, "values")?;
            pet.set_tables(view, map, offsets, values)
        }
    })
}

/// Tells how large a view's tables are: isoc_pet_get_tables takes a map of ny nx, `offsets` triples, kernels x offsets values, and masses of
/// `kernels`.
///
/// # Safety
/// `sizes` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_get_table_sizes(
    pet: *mut isoc_pet,
    view: i64,
    sizes: *mut isoc_pet_table_sizes,
) -> Status {
    with_plan(pet, |pet| {
        let view = count(view, "view", 0, pet.views()?.len() - 1)?;
        let tables = pet.tables(view)?;
        let full = tables.full()?;
        let mass = tables.mass();
        let value = isoc_pet_table_sizes {
            struct_size: 0,
            reserved: 0,
            kernels: tables.identifiers() as i64,
            offsets: full.offsets.len() as i64,
            least_mass: mass.iter().copied().fold(f64::INFINITY, f64::min),
            greatest_mass: mass.iter().copied().fold(0.0, f64::max),
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(sizes, &value) }
    })
}

/// Writes a view's tables to the arrays of `tables`, all of them as they are at one time, and sets its counts. Unless every array has
/// capacity 0 or enough, only the counts are written.
///
/// # Safety
/// `tables` is NULL or valid, its struct_size set; its arrays are NULL or have the room that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_get_tables(pet: *mut isoc_pet, view: i64, tables: *mut isoc_pet_tables) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        let mut to = unsafe { read_struct(tables) }?;
        if to.reserved != 0 {
            fail!(UnknownValue, "tables.reserved is {}; it must be 0", to.reserved);
        }
        let view = count(view, "view", 0, pet.views()?.len() - 1)?;
        let found = pet.tables(view)?;
        let full = found.full()?;
        let map = OutList {
            names: ["tables.map", "tables.map_capacity"],
            out: to.map,
            capacity: to.map_capacity,
            count: &mut to.map_count,
        };
        let offsets = OutList {
            names: ["tables.offsets", "tables.offset_capacity"],
            out: to.offsets.cast::<[i32; 3]>(),
            capacity: to.offset_capacity,
            count: &mut to.offset_count,
        };
        let values = OutList {
            names: ["tables.values", "tables.value_capacity"],
            out: to.values,
            capacity: to.value_capacity,
            count: &mut to.value_count,
        };
        let mass = OutList {
            names: ["tables.mass", "tables.mass_capacity"],
            out: to.mass,
            capacity: to.mass_capacity,
            count: &mut to.mass_count,
        };
        // SAFETY: by this function's contract; all counts are told before the first list that does not fit fails.
        unsafe {
            let fit = [
                map.offer(found.map().len()),
                offsets.offer(full.offsets.len()),
                values.offer(full.values.len()),
                mass.offer(found.mass().len()),
            ];
            write_struct(tables, &to)?;
            fit.into_iter().collect::<Result<()>>()?;
            map.write(found.map().iter().copied());
            offsets.write(full.offsets.iter().copied());
            values.write(full.values.iter().copied());
            mass.write(found.mass().iter().copied());
        }
        Ok(())
    })
}

/// Sets options; NULL sets the defaults. They hold until set again, whatever the geometry.
///
/// # Safety
/// `options` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_options(pet: *mut isoc_pet, options: *const isoc_pet_options) -> Status {
    with_plan(pet, |pet| {
        let options = if options.is_null() {
            Options::default()
        } else {
            // SAFETY: by this function's contract.
            unsafe { read_struct(options) }?.to_options()?
        };
        pet.set_options(options)
    })
}

/// Sets the order of views in a pass: each at most once; views that are left out are not used.
///
/// # Safety
/// `order` is NULL or holds as many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_order(pet: *mut isoc_pet, order: *const i64, order_count: i64) -> Status {
    with_plan(pet, |pet| {
        let views = pet.views()?.len();
        let number = count(order_count, "order_count", 1, views)?;
        // SAFETY: by this function's contract.
        let list = unsafe { array(order, number, "order") }?;
        let order: Result<Vec<usize>> =
            list.iter().enumerate().map(|(k, v)| count(*v, &format!("order[{k}]"), 0, views - 1)).collect();
        pet.set_order(&order?)
    })
}

/// Work on tensors that are on a GPU begins when all that is in `stream` now has been done: a cudaStream_t (or CUstream) of
/// that GPU, NULL for the default stream. It holds until set again. Calls return when their results are there, whatever the
/// stream. The stream must stay valid for as long as it is set.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_pet_set_stream(pet: *mut isoc_pet, stream: *mut c_void) -> Status {
    with_plan(pet, |pet| {
        pet.set_stream(stream.addr());
        Ok(())
    })
}

/// Tells what the plan found and decided.
///
/// # Safety
/// `info` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_get_info(pet: *mut isoc_pet, info: *mut isoc_pet_info) -> Status {
    with_plan(pet, |pet| {
        let value = isoc_pet_info {
            struct_size: 0,
            reserved: 0,
            views: pet.views()?.len() as i64,
            replaced_values: pet.replaced() as i64,
            iterations: pet.history().len() as i64,
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(info, &value) }
    })
}

/// Most bytes of working memory that isoc_pet_reconstruct uses under the present geometry, response and options: of the host, or of
/// the GPU that it computes on. Makes the kernels, of which as many are kept as the context's memory cap has room for.
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_memory(pet: *mut isoc_pet, bytes: *mut u64) -> Status {
    with_plan(pet, |pet| {
        let needed = pet.memory()?;
        // SAFETY: by this function's contract.
        unsafe { set_out(bytes, needed, "bytes") }
    })
}

/// Histo-images = H image, of the views that are named: f32 (view_count, nz, ny, nx) in their order; `views` NULL with a `view_count`
/// of 0 means all.
///
/// Views are written one after the other: a call that is cancelled has written some, one with bad input none.
///
/// Here and below an image is f32 (nz, ny, nx), and a dimension of one view may be left out.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_forward(
    pet: *mut isoc_pet,
    views: *const i64,
    view_count: i64,
    image: *const isoc_tensor,
    histo_images: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let views = chosen(pet, views, view_count)?;
            let from = expect_image(pet, "image")?.input(image)?;
            let to = expect_histos(pet, "histo_images", views.len(), IMAGE)?.output(histo_images)?;
            check_apart((from.layout(), "image"), (to.layout(), "histo_images"))?;
            pet.forward(&views, from, to)
        }
    })
}

/// Image = sum of H' histo-images over the views that are named: the exact transpose of isoc_pet_forward. Histo-images f32 or u32
/// (view_count, nz, ny, nx).
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_adjoint(
    pet: *mut isoc_pet,
    views: *const i64,
    view_count: i64,
    histo_images: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let views = chosen(pet, views, view_count)?;
            let from = expect_histos(pet, "histo_images", views.len(), HISTO)?.input(histo_images)?;
            let to = expect_image(pet, "image")?.output(image)?;
            check_apart((from.layout(), "histo_images"), (to.layout(), "image"))?;
            pet.adjoint(&views, from, to)
        }
    })
}

/// # Safety
/// The tensor is NULL or valid.
unsafe fn optional<'a>(pet: &Pet, name: &'static str, tensor: *const isoc_tensor) -> Result<Option<Array<'a, 4>>> {
    if tensor.is_null() {
        return Ok(None);
    }
    let views = pet.views()?.len();
    // SAFETY: by this function's contract.
    unsafe { expect_histos(pet, name, views, IMAGE)?.input(tensor) }.map(Some)
}

/// Image = sum of H' A over all views; `factors`: f32 (views, nz, ny, nx), not negative, or NULL for 1.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_sensitivity(
    pet: *mut isoc_pet,
    factors: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let from = optional(pet, "factors", factors)?;
            let to = expect_image(pet, "image")?.output(image)?;
            if let Some(from) = &from {
                check_apart((from.layout(), "factors"), (to.layout(), "image"))?;
            }
            pet.sensitivity(from, to)
        }
    })
}

/// Reconstructs the image from measured histo-images f32 or u32 (views, nz, ny, nx), with `factors` (attenuation x normalisation;
/// NULL: 1) and `additive` (scatter + randoms; NULL: 0), f32 of the same shape. No value may be negative. Where a factor is 0
/// nothing is measured; a voxel that no view sees becomes 0. Nothing is written unless all of it is there.
///
/// The image is in counts a voxel and view where factors are attenuation and normalisation alone. With relaxation 1 and one view a
/// block, RAMLA gets from a uniform image to a sharp one in few passes and goes on to noise: fewer passes, or less relaxation.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_reconstruct(
    pet: *mut isoc_pet,
    measured: *const isoc_tensor,
    factors: *const isoc_tensor,
    additive: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let views = pet.views()?.len();
            let measured = expect_histos(pet, "measured", views, HISTO)?.input(measured)?;
            let factors = optional(pet, "factors", factors)?;
            let additive = optional(pet, "additive", additive)?;
            let to = expect_image(pet, "image")?.output(image)?;
            check_apart((measured.layout(), "measured"), (to.layout(), "image"))?;
            for (from, name) in [(&factors, "factors"), (&additive, "additive")] {
                if let Some(from) = from {
                    check_apart((from.layout(), name), (to.layout(), "image"))?;
                }
            }
            pet.reconstruct(&Histos { measured, factors, additive }, to)
        }
    })
}

/// Writes what each pass of the last reconstruction saw.
///
/// # Safety
/// `iterations` is NULL or has room for `capacity` elements; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_history(
    pet: *mut isoc_pet,
    iterations: *mut isoc_pet_iteration,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(pet, |pet| {
        let told = |i: &Iteration| isoc_pet_iteration { log_likelihood: i.log_likelihood, skipped_voxels: i.skipped };
        let list = OutList { names: ["iterations", "capacity"], out: iterations, capacity, count };
        // SAFETY: by this function's contract.
        unsafe { list.fill(pet.history().iter().map(told)) }
    })
}

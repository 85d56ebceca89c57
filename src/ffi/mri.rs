//! `isoc_mri_*`.

use super::boundary::{OutList, Registry, Serial, Sized32, array, count, guard, read_struct, set_out, write_struct};
use super::context::{context, isoc_context};
use super::tensor::{Expected, check_apart, isoc_tensor, sizes};
use crate::array::{Array, ArrayMut, DType};
use crate::cpu::buffer::collected;
use crate::error::{Result, Status, fail};
use crate::mri::phantom::{Ellipsoid, SheppLogan};
use crate::mri::{Density, Geometry, MAX_SIDE, Method, Mri, Normal, Options, Penalty, Precision, Trajectory, Unit};
use std::ffi::c_void;

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

/// How Fourier sums are computed.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_method {
    /// By a fast transform, except with a field map.
    Auto = 0,
    /// By a non-uniform fast Fourier transform, to isoc_mri_options.tolerance.
    Nufft = 1,
    /// Term by term, to rounding.
    Exact = 2,
}

/// How F^H W F is applied.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_normal_kind {
    /// By Q, except with a field map.
    Auto = 0,
    /// By Q: a multiplication on the doubled grid.
    Toeplitz = 1,
    /// By a forward and an adjoint transform.
    Pair = 2,
}

/// R of the penalty lambda |R rho|^2.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_penalty {
    /// R = 1.
    Identity = 0,
    /// Differences between neighbours along every axis, weighted by isoc_mri_set_difference_weights.
    Differences = 1,
    /// The matrix of isoc_mri_set_matrix.
    Matrix = 2,
}

/// How exact sums with voxel positions or a field map compute sine and cosine.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_sines {
    /// To rounding.
    Precise = 0,
    /// In single precision on a GPU by its special function units, to 5e-7 of a term, in less time; elsewhere as Precise.
    Hardware = 1,
}

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
    /// Axes of the trajectory: 2 (for planes) or 3; 0 means 2 where nz is 1, else 3.
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

/// How to reconstruct. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_options {
    /// sizeof(isoc_mri_options).
    pub struct_size: u32,
    /// An isoc_mri_method.
    pub method: u32,
    /// An isoc_mri_normal_kind.
    pub normal: u32,
    /// An isoc_mri_penalty.
    pub penalty: u32,
    /// Non-zero: isoc_mri_reconstruct begins with the image that it is given, instead of zeros.
    pub warm_start: u32,
    /// An isoc_mri_sines.
    pub sines: u32,
    /// Most iterations; 0 means 30.
    pub iterations: i64,
    /// Largest relative error (l2) of a fast transform: down to about 1e-6 in single and 1e-12 in double precision; 0 means 1e-5
    /// and 1e-9.
    pub tolerance: f64,
    /// Least size of the fast transform's grid relative to the image, 1.1 to 4; 0 takes the fastest.
    pub upsampling: f64,
    /// Weight of the penalty, relative to nothing: the unit is that of F^H W F, whose diagonal is the sum of the weights.
    pub lambda: f64,
    /// Stops at this |residual| / |right-hand side|; 0 means 1e-6.
    pub residual: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_options {
    const NAME: &'static str = "isoc_mri_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What a plan found and decided.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_info {
    /// sizeof(isoc_mri_info), set by the caller.
    pub struct_size: u32,
    /// 1 once Q is there.
    pub has_q: u32,
    /// Images of a scan: 1 with coil maps, else one a coil.
    pub images: i64,
    /// The fast transform's grid along x; 0 before it was needed.
    pub fine_nx: i64,
    /// Along y.
    pub fine_ny: i64,
    /// Along z.
    pub fine_nz: i64,
    /// Width of its spreading function, in grid points.
    pub width: i64,
    /// Q along x: at least 2 nx - 1.
    pub q_nx: i64,
    /// Q along y.
    pub q_ny: i64,
    /// Q along z.
    pub q_nz: i64,
    /// NaN and Inf values replaced in the last call that read data.
    pub replaced_values: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_info {
    const NAME: &'static str = "isoc_mri_info";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// A plan for non-Cartesian MRI: geometry, options, weights, maps, Q. Opaque. Any thread may use it; calls on one plan wait for
/// each other, different plans run at the same time. It computes on the first GPU of its context, or on the processor.
///
/// Tensors are in host memory, or in that GPU's: then they are used where they are, in the order that isoc_mri_set_stream sets.
pub struct isoc_mri {
    _opaque: [u8; 0],
}

static PLANS: Registry<Serial<Mri>> = Registry::new("isoc_mri");

fn with_plan(handle: *const isoc_mri, body: impl FnOnce(&mut Mri) -> Result<()>) -> Status {
    guard(|| PLANS.get(handle)?.with(body))
}

/// More samples than any scan has: a larger number is a mistake.
const MAX_SAMPLES: usize = 1 << 40;
const MAX_COILS: usize = 1 << 16;
const MAX_ITERATIONS: usize = 1 << 20;

const REAL: &[DType] = &[DType::F32, DType::F64];
const COMPLEX: &[DType] = &[DType::C64, DType::C128];
const ANY: &[DType] = &[DType::F32, DType::F64, DType::C64, DType::C128];

fn unit(value: u32) -> Result<Unit> {
    match value {
        1 => Ok(Unit::CyclesPerVoxel),
        2 => Ok(Unit::CyclesPerFieldOfView),
        3 => Ok(Unit::RadiansPerVoxel),
        v => fail!(UnknownValue, "geometry.unit is {v}; it must be 1 to 3 (isoc_mri_unit), since there is no default"),
    }
}

impl isoc_mri_geometry {
    fn to_geometry(self) -> Result<Geometry> {
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

impl isoc_mri_options {
    fn to_options(self) -> Result<Options> {
        let method = match self.method {
            0 => Method::Auto,
            1 => Method::Fast,
            2 => Method::Exact,
            v => fail!(UnknownValue, "options.method is {v}; it must be 0 to 2 (isoc_mri_method)"),
        };
        let normal = match self.normal {
            0 => Normal::Auto,
            1 => Normal::Toeplitz,
            2 => Normal::Pair,
            v => fail!(UnknownValue, "options.normal is {v}; it must be 0 to 2 (isoc_mri_normal_kind)"),
        };
        let penalty = match self.penalty {
            0 => Penalty::Identity,
            1 => Penalty::Differences,
            2 => Penalty::Matrix,
            v => fail!(UnknownValue, "options.penalty is {v}; it must be 0 to 2 (isoc_mri_penalty)"),
        };
        let hardware_sines = match self.sines {
            0 => false,
            1 => true,
            v => fail!(UnknownValue, "options.sines is {v}; it must be 0 or 1 (isoc_mri_sines)"),
        };
        let default = Options::default();
        let iterations = match count(self.iterations, "options.iterations", 0, MAX_ITERATIONS)? {
            0 => default.iterations,
            n => n,
        };
        let residual = if self.residual == 0.0 { default.residual } else { self.residual };
        let (tolerance, upsampling, lambda) = (self.tolerance, self.upsampling, self.lambda);
        let warm_start = self.warm_start != 0;
        Ok(Options {
            method,
            tolerance,
            upsampling,
            normal,
            lambda,
            penalty,
            iterations,
            residual,
            warm_start,
            hardware_sines,
        })
    }
}

/// One value a sample.
fn expect_by_sample<'m>(mri: &'m Mri, name: &'static str) -> Result<Expected<'m, 1>> {
    Ok(Expected { name, shape: [mri.samples()?], dims: ["samples"], optional: &[], dtypes: REAL, gpus: mri.gpus() })
}

fn expect_samples(mri: &Mri) -> Result<Expected<'_, 2>> {
    let shape = [mri.geometry()?.coils, mri.samples()?];
    Ok(Expected {
        name: "samples",
        shape,
        dims: ["coils", "samples"],
        optional: &[0],
        dtypes: COMPLEX,
        gpus: mri.gpus(),
    })
}

/// `first` images, maps or axes of the geometry's grid.
fn expect_grids<'m>(
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
    expect_grids(mri, name, (mri.images()?, "coils"), COMPLEX)
}

/// An array's elements, or an error that says what its coils have to do with it. `images`: not samples or maps.
///
/// # Safety
/// As for [`Expected::input`] or [`Expected::output`], which gave `parsed` of `N` dimensions.
unsafe fn by_coils<A, const N: usize>(
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

/// # Safety
/// As for [`Expected::input`].
unsafe fn samples_from<'a>(mri: &Mri, samples: *const isoc_tensor) -> Result<Array<'a, 2>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 2>(mri, expect_samples(mri)?.input(samples), samples, false) }
}

/// # Safety
/// As for [`Expected::input`].
unsafe fn images_from<'a>(mri: &Mri, name: &'static str, image: *const isoc_tensor) -> Result<Array<'a, 4>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 4>(mri, expect_images(mri, name)?.input(image), image, true) }
}

/// # Safety
/// As for [`Expected::output`].
unsafe fn samples_to<'a>(mri: &Mri, samples: *const isoc_tensor) -> Result<ArrayMut<'a, 2>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 2>(mri, expect_samples(mri)?.output(samples), samples, false) }
}

/// # Safety
/// As for [`Expected::output`].
unsafe fn images_to<'a>(mri: &Mri, name: &'static str, image: *const isoc_tensor) -> Result<ArrayMut<'a, 4>> {
    // SAFETY: by this function's contract.
    unsafe { by_coils::<_, 4>(mri, expect_images(mri, name)?.output(image), image, true) }
}

fn expect_q(mri: &Mri) -> Result<Expected<'_, 3>> {
    let shape = mri.q_grid()?;
    Ok(Expected { name: "q", shape, dims: ["q_nz", "q_ny", "q_nx"], optional: &[0], dtypes: REAL, gpus: mri.gpus() })
}

/// Makes a plan; give it a geometry next.
///
/// # Safety
/// `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_create(ctx: *const isoc_context, out: *mut *mut isoc_mri) -> Status {
    guard(|| {
        let context = context(ctx)?;
        if out.is_null() {
            fail!(NullPointer, "out is NULL");
        }
        let handle = PLANS.insert(Serial::new(Mri::new(context)));
        // SAFETY: by this function's contract.
        unsafe { set_out(out, handle, "out") }
    })
}

/// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_mri_destroy(mri: *mut isoc_mri) -> Status {
    guard(|| PLANS.destroy(mri))
}

/// Sets image and trajectory, (samples, 2) for a plane or (samples, 3) for a volume, x first, f32 or f64; copied. Samples out of the
/// unit's range are an error that names the first one and the units that all would fit; samples that all stay below a quarter of it
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
        let dims = match (g.axes, geometry.grid[0]) {
            (0 | 2, 1) => 2,
            (0, _) | (3, _) => 3,
            (n, nz) => fail!(OutOfRange, "geometry.axes is {n} with nz = {nz}; it must be 0 or 3, or 2 for a plane"),
        };
        let expected = Expected {
            name: "trajectory",
            shape: [samples, dims],
            dims: ["samples", "axes"],
            optional: &[],
            dtypes: REAL,
            gpus: mri.gpus(),
        };
        // SAFETY: by this function's contract.
        let values = unsafe { mri.read_trajectory(expected.input(trajectory)?) }?;
        let trajectory = Trajectory::new(&values, unit, geometry.grid, dims)?;
        mri.set_geometry(geometry, trajectory)
    })
}

/// Sets options; NULL sets the defaults. They hold until set again, whatever the geometry. Another method, tolerance or
/// upsampling forgets Q.
///
/// # Safety
/// `options` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_options(mri: *mut isoc_mri, options: *const isoc_mri_options) -> Status {
    with_plan(mri, |mri| {
        let options = if options.is_null() {
            Options::default()
        } else {
            // SAFETY: by this function's contract.
            unsafe { read_struct(options) }?.to_options()?
        };
        mri.set_options(options)
    })
}

/// Work on tensors that are on a GPU begins when all that is in `stream` now has been done: a cudaStream_t (or CUstream) of
/// that GPU, NULL for the default stream. It holds until set again. Calls return when their results are there, whatever the
/// stream. The stream must stay valid for as long as it is set.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_mri_set_stream(mri: *mut isoc_mri, stream: *mut c_void) -> Status {
    with_plan(mri, |mri| {
        mri.set_stream(stream.addr());
        Ok(())
    })
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
/// # Safety
/// `maps` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_maps(mri: *mut isoc_mri, maps: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        if maps.is_null() {
            return mri.set_maps(None);
        }
        let coils = mri.geometry()?.coils;
        // SAFETY: by this function's contract.
        unsafe {
            let parsed = expect_grids(mri, "maps", (coils, "coils"), COMPLEX)?.input(maps);
            mri.set_maps(Some(by_coils::<_, 4>(mri, parsed, maps, false)?))
        }
    })
}

/// Sets off-resonance: `field` real (nz, ny, nx) in Hz, `times` real (samples) in seconds; copied. Sample m then has the factor
/// exp(-2 pi i field(r) times_m) besides. Sums are then exact, in time that grows with samples x voxels, and F^H W F is applied
/// by pairs of them. Both NULL forget it.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_set_field(
    mri: *mut isoc_mri,
    field: *const isoc_tensor,
    times: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        if field.is_null() && times.is_null() {
            return mri.set_field(None);
        }
        let [nz, ny, nx] = mri.geometry()?.grid;
        let expected = Expected {
            name: "field",
            shape: [nz, ny, nx],
            dims: ["nz", "ny", "nx"],
            optional: &[0],
            dtypes: REAL,
            gpus: mri.gpus(),
        };
        // SAFETY: by this function's contract.
        unsafe {
            let (field, times) = (expected.input(field)?, expect_by_sample(mri, "times")?.input(times)?);
            mri.set_field(Some((field, times)))
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
            dtypes: REAL,
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
        unsafe { mri.set_difference_weights(Some(expect_grids(mri, "weights", (axes, "axes"), REAL)?.input(weights)?)) }
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
            dtypes: ANY,
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

/// Tells what the plan found and decided.
///
/// # Safety
/// `info` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_get_info(mri: *mut isoc_mri, info: *mut isoc_mri_info) -> Status {
    with_plan(mri, |mri| {
        let found = mri.info()?;
        let ([fz, fy, fx], [qz, qy, qx]) = (found.fine_grid.map(|n| n as i64), found.q_grid.map(|n| n as i64));
        let value = isoc_mri_info {
            struct_size: 0,
            has_q: found.has_q.into(),
            images: found.images as i64,
            fine_nx: fx,
            fine_ny: fy,
            fine_nz: fz,
            width: found.width as i64,
            q_nx: qx,
            q_ny: qy,
            q_nz: qz,
            replaced_values: found.replaced as i64,
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(info, &value) }
    })
}

/// Most bytes of working memory that isoc_mri_reconstruct uses under the present geometry and options: of the host, or of the GPU
/// that it computes on, where a smaller gpu_memory_cap may still do.
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_memory(mri: *mut isoc_mri, bytes: *mut u64) -> Status {
    with_plan(mri, |mri| {
        let needed = mri.memory()?;
        // SAFETY: by this function's contract.
        unsafe { set_out(bytes, needed, "bytes") }
    })
}

/// samples = F image: what the scanner would measure. `image`: complex (nz, ny, nx), or (coils, nz, ny, nx) without coil maps;
/// `samples`: complex (coils, samples).
///
/// Here and below: complex64 or complex128; sizes of 1 may be left out; nothing is written unless all of it is there.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_forward(
    mri: *mut isoc_mri,
    image: *const isoc_tensor,
    samples: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe {
            let (from, to) = (images_from(mri, "image", image)?, samples_to(mri, samples)?);
            check_apart((from.layout(), "image"), (to.layout(), "samples"))?;
            mri.forward(from, to)
        }
    })
}

/// # Safety
/// Tensors are NULL or valid.
unsafe fn to_image(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
    run: fn(&mut Mri, Array<2>, ArrayMut<4>) -> Result<()>,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe {
            let (from, to) = (samples_from(mri, samples)?, images_to(mri, "image", image)?);
            check_apart((from.layout(), "samples"), (to.layout(), "image"))?;
            run(mri, from, to)
        }
    })
}

/// image = F^H samples, unscaled: the exact transpose of isoc_mri_forward, to the transforms' tolerance.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_adjoint(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe { to_image(mri, samples, image, Mri::adjoint) }
}

/// image = F^H W samples: gridding, the quick reconstruction that others are compared with. In the image's own scale with weights
/// from isoc_mri_compute_weights (and coil maps whose squares add up to 1); without weights, each sample counts 1, and the log gets a
/// warning.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_gridding(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe { to_image(mri, samples, image, Mri::gridding) }
}

/// out = (F^H W F + lambda R^H R) image: the system that isoc_mri_reconstruct solves, for solvers of your own.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_normal(
    mri: *mut isoc_mri,
    image: *const isoc_tensor,
    out: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe {
            let (from, to) = (images_from(mri, "image", image)?, images_to(mri, "out", out)?);
            check_apart((from.layout(), "image"), (to.layout(), "out"))?;
            mri.normal(from, to)
        }
    })
}

/// Solves (F^H W F + lambda R^H R) image = F^H W samples by conjugate gradient, for each image. Progress is reported, and a wish to
/// cancel heeded, at each iteration.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_reconstruct(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    image: *const isoc_tensor,
) -> Status {
    // SAFETY: by this function's contract.
    unsafe { to_image(mri, samples, image, Mri::reconstruct) }
}

/// |residual| / |right-hand side| of image `image` in the last isoc_mri_reconstruct, before the first iteration and after each.
///
/// # Safety
/// `residuals` is NULL or has room for `capacity` values; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_history(
    mri: *mut isoc_mri,
    image: i64,
    residuals: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(mri, |mri| {
        let histories = mri.histories();
        let Some(most) = histories.len().checked_sub(1) else {
            fail!(NotConfigured, "nothing was reconstructed yet; isoc_mri_reconstruct comes first");
        };
        let history = &histories[super::boundary::count(image, "image", 0, most)?];
        let list = OutList { names: ["residuals", "capacity"], out: residuals, capacity, count };
        // SAFETY: by this function's contract.
        unsafe { list.fill(history.iter().copied()) }
    })
}

/// Makes Q of the trajectory and the weights, unless it is there; isoc_mri_reconstruct does so by itself. One Q serves every
/// scan of a trajectory.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_mri_compute_q(mri: *mut isoc_mri) -> Status {
    with_plan(mri, Mri::compute_q)
}

/// Copies Q out: real (q_nz, q_ny, q_nx) of isoc_mri_info. It is the discrete Fourier transform of q(d) = sum_m w_m exp(2 pi i k_m . d)
/// over differences of voxels, d = 0 and frequency 0 first along every axis.
///
/// # Safety
/// `q` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_export_q(mri: *mut isoc_mri, q: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe { mri.export_q(expect_q(mri)?.output(q)?) }
    })
}

/// Takes a Q from isoc_mri_export_q of a plan with the same grid, trajectory and weights.
///
/// # Safety
/// `q` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_import_q(mri: *mut isoc_mri, q: *const isoc_tensor) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        unsafe { mri.import_q(expect_q(mri)?.input(q)?) }
    })
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
            for (to, e) in found.iter_mut().zip(kind.ellipses(half_xy)?) {
                let Ellipsoid { value, centre: [x, y], semi: [semi_x, semi_y], angle } = e;
                *to = isoc_mri_ellipsoid { value, x, y, semi_x, semi_y, angle, ..*to };
            }
        } else {
            for (to, e) in found.iter_mut().zip(kind.ellipsoids(half_xy, half_z)?) {
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
        let expected = Expected { dtypes: COMPLEX, name: "samples", ..expect_by_sample(mri, "samples")? };
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
        let expected = expect_grids(mri, "image", (1, "coils"), COMPLEX)?;
        // SAFETY: by this function's contract.
        unsafe {
            let to = expected.output(image)?;
            if mri.axes()? == 2 { mri.phantom_image(&flats(list)?, to) } else { mri.phantom_image(&solids(list)?, to) }
        }
    })
}

/// Compares an image with the true one, both complex (nz, ny, nx): peak signal-to-noise ratio, 20 log10(max |truth| / root mean square of
/// |image - truth|), in dB, and root mean square of the error over that of the truth, in percent. Either pointer may be NULL.
///
/// # Safety
/// Tensors are NULL or valid; `psnr` and `percent_error` are NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_compare(
    mri: *mut isoc_mri,
    image: *const isoc_tensor,
    truth: *const isoc_tensor,
    psnr: *mut f64,
    percent_error: *mut f64,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        let (decibels, percent) = unsafe {
            let image = expect_grids(mri, "image", (1, "coils"), COMPLEX)?.input(image)?;
            let truth = expect_grids(mri, "truth", (1, "coils"), COMPLEX)?.input(truth)?;
            mri.compare(image, truth)?
        };
        for (p, value) in [(psnr, decibels), (percent_error, percent)] {
            if !p.is_null() {
                // SAFETY: by this function's contract.
                unsafe { p.write_unaligned(value) };
            }
        }
        Ok(())
    })
}

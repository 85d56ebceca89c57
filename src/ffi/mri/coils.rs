//! `isoc_coil_*`: noise, virtual coils, and coil sensitivities. These calls need a context and no plan.

use crate::ffi::boundary::{Sized32, guard, read_struct};
use crate::ffi::context::{context, isoc_context};
use crate::ffi::tensor::{Expected, check_apart, isoc_tensor};
use isocenter_base::array::{ArrayMut, DType};
use isocenter_base::context::Context;
use isocenter_base::error::{Result, Status, fail};
use isocenter_mri::coils;

/// How coil sensitivities are found.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_coil_method {
    /// ESPIRiT: eigenvectors of the projection onto the space of k-space blocks that the calibration data show. Uecker et al., Magn. Reson.
    /// Med. 71, 2014.
    Espirit = 0,
    /// Adaptive combination: eigenvectors of the coils' covariance over a block of voxels in the images of the calibration data. Walsh et al.,
    /// Magn. Reson. Med. 43, 2000. Quick, and in every voxel; what the object's own edges do is in it.
    Adaptive = 1,
}

/// How to find coil sensitivities. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_coil_options {
    /// sizeof(isoc_coil_options).
    pub struct_size: u32,
    /// An isoc_coil_method.
    pub method: u32,
    /// ESPIRiT: elements of a block of k-space along x, at most the calibration data's; 0 means 6, or 1 along an axis of one element.
    pub kernel_x: i64,
    /// ESPIRiT: the same along y.
    pub kernel_y: i64,
    /// ESPIRiT: the same along z.
    pub kernel_z: i64,
    /// Adaptive: voxels of a block along each axis, odd (along an axis of fewer voxels, as many as there are); 0 means 5.
    pub window: i64,
    /// ESPIRiT: singular values of the calibration matrix above this, relative to the largest, are signal; above 0 and below 1; 0 means 0.02.
    pub threshold: f64,
    /// Voxels whose eigenvalue is below have maps of 0; below 1; 0 means 0.95 for ESPIRiT and no limit for adaptive combination, a negative number no limit.
    pub crop: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_coil_options {
    const NAME: &'static str = "isoc_coil_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_coil_options {
    fn to_maps(self) -> Result<coils::Maps> {
        let method = match self.method {
            0 => coils::Method::Espirit,
            1 => coils::Method::Adaptive,
            v => fail!(UnknownValue, "options.method is {v}; it must be 0 or 1 (isoc_coil_method)"),
        };
        let default = coils::Maps::default();
        let size = |v: i64, name: &str| match usize::try_from(v) {
            Ok(n) => Ok(n),
            Err(_) => fail!(OutOfRange, "options.{name} is {v}; it must not be negative"),
        };
        let kernel =
            [size(self.kernel_z, "kernel_z")?, size(self.kernel_y, "kernel_y")?, size(self.kernel_x, "kernel_x")?];
        let window = size(self.window, "window")?;
        if method == coils::Method::Adaptive && (kernel != [0; 3] || self.threshold != 0.0) {
            fail!(
                OutOfRange,
                "options.kernel_x to kernel_z and options.threshold are of ESPIRiT; with options.method 1 (adaptive) they must be 0"
            );
        }
        if method == coils::Method::Espirit && window != 0 {
            fail!(
                OutOfRange,
                "options.window is {window}; with options.method 0 (ESPIRiT) it must be 0: it is of method 1"
            );
        }
        let crop = match self.crop {
            0.0 if method == coils::Method::Adaptive => 0.0,
            0.0 => default.crop,
            v if v < 0.0 && v.is_finite() => 0.0,
            v => v,
        };
        Ok(coils::Maps {
            method,
            kernel,
            threshold: if self.threshold == 0.0 { default.threshold } else { self.threshold },
            crop,
            window: if window == 0 { default.window } else { window },
        })
    }
}

/// The sizes of a tensor that says them itself: at least 1 each.
///
/// # Safety
/// `tensor` is NULL or valid.
unsafe fn sizes<const N: usize>(tensor: *const isoc_tensor, name: &str, dims: [&str; N]) -> Result<[usize; N]> {
    // SAFETY: by this function's contract.
    let found = unsafe { any_sizes(tensor, name) }?;
    match <[usize; N]>::try_from(found.as_slice()) {
        Ok(sizes) => Ok(sizes),
        Err(_) => fail!(TensorNdim, "{name}.ndim is {}; it must be {N} ({})", found.len(), dims.join(", ")),
    }
}

/// Maximum number of dimensions here.
const MAX_NDIM: usize = 5;

/// The same of any number of dimensions up to [`MAX_NDIM`].
///
/// # Safety
/// `tensor` is NULL or valid.
pub(super) unsafe fn any_sizes(tensor: *const isoc_tensor, name: &str) -> Result<Vec<usize>> {
    if tensor.is_null() {
        fail!(NullPointer, "{name} is NULL");
    }
    // SAFETY: by this function's contract.
    let isoc_tensor { ndim, shape, .. } = unsafe { tensor.read_unaligned() };
    let count = match usize::try_from(ndim) {
        Ok(n) if (1..=MAX_NDIM).contains(&n) => n,
        _ => fail!(TensorNdim, "{name}.ndim is {ndim}; it must be 1 to {MAX_NDIM}"),
    };
    if shape.is_null() {
        fail!(NullPointer, "{name}.shape is NULL");
    }
    (0..count)
        .map(|k| {
            // SAFETY: as many sizes as dimensions, by the tensor's documentation.
            let size = unsafe { shape.add(k).read_unaligned() };
            match usize::try_from(size) {
                Ok(n) if n > 0 => Ok(n),
                _ => fail!(OutOfRange, "{name}.shape[{k}] is {size}; it must be at least 1"),
            }
        })
        .collect()
}

/// A complex tensor of these sizes.
fn complex<'c, const N: usize>(
    context: &'c Context,
    name: &'static str,
    shape: [usize; N],
    dims: [&'static str; N],
) -> Expected<'c, N> {
    Expected { name, shape, dims, optional: &[], dtypes: DType::COMPLEX, gpus: coils::gpus(context) }
}

/// Finds the matrix that whitens noise: `noise` complex (coils, samples), measured without excitation, of mean 0; `matrix` complex (coils,
/// coils), sqrt(2) L^-1 of the covariance L L^H = noise noise^H / samples, lower triangular. Data times the matrix (isoc_coil_apply) have
/// noise that is independent from coil to coil, with variance 1 of its real and of its imaginary part, so that images are in units of
/// signal to noise. Pruessmann et al., Magn. Reson. Med. 46, 2001; Kellman and McVeigh, 54, 2005.
///
/// ISOC_STATUS_TENSOR_SHAPE: fewer samples than coils. ISOC_STATUS_OUT_OF_RANGE: a coil without noise, or whose noise is a combination of
/// others', which the message names.
///
/// Here and below: complex64 or complex128, in host memory or that of the context's first GPU; computed in double precision on the
/// processor, but for isoc_coil_maps' voxels; from any thread, several at a time. Where tensors are on a GPU, what is in its default stream
/// comes first.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_coil_whitening(
    ctx: *const isoc_context,
    noise: *const isoc_tensor,
    matrix: *const isoc_tensor,
) -> Status {
    guard(|| {
        let context = &*context(ctx)?;
        // SAFETY: by this function's contract.
        unsafe {
            let dims = ["coils", "samples"];
            let shape = sizes(noise, "noise", dims)?;
            let from = complex(context, "noise", shape, dims).input(noise)?;
            let to = complex(context, "matrix", [shape[0]; 2], ["coils", "coils"]).output(matrix)?;
            check_apart((from.layout(), "noise"), (to.layout(), "matrix"))?;
            coils::whitening(context, from, to)
        }
    })
}

/// # Safety
/// `energy` is NULL or writable.
unsafe fn tell(energy: *mut f64, value: f64) {
    if !energy.is_null() {
        // SAFETY: by this function's contract.
        unsafe { energy.write_unaligned(value) };
    }
}

/// Finds virtual coils: `data` complex (coils, samples), any k-space or image of the scan; `matrix` complex (kept, coils), the strongest
/// principal components of the data, strongest first: rows are orthonormal, so that white noise stays white, and each has the phase that
/// makes its largest element real and positive. `energy`, unless NULL, gets the part of the data's energy that they keep. Whiten data
/// first. Buehrer et al., Magn. Reson. Med. 57, 2007; Huang et al., Magn. Reson. Imaging 26, 2008.
///
/// ISOC_STATUS_OUT_OF_RANGE: more virtual coils than coils, or data that are all 0.
///
/// # Safety
/// Tensors are NULL or valid; `energy` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_coil_compression(
    ctx: *const isoc_context,
    data: *const isoc_tensor,
    matrix: *const isoc_tensor,
    energy: *mut f64,
) -> Status {
    guard(|| {
        let context = &*context(ctx)?;
        // SAFETY: by this function's contract.
        unsafe {
            let dims = ["coils", "samples"];
            let shape = sizes(data, "data", dims)?;
            let [kept, _] = sizes(matrix, "matrix", ["kept", "coils"])?;
            let from = complex(context, "data", shape, dims).input(data)?;
            let to = complex(context, "matrix", [kept, shape[0]], ["kept", "coils"]).output(matrix)?;
            check_apart((from.layout(), "data"), (to.layout(), "matrix"))?;
            tell(energy, coils::compression(context, from, to)?);
        }
        Ok(())
    })
}

/// Finds virtual coils for each position along the readout of a Cartesian scan, which keep more: `data` complex (coils, lines, readout),
/// k-space with frequency 0 at floor(readout / 2); `matrix` complex (readout, kept, coils), for the positions j - floor(readout / 2) after
/// an inverse Fourier transform along the readout, each turned to its neighbour so that virtual coils are smooth. Rows are orthonormal.
/// `energy` and errors as those of isoc_coil_compression. Zhang et al., Magn. Reson. Med. 69, 2013.
///
/// # Safety
/// Tensors are NULL or valid; `energy` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_coil_geometric_compression(
    ctx: *const isoc_context,
    data: *const isoc_tensor,
    matrix: *const isoc_tensor,
    energy: *mut f64,
) -> Status {
    guard(|| {
        let context = &*context(ctx)?;
        // SAFETY: by this function's contract.
        unsafe {
            let (dims, names) = (["coils", "lines", "readout"], ["readout", "kept", "coils"]);
            let shape = sizes(data, "data", dims)?;
            let [_, kept, _] = sizes(matrix, "matrix", names)?;
            let from = complex(context, "data", shape, dims).input(data)?;
            let to = complex(context, "matrix", [shape[2], kept, shape[0]], names).output(matrix)?;
            check_apart((from.layout(), "data"), (to.layout(), "matrix"))?;
            tell(energy, coils::geometric_compression(context, from, to)?);
        }
        Ok(())
    })
}

/// out = matrix data: `matrix` complex (rows, coils), such as a whitening or compression matrix, or their product; `data` complex (coils,
/// samples), `out` complex (rows, samples).
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_coil_apply(
    ctx: *const isoc_context,
    matrix: *const isoc_tensor,
    data: *const isoc_tensor,
    out: *const isoc_tensor,
) -> Status {
    guard(|| {
        let context = &*context(ctx)?;
        // SAFETY: by this function's contract.
        unsafe {
            let (dims, names) = (["coils", "samples"], ["rows", "coils"]);
            let shape = sizes(data, "data", dims)?;
            let [rows, _] = sizes(matrix, "matrix", names)?;
            let factors = complex(context, "matrix", [rows, shape[0]], names).input(matrix)?;
            let from = complex(context, "data", shape, dims).input(data)?;
            let to = complex(context, "out", [rows, shape[1]], ["rows", "samples"]).output(out)?;
            check_apart((factors.layout(), "matrix"), (to.layout(), "out"))?;
            check_apart((from.layout(), "data"), (to.layout(), "out"))?;
            coils::apply(context, factors, from, to)
        }
    })
}

/// The same by the matrices of isoc_coil_geometric_compression: `matrix` complex (readout, rows, coils), `data` complex (coils, lines,
/// readout) and `out` complex (rows, lines, readout), both k-space.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_coil_apply_geometric(
    ctx: *const isoc_context,
    matrix: *const isoc_tensor,
    data: *const isoc_tensor,
    out: *const isoc_tensor,
) -> Status {
    guard(|| {
        let context = &*context(ctx)?;
        // SAFETY: by this function's contract.
        unsafe {
            let (dims, names) = (["coils", "lines", "readout"], ["readout", "rows", "coils"]);
            let [count, lines, readout] = sizes(data, "data", dims)?;
            let [_, rows, _] = sizes(matrix, "matrix", names)?;
            let factors = complex(context, "matrix", [readout, rows, count], names).input(matrix)?;
            let from = complex(context, "data", [count, lines, readout], dims).input(data)?;
            let to = complex(context, "out", [rows, lines, readout], ["rows", "lines", "readout"]).output(out)?;
            check_apart((factors.layout(), "matrix"), (to.layout(), "out"))?;
            check_apart((from.layout(), "data"), (to.layout(), "out"))?;
            coils::apply_geometric(context, factors, from, to)
        }
    })
}

/// Finds coil sensitivities from the fully sampled middle of k-space. `calibration`: complex (coils, nz, ny, nx), or (coils, ny, nx) of a
/// plane, frequency 0 at floor(n / 2) of each axis; measured as such, or gridded. `maps`: complex (coils, nz, ny, nx) on any grid at
/// least as large (planes: without nz), for isoc_mri_set_maps, or with a dimension (sets) in front for several sets, strongest first, where
/// one does not explain the data, as with a field of view smaller than the object. Voxel j of n lies at j - floor(n / 2).
/// `eigenvalues`, unless NULL: real, `maps` without coils: ESPIRiT's, 1 where a map explains the data; of the adaptive combination, the part of
/// the local energy. They are written for all voxels, cropped or not.
///
/// At each voxel the squares of a map's moduli add up to 1, or all are 0. The sensitivity of the strongest virtual coil of the
/// calibration data (isoc_coil_compression) is real and positive: the phase that all coils share is the image's. Maps are right to about
/// 1e-5. The same values whatever the number of threads. NULL options are the defaults. Progress is reported and a wish to cancel heeded;
/// planes that a GPU found before that, or before a fault of its own, may have been written.
/// Time of ESPIRiT's eigenproblem grows with (coils x kernel)^3, some 1 s of two cores for blocks of 1728 elements. Voxels' eigenvectors are
/// found on the context's first GPU, wherever the tensors are, if there are at most 32 coils and memory for a plane; all else on the processor.
///
/// ISOC_STATUS_OUT_OF_RANGE: a kernel larger than the calibration data, blocks of more than 8192 elements, more sets than coils, a threshold or crop out of range,
/// calibration data that are all 0; ISOC_STATUS_TENSOR_SHAPE: calibration data larger than the maps; ISOC_STATUS_MEMORY_CAP. Where
/// nothing is below the threshold, as in noise, maps mean nothing, and the log gets a warning.
///
/// # Safety
/// `options` is NULL or valid; tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_coil_maps(
    ctx: *const isoc_context,
    options: *const isoc_coil_options,
    calibration: *const isoc_tensor,
    maps: *const isoc_tensor,
    eigenvalues: *const isoc_tensor,
) -> Status {
    guard(|| {
        let context = &*context(ctx)?;
        // SAFETY: by this function's contract.
        unsafe {
            let settings = if options.is_null() { coils::Maps::default() } else { read_struct(options)?.to_maps()? };
            let given = any_sizes(calibration, "calibration")?;
            let (count, plane, shape) = match given[..] {
                [c, y, x] => (c, true, [c, 1, y, x]),
                [c, z, y, x] => (c, false, [c, z, y, x]),
                _ => fail!(
                    TensorNdim,
                    "calibration.ndim is {}; it must be 4 (coils, nz, ny, nx) or 3 (coils, ny, nx)",
                    given.len()
                ),
            };
            let mut expected = complex(context, "calibration", shape, ["coils", "nz", "ny", "nx"]);
            expected.optional = if plane { &[1] } else { &[] };
            let from = expected.input(calibration)?;
            let (found, dims) = (any_sizes(maps, "maps")?, given.len());
            let (sets, grid) = match found.len().checked_sub(dims) {
                Some(0) => (1, &found[1..]),
                Some(1) => (found[0], &found[2..]),
                _ => fail!(
                    TensorNdim,
                    "maps.ndim is {}; it must be calibration's, {dims}, or one more with sets in front",
                    found.len()
                ),
            };
            let (y, x) = (grid[grid.len() - 2], grid[grid.len() - 1]);
            let z = if plane { 1 } else { grid[0] };
            let mut expected = complex(context, "maps", [sets, count, z, y, x], ["sets", "coils", "nz", "ny", "nx"]);
            expected.optional = match (plane, found.len() == dims) {
                (true, true) => &[0, 2],
                (true, false) => &[2],
                (false, true) => &[0],
                (false, false) => &[],
            };
            let to = expected.output(maps)?;
            let values: Option<ArrayMut<4>> = if eigenvalues.is_null() {
                None
            } else {
                let values = Expected {
                    name: "eigenvalues",
                    shape: [sets, z, y, x],
                    dims: ["sets", "nz", "ny", "nx"],
                    optional: &[0, 1],
                    dtypes: DType::REAL,
                    gpus: coils::gpus(context),
                };
                Some(values.output(eigenvalues)?)
            };
            check_apart((from.layout(), "calibration"), (to.layout(), "maps"))?;
            if let Some(values) = &values {
                check_apart((from.layout(), "calibration"), (values.layout(), "eigenvalues"))?;
                check_apart((values.layout(), "eigenvalues"), (to.layout(), "maps"))?;
            }
            coils::sensitivities(context, &settings, from, to, values)
        }
    })
}

//! `isoc_ct_*`.

use super::boundary::{OutList, Registry, Serial, Sized32, array, count, guard, read_struct, set_out, write_struct};
use super::context::{context, isoc_context};
use super::tensor::{Expected, check_apart, isoc_dtype, isoc_tensor};
use crate::array::{Array, ArrayMut, DType};
use crate::cpu::buffer::{collected, copied};
use crate::ct::phantom::{Ellipse, SheppLogan};
use crate::ct::{
    Ct, Filter, Geometry, InputKind, Interpolation, Kernel, MAX_SIDE, Options, Order, Padding, Precision, Slab, crop,
};
use crate::error::{Result, Status, fail};
use std::ffi::c_void;

/// Filter: the ramp, with a frequency window over f = frequency / (cutoff x Nyquist), zero above f = 1 except for Butterworth.
///
/// cbindgen:prefix-with-name=false
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_filter_kind {
    /// The plain ramp.
    IsocCtFilterRamLak = 0,
    /// sinc(f / 2).
    IsocCtFilterSheppLogan = 1,
    /// cos(pi f / 2).
    IsocCtFilterCosine = 2,
    /// 0.54 + 0.46 cos(pi f).
    IsocCtFilterHamming = 3,
    /// 0.5 + 0.5 cos(pi f).
    IsocCtFilterHann = 4,
    /// 1 - 6 f^2 (1 - f) up to f = 1/2, 2 (1 - f)^3 above.
    IsocCtFilterParzen = 5,
    /// 1 / sqrt(1 + f^(2 order)); its cutoff defaults to half of Nyquist.
    IsocCtFilterButterworth = 6,
    /// No filter: `reconstruct` is then the weighted back projection of the projections as they are.
    IsocCtFilterNone = 7,
    /// The caller's frequency response, in place of ramp and window: see isoc_ct_options.response.
    IsocCtFilterCustom = 8,
}

/// How `backproject` and `reconstruct` read a row between its bins. Outside the detector a ray contributes 0.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_interpolation {
    /// Linear, exact in f32.
    Linear = 0,
    /// The nearest bin.
    Nearest = 1,
    /// The nearest of four samples a bin, made once by linear interpolation: close to linear, with fewer operations a pixel.
    Oversampled = 2,
}

/// Family of back projectors on a GPU. The processor has one of its own.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_kernel {
    /// The fastest that keeps the precision asked for.
    Auto = 0,
    /// Texture units, a pixel a thread along rows, as most codes do it: for comparison. Linear weights have 8 bits, so that
    /// values are off by up to 3e-3 of the largest.
    TextureStandard = 1,
    /// Texture units, pixels in squares: one or two slices of f32 data, four of f16. The same weights.
    Texture = 2,
    /// Bins cached in shared memory and interpolated exactly in f32: one, two or four slices of f32 data, up to eight of f16.
    Alu = 3,
    /// Blocks of both kinds side by side on each multiprocessor. With half precision the texture half has weights of 8 bits, as
    /// in ISOC_CT_KERNEL_TEXTURE.
    Hybrid = 4,
    /// Weights times data on tensor cores: the fastest for many slices. Pixels up to 1.41 bins wide.
    Tensor = 5,
}

/// Precision of the data that are back projected on a GPU. Sums are f32 in all.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_precision {
    /// f32 grade: within 2e-5 of the largest value of the exact sum (measured: 1e-6 to 4e-6).
    Single = 0,
    /// Data of half precision: off by 3e-4 to 5e-4 of the largest value (random data), and faster.
    Half = 1,
}

/// What the projections of `filter`, `reconstruct` and `reconstruct_stream` hold, and so what is done to them first; other calls
/// take f32 as they are.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_input {
    /// u16 and u8 are counts, f32 are line integrals. f32 while the plan has a flat field may be either: ISOC_STATUS_FLAT_FIELD. f32
    /// without one that cannot be line integrals (whole numbers, huge ones, or about 1 beside the object) are warned of in the log:
    /// once after each change of geometry, options or flat field some rows are looked at.
    Auto = 0,
    /// Counts, of any type: -ln((raw - dark) / (flat - dark)) with the flat field, which there must be.
    Counts = 1,
    /// f32 transmissions, (raw - dark) / (flat - dark): -ln of them. The flat field is not used.
    Transmission = 2,
    /// f32 line integrals, taken as they are. The flat field is not used.
    LineIntegrals = 3,
}

/// What the filter sees beyond the ends of a row.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_padding {
    /// Zeros: right when the object fits the detector.
    Zero = 0,
    /// The edge values: milder when it does not.
    Edge = 1,
}

/// Order of the dimensions of projections.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_order {
    /// Frames: (views, rows, bins).
    Frames = 0,
    /// Sinograms: (rows, views, bins).
    Sinograms = 1,
}

/// Sets of isoc_ct_shepp_logan.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_shepp_logan_kind {
    /// Shepp and Logan 1974: contrasts of 1 to 2 %.
    Original = 0,
    /// Toft 1996: the same ellipses with contrasts that can be seen.
    Modified = 1,
}

/// Number of ellipses of a Shepp-Logan phantom.
pub const ISOC_CT_SHEPP_LOGAN_ELLIPSES: i64 = 10;

/// Parallel-beam scan and volume.
///
/// Pixel (row i, column j) of a slice projects in view p to the fractional bin
///
///     h = axis_p + (pixel_size / bin_pitch) * ((j - cx) cos t_p - (i - cy) sin t_p)
///     cx = (nx - 1) / 2 + x_offset,   cy = (ny - 1) / 2 + y_offset
///
/// where bin k has its centre at k (0-based) and t_p is the view's angle in radians. With y upwards that is x cos t + y sin t.
/// A region of interest is an offset with any nx, ny and pixel_size: see isoc_ct_region. Slice z of the volume is detector row first_row + z.
/// Views, bins, rows, nx and ny are at most 2^20 each.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_geometry {
    /// sizeof(isoc_ct_geometry).
    pub struct_size: u32,
    /// An isoc_ct_order: how projection tensors are laid out.
    pub order: u32,
    /// Number of projections.
    pub views: i64,
    /// Detector bins in a row.
    pub bins: i64,
    /// Detector rows; 0 means 1.
    pub rows: i64,
    /// `views` angles in radians, in any order; copied.
    pub angles: *const f64,
    /// The rotation axis as a fractional bin, `axis_count` values; NULL means (bins - 1) / 2. Copied.
    pub axis: *const f64,
    /// 1, or `views` for one axis a view; 0 means 1.
    pub axis_count: i64,
    /// Distance between bins, in any length unit; 0 means 1.
    pub bin_pitch: f64,
    /// Side of a pixel in the same unit, from bin_pitch / 1024 to 1024 bin_pitch; 0 means bin_pitch.
    pub pixel_size: f64,
    /// Columns of the volume; 0 means bins.
    pub nx: i64,
    /// Rows of a slice; 0 means bins.
    pub ny: i64,
    /// The rotation axis passes through column (nx - 1) / 2 + x_offset of the volume.
    pub x_offset: f64,
    /// The same for rows. For a part of a slice isoc_ct_region works both out.
    pub y_offset: f64,
    /// First detector row to reconstruct.
    pub first_row: i64,
    /// Slices of the volume; 0 means all rows from first_row on.
    pub slices: i64,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_ct_geometry {
    const NAME: &'static str = "isoc_ct_geometry";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// How to reconstruct. Set `struct_size` and zero the rest for the defaults: Ram-Lak, linear, zero padding.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_options {
    /// sizeof(isoc_ct_options).
    pub struct_size: u32,
    /// An isoc_ct_filter_kind.
    pub filter: u32,
    /// An isoc_ct_interpolation.
    pub interpolation: u32,
    /// An isoc_ct_padding.
    pub padding: u32,
    /// Non-zero: isoc_ct_backproject multiplies each view by its angular weight, as isoc_ct_reconstruct always does.
    pub weighted_backprojection: u32,
    /// An isoc_ct_kernel: the back projector on a GPU.
    pub kernel: u32,
    /// End of the window as a fraction of the Nyquist frequency, above 0 up to 1; 0 means 1 (Butterworth: 0.5).
    pub cutoff: f64,
    /// Order of the Butterworth window, 0.5 to 64; 0 means 4.
    pub butterworth_order: f64,
    /// ISOC_CT_FILTER_CUSTOM: `response_count` (2 or more) values at frequencies evenly spaced from 0 to Nyquist, both
    /// in, linear between them; copied. Unit: cycles a bin, so that the plain ramp runs from 0 to 0.5.
    pub response: *const f32,
    /// Number of values in `response`.
    pub response_count: i64,
    /// Counts and transmissions: a transmission below this is raised to it before the logarithm, 1.2e-38 to 1; 0 means 1e-6.
    pub minimum_transmission: f64,
    /// An isoc_ct_precision: of back-projected data on a GPU.
    pub precision: u32,
    /// An isoc_ct_input: what projections hold.
    pub input: u32,
}

// SAFETY: numbers and a pointer; all zero is valid.
unsafe impl Sized32 for isoc_ct_options {
    const NAME: &'static str = "isoc_ct_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What a plan found and decided. Angles are in radians, modulo pi; all 0 where there is only one (but angle_covered, which may be
/// of the caller's weights).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_info {
    /// sizeof(isoc_ct_info), set by the caller.
    pub struct_size: u32,
    /// 1 if all gaps between neighbouring angles agree to 1 %.
    pub evenly_spaced: u32,
    /// Different angles; views closer than a tenth of the mean gap count as one angle and share its weight.
    pub distinct_angles: i64,
    /// Median gap between neighbouring angles.
    pub angular_spacing: f64,
    /// Sum of the angular weights in force: pi, less the missing wedges; or that of the caller's weights.
    pub angle_covered: f64,
    /// Gaps that stand out, and so are not spread over their edges: more than three times as large as the next smaller one (and as the
    /// median), as long as there are at most four of them.
    pub missing_wedges: i64,
    /// Start of the largest gap.
    pub largest_gap_start: f64,
    /// Size of the largest gap.
    pub largest_gap: f64,
    /// Length of the filter's Fourier transforms.
    pub padded_bins: i64,
    /// Slices that `reconstruct` works on at a time under the memory cap.
    pub slab_slices: i64,
    /// NaN and Inf values (and pixels without a usable flat field) replaced in the last call that read data.
    pub replaced_values: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_info {
    const NAME: &'static str = "isoc_ct_info";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// An ellipse of constant attenuation; where ellipses overlap, values add.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_ellipse {
    /// Attenuation a length unit.
    pub value: f64,
    /// Centre, from the rotation axis, in length units; x along columns, y upwards.
    pub x: f64,
    /// See x.
    pub y: f64,
    /// Semi-axis along x before rotation, in length units.
    pub semi_x: f64,
    /// Semi-axis along y before rotation, in length units.
    pub semi_y: f64,
    /// Counter-clockwise rotation in radians.
    pub angle: f64,
}

/// A plan for parallel-beam CT: geometry, options, flat field. Opaque. Any thread may use it; calls on one plan wait for
/// each other, different plans run at the same time.
pub struct isoc_ct {
    _opaque: [u8; 0],
}

static PLANS: Registry<Serial<Ct>> = Registry::new("isoc_ct");

fn with_plan(handle: *const isoc_ct, body: impl FnOnce(&mut Ct) -> Result<()>) -> Status {
    guard(|| PLANS.get(handle)?.with(body))
}

impl isoc_ct_geometry {
    /// # Safety
    /// `angles` and `axis` are as the fields' documentation says.
    unsafe fn to_geometry(self) -> Result<Geometry> {
        let order = match self.order {
            0 => Order::Frames,
            1 => Order::Sinograms,
            v => fail!(UnknownValue, "geometry.order is {v}; it must be 0 (frames) or 1 (sinograms)"),
        };
        let views = count(self.views, "geometry.views", 1, MAX_SIDE)?;
        let bins = count(self.bins, "geometry.bins", 1, MAX_SIDE)?;
        let or = |value: i64, name, default: usize| {
            count(value, name, 0, MAX_SIDE).map(|n| if n == 0 { default } else { n })
        };
        let rows = or(self.rows, "geometry.rows", 1)?;
        let first_row = count(self.first_row, "geometry.first_row", 0, MAX_SIDE)?;
        if first_row >= rows {
            fail!(OutOfRange, "geometry.first_row is {first_row}; it must be below rows ({rows})");
        }
        let slices = or(self.slices, "geometry.slices", rows.saturating_sub(first_row))?;
        let (nx, ny) = (or(self.nx, "geometry.nx", bins)?, or(self.ny, "geometry.ny", bins)?);
        // SAFETY: `views` angles, by this function's contract.
        let angles = copied(unsafe { array(self.angles, views, "geometry.angles") }?)?;
        let axis = if self.axis.is_null() {
            if self.axis_count != 0 {
                fail!(NullPointer, "geometry.axis is NULL with axis_count {}; it must be 0 then", self.axis_count);
            }
            vec![(bins as f64 - 1.0) / 2.0]
        } else {
            let n = or(self.axis_count, "geometry.axis_count", 1)?;
            if n != 1 && n != views {
                fail!(OutOfRange, "geometry.axis_count is {n}; it must be 1 or views ({views})");
            }
            // SAFETY: `axis_count` values, by this function's contract.
            copied(unsafe { array(self.axis, n, "geometry.axis") }?)?
        };
        let bin_pitch = if self.bin_pitch == 0.0 { 1.0 } else { self.bin_pitch };
        let pixel_size = if self.pixel_size == 0.0 { bin_pitch } else { self.pixel_size };
        let (x_offset, y_offset) = (self.x_offset, self.y_offset);
        Ok(Geometry {
            order,
            angles,
            axis,
            bins,
            rows,
            bin_pitch,
            pixel_size,
            nx,
            ny,
            x_offset,
            y_offset,
            first_row,
            slices,
        })
    }
}

impl isoc_ct_options {
    /// # Safety
    /// `response` is as the field's documentation says.
    unsafe fn to_options(self) -> Result<Options> {
        let cutoff = |default: f64| if self.cutoff == 0.0 { default } else { self.cutoff };
        let order = if self.butterworth_order == 0.0 { 4.0 } else { self.butterworth_order };
        // Numbers that the chosen filter has no use for are checked all the same.
        Filter::Butterworth { cutoff: cutoff(0.5), order }.check()?;
        let filter = match self.filter {
            0 => Filter::RamLak { cutoff: cutoff(1.0) },
            1 => Filter::SheppLogan { cutoff: cutoff(1.0) },
            2 => Filter::Cosine { cutoff: cutoff(1.0) },
            3 => Filter::Hamming { cutoff: cutoff(1.0) },
            4 => Filter::Hann { cutoff: cutoff(1.0) },
            5 => Filter::Parzen { cutoff: cutoff(1.0) },
            6 => Filter::Butterworth { cutoff: cutoff(0.5), order },
            7 => Filter::None,
            8 => {
                let n = count(self.response_count, "options.response_count", 2, MAX_SIDE)?;
                // SAFETY: `response_count` values, by this function's contract.
                Filter::Custom(copied(unsafe { array(self.response, n, "options.response") }?)?)
            }
            v => fail!(UnknownValue, "options.filter is {v}; it must be 0 to 8 (isoc_ct_filter_kind)"),
        };
        let interpolation = match self.interpolation {
            0 => Interpolation::Linear,
            1 => Interpolation::Nearest,
            2 => Interpolation::Oversampled,
            v => fail!(UnknownValue, "options.interpolation is {v}; it must be 0 to 2 (isoc_ct_interpolation)"),
        };
        let padding = match self.padding {
            0 => Padding::Zero,
            1 => Padding::Edge,
            v => fail!(UnknownValue, "options.padding is {v}; it must be 0 or 1 (isoc_ct_padding)"),
        };
        let input = match self.input {
            0 => InputKind::Auto,
            1 => InputKind::Counts,
            2 => InputKind::Transmission,
            3 => InputKind::LineIntegrals,
            v => fail!(UnknownValue, "options.input is {v}; it must be 0 to 3 (isoc_ct_input)"),
        };
        let kernel = match self.kernel {
            0 => Kernel::Auto,
            1 => Kernel::TextureStandard,
            2 => Kernel::Texture,
            3 => Kernel::Alu,
            4 => Kernel::Hybrid,
            5 => Kernel::Tensor,
            v => fail!(UnknownValue, "options.kernel is {v}; it must be one of isoc_ct_kernel"),
        };
        let precision = match self.precision {
            0 => Precision::Single,
            1 => Precision::Half,
            v => fail!(UnknownValue, "options.precision is {v}; it must be 0 or 1 (isoc_ct_precision)"),
        };
        let minimum_transmission = if self.minimum_transmission == 0.0 { 1e-6 } else { self.minimum_transmission };
        let weighted_backprojection = self.weighted_backprojection != 0;
        Ok(Options {
            filter,
            interpolation,
            padding,
            weighted_backprojection,
            minimum_transmission,
            kernel,
            precision,
            input,
        })
    }
}

const FLOAT: &[DType] = &[DType::F32];
const COUNTS: &[DType] = &[DType::F32, DType::U16, DType::U8];

/// Projections of the whole detector, in the geometry's order.
fn expect_projections(geometry: &Geometry, name: &'static str, dtypes: &'static [DType]) -> Expected<'static> {
    let (v, r, b) = (geometry.angles.len(), geometry.rows, geometry.bins);
    match geometry.order {
        Order::Frames => {
            Expected { name, shape: [v, r, b], dims: ["views", "rows", "bins"], optional: &[1], dtypes, gpus: &[] }
        }
        Order::Sinograms => {
            Expected { name, shape: [r, v, b], dims: ["rows", "views", "bins"], optional: &[0], dtypes, gpus: &[] }
        }
    }
}

fn expect_volume(geometry: &Geometry) -> Expected<'static> {
    let shape = [geometry.slices, geometry.ny, geometry.nx];
    Expected { name: "volume", shape, dims: ["slices", "ny", "nx"], optional: &[0], dtypes: FLOAT, gpus: &[] }
}

/// A call that reads one tensor and writes another, after checking both.
///
/// # Safety
/// Tensors are NULL or as `isoc_tensor` says, for the length of the call.
unsafe fn transform(
    handle: *const isoc_ct,
    input: (*const isoc_tensor, impl FnOnce(&Geometry) -> Expected<'static>),
    output: (*const isoc_tensor, impl FnOnce(&Geometry) -> Expected<'static>),
    run: impl FnOnce(&mut Ct, Array, ArrayMut) -> Result<()>,
) -> Status {
    with_plan(handle, |ct| {
        let geometry = ct.geometry()?;
        let gpus = ct.gpus();
        let (from, to) = (Expected { gpus, ..input.1(geometry) }, Expected { gpus, ..output.1(geometry) });
        // SAFETY: by this function's contract.
        let (source, target) = unsafe { (from.input(input.0)?, to.output(output.0)?) };
        check_apart((source.layout(), from.name), (target.layout(), to.name))?;
        run(ct, source, target)
    })
}

/// Makes a plan; give it a geometry next.
///
/// # Safety
/// `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_create(ctx: *const isoc_context, out: *mut *mut isoc_ct) -> Status {
    guard(|| {
        let context = context(ctx)?;
        if out.is_null() {
            fail!(NullPointer, "out is NULL");
        }
        let handle = PLANS.insert(Serial::new(Ct::new(context)));
        // SAFETY: by this function's contract.
        unsafe { set_out(out, handle, "out") }
    })
}

/// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_ct_destroy(ct: *mut isoc_ct) -> Status {
    guard(|| PLANS.destroy(ct))
}

/// Sets scan and volume: validates, copies, works out the angular weights. Forgets weights of the caller's own. The flat field stays
/// while `rows` and `bins` do (ISOC_STATUS_FLAT_FIELD if rows now in use cannot be corrected), else it is forgotten, with a warning in
/// the log. One view, or views that all have the same angle, are accepted here (`forward` and `adjoint` can use them); what needs
/// angular weights is not, without isoc_ct_set_angular_weights. An axis so far beside the detector that pixels see less than two thirds
/// of the directions is warned of.
///
/// # Safety
/// `geometry` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_geometry(ct: *mut isoc_ct, geometry: *const isoc_ct_geometry) -> Status {
    with_plan(ct, |ct| {
        // SAFETY: by this function's contract.
        let geometry = unsafe { read_struct(geometry)?.to_geometry() }?;
        ct.set_geometry(geometry)
    })
}

/// Cuts the slice of a geometry down to a region of interest: columns column_begin to column_end and rows row_begin to row_end of
/// the slice that the geometry describes, counted from 0, ends not included. It changes nx, ny, x_offset and y_offset, so that pixels keep
/// their places and sizes: the volume is then `[:, row_begin:row_end, column_begin:column_end]` of what it would have been. A second
/// region counts from the first one's corner. nx or ny of 0 means bins, as ever; other fields are not looked at. Rows are the slice's, not
/// the detector's: those are first_row and slices.
///
/// # Safety
/// `geometry` is NULL or valid, and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_region(
    geometry: *mut isoc_ct_geometry,
    column_begin: i64,
    column_end: i64,
    row_begin: i64,
    row_end: i64,
) -> Status {
    guard(|| {
        // SAFETY: by this function's contract.
        let mut g = unsafe { read_struct(geometry.cast_const())? };
        let side = |n: i64, name| match n {
            0 => count(g.bins, "geometry.bins", 1, MAX_SIDE),
            n => count(n, name, 1, MAX_SIDE),
        };
        let (nx, ny) = (side(g.nx, "geometry.nx")?, side(g.ny, "geometry.ny")?);
        let columns = count(column_begin, "column_begin", 0, nx)?..count(column_end, "column_end", 0, nx)?;
        let rows = count(row_begin, "row_begin", 0, ny)?..count(row_end, "row_end", 0, ny)?;
        let (nx, x_offset) = crop(nx, g.x_offset, columns, ["column", "nx"])?;
        let (ny, y_offset) = crop(ny, g.y_offset, rows, ["row", "ny"])?;
        (g.nx, g.ny, g.x_offset, g.y_offset) = (nx as i64, ny as i64, x_offset, y_offset);
        // SAFETY: by this function's contract.
        unsafe { write_struct(geometry, &g) }
    })
}

/// Work on tensors that are on a GPU begins when all that is in `stream` now has been done: a cudaStream_t (or CUstream) of
/// that GPU, NULL for the default stream. It holds until set again. Calls return when their results are there, whatever the
/// stream. The stream must stay valid for as long as it is set.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_ct_set_stream(ct: *mut isoc_ct, stream: *mut c_void) -> Status {
    with_plan(ct, |ct| {
        ct.set_stream(stream.addr());
        Ok(())
    })
}

/// Measures the GPU's back projectors for this geometry and interpolation, on made-up data, and keeps to the fastest: from
/// then on ISOC_CT_KERNEL_AUTO chooses by what was measured, where before it goes by the figures of an H200. The log gets the
/// table. Takes some seconds at most for slices of 2048 x 2048; without a GPU it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_ct_tune(ct: *mut isoc_ct) -> Status {
    with_plan(ct, |ct| ct.tune().map(drop))
}

/// Sets options; NULL sets the defaults. They hold until set again, whatever the geometry.
///
/// # Safety
/// `options` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_options(ct: *mut isoc_ct, options: *const isoc_ct_options) -> Status {
    with_plan(ct, |ct| {
        let options = if options.is_null() {
            Options::default()
        } else {
            // SAFETY: by this function's contract.
            unsafe { read_struct(options)?.to_options() }?
        };
        ct.set_options(options)
    })
}

/// For counts: `filter` and `reconstruct` make -ln((raw - dark) / (flat - dark)) of them. Integers are counts; of f32
/// isoc_ct_options.input has to say what they are. Flats and darks are (frames, rows, bins) or, for one frame, (rows, bins), of f32, u16 or u8; the frames are averaged and copied. `darks`
/// may be NULL for zeros. `flats` NULL (then `darks` too) forgets the flat field. Call it after
/// isoc_ct_set_geometry; it stays until a geometry with other rows or bins. A flat that is not above its dark is ISOC_STATUS_FLAT_FIELD, or, with the NaN policy "replace", a
/// pixel that reads as 0 and is counted.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_flat_field(
    ct: *mut isoc_ct,
    flats: *const isoc_tensor,
    darks: *const isoc_tensor,
) -> Status {
    with_plan(ct, |ct| {
        let geometry = ct.geometry()?;
        let frames = |tensor: *const isoc_tensor, name: &'static str| -> Result<Option<Array>> {
            if tensor.is_null() {
                return Ok(None);
            }
            // SAFETY: readable, by this function's contract.
            let t = unsafe { tensor.read_unaligned() };
            let n = if t.ndim == 3 && !t.shape.is_null() {
                // SAFETY: three sizes, by the tensor's documentation.
                count(unsafe { t.shape.read_unaligned() }, &format!("{name}.shape[0]"), 1, MAX_SIDE)?
            } else {
                1
            };
            let shape = [n, geometry.rows, geometry.bins];
            let expected =
                Expected { name, shape, dims: ["frames", "rows", "bins"], optional: &[0], dtypes: COUNTS, gpus: &[] };
            // SAFETY: by this function's contract.
            unsafe { expected.input(tensor) }.map(Some)
        };
        let (flats, darks) = (frames(flats, "flats")?, frames(darks, "darks")?);
        ct.set_flat_field(flats, darks)
    })
}

/// Tells what the plan found in the geometry and decided under the present options.
///
/// # Safety
/// `info` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_get_info(ct: *mut isoc_ct, info: *mut isoc_ct_info) -> Status {
    with_plan(ct, |ct| {
        let found = ct.info()?;
        let angular = found.angular.as_ref();
        let value = isoc_ct_info {
            struct_size: 0,
            evenly_spaced: angular.is_some_and(|a| a.evenly_spaced).into(),
            distinct_angles: angular.map_or(1, |a| a.distinct as i64),
            angular_spacing: angular.map_or(0.0, |a| a.spacing),
            angle_covered: found.covered,
            missing_wedges: angular.map_or(0, |a| a.missing_wedges as i64),
            largest_gap_start: angular.map_or(0.0, |a| a.largest_gap_start),
            largest_gap: angular.map_or(0.0, |a| a.largest_gap),
            padded_bins: found.padded_bins as i64,
            slab_slices: found.slab_slices as i64,
            replaced_values: found.replaced as i64,
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(info, &value) }
    })
}

/// Writes the angular weight of each view (radians) to `out`, which has room for `capacity`; `count`, which may be NULL, gets how many
/// there are: the number of views. `out` NULL with `capacity` 0 asks for the number alone; a smaller capacity is
/// ISOC_STATUS_OUT_OF_RANGE, and nothing is written.
///
/// The caller's own, if isoc_ct_set_angular_weights has set any; else half the gap to the neighbour on either side, angles taken modulo
/// pi, where missing wedges (see isoc_ct_info) count nothing.
///
/// # Safety
/// `out` is NULL or holds `capacity` writable values; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_get_angular_weights(
    ct: *mut isoc_ct,
    out: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(ct, |ct| {
        let weights = ct.angular_weights()?;
        // SAFETY: by this function's contract.
        unsafe { OutList { names: ["out", "capacity"], out, capacity, count }.fill(weights.iter().copied()) }
    })
}

/// Sets the angular weights: `weight_count` values in radians, one a view, finite and 0 or more, with a sum above 0 (pi keeps
/// attenuation's scale; a larger one is warned of). Copied; they hold until the next isoc_ct_set_geometry. NULL with 0 goes back to the
/// weights that the plan works out. `reconstruct`, weighted `backproject` and streams use them, also for one view or equal angles.
///
/// # Safety
/// `weights` is NULL or holds `weight_count` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_angular_weights(
    ct: *mut isoc_ct,
    weights: *const f64,
    weight_count: i64,
) -> Status {
    with_plan(ct, |ct| {
        let views = ct.geometry()?.views();
        if weights.is_null() && weight_count == 0 {
            return ct.set_angular_weights(None);
        }
        if usize::try_from(weight_count) != Ok(views) {
            fail!(OutOfRange, "weight_count is {weight_count}; it must be the number of views, {views}");
        }
        // SAFETY: `weight_count` values, by this function's contract.
        ct.set_angular_weights(Some(unsafe { array(weights, views, "weights") }?))
    })
}

/// Bytes of working memory that `reconstruct` will allocate under the present geometry, options and memory cap; on GPUs, of each
/// one's memory, between arrays in host memory. A plan keeps it for its next call, until it gets a geometry or is destroyed.
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_memory(ct: *mut isoc_ct, bytes: *mut u64) -> Status {
    with_plan(ct, |ct| {
        let needed = ct.memory()?;
        // SAFETY: by this function's contract.
        unsafe { set_out(bytes, needed, "bytes") }
    })
}

/// Filters every row of the slices: projections -> filtered, both of the projections' shape; rows outside the slices are
/// left alone; after a cancel some rows may have been written. The ramp is in 1 / bin_pitch, without angular weights:
/// `filter`, then a weighted `backproject`, is `reconstruct`.
///
/// `projections`: f32 line integrals, or what isoc_ct_options.input says. `filtered`: f32.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_filter(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    filtered: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", COUNTS));
    let output = (filtered, |g: &Geometry| expect_projections(g, "filtered", FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, output, Ct::filter) }
}

/// Back projection: volume(i, j) = sum over views of projections at h (see isoc_ct_geometry), interpolated as the options
/// say; unscaled, unless the options ask for angular weights.
///
/// `projections`: f32; `volume`: f32, (slices, ny, nx).
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_backproject(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    volume: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, (volume, expect_volume), Ct::backproject) }
}

/// Forward projection: line integrals of the volume at the bins' centres, in its length unit (Joseph 1982). Rows outside
/// the slices are left alone; after a cancel some may have been written in part.
///
/// `volume`: f32, (slices, ny, nx); `projections`: f32.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_forward(
    ct: *mut isoc_ct,
    volume: *const isoc_tensor,
    projections: *const isoc_tensor,
) -> Status {
    let output = (projections, |g: &Geometry| expect_projections(g, "projections", FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, (volume, expect_volume), output, Ct::forward) }
}

/// The exact transpose of `forward`, for iterative methods.
///
/// `projections`: f32; `volume`: f32, (slices, ny, nx).
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_adjoint(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    volume: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", FLOAT));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, (volume, expect_volume), Ct::adjoint) }
}

/// Filtered back projection: sum over views of angular weight x filtered projection. The result is attenuation a length
/// unit: a uniform disk of 1.0 comes out as 1.0 for any pixel size, bin pitch, number of views, half or full turn.
///
/// `projections`: f32 line integrals, counts (u16, u8) with a flat field, or what isoc_ct_options.input says; `volume`: f32, (slices, ny,
/// nx).
/// The volume is written slab by slab: after an error or a cancel each slice is either finished or untouched.
///
/// # Safety
/// Tensors are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_reconstruct(
    ct: *mut isoc_ct,
    projections: *const isoc_tensor,
    volume: *const isoc_tensor,
) -> Status {
    let input = (projections, |g: &Geometry| expect_projections(g, "projections", COUNTS));
    // SAFETY: by this function's contract.
    unsafe { transform(ct, input, (volume, expect_volume), Ct::reconstruct) }
}

impl From<&isoc_ct_ellipse> for Ellipse {
    fn from(e: &isoc_ct_ellipse) -> Self {
        let isoc_ct_ellipse { value, x, y, semi_x, semi_y, angle } = *e;
        Ellipse { value, x, y, semi_x, semi_y, angle }
    }
}

/// Writes the ellipses of a Shepp-Logan phantom that fills a circle of the given radius (length units),
/// ISOC_CT_SHEPP_LOGAN_ELLIPSES of them.
///
/// # Safety
/// `ellipses` is NULL or has room for `capacity` elements; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_shepp_logan(
    kind: u32,
    radius: f64,
    ellipses: *mut isoc_ct_ellipse,
    capacity: i64,
    count: *mut i64,
) -> Status {
    guard(|| {
        let kind = match kind {
            0 => SheppLogan::Original,
            1 => SheppLogan::Modified,
            v => fail!(UnknownValue, "kind is {v}; it must be 0 or 1 (isoc_ct_shepp_logan_kind)"),
        };
        let made = kind.ellipses(radius)?.map(|e| {
            let Ellipse { value, x, y, semi_x, semi_y, angle } = e;
            isoc_ct_ellipse { value, x, y, semi_x, semi_y, angle }
        });
        // SAFETY: by this function's contract.
        unsafe { OutList { names: ["ellipses", "capacity"], out: ellipses, capacity, count }.fill(made.into_iter()) }
    })
}

/// # Safety
/// As for `array`.
unsafe fn to_ellipses(ellipses: *const isoc_ct_ellipse, ellipse_count: i64) -> Result<Vec<Ellipse>> {
    let n = count(ellipse_count, "ellipse_count", 1, MAX_SIDE)?;
    // SAFETY: by this function's contract.
    collected(unsafe { array(ellipses, n, "ellipses") }?.iter().map(Ellipse::from))
}

/// Fills `projections` for slices first to first + count of the volume: detector rows first_row + first on, in the geometry's
/// order with `count` rows, (views, count, bins) or (count, views, bins), contiguous. Returns 0, or anything else to stop. Must
/// not throw, keep the pointer, or use the plan (ISOC_STATUS_BUSY).
pub type isoc_ct_read_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, first: i64, count: i64, projections: *const isoc_tensor) -> i32>;

/// Takes slices first to first + count of the volume from `volume`, (count, ny, nx), contiguous f32. Otherwise as for
/// isoc_ct_read_fn.
pub type isoc_ct_write_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, first: i64, count: i64, volume: *const isoc_tensor) -> i32>;

/// Filtered back projection like isoc_ct_reconstruct, for data and volumes that do not fit memory: `read` is asked for the
/// projections of some slices at a time, in order, and `write` gets the finished slices, in order. GPUs work meanwhile on the
/// slabs in between (two for each GPU), so that reading, computing and writing overlap. `dtype` is the projections' type
/// (ISOC_F32, or ISOC_U16 or ISOC_U8 of counts: see isoc_ct_input). Both callbacks, and progress, come from the thread that made the call.
/// isoc_ct_info.slab_slices says how many slices a slab has at most.
///
/// When a callback returns non-zero the call stops with ISOC_STATUS_CALLBACK; slices that `write` took are good, no others.
/// NaN and Inf are found slab by slab: the message names the index in the whole array.
///
/// # Safety
/// `read` and `write` are NULL or functions of these types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_reconstruct_stream(
    ct: *mut isoc_ct,
    dtype: isoc_dtype,
    read: isoc_ct_read_fn,
    write: isoc_ct_write_fn,
    user: *mut c_void,
) -> Status {
    with_plan(ct, |ct| {
        let (Some(read), Some(write)) = (read, write) else {
            let name = if read.is_none() { "read" } else { "write" };
            fail!(NullPointer, "{name} is NULL");
        };
        let expected = expect_projections(ct.geometry()?, "projections", COUNTS);
        let dtype = expected.check_dtype(dtype)?;
        type Call = unsafe extern "C" fn(*mut c_void, i64, i64, *const isoc_tensor) -> i32;
        let pass = |name: &'static str, call: Call| {
            move |slab: Slab| {
                let shape = slab.shape.map(|n| n as i64);
                let tensor = isoc_tensor::contiguous(slab.data.cast(), slab.dtype, &shape);
                // SAFETY: the caller's function, with the caller's pointer and a tensor that is valid for the call.
                match unsafe { call(user, slab.first as i64, slab.count as i64, &tensor) } {
                    0 => Ok(()),
                    code => {
                        let end = slab.first + slab.count;
                        fail!(Callback, "{name} returned {code} for slices {} to {end}", slab.first)
                    }
                }
            }
        };
        ct.reconstruct_stream(dtype, pass("read", read), pass("write", write))
    })
}

/// The phantom's exact mean over each pixel, the same in every slice: the truth to compare a reconstruction with.
///
/// # Safety
/// `ellipses` is NULL or holds `ellipse_count` elements; `volume` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_phantom_volume(
    ct: *mut isoc_ct,
    ellipses: *const isoc_ct_ellipse,
    ellipse_count: i64,
    volume: *const isoc_tensor,
) -> Status {
    with_plan(ct, |ct| {
        // SAFETY: by this function's contract.
        let (ellipses, target) =
            unsafe { (to_ellipses(ellipses, ellipse_count)?, expect_volume(ct.geometry()?).output(volume)?) };
        ct.phantom_volume(&ellipses, target)
    })
}

/// The phantom's exact line integrals at the bins' centres, in the geometry's length unit, the same in every row.
///
/// # Safety
/// `ellipses` is NULL or holds `ellipse_count` elements; `projections` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_phantom_projections(
    ct: *mut isoc_ct,
    ellipses: *const isoc_ct_ellipse,
    ellipse_count: i64,
    projections: *const isoc_tensor,
) -> Status {
    with_plan(ct, |ct| {
        let expected = expect_projections(ct.geometry()?, "projections", FLOAT);
        // SAFETY: by this function's contract.
        let (ellipses, target) = unsafe { (to_ellipses(ellipses, ellipse_count)?, expected.output(projections)?) };
        ct.phantom_projections(&ellipses, target)
    })
}

//! How to reconstruct.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, array, count, read_struct};
use isocenter_base::cpu::buffer::copied;
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{Algorithm, Filter, InputKind, Interpolation, Kernel, MAX_SIDE, Options, Padding, Pair, Precision};
use std::ffi::c_void;

/// Filter: the ramp, with a frequency window over f = frequency / (cutoff x Nyquist), zero above f = 1 except for Butterworth. Rows are convolved
/// with the Fourier integral of both, whatever lengths transforms have.
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

/// How `backproject` and `reconstruct` (streams too) read a row between its bins. Outside the detector a ray contributes 0, but for
/// ISOC_CT_INTERPOLATION_BAND_LIMITED. What `forward` and `adjoint` do is isoc_ct_options.projector's choice.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_interpolation {
    /// Linear, exact in f32.
    Linear = 0,
    /// The nearest bin.
    Nearest = 1,
    /// The nearest of four samples a bin, made once by linear interpolation: close to linear, with fewer operations a pixel.
    Oversampled = 2,
    /// Band-limited: through the row's samples and zeros beyond its ends goes a trigonometric polynomial, which repeats after P bins
    /// (isoc_ct_info.period): q(h) = (1/P) sum over f = -P/2 .. P/2 of Q(f) exp(2 pi i f h / P), the two ends with half their weight,
    /// where Q is the discrete Fourier transform of the row, filtered in `reconstruct`, and bin k is at h = k. It equals the samples at
    /// the bins and, between them, keeps the detail that linear interpolation smooths; it rings more at edges, and
    /// ISOC_CT_FILTER_SHEPP_LOGAN then rings less than ISOC_CT_FILTER_RAM_LAK. P is the library's choice, such that no pixel comes
    /// within 8 bins of a repetition. The sum over views is a non-uniform fast Fourier transform, exact to isoc_ct_options.tolerance:
    /// N^2 log N operations a slice of N x N pixels from N views in place of N^3. isoc_ct_options.kernel must be ISOC_CT_KERNEL_AUTO.
    /// Beyond the detector's ends a ray contributes the value of q, which falls off with the distance, in place of 0.
    BandLimited = 3,
}

/// What isoc_ct_forward computes; isoc_ct_adjoint is its transpose.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_projector {
    /// Joseph's method: along a ray from line to line of pixels, linear interpolation between them.
    Joseph = 0,
    /// Line integrals of the band-limited function through the pixels, sampled at the bins as far as bins can tell frequencies apart. With
    /// a the pixel size, b the bin pitch, h as in isoc_ct_geometry and P in isoc_ct_info.period:
    /// projections(k) = a^2 / (b P) sum over pixels x and f = -F .. F of volume(x) exp(2 pi i f (k - h(x)) / P), the two ends with half
    /// their weight; F is P / 2, or less where pixels are wider than bins: of the frequencies that pixels can tell apart, b P / (2 a m)
    /// rounded down (but 1 at least) with m = max(|cos|, |sin|) of the view's angle. Where F is P / 2 the adjoint is a^2 / b times the
    /// back projection by ISOC_CT_INTERPOLATION_BAND_LIMITED. It is exact for images without detail finer than two pixels and rings at
    /// edges, which Joseph's method smooths. Both are non-uniform fast Fourier transforms, exact to isoc_ct_options.tolerance, and each
    /// other's transpose to rounding.
    BandLimited = 1,
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

/// Precision of the data that are back projected on a GPU. Sums are f32 in all. ISOC_CT_INTERPOLATION_BAND_LIMITED has f32 data, whatever is
/// asked for: isoc_ct_options.tolerance says how exact it is.
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
    /// without one that cannot be line integrals (whole numbers, huge ones, mostly negative ones, or about 1 beside the object) are
    /// warned of in the log: once after each change of geometry, options or flat field some rows are looked at.
    Auto = 0,
    /// Counts, of any type: -ln((raw - dark) / (flat - dark)) with the flat field, which there must be.
    Counts = 1,
    /// f32 transmissions, (raw - dark) / (flat - dark): -ln of them. The flat field is not used.
    Transmission = 2,
    /// f32 line integrals, taken as they are. The flat field is not used.
    LineIntegrals = 3,
}

/// How `reconstruct` and `reconstruct_stream` make slices of line integrals. All but the first are iterative, by the matched pair
/// `forward` and `adjoint`, A and A^T here, without angular weights, filter or interpolation; isoc_ct_set_iterative says how they go on.
/// b are the line integrals, x is a slice. Each slice is a problem of its own.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_algorithm {
    /// Filtered back projection.
    Fbp = 0,
    /// SIRT: x = x + relaxation C A^T R (b - A x), with R and C one over the sums of A along rays and over pixels (0 where a sum is less
    /// than a thousandth of a pixel: such pixels stay as they are). It makes
    /// (b - A x)^T R (b - A x) / 2 smaller, smooth parts first. With subsets of the views OS-SART, and SART where each has one view:
    /// faster in the beginning, with an error that relaxation keeps down.
    Sirt = 1,
    /// CGLS: conjugate gradient for the minimum of (|b - A x|^2 + regularisation |x|^2) / 2: the fastest way there without bounds.
    Cgls = 2,
    /// MLEM: x = x / (A^T 1) A^T (b / A x), for data that follow Poisson's law and are not negative. It makes
    /// sum of b ln(b / A x) - b + A x smaller. With subsets of the views OSEM. Rays whose sum is less than a thousandth of a pixel are left
    /// out. A pixel that no ray of a subset meets stays as it is; one that no ray meets at all is 0, but of a given start.
    Mlem = 3,
    /// Total variation: the minimum of |b - A x|^2 / 2 (or of what isoc_ct_iterative.fit says) + regularisation sum of |D x| within bounds, D
    /// the differences to the next pixel of the row and of the column, |D x| the length of both. For few views, and noise: it keeps edges,
    /// and flattens what lies between. Ends by a duality gap, which bounds how far the objective is above its minimum, for certain but for
    /// rounding.
    TotalVariation = 4,
    /// FISTA: the minimum of (|b - A x|^2 + regularisation |x|^2) / 2 within bounds, by accelerated projected gradient: least squares that
    /// keep bounds. Ends by a gap where there are two bounds or a regularisation above 0.
    Fista = 5,
}

/// What the filter sees beyond the ends of a row.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_padding {
    /// Zeros: right when the object fits the detector.
    Zero = 0,
    /// The edge values, for ever: milder when it does not.
    Edge = 1,
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
    /// An isoc_ct_kernel: the back projector on a GPU; ISOC_CT_KERNEL_AUTO with ISOC_CT_INTERPOLATION_BAND_LIMITED.
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
    /// Counts and transmissions: a transmission below this is raised to it before the logarithm; 1.2e-38 or more and below 1; 0 means 1e-6.
    pub minimum_transmission: f64,
    /// An isoc_ct_precision: of back-projected data on a GPU.
    pub precision: u32,
    /// An isoc_ct_input: what projections hold.
    pub input: u32,
    /// ISOC_CT_INTERPOLATION_BAND_LIMITED and ISOC_CT_PROJECTOR_BAND_LIMITED: how near results come to the exact sum: l2 norm of their
    /// difference over that of the exact sum, 1e-6 to 1e-2; 0 means 1e-4. Checked, and not used, with others.
    pub tolerance: f64,
    /// An isoc_ct_projector: what `forward` and `adjoint` are, and what ISOC_CT_ALGORITHM_CGLS and ISOC_CT_ALGORITHM_TOTAL_VARIATION go by;
    /// the other iterative algorithms need weights that are not negative, those of ISOC_CT_PROJECTOR_JOSEPH.
    pub projector: u32,
    /// An isoc_ct_algorithm: how `reconstruct` and `reconstruct_stream` reconstruct.
    pub algorithm: u32,
}

// SAFETY: numbers and a pointer; all zero is valid.
unsafe impl Sized32 for isoc_ct_options {
    const NAME: &'static str = "isoc_ct_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_options {
    /// # Safety
    /// `response` is as the field's documentation says.
    pub(super) unsafe fn to_options(self) -> Result<Options> {
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
            3 => Interpolation::BandLimited,
            v => fail!(UnknownValue, "options.interpolation is {v}; it must be 0 to 3 (isoc_ct_interpolation)"),
        };
        let pair = match self.projector {
            0 => Pair::Joseph,
            1 => Pair::BandLimited,
            v => fail!(UnknownValue, "options.projector is {v}; it must be 0 or 1 (isoc_ct_projector)"),
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
        let algorithm = match self.algorithm {
            0 => Algorithm::Fbp,
            1 => Algorithm::Sirt,
            2 => Algorithm::Cgls,
            3 => Algorithm::Mlem,
            4 => Algorithm::TotalVariation,
            5 => Algorithm::Fista,
            v => fail!(UnknownValue, "options.algorithm is {v}; it must be 0 to 5 (isoc_ct_algorithm)"),
        };
        let minimum_transmission = if self.minimum_transmission == 0.0 { 1e-6 } else { self.minimum_transmission };
        let tolerance = if self.tolerance == 0.0 { 1e-4 } else { self.tolerance };
        let weighted_backprojection = self.weighted_backprojection != 0;
        Ok(Options {
            algorithm,
            filter,
            interpolation,
            padding,
            weighted_backprojection,
            minimum_transmission,
            kernel,
            precision,
            input,
            pair,
            tolerance,
        })
    }
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
/// table. With ISOC_CT_INTERPOLATION_BAND_LIMITED there is one back projector: the log gets its rate in the same unit, updates of the sum
/// over views that it stands for, so that the two can be compared. Takes some seconds at most for slices of 2048 x 2048; without a GPU it
/// does nothing.
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

/* Isocenter: image reconstruction for scanners. C API.
 *
 * Create a context, make a plan, set its geometry, reconstruct:
 *
 *     isoc_context *ctx; isoc_context_create(NULL, &ctx);
 *     isoc_ct *ct;       isoc_ct_create(ctx, &ct);
 *     isoc_ct_geometry g = { .struct_size = sizeof g, .views = views, .bins = bins, .rows = rows, .angles = radians };
 *     isoc_ct_set_geometry(ct, &g);
 *     int64_t ps[] = { views, rows, bins }, vs[] = { rows, bins, bins };
 *     isoc_tensor p = { projections, ISOC_HOST, 3, ISOC_F32, ps }, v = { volume, ISOC_HOST, 3, ISOC_F32, vs };
 *     if (isoc_ct_reconstruct(ct, &p, &v) != ISOC_STATUS_OK) puts(isoc_last_error());
 *     isoc_ct_destroy(ct); isoc_context_destroy(ctx);
 *
 * Every call returns an isoc_status; isoc_last_error() has the words. No call aborts, exits or throws, whatever comes in.
 * Handles are owned by their maker and used from any thread: calls on one plan wait for each other, different plans run at
 * the same time. Pointers are NULL or point at what the documentation says, for the length of the call. Structs begin with
 * struct_size; a zero field means its default; new fields are only appended.
 *
 * A call that fills a list of the caller's takes its capacity in elements, and sets a count, which may be NULL, to the number that there
 * is. NULL with capacity 0 asks for the number alone. Where a capacity is too small the call is ISOC_STATUS_OUT_OF_RANGE, and nothing
 * but counts is written: lists are whole, whatever other threads do to the plan between a question and the call.
 *
 * A context computes on all NVIDIA GPUs that it finds, and on the processor where there is none: see isoc_context_options.device.
 * Arrays may be in host memory or on the GPU: see isoc_tensor.
 *
 * Made by cbindgen from src/ffi: do not edit. Licence: MIT or Apache-2.0.
 */


#ifndef ISOCENTER_H
#define ISOCENTER_H

#include <stdint.h>

/* Initialisers for isoc_tensor: isoc_tensor t = { data, ISOC_HOST, 3, ISOC_F32, shape, NULL, 0 }; */
#define ISOC_HOST { 1, 0 }
#define ISOC_F16 { 2, 16, 1 }
#define ISOC_F32 { 2, 32, 1 }
#define ISOC_F64 { 2, 64, 1 }
#define ISOC_C64 { 5, 64, 1 }
#define ISOC_C128 { 5, 128, 1 }
#define ISOC_U32 { 1, 32, 1 }
#define ISOC_U16 { 1, 16, 1 }
#define ISOC_U8 { 1, 8, 1 }

// Host memory (DLPack's kDLCPU). A device_type of 0 means the same.
#define ISOC_DEVICE_HOST 1

// Memory of an NVIDIA GPU (DLPack's kDLCUDA) that the context computes on: used in place.
#define ISOC_DEVICE_CUDA 2

// Page-locked host memory (DLPack's kDLCUDAHost). Host memory is looked up, so ISOC_DEVICE_HOST serves it as well.
#define ISOC_DEVICE_CUDA_HOST 3

// Unsigned integers (DLPack's kDLUInt).
#define ISOC_DTYPE_UINT 1

// Floating point (DLPack's kDLFloat).
#define ISOC_DTYPE_FLOAT 2

// Complex floating point, real part first (DLPack's kDLComplex).
#define ISOC_DTYPE_COMPLEX 5

// Number of the ABI: a program built against another number must be rebuilt.
#define ISOC_ABI_VERSION 2

// Number of ellipses of a Shepp-Logan phantom.
#define ISOC_CT_SHEPP_LOGAN_ELLIPSES 10

// Number of ellipsoids of a Shepp-Logan head.
#define ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS 10

// What a call returns. Values are fixed and never reused; new ones are only appended.
typedef int32_t isoc_status;
enum {
    // Success.
    ISOC_STATUS_OK = 0,
    // A required pointer is NULL.
    ISOC_STATUS_NULL_POINTER = 1,
    // Not a handle of this library, of another type, or already destroyed.
    ISOC_STATUS_INVALID_HANDLE = 2,
    // `struct_size` is smaller than the first version of the struct, or larger than this library knows.
    ISOC_STATUS_STRUCT_SIZE = 3,
    // An enumeration field holds a value that this library does not know.
    ISOC_STATUS_UNKNOWN_VALUE = 4,
    // A number lies outside its allowed range (zero or negative sizes among them).
    ISOC_STATUS_OUT_OF_RANGE = 5,
    // A product of sizes does not fit 64 bits or the address space.
    ISOC_STATUS_SIZE_OVERFLOW = 6,
    // NaN or Inf in a geometry or option field.
    ISOC_STATUS_NOT_FINITE_PARAMETER = 7,
    // NaN or Inf in a data tensor, with the NaN policy set to error.
    ISOC_STATUS_NOT_FINITE_DATA = 8,
    // A tensor has the wrong number of dimensions.
    ISOC_STATUS_TENSOR_NDIM = 9,
    // A tensor has an element type that this call does not take.
    ISOC_STATUS_TENSOR_DTYPE = 10,
    // A tensor's shape does not match the geometry.
    ISOC_STATUS_TENSOR_SHAPE = 11,
    // A tensor's strides reach before its buffer, wrap round the address space, misalign its elements, or make an output overlap itself.
    ISOC_STATUS_TENSOR_STRIDES = 12,
    // A tensor lives on a device that this context does not own.
    ISOC_STATUS_TENSOR_DEVICE = 13,
    // Input and output share memory.
    ISOC_STATUS_OVERLAP = 14,
    // Angular weights need at least two views.
    ISOC_STATUS_TOO_FEW_VIEWS = 15,
    // Angular weights need at least two different angles (modulo pi).
    ISOC_STATUS_EQUAL_ANGLES = 16,
    // A flat field that is not above its dark field, or raw counts without a flat field.
    ISOC_STATUS_FLAT_FIELD = 17,
    // A call came before the one that it needs (for example `reconstruct` before `set_geometry`).
    ISOC_STATUS_NOT_CONFIGURED = 18,
    // The context's memory cap is too small for the smallest piece of the work.
    ISOC_STATUS_MEMORY_CAP = 19,
    // The machine is out of memory.
    ISOC_STATUS_OUT_OF_MEMORY = 20,
    // The progress callback asked to stop.
    ISOC_STATUS_CANCELLED = 21,
    // The handle is in use by the very call whose callback made this call.
    ISOC_STATUS_BUSY = 22,
    // A fault inside the library, caught before it could harm the process. Please report it.
    ISOC_STATUS_INTERNAL = 23,
    // No NVIDIA driver, no GPU, or no GPU of that index.
    ISOC_STATUS_NO_DEVICE = 24,
    // The NVIDIA driver is older than the kernels need.
    ISOC_STATUS_DRIVER_TOO_OLD = 25,
    // The library was built without GPU kernels, or without any that this GPU runs.
    ISOC_STATUS_NO_KERNEL_IMAGE = 26,
    // A CUDA call failed; the message names it and has CUDA's own text.
    ISOC_STATUS_CUDA = 27,
    // A read or write callback returned non-zero.
    ISOC_STATUS_CALLBACK = 28,
};

// Where a context computes.
typedef uint32_t isoc_context_device;
enum {
    // All NVIDIA GPUs, or the processor where there is none that this library can use (the log says why).
    ISOC_CONTEXT_DEVICE_AUTO = 0,
    // The processor.
    ISOC_CONTEXT_DEVICE_CPU = 1,
    // NVIDIA GPUs: isoc_context_options.gpus, or all of them.
    ISOC_CONTEXT_DEVICE_GPU = 2,
};

// What to do with NaN and Inf in data.
typedef uint32_t isoc_nan_policy;
enum {
    // ISOC_STATUS_NOT_FINITE_DATA, naming the first index, the output untouched. On a GPU slabs are looked at one by one: the
    // index is the slab's first, and slabs before it may have been written, with several GPUs others too (that slab too if the
    // output is on the GPU).
    ISOC_NAN_POLICY_ERROR = 0,
    // Replace by zero, and count (isoc_ct_info.replaced_values).
    ISOC_NAN_POLICY_REPLACE = 1,
};

// Filter: the ramp, with a frequency window over f = frequency / (cutoff x Nyquist), zero above f = 1 except for Butterworth. Rows are convolved
// with the Fourier integral of both, whatever lengths transforms have.
typedef uint32_t isoc_ct_filter_kind;
enum {
    // The plain ramp.
    ISOC_CT_FILTER_RAM_LAK = 0,
    // sinc(f / 2).
    ISOC_CT_FILTER_SHEPP_LOGAN = 1,
    // cos(pi f / 2).
    ISOC_CT_FILTER_COSINE = 2,
    // 0.54 + 0.46 cos(pi f).
    ISOC_CT_FILTER_HAMMING = 3,
    // 0.5 + 0.5 cos(pi f).
    ISOC_CT_FILTER_HANN = 4,
    // 1 - 6 f^2 (1 - f) up to f = 1/2, 2 (1 - f)^3 above.
    ISOC_CT_FILTER_PARZEN = 5,
    // 1 / sqrt(1 + f^(2 order)); its cutoff defaults to half of Nyquist.
    ISOC_CT_FILTER_BUTTERWORTH = 6,
    // No filter: `reconstruct` is then the weighted back projection of the projections as they are.
    ISOC_CT_FILTER_NONE = 7,
    // The caller's frequency response, in place of ramp and window: see isoc_ct_options.response.
    ISOC_CT_FILTER_CUSTOM = 8,
};

// How `backproject` and `reconstruct` (streams too) read a row between its bins. Outside the detector a ray contributes 0, but for
// ISOC_CT_INTERPOLATION_BAND_LIMITED. What `forward` and `adjoint` do is isoc_ct_options.projector's choice.
typedef uint32_t isoc_ct_interpolation;
enum {
    // Linear, exact in f32.
    ISOC_CT_INTERPOLATION_LINEAR = 0,
    // The nearest bin.
    ISOC_CT_INTERPOLATION_NEAREST = 1,
    // The nearest of four samples a bin, made once by linear interpolation: close to linear, with fewer operations a pixel.
    ISOC_CT_INTERPOLATION_OVERSAMPLED = 2,
    // Band-limited: through the row's samples and zeros beyond its ends goes a trigonometric polynomial, which repeats after P bins
    // (isoc_ct_info.period): q(h) = (1/P) sum over f = -P/2 .. P/2 of Q(f) exp(2 pi i f h / P), the two ends with half their weight,
    // where Q is the discrete Fourier transform of the row, filtered in `reconstruct`, and bin k is at h = k. It equals the samples at
    // the bins and, between them, keeps the detail that linear interpolation smooths; it rings more at edges, and
    // ISOC_CT_FILTER_SHEPP_LOGAN then rings less than ISOC_CT_FILTER_RAM_LAK. P is the library's choice, such that no pixel comes
    // within 8 bins of a repetition. The sum over views is a non-uniform fast Fourier transform, exact to isoc_ct_options.tolerance:
    // N^2 log N operations a slice of N x N pixels from N views in place of N^3. isoc_ct_options.kernel must be ISOC_CT_KERNEL_AUTO.
    // Beyond the detector's ends a ray contributes the value of q, which falls off with the distance, in place of 0.
    ISOC_CT_INTERPOLATION_BAND_LIMITED = 3,
};

// What isoc_ct_forward computes; isoc_ct_adjoint is its transpose.
typedef uint32_t isoc_ct_projector;
enum {
    // Joseph's method: along a ray from line to line of pixels, linear interpolation between them.
    ISOC_CT_PROJECTOR_JOSEPH = 0,
    // Line integrals of the band-limited function through the pixels, sampled at the bins as far as bins can tell frequencies apart. With
    // a the pixel size, b the bin pitch, h as in isoc_ct_geometry and P in isoc_ct_info.period:
    // projections(k) = a^2 / (b P) sum over pixels x and f = -F .. F of volume(x) exp(2 pi i f (k - h(x)) / P), the two ends with half
    // their weight; F is P / 2, or less where pixels are wider than bins: of the frequencies that pixels can tell apart, b P / (2 a m)
    // rounded down (but 1 at least) with m = max(|cos|, |sin|) of the view's angle. Where F is P / 2 the adjoint is a^2 / b times the
    // back projection by ISOC_CT_INTERPOLATION_BAND_LIMITED. It is exact for images without detail finer than two pixels and rings at
    // edges, which Joseph's method smooths. Both are non-uniform fast Fourier transforms, exact to isoc_ct_options.tolerance, and each
    // other's transpose to rounding.
    ISOC_CT_PROJECTOR_BAND_LIMITED = 1,
};

// What the projections of `filter`, `reconstruct` and `reconstruct_stream` hold, and so what is done to them first; other calls
// take f32 as they are.
typedef uint32_t isoc_ct_input;
enum {
    // u16 and u8 are counts, f32 are line integrals. f32 while the plan has a flat field may be either: ISOC_STATUS_FLAT_FIELD. f32
    // without one that cannot be line integrals (whole numbers, huge ones, mostly negative ones, or about 1 beside the object) are
    // warned of in the log: once after each change of geometry, options or flat field some rows are looked at.
    ISOC_CT_INPUT_AUTO = 0,
    // Counts, of any type: -ln((raw - dark) / (flat - dark)) with the flat field, which there must be.
    ISOC_CT_INPUT_COUNTS = 1,
    // f32 transmissions, (raw - dark) / (flat - dark): -ln of them. The flat field is not used.
    ISOC_CT_INPUT_TRANSMISSION = 2,
    // f32 line integrals, taken as they are. The flat field is not used.
    ISOC_CT_INPUT_LINE_INTEGRALS = 3,
};

// Family of back projectors on a GPU. The processor has one of its own.
typedef uint32_t isoc_ct_kernel;
enum {
    // The fastest that keeps the precision asked for.
    ISOC_CT_KERNEL_AUTO = 0,
    // Texture units, a pixel a thread along rows, as most codes do it: for comparison. Linear weights have 8 bits, so that
    // values are off by up to 3e-3 of the largest.
    ISOC_CT_KERNEL_TEXTURE_STANDARD = 1,
    // Texture units, pixels in squares: one or two slices of f32 data, four of f16. The same weights.
    ISOC_CT_KERNEL_TEXTURE = 2,
    // Bins cached in shared memory and interpolated exactly in f32: one, two or four slices of f32 data, up to eight of f16.
    ISOC_CT_KERNEL_ALU = 3,
    // Blocks of both kinds side by side on each multiprocessor. With half precision the texture half has weights of 8 bits, as
    // in ISOC_CT_KERNEL_TEXTURE.
    ISOC_CT_KERNEL_HYBRID = 4,
    // Weights times data on tensor cores: the fastest for many slices. Pixels up to 1.41 bins wide.
    ISOC_CT_KERNEL_TENSOR = 5,
};

// Precision of the data that are back projected on a GPU. Sums are f32 in all. ISOC_CT_INTERPOLATION_BAND_LIMITED has f32 data, whatever is
// asked for: isoc_ct_options.tolerance says how exact it is.
typedef uint32_t isoc_ct_precision;
enum {
    // f32 grade: within 2e-5 of the largest value of the exact sum (measured: 1e-6 to 4e-6).
    ISOC_CT_PRECISION_SINGLE = 0,
    // Data of half precision: off by 3e-4 to 5e-4 of the largest value (random data), and faster.
    ISOC_CT_PRECISION_HALF = 1,
};

// How `reconstruct` and `reconstruct_stream` make slices of line integrals. All but the first are iterative, by the matched pair
// `forward` and `adjoint`, A and A^T here, without angular weights, filter or interpolation; isoc_ct_set_iterative says how they go on.
// b are the line integrals, x is a slice. Each slice is a problem of its own.
typedef uint32_t isoc_ct_algorithm;
enum {
    // Filtered back projection.
    ISOC_CT_ALGORITHM_FBP = 0,
    // SIRT: x = x + relaxation C A^T R (b - A x), with R and C one over the sums of A along rays and over pixels (0 where a sum is less
    // than a thousandth of a pixel: such pixels stay as they are). It makes
    // (b - A x)^T R (b - A x) / 2 smaller, smooth parts first. With subsets of the views OS-SART, and SART where each has one view:
    // faster in the beginning, with an error that relaxation keeps down.
    ISOC_CT_ALGORITHM_SIRT = 1,
    // CGLS: conjugate gradient for the minimum of (|b - A x|^2 + regularisation |x|^2) / 2: the fastest way there without bounds.
    ISOC_CT_ALGORITHM_CGLS = 2,
    // MLEM: x = x / (A^T 1) A^T (b / A x), for data that follow Poisson's law and are not negative. It makes
    // sum of b ln(b / A x) - b + A x smaller. With subsets of the views OSEM. Rays whose sum is less than a thousandth of a pixel are left
    // out. A pixel that no ray of a subset meets stays as it is; one that no ray meets at all is 0, but of a given start.
    ISOC_CT_ALGORITHM_MLEM = 3,
    // Total variation: the minimum of |b - A x|^2 / 2 (or of what isoc_ct_iterative.fit says) + regularisation sum of |D x| within bounds, D
    // the differences to the next pixel of the row and of the column, |D x| the length of both. For few views, and noise: it keeps edges,
    // and flattens what lies between. Ends by a duality gap, which bounds how far the objective is above its minimum, for certain but for
    // rounding.
    ISOC_CT_ALGORITHM_TOTAL_VARIATION = 4,
    // FISTA: the minimum of (|b - A x|^2 + regularisation |x|^2) / 2 within bounds, by accelerated projected gradient: least squares that
    // keep bounds. Ends by a gap where there are two bounds or a regularisation above 0.
    ISOC_CT_ALGORITHM_FISTA = 5,
};

// Bounds that each step keeps values within.
typedef uint32_t isoc_ct_bounds;
enum {
    // None.
    ISOC_CT_BOUNDS_NONE = 0,
    // 0 or more.
    ISOC_CT_BOUNDS_NON_NEGATIVE = 1,
    // isoc_ct_iterative.lower to upper; infinite ones are none.
    ISOC_CT_BOUNDS_BOX = 2,
};

// What the first iteration begins with.
typedef uint32_t isoc_ct_start;
enum {
    // Zeros; ones for ISOC_CT_ALGORITHM_MLEM, whose second image does not depend on them.
    ISOC_CT_START_UNIFORM = 0,
    // What the volume holds, f32: an earlier result, or that of filtered back projection; moved into the bounds. Not for streams, nor
    // with isoc_ct_set_output.
    ISOC_CT_START_VOLUME = 1,
};

// How A^T A is applied where a method has no other use for A: ISOC_CT_ALGORITHM_CGLS and ISOC_CT_ALGORITHM_FISTA.
typedef uint32_t isoc_ct_normal;
enum {
    // By the pair; for ISOC_CT_ALGORITHM_FISTA as a convolution where it is one but for what a detector's ends cut off. The log says which, and why.
    ISOC_CT_NORMAL_AUTO = 0,
    // By A, then A^T.
    ISOC_CT_NORMAL_PAIR = 1,
    // As a convolution: one padded FFT each way, whatever the number of views. That is what A^T A is of the band-limited pair
    // (isoc_ct_options.projector) where all pixels, or those inside the circle of mask_radius, fall on the detector in all views; else
    // ISOC_STATUS_OUT_OF_RANGE. ISOC_CT_ALGORITHM_FISTA takes the gradient from the pair after each 20 iterations, comes to the pair's minimum, and tells the
    // pair's objective; ISOC_CT_ALGORITHM_CGLS comes to the convolution's minimum, and tells the convolution's.
    ISOC_CT_NORMAL_TOEPLITZ = 2,
};

// How much each ray counts in least squares: with weights W it is (b - A x)^T W (b - A x).
typedef uint32_t isoc_ct_weighting;
enum {
    // All alike.
    ISOC_CT_WEIGHTING_UNIFORM = 0,
    // By its transmission: exp(-b), b the line integral, at most 1. N photons leave a variance of 1 / N in it, so that this is right where
    // those of the beam are the same in all rays; the objective then counts variances of the open beam.
    ISOC_CT_WEIGHTING_TRANSMISSION = 1,
    // By isoc_ct_set_ray_weights.
    ISOC_CT_WEIGHTING_GIVEN = 2,
};

// How total variation measures what an image leaves of the data.
typedef uint32_t isoc_ct_fit;
enum {
    // By squares: |b - A x|^2 / 2.
    ISOC_CT_FIT_SQUARES = 0,
    // By Poisson's law: sum of A x - b + b ln(b / A x), for counts of emission or fluorescence, which must not be negative. Rays whose sum
    // is less than a thousandth of a pixel are left out. Needs two bounds of 0 or more.
    ISOC_CT_FIT_POISSON = 1,
};

// Whose differences total variation counts.
typedef uint32_t isoc_ct_variation;
enum {
    // Of pixels next to each other in a slice: slices are independent.
    ISOC_CT_VARIATION_SLICES = 0,
    // Of neighbouring slices, too, times pixel_size / bin_pitch, since rows of the detector are as far apart as its bins: |D x| is the length
    // of three differences. All slices have one objective and one gap, and are worked on together: they must fit the processor's memory_cap.
    // Where they do not fit a GPU, or where several GPUs share them, they are in host memory, within memory_cap, and pieces of them on a GPU
    // in turn, each with 22 slices of its neighbours on either side: results are the same to the bit. What is needed is told with
    // ISOC_STATUS_MEMORY_CAP. Not with percentiles (isoc_ct_set_output).
    ISOC_CT_VARIATION_VOLUME = 1,
};

// What the filter sees beyond the ends of a row.
typedef uint32_t isoc_ct_padding;
enum {
    // Zeros: right when the object fits the detector.
    ISOC_CT_PADDING_ZERO = 0,
    // The edge values, for ever: milder when it does not.
    ISOC_CT_PADDING_EDGE = 1,
};

// Element type of the volume that `reconstruct` and `reconstruct_stream` write.
typedef uint32_t isoc_ct_output_type;
enum {
    // f32 (ISOC_F32): the values.
    ISOC_CT_OUTPUT_TYPE_F32 = 0,
    // u8 (ISOC_U8): 0 to 255 over the window.
    ISOC_CT_OUTPUT_TYPE_U8 = 1,
    // u16 (ISOC_U16): 0 to 65535 over the window.
    ISOC_CT_OUTPUT_TYPE_U16 = 2,
    // f16 (ISOC_F16): the values, or, with a window or percentiles, 0 to 1 over the window.
    ISOC_CT_OUTPUT_TYPE_F16 = 3,
};

// What isoc_ct_outliers.threshold is a multiple of.
typedef uint32_t isoc_ct_outlier_unit;
enum {
    // The noise of the neighbourhood: 1.4826 times the median of the distances from its median, and at least a 200th of that median.
    ISOC_CT_OUTLIER_UNIT_NOISE = 0,
    // The median of the neighbourhood.
    ISOC_CT_OUTLIER_UNIT_MEDIAN = 1,
    // Counts.
    ISOC_CT_OUTLIER_UNIT_COUNT = 2,
};

// Which values isoc_ct_outliers means.
typedef uint32_t isoc_ct_outlier_side;
enum {
    // Those above the median, as X rays and particles that hit the sensor leave them (zingers).
    ISOC_CT_OUTLIER_SIDE_BRIGHT = 0,
    // Those below the median.
    ISOC_CT_OUTLIER_SIDE_DARK = 1,
    // Either.
    ISOC_CT_OUTLIER_SIDE_BOTH = 2,
};

// What becomes of several frames.
typedef uint32_t isoc_ct_combine;
enum {
    // Their mean.
    ISOC_CT_COMBINE_MEAN = 0,
    // Their median, pixel by pixel; of an even number the mean of the middle two.
    ISOC_CT_COMBINE_MEDIAN = 1,
};

// Formula of isoc_ct_phase. Transmissions I of a frame, their transform over both axes of the detector, f the frequency there in cycles a
// bin, F = wavelength * distance / pixel^2, d = delta_beta.
typedef uint32_t isoc_ct_phase_method;
enum {
    // One material (or one ratio), any contrast: D. Paganin, S. C. Mayo, T. E. Gureyev, P. R. Miller, S. W. Wilkins, Journal of
    // Microscopy 206, 33 (2002). Line integrals are -ln of I filtered by 1 / (1 + pi F d f^2).
    ISOC_CT_PHASE_METHOD_PAGANIN = 0,
    // One ratio, weak contrast, distances of more than the near field: contrast transfer function (P. Cloetens et al., Applied Physics
    // Letters 75, 2912 (1999)) of one distance, c = cos x + d sin x, x = pi F f^2. Line integrals are 1 - I filtered by
    // (1 + alpha) c / (c^2 + alpha (1 + (d sin min(x, pi / 2))^2)).
    ISOC_CT_PHASE_METHOD_CTF = 1,
};

// A way to remove stripes: what a bin of the detector does wrong in many views, and what becomes a ring in a slice.
typedef uint32_t isoc_ct_stripe_method;
enum {
    // What stands out from noise, and nothing else: a bin's offset from what its neighbours say (a robust local parabola through the
    // means over views) is taken off where noise cannot have made it; bins that are dead, that fluctuate, or that are off in a part of
    // the views, are replaced by their neighbours. No parameters. Clean data stay as they are, to noise; fewer than 16 views or
    // 16 bins stay altogether. Views are taken in their order for that of the scan.
    ISOC_CT_STRIPE_METHOD_SIGNIFICANT = 0,
    // N. T. Vo, R. C. Atwood, M. Drakopoulos, Optics Express 26, 28396 (2018): dead and fluctuating stripes (algorithm 6), large ones (5),
    // the rest by sorting (3). Uses snr, large_window, small_window and drop_ratio.
    ISOC_CT_STRIPE_METHOD_VO = 1,
    // Algorithm 3 of the same alone: each bin's values over views in rising order, a median over bins at each rank, and back. Uses
    // small_window.
    ISOC_CT_STRIPE_METHOD_SORTING = 2,
    // S. Titarenko, P. J. Withers, A. Yagola, Applied Mathematics Letters 23, 1489 (2010): the offsets o, one a bin, that make the means
    // m over views smooth: sum of ((m - o)(k + 1) - (m - o)(k))^2 + alpha sum of o(k)^2 smallest. Uses alpha.
    ISOC_CT_STRIPE_METHOD_REGULARISED = 3,
    // B. Munch, P. Trtik, F. Marone, M. Stampanoni, Optics Express 17, 8567 (2009): of each level's wavelet coefficients that are high
    // along bins and low along views, frequency f along views (whole waves over the coefficients) is multiplied by
    // 1 - exp(-f^2 / (2 sigma^2)). Before that the sinogram is padded by a tenth of its shorter side, 150 at most, on all sides: along
    // views with each bin's mean, along bins with the value at the end. Uses levels, sigma and wavelet.
    ISOC_CT_STRIPE_METHOD_WAVELET_FOURIER = 4,
};

// How the weights of a half acquisition rise from 0 to 2 over the bins that opposite views both see; u is a bin's distance from its
// view's axis, -1 to 1 over the overlap, positive towards the detector's larger part.
typedef uint32_t isoc_ct_rise;
enum {
    // 1 + u (3 - u^2) / 2, whose slope begins and ends with 0.
    ISOC_CT_RISE_SMOOTH = 0,
    // 1 + u.
    ISOC_CT_RISE_LINEAR = 1,
};

// Order of the dimensions of projections.
typedef uint32_t isoc_ct_order;
enum {
    // Frames: (views, rows, bins).
    ISOC_CT_ORDER_FRAMES = 0,
    // Sinograms: (rows, views, bins).
    ISOC_CT_ORDER_SINOGRAMS = 1,
};

// How isoc_ct_find_axis looks for the axis.
typedef uint32_t isoc_ct_axis_method;
enum {
    // ISOC_CT_AXIS_METHOD_OPPOSITE_VIEWS where two views are half a turn apart (to a tenth of a step), or most views lie between two of such (an odd
    // number of views a turn), checked by ISOC_CT_AXIS_METHOD_SINOGRAM, else that. Where they contradict each other by a bin, or have too little to go by,
    // ISOC_CT_AXIS_METHOD_SHARPNESS decides, and the confidence is halved; where it agrees with none of them the axis cannot be told.
    ISOC_CT_AXIS_METHOD_AUTO = 0,
    // Views half a turn apart are each other's mirror images: up to 24 such pairs, spread over the turn, and the views about each. Bins and views that a
    // detector has spoiled (dead, flickering, without beam) are seen for what they are, and left out.
    ISOC_CT_AXIS_METHOD_OPPOSITE_VIEWS = 1,
    // Half a turn alone, at any angles: where it ends it continues with its first views, mirrored.
    ISOC_CT_AXIS_METHOD_SINOGRAM = 2,
    // Trial slices, band-limited, of up to 4 rows averaged to 512 bins at most: where the entropy of their grey values is smallest. For an
    // axis that most of the object is seen from both sides of; slower, and good to a tenth of an averaged
    // bin or so.
    ISOC_CT_AXIS_METHOD_SHARPNESS = 3,
};

// What isoc_ct_find_bad_views finds wrong with a view. All but ISOC_CT_VIEW_FAULT_DOUBTFUL are certain.
typedef uint32_t isoc_ct_view_fault;
enum {
    // Nothing.
    ISOC_CT_VIEW_FAULT_NONE = 0,
    // Counts at the dark level: the beam was off, or a shutter closed. Of counts and transmissions.
    ISOC_CT_VIEW_FAULT_BLACK = 1,
    // Most values are the largest number of the detector, which is 2^n - 1 for 8 bits or more, and above the full beam. Of counts and transmissions.
    ISOC_CT_VIEW_FAULT_SATURATED = 2,
    // All values are those of the view before, at another angle, in a scan whose noise makes any two frames differ.
    ISOC_CT_VIEW_FAULT_FROZEN = 3,
    // Most values are NaN or Inf.
    ISOC_CT_VIEW_FAULT_NOT_FINITE = 4,
    // Darker or brighter than usual by 1.35 or more, all of a sudden: a part of the beam was lost, or it was stronger. Or an object did that.
    ISOC_CT_VIEW_FAULT_DOUBTFUL = 5,
};

// Sets of isoc_ct_shepp_logan.
typedef uint32_t isoc_ct_shepp_logan_kind;
enum {
    // Shepp and Logan 1974: contrasts of 1 to 2 %.
    ISOC_CT_SHEPP_LOGAN_KIND_ORIGINAL = 0,
    // Toft 1996: the same ellipses with contrasts that can be seen.
    ISOC_CT_SHEPP_LOGAN_KIND_MODIFIED = 1,
};

// Unit of a trajectory. 0 is none of them: there is no default, since a wrong guess folds or shrinks the image.
typedef uint32_t isoc_mri_unit;
enum {
    // Within +-0.5.
    ISOC_MRI_UNIT_CYCLES_PER_VOXEL = 1,
    // Within +-N/2 along an axis of N voxels.
    ISOC_MRI_UNIT_CYCLES_PER_FIELD_OF_VIEW = 2,
    // Within +-pi.
    ISOC_MRI_UNIT_RADIANS_PER_VOXEL = 3,
};

// Precision of the arithmetic. Tensors may be of either precision, whatever this is.
typedef uint32_t isoc_mri_precision;
enum {
    // f32.
    ISOC_MRI_PRECISION_SINGLE = 0,
    // f64.
    ISOC_MRI_PRECISION_DOUBLE = 1,
};

// How exact sums with voxel positions or a field map compute sine and cosine.
typedef uint32_t isoc_mri_sines;
enum {
    // To rounding.
    ISOC_MRI_SINES_PRECISE = 0,
    // In single precision on a GPU by its special function units, to 5e-7 of a term, in less time; elsewhere as Precise.
    ISOC_MRI_SINES_HARDWARE = 1,
};

// How coil sensitivities are found.
typedef uint32_t isoc_coil_method;
enum {
    // ESPIRiT: eigenvectors of the projection onto the space of k-space blocks that the calibration data show. Uecker et al., Magn. Reson.
    // Med. 71, 2014.
    ISOC_COIL_METHOD_ESPIRIT = 0,
    // Adaptive combination: eigenvectors of the coils' covariance over a block of voxels in the images of the calibration data. Walsh et al.,
    // Magn. Reson. Med. 43, 2000. Quick, and in every voxel; what the object's own edges do is in it.
    ISOC_COIL_METHOD_ADAPTIVE = 1,
};

// How Fourier sums are computed.
typedef uint32_t isoc_mri_method;
enum {
    // By a fast transform, except with voxel positions and with a field of more than 256 turns.
    ISOC_MRI_METHOD_AUTO = 0,
    // By a non-uniform fast Fourier transform, to isoc_mri_options.tolerance; of samples in planes of constant kz at multiples of 1 / M cycles per
    // voxel, or these and an offset, M from nz to 2.25 nz, by a fast Fourier transform along z and non-uniform ones in the planes.
    ISOC_MRI_METHOD_NUFFT = 1,
    // Term by term, to rounding.
    ISOC_MRI_METHOD_EXACT = 2,
};

// How F^H W F is applied.
typedef uint32_t isoc_mri_normal_kind;
enum {
    // By Q, but with a field on a GPU alone, if iterations times coils are 134 or more or Q is there, of up to 128 turns and if there is
    // memory for it; with voxel positions by pairs.
    ISOC_MRI_NORMAL_KIND_AUTO = 0,
    // By Q: a multiplication on the grid of isoc_mri_info.q_nx, up to twice the image's; with a field isoc_mri_info.normal_terms of them (isoc_mri_set_field).
    ISOC_MRI_NORMAL_KIND_TOEPLITZ = 1,
    // By a forward and an adjoint transform.
    ISOC_MRI_NORMAL_KIND_PAIR = 2,
};

// What images are preferred: lambda times a penalty is minimised together with |F rho - samples|^2 / 2, in the norm of the density
// weights.
typedef uint32_t isoc_mri_penalty;
enum {
    // |R rho|^2 / 2 with R = 1.
    ISOC_MRI_PENALTY_IDENTITY = 0,
    // |R rho|^2 / 2, R the differences between neighbours along every axis, weighted by isoc_mri_set_difference_weights.
    ISOC_MRI_PENALTY_DIFFERENCES = 1,
    // |R rho|^2 / 2, R the matrix of isoc_mri_set_matrix.
    ISOC_MRI_PENALTY_MATRIX = 2,
    // The sum of the absolute values of all coefficients of an orthonormal wavelet transform: images of few wavelets, from few samples.
    ISOC_MRI_PENALTY_WAVELETS = 3,
    // Total variation, the sum over voxels of sqrt(sum over axes |difference|^2), differences weighted by
    // isoc_mri_set_difference_weights: images of few edges.
    ISOC_MRI_PENALTY_VARIATION = 4,
    // The sum of the singular values of blocks of voxels by images: a series (isoc_mri_set_frames, isoc_mri_set_windows,
    // isoc_mri_set_basis), all of whose images are then reconstructed together, that changes in few ways at each place. Zhang, Pauly and
    // Levesque, Magn. Reson. Med. 73, 2015.
    ISOC_MRI_PENALTY_LOW_RANK = 5,
};

// What minimises.
typedef uint32_t isoc_mri_algorithm;
enum {
    // ConjugateGradient for penalties 0 to 2, Fista for the others.
    ISOC_MRI_ALGORITHM_AUTO = 0,
    // Conjugate gradient: for penalties 0 to 2.
    ISOC_MRI_ALGORITHM_CONJUGATE_GRADIENT = 1,
    // Accelerated proximal gradient with restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), its step by the largest
    // curvature met: for penalties 3 to 5. Total variation's proximal step takes 10 rounds on the dual.
    ISOC_MRI_ALGORITHM_FISTA = 2,
    // A primal-dual method (Condat 2013; Vu 2013): for penalties 3 to 5. Less work an iteration than Fista with total variation, and
    // more iterations; wavelets and blocks stay where they are.
    ISOC_MRI_ALGORITHM_PRIMAL_DUAL = 3,
};

// Wavelets, in the field's names.
typedef uint32_t isoc_mri_wavelet;
enum {
    // Daubechies' with four vanishing moments, eight coefficients: "db4".
    ISOC_MRI_WAVELET_DAUBECHIES4 = 0,
    // Haar's.
    ISOC_MRI_WAVELET_HAAR = 1,
};

// How density weights are found.
typedef uint32_t isoc_mri_density;
enum {
    // For any trajectory: weights whose convolution with a kernel (the squared transform of the field of view) is 1 at every sample,
    // which makes F^H W F nearest to 1; `parameter` iterations, 0 means 10. Pipe and Menon, Magn. Reson. Med. 41, 1999, Eq. 10;
    // Johnson and Pipe, 61, 2009. It takes memory and time of a field of view twice as wide, as Q does. No sample stands for more
    // than 1 / (voxels of the image): where they are further apart than the field of view asks for, weights add up to less than the
    // area.
    ISOC_MRI_DENSITY_ITERATIVE = 0,
    // For straight spokes through or from the centre, each of `parameter` evenly spaced samples: a step times the circle (sphere) on
    // which a sample lies, shared by the spokes. Spokes that pass the centre at more than a quarter of their length are an error
    // (ISOC_STATUS_OUT_OF_RANGE), those that go on in the next one or pass it at more than two steps a warning in the log.
    ISOC_MRI_DENSITY_RADIAL = 1,
};

// Contrasts of isoc_mri_shepp_logan.
typedef uint32_t isoc_mri_shepp_logan_kind;
enum {
    // As published.
    ISOC_MRI_SHEPP_LOGAN_KIND_ORIGINAL = 0,
    // Contrasts that can be seen.
    ISOC_MRI_SHEPP_LOGAN_KIND_MODIFIED = 1,
};

// Radial profile of the response.
typedef uint32_t isoc_pet_profile;
enum {
    // A Gaussian.
    ISOC_PET_PROFILE_SYMMETRIC = 0,
    // Two Gaussians: isoc_pet_response.ratio, shift and share.
    ISOC_PET_PROFILE_ASYMMETRIC = 1,
};

// Where a response is cut off.
typedef uint32_t isoc_pet_cut;
enum {
    // At a number of sigmas along each of its axes.
    ISOC_PET_CUT_BOX = 0,
    // At an ellipsoid of a number of sigmas.
    ISOC_PET_CUT_ELLIPSOID = 1,
};

// How projections are computed.
typedef uint32_t isoc_pet_projector;
enum {
    // The faster of the others, for each view; on a GPU Fourier transforms for kernels that do not vary alone.
    ISOC_PET_PROJECTOR_AUTO = 0,
    // Sums over the kernel, to rounding.
    ISOC_PET_PROJECTOR_GATHER = 1,
    // By Fourier transforms; kernels that vary are expanded to isoc_pet_options.tolerance, which takes a while. Values within rounding
    // are 0, expected counts within the tolerance none, and quotients A d / e at most 1e4 times the largest A.
    ISOC_PET_PROJECTOR_FOURIER = 2,
};

// What is iterated.
typedef uint32_t isoc_pet_algorithm;
enum {
    // Block RAMLA, one view a block: `f = f + lambda f H'[A (d / e - 1)]`.
    ISOC_PET_ALGORITHM_RAMLA = 0,
    // Ordered subsets of isoc_pet_options.subsets: `f = f / S H'[A d / e]` with sums over a subset, `S = H' A`; where a
    // subset's S is 0, f stays.
    ISOC_PET_ALGORITHM_OSEM = 1,
    // The same with all views at once: the likelihood never falls.
    ISOC_PET_ALGORITHM_MLEM = 2,
    // Subsets again, up the gradient of the log-likelihood less a prior (isoc_pet_set_prior): `f = max(f + lambda (f + floor) / (S + 2 f h) (subsets x H'[A (d / e - 1)] - beta R'), 0)`,
    // sums over a subset, S of all views, h the sum of the prior's second derivatives by the voxel itself. Steps get smaller with the passes, so that it converges. Without warm start the first pass does without the prior, by two subsets at a time.
    ISOC_PET_ALGORITHM_BSREM = 3,
    // The same, with gradients of subsets corrected by what they were for an earlier image: it converges with steps of the same size, to the same image, in few
    // passes. After the first pass every third one finds the gradient of all views, which is one step alone. Stored: `subsets` images, if they fit, or one, and gradients are found twice.
    ISOC_PET_ALGORITHM_SVRG = 4,
};

// The order of views in a pass.
typedef uint32_t isoc_pet_order;
enum {
    // Each far from the one before, by steps of 0.382 of a half turn.
    ISOC_PET_ORDER_GEOMETRIC = 0,
    // Another in every pass, from isoc_pet_options.seed.
    ISOC_PET_ORDER_RANDOM = 1,
    // That of isoc_pet_set_order.
    ISOC_PET_ORDER_GIVEN = 2,
};

// What two neighbouring voxels f and g cost.
typedef uint32_t isoc_pet_potential;
enum {
    // `(f - g)^2 / (f + g + gamma |f - g| + epsilon)`: differences cost by their size relative to the activity about them.
    ISOC_PET_POTENTIAL_RELATIVE_DIFFERENCE = 0,
    // `(f - g)^2 / 2`; with an edge e, `e^2 (sqrt(1 + ((f - g) / e)^2) - 1)`, which grows as |f - g| beyond it.
    ISOC_PET_POTENTIAL_QUADRATIC = 1,
};

// Shape of a body.
typedef uint32_t isoc_pet_shape;
enum {
    // Along z, circular.
    ISOC_PET_SHAPE_CYLINDER = 0,
    // A sphere if its axes are equal.
    ISOC_PET_SHAPE_ELLIPSOID = 1,
    // A box.
    ISOC_PET_SHAPE_BOX = 2,
};

// Which quantity of a phantom.
typedef uint32_t isoc_pet_quantity;
enum {
    // Activity.
    ISOC_PET_QUANTITY_ACTIVITY = 0,
    // Attenuation.
    ISOC_PET_QUANTITY_ATTENUATION = 1,
};

// Threads, memory cap, callbacks: what plans share. Opaque. Any thread may use it, several at a time. Plans made from it
// keep what they need, so it may be destroyed before them.
//
// After fork(), while no other thread is in a call, a child process makes contexts and plans of its own (on GPUs: if its parent had not
// used them yet). Those of its parent are ISOC_STATUS_INVALID_HANDLE there, and destroying them does nothing.
typedef struct isoc_context isoc_context;

// A plan for parallel-beam CT: geometry, options, flat field. Opaque. Any thread may use it; calls on one plan wait for
// each other, different plans run at the same time.
typedef struct isoc_ct isoc_ct;

// A plan for non-Cartesian MRI: geometry, options, weights, maps, Q. Opaque. Any thread may use it; calls on one plan wait for
// each other, different plans run at the same time. It computes on the first GPU of its context, or on the processor; the
// context's other GPUs take some of the coils where there are coil sensitivities and coils times voxels are 2^23 or more, and frames of a
// series (isoc_mri_set_frames) where frames times coils times voxels are.
//
// Tensors are in host memory, or in the first GPU's: then they are used where they are, in the order that isoc_mri_set_stream sets.
typedef struct isoc_mri isoc_mri;

// A plan for DIRECT time-of-flight PET: lattice, views, response, options. Opaque. Any thread may use it; calls on one plan wait for
// each other, different plans run at the same time. It computes on the first GPU of its context, or on the processor.
//
// The events of a view's directions make a histo-image, in which each lies where its time difference says. The histo-image that
// is expected of an image f is `e_v = A_v (H_v f) + b_v`, with A attenuation x normalisation and b scatter + randoms; H gives
// each voxel of f to the voxels about it by that voxel's kernel, H' is its transpose.
typedef struct isoc_pet isoc_pet;

// Reports progress, some twenty times a second and once at the end (fraction 1, stage "done", return value ignored).
// Returning non-zero cancels that call: it returns ISOC_STATUS_CANCELLED soon after, others go on. Called only from the thread that made
// the call: where several threads make calls with plans of one context, several may be in this function at a time, with the same
// `user`. It must not throw, and must not call the library with the handle that it reports on (ISOC_STATUS_BUSY).
typedef int32_t (*isoc_progress_fn)(void *user, double fraction, const char *stage);

// Gets log messages: level 1 is a warning, 2 a decision that the library took, 3 what iterations have come to (objective and, where it is
// known, how far that is above the minimum at most), some twenty times a second at most. Called only from the thread that made the call, so from several threads at a time as isoc_progress_fn is; it must not throw.
typedef void (*isoc_log_fn)(void *user, int32_t level, const char *message);

// How a context is set up. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_context_options).
    uint32_t struct_size;
    // An isoc_context_device.
    uint32_t device;
    // Worker threads, at most 4096; 0 takes one per processor that this process may use.
    uint32_t threads;
    // An isoc_nan_policy.
    uint32_t nan_policy;
    // Maximum number of bytes of working memory of the host at a time, beyond the caller's arrays: a promise. 0 takes seven eighths of what is
    // available when a call begins (under the limits of a container or a batch job, too), at least 256 MiB.
    uint64_t memory_cap;
    // Progress and cancel, or NULL.
    isoc_progress_fn progress;
    // Passed to `progress`; what it points to is for several threads at a time if several make calls.
    void *progress_user;
    // Log; NULL: warnings go to stderr, each once, decisions nowhere.
    isoc_log_fn log;
    // Passed to `log`.
    void *log_user;
    // ISOC_CONTEXT_DEVICE_GPU: `gpu_count` indices of GPUs as the driver counts them (CUDA_VISIBLE_DEVICES is heeded); NULL
    // takes all. Copied. Several GPUs share the slabs of a call of CT, and the coils of one of MRI where it is large.
    const int32_t *gpus;
    // Number of values in `gpus`.
    int64_t gpu_count;
    // Maximum number of bytes of memory on each GPU, beyond the caller's arrays; 0 takes nine tenths of what is free when a call begins.
    uint64_t gpu_memory_cap;
} isoc_context_options;

// Parallel-beam scan and volume.
//
// Pixel (row i, column j) of a slice projects in view p to the fractional bin
//
//     h = axis_p + (pixel_size / bin_pitch) * ((j - cx) cos t_p - (i - cy) sin t_p)
//     cx = (nx - 1) / 2 + x_offset,   cy = (ny - 1) / 2 + y_offset
//
// where bin k has its centre at k (0-based) and t_p is the view's angle in radians. With y upwards that is x cos t + y sin t.
// A region of interest is an offset with any nx, ny and pixel_size: see isoc_ct_region. Slice z of the volume is detector row first_row + z.
// Views, bins, rows, nx and ny are at most 2^20 each.
typedef struct {
    // sizeof(isoc_ct_geometry).
    uint32_t struct_size;
    // An isoc_ct_order: how projection tensors are laid out.
    uint32_t order;
    // Number of projections.
    int64_t views;
    // Detector bins in a row.
    int64_t bins;
    // Detector rows; 0 means 1.
    int64_t rows;
    // `views` angles in radians, in any order; copied.
    const double *angles;
    // The rotation axis as a fractional bin, `axis_count` values; NULL means (bins - 1) / 2. Copied.
    const double *axis;
    // 1, or `views` for one axis a view; 0 means 1.
    int64_t axis_count;
    // Distance between bins, in any length unit; 0 means 1.
    double bin_pitch;
    // Side of a pixel in the same unit, from bin_pitch / 1024 to 1024 bin_pitch; 0 means bin_pitch.
    double pixel_size;
    // Columns of the volume; 0 means bins.
    int64_t nx;
    // Rows of a slice; 0 means bins.
    int64_t ny;
    // The rotation axis passes through column (nx - 1) / 2 + x_offset of the volume.
    double x_offset;
    // The same for rows. For a part of a slice isoc_ct_region works both out.
    double y_offset;
    // First detector row to reconstruct.
    int64_t first_row;
    // Slices of the volume; 0 means all rows from first_row on.
    int64_t slices;
} isoc_ct_geometry;

// How to reconstruct. Set `struct_size` and zero the rest for the defaults: Ram-Lak, linear, zero padding.
typedef struct {
    // sizeof(isoc_ct_options).
    uint32_t struct_size;
    // An isoc_ct_filter_kind.
    uint32_t filter;
    // An isoc_ct_interpolation.
    uint32_t interpolation;
    // An isoc_ct_padding.
    uint32_t padding;
    // Non-zero: isoc_ct_backproject multiplies each view by its angular weight, as isoc_ct_reconstruct always does.
    uint32_t weighted_backprojection;
    // An isoc_ct_kernel: the back projector on a GPU; ISOC_CT_KERNEL_AUTO with ISOC_CT_INTERPOLATION_BAND_LIMITED.
    uint32_t kernel;
    // End of the window as a fraction of the Nyquist frequency, above 0 up to 1; 0 means 1 (Butterworth: 0.5).
    double cutoff;
    // Order of the Butterworth window, 0.5 to 64; 0 means 4.
    double butterworth_order;
    // ISOC_CT_FILTER_CUSTOM: `response_count` (2 or more) values at frequencies evenly spaced from 0 to Nyquist, both
    // in, linear between them; copied. Unit: cycles a bin, so that the plain ramp runs from 0 to 0.5.
    const float *response;
    // Number of values in `response`.
    int64_t response_count;
    // Counts and transmissions: a transmission below this is raised to it before the logarithm; 1.2e-38 or more and below 1; 0 means 1e-6.
    double minimum_transmission;
    // An isoc_ct_precision: of back-projected data on a GPU.
    uint32_t precision;
    // An isoc_ct_input: what projections hold.
    uint32_t input;
    // ISOC_CT_INTERPOLATION_BAND_LIMITED and ISOC_CT_PROJECTOR_BAND_LIMITED: how near results come to the exact sum: l2 norm of their
    // difference over that of the exact sum, 1e-6 to 1e-2; 0 means 1e-4. Checked, and not used, with others.
    double tolerance;
    // An isoc_ct_projector: what `forward` and `adjoint` are, and what ISOC_CT_ALGORITHM_CGLS and ISOC_CT_ALGORITHM_TOTAL_VARIATION go by;
    // the other iterative algorithms need weights that are not negative, those of ISOC_CT_PROJECTOR_JOSEPH.
    uint32_t projector;
    // An isoc_ct_algorithm: how `reconstruct` and `reconstruct_stream` reconstruct.
    uint32_t algorithm;
} isoc_ct_options;

// What an outlier is: a raw value that is farther than threshold * unit from the median of its neighbourhood, which it then becomes.
// Beyond the detector and the scan, its outermost bins, rows and views are repeated. Set `struct_size` and zero the rest for the
// defaults.
typedef struct {
    // sizeof(isoc_ct_outliers).
    uint32_t struct_size;
    // An isoc_ct_outlier_unit.
    uint32_t unit;
    // An isoc_ct_outlier_side.
    uint32_t side;
    // Bins and rows of a neighbourhood: 3 or 5; 0 means 3.
    int64_t window;
    // Views of a neighbourhood, in their order, or frames of flats and darks: 1 (in the frame alone) or 3; 0 means 3.
    int64_t depth;
    // 1e-6 to 1e9; 0 means 10 times the noise, or 0.2 of the median. Counts have to be said.
    double threshold;
} isoc_ct_outliers;

// Where in a measured frame the pixels of an undistorted one are read: a view's pixel at (x, y), in bins and rows, pixel centres at whole
// numbers, is found by these steps:
//
// 1. (x, y) plus the view's x_shifts and y_shifts;
// 2. that turned by atan(tilt) about the detector's middle, so that an upright line becomes one that moves by tilt bins a row;
// 3. (p0 x + p1 y + p2, p3 x + p4 y + p5) / (p6 x + p7 y + 1), p = perspective;
// 4. c + B(r) ((x, y) - c), c = (x_centre, y_centre), r the distance from c in pixels, B(r) = b0 + b1 r + b2 r^2 + ..., b = radial.
//
// That is the backward model of N. T. Vo, R. C. Atwood, M. Drakopoulos, "Radial lens distortion correction with sub-pixel accuracy for X-ray
// micro-tomography", Optics Express 23, 32859 (2015), and the coefficients are those that discorpy gives (`xcenter`, `ycenter`, `list_bfact`,
// and the eight of its perspective correction). Set `struct_size` and zero the rest for none; all lists are copied.
typedef struct {
    // sizeof(isoc_ct_distortion).
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Coefficients b of the radial distortion, `radial_count` values, for pixels; b0 is near 1. NULL: B is 1.
    const double *radial;
    // Up to 10; 0 with NULL.
    int64_t radial_count;
    // Bin of the centre of the radial distortion; it may lie beside the detector (of a part of it that was read out).
    double x_centre;
    // Its row.
    double y_centre;
    // Eight coefficients p of a perspective, which holds any affine map with p6 = p7 = 0; NULL: none.
    const double *perspective;
    // Bins by which the axis moves from a detector row to the next, as isoc_ct_axis.tilt: frames are turned until it is upright. Within 0.5.
    double tilt;
    // Bins by which each view lies aside on the detector, `shift_count` values; NULL: 0.
    const double *x_shifts;
    // The same in rows.
    const double *y_shifts;
    // Number of views; 0 with both NULL.
    int64_t shift_count;
} isoc_ct_distortion;

// Phase retrieval. Set `struct_size` and zero what is not needed; there are no defaults for what describes the scan.
typedef struct {
    // sizeof(isoc_ct_phase).
    uint32_t struct_size;
    // An isoc_ct_phase_method.
    uint32_t method;
    // Photon energy in keV: 1 to 1000.
    double energy_kev;
    // Sample to detector in millimetres (for a cone beam the effective distance): 1 to 1e5.
    double distance_mm;
    // A bin at the sample in micrometres: 0.01 to 1000. Rows of the detector are as far apart as bins.
    double pixel_um;
    // Decrement of the refractive index over its imaginary part: 1e-3 to 1e6.
    double delta_beta;
    // In place of energy, distance and delta_beta, which are then 0: Paganin's length sqrt(pi wavelength distance delta_beta) in micrometres
    // (PyHST's PAGANIN_Lmicron). 0: these are given. Only with ISOC_CT_PHASE_METHOD_PAGANIN.
    double length_um;
    // Of ISOC_CT_PHASE_METHOD_CTF, where its transfer function is small: 1e-8 to 1; 0 means 0.01.
    double alpha;
    // Standard deviation in bins of a Gaussian that an unsharp mask takes away: the filter times 1 + unsharp_amount (1 - the Gaussian's
    // transform); 0 to 100. Both 0: no mask.
    double unsharp_sigma;
    // See unsharp_sigma: 0 to 100.
    double unsharp_amount;
} isoc_ct_phase;

// Where a tensor lives (DLPack's DLDevice).
typedef struct {
    // ISOC_DEVICE_HOST (or 0 for the same), ISOC_DEVICE_CUDA or ISOC_DEVICE_CUDA_HOST.
    int32_t device_type;
    // ISOC_DEVICE_CUDA: the GPU, as the driver counts.
    int32_t device_id;
} isoc_device;

// Element type (DLPack's DLDataType). ISOC_F16, ISOC_F32, ISOC_F64, ISOC_C64, ISOC_C128, ISOC_U32, ISOC_U16 and ISOC_U8 are ready-made
// initialisers.
typedef struct {
    // ISOC_DTYPE_FLOAT, ISOC_DTYPE_COMPLEX or ISOC_DTYPE_UINT.
    uint8_t code;
    // Bits an element, both parts of a complex number counted.
    uint8_t bits;
    // 1.
    uint16_t lanes;
} isoc_dtype;

// A caller's array; laid out as DLPack's DLTensor, so one from NumPy, PyTorch or CuPy can be passed as it is.
//
// The library reads (or writes) the elements in place and keeps no pointer after the call. Strides may be any, negative
// ones too, as long as no element lies before `data`; an output's elements must not share memory with each other or with
// an input.
typedef struct {
    // Start of the buffer.
    void *data;
    // Where it is.
    isoc_device device;
    // Number of dimensions.
    int32_t ndim;
    // Element type.
    isoc_dtype dtype;
    // `ndim` sizes, slowest dimension first.
    const int64_t *shape;
    // `ndim` distances between neighbours, in elements; NULL means contiguous with the last dimension fastest.
    const int64_t *strides;
    // Bytes from `data` to the element at index 0.
    uint64_t byte_offset;
} isoc_tensor;

// How flats and darks make the flat field. Set `struct_size` and zero the rest for the defaults; all lists are copied.
typedef struct {
    // sizeof(isoc_ct_flat_field_options).
    uint32_t struct_size;
    // An isoc_ct_combine: of the darks, and of the flats of a group.
    uint32_t combine;
    // Flats taken at several places in the scan: how many frames of `flats` each group has, in their order, `group_count` values that add up
    // to all of them. NULL: one group.
    const int64_t *group_frames;
    // How many views had been taken before each group: 0 is before the scan, `views` after it; ascending. View k lies at k + 0.5 (views are
    // taken in their order for that of the scan), and its beam on the straight line between the groups around it; before the first and
    // after the last it is theirs. NULL for one group.
    const double *group_positions;
    // What the beam's monitor said of each group, above 0; NULL: 1. Needs `monitor`.
    const double *group_monitor;
    // Number of groups; 0 means one, of all frames.
    int64_t group_count;
    // What the beam's monitor (ring current, ion chamber, exposure time) said in each view, above 0, in the same unit: the beam of a view is
    // its flat / group_monitor * monitor. NULL: flats are the beam.
    const double *monitor;
    // Number of views, or 0.
    int64_t monitor_count;
    // Above 0: finds bad pixels, and replaces their line integrals by the straight line between the nearest good ones of their row. A pixel is
    // bad where a flat is not above its dark, or where dark or flat - dark differs from the median of the 5 x 5 pixels around by more than
    // this many times the detector's own scatter (1.4826 times the median difference, and at least a 1000th of the beam): 1 to 1e6, 10
    // is usual. 0: none are.
    double bad_pixels;
    // Removed from each flat and dark before they are combined, or NULL; the frames of a group, and the darks, are its views.
    const isoc_ct_outliers *outliers;
    // Above 0: for a beam that changes its shape from view to view. The flats of each group, less their mean, have as many principal
    // components found, as many as noise cannot have made, up to this number; smoothed, they are what isoc_ct_fit_flat_field fits to each
    // view before any call that needs the flat field. 0 to 20, with at least as many flats as components and groups and one more, and at
    // most 512. 0: none.
    int64_t eigenflats;
} isoc_ct_flat_field_options;

// How isoc_ct_fit_flat_field looks at frames. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_ct_flat_fit_options).
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Rows and bins of the blocks whose means are compared; 0 makes 100 to 200 blocks of the longer side (1 where that is shorter). There
    // must be four blocks for each component and four more.
    int64_t binning;
} isoc_ct_flat_fit_options;

// What isoc_ct_fit_flat_field found. `struct_size`, both arrays and `component_count` are the caller's.
typedef struct {
    // sizeof(isoc_ct_flat_fit).
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Components that the flat field has: isoc_ct_flat_field_options.eigenflats at most, strongest first.
    int64_t components;
    // Gets the part of the flats' variance that each of the first `component_count` components explains, 0 beyond those that there are;
    // NULL for none.
    double *explained;
    // Gets the weights of the first `component_count` components in each view of the call, `component_count` values after each other for
    // a view, 0 beyond those that there are; those of the flats themselves have a root mean square of 1. NULL for none.
    double *weights;
    // Values in `explained`, and of each view in `weights`: 0 without them, otherwise up to 20.
    int64_t component_count;
    // Values in `weights`: the views of the call times `component_count`; 0 without it.
    int64_t weight_count;
    // Total variation of a frame's transmissions (of blocks, with the beam's strength left out), over their sum, on average over the
    // views: by the flats alone.
    double variation_before;
    // The same with the components.
    double variation_after;
} isoc_ct_flat_fit;

// How stripes are removed, from the line integrals of one detector row at a time. Set `struct_size` and zero the rest for the defaults.
// What the method does not use is checked all the same.
typedef struct {
    // sizeof(isoc_ct_stripes).
    uint32_t struct_size;
    // An isoc_ct_stripe_method.
    uint32_t method;
    // How far a stripe stands out of what sorted values do, at least: above 1; larger finds fewer. 0 means 3.
    double snr;
    // Bins of the median against large stripes: 2 to the detector's; 0 means 51, or all of fewer.
    int64_t large_window;
    // Bins of the median against small stripes: 2 to the detector's; 0 means 21, or all of fewer.
    int64_t small_window;
    // Part of a bin's values, its largest and smallest, that does not count towards its mean: 0 to 0.8; 0 means 0.1.
    double drop_ratio;
    // What offsets weigh against steps: the smaller, the smoother means become; 1e-9 to 1e6; 0 means 5e-4.
    double alpha;
    // How many frequencies along views are damped: 0.01 to 100; larger takes off stripes that change along views; 0 means 1.
    double sigma;
    // Levels of the wavelet transform: a stripe is found that is up to 2^levels bins wide or so. The padded sinogram's shorter side
    // over 2^levels must be 16 or more; 0 means 5, or as many as that allows (none below 32: the sinogram stays).
    int64_t levels;
    // Order of Daubechies' wavelet, half the number of its filters' coefficients: 1 to 20; 0 means 9.
    int64_t wavelet;
} isoc_ct_stripes;

// How the halves of a half acquisition are joined: a full turn about an axis near an edge of the detector, or up to a quarter of its bins
// beyond, so that the field is nearly twice as wide as the detector. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_ct_half_acquisition).
    uint32_t struct_size;
    // An isoc_ct_rise.
    uint32_t rise;
    // Bins over which the weights rise: 1 to 2 (1 + the bins from the axis to the nearer edge), of all views' axes the
    // nearest. 0 means that maximum, which averages most noise out; with less, bins at the edge that are bad have no weight.
    double overlap;
} isoc_ct_half_acquisition;

// How `reconstruct` and `reconstruct_stream` store the volume; other calls keep f32. Set `struct_size` and zero the rest for f32 as
// they are.
//
// The window, `low` to `high`, is one for all slices. Integers: stored = round((value - low) / (high - low) * largest), `largest` being
// 255 or 65535, values outside the window those of its ends; ties go to even. f16: the nearest, ties to even; values beyond +-65504 become
// that; with a window (value - low) / (high - low), 0 to 1. The arithmetic before the last rounding is f64, on the processor and GPUs
// alike. value = offset + slope * stored, with offset and slope from isoc_ct_get_output.
//
// Percentiles are those of the values inside the mask of `histogram_slices` slices (k-th of n: number (2 k + 1) slices / (2 n),
// rounded down), reconstructed in a pass before the one that writes: rank p / 100 * (number of values - 1) of the sorted values, linear
// between neighbours. They come from a histogram of floats with 2^12 steps an octave, in one pass: within 2^-12 of their size of those of
// sorted values, and far nearer where values lie densely; 0 and 100 are the smallest and the largest value exactly. The pass takes
// about the share of the time that its slices are of all (a slice alone takes up to 6 times as long on the processor as one of many),
// and 16 MiB of host memory. Percentiles of one value are a window of zero width, ISOC_STATUS_OUT_OF_RANGE, before anything is written. isoc_ct_reconstruct_stream asks `read` for its slices first, and for all slices again afterwards;
// `write` gets none of the first pass.
typedef struct {
    // sizeof(isoc_ct_output).
    uint32_t struct_size;
    // An isoc_ct_output_type.
    uint32_t dtype;
    // The value that integers store as 0; finite, below `high`. Both 0: from percentiles.
    double low;
    // The value that integers store as their largest.
    double high;
    // In percent, 0 to 100, below `high_percentile`; both 0 mean 0.1 and 99.9. Both must be 0 where low and high are not. f32 use window
    // and percentiles for the histogram alone, and f16 too with both 0.
    double low_percentile;
    // See low_percentile.
    double high_percentile;
    // Slices that percentiles are of: 0 means 16 (or all, if there are fewer), -1 all.
    int64_t histogram_slices;
    // Pixels outside a circle about the centre of the slice, of this radius in halves of its shorter side, get `mask_value`: pixel (i, j)
    // is inside where (j - (nx - 1) / 2)^2 + (i - (ny - 1) / 2)^2 <= (mask_radius min(nx, ny) / 2)^2. Up to 1.5 (from sqrt(2) on a square
    // slice is inside as a whole); 0: no mask. What is outside counts neither in percentiles nor in the histogram.
    double mask_radius;
    // In place of values outside the circle, and stored as a value is.
    double mask_value;
    // Bins of a histogram of what was written, over the window: up to 65536; 0 for none. See isoc_ct_get_histogram.
    int64_t histogram_bins;
} isoc_ct_output;

// What the last reconstruction stored.
typedef struct {
    // sizeof(isoc_ct_output_info), set by the caller.
    uint32_t struct_size;
    // The volume's type, that of isoc_ct_output.dtype.
    uint32_t dtype;
    // value = offset + slope * stored; 1 for f32, and for f16 that hold values.
    double slope;
    // See slope.
    double offset;
    // The window, given or from percentiles; 0 where there is none.
    double low;
    // See low.
    double high;
    // Values below `low` (inside the mask), which were stored as it, or lie below the histogram; without a window, below -65504 (f16).
    int64_t clipped_low;
    // The same above `high`, or 65504.
    int64_t clipped_high;
    // Slices that percentiles are of; 0 where there were none.
    int64_t histogram_slices;
} isoc_ct_output_info;

// What a plan found and decided. Angles are in radians, modulo pi; all 0 where there is only one (but angle_covered, which may be
// of the caller's weights).
typedef struct {
    // sizeof(isoc_ct_info), set by the caller.
    uint32_t struct_size;
    // 1 if all gaps between neighbouring angles agree to 1 %.
    uint32_t evenly_spaced;
    // Different angles; views closer than a tenth of the mean gap count as one angle and share its weight.
    int64_t distinct_angles;
    // Median gap between neighbouring angles.
    double angular_spacing;
    // Sum of the angular weights in force: pi, less the missing wedges; or that of the caller's weights.
    double angle_covered;
    // Gaps that stand out, and so are not spread over their edges: more than three times as large as the next smaller one (and as the
    // median), as long as there are at most four of them, and more than pi / 16; shorter ones, of lost views, are spread.
    int64_t missing_wedges;
    // Start of the largest gap.
    double largest_gap_start;
    // Size of the largest gap.
    double largest_gap;
    // Length of the filter's Fourier transforms.
    int64_t padded_bins;
    // Slices that `reconstruct` works on at a time under the memory cap.
    int64_t slab_slices;
    // NaN and Inf values (and pixels without a usable flat field) replaced in the last call that read data.
    int64_t replaced_values;
    // ISOC_CT_INTERPOLATION_BAND_LIMITED and ISOC_CT_PROJECTOR_BAND_LIMITED: P, the bins after which a row repeats; it grows with the
    // distance of the farthest pixel from the detector. 0 with others.
    int64_t period;
    // Outliers (isoc_ct_set_outliers) removed in the last call that read data.
    int64_t outliers;
    // Pixels that isoc_ct_set_flat_field found bad, which are replaced by their neighbours.
    int64_t bad_pixels;
    // Bins of the rows that `reconstruct` computes with: the detector's, or under half acquisition those of the whole field.
    int64_t computed_bins;
    // Half acquisition: bins over which its weights rise. 0 without.
    double overlap;
} isoc_ct_info;

// How iterative algorithms go on. Set `struct_size` and `iterations`, and zero the rest for the defaults. A field that the algorithm has
// no use for must keep its default: else ISOC_STATUS_OUT_OF_RANGE, when it is used.
typedef struct {
    // sizeof(isoc_ct_iterative).
    uint32_t struct_size;
    // An isoc_ct_start.
    uint32_t start;
    // Maximum number of iterations, 1 to 10^6, each over all views.
    int64_t iterations;
    // SIRT, MLEM: number of subsets of the views, up to the number of views; 0 means 1. Subset s of S has every S-th of the views sorted
    // by angle modulo pi, from number s on (one subset: all views in their order). An iteration takes them all, one after the other, about
    // a golden section of S apart, from subset 0 on.
    int64_t subsets;
    // SIRT: factor of each step, above 0 and below 2; 0 means 1.
    double relaxation;
    // SIRT, MLEM, FISTA: an isoc_ct_bounds. Total variation: the same, but ISOC_CT_BOUNDS_NONE, or without a lower one; with an upper one the gap
    // is found sooner.
    uint32_t bounds;
    // CGLS, FISTA: an isoc_ct_normal.
    uint32_t normal;
    // ISOC_CT_BOUNDS_BOX: the smallest value; 0 with other bounds.
    double lower;
    // ISOC_CT_BOUNDS_BOX: the largest, above `lower`; 0 with other bounds.
    double upper;
    // Pixels outside a circle about the centre of the slice stay 0, and rays meet nothing there; the circle is that of
    // isoc_ct_output.mask_radius. 0: no mask.
    double mask_radius;
    // CGLS, FISTA: weight of |x|^2, 0 or more, in squares of the length unit: the objective adds squares of line integrals, which have no unit.
    // Total variation: weight of the sum of |D x|, above 0, in the length unit.
    double regularisation;
    // CGLS: a slice ends when its gradient's length is at most this part of the first one's; 0 or more, below 1; 0: not before a gradient
    // of 0. Total variation: when its duality gap is at most this part of its objective; 0 means 1e-4. FISTA: the same; 0: not before a gap
    // of 0; above 0 with two bounds or a regularisation. The gap is looked at after each 20 iterations.
    double tolerance;
    // Total variation: |D x| below this, in attenuation a length unit, counts |D x|^2 / (2 huber), and |D x| - huber / 2 above: slopes are
    // kept, too. 0 or more.
    double huber;
    // CGLS, FISTA, total variation: an isoc_ct_weighting. Total variation then needs two bounds.
    uint32_t weighting;
    // Total variation: an isoc_ct_fit.
    uint32_t fit;
    // Total variation: an isoc_ct_variation.
    uint32_t variation;
    // Zero.
    uint32_t reserved;
    // Total variation: weight of the sum of |r|, r an offset of each bin and slice that all views share, which is found with the image and taken
    // off the data, as rings are that a detector's gain leaves: the objective is |b - A x - r|^2 / 2 + regularisation sum of |D x| +
    // ring_weight sum of |r|. One to three times the noise of a line integral times the square root of the number of views. Needs two bounds;
    // not with Poisson's law. 0: none.
    double ring_weight;
} isoc_ct_iterative;

// What was seen of all slices between iterations: before each, and of total variation and FISTA after each 20 and the last.
typedef struct {
    // Iterations before it: those that made the images that this is of.
    int64_t iteration;
    // What the algorithm makes smaller (see isoc_ct_algorithm), summed over slices, of which each counts with its last after its end; with
    // subsets each subset's part of the image as it was when the subset's turn came. Infinite of ISOC_CT_ALGORITHM_MLEM where a ray with counts meets an image of nothing but 0.
    double objective;
    // How far that is above its minimum, at most, summed over slices; infinite where the algorithm does not know.
    double gap;
    // Slices that had not ended.
    int64_t slices;
} isoc_ct_iteration;

// An ellipse of constant attenuation; where ellipses overlap, values add.
typedef struct {
    // Attenuation a length unit.
    double value;
    // Centre, from the rotation axis, in length units; x along columns, y upwards.
    double x;
    // See x.
    double y;
    // Semi-axis along x before rotation, in length units.
    double semi_x;
    // Semi-axis along y before rotation, in length units.
    double semi_y;
    // Counter-clockwise rotation in radians.
    double angle;
} isoc_ct_ellipse;

// Fills `projections` for slices first to first + count of the volume: detector rows first_row + first on, in the geometry's
// order with `count` rows, (views, count, bins) or (count, views, bins), contiguous. Where a stage looks at neighbouring rows
// (isoc_ct_set_outliers, isoc_ct_set_distortion, isoc_ct_set_phase), those are asked for too, as far as the detector has them, and `first` may be below 0: parts then overlap, or each begins where the last one ended. Returns
// 0, or anything else to stop. Must not throw, keep the pointer, or use the plan (ISOC_STATUS_BUSY).
typedef int32_t (*isoc_ct_read_fn)(void *user, int64_t first, int64_t count, const isoc_tensor *projections);

// Takes slices first to first + count of the volume from `volume`, (count, ny, nx), contiguous, f32 or of the type of
// isoc_ct_set_output. Otherwise as for isoc_ct_read_fn.
typedef int32_t (*isoc_ct_write_fn)(void *user, int64_t first, int64_t count, const isoc_tensor *volume);

// Where and how isoc_ct_find_axis looks. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_ct_axis_options).
    uint32_t struct_size;
    // An isoc_ct_axis_method.
    uint32_t method;
    // First axis to look at, as a fractional bin. `low` and `high` both 0: all of the detector but max(4, bins / 64) bins at
    // either end, which are the limits in any case; by ISOC_CT_AXIS_METHOD_SHARPNESS its middle half.
    double low;
    // Last axis to look at.
    double high;
    // Detector rows to use, evenly spread over those of the volume; 0 means up to 24. With the views that are needed they take
    // 256 MiB at most, and half of the context's memory_cap: fewer are read where these are more.
    int64_t rows;
    // Non-zero: the tilt is wanted, so that the axis may change from row to row along a line.
    uint32_t tilt;
    // Zero.
    uint32_t reserved;
} isoc_ct_axis_options;

// What isoc_ct_find_axis found. `struct_size`, `curve` and `curve_count` are the caller's.
typedef struct {
    // sizeof(isoc_ct_axis).
    uint32_t struct_size;
    // The isoc_ct_axis_method that decided.
    uint32_t method;
    // The axis as a fractional bin, for the middle row of the volume, first_row + (slices - 1) / 2: what isoc_ct_geometry.axis takes.
    double axis;
    // Bins by which the axis moves from a detector row to the next, which isoc_ct_distortion.tilt takes; 0 where the tilt was not asked for.
    double tilt;
    // Standard error of `axis` in bins, from noise, stripes, sampling, how far rows agree, and an object that reaches beyond the bins seen from both sides: of
    // simulated scans 95 % and more are within twice of it. Moving samples and wrong angles add to it.
    double error;
    // 0 to 1: how much better opposite views agree there (or how much sharper slices are) than at the next best place of the range; half of it
    // where methods contradicted each other.
    double confidence;
    // 1 if most views have an opposite one, and the axis is so near an edge that less than half of the detector is seen from both sides, or rows end in
    // the object on the axis' side and in air on the other: isoc_ct_set_half_acquisition is for such scans.
    uint32_t half_acquisition;
    // Zero.
    uint32_t reserved;
    // Gets the score over the range that was looked at, `curve_count` values, the best being the smallest: n ln(m), m the squared difference of opposite views
    // mirrored there, over the variance of both, and n the part of the bins that they share; of sharpness the sum of the entropies of trial
    // slices. NULL with 0 for none.
    double *curve;
    // Number of values in `curve`, up to 2^20.
    int64_t curve_count;
    // The axis that the curve's first value is of.
    double curve_first;
    // Distance between the curve's values in bins.
    double curve_step;
} isoc_ct_axis;

// Image and scan.
//
// Voxel j of an axis of N is at position j - floor(N / 2). An image has nz x ny x nx voxels, x fastest; a tensor of a plane
// (nz = 1) may leave z out. Model: `s_c(k_m) = sum_r S_c(r) rho(r) exp(-2 pi i k_m . r)`.
typedef struct {
    // sizeof(isoc_mri_geometry).
    uint32_t struct_size;
    // An isoc_mri_unit; required.
    uint32_t unit;
    // An isoc_mri_precision.
    uint32_t precision;
    // Axes of the trajectory: 1 (for lines, ny = nz = 1), 2 (for planes) or 3; 0 means 2 where nz is 1, else 3.
    uint32_t axes;
    // Voxels along x.
    int64_t nx;
    // Voxels along y.
    int64_t ny;
    // Voxels along z; 0 or 1 makes a plane.
    int64_t nz;
    // Samples of the trajectory, of each coil.
    int64_t samples;
    // Receiver coils; 0 means 1.
    int64_t coils;
} isoc_mri_geometry;

// How to reconstruct. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_mri_options).
    uint32_t struct_size;
    // An isoc_mri_method.
    uint32_t method;
    // An isoc_mri_normal_kind.
    uint32_t normal;
    // An isoc_mri_penalty.
    uint32_t penalty;
    // Non-zero: isoc_mri_reconstruct begins with the image that it is given, instead of zeros.
    uint32_t warm_start;
    // An isoc_mri_sines.
    uint32_t sines;
    // Maximum number of iterations; 0 means 30.
    int64_t iterations;
    // Largest relative error (l2) of a fast transform: down to about 1e-6 in single and 1e-12 in double precision; 0 means 1e-5
    // and 1e-9.
    double tolerance;
    // Minimum size of the fast transform's grid relative to the image, 1.1 to 4; 0 takes the fastest.
    double upsampling;
    // Weight of the penalty, relative to nothing. Penalties 0 to 2: the unit is that of F^H W F, whose diagonal is the sum of the
    // weights. 3 to 5: that times the image's; 3e-3 of isoc_mri_info.lambda_limit is where to begin.
    double lambda;
    // Stops at this |residual| / |right-hand side|, or, with penalties 3 to 5, |step| / |image|; 0 means 1e-6.
    double residual;
    // An isoc_mri_algorithm.
    uint32_t algorithm;
    // An isoc_mri_wavelet.
    uint32_t wavelet;
    // Levels of the wavelet transform; 0 means as many as leave averages of 8 voxels an axis. A line of odd length passes its last
    // element on, so that any size will do.
    uint32_t levels;
    // 0: the grid of wavelets or blocks moves from iteration to iteration, so that it does not show. Else it stays, and the objective is
    // one of a fixed problem.
    uint32_t fixed_grid;
    // Differences shorter than this count by their square over twice this in total variation (Huber's function); 0: none. In the
    // image's unit.
    double huber;
    // Voxels along an edge of a block of ISOC_MRI_PENALTY_LOW_RANK, up to 64; 0 means 8. A GPU's shared memory takes blocks of as many voxels,
    // or series of as many images, as fit: 80 of the fewer of both on an H100.
    int64_t block;
    // 0: each image of a series (isoc_mri_set_basis, isoc_mri_set_frames, isoc_mri_set_windows), or of several sets of maps, has wavelets or edges of its own. Else
    // ISOC_MRI_PENALTY_WAVELETS and ISOC_MRI_PENALTY_VARIATION sum the length over all images of what is at one place, so that images share
    // their wavelets or edges; frames are then solved together.
    uint32_t joint;
    // Zero.
    uint32_t reserved;
    // Weight of |imaginary part of rho|^2 / 2, which is minimised together with the rest, in the unit of lambda of penalties 0 to 2; 0: none;
    // INFINITY: images are real. So samples of little more than half of k-space tell an image whose phase is known (partial Fourier) and is
    // put into the sensitivities (isoc_mri_set_maps), each times exp(i phase): small weights, a tenth of the sum of the density
    // weights, leave what is measured as it is. isoc_mri_reconstruct and isoc_mri_reconstruct_stream alone heed it; several coils without
    // sensitivities are an error there (ISOC_STATUS_NOT_CONFIGURED), since their images have phases of their own. Noll, Nishimura and
    // Macovski, IEEE Trans. Med. Imag. 10, 1991; Bydder and Robson, Magn. Reson. Med. 53, 2005.
    double imaginary;
} isoc_mri_options;

// What a plan found and decided.
typedef struct {
    // sizeof(isoc_mri_info), set by the caller.
    uint32_t struct_size;
    // 1 once Q is there.
    uint32_t has_q;
    // Images of a scan: 1 with coil maps, or one for each set of them, else one a coil; of a series as many for each frame, or each image of a basis.
    int64_t images;
    // The fast transform's grid along x; 0 before it was needed.
    int64_t fine_nx;
    // Along y.
    int64_t fine_ny;
    // Along z; of samples in planes of constant kz on a regular grid the length of the transform along z.
    int64_t fine_nz;
    // Width of its spreading function, in grid points.
    int64_t width;
    // Q along x: at least 2 nx - 1, or nx where all samples are on the image's own frequencies, n / nx cycles per voxel.
    int64_t q_nx;
    // Q along y.
    int64_t q_ny;
    // Q along z.
    int64_t q_nz;
    // NaN and Inf values replaced in the last call that read data.
    int64_t replaced_values;
    // Products that sums with a field take; 0 without a field, and before they were needed.
    int64_t field_terms;
    // The relative l2 error of these products, over samples and voxels.
    double field_error;
    // Convolutions that Q stands for with a field; 0 without a field, and before Q is there.
    int64_t normal_terms;
    // The relative l2 error of their sum, over samples and pairs of voxels.
    double normal_error;
    // The lambda from which on the wavelet or low-rank penalty of the last isoc_mri_reconstruct leaves images of zeros: the largest wavelet
    // coefficient of F^H W samples, or singular value of their blocks. Of total variation, which has no such number, that of wavelets. 0 where
    // no such penalty was in use.
    double lambda_limit;
} isoc_mri_info;

// Fills `samples`, (coils, count), contiguous, of the type that the call was given, with samples first to first + count of the trajectory.
// Returns 0, or anything else to stop. Must not throw, keep the pointer, or use the plan (ISOC_STATUS_BUSY).
typedef int32_t (*isoc_mri_read_fn)(void *user, int64_t first, int64_t count, const isoc_tensor *samples);

// How readouts lie in the samples, and where isoc_mri_find_delays looks. Set `struct_size` and `readout`, and zero the rest for the
// defaults.
typedef struct {
    // sizeof(isoc_mri_delay_options).
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Samples of a readout (a spoke, an interleaf), of which all have as many; required, 4 or more.
    int64_t readout;
    // Largest delay that is looked for, in samples, up to half a readout; 0 means 5.
    double range;
    // Edge of a voxel along x, in the unit of the others. Mixed delays (xy, xz, yz) are of axes in space, and need the edges where these
    // differ; 0 means 1.
    double voxel_x;
    // Along y.
    double voxel_y;
    // Along z.
    double voxel_z;
} isoc_mri_delay_options;

// Delays between gradients and samples: a symmetric matrix, in samples. Positive: gradients come late, so that sample m of a readout was
// taken where the trajectory is at m - delay.
typedef struct {
    // sizeof(isoc_mri_delays), set by the caller.
    uint32_t struct_size;
    // Axes that readouts move along, 2 or 3: delays of the third have no effect, and are 0 with an error of 0.
    uint32_t axes;
    // Of the gradient along x.
    double xx;
    // Along y.
    double yy;
    // Along z.
    double zz;
    // Of x by y, and of y by x: 0 where the image's axes are those of the gradients, or where all gradients come equally late.
    double xy;
    // Of x by z, and of z by x.
    double xz;
    // Of y by z, and of z by y.
    double yz;
    // Standard error of `xx`, and so on: of simulated scans 95 % and more are within twice of it.
    double xx_error;
    // Of `yy`.
    double yy_error;
    // Of `zz`.
    double zz_error;
    // Of `xy`.
    double xy_error;
    // Of `xz`.
    double xz_error;
    // Of `yz`.
    double yz_error;
    // 0 to 1: the part of the samples' energy in the middle of k-space that one image explains with these delays. Of good scans it is above
    // 0.99; noise, motion, off-resonance, and a trajectory that is another one, take from it.
    double confidence;
} isoc_mri_delays;

// How isoc_mri_find_maps works. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_mri_maps_options).
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Gauss-Newton steps, 1 to 1000; 0 means 10. Regularisation gets smaller with each: more steps follow the samples, and their noise, more closely.
    int64_t steps;
    // Maximum number of conjugate-gradient iterations of a step, 1 to 1000; 0 means 100.
    int64_t iterations;
    // |residual| / |right-hand side| that ends these, below 1; 0 means 0.1, a negative number none.
    double residual;
    // Weight of the regularisation in the first step, above 0 to 1e6; 0 means 1. It weighs squares of samples over the sum of their density
    // weights, of samples whose size is such that the gridded image has a root mean square of 100/256 over its voxels.
    double alpha;
    // Its factor from one step to the next, above 0 to 1; 0 means 0.5.
    double reduction;
    // a in the coils' norm, which weighs a frequency of k cycles per voxel by (1 + a |k|^2)^(b/2); 0.001 to 1e9; 0 means 220. Larger: smoother coils.
    double scale;
    // b in it, 2 to 200; 0 means 32.
    double order;
} isoc_mri_maps_options;

// An ellipsoid of constant value; where ellipsoids overlap, values add. Lengths are in voxels, from the voxel at position 0. In a
// plane z and semi_z are not looked at.
typedef struct {
    // Value inside.
    double value;
    // Centre.
    double x;
    // Centre.
    double y;
    // Centre.
    double z;
    // Semi-axis along x before rotation.
    double semi_x;
    // Along y.
    double semi_y;
    // Along z.
    double semi_z;
    // Rotation about z in radians, from x towards y.
    double angle;
} isoc_mri_ellipsoid;

// How to find coil sensitivities. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_coil_options).
    uint32_t struct_size;
    // An isoc_coil_method.
    uint32_t method;
    // ESPIRiT: elements of a block of k-space along x, at most the calibration data's; 0 means 6, or 1 along an axis of one element.
    int64_t kernel_x;
    // ESPIRiT: the same along y.
    int64_t kernel_y;
    // ESPIRiT: the same along z.
    int64_t kernel_z;
    // Adaptive: voxels of a block along each axis, odd (along an axis of fewer voxels, as many as there are); 0 means 5.
    int64_t window;
    // ESPIRiT: singular values of the calibration matrix above this, relative to the largest, are signal; above 0 and below 1; 0 means 0.02.
    double threshold;
    // Voxels whose eigenvalue is below have maps of 0; below 1; 0 means 0.95 for ESPIRiT and no limit for adaptive combination, a negative number no limit.
    double crop;
} isoc_coil_options;

// A prior: what is taken off the log-likelihood, `beta R(f)`, R the sum over pairs of neighbours, each of the 26 about a voxel once, of `k_f k_g a_fg x / distance` times their
// potential: x the voxel's side along x, k `weights`, `a = exp(-((A_f - A_g) / anatomy_sigma)^2 / 2)` of the anatomical image A. Set `struct_size` and `strength`, and zero the rest for the
// relative difference prior.
//
// Of relative differences with epsilon 0, the optimum explains as many counts less as the prior's value is, isoc_pet_iteration.penalty: of few counts in large bodies up to a tenth.
typedef struct {
    // sizeof(isoc_pet_prior).
    uint32_t struct_size;
    // An isoc_pet_potential.
    uint32_t potential;
    // beta; 0 or more.
    double strength;
    // Relative difference: how early edges are kept; 0 means 2. Twice as large a value keeps smaller ones.
    double gamma;
    // Relative difference: makes it smooth about 0, in the unit of the image; 0 or more.
    double epsilon;
    // Quadratic: differences beyond it are edges, in the unit of the image; 0 means none are.
    double edge;
    // In the unit of the anatomical image: neighbours whose values differ by much more are not told to be alike. Above 0 with an anatomical image, 0 without.
    double anatomy_sigma;
} isoc_pet_prior;

// Lattice and views, in millimetres and radians.
//
// Image and histo-images have nz x ny x nx voxels, x fastest; the centre of the lattice is the centre of the scanner. A view with
// azimuth p and tilt t looks along `n = (cos p cos t, sin p cos t, sin t)`, the same as along -n; its radial axis is
// `(-sin p, cos p, 0)`, its axial axis the product of the two.
typedef struct {
    // sizeof(isoc_pet_geometry).
    uint32_t struct_size;
    // Of a grid of views, which has azimuths x tilts of them; 0 means 1.
    uint32_t tilts;
    // Voxels along x.
    int64_t nx;
    // Voxels along y.
    int64_t ny;
    // Voxels along z.
    int64_t nz;
    // Size of a voxel along x, mm.
    double voxel_x;
    // Along y; 0 means as along x.
    double voxel_y;
    // Along z; 0 means as along x.
    double voxel_z;
    // Of a grid of views: azimuth i is i pi / azimuths, and view `i * tilts + j` has azimuth i and tilt j. With a list of views both
    // are 0.
    int64_t azimuths;
    // Largest tilt of an event, up or down, rad, above 0: the tilts of a grid are the centres of equal parts between it and its
    // negative.
    double max_tilt;
} isoc_pet_geometry;

// What timing and detectors do to a point: full widths at half maximum.
typedef struct {
    // sizeof(isoc_pet_response).
    uint32_t struct_size;
    // An isoc_pet_profile.
    uint32_t profile;
    // An isoc_pet_cut.
    uint32_t cut;
    // Pairs of radial_table; 0 means that radial_fwhm holds everywhere.
    uint32_t radial_table_count;
    // Of the time difference, ps; 0: there is none, as of lists that go along lines (isoc_pet_list).
    double tof_fwhm;
    // Across the line in the transverse plane, mm.
    double radial_fwhm;
    // Across the line and the radial axis, mm.
    double axial_fwhm;
    // Pairs of a signed distance from the axis (mm, ascending) and the radial width there (mm): linear between, constant beyond
    // the ends. A table that begins at 0 or above holds for either sign.
    const double *radial_table;
    // Voxels whose distances from the axis lie in one step of so many mm share a kernel; 0 means 2.
    double step;
    // Sigmas at which kernels are cut; 0 means 3.
    double cut_width;
    // Asymmetric: sigma of the second Gaussian over that of the first, at least 1.
    double ratio;
    // Asymmetric: the second one is moved towards the axis by so many of the first one's sigmas.
    double shift;
    // Asymmetric: the second one's share of the mass.
    double share;
} isoc_pet_response;

// Rings of flat blocks of crystals about the z axis, in mm; the middle of all is 0, 0, 0. A ring of crystals has those of all its blocks,
// `crystal = ring (blocks across) + block across + place across the block`; places rise with the azimuth, rings with z.
typedef struct {
    // sizeof(isoc_pet_blocks).
    uint32_t struct_size;
    // Must be 0.
    uint32_t reserved;
    // Blocks of a ring.
    int64_t blocks;
    // Rings of blocks; 0 means 1.
    int64_t block_rings;
    // Crystals of a block across.
    int64_t across;
    // Crystals of a block along the axis.
    int64_t along;
    // Between faces of opposite blocks.
    double diameter;
    // From crystal to crystal across.
    double pitch_across;
    // From crystal to crystal along the axis; 0 means as across.
    double pitch_along;
    // From block to block along the axis; 0: no gap.
    double block_pitch;
    // Azimuth of the middle of block 0, rad.
    double first_azimuth;
} isoc_pet_blocks;

// Sizes of crystals, and time bins.
//
// An event that names two crystals is anywhere on their faces, and in its time bin anywhere between the edges, as its number says: the
// same place whenever it is deposited. So histo-images have no pattern of crystals and bins, and their blur, some 0.2 crystals of
// standard deviation at the middle of a line and 0.29 bins along it, belongs to the response. With 0 and 0 crystals are points.
typedef struct {
    // sizeof(isoc_pet_scanner).
    uint32_t struct_size;
    // Bins of the time difference; 0: events have time differences in ps.
    uint32_t time_bins;
    // Of a crystal's face, across the scanner's axis, mm.
    double crystal_width;
    // Of a crystal's face, across the width, mm.
    double crystal_height;
    // time_bins + 1 edges of t2 - t1, ascending, in ps; NULL without bins.
    const double *time_edges;
    // Real (crystals, 2) in host memory: width and height of each crystal's face, in place of crystal_width and crystal_height, which must be 0; NULL: all have these.
    const isoc_tensor *crystal_sizes;
} isoc_pet_scanner;

// Events that are in no histo-image, by the first cause that applies, in this order.
typedef struct {
    // sizeof(isoc_pet_dropped), set by the caller.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // All of them.
    uint64_t events;
    // A position or the time difference is NaN or Inf.
    uint64_t not_finite;
    // Both positions are the same.
    uint64_t equal_positions;
    // The tilt is beyond isoc_pet_geometry.max_tilt.
    uint64_t outside_tilts;
    // The place is outside the lattice.
    uint64_t outside_lattice;
    // The voxel can count no further: 2^32 - 1 in u32, 2^24 in f32.
    uint64_t overflow;
    // Comes before the others: a crystal or a time bin is none of the scanner's, or a label none of the histo-images'.
    uint64_t unknown;
    // Comes after `unknown`, before the others: the scanner does not measure the pair of crystals (isoc_pet_set_pairs).
    uint64_t not_measured;
} isoc_pet_dropped;

// Sizes of a view's tables, and what their kernels hold.
typedef struct {
    // sizeof(isoc_pet_table_sizes), set by the caller.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Kernels: identifiers are 0 to kernels - 1.
    int64_t kernels;
    // Voxels of a kernel.
    int64_t offsets;
    // The minimum mass that the cut leaves of a kernel; 1 of the caller's own.
    double least_mass;
    // The greatest.
    double greatest_mass;
} isoc_pet_table_sizes;

// Where isoc_pet_get_tables writes a view's tables, in the form that isoc_pet_set_tables takes: of each array its capacity, and how many
// elements there are, which the call sets. An array with capacity 0 is left out.
typedef struct {
    // sizeof(isoc_pet_tables).
    uint32_t struct_size;
    // Must be 0.
    uint32_t reserved;
    // (ny, nx): the kernel of all voxels of a column.
    uint32_t *map;
    // Room in `map`.
    int64_t map_capacity;
    // Set to ny nx.
    int64_t map_count;
    // (offset_count, 3) in voxels along x, y, z, in the order of z, y, x.
    int32_t *offsets;
    // Room in `offsets`, of three numbers each.
    int64_t offset_capacity;
    // Set to the voxels of a kernel.
    int64_t offset_count;
    // (kernels, offset_count), each kernel's sum 1.
    float *values;
    // Room in `values`.
    int64_t value_capacity;
    // Set to kernels x offset_count.
    int64_t value_count;
    // (kernels): the mass that the cut left of each; 1 of the caller's own.
    double *mass;
    // Room in `mass`.
    int64_t mass_capacity;
    // Set to the number of kernels.
    int64_t mass_count;
} isoc_pet_tables;

// How to reconstruct. Set `struct_size` and zero the rest for the defaults.
typedef struct {
    // sizeof(isoc_pet_options).
    uint32_t struct_size;
    // An isoc_pet_algorithm.
    uint32_t algorithm;
    // An isoc_pet_order.
    uint32_t order;
    // An isoc_pet_projector.
    uint32_t projector;
    // Non-zero: isoc_pet_reconstruct begins with the image that it is given, instead of a uniform one.
    uint32_t warm_start;
    // OSEM, BSREM, SVRG: subsets of views; 0 means 8 of OSEM, or one a view where there are fewer, of BSREM one for five views, at most 24, of SVRG one for three, at most 40, and fewer where each would have
    // less than half a count a voxel of the image: two at least, from 1000 counts on.
    uint32_t subsets;
    // Passes over all views; 0 means 10.
    int64_t iterations;
    // Passes made before, by other calls: relaxation and random orders go on from there.
    int64_t first_iteration;
    // Of ISOC_PET_ORDER_RANDOM: the same orders for the same seed.
    uint64_t seed;
    // RAMLA: in pass k, `lambda = relaxation / (1 + relaxation_decay k) / largest A`; BSREM, SVRG: without `/ largest A`. Above 0 and at most 1, which keeps images
    // of RAMLA positive; 0 means 1.
    double relaxation;
    // How fast lambda falls from pass to pass, in the formula of relaxation; 0 or more. 0 means 0.1 of BSREM.
    double relaxation_decay;
    // Fourier projector: largest error of a kernel's expansion, relative to its largest value; 0 means 1e-5.
    double tolerance;
    // Above 0: passes end, before `iterations` of them, when one has changed the image by no more, `|after - before| / |after|`. Not judged are the first pass from a uniform image, and SVRG's of one step. Where
    // stop_region_change is set, too, both must hold.
    double stop_change;
    // Above 0: the same with the means of the regions of isoc_pet_set_regions, the largest change over the mean of all regions.
    double stop_region_change;
} isoc_pet_options;

// What a plan found and decided.
typedef struct {
    // sizeof(isoc_pet_info), set by the caller.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Views.
    int64_t views;
    // NaN and Inf values replaced in the last call that read data.
    int64_t replaced_values;
    // Passes of the last reconstruction, for isoc_pet_history.
    int64_t iterations;
} isoc_pet_info;

// What a pass over the views saw.
typedef struct {
    // Sum of `d ln e - e`, each view with the image as it was when the view's turn came.
    double log_likelihood;
    // What the prior takes off, `beta R`, for the image that the pass began with; 0 without a prior.
    double penalty;
    // `|after - before| / |after|` of the image; 0 unless isoc_pet_options.stop_change or stop_region_change is set.
    double change;
    // The largest change of a region's mean, over the mean of all regions; 0 as `change`, or without regions.
    double region_change;
    // Voxels with counts where none are expected: they changed nothing.
    uint64_t skipped_voxels;
} isoc_pet_iteration;

// Events that isoc_pet_detect did not detect, by the first cause that applies, in this order.
typedef struct {
    // sizeof(isoc_pet_lost), set by the caller.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // All of them.
    uint64_t events;
    // The line meets no crystal at one end or the other, or both positions are the same, or not finite.
    uint64_t missed;
    // By the efficiencies of the crystals and the pair.
    uint64_t undetected;
    // The time difference is in no time bin.
    uint64_t outside_window;
} isoc_pet_lost;

// What factors are for. Set `struct_size` and zero the rest for an image in decays a voxel.
typedef struct {
    // sizeof(isoc_pet_factor_options).
    uint32_t struct_size;
    // Of each view, about, 1 to 16384; 0 means 32. Lines about a voxel in each of them make its factor. A view has one for each 0.04 rad by 0.04 rad at least.
    uint32_t directions;
    // Of the measurement, s: the image is in Bq/ml. 0: it is in decays a voxel that send pairs of photons, and the next four must be 0.
    double duration;
    // Part of the decays that send pairs of photons, as of 18F 0.967; 0 means 1.
    double branching;
    // s, as of 18F 6586; 0: no decay.
    double half_life;
    // From the time that the image's activity is told at to the start of the measurement, s.
    double delay;
    // Part of the duration in which the scanner was ready (dead time); 0 means 1.
    double live;
    // Size of the attenuation map's voxels, mm; 0 means as in isoc_pet_geometry.
    double map_voxel_x;
    // See map_voxel_x.
    double map_voxel_y;
    // See map_voxel_x.
    double map_voxel_z;
    // Centre of the map, mm from that of the lattice.
    double map_centre_x;
    // See map_centre_x.
    double map_centre_y;
    // See map_centre_x.
    double map_centre_z;
} isoc_pet_factor_options;

// What scatter is estimated by. Set `struct_size` and zero the rest for an image in decays a voxel.
typedef struct {
    // sizeof(isoc_pet_scatter_options).
    uint32_t struct_size;
    // Must be 0.
    uint32_t reserved;
    // Those with which the image was reconstructed: its unit, and the attenuation map's place; NULL for none.
    const isoc_pet_factor_options *factors;
    // Full width at half maximum of the energy of unscattered photons over that energy; 0 means 0.11.
    double energy_resolution;
    // Of the detectors' energy window, keV; 0 means 435.
    double energy_lower;
    // Of the detectors' energy window, keV; 0 means 585.
    double energy_upper;
    // Full width at half maximum of the time difference, ps; 0 means that of isoc_pet_response.
    double tof_fwhm;
    // Distance of the places where photons are scattered, mm, 1 to 100; 0 means 12, and as much less as a scanner's radius is below 300 mm.
    double spacing;
} isoc_pet_scatter_options;

// What an estimate of scatter found.
typedef struct {
    // sizeof(isoc_pet_scatter_found), set by the caller.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Counts of single scatter in all histo-images.
    double scatter;
    // By how much they were multiplied: as counts in the tails over single scatter there tell beside their noise, and what is known before, 1 +- 0.2; 1 without tails.
    double scale;
    // Counts in the tails less randoms.
    double tails;
    // Single scatter in the tails.
    double tails_scatter;
    // Places where photons are scattered.
    uint64_t places;
    // Standard deviation of the scale; 0 without tails.
    double scale_error;
} isoc_pet_scatter_found;

// A list of events for projections along lines, all of whose arrays are in host memory: either `crystals`, or `first_positions` and `second_positions`.
typedef struct {
    // sizeof(isoc_pet_list).
    uint32_t struct_size;
    // Must be 0.
    uint32_t reserved;
    // Number of the list's first event in the scan, by which events of crystals have their places on these: see isoc_pet_deposit_crystals.
    uint64_t first_event;
    // u8, u16 or u32 (events, 2): the first and the second photon's crystal, counted from 0 (isoc_pet_set_scanner).
    const isoc_tensor *crystals;
    // Real (events, 3): x, y, z of the first photon's detection, mm from the centre of the lattice.
    const isoc_tensor *first_positions;
    // Of the second.
    const isoc_tensor *second_positions;
    // Real (events): t2 - t1 in ps, positive where the event is nearer to the first; or of crystals u8, u16 or u32, time bins of the scanner. NULL: there is no time of flight.
    const isoc_tensor *times;
    // Real (events): full width at half maximum of each event's time difference, ps, as of pairs of modules that differ; NULL: isoc_pet_response.tof_fwhm.
    const isoc_tensor *tof_fwhm;
} isoc_pet_list;

// A body of a phantom, in mm from the centre of the scanner. Where bodies overlap, values add: one within another holds the
// differences to its surroundings.
typedef struct {
    // An isoc_pet_shape.
    uint32_t shape;
    // Zero.
    uint32_t reserved;
    // Centre.
    double x;
    // Centre.
    double y;
    // Centre.
    double z;
    // Half its size along x.
    double half_x;
    // Along y; 0 means as along x.
    double half_y;
    // Along z; 0 means as along x.
    double half_z;
    // For a volume, in any unit.
    double activity;
    // Linear coefficient, 1/mm: 0.0096 is that of water at 511 keV.
    double attenuation;
} isoc_pet_body;

// A scan to simulate: decays in a phantom, measured by a cylinder of detectors about the z axis.
//
// Lines are isotropic within the plan's largest tilt. Each is moved by the radial and axial blur, lost if it ends beside the
// detectors or by attenuation along it, and measured with the blur of time.
typedef struct {
    // sizeof(isoc_pet_scan).
    uint32_t struct_size;
    // Pairs of radial_table; 0 means that radial_fwhm holds everywhere.
    uint32_t radial_table_count;
    // Bodies of the phantom.
    const isoc_pet_body *bodies;
    // How many.
    int64_t body_count;
    // Of the detectors, mm; 0 means 930.
    double diameter;
    // Of the detectors along z, mm; 0 means 250.
    double axial_length;
    // Full widths at half maximum, as in isoc_pet_response: of the time difference, ps; 0 for no blur, here and below.
    double tof_fwhm;
    // Across the line in the transverse plane, mm.
    double radial_fwhm;
    // Across both, mm.
    double axial_fwhm;
    // See isoc_pet_response.
    const double *radial_table;
    // The part of all events that are random: ends anywhere on the detectors.
    double randoms;
    // Largest time difference of random events, ps; 0 means 3000.
    double random_window;
    // The part of all events that are scatter: places of a smooth density, uniform along z and Gaussian across.
    double scatter;
    // Standard deviation of that Gaussian, mm; 0 means 120.
    double scatter_sigma;
    // Of the random numbers: the same events for the same seed, whatever the threads.
    uint64_t seed;
    // Of the detectors, as in isoc_pet_scatter_options; with it, one photon of a decay may be scattered once by the bodies' attenuation, and as many events are scatter as there are; `scatter` must then
    // be 0. 0: no photon is scattered.
    double energy_resolution;
    // See energy_resolution, keV; 0 means 435.
    double energy_lower;
    // See energy_resolution, keV; 0 means 585.
    double energy_upper;
    // What photons meet in place of the bodies' attenuation: real (nz, ny, nx) in host memory, 1/mm, of any size, each voxel the same throughout; NULL: the bodies'.
    const isoc_tensor *attenuation;
    // Size of its voxels, mm; 0 means as in isoc_pet_geometry.
    double map_voxel_x;
    // See map_voxel_x.
    double map_voxel_y;
    // See map_voxel_x.
    double map_voxel_z;
    // Centre of the map, mm from that of the lattice.
    double map_centre_x;
    // See map_centre_x.
    double map_centre_y;
    // See map_centre_x.
    double map_centre_z;
} isoc_pet_scan;

// How many events of each kind a simulated scan measured, and of how many draws: these scale what is expected of it.
typedef struct {
    // sizeof(isoc_pet_tally), set by the caller.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // True events.
    uint64_t trues;
    // Scatter.
    uint64_t scatter;
    // Randoms.
    uint64_t randoms;
    // Decays whose tilt the scanner accepts.
    uint64_t decays;
    // Draws of scatter; with an energy window, decays in any direction.
    uint64_t scatter_draws;
    // Draws of randoms.
    uint64_t random_draws;
} isoc_pet_tally;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a context. `options` may be NULL for the defaults.
//
// The environment variable ISOC_CPU_LEVEL (x86-64: baseline, avx2, avx512; 64-bit Arm: baseline, neon) lowers the instruction set that contexts made after
// it is set use; it never raises it.
isoc_status isoc_context_create(const isoc_context_options *options,
                                isoc_context **out);

// Destroys a context; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
isoc_status isoc_context_destroy(isoc_context *context);

// This thread's message of its last failed call: which argument, the value seen, the value allowed. Empty before the
// first failure. The pointer stays the same as long as the thread lives, its text until the thread's next failed call.
const char *isoc_last_error(void);

// A short phrase for a status, or "unknown status". Static.
const char *isoc_status_string(int32_t status);

// The library's version, such as "0.1.0". Static.
const char *isoc_version(void);

// ISOC_ABI_VERSION of the library that is running.
uint32_t isoc_abi_version(void);

// What the library was built from, and the CPU level that it will use. Static.
const char *isoc_build_info(void);

// Allocates host memory for tensors, aligned to 64 bytes or more, uninitialised. With a context that computes on GPUs it is
// page-locked: copies then run at the full speed of the bus and beside other work, where ordinary memory goes through staging
// buffers. Page-locking takes time (about 0.3 s a gigabyte): allocate once, use often. With other contexts it is ordinary
// memory. The memory outlives the context.
isoc_status isoc_host_alloc(const isoc_context *ctx,
                            uint64_t bytes,
                            void **out);

// Frees memory from isoc_host_alloc; NULL is accepted, any other address that is not such memory is
// ISOC_STATUS_INVALID_HANDLE.
isoc_status isoc_host_free(void *data);

// Makes a plan; give it a geometry next.
isoc_status isoc_ct_create(const isoc_context *ctx, isoc_ct **out);

// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
isoc_status isoc_ct_destroy(isoc_ct *ct);

// Sets scan and volume: validates, copies, works out the angular weights. Forgets weights of the caller's own. The flat field stays
// while `rows` and `bins` do (ISOC_STATUS_FLAT_FIELD if rows now in use cannot be corrected), else it is forgotten, with a warning in
// the log. One view, or views that all have the same angle, are accepted here (`forward` and `adjoint` can use them); what needs
// angular weights is not, without isoc_ct_set_angular_weights. An axis so far beside the detector that pixels see less than two thirds
// of the directions is warned of.
isoc_status isoc_ct_set_geometry(isoc_ct *ct,
                                 const isoc_ct_geometry *geometry);

// Cuts the slice of a geometry down to a region of interest: columns column_begin to column_end and rows row_begin to row_end of
// the slice that the geometry describes, counted from 0, ends not included. It changes nx, ny, x_offset and y_offset, so that pixels keep
// their places and sizes: the volume is then `[:, row_begin:row_end, column_begin:column_end]` of what it would have been. A second
// region counts from the first one's corner. nx or ny of 0 means bins, as ever; other fields are not looked at. Rows are the slice's, not
// the detector's: those are first_row and slices.
isoc_status isoc_ct_region(isoc_ct_geometry *geometry,
                           int64_t column_begin,
                           int64_t column_end,
                           int64_t row_begin,
                           int64_t row_end);

// Work on tensors that are on a GPU begins when all that is in `stream` now has been done: a cudaStream_t (or CUstream) of
// that GPU, NULL for the default stream. It holds until set again. Calls return when their results are there, whatever the
// stream. The stream must stay valid for as long as it is set.
isoc_status isoc_ct_set_stream(isoc_ct *ct,
                               void *stream);

// Measures the GPU's back projectors for this geometry and interpolation, on made-up data, and keeps to the fastest: from
// then on ISOC_CT_KERNEL_AUTO chooses by what was measured, where before it goes by the figures of an H200. The log gets the
// table. With ISOC_CT_INTERPOLATION_BAND_LIMITED there is one back projector: the log gets its rate in the same unit, updates of the sum
// over views that it stands for, so that the two can be compared. Takes some seconds at most for slices of 2048 x 2048; without a GPU it
// does nothing.
isoc_status isoc_ct_tune(isoc_ct *ct);

// Sets options; NULL sets the defaults. They hold until set again, whatever the geometry.
isoc_status isoc_ct_set_options(isoc_ct *ct, const isoc_ct_options *options);

// Removes outliers from raw frames (counts or transmissions) in `filter`, `reconstruct` and `reconstruct_stream`, before the flat field.
// NULL turns it off, as it is at first. It holds until set again, whatever the geometry. The work on a slab looks at window / 2 detector
// rows on either side, which `read` of a stream is asked for as well; results do not depend on slabs. Values that are NaN or Inf count as
// the largest in their neighbourhood, and are treated by the NaN policy as ever. isoc_ct_info.outliers says how many there were in the
// last call. Line integrals stay as they are: a call whose projections are line integrals is ISOC_STATUS_FLAT_FIELD.
isoc_status isoc_ct_set_outliers(isoc_ct *ct,
                                 const isoc_ct_outliers *outliers);

// Takes the detector's distortion, a tilt and shifts of views out of the frames in `filter`, `reconstruct` and `reconstruct_stream`, and out of the rows of isoc_ct_find_axis: after
// outliers and the flat field, which are the detector's own, and before phase and stripes. Transmissions (of projections that are line
// integrals, these) are read linearly between four pixels; beyond the detector its outermost ones are repeated. NULL turns it off, as it is at
// first. It holds until set again, whatever the geometry; shifts need as many views as that has, and pixels that move by more than half of
// the detector's longer side are refused (ISOC_STATUS_OUT_OF_RANGE). The work on a slab looks at the detector rows that its pixels come from, which `read` of a
// stream is asked for as well; results do not depend on slabs. Where views move sideways alone, isoc_ct_geometry.axis takes an axis for each of
// them, which reads no pixel between others.
isoc_status isoc_ct_set_distortion(isoc_ct *ct,
                                   const isoc_ct_distortion *distortion);

// Retrieves phase in `filter`, `reconstruct` and `reconstruct_stream`: filters each frame of transmissions, after outliers and the flat field,
// which makes line integrals of attenuation. NULL turns it off, as it is at first. It holds until set again, whatever the geometry. Beyond the
// detector its outermost bins and rows are repeated. The work on a slab looks at as many detector rows on either side as the filter's kernel
// is long (Paganin: 2.2 lengths and 8 rows, and 170 at most for lengths of a few bins), which `read` of a stream is asked for as well; results depend
// on slabs by 1e-6 of a step of the transmission, with ISOC_CT_PHASE_METHOD_CTF by 1e-5. Pixels
// without a value count as air. A call whose projections are line integrals is ISOC_STATUS_FLAT_FIELD.
isoc_status isoc_ct_set_phase(isoc_ct *ct,
                              const isoc_ct_phase *phase);

// For counts: `filter` and `reconstruct` make -ln((raw - dark) / (flat - dark)) of them. Integers are counts; of f32
// isoc_ct_options.input has to say what they are. Flats and darks are (frames, rows, bins) or, for one frame, (rows,
// bins), of f32, u16 or u8; the frames are combined and copied: their means with `options` NULL, or as `options` says. `darks` may be NULL
// for zeros. `flats` NULL (then `darks` and `options` too) forgets the flat field. Call it after isoc_ct_set_geometry; it stays until a
// geometry with other rows or bins, or, if it varies from view to view, other views. A flat that is not above its dark is
// ISOC_STATUS_FLAT_FIELD, or, with the NaN policy "replace", a pixel that reads as 0 and is counted.
isoc_status isoc_ct_set_flat_field(isoc_ct *ct,
                                   const isoc_tensor *flats,
                                   const isoc_tensor *darks,
                                   const isoc_ct_flat_field_options *options);

// Finds what the beam of views has of the flat field's components (isoc_ct_flat_field_options.eigenflats), by their frames: dynamic
// flat-field correction, V. Van Nieuwenhove, J. De Beenhouwer, F. De Carlo, L. Mancini, F. Marone, J. Sijbers, "Dynamic intensity
// normalization using eigen flat fields in X-ray imaging", Opt. Express 23, 27975, 2015. The beam of a view becomes
// `s (F + w1 u1 + w2 u2 + ...)`: F what the flats say of it (groups, monitor), u the components, w the weights for which the total
// variation of (frame - dark) / beam, times the mean of the beam, is smallest, over blocks of pixels, and s what keeps the mean transmission of the frame
// at that of (frame - dark) / F.
//
// `projections`: whole frames of the views first_view, first_view + 1, ..., as many as the tensor has: (views, rows, bins), or (rows, views,
// bins) as isoc_ct_geometry.order says; u16, u8, or f32 counts (isoc_ct_options.input), on the host or on a GPU, from which
// they are copied to the host some at a time. Views are independent of each other: a scan may be fitted in parts, in any order, as frames come
// from disk, and a view again. Frames are taken as they are, outliers and all.
//
// Every view of the scan has to be fitted before `filter`, `reconstruct`, `reconstruct_stream` and isoc_ct_find_axis take counts:
// otherwise these are ISOC_STATUS_FLAT_FIELD, and name the first view that is missing. Where no component stands above noise there is
// nothing to fit, and nothing missing. isoc_ct_set_flat_field forgets the fit, as does what forgets the flat field.
//
// `options`: NULL for the defaults. `found`: NULL, or gets what was found. It runs on the context's worker threads with progress, a view a
// task; cancelled or failed, it leaves the plan as it was. ISOC_STATUS_FLAT_FIELD: the flat field was set without eigenflats.
isoc_status isoc_ct_fit_flat_field(isoc_ct *ct,
                                   const isoc_tensor *projections,
                                   int64_t first_view,
                                   const isoc_ct_flat_fit_options *options,
                                   isoc_ct_flat_fit *found);

// Removes stripes in `filter`, `reconstruct` and `reconstruct_stream`, after the flat field and the logarithm and before the filter
// (with ISOC_CT_FILTER_NONE, isoc_ct_filter gives line integrals without stripes). NULL turns it off, as it is at first. It holds until set
// again, whatever the geometry; where a window is longer than the detector, or levels are more than fit, that call, or the calls that use it, are
// ISOC_STATUS_OUT_OF_RANGE. Results do not depend on slabs.
isoc_status isoc_ct_set_stripes(isoc_ct *ct,
                                const isoc_ct_stripes *stripes);

// Takes scans for half acquisitions in `reconstruct` and `reconstruct_stream`: line integrals, after the stripes and before the filter,
// are weighed where opposite views see the same rays, and rows are widened by zeros to the whole field about the axis; no view is
// resampled or stitched to another. Geometry and projections are as the detector has them, with one axis or one a view; a volume of the
// whole field has nx and ny of about 2 (bins - overlap / 2). Angles, which may be uneven, make a full turn. NULL turns it off, as it is
// at first. It holds until set again, whatever the geometry.
//
// Angular weights are then half the gaps of the full turn, in sum pi; the caller's own stay in force. isoc_ct_info tells the bins that
// rows become, and the overlap; isoc_ct_find_axis finds the axis, and says whether a scan is a half acquisition. isoc_ct_filter,
// isoc_ct_backproject, isoc_ct_forward and isoc_ct_adjoint take rows as they are: filtered rows need more bins than the detector has. So
// do iterative algorithms, which need no weights where rays are measured twice: with this set they are ISOC_STATUS_OUT_OF_RANGE.
//
// ISOC_STATUS_OUT_OF_RANGE, here or from the calls that use it after another geometry, where the axis is further than a quarter of the
// bins beyond the edge, where the overlap wanted is larger than there is, where less than half of the views have an opposite one to
// two steps of the scan, and for rows of more than 2^20 bins. Gaps in the turn, and a hole about an axis beyond the edge whose rays
// nobody measured, are warnings in the log, with angles and radius.
isoc_status isoc_ct_set_half_acquisition(isoc_ct *ct,
                                         const isoc_ct_half_acquisition *half_acquisition);

// Sets how the volume is stored; NULL sets f32 as they are. It holds until set again, whatever the geometry. The volume's tensor, and
// that of a stream's `write`, must have the type that was set: others are ISOC_STATUS_TENSOR_DTYPE. Forgets what isoc_ct_get_output tells.
isoc_status isoc_ct_set_output(isoc_ct *ct,
                               const isoc_ct_output *output);

// Tells how the last isoc_ct_reconstruct or isoc_ct_reconstruct_stream stored its volume; ISOC_STATUS_NOT_CONFIGURED where none has
// been finished since isoc_ct_set_output, or the last one failed.
isoc_status isoc_ct_get_output(isoc_ct *ct,
                               isoc_ct_output_info *info);

// Writes the histogram of the volume that was written last to `counts`, which has room for `capacity`; `count`, which may be NULL, gets
// how many bins there are: isoc_ct_output.histogram_bins. `counts` NULL with `capacity` 0 asks for the number alone; a smaller capacity is
// ISOC_STATUS_OUT_OF_RANGE, and nothing is written. Errors as for isoc_ct_get_output.
//
// Bins are equal parts of the window, from low to high; what is clipped counts in the bins at the ends, so that the sum is the number of
// pixels inside the mask. Integers: bin stored * bins / (largest + 1), rounded down; floats: (value - low) / (high - low) * bins, rounded
// down.
isoc_status isoc_ct_get_histogram(isoc_ct *ct,
                                  int64_t *counts,
                                  int64_t capacity,
                                  int64_t *count);

// Tells what the plan found in the geometry and decided under the present options.
isoc_status isoc_ct_get_info(isoc_ct *ct, isoc_ct_info *info);

// Writes the angular weight of each view (radians) to `out`, which has room for `capacity`; `count`, which may be NULL, gets how many
// there are: the number of views. `out` NULL with `capacity` 0 asks for the number alone; a smaller capacity is
// ISOC_STATUS_OUT_OF_RANGE, and nothing is written.
//
// The caller's own, if isoc_ct_set_angular_weights has set any; else half the gap to the neighbour on either side, angles taken modulo
// pi, where missing wedges (see isoc_ct_info) count nothing; under half acquisition half of that, angles taken modulo 2 pi.
isoc_status isoc_ct_get_angular_weights(isoc_ct *ct,
                                        double *out,
                                        int64_t capacity,
                                        int64_t *count);

// Sets the angular weights: `weight_count` values in radians, one a view, finite and 0 or more, with a sum above 0 (pi keeps
// attenuation's scale; a larger one is warned of). Copied; they hold until the next isoc_ct_set_geometry. NULL with 0 goes back to the
// weights that the plan works out. `reconstruct`, weighted `backproject` and streams use them, also for one view or equal angles.
isoc_status isoc_ct_set_angular_weights(isoc_ct *ct,
                                        const double *weights,
                                        int64_t weight_count);

// Bytes of working memory that `reconstruct` will allocate under the present geometry, options and memory cap; on GPUs, of each
// one's memory, between arrays in host memory. A plan keeps it for its next call, until it gets a geometry or is destroyed.
isoc_status isoc_ct_memory(isoc_ct *ct,
                           uint64_t *bytes);

// Sets how iterative algorithms go on; NULL sets the defaults, 30 iterations. It holds until set again, whatever the geometry. Forgets
// what isoc_ct_history tells.
isoc_status isoc_ct_set_iterative(isoc_ct *ct,
                                  const isoc_ct_iterative *iterative);

// Sets the weights of rays, 0 or more and not all 0, for ISOC_CT_WEIGHTING_GIVEN: `weights` is (views, bins) or (views, 1, bins), f32 or f64
// in host memory, copied; the same in all slices. A weight of 0 leaves a ray out, as of a dead column of the detector or of metal in its
// way. NULL, and isoc_ct_set_geometry, forget them.
//
// ISOC_STATUS_NOT_FINITE_DATA, ISOC_STATUS_OUT_OF_RANGE: a weight is NaN or Inf, or below 0, or all are 0.
isoc_status isoc_ct_set_ray_weights(isoc_ct *ct,
                                    const isoc_tensor *weights);

// Writes what the iterations of the last reconstruction saw; ISOC_STATUS_NOT_CONFIGURED before there was one that iterated.
isoc_status isoc_ct_history(isoc_ct *ct,
                            isoc_ct_iteration *iterations,
                            int64_t capacity,
                            int64_t *count);

// Filters every row of the slices: projections -> filtered, both of the projections' shape; rows outside the slices are
// left alone; after a cancel some rows may have been written. The ramp is in 1 / bin_pitch, without angular weights:
// `filter`, then a weighted `backproject`, is `reconstruct`.
//
// `projections`: f32 line integrals, or what isoc_ct_options.input says. `filtered`: f32.
isoc_status isoc_ct_filter(isoc_ct *ct,
                           const isoc_tensor *projections,
                           const isoc_tensor *filtered);

// Back projection: volume(i, j) = sum over views of projections at h (see isoc_ct_geometry), interpolated as the options
// say; unscaled, unless the options ask for angular weights.
//
// `projections`: f32; `volume`: f32, (slices, ny, nx).
isoc_status isoc_ct_backproject(isoc_ct *ct,
                                const isoc_tensor *projections,
                                const isoc_tensor *volume);

// Forward projection: line integrals of the volume at the bins' centres, in its length unit, by isoc_ct_options.projector. Rows outside
// the slices are left alone; after a cancel some may have been written in part.
//
// `volume`: f32, (slices, ny, nx); `projections`: f32.
isoc_status isoc_ct_forward(isoc_ct *ct,
                            const isoc_tensor *volume,
                            const isoc_tensor *projections);

// The exact transpose of `forward`, for iterative methods.
//
// `projections`: f32; `volume`: f32, (slices, ny, nx).
isoc_status isoc_ct_adjoint(isoc_ct *ct, const isoc_tensor *projections, const isoc_tensor *volume);

// Reconstruction by isoc_ct_options.algorithm; by default filtered back projection: sum over views of angular weight x filtered
// projection. The result is attenuation a length unit: a uniform disk of 1.0 comes out as 1.0 for any pixel size, bin pitch, number of
// views, half or full turn.
//
// `projections`: f32 line integrals, counts (u16, u8) with a flat field, or what isoc_ct_options.input says; `volume`: (slices, ny, nx),
// f32, or of the type of isoc_ct_set_output.
// The volume is written slab by slab: after an error or a cancel each slice is either finished or untouched.
isoc_status isoc_ct_reconstruct(isoc_ct *ct,
                                const isoc_tensor *projections,
                                const isoc_tensor *volume);

// Writes the ellipses of a Shepp-Logan phantom that fills a circle of the given radius (length units),
// ISOC_CT_SHEPP_LOGAN_ELLIPSES of them.
isoc_status isoc_ct_shepp_logan(uint32_t kind,
                                double radius,
                                isoc_ct_ellipse *ellipses,
                                int64_t capacity,
                                int64_t *count);

// Filtered back projection like isoc_ct_reconstruct, for data and volumes that do not fit memory: `read` is asked for the
// projections of some slices at a time, in order, and `write` gets the finished slices, in order. GPUs work meanwhile on the
// slabs in between (two for each GPU), so that reading, computing and writing overlap. `dtype` is the projections' type
// (ISOC_F32, or ISOC_U16 or ISOC_U8 of counts: see isoc_ct_input). Both callbacks, and progress, come from the thread that made the call.
// isoc_ct_info.slab_slices says how many slices a slab has at most.
//
// When a callback returns non-zero the call stops with ISOC_STATUS_CALLBACK; slices that `write` took are good, no others.
// NaN and Inf are found slab by slab: the message names the index in the whole array.
isoc_status isoc_ct_reconstruct_stream(isoc_ct *ct,
                                       isoc_dtype dtype,
                                       isoc_ct_read_fn read,
                                       isoc_ct_write_fn write,
                                       void *user);

// The phantom's exact mean over each pixel, the same in every slice: the truth to compare a reconstruction with.
isoc_status isoc_ct_phantom_volume(isoc_ct *ct,
                                   const isoc_ct_ellipse *ellipses,
                                   int64_t ellipse_count,
                                   const isoc_tensor *volume);

// The phantom's exact line integrals at the bins' centres, in the geometry's length unit, the same in every row.
isoc_status isoc_ct_phantom_projections(isoc_ct *ct,
                                        const isoc_ct_ellipse *ellipses,
                                        int64_t ellipse_count,
                                        const isoc_tensor *projections);

// Finds the rotation axis of the plan's scan from its projections. The plan's own axis has no say, and nothing in the plan changes: give
// what was found to isoc_ct_set_geometry. A threshold, a mask or a first guess is not needed.
//
// Rows are mirrored about the axis half a turn later. The place where that fits best is found over the whole range, then the step
// between a direction's views and the mirrored ones half a turn later is measured, for each frequency of a row with as many views about it
// as make it most precise: see N. T. Vo et al., "Reliable method for calculating the center of rotation in parallel-beam tomography", Opt.
// Express 22, 2014, for what half a turn tells. Rows that stray count less.
//
// What isoc_ct_set_distortion says is taken out of the rows before; no other step of the frames is.
//
// `projections`: as isoc_ct_reconstruct takes them, on the host or on a GPU, from which the rows needed are copied to the host, where the
// search runs. `options`: NULL for the defaults.
//
// Where the axis cannot be told the call says why, and `found` is left alone: ISOC_STATUS_TOO_FEW_VIEWS and ISOC_STATUS_EQUAL_ANGLES, and
// ISOC_STATUS_OUT_OF_RANGE for angles that miss half a turn by more than 0.12 rad, for rows without structure, and for rows that contradict
// each other. An axis beside the detector, where opposite views share no ray, cannot be found; of one
// near an edge bins / 16 or so have to be seen from both sides, fewer where `low` and `high` say where it is. ISOC_STATUS_MEMORY_CAP: not
// even one row fits the context's memory_cap; fewer rows than wanted are taken where not all do.
isoc_status isoc_ct_find_axis(isoc_ct *ct,
                              const isoc_tensor *projections,
                              const isoc_ct_axis_options *options,
                              isoc_ct_axis *found);

// Finds views that are no measurement of the object, which would change the values of all slices: `faults` gets an isoc_ct_view_fault for
// each view. Nothing in the plan changes: to leave views out, set a geometry without their angles, and give
// `reconstruct` the frames that are left (a strided tensor where these are evenly spaced), or copy these in isoc_ct_read_fn. Positions of
// flats and a monitor are to be those of the views left, too.
//
// Eight detector rows are looked at, evenly spread, of every view, or all where there are fewer; how frames are stored, on which device and
// in how many threads has no say. With t = (raw - dark) / (flat - dark), of the mean flat, cut to -0.5 to 0.5:
//
// Black: the mean of t and four of its standard errors are below 0.004, and below a third of what a tenth of the views exceed, over 256 values at
// least, or 16 where flats have a million counts in those that are looked at. So a sample that leaves a hundredth of the beam is not black, nor when the beam has decayed to a half. Where the dark is noisy, and the
// detector small, or the dark level has drifted by more, black views may be doubtful alone. Frozen: at least a third of
// all views differ from the one before by noise (a quarter of the values change, and third differences of the changes
// along the bins have alternating signs), and so do the nearest ones before and behind. So data without noise have none, whatever the
// object; the first of equal frames is good. Doubtful: the 7/8 quantile of the means of 32 bins, which is air where there is air, is off
// from the median of the 17 views about it by angle by a factor of 1.35 and 12 times the typical distance, and falls at once
// beside views that stay, all within 2 degrees. Line integrals tell frozen, not finite and doubtful views alone.
//
// `projections`: as isoc_ct_reconstruct takes them, on the host or on a GPU, from which the rows are copied to the host; NaN
// and Inf are no error whatever the NaN policy. Counts need a flat field; with eigenflats the call comes before isoc_ct_fit_flat_field.
// `view_count`: room in `faults`, which has to be the number of views. Where the call fails or is cancelled `faults` is left alone.
isoc_status isoc_ct_find_bad_views(isoc_ct *ct,
                                   const isoc_tensor *projections,
                                   uint32_t *faults,
                                   int64_t view_count);

// Suggests isoc_ct_iterative.regularisation for ISOC_CT_ALGORITHM_TOTAL_VARIATION by the plan's projections: `weight` gets
// 0.7 s q^1.6 (N / 64)^0.7 sqrt(views) pixel_size in the length unit, s the standard deviation of the noise of a line integral, N the pixels along the slice's shorter side, and q
// the deviation, over s, of what up to 4 slices leave of their data that total variation of 0.5 s sqrt(views) pixel_size makes in up to 60 iterations: edges that are sharper than
// pixels can show leave more than noise, and ask for more. q counts up to 8. The slices are made within the bounds and the mask of isoc_ct_set_iterative, or above 0 where there is no lower bound; the object must lie
// within them. Of 576 simulated scans of parts of one value (64 to 512 pixels, 30 to 180 views, noise of 0.3 to 3 %) the error with this weight was within 1.1 times of the least in 88 %, and within 1.5 in all; of a smooth object
// 8 times as much was nearer to the truth. Nothing in the plan changes.
//
// s is the root of the mean variance over blocks of 64 bins and 16 views, of each the median size of third differences along the bins
// over 0.6745 sqrt(20) (D. L. Donoho and I. M. Johnstone, "Ideal spatial adaptation by wavelet shrinkage", Biometrika 81, 1994): right
// for independent normal noise, also where it changes along the row. Up to 16 rows of the volume and 4 million line integrals are looked
// at, evenly spread; of n of them s has a standard error of 1.8 / sqrt(n) of itself. Edges and stripes count as noise to some part: s is
// 7 % too large for the Shepp-Logan phantom on 128 bins with noise of 3 % of the largest line integral, 15 % with 1 %. Where neighbouring
// bins share noise, as by a scintillator's blur or by the interpolation that takes distortion out, s is too small.
//
// Line integrals are looked at as they are after the flat field, the logarithm and isoc_ct_set_distortion; stripes and outliers are still
// in them, and outliers hardly count.
//
// `projections`: as isoc_ct_reconstruct takes them, on the host or on a GPU, from which the rows needed are copied to the host. The slices are made where
// the context's are. `noise`: gets s; may be NULL. Both are left alone where the call fails, and 0 where there is no noise.
//
// ISOC_STATUS_OUT_OF_RANGE: there are fewer than 16 bins, or isoc_ct_set_phase is set, after which neighbouring bins share noise.
// ISOC_STATUS_NOT_FINITE_DATA: a row that is looked at holds NaN or Inf, which the NaN policy "replace" makes 0. ISOC_STATUS_MEMORY_CAP:
// not even one row, or one slice with its data, fits the context's memory_cap; fewer are taken where not all do. Calls on one plan wait for each other.
isoc_status isoc_ct_suggest_regularisation(isoc_ct *ct,
                                           const isoc_tensor *projections,
                                           double *weight,
                                           double *noise);

// Makes a plan; give it a geometry next.
isoc_status isoc_mri_create(const isoc_context *ctx, isoc_mri **out);

// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
isoc_status isoc_mri_destroy(isoc_mri *mri);

// Sets image and trajectory, (samples, 2) for a plane, (samples, 3) for a volume or, with geometry.axes 1, (samples) for a line, x first, f32 or f64, on the host or on the GPU; copied.
// A plan on a GPU keeps it there, 8 bytes a number, if it came from there or has 65,536 samples or more, and if that is no more than a
// sixteenth of the memory; isoc_mri_memory counts it. Samples out of the
// unit's range are an error that names the first one and the units that all would fit, or, up to a tenth beyond, what to do; samples that all stay below a quarter of it
// are a warning in the log. Forgets weights, maps, field,
// positions, the penalty's weights and matrix, and Q.
isoc_status isoc_mri_set_geometry(isoc_mri *mri,
                                  const isoc_mri_geometry *geometry,
                                  const isoc_tensor *trajectory);

// Sets options; NULL sets the defaults. They hold until set again, whatever the geometry. Another method, tolerance or
// upsampling forgets Q.
isoc_status isoc_mri_set_options(isoc_mri *mri,
                                 const isoc_mri_options *options);

// Work on tensors that are on a GPU begins when all that is in `stream` now has been done: a cudaStream_t (or CUstream) of
// that GPU, NULL for the default stream. It holds until set again. Calls return when their results are there, whatever the
// stream. The stream must stay valid for as long as it is set.
isoc_status isoc_mri_set_stream(isoc_mri *mri,
                                void *stream);

// Sets density weights W, one a sample, not negative and not all 0: real (samples); copied. NULL means 1. Forgets Q.
isoc_status isoc_mri_set_weights(isoc_mri *mri,
                                 const isoc_tensor *weights);

// Finds density weights and sets them; `density` is an isoc_mri_density. They are areas (volumes) of k-space in cycles per voxel, so
// that isoc_mri_gridding gives an image in its own scale.
isoc_status isoc_mri_compute_weights(isoc_mri *mri,
                                     uint32_t density,
                                     int64_t parameter);

// Writes the density weights, 1 where none were set: real (samples).
isoc_status isoc_mri_get_weights(isoc_mri *mri, const isoc_tensor *weights);

// Sets coil sensitivities S, complex (coils, nz, ny, nx); copied. With them all coils see one image; NULL forgets them, and each coil
// then has an image of its own.
//
// Several sets, (sets, coils, nz, ny, nx), of planes also (sets, coils, ny, nx), as isoc_coil_maps writes them: all coils see the sum of as many
// images, each by its own set, where one set does not explain the data, as with a field of view smaller than the object (soft SENSE: Uecker et
// al., Magn. Reson. Med. 71, 2014). Images are then (sets, nz, ny, nx), with a basis (sets x images of a basis, ...), and each has the
// penalty of an image; the root of the sum of their squares is what to look at.
//
// ISOC_STATUS_OUT_OF_RANGE: more sets than coils.
isoc_status isoc_mri_set_maps(isoc_mri *mri,
                              const isoc_tensor *maps);

// Sets off-resonance and decay: `field` real (nz, ny, nx) in Hz, `times` real (samples) in seconds from where phases agree (the echo of a
// spin echo, the excitation of a gradient echo), `decay` real (nz, ny, nx), R2* = 1 / T2* in 1/s, not negative; copied. `field` or `decay`
// may be NULL. Sample m then has the factor exp(-(2 pi i field(r) + decay(r)) times_m) besides.
//
// Fast sums are then sums of products of those without, as many as the tolerance takes (isoc_mri_info.field_terms; about one for each turn
// between the fastest and the slowest voxel while samples are taken, and ten more): Sutton, Noll and Fessler, IEEE Trans. Med.
// Imaging 22, 2003, at times and by interpolators that fit the field's histogram best. ISOC_MRI_METHOD_EXACT takes no products for
// off-resonance, and those for decay to round-off. All three NULL forget it.
//
// F^H W F by Q is then a sum of convolutions, each between factors of voxels (isoc_mri_info.normal_terms; about two for each turn, and ten
// more): Fessler et al., IEEE Trans. Signal Process. 53, 2005, with products for the sums of decays and the differences of frequencies of all
// pairs of voxels. It is Hermitian to rounding, and as near to F^H W F as the tolerance says: eigenvalues may fall below 0 by so much of the
// largest. Q takes normal_terms times as much memory and time as without a field. More than 128 turns are for pairs of transforms.
isoc_status isoc_mri_set_field(isoc_mri *mri,
                               const isoc_tensor *field,
                               const isoc_tensor *times,
                               const isoc_tensor *decay);

// Sets where the voxels are, where they are on no regular grid: real (nz, ny, nx, axes), x first, in voxels from position 0; copied.
// Sums are then exact, and F^H W F is applied by pairs of them. NULL goes back to the grid.
isoc_status isoc_mri_set_positions(isoc_mri *mri,
                                   const isoc_tensor *positions);

// Sets the weights of ISOC_MRI_PENALTY_DIFFERENCES: real (axes, nz, ny, nx), x first, 2 axes for a plane and 3 for a volume;
// copied. The weight at a voxel is that of the difference between it and the next one along the axis: small where anatomy
// has an edge. NULL means 1.
isoc_status isoc_mri_set_difference_weights(isoc_mri *mri,
                                            const isoc_tensor *weights);

// Sets R of ISOC_MRI_PENALTY_MATRIX as compressed sparse rows over the voxels in the image's order: row i has the entries
// `row_starts[i]` to `row_starts[i + 1]` of `columns` and `values`. `rows` + 1 row_starts; `values` is real or complex, (entries). Copied.
isoc_status isoc_mri_set_matrix(isoc_mri *mri,
                                int64_t rows,
                                const int64_t *row_starts,
                                const int64_t *columns,
                                int64_t entries,
                                const isoc_tensor *values);

// Makes the scan a series of frames with images of their own: frame f has `counts[f]` samples from `first[f]` on, in the trajectory's
// order; frames may overlap, and leave samples out. Images of all calls are then (frames, nz, ny, nx), or without coil maps
// (frames x coils, nz, ny, nx), frame by frame; samples stay those of the whole trajectory. 0 frames make it one scan again, as
// isoc_mri_set_geometry does.
//
// Each frame is computed as a scan of its samples with their weights, field times and the maps of all, one after the other, in memory for
// one beside all samples and images; where frames times coils times voxels are 2^23 or more, several at a time by as many GPUs as the context
// has (but those that a penalty takes together, and those of a stream). isoc_mri_compute_weights then finds weights of each frame by itself, so that gridding
// (isoc_mri_gridding) has the image's scale; it comes after this. isoc_mri_forward takes frames that do not overlap. There is no Q to
// compute ahead, export or import. A basis (isoc_mri_set_basis) and frames exclude each other (ISOC_STATUS_NOT_CONFIGURED).
isoc_status isoc_mri_set_frames(isoc_mri *mri,
                                int64_t frames,
                                const int64_t *first,
                                const int64_t *counts);

// The same with windows of equal length: frame f has `length` samples from f x `step` on, as long as the trajectory has so many. A
// sliding window over spokes of golden angles has a multiple of the spoke's samples as both.
isoc_status isoc_mri_set_windows(isoc_mri *mri,
                                 int64_t length,
                                 int64_t step);

// Sets a temporal basis: images change while samples are taken, as sums of a few. Sample m is then the sum over images k of
// basis(time of m, k) (F rho_k)(m). `basis` is real or complex (times, images), at most 64 images; `times` has the row of each sample,
// `samples` values; NULL: rows are samples. Copied. Images of all calls are (images, nz, ny, nx), or without coil maps
// (coils x images, nz, ny, nx), coil by coil. `basis` NULL forgets it, as isoc_mri_set_geometry does.
//
// F^H W F by Q is a matrix of convolutions between images, images (images + 1) / 2 of them, images^2 for a complex basis
// (isoc_mri_info.normal_terms), and takes a Fourier transform there and back for each image and coil, whatever the number of times: Tamir et
// al., Magn. Reson. Med. 77, 2017; Mani et al. 74, 2015. On a GPU it serves up to 16 images, and no field (isoc_mri_set_field): pairs of
// transforms do the rest. Penalties are sums over the images.
isoc_status isoc_mri_set_basis(isoc_mri *mri,
                               const isoc_tensor *basis,
                               const int64_t *times);

// Says that samples are of shots, between which the object's phase changes, as in diffusion scans: sample m sees the image times `phases` of its
// shot. `phases` is complex (shots, nz, ny, nx), at most 64 shots, any factors; `shots` has the shot of each sample, `samples` values from 0 on.
// Copied. All shots are of one image, and calls have as many images as without. Both NULL forget shots, as isoc_mri_set_geometry does.
//
// F^H W F by Q is a convolution for each shot between its phases, and takes a Fourier transform there and back for each shot and coil. Shots, frames and a
// basis exclude each other (ISOC_STATUS_NOT_CONFIGURED). N.-k. Chen, A. Guidon, H.-C. Chang, A. W. Song, "A robust multi-shot scan strategy for
// high-resolution diffusion weighted MRI enabled by multiplexed sensitivity-encoding (MUSE)", NeuroImage 72, 2013.
isoc_status isoc_mri_set_shots(isoc_mri *mri,
                               const int64_t *shots,
                               const isoc_tensor *phases);

// Tells what the plan found and decided.
isoc_status isoc_mri_get_info(isoc_mri *mri, isoc_mri_info *info);

// Maximum number of bytes of working memory that isoc_mri_reconstruct uses under the present geometry and options: of the host, or of the GPU
// that it computes on, where a smaller gpu_memory_cap may still do.
isoc_status isoc_mri_memory(isoc_mri *mri,
                            uint64_t *bytes);

// samples = F image: what the scanner would measure. `image`: complex (nz, ny, nx), or (coils, nz, ny, nx) without coil maps;
// `samples`: complex (coils, samples).
//
// This call, isoc_mri_adjoint, isoc_mri_gridding and isoc_mri_reconstruct take several scans of the plan's kind, too, such as slices or repetitions, one after
// the other: `samples` (scans, coils, samples), and `image` (scans, images, nz, ny, nx), without images where there is one and without nz of planes. Their
// progress is that of all; images of the scans before one that fails are written.
//
// Here and below: complex64 or complex128; sizes of 1 may be left out; nothing is written unless all of it is there.
isoc_status isoc_mri_forward(isoc_mri *mri,
                             const isoc_tensor *image,
                             const isoc_tensor *samples);

// image = F^H samples, unscaled: the exact transpose of isoc_mri_forward, to the transforms' tolerance.
isoc_status isoc_mri_adjoint(isoc_mri *mri, const isoc_tensor *samples, const isoc_tensor *image);

// image = F^H W samples: gridding, the quick reconstruction that others are compared with. In the image's own scale with weights
// from isoc_mri_compute_weights (and coil maps whose squares add up to 1); without weights, each sample counts 1, and the log gets a
// warning.
isoc_status isoc_mri_gridding(isoc_mri *mri,
                              const isoc_tensor *samples,
                              const isoc_tensor *image);

// out = (F^H W F + lambda R^H R) image: the system that isoc_mri_reconstruct solves, for solvers of your own.
isoc_status isoc_mri_normal(isoc_mri *mri, const isoc_tensor *image, const isoc_tensor *out);

// The image that minimises |F image - samples|^2 / 2, in the norm of the density weights, + lambda times the penalty, for each image.
// With penalties 0 to 2 that is the solution of (F^H W F + lambda R^H R) image = F^H W samples, by conjugate gradient. Progress is reported, and a wish to
// cancel heeded, at each iteration.
isoc_status isoc_mri_reconstruct(isoc_mri *mri,
                                 const isoc_tensor *samples,
                                 const isoc_tensor *image);

// |residual| / |right-hand side| of image `image` in the last isoc_mri_reconstruct (of several scans, all images scan by scan), before the first iteration and after each; with
// penalties 3 and 4, |step| / |image| of each iteration, after 1 for the start. After isoc_mri_find_maps, of image 0: |F maps image - samples| / |samples|
// in the weights' norm, before the first step and after each.
isoc_status isoc_mri_history(isoc_mri *mri,
                             int64_t image,
                             double *residuals,
                             int64_t capacity,
                             int64_t *count);

// |F image - samples|^2 / 2 in the weights' norm + lambda times the penalty of image `image` in the last isoc_mri_reconstruct, before
// the first iteration and after each; none with penalties 0 to 2, and of moving wavelets as they lay in each iteration.
isoc_status isoc_mri_objective(isoc_mri *mri,
                               int64_t image,
                               double *objectives,
                               int64_t capacity,
                               int64_t *count);

// How far each value of isoc_mri_objective is above its minimum at most: its difference to the highest lower bound seen so far (a scaled
// residual's, Kim et al. 2007), looked for before the first iteration, after every tenth and after the last. It is as exact as transforms
// are: `tolerance` times |samples|^2. Of wavelets and blocks that stay where they are (options.fixed_grid, or the primal-dual method); none
// with other penalties, and none of a grid that moves, which has no one minimum.
isoc_status isoc_mri_gap(isoc_mri *mri,
                         int64_t image,
                         double *gaps,
                         int64_t capacity,
                         int64_t *count);

// isoc_mri_reconstruct for samples that do not fit memory: `read` is asked for `at_once` of them at a time (0: for 2^24 values, or an
// eighth of the memory cap), in order, each once; a multiple of a readout's samples keeps straight lines whole. With frames
// (isoc_mri_set_frames) it is asked for each frame's in turn, whole, so that those of windows that overlap are asked for again, and
// `at_once` is 0 or no less than the longest. `dtype` is the samples' type, ISOC_C64 or ISOC_C128. `read`, and progress, come from the thread
// that made the call; a part is read while the one before is computed with, so that there are two of them in host memory.
//
// In memory are the trajectory and what belongs to one coil's samples of it, maps, images and Q, instead of samples of all coils; results
// differ from those of isoc_mri_reconstruct by rounding. When F^H W F goes by pairs of transforms (isoc_mri_options.normal 2, or no Q)
// samples of a problem's coils are kept in between as they are there.
//
// When `read` returns non-zero the call stops with ISOC_STATUS_CALLBACK, and nothing is written. Values that are NaN or Inf are found part by part.
isoc_status isoc_mri_reconstruct_stream(isoc_mri *mri,
                                        isoc_dtype dtype,
                                        int64_t at_once,
                                        isoc_mri_read_fn read,
                                        void *user,
                                        const isoc_tensor *image);

// isoc_mri_gridding for samples that do not fit memory, as in isoc_mri_reconstruct_stream.
isoc_status isoc_mri_gridding_stream(isoc_mri *mri,
                                     isoc_dtype dtype,
                                     int64_t at_once,
                                     isoc_mri_read_fn read,
                                     void *user,
                                     const isoc_tensor *image);

// Maximum number of bytes of working memory that isoc_mri_reconstruct_stream uses under the present geometry and options, with `dtype` and
// `at_once` as it takes them; isoc_mri_gridding_stream uses no more. `host_bytes`: of the host, as memory_cap counts them; `gpu_bytes`: of
// the GPU that it computes on, as gpu_memory_cap does, 0 on the processor. Smaller caps may still do. With a GPU, what counts on the host
// is what `read` fills, which the plan keeps for its next stream until isoc_mri_set_geometry.
//
// ISOC_STATUS_MEMORY_CAP: what `read` fills is more than memory_cap.
isoc_status isoc_mri_stream_memory(isoc_mri *mri,
                                   isoc_dtype dtype,
                                   int64_t at_once,
                                   uint64_t *host_bytes,
                                   uint64_t *gpu_bytes);

// Finds delays between gradients and samples from a scan itself, whose readouts cross in the middle of k-space: radial scans, whole spokes
// or from the centre, evenly or by golden angles, from some 9 spokes on, spirals, and others. `samples`: complex (coils, samples), of the
// plan's trajectory, which has to be without delays. Nothing in the plan changes; isoc_mri_delayed_trajectory makes the trajectory with them,
// which isoc_mri_set_geometry takes. `options`: its `readout` is needed.
//
// Samples of one object agree: those of the middle of k-space (up to 8 cycles per field of view, 2.5 of a volume) are the transform of one
// small image for each coil, which is fitted to them; delays are those with which the least is left. At crossings of spokes that is RING
// (Rosenzweig, Holme and Uecker, Magn. Reson. Med. 81, 2019), whose model of delays this is. Sensitivities are not needed. Of a stack
// whose planes have a constant kz the middle one is taken. Maps, weights, a field, frames and a basis have no say: the image should be one
// that stands still.
//
// Samples may be on the host or on the plan's GPU, from which they are copied to the host, where the fit is made, in double precision. Progress is reported and a wish to cancel heeded.
//
// Where delays cannot be told the call says why, and `found` is left alone: ISOC_STATUS_OUT_OF_RANGE for readouts of one direction (Cartesian lines),
// for too few of them, for samples that are 0 in the middle of k-space, and where no delays within the range make samples agree. Where they can be told, but
// badly, the errors say so.
isoc_status isoc_mri_find_delays(isoc_mri *mri,
                                 const isoc_tensor *samples,
                                 const isoc_mri_delay_options *options,
                                 isoc_mri_delays *found);

// Writes the plan's trajectory as it is with delays: real (samples, axes), in the geometry's unit. Each readout's coordinates, along the axes on
// which delays are independent of each other, are those of as much earlier, by a cubic through four samples; beyond its ends a readout goes
// on straight, or rests where it begins (or ends) at rest, as spirals do. Of `delays` xx to yz are read, which are isoc_mri_find_delays' or your own; `options` as there.
//
// Samples that come to lie beyond the unit's range, which the log has the number of, are refused by isoc_mri_set_geometry: leave them out, or
// clip their places to the range and give them a weight of 0 (isoc_mri_set_weights). Nothing in the plan changes.
isoc_status isoc_mri_delayed_trajectory(isoc_mri *mri,
                                        const isoc_mri_delay_options *options,
                                        const isoc_mri_delays *delays,
                                        const isoc_tensor *trajectory);

// Finds coil sensitivities and the image together, from samples alone: for scans without calibration data, of any trajectory, with or without density
// weights, whose middle of k-space may be undersampled or missing in parts. `samples`: complex (coils, samples), two coils or more;
// `maps`: complex (coils, nz, ny, nx), for isoc_mri_set_maps; `image`, unless NULL: complex (nz, ny, nx). The plan itself has no maps, and
// gets none.
//
// Regularised nonlinear inversion (Uecker, Hohage, Block and Frahm, Magn. Reson. Med. 60, 2008): Gauss-Newton steps for image and coils, from an image
// of 1 and coils of 0, whose regularisation alpha (|image - 1|^2 + |coils|^2) gets smaller from step to step. The coils' norm is a Sobolev
// norm, by which frequency k in cycles per voxel counts (1 + 220 |k|^2)^16, as in BART's nlinv: a wave of 25 voxels counts a hundred times as much as a
// constant. They are made of waves of twice the field of view, so that they need not agree at its two ends.
//
// At each voxel the squares of the maps' moduli add up to 1, where coils are longer than a tenth of their root mean square over all voxels. Elsewhere, away from
// the object, coils are divided by that tenth, so that maps fade, and mean nothing. `image` times maps explains the samples everywhere. A smooth phase of the object is in the maps: samples tell only the sum of both.
//
// Results do not depend on the samples' unit. Options of the plan that have a say are those of transforms and of the normal operator; a field,
// voxel positions and shots are heeded. Progress is reported and a wish to cancel heeded at each iteration; nothing is written unless all of it is there.
// Compress coils first (isoc_coil_compression) where there are many: each iteration takes two Fourier transforms of every coil.
// isoc_mri_history has how far the samples are from `image` times maps, relative to them, before the first step and after each.
//
// Where all samples are on lines that are further apart than the field of view asks for, an image and its fold-overs explain them alike, and the log gets a warning.
//
// ISOC_STATUS_NOT_CONFIGURED: a plan of one coil, with maps, with frames, or with a basis; ISOC_STATUS_OUT_OF_RANGE: samples that are all 0;
// ISOC_STATUS_MEMORY_CAP.
isoc_status isoc_mri_find_maps(isoc_mri *mri,
                               const isoc_mri_maps_options *options,
                               const isoc_tensor *samples,
                               const isoc_tensor *maps,
                               const isoc_tensor *image);

// Maximum number of bytes of working memory that isoc_mri_find_maps uses under the present geometry and options: of the host, or of the GPU
// that it computes on, where a smaller gpu_memory_cap may still do.
isoc_status isoc_mri_maps_memory(isoc_mri *mri,
                                 const isoc_mri_maps_options *options,
                                 uint64_t *bytes);

// Makes Q of the trajectory and the weights, with a field of that, too, unless it is there; isoc_mri_reconstruct does so by itself. One Q
// serves every scan of a trajectory.
isoc_status isoc_mri_compute_q(isoc_mri *mri);

// Copies Q out: real (q_nz, q_ny, q_nx) of isoc_mri_info. It is the discrete Fourier transform of q(d) = sum_m w_m exp(2 pi i k_m . d)
// over differences of voxels, d = 0 and frequency 0 first along every axis. With a field there are several, and none is copied
// (ISOC_STATUS_NOT_CONFIGURED).
isoc_status isoc_mri_export_q(isoc_mri *mri,
                              const isoc_tensor *q);

// Takes a Q from isoc_mri_export_q of a plan with the same grid, trajectory and weights; a plan with a field takes none.
isoc_status isoc_mri_import_q(isoc_mri *mri,
                              const isoc_tensor *q);

// Ellipsoids of the 3-D Shepp-Logan head for an image that is 2 half_xy voxels wide and high and 2 half_z deep; for a plane
// (half_z = 0) ellipses: ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS of them; those that a plane does not meet have the value 0.
isoc_status isoc_mri_shepp_logan(uint32_t kind,
                                 double half_xy,
                                 double half_z,
                                 isoc_mri_ellipsoid *ellipsoids,
                                 int64_t capacity,
                                 int64_t *count);

// Writes what one coil without a sensitivity profile measures of a phantom, exactly (the ellipsoids' Fourier transform, not the
// voxels'): complex (samples).
isoc_status isoc_mri_phantom_samples(isoc_mri *mri,
                                     const isoc_mri_ellipsoid *ellipsoids,
                                     int64_t ellipsoid_count,
                                     const isoc_tensor *samples);

// Writes the mean of a phantom over each voxel: complex (nz, ny, nx).
isoc_status isoc_mri_phantom_image(isoc_mri *mri,
                                   const isoc_mri_ellipsoid *ellipsoids,
                                   int64_t ellipsoid_count,
                                   const isoc_tensor *image);

// Compares an image with the true one, both complex (nz, ny, nx): peak signal-to-noise ratio, 20 log10(max |truth| / root mean square of
// |image - truth|), in dB, and root mean square of the error over that of the truth, in percent. Either pointer may be NULL.
isoc_status isoc_mri_compare(isoc_mri *mri,
                             const isoc_tensor *image,
                             const isoc_tensor *truth,
                             double *psnr,
                             double *percent_error);

// Finds the matrix that whitens noise: `noise` complex (coils, samples), measured without excitation, of mean 0; `matrix` complex (coils,
// coils), sqrt(2) L^-1 of the covariance L L^H = noise noise^H / samples, lower triangular. Data times the matrix (isoc_coil_apply) have
// noise that is independent from coil to coil, with variance 1 of its real and of its imaginary part, so that images are in units of
// signal to noise. Pruessmann et al., Magn. Reson. Med. 46, 2001; Kellman and McVeigh, 54, 2005.
//
// ISOC_STATUS_TENSOR_SHAPE: fewer samples than coils. ISOC_STATUS_OUT_OF_RANGE: a coil without noise, or whose noise is a combination of
// others', which the message names.
//
// Here and below: complex64 or complex128, in host memory or that of the context's first GPU; computed in double precision on the
// processor, but for isoc_coil_maps' voxels; from any thread, several at a time. Where tensors are on a GPU, what is in its default stream
// comes first.
isoc_status isoc_coil_whitening(const isoc_context *ctx,
                                const isoc_tensor *noise,
                                const isoc_tensor *matrix);

// Finds virtual coils: `data` complex (coils, samples), any k-space or image of the scan; `matrix` complex (kept, coils), the strongest
// principal components of the data, strongest first: rows are orthonormal, so that white noise stays white, and each has the phase that
// makes its largest element real and positive. `energy`, unless NULL, gets the part of the data's energy that they keep. Whiten data
// first. Buehrer et al., Magn. Reson. Med. 57, 2007; Huang et al., Magn. Reson. Imaging 26, 2008.
//
// ISOC_STATUS_OUT_OF_RANGE: more virtual coils than coils, or data that are all 0.
isoc_status isoc_coil_compression(const isoc_context *ctx,
                                  const isoc_tensor *data,
                                  const isoc_tensor *matrix,
                                  double *energy);

// Finds virtual coils for each position along the readout of a Cartesian scan, which keep more: `data` complex (coils, lines, readout),
// k-space with frequency 0 at floor(readout / 2); `matrix` complex (readout, kept, coils), for the positions j - floor(readout / 2) after
// an inverse Fourier transform along the readout, each turned to its neighbour so that virtual coils are smooth. Rows are orthonormal.
// `energy` and errors as those of isoc_coil_compression. Zhang et al., Magn. Reson. Med. 69, 2013.
isoc_status isoc_coil_geometric_compression(const isoc_context *ctx,
                                            const isoc_tensor *data,
                                            const isoc_tensor *matrix,
                                            double *energy);

// out = matrix data: `matrix` complex (rows, coils), such as a whitening or compression matrix, or their product; `data` complex (coils,
// samples), `out` complex (rows, samples).
isoc_status isoc_coil_apply(const isoc_context *ctx,
                            const isoc_tensor *matrix,
                            const isoc_tensor *data,
                            const isoc_tensor *out);

// The same by the matrices of isoc_coil_geometric_compression: `matrix` complex (readout, rows, coils), `data` complex (coils, lines,
// readout) and `out` complex (rows, lines, readout), both k-space.
isoc_status isoc_coil_apply_geometric(const isoc_context *ctx,
                                      const isoc_tensor *matrix,
                                      const isoc_tensor *data,
                                      const isoc_tensor *out);

// Finds coil sensitivities from the fully sampled middle of k-space. `calibration`: complex (coils, nz, ny, nx), or (coils, ny, nx) of a
// plane, frequency 0 at floor(n / 2) of each axis; measured as such, or gridded. `maps`: complex (coils, nz, ny, nx) on any grid at
// least as large (planes: without nz), for isoc_mri_set_maps, or with a dimension (sets) in front for several sets, strongest first, where
// one does not explain the data, as with a field of view smaller than the object. Voxel j of n lies at j - floor(n / 2).
// `eigenvalues`, unless NULL: real, `maps` without coils: ESPIRiT's, 1 where a map explains the data; of the adaptive combination, the part of
// the local energy. They are written for all voxels, cropped or not.
//
// At each voxel the squares of a map's moduli add up to 1, or all are 0. The sensitivity of the strongest virtual coil of the
// calibration data (isoc_coil_compression) is real and positive: the phase that all coils share is the image's. Maps are right to about
// 1e-5. The same values whatever the number of threads. NULL options are the defaults. Progress is reported and a wish to cancel heeded;
// planes that a GPU found before that, or before a fault of its own, may have been written.
// Time of ESPIRiT's eigenproblem grows with (coils x kernel)^3, some 1 s of two cores for blocks of 1728 elements. Voxels' eigenvectors are
// found on the context's first GPU, wherever the tensors are, if there are at most 32 coils and memory for a plane; all else on the processor.
//
// ISOC_STATUS_OUT_OF_RANGE: a kernel larger than the calibration data, blocks of more than 8192 elements, more sets than coils, a threshold or crop out of range,
// calibration data that are all 0; ISOC_STATUS_TENSOR_SHAPE: calibration data larger than the maps; ISOC_STATUS_MEMORY_CAP. Where
// nothing is below the threshold, as in noise, maps mean nothing, and the log gets a warning.
isoc_status isoc_coil_maps(const isoc_context *ctx,
                           const isoc_coil_options *options,
                           const isoc_tensor *calibration,
                           const isoc_tensor *maps,
                           const isoc_tensor *eigenvalues);

// Makes a plan; give it a geometry and a response next.
isoc_status isoc_pet_create(const isoc_context *ctx, isoc_pet **out);

// Destroys a plan; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
isoc_status isoc_pet_destroy(isoc_pet *pet);

// Sets the prior of ISOC_PET_ALGORITHM_BSREM and SVRG; NULL takes it away. `weights`: f32 (nz, ny, nx), 0 or more, NULL for 1; `anatomy`: f32 (nz, ny, nx), as of a CT or MR image
// on the lattice, or NULL. Copied; they hold until isoc_pet_set_geometry. Voxels that no view sees are nobody's neighbours.
isoc_status isoc_pet_set_prior(isoc_pet *pet,
                               const isoc_pet_prior *prior,
                               const isoc_tensor *weights,
                               const isoc_tensor *anatomy);

// Gradient of the prior, `beta R'(f)`, of an image f that is not negative, and `value`, `beta R(f)`; either may be NULL. Image and gradient: f32 (nz, ny, nx). After
// isoc_pet_set_response or set_tables.
isoc_status isoc_pet_prior_gradient(isoc_pet *pet,
                                    const isoc_tensor *image,
                                    const isoc_tensor *gradient,
                                    double *value);

// Sets the regions whose means isoc_pet_options.stop_region_change is about: u8, u16 or u32 (nz, ny, nx), labels from 1 to 65535, 0 for none; copied. NULL takes them
// away. They hold until isoc_pet_set_geometry.
isoc_status isoc_pet_set_regions(isoc_pet *pet,
                                 const isoc_tensor *regions);

// Sets lattice and views: a grid of azimuths x tilts, or a list, f32 or f64 (views, 2) of azimuth and tilt, none of which may
// repeat another's direction. Forgets tables, order, prior and regions, and keeps the response; calls that
// need one which does not fit the new lattice are ISOC_STATUS_OUT_OF_RANGE until one is set that does.
isoc_status isoc_pet_set_geometry(isoc_pet *pet,
                                  const isoc_pet_geometry *geometry,
                                  const isoc_tensor *views);

// Writes the directions of all views: (count, 2) of azimuth and tilt, rad. `capacity` and `count` are of views, two numbers each.
isoc_status isoc_pet_get_views(isoc_pet *pet,
                               double *views,
                               int64_t capacity,
                               int64_t *count);

// Sets the response of all views that have no tables of their own, and of lines; copied. A sigma below a voxel is integrated over the voxel. Kernels must fit into the lattice, and no sigma may be
// below a fiftieth of a voxel, which calls that make kernels look at; lines have none.
isoc_status isoc_pet_set_response(isoc_pet *pet,
                                  const isoc_pet_response *response);

// Writes the crystals of a scanner of blocks: (count, 3) each of the places of their faces, x, y, z in mm, and of the directions that
// these look in, either NULL to leave it out. `capacity` and `count` are of crystals.
isoc_status isoc_pet_block_crystals(const isoc_pet_blocks *blocks,
                                    double *positions,
                                    double *normals,
                                    int64_t capacity,
                                    int64_t *count);

// Sets the scanner that events of isoc_pet_deposit_crystals are of. `positions`: real (crystals, 3) of x, y, z in mm from the centre of the
// lattice: where in a crystal photons are detected on average. `normals`: real (crystals, 3), which way faces look, of any length; NULL: to
// the z axis. Both in host memory, copied. It holds whatever the geometry. Crystals may lie behind others, as where the depth of interaction is told: lines cross up to 8 of them.
// isoc_pet_set_pairs says which pairs are measured.
isoc_status isoc_pet_set_scanner(isoc_pet *pet,
                                 const isoc_pet_scanner *scanner,
                                 const isoc_tensor *positions,
                                 const isoc_tensor *normals);

// Adds list-mode events that name crystals to histo-images, as isoc_pet_deposit does: u32 or f32 (labels, views, nz, ny, nx), which the
// caller has set to zeros before the first of several lists; without the first dimension where it is 1. An event is counted in the images of
// its label: of prompts and delays, gates, frames of time.
//
// `crystals`: u8, u16 or u32 (events, 2), the first and the second photon's, counted from 0; `times`: u8, u16 or u32 (events) time bins of
// the scanner, or real (events) of t2 - t1 in ps, positive where the event is nearer to the first crystal; `labels`: u8, u16 or u32
// (events), NULL for 0 everywhere. Of any strides, as fields of records have them, in host memory or, with histo-images on a GPU, all on that GPU.
// A list may be empty. `first_event` is the number of the list's first event in the scan, so that a scan in several lists is as one in one.
// `dropped` may be NULL; events of crystals, bins and labels that there are not are dropped and counted as `unknown`, those of pairs that isoc_pet_set_pairs has 0 for as `not_measured`.
// After an error (cancel, memory) part of the events may have been added.
isoc_status isoc_pet_deposit_crystals(isoc_pet *pet,
                                      const isoc_tensor *crystals,
                                      const isoc_tensor *times,
                                      const isoc_tensor *labels,
                                      uint64_t first_event,
                                      const isoc_tensor *histo_images,
                                      isoc_pet_dropped *dropped);

// Sets which pairs of crystals the scanner measures, and what is measured of each besides what its crystals detect; without this call all pairs are, with 1. isoc_pet_set_scanner
// comes first, and a new scanner has none. All three NULL take it away. All in host memory, copied.
//
// `modules`: u8, u16 or u32 (crystals), the module of each, counted from 0: a block, a ring of crystals, a panel. `groups`: u8, u16 or u32 (modules, modules), the same both ways: 0 where
// the two modules are not in coincidence, else the group of the pair, counted from 1. `efficiencies`: real (groups), of all pairs of crystals of a group; or real (groups, elements,
// elements), of the crystals of either module, numbered within it by their numbers in the scanner: first that of the module with the larger number, within one module the crystal with the
// larger number. NULL for 1. A pair is measured with the product of both crystals' efficiencies and its own; of pairs that have 0 there are no events.
//
// So a limit on differences of rings is a table with a module for each ring, and PETSIRD's modulePairSGIDLUT is `groups` less 1, its modulePairEfficiencies `efficiencies`.
// Factors, randoms, scatter, detection, sums over fans and single rates have it; events of pairs that are not measured are dropped and counted as `not_measured`.
isoc_status isoc_pet_set_pairs(isoc_pet *pet,
                               const isoc_tensor *modules,
                               const isoc_tensor *groups,
                               const isoc_tensor *efficiencies);

// Sets the caller's own kernels of a view; copied. `map`: (ny, nx), so that map_count is ny nx, the kernel of all voxels of a column;
// `offsets`: (offset_count, 3) in voxels along x, y, z, none twice; `values`: (kernels, offset_count), value_count in all, not negative,
// scaled to a sum of 1 for each kernel. A voxel p of the image gives to p + m of the histo-image with the weight that its kernel has at
// offset m, and H' brings it back from there.
isoc_status isoc_pet_set_tables(isoc_pet *pet,
                                int64_t view,
                                const uint32_t *map,
                                int64_t map_count,
                                const int32_t *offsets,
                                int64_t offset_count,
                                const float *values,
                                int64_t value_count);

// Tells how large a view's tables are: isoc_pet_get_tables takes a map of ny nx, `offsets` triples, kernels x offsets values, and masses of
// `kernels`.
isoc_status isoc_pet_get_table_sizes(isoc_pet *pet,
                                     int64_t view,
                                     isoc_pet_table_sizes *sizes);

// Writes a view's tables to the arrays of `tables`, all of them as they are at one time, and sets its counts. Unless every array has
// capacity 0 or enough, only the counts are written.
isoc_status isoc_pet_get_tables(isoc_pet *pet,
                                int64_t view,
                                isoc_pet_tables *tables);

// Sets options; NULL sets the defaults. They hold until set again, whatever the geometry.
isoc_status isoc_pet_set_options(isoc_pet *pet, const isoc_pet_options *options);

// Sets the order of views in a pass: each at most once; views that are left out are not used.
isoc_status isoc_pet_set_order(isoc_pet *pet, const int64_t *order, int64_t order_count);

// Work on tensors that are on a GPU begins when all that is in `stream` now has been done: a cudaStream_t (or CUstream) of
// that GPU, NULL for the default stream. It holds until set again. Calls return when their results are there, whatever the
// stream. The stream must stay valid for as long as it is set.
isoc_status isoc_pet_set_stream(isoc_pet *pet,
                                void *stream);

// Tells what the plan found and decided.
isoc_status isoc_pet_get_info(isoc_pet *pet, isoc_pet_info *info);

// Number of bytes of working memory that isoc_pet_reconstruct needs under the present geometry, response and options: of the host, or of the GPU that it
// computes on. Makes the kernels, of which as many are kept as the context's memory cap has room for. Where the cap leaves room beside all this, a
// reconstruction keeps histo-images on the GPU, and sensitivities of OSEM's or gradients of SVRG's subsets, too.
isoc_status isoc_pet_memory(isoc_pet *pet,
                            uint64_t *bytes);

// Histo-images = H image, of the views that are named: f32 (view_count, nz, ny, nx) in their order; `views` NULL with a `view_count`
// of 0 means all.
//
// Views are written one after the other: a call that is cancelled has written some, one with bad input none.
//
// Here and below an image is f32 (nz, ny, nx), and a dimension of one view may be left out.
isoc_status isoc_pet_forward(isoc_pet *pet,
                             const int64_t *views,
                             int64_t view_count,
                             const isoc_tensor *image,
                             const isoc_tensor *histo_images);

// Image = sum of H' histo-images over the views that are named: the exact transpose of isoc_pet_forward. Histo-images f32 or u32
// (view_count, nz, ny, nx).
isoc_status isoc_pet_adjoint(isoc_pet *pet,
                             const int64_t *views,
                             int64_t view_count,
                             const isoc_tensor *histo_images,
                             const isoc_tensor *image);

// Image = sum of H' A over all views; `factors`: f32 (views, nz, ny, nx), not negative, or NULL for 1.
isoc_status isoc_pet_sensitivity(isoc_pet *pet, const isoc_tensor *factors, const isoc_tensor *image);

// Reconstructs the image from measured histo-images f32 or u32 (views, nz, ny, nx), with `factors` (attenuation x normalisation;
// NULL: 1) and `additive` (scatter + randoms; NULL: 0), f32 of the same shape. No value may be negative. Where a factor is 0
// nothing is measured; a voxel that no view sees becomes 0. Nothing is written unless all of it is there.
//
// The image is in counts a voxel and view where factors are attenuation and normalisation alone. With relaxation 1 and one view a
// block, RAMLA gets from a uniform image to a sharp one in few passes and goes on to noise: fewer passes, or less relaxation.
//
// The first GPU of the context computes. Its other GPUs take some views of each subset of OSEM, MLEM, BSREM and SVRG where that is faster, if histo-images
// fit the memory of the first and each one's views that of the others; the image is the same to rounding. RAMLA's views follow one another, on the first.
isoc_status isoc_pet_reconstruct(isoc_pet *pet,
                                 const isoc_tensor *measured,
                                 const isoc_tensor *factors,
                                 const isoc_tensor *additive,
                                 const isoc_tensor *image);

// Writes what each pass of the last reconstruction saw.
isoc_status isoc_pet_history(isoc_pet *pet, isoc_pet_iteration *iterations, int64_t capacity, int64_t *count);

// Adds list-mode events to histo-images, u32 or f32 (views, nz, ny, nx), which the caller has set to zeros before
// the first of several lists, in host memory or on the GPU that the plan computes on. There the GPU counts, and the same voxels as the processor
// does. An event is counted in the view of its direction, in the voxel about
// `(p1 + p2) / 2 + (c / 2)(t2 - t1)(p1 - p2) / |p1 - p2|`.
//
// `first_positions` and `second_positions`: real (events, 3) of x, y, z in mm; `time_differences`: real (events) of t2 - t1 in ps,
// positive where the event is nearer to p1. f32 or f64, of any strides, in host memory, or with histo-images on a GPU on that GPU, all three; a list may be empty. `dropped` may be NULL.
// After an error (cancel, memory) part of the events may have been added.
//
// It works in at most 35 MB and 0.3 MB a thread, on a GPU in 2^21 events where they are in host memory, and in less where the context's caps leave less.
isoc_status isoc_pet_deposit(isoc_pet *pet,
                             const isoc_tensor *first_positions,
                             const isoc_tensor *second_positions,
                             const isoc_tensor *time_differences,
                             const isoc_tensor *histo_images,
                             isoc_pet_dropped *dropped);

// What the plan's scanner makes of events that have positions, as isoc_pet_simulate's do: the crystals that their lines meet, each of which detects with the
// probability of its efficiency, of several behind each other one at most, and the pair with the probability of its own (isoc_pet_set_pairs). So simulated scans, and lists of positions, become lists for isoc_pet_deposit_crystals. An event stays at its place on the
// line: t2 - t1 is that between its crystals.
//
// First three as in isoc_pet_deposit; `efficiencies`: real (crystals), 0 to 1, and so the sum of those behind each other; NULL: the first that a line meets detects; `crystals`: u32 (events, 2), 2^32 - 1 both for an event
// that is lost; `times`: u8, u16 or u32 (events) of time bins, or real (events) in ps. All in host memory. `seed` of the random numbers: the same events for the
// same seed, whatever the threads. `lost` may be NULL.
isoc_status isoc_pet_detect(isoc_pet *pet,
                            const isoc_tensor *first_positions,
                            const isoc_tensor *second_positions,
                            const isoc_tensor *time_differences,
                            const isoc_tensor *efficiencies,
                            uint64_t seed,
                            const isoc_tensor *crystals,
                            const isoc_tensor *times,
                            isoc_pet_lost *lost);

// Writes the factors A_v of the plan's scanner, which isoc_pet_reconstruct takes: the part of the decays in a voxel that is measured in each view,
// times what makes them of activity. It is the mean over lines through the voxel, in any direction, of the efficiencies of both crystals that a line meets,
// 0 where it meets none, times exp(-integral of the attenuation), where the line is of the view. Of a line that crosses several crystals behind each other, all pairs are added up, each times what
// isoc_pet_set_pairs says. Crystals need a width and a height.
//
// `efficiencies`: real (crystals) in host memory, at least 0, the part of all photons along a line across the crystal that it detects; NULL: every photon that meets a crystal is detected, by the first.
// `attenuation`: real (nz, ny, nx) in host memory, 1/mm at 511 keV, of any size and place (see the options); NULL for none. `options` may be NULL.
// `factors`: f32 (views, nz, ny, nx), in host memory or on the plan's GPU, which computes them if there is one.
//
// Values have the noise of the lines that they are the mean of, the same in every call; twice the directions halve its square. Voxels beyond the crystals have 0.
// The map is averaged over the lattice's planes: ends of bodies along z are as blurred as these are thick.
// The log warns of a map that seems to be in other units, or elsewhere; negative values and those of no element are errors.
isoc_status isoc_pet_factors(isoc_pet *pet,
                             const isoc_pet_factor_options *options,
                             const isoc_tensor *efficiencies,
                             const isoc_tensor *attenuation,
                             const isoc_tensor *factors);

// Writes an attenuation map, f32, 1/mm at 511 keV, of a CT in Hounsfield units, real, both (nz, ny, nx) of any size in host memory; they may be the same array.
// `kilovolts`: the CT tube's peak voltage, 80 to 140. (Carney, Townsend, Rappoport, Bendriem, Med. Phys. 33(4), 2006, table I.)
isoc_status isoc_pet_attenuation(isoc_pet *pet,
                                 double kilovolts,
                                 const isoc_tensor *hounsfield,
                                 const isoc_tensor *attenuation);

// Adds delayed coincidences to sums over crystals' fans: 1 to that of either crystal, of each coincidence whose line is near the axis and within the plan's tilts.
// isoc_pet_singles makes rates of them, and isoc_pet_efficiencies efficiencies of those of prompts of a known source, which are counted as they.
//
// `field_of_view`: diameter about the axis, mm, that the lines of all pairs within have to be measured by the scanner; 0 means that of the circle in the lattice.
// `crystals`: u8, u16 or u32 (events, 2); `labels`: u8, u16 or u32 (events), which of several sums a coincidence belongs to, NULL for 0 everywhere: so that prompts,
// labelled beyond them, are left out, and frames are told apart. `sums`: u32 (labels, crystals), which the caller has set to zeros before the first of several lists; without
// the first dimension where it is 1. All in host memory; a list may be empty. `dropped` may be NULL: there are crystals and labels that are `unknown`, pairs of one crystal
// (`equal_positions`), pairs that are `not_measured`, and pairs `outside_tilts` and, beyond the field of view, `outside_lattice`.
isoc_status isoc_pet_fan_sums(isoc_pet *pet,
                              double field_of_view,
                              const isoc_tensor *crystals,
                              const isoc_tensor *labels,
                              const isoc_tensor *sums,
                              isoc_pet_dropped *dropped);

// Writes the rates of single photons, 1/s, with which two crystals have 2 window duration s_i s_j delayed coincidences: those of the largest likelihood, of sums over fans
// by isoc_pet_fan_sums with the same `field_of_view` (M. E. Casey, E. J. Hoffman, J. Comput. Assist. Tomogr. 10(5), 1986); of pairs by isoc_pet_set_pairs times their efficiency.
//
// `duration`: of the measurement, s. `window`: largest time difference of a delayed coincidence, ps; 0 means that of the scanner's time bins.
// `sums`: real or u32 (crystals); `singles`: f32 (crystals); in host memory.
isoc_status isoc_pet_singles(isoc_pet *pet,
                             double field_of_view,
                             double duration,
                             double window,
                             const isoc_tensor *sums,
                             const isoc_tensor *singles);

// Writes which part of the photons along a line across it each crystal detects, as isoc_pet_factors takes it, from a scan of a known source: a cylinder, a rod, or any other image.
//
// Two crystals a and b have the mean count `e_a e_b p g + r`: p the pair's own efficiency (isoc_pet_set_pairs), r randoms, and `g = c / (2 pi) (integral of the image along the line between their middles)
// exp(-integral of the attenuation) A_a A_b cos_a cos_b / r^2`, c decays of a mm^3 of the image's unit (isoc_pet_factors), A areas, r the distance. The efficiencies e are those of the largest likelihood of
// the sums less randoms: where these are the expected ones (D. Hogg, K. Thielemans, T. Spinks, N. Spyrou, IEEE NSS-MIC 2001; R. D. Badawi, M. A. Lodge, P. K. Marsden, Phys. Med. Biol. 43(1), 1998; M. Defrise et al.,
// Phys. Med. Biol. 36(7), 1991), to 1e-4 of each.
//
// `sums`: real or u32 (crystals), at least 0, of isoc_pet_fan_sums of all prompts, with the same `field_of_view`, pairs and tilts. `image`: f32 or f64 (nz, ny, nx), the source's activity, at least 0; its unit and `options.duration`
// set the scale: Bq/ml with a duration, or decays that send pairs of photons without; of an image of another scale efficiencies are relative ones, and right but for a common factor. `attenuation`: as in isoc_pet_factors, NULL
// for none; `options` as there, may be NULL, `directions` has no part in it. `singles`: real (crystals), 1/s, of isoc_pet_singles or the scanner, whose randoms, 2 window duration s_a s_b p, are taken away; it needs
// a duration; NULL: there are none. `window`: largest time difference of an event, ps; 0 means that of the scanner's time bins; must be 0 without singles. `efficiencies`: f32 (crystals). All in host memory, and on contexts of GPUs,
// too, it is the processor that computes. Crystals need a width and a height.
//
// Crystals without counts have 0; those that see less than a hundredth of what half of the crystals see of the source have the mean of the others, since nothing is known of them. The log warns of either, and of efficiencies of
// which half are above 1. Scatter in the sums counts as trues: take a source in which there is little, or sums less scatter. A source that is thinner than a crystal or a voxel is one of the lines between crystals' middles that meet it.
// Of two panels, which face each other alone, products of efficiencies are known, not how they are shared: both are taken to detect alike.
//
// It keeps 4 bytes for each pair of the field of view whose line crosses the source, beside 1 kB for each crystal and the images twice; pairs for which memory_cap has no room are computed again in each of some 20 to 500 sums over them,
// and the result is the same to the bit.
//
// ISOC_STATUS_OUT_OF_RANGE: the image is 0, or no line between crystals crosses it; sums are 0, or randoms as many; no efficiencies can have such sums, such as those of a crystal that has more than all others together.
isoc_status isoc_pet_efficiencies(isoc_pet *pet,
                                  double field_of_view,
                                  double window,
                                  const isoc_pet_factor_options *options,
                                  const isoc_tensor *sums,
                                  const isoc_tensor *image,
                                  const isoc_tensor *attenuation,
                                  const isoc_tensor *singles,
                                  const isoc_tensor *efficiencies);

// Writes the histo-images of random coincidences that are expected of crystals with these rates of single photons: 2 window duration s_i s_j of two crystals, times the pair's efficiency
// of isoc_pet_set_pairs, anywhere on their faces, evenly in time. Crystals need a width and a height.
//
// `duration`: of the measurement, s. `window`: largest time difference of an event, ps, beyond which there are none; 0 means that of the scanner's time bins, and any without bins. `directions`: of each view, as in
// isoc_pet_factor_options. `singles`: real (crystals) in host memory, 1/s, as the scanner or isoc_pet_singles tells them. `histo_images`: f32 (views, nz, ny, nx), in host memory or on
// the plan's GPU, which computes them if there is one.
isoc_status isoc_pet_randoms(isoc_pet *pet,
                             double duration,
                             double window,
                             uint32_t directions,
                             const isoc_tensor *singles,
                             const isoc_tensor *histo_images);

// Writes what isoc_pet_reconstruct takes as `additive`: single scatter of the image's activity by the attenuation, in the detectors' energy window, by the time of flight, and randoms.
// It is made of an image that was reconstructed with less of it, and the next image with it; two or three times are enough.
// (C. C. Watson, IEEE Trans. Nucl. Sci. 54(5), 2007; the attenuation is taken to be Compton scattering.)
//
// `options` may be NULL. `image`: f32 or f64 (nz, ny, nx) in host memory, at least 0, in the unit that `options.factors` say. `efficiencies` and `attenuation` as in isoc_pet_factors, but an attenuation there
// must be. `measured`: u32 or f32 (views, nz, ny, nx) counts, by whose tails, beside all that attenuates, scatter is scaled; NULL: it is not. `randoms`: f32 or u32 (views, nz, ny, nx) as isoc_pet_randoms
// writes them, which are added; NULL for none. `additive`: f32 (views, nz, ny, nx); these three in host memory or on the plan's GPU, which computes it if there is one. `found` may be NULL.
//
// Detectors are a cylinder about the crystals, whose own factors multiply it. Scattering and activity beyond the map and the lattice are not in it.
// The log warns where tails tell the scale to no better than 0.15, or of one below 0.7 or above 2.5.
isoc_status isoc_pet_scatter(isoc_pet *pet,
                             const isoc_pet_scatter_options *options,
                             const isoc_tensor *image,
                             const isoc_tensor *efficiencies,
                             const isoc_tensor *attenuation,
                             const isoc_tensor *measured,
                             const isoc_tensor *randoms,
                             const isoc_tensor *additive,
                             isoc_pet_scatter_found *found);

// Number of bytes of working memory that isoc_pet_factors needs under the present geometry and scanner. `host_bytes`: of the host, as memory_cap counts them,
// with what it copies of its input; `gpu_bytes`: of the GPU that it computes on, as gpu_memory_cap does, with what the plan keeps there; 0 on the processor.
// Either may be NULL. A cap of as many is enough, one of fewer ISOC_STATUS_MEMORY_CAP before anything is computed.
//
// `attenuation`: as in isoc_pet_factors, but its shape alone counts, `data` may be NULL; NULL for none. `options` may be NULL.
isoc_status isoc_pet_factors_memory(isoc_pet *pet,
                                    const isoc_pet_factor_options *options,
                                    const isoc_tensor *attenuation,
                                    uint64_t *host_bytes,
                                    uint64_t *gpu_bytes);

// Number of bytes of working memory that isoc_pet_randoms needs with so many `directions`, 0 for as many as it takes then: see isoc_pet_factors_memory.
isoc_status isoc_pet_randoms_memory(isoc_pet *pet,
                                    uint32_t directions,
                                    uint64_t *host_bytes,
                                    uint64_t *gpu_bytes);

// Number of bytes of working memory that isoc_pet_scatter needs with this attenuation, whatever else it is given: see isoc_pet_factors_memory. It takes the
// memory of the map and its grids itself, to find the places where photons are scattered.
//
// `options` and `attenuation`: as in isoc_pet_scatter.
//
// ISOC_STATUS_MEMORY_CAP: the map and its grids are more than memory_cap.
isoc_status isoc_pet_scatter_memory(isoc_pet *pet,
                                    const isoc_pet_scatter_options *options,
                                    const isoc_tensor *attenuation,
                                    uint64_t *host_bytes,
                                    uint64_t *gpu_bytes);

// Values = `J G image`, f32 (events) in host memory: sums along the lines of a list of an image f32 (nz, ny, nx), in host memory or on the plan's GPU, which computes them if there is one.
//
// J is Joseph's projector: a line is followed from plane to plane of voxels along the axis that it crosses most of, and interpolated linearly between the four voxels about it; it ends at both detectors.
// Without times a plane counts with the mm from one to the next. With times it counts with the part that is nearer to it than to the next plane of the Gaussian about the event's
// place, cut at isoc_pet_response.cut_width sigmas: so values are means over lines, not integrals. (P. M. Joseph, IEEE Trans. Med. Imag. 1(3), 1982; G. Schramm, K. Thielemans, Front. Nucl. Med. 3, 2024.)
// G blurs the image by the response, if one is set: Gaussians of radial_fwhm along x and y and axial_fwhm along z. A response with a radial_table or an asymmetric profile is an error.
//
// Events of crystals are anywhere on these, by their numbers. Lines that miss the lattice have 0, are told by `dropped`, which may be NULL, as `outside_lattice`, and those that are no lines as in
// isoc_pet_deposit_crystals. No limit of tilts applies.
isoc_status isoc_pet_forward_lines(isoc_pet *pet,
                                   const isoc_pet_list *list,
                                   const isoc_tensor *image,
                                   const isoc_tensor *values,
                                   isoc_pet_dropped *dropped);

// Image = `G J' values`: the transpose of isoc_pet_forward_lines.
isoc_status isoc_pet_adjoint_lines(isoc_pet *pet,
                                   const isoc_pet_list *list,
                                   const isoc_tensor *values,
                                   const isoc_tensor *image,
                                   isoc_pet_dropped *dropped);

// Writes what is measured of each event's line, f32 (events) in host memory, which isoc_pet_reconstruct_lines takes as `factors`: `m = c e_a e_b exp(-P) / (2 pi)`, c the decays of a mm^3 of an image's unit
// (as in isoc_pet_factors), e the efficiencies of both crystals, times that of their pair, P the integral of the attenuation along the line. So counts are densities of a steradian, a mm^2 across the line and with
// times a mm along it.
//
// `options`, `efficiencies` and `attenuation` as in isoc_pet_factors; efficiencies must be NULL for a list of positions. 0 for events that are told by `dropped`, which may be NULL.
isoc_status isoc_pet_line_factors(isoc_pet *pet,
                                  const isoc_pet_list *list,
                                  const isoc_pet_factor_options *options,
                                  const isoc_tensor *efficiencies,
                                  const isoc_tensor *attenuation,
                                  const isoc_tensor *factors,
                                  isoc_pet_dropped *dropped);

// Writes what is measured of each voxel by all lines within isoc_pet_geometry.max_tilt, f32 (nz, ny, nx), in host memory or on the plan's GPU, which isoc_pet_reconstruct_lines takes: the sum over views of
// isoc_pet_factors, whose arguments and memory it has, and one volume more, with a 24th of both neighbours along z in the place of a 12th of each voxel, as J' has it, which is interpolated; `options.directions` of 0 means 8 here, since the sum has the noise of all views' together.
isoc_status isoc_pet_line_sensitivity(isoc_pet *pet,
                                      const isoc_pet_factor_options *options,
                                      const isoc_tensor *efficiencies,
                                      const isoc_tensor *attenuation,
                                      const isoc_tensor *sensitivity);

// Writes the density of random coincidences about each event of a list of crystals, f32 (events) in host memory: `2 window duration s_a s_b` of two crystals, times the pair's efficiency, over the lines that they measure,
// and with times over the mm that the window reaches. `duration`, `window` and `singles` as in isoc_pet_randoms; the window has to be finite.
isoc_status isoc_pet_line_randoms(isoc_pet *pet,
                                  const isoc_pet_list *list,
                                  double duration,
                                  double window,
                                  const isoc_tensor *singles,
                                  const isoc_tensor *randoms);

// Writes the sum along each event's line, f32 (events) in host memory, of the histo-image of its view: `histo_images`, f32 (views, nz, ny, nx) in host memory, and sums as in isoc_pet_forward_lines without blur.
//
// So the scatter of isoc_pet_scatter comes to lines, over isoc_pet_factors without attenuation: what it is of what the crystals of each direction measure changes little from line to line, and isoc_pet_line_factors
// without attenuation times its sum is the density about each event. A lattice that reaches to the crystals has all of it, in voxels as large as a twentieth of the scanner.
isoc_status isoc_pet_sample_lines(isoc_pet *pet,
                                  const isoc_pet_list *list,
                                  const isoc_tensor *histo_images,
                                  const isoc_tensor *values,
                                  isoc_pet_dropped *dropped);

// Reconstructs the image of a list of events along their lines, `factors (J G f + additive / factors)` expected of each: for scanners without time of flight, with so little that it is as long as the object, or with
// modules of several time resolutions. Others are faster by isoc_pet_deposit_crystals and isoc_pet_reconstruct.
//
// `factors` and `additive`: f32 (events) in host memory, not negative, as isoc_pet_line_factors, and isoc_pet_line_randoms and isoc_pet_sample_lines make them, or NULL for 1 and 0. `sensitivity`: f32 (nz, ny, nx), as isoc_pet_line_sensitivity
// writes it, not blurred. `image`: as in isoc_pet_reconstruct. Both in host memory or on the plan's GPU, the first of the context's, which computes alone.
//
// The options are isoc_pet_reconstruct's, with subsets of events in the place of those of views: runs of 256 or fewer, spread over the list. RAMLA has none of these, and is an error. isoc_pet_history tells of passes: the log-likelihood
// but for what does not depend on the image, and events of which nothing was expected as `skipped_voxels`.
// Lines beyond isoc_pet_geometry.max_tilt do not count, nor do events with a factor of 0.
isoc_status isoc_pet_reconstruct_lines(isoc_pet *pet,
                                       const isoc_pet_list *list,
                                       const isoc_tensor *factors,
                                       const isoc_tensor *additive,
                                       const isoc_tensor *sensitivity,
                                       const isoc_tensor *image,
                                       isoc_pet_dropped *dropped);

// Number of bytes of working memory that isoc_pet_reconstruct_lines needs of so many events under the present geometry, response and options: of the host, or of the GPU that it computes on, where lines are kept if the
// context's cap has room for them.
isoc_status isoc_pet_lines_memory(isoc_pet *pet,
                                  uint64_t events,
                                  uint64_t *bytes);

// Writes the voxel means of a phantom: f32 (nz, ny, nx) in host memory.
isoc_status isoc_pet_phantom_image(isoc_pet *pet,
                                   const isoc_pet_body *bodies,
                                   int64_t body_count,
                                   uint32_t quantity,
                                   const isoc_tensor *image);

// Simulates as many events as the arrays hold, which are as those of isoc_pet_deposit. `activity`: f32 (nz, ny, nx) in host
// memory in the place of the bodies' activity, or NULL.
isoc_status isoc_pet_simulate(isoc_pet *pet,
                              const isoc_pet_scan *scan,
                              const isoc_tensor *activity,
                              const isoc_tensor *first_positions,
                              const isoc_tensor *second_positions,
                              const isoc_tensor *time_differences,
                              isoc_pet_tally *tally);

// Writes what is expected of a simulated scan: `factors` and `additive` as isoc_pet_reconstruct takes them, f32
// (views, nz, ny, nx) in host memory, either NULL to leave it out. With them an image is in the phantom's unit of activity. Of a scan with an energy window,
// `additive` has randoms alone: isoc_pet_scatter estimates scatter.
isoc_status isoc_pet_expect(isoc_pet *pet,
                            const isoc_pet_scan *scan,
                            const isoc_tensor *activity,
                            const isoc_pet_tally *tally,
                            const isoc_tensor *factors,
                            const isoc_tensor *additive);

// Mean over spheres of 10 mm of `((s - b) / b) / (ratio - 1)`: s the mean of a disc of 10 mm about a sphere's centre, b that of the
// ring about it of 24 to 40 mm, both in the nearest slice; 1 is the true contrast. `centres`: (centre_count, 3) of x, y, z in mm;
// `ratio`: the spheres' activity over the background's. Image f32 in host memory.
isoc_status isoc_pet_contrast_recovery(isoc_pet *pet,
                                       const isoc_tensor *image,
                                       const double *centres,
                                       int64_t centre_count,
                                       double ratio,
                                       double *recovery);

// Standard deviation of voxels over their mean in the central disc of 50 mm. Image f32 in host memory.
isoc_status isoc_pet_noise(isoc_pet *pet, const isoc_tensor *image, double *noise);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ISOCENTER_H */

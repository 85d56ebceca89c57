"""The C ABI as ctypes sees it. Made from include/isocenter.h by generate.py: do not edit."""
import ctypes as c
from enum import IntEnum

ISOC_DEVICE_HOST = 1
ISOC_DEVICE_CUDA = 2
ISOC_DEVICE_CUDA_HOST = 3
ISOC_DTYPE_UINT = 1
ISOC_DTYPE_FLOAT = 2
ISOC_DTYPE_COMPLEX = 5
ISOC_ABI_VERSION = 2
ISOC_CT_SHEPP_LOGAN_ELLIPSES = 10
ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS = 10


class Status(IntEnum):
    """isoc_status"""

    #: Success.
    OK = 0
    #: A required pointer is NULL.
    NULL_POINTER = 1
    #: Not a handle of this library, of another type, or already destroyed.
    INVALID_HANDLE = 2
    #: `struct_size` is smaller than the first version of the struct, or larger than this library knows.
    STRUCT_SIZE = 3
    #: An enumeration field holds a value that this library does not know.
    UNKNOWN_VALUE = 4
    #: A number lies outside its allowed range (zero or negative sizes among them).
    OUT_OF_RANGE = 5
    #: A product of sizes does not fit 64 bits or the address space.
    SIZE_OVERFLOW = 6
    #: NaN or Inf in a geometry or option field.
    NOT_FINITE_PARAMETER = 7
    #: NaN or Inf in a data tensor, with the NaN policy set to error.
    NOT_FINITE_DATA = 8
    #: A tensor has the wrong number of dimensions.
    TENSOR_NDIM = 9
    #: A tensor has an element type that this call does not take.
    TENSOR_DTYPE = 10
    #: A tensor's shape does not match the geometry.
    TENSOR_SHAPE = 11
    #: A tensor's strides reach before its buffer, wrap round the address space, misalign its elements, or make an
    #: output overlap itself.
    TENSOR_STRIDES = 12
    #: A tensor lives on a device that this context does not own.
    TENSOR_DEVICE = 13
    #: Input and output share memory.
    OVERLAP = 14
    #: Angular weights need at least two views.
    TOO_FEW_VIEWS = 15
    #: Angular weights need at least two different angles (modulo pi).
    EQUAL_ANGLES = 16
    #: A flat field that is not above its dark field, or raw counts without a flat field.
    FLAT_FIELD = 17
    #: A call came before the one that it needs (for example `reconstruct` before `set_geometry`).
    NOT_CONFIGURED = 18
    #: The context's memory cap is too small for the smallest piece of the work.
    MEMORY_CAP = 19
    #: The machine is out of memory.
    OUT_OF_MEMORY = 20
    #: The progress callback asked to stop.
    CANCELLED = 21
    #: The handle is in use by the very call whose callback made this call.
    BUSY = 22
    #: A fault inside the library, caught before it could harm the process. Please report it.
    INTERNAL = 23
    #: No NVIDIA driver, no GPU, or no GPU of that index.
    NO_DEVICE = 24
    #: The NVIDIA driver is older than the kernels need.
    DRIVER_TOO_OLD = 25
    #: The library was built without GPU kernels, or without any that this GPU runs.
    NO_KERNEL_IMAGE = 26
    #: A CUDA call failed; the message names it and has CUDA's own text.
    CUDA = 27
    #: A read or write callback returned non-zero.
    CALLBACK = 28


class ContextDevice(IntEnum):
    """isoc_context_device"""

    #: All NVIDIA GPUs, or the processor where there is none that this library can use (the log says why).
    AUTO = 0
    #: The processor.
    CPU = 1
    #: NVIDIA GPUs: isoc_context_options.gpus, or all of them.
    GPU = 2


class NanPolicy(IntEnum):
    """isoc_nan_policy"""

    #: ISOC_STATUS_NOT_FINITE_DATA, naming the first index, the output untouched. On a GPU slabs are looked at one by
    #: one: the index is the slab's first, and slabs before it may have been written, with several GPUs others too (that
    #: slab too if the output is on the GPU).
    ERROR = 0
    #: Replace by zero, and count (isoc_ct_info.replaced_values).
    REPLACE = 1


class CtFilterKind(IntEnum):
    """isoc_ct_filter_kind"""

    #: The plain ramp.
    RAM_LAK = 0
    #: sinc(f / 2).
    SHEPP_LOGAN = 1
    #: cos(pi f / 2).
    COSINE = 2
    #: 0.54 + 0.46 cos(pi f).
    HAMMING = 3
    #: 0.5 + 0.5 cos(pi f).
    HANN = 4
    #: 1 - 6 f^2 (1 - f) up to f = 1/2, 2 (1 - f)^3 above.
    PARZEN = 5
    #: 1 / sqrt(1 + f^(2 order)); its cutoff defaults to half of Nyquist.
    BUTTERWORTH = 6
    #: No filter: `reconstruct` is then the weighted back projection of the projections as they are.
    NONE = 7
    #: The caller's frequency response, in place of ramp and window: see isoc_ct_options.response.
    CUSTOM = 8


class CtInterpolation(IntEnum):
    """isoc_ct_interpolation"""

    #: Linear, exact in f32.
    LINEAR = 0
    #: The nearest bin.
    NEAREST = 1
    #: The nearest of four samples a bin, made once by linear interpolation: close to linear, with fewer operations a
    #: pixel.
    OVERSAMPLED = 2
    #: Band-limited: through the row's samples and zeros beyond its ends goes a trigonometric polynomial, which repeats
    #: after P bins (isoc_ct_info.period): q(h) = (1/P) sum over f = -P/2 .. P/2 of Q(f) exp(2 pi i f h / P), the two
    #: ends with half their weight, where Q is the discrete Fourier transform of the row, filtered in `reconstruct`, and
    #: bin k is at h = k. It equals the samples at the bins and, between them, keeps the detail that linear
    #: interpolation smooths; it rings more at edges, and ISOC_CT_FILTER_SHEPP_LOGAN then rings less than
    #: ISOC_CT_FILTER_RAM_LAK. P is the library's choice, such that no pixel comes within 8 bins of a repetition. The
    #: sum over views is a non-uniform fast Fourier transform, exact to isoc_ct_options.tolerance: N^2 log N operations
    #: a slice of N x N pixels from N views in place of N^3. isoc_ct_options.kernel must be ISOC_CT_KERNEL_AUTO. Beyond
    #: the detector's ends a ray contributes the value of q, which falls off with the distance, in place of 0.
    BAND_LIMITED = 3


class CtProjector(IntEnum):
    """isoc_ct_projector"""

    #: Joseph's method: along a ray from line to line of pixels, linear interpolation between them.
    JOSEPH = 0
    #: Line integrals of the band-limited function through the pixels, sampled at the bins as far as bins can tell
    #: frequencies apart. With a the pixel size, b the bin pitch, h as in isoc_ct_geometry and P in isoc_ct_info.period:
    #: projections(k) = a^2 / (b P) sum over pixels x and f = -F .. F of volume(x) exp(2 pi i f (k - h(x)) / P), the two
    #: ends with half their weight; F is P / 2, or less where pixels are wider than bins: of the frequencies that pixels
    #: can tell apart, b P / (2 a m) rounded down (but 1 at least) with m = max(|cos|, |sin|) of the view's angle. Where
    #: F is P / 2 the adjoint is a^2 / b times the back projection by ISOC_CT_INTERPOLATION_BAND_LIMITED. It is exact
    #: for images without detail finer than two pixels and rings at edges, which Joseph's method smooths. Both are
    #: non-uniform fast Fourier transforms, exact to isoc_ct_options.tolerance, and each other's transpose to rounding.
    BAND_LIMITED = 1


class CtInput(IntEnum):
    """isoc_ct_input"""

    #: u16 and u8 are counts, f32 are line integrals. f32 while the plan has a flat field may be either:
    #: ISOC_STATUS_FLAT_FIELD. f32 without one that cannot be line integrals (whole numbers, huge ones, mostly negative
    #: ones, or about 1 beside the object) are warned of in the log: once after each change of geometry, options or flat
    #: field some rows are looked at.
    AUTO = 0
    #: Counts, of any type: -ln((raw - dark) / (flat - dark)) with the flat field, which there must be.
    COUNTS = 1
    #: f32 transmissions, (raw - dark) / (flat - dark): -ln of them. The flat field is not used.
    TRANSMISSION = 2
    #: f32 line integrals, taken as they are. The flat field is not used.
    LINE_INTEGRALS = 3


class CtKernel(IntEnum):
    """isoc_ct_kernel"""

    #: The fastest that keeps the precision asked for.
    AUTO = 0
    #: Texture units, a pixel a thread along rows, as most codes do it: for comparison. Linear weights have 8 bits, so
    #: that values are off by up to 3e-3 of the largest.
    TEXTURE_STANDARD = 1
    #: Texture units, pixels in squares: one or two slices of f32 data, four of f16. The same weights.
    TEXTURE = 2
    #: Bins cached in shared memory and interpolated exactly in f32: one, two or four slices of f32 data, up to eight of
    #: f16.
    ALU = 3
    #: Blocks of both kinds side by side on each multiprocessor. With half precision the texture half has weights of 8
    #: bits, as in ISOC_CT_KERNEL_TEXTURE.
    HYBRID = 4
    #: Weights times data on tensor cores: the fastest for many slices. Pixels up to 1.41 bins wide.
    TENSOR = 5


class CtPrecision(IntEnum):
    """isoc_ct_precision"""

    #: f32 grade: within 2e-5 of the largest value of the exact sum (measured: 1e-6 to 4e-6).
    SINGLE = 0
    #: Data of half precision: off by 3e-4 to 5e-4 of the largest value (random data), and faster.
    HALF = 1


class CtAlgorithm(IntEnum):
    """isoc_ct_algorithm"""

    #: Filtered back projection.
    FBP = 0
    #: SIRT: x = x + relaxation C A^T R (b - A x), with R and C one over the sums of A along rays and over pixels (0
    #: where a sum is less than a thousandth of a pixel: such pixels stay as they are). It makes (b - A x)^T R (b - A x)
    #: / 2 smaller, smooth parts first. With subsets of the views OS-SART, and SART where each has one view: faster in
    #: the beginning, with an error that relaxation keeps down.
    SIRT = 1
    #: CGLS: conjugate gradient for the minimum of (|b - A x|^2 + regularisation |x|^2) / 2: the fastest way there
    #: without bounds.
    CGLS = 2
    #: MLEM: x = x / (A^T 1) A^T (b / A x), for data that follow Poisson's law and are not negative. It makes sum of b
    #: ln(b / A x) - b + A x smaller. With subsets of the views OSEM. Rays whose sum is less than a thousandth of a
    #: pixel are left out. A pixel that no ray of a subset meets stays as it is; one that no ray meets at all is 0, but
    #: of a given start.
    MLEM = 3
    #: Total variation: the minimum of |b - A x|^2 / 2 (or of what isoc_ct_iterative.fit says) + regularisation sum of
    #: |D x| within bounds, D the differences to the next pixel of the row and of the column, |D x| the length of both.
    #: For few views, and noise: it keeps edges, and flattens what lies between. Ends by a duality gap, which bounds how
    #: far the objective is above its minimum, for certain but for rounding.
    TOTAL_VARIATION = 4
    #: FISTA: the minimum of (|b - A x|^2 + regularisation |x|^2) / 2 within bounds, by accelerated projected gradient:
    #: least squares that keep bounds. Ends by a gap where there are two bounds or a regularisation above 0.
    FISTA = 5


class CtBounds(IntEnum):
    """isoc_ct_bounds"""

    #: None.
    NONE = 0
    #: 0 or more.
    NON_NEGATIVE = 1
    #: isoc_ct_iterative.lower to upper; infinite ones are none.
    BOX = 2


class CtStart(IntEnum):
    """isoc_ct_start"""

    #: Zeros; ones for ISOC_CT_ALGORITHM_MLEM, whose second image does not depend on them.
    UNIFORM = 0
    #: What the volume holds, f32: an earlier result, or that of filtered back projection; moved into the bounds. Not
    #: for streams, nor with isoc_ct_set_output.
    VOLUME = 1


class CtNormal(IntEnum):
    """isoc_ct_normal"""

    #: By the pair; for ISOC_CT_ALGORITHM_FISTA as a convolution where it is one but for what a detector's ends cut off.
    #: The log says which, and why.
    AUTO = 0
    #: By A, then A^T.
    PAIR = 1
    #: As a convolution: one padded FFT each way, whatever the number of views. That is what A^T A is of the
    #: band-limited pair (isoc_ct_options.projector) where all pixels, or those inside the circle of mask_radius, fall
    #: on the detector in all views; else ISOC_STATUS_OUT_OF_RANGE. ISOC_CT_ALGORITHM_FISTA takes the gradient from the
    #: pair after each 20 iterations, comes to the pair's minimum, and tells the pair's objective;
    #: ISOC_CT_ALGORITHM_CGLS comes to the convolution's minimum, and tells the convolution's.
    TOEPLITZ = 2


class CtWeighting(IntEnum):
    """isoc_ct_weighting"""

    #: All alike.
    UNIFORM = 0
    #: By its transmission: exp(-b), b the line integral, at most 1. N photons leave a variance of 1 / N in it, so that
    #: this is right where those of the beam are the same in all rays; the objective then counts variances of the open
    #: beam.
    TRANSMISSION = 1
    #: By isoc_ct_set_ray_weights.
    GIVEN = 2


class CtFit(IntEnum):
    """isoc_ct_fit"""

    #: By squares: |b - A x|^2 / 2.
    SQUARES = 0
    #: By Poisson's law: sum of A x - b + b ln(b / A x), for counts of emission or fluorescence, which must not be
    #: negative. Rays whose sum is less than a thousandth of a pixel are left out. Needs two bounds of 0 or more.
    POISSON = 1


class CtVariation(IntEnum):
    """isoc_ct_variation"""

    #: Of pixels next to each other in a slice: slices are independent.
    SLICES = 0
    #: Of neighbouring slices, too, times pixel_size / bin_pitch, since rows of the detector are as far apart as its
    #: bins: |D x| is the length of three differences. All slices have one objective and one gap, and are worked on
    #: together: they must fit the processor's memory_cap. Where they do not fit a GPU, or where several GPUs share
    #: them, they are in host memory, within memory_cap, and pieces of them on a GPU in turn, each with 22 slices of its
    #: neighbours on either side: results are the same to the bit. What is needed is told with ISOC_STATUS_MEMORY_CAP.
    #: Not with percentiles (isoc_ct_set_output).
    VOLUME = 1


class CtPadding(IntEnum):
    """isoc_ct_padding"""

    #: Zeros: right when the object fits the detector.
    ZERO = 0
    #: The edge values, for ever: milder when it does not.
    EDGE = 1


class CtOutputType(IntEnum):
    """isoc_ct_output_type"""

    #: f32 (ISOC_F32): the values.
    F32 = 0
    #: u8 (ISOC_U8): 0 to 255 over the window.
    U8 = 1
    #: u16 (ISOC_U16): 0 to 65535 over the window.
    U16 = 2
    #: f16 (ISOC_F16): the values, or, with a window or percentiles, 0 to 1 over the window.
    F16 = 3


class CtOutlierUnit(IntEnum):
    """isoc_ct_outlier_unit"""

    #: The noise of the neighbourhood: 1.4826 times the median of the distances from its median, and at least a 200th of
    #: that median.
    NOISE = 0
    #: The median of the neighbourhood.
    MEDIAN = 1
    #: Counts.
    COUNT = 2


class CtOutlierSide(IntEnum):
    """isoc_ct_outlier_side"""

    #: Those above the median, as X rays and particles that hit the sensor leave them (zingers).
    BRIGHT = 0
    #: Those below the median.
    DARK = 1
    #: Either.
    BOTH = 2


class CtCombine(IntEnum):
    """isoc_ct_combine"""

    #: Their mean.
    MEAN = 0
    #: Their median, pixel by pixel; of an even number the mean of the middle two.
    MEDIAN = 1


class CtPhaseMethod(IntEnum):
    """isoc_ct_phase_method"""

    #: One material (or one ratio), any contrast: D. Paganin, S. C. Mayo, T. E. Gureyev, P. R. Miller, S. W. Wilkins,
    #: Journal of Microscopy 206, 33 (2002). Line integrals are -ln of I filtered by 1 / (1 + pi F d f^2).
    PAGANIN = 0
    #: One ratio, weak contrast, distances of more than the near field: contrast transfer function (P. Cloetens et al.,
    #: Applied Physics Letters 75, 2912 (1999)) of one distance, c = cos x + d sin x, x = pi F f^2. Line integrals are 1
    #: - I filtered by (1 + alpha) c / (c^2 + alpha (1 + (d sin min(x, pi / 2))^2)).
    CTF = 1


class CtStripeMethod(IntEnum):
    """isoc_ct_stripe_method"""

    #: What stands out from noise, and nothing else: a bin's offset from what its neighbours say (a robust local
    #: parabola through the means over views) is taken off where noise cannot have made it; bins that are dead, that
    #: fluctuate, or that are off in a part of the views, are replaced by their neighbours. No parameters. Clean data
    #: stay as they are, to noise; fewer than 16 views or 16 bins stay altogether. Views are taken in their order for
    #: that of the scan.
    SIGNIFICANT = 0
    #: N. T. Vo, R. C. Atwood, M. Drakopoulos, Optics Express 26, 28396 (2018): dead and fluctuating stripes (algorithm
    #: 6), large ones (5), the rest by sorting (3). Uses snr, large_window, small_window and drop_ratio.
    VO = 1
    #: Algorithm 3 of the same alone: each bin's values over views in rising order, a median over bins at each rank, and
    #: back. Uses small_window.
    SORTING = 2
    #: S. Titarenko, P. J. Withers, A. Yagola, Applied Mathematics Letters 23, 1489 (2010): the offsets o, one a bin,
    #: that make the means m over views smooth: sum of ((m - o)(k + 1) - (m - o)(k))^2 + alpha sum of o(k)^2 smallest.
    #: Uses alpha.
    REGULARISED = 3
    #: B. Munch, P. Trtik, F. Marone, M. Stampanoni, Optics Express 17, 8567 (2009): of each level's wavelet
    #: coefficients that are high along bins and low along views, frequency f along views (whole waves over the
    #: coefficients) is multiplied by 1 - exp(-f^2 / (2 sigma^2)). Before that the sinogram is padded by a tenth of its
    #: shorter side, 150 at most, on all sides: along views with each bin's mean, along bins with the value at the end.
    #: Uses levels, sigma and wavelet.
    WAVELET_FOURIER = 4


class CtRise(IntEnum):
    """isoc_ct_rise"""

    #: 1 + u (3 - u^2) / 2, whose slope begins and ends with 0.
    SMOOTH = 0
    #: 1 + u.
    LINEAR = 1


class CtOrder(IntEnum):
    """isoc_ct_order"""

    #: Frames: (views, rows, bins).
    FRAMES = 0
    #: Sinograms: (rows, views, bins).
    SINOGRAMS = 1


class CtAxisMethod(IntEnum):
    """isoc_ct_axis_method"""

    #: ISOC_CT_AXIS_METHOD_OPPOSITE_VIEWS where two views are half a turn apart (to a tenth of a step), or most views
    #: lie between two of such (an odd number of views a turn), checked by ISOC_CT_AXIS_METHOD_SINOGRAM, else that.
    #: Where they contradict each other by a bin, or have too little to go by, ISOC_CT_AXIS_METHOD_SHARPNESS decides,
    #: and the confidence is halved; where it agrees with none of them the axis cannot be told.
    AUTO = 0
    #: Views half a turn apart are each other's mirror images: up to 24 such pairs, spread over the turn, and the views
    #: about each. Bins and views that a detector has spoiled (dead, flickering, without beam) are seen for what they
    #: are, and left out.
    OPPOSITE_VIEWS = 1
    #: Half a turn alone, at any angles: where it ends it continues with its first views, mirrored.
    SINOGRAM = 2
    #: Trial slices, band-limited, of up to 4 rows averaged to 512 bins at most: where the entropy of their grey values
    #: is smallest. For an axis that most of the object is seen from both sides of; slower, and good to a tenth of an
    #: averaged bin or so.
    SHARPNESS = 3


class CtViewFault(IntEnum):
    """isoc_ct_view_fault"""

    #: Nothing.
    NONE = 0
    #: Counts at the dark level: the beam was off, or a shutter closed. Of counts and transmissions.
    BLACK = 1
    #: Most values are the largest number of the detector, which is 2^n - 1 for 8 bits or more, and above the full beam.
    #: Of counts and transmissions.
    SATURATED = 2
    #: All values are those of the view before, at another angle, in a scan whose noise makes any two frames differ.
    FROZEN = 3
    #: Most values are NaN or Inf.
    NOT_FINITE = 4
    #: Darker or brighter than usual by 1.35 or more, all of a sudden: a part of the beam was lost, or it was stronger.
    #: Or an object did that.
    DOUBTFUL = 5


class CtSheppLoganKind(IntEnum):
    """isoc_ct_shepp_logan_kind"""

    #: Shepp and Logan 1974: contrasts of 1 to 2 %.
    ORIGINAL = 0
    #: Toft 1996: the same ellipses with contrasts that can be seen.
    MODIFIED = 1


class MriUnit(IntEnum):
    """isoc_mri_unit"""

    #: Within +-0.5.
    CYCLES_PER_VOXEL = 1
    #: Within +-N/2 along an axis of N voxels.
    CYCLES_PER_FIELD_OF_VIEW = 2
    #: Within +-pi.
    RADIANS_PER_VOXEL = 3


class MriPrecision(IntEnum):
    """isoc_mri_precision"""

    #: f32.
    SINGLE = 0
    #: f64.
    DOUBLE = 1


class MriSines(IntEnum):
    """isoc_mri_sines"""

    #: To rounding.
    PRECISE = 0
    #: In single precision on a GPU by its special function units, to 5e-7 of a term, in less time; elsewhere as
    #: Precise.
    HARDWARE = 1


class CoilMethod(IntEnum):
    """isoc_coil_method"""

    #: ESPIRiT: eigenvectors of the projection onto the space of k-space blocks that the calibration data show. Uecker
    #: et al., Magn. Reson. Med. 71, 2014.
    ESPIRIT = 0
    #: Adaptive combination: eigenvectors of the coils' covariance over a block of voxels in the images of the
    #: calibration data. Walsh et al., Magn. Reson. Med. 43, 2000. Quick, and in every voxel; what the object's own
    #: edges do is in it.
    ADAPTIVE = 1


class MriMethod(IntEnum):
    """isoc_mri_method"""

    #: By a fast transform, except with voxel positions and with a field of more than 256 turns.
    AUTO = 0
    #: By a non-uniform fast Fourier transform, to isoc_mri_options.tolerance; of samples in planes of constant kz at
    #: multiples of 1 / M cycles per voxel, or these and an offset, M from nz to 2.25 nz, by a fast Fourier transform
    #: along z and non-uniform ones in the planes.
    NUFFT = 1
    #: Term by term, to rounding.
    EXACT = 2


class MriNormalKind(IntEnum):
    """isoc_mri_normal_kind"""

    #: By Q, but with a field on a GPU alone, if iterations times coils are 134 or more or Q is there, of up to 128
    #: turns and if there is memory for it; with voxel positions by pairs.
    AUTO = 0
    #: By Q: a multiplication on the grid of isoc_mri_info.q_nx, up to twice the image's; with a field
    #: isoc_mri_info.normal_terms of them (isoc_mri_set_field).
    TOEPLITZ = 1
    #: By a forward and an adjoint transform.
    PAIR = 2


class MriPenalty(IntEnum):
    """isoc_mri_penalty"""

    #: |R rho|^2 / 2 with R = 1.
    IDENTITY = 0
    #: |R rho|^2 / 2, R the differences between neighbours along every axis, weighted by
    #: isoc_mri_set_difference_weights.
    DIFFERENCES = 1
    #: |R rho|^2 / 2, R the matrix of isoc_mri_set_matrix.
    MATRIX = 2
    #: The sum of the absolute values of all coefficients of an orthonormal wavelet transform: images of few wavelets,
    #: from few samples.
    WAVELETS = 3
    #: Total variation, the sum over voxels of sqrt(sum over axes |difference|^2), differences weighted by
    #: isoc_mri_set_difference_weights: images of few edges.
    VARIATION = 4
    #: The sum of the singular values of blocks of voxels by images: a series (isoc_mri_set_frames,
    #: isoc_mri_set_windows, isoc_mri_set_basis), all of whose images are then reconstructed together, that changes in
    #: few ways at each place. Zhang, Pauly and Levesque, Magn. Reson. Med. 73, 2015.
    LOW_RANK = 5


class MriAlgorithm(IntEnum):
    """isoc_mri_algorithm"""

    #: ConjugateGradient for penalties 0 to 2, Fista for the others.
    AUTO = 0
    #: Conjugate gradient: for penalties 0 to 2.
    CONJUGATE_GRADIENT = 1
    #: Accelerated proximal gradient with restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), its step by the
    #: largest curvature met: for penalties 3 to 5. Total variation's proximal step takes 10 rounds on the dual.
    FISTA = 2
    #: A primal-dual method (Condat 2013; Vu 2013): for penalties 3 to 5. Less work an iteration than Fista with total
    #: variation, and more iterations; wavelets and blocks stay where they are.
    PRIMAL_DUAL = 3


class MriWavelet(IntEnum):
    """isoc_mri_wavelet"""

    #: Daubechies' with four vanishing moments, eight coefficients: "db4".
    DAUBECHIES4 = 0
    #: Haar's.
    HAAR = 1


class MriDensity(IntEnum):
    """isoc_mri_density"""

    #: For any trajectory: weights whose convolution with a kernel (the squared transform of the field of view) is 1 at
    #: every sample, which makes F^H W F nearest to 1; `parameter` iterations, 0 means 10. Pipe and Menon, Magn. Reson.
    #: Med. 41, 1999, Eq. 10; Johnson and Pipe, 61, 2009. It takes memory and time of a field of view twice as wide, as
    #: Q does. No sample stands for more than 1 / (voxels of the image): where they are further apart than the field of
    #: view asks for, weights add up to less than the area.
    ITERATIVE = 0
    #: For straight spokes through or from the centre, each of `parameter` evenly spaced samples: a step times the
    #: circle (sphere) on which a sample lies, shared by the spokes. Spokes that pass the centre at more than a quarter
    #: of their length are an error (ISOC_STATUS_OUT_OF_RANGE), those that go on in the next one or pass it at more than
    #: two steps a warning in the log.
    RADIAL = 1


class MriSheppLoganKind(IntEnum):
    """isoc_mri_shepp_logan_kind"""

    #: As published.
    ORIGINAL = 0
    #: Contrasts that can be seen.
    MODIFIED = 1


class PetProfile(IntEnum):
    """isoc_pet_profile"""

    #: A Gaussian.
    SYMMETRIC = 0
    #: Two Gaussians: isoc_pet_response.ratio, shift and share.
    ASYMMETRIC = 1


class PetCut(IntEnum):
    """isoc_pet_cut"""

    #: At a number of sigmas along each of its axes.
    BOX = 0
    #: At an ellipsoid of a number of sigmas.
    ELLIPSOID = 1


class PetProjector(IntEnum):
    """isoc_pet_projector"""

    #: The faster of the others, for each view; on a GPU Fourier transforms for kernels that do not vary alone.
    AUTO = 0
    #: Sums over the kernel, to rounding.
    GATHER = 1
    #: By Fourier transforms; kernels that vary are expanded to isoc_pet_options.tolerance, which takes a while. Values
    #: within rounding are 0, expected counts within the tolerance none, and quotients A d / e at most 1e4 times the
    #: largest A.
    FOURIER = 2


class PetAlgorithm(IntEnum):
    """isoc_pet_algorithm"""

    #: Block RAMLA, one view a block: `f = f + lambda f H'[A (d / e - 1)]`.
    RAMLA = 0
    #: Ordered subsets of isoc_pet_options.subsets: `f = f / S H'[A d / e]` with sums over a subset, `S = H' A`; where a
    #: subset's S is 0, f stays.
    OSEM = 1
    #: The same with all views at once: the likelihood never falls.
    MLEM = 2
    #: Subsets again, up the gradient of the log-likelihood less a prior (isoc_pet_set_prior): `f = max(f + lambda (f +
    #: floor) / (S + 2 f h) (subsets x H'[A (d / e - 1)] - beta R'), 0)`, sums over a subset, S of all views, h the sum
    #: of the prior's second derivatives by the voxel itself. Steps get smaller with the passes, so that it converges.
    #: Without warm start the first pass does without the prior, by two subsets at a time.
    BSREM = 3
    #: The same, with gradients of subsets corrected by what they were for an earlier image: it converges with steps of
    #: the same size, to the same image, in few passes. After the first pass every third one finds the gradient of all
    #: views, which is one step alone. Stored: `subsets` images, if they fit, or one, and gradients are found twice.
    SVRG = 4


class PetOrder(IntEnum):
    """isoc_pet_order"""

    #: Each far from the one before, by steps of 0.382 of a half turn.
    GEOMETRIC = 0
    #: Another in every pass, from isoc_pet_options.seed.
    RANDOM = 1
    #: That of isoc_pet_set_order.
    GIVEN = 2


class PetPotential(IntEnum):
    """isoc_pet_potential"""

    #: `(f - g)^2 / (f + g + gamma |f - g| + epsilon)`: differences cost by their size relative to the activity about
    #: them.
    RELATIVE_DIFFERENCE = 0
    #: `(f - g)^2 / 2`; with an edge e, `e^2 (sqrt(1 + ((f - g) / e)^2) - 1)`, which grows as |f - g| beyond it.
    QUADRATIC = 1


class PetShape(IntEnum):
    """isoc_pet_shape"""

    #: Along z, circular.
    CYLINDER = 0
    #: A sphere if its axes are equal.
    ELLIPSOID = 1
    #: A box.
    BOX = 2


class PetQuantity(IntEnum):
    """isoc_pet_quantity"""

    #: Activity.
    ACTIVITY = 0
    #: Attenuation.
    ATTENUATION = 1


isoc_progress_fn = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_double, c.c_char_p)


isoc_log_fn = c.CFUNCTYPE(None, c.c_void_p, c.c_int32, c.c_char_p)


class isoc_context_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("device", c.c_uint32), ("threads", c.c_uint32),
                ("nan_policy", c.c_uint32), ("memory_cap", c.c_uint64), ("progress", isoc_progress_fn),
                ("progress_user", c.c_void_p), ("log", isoc_log_fn), ("log_user", c.c_void_p), ("gpus", c.c_void_p),
                ("gpu_count", c.c_int64), ("gpu_memory_cap", c.c_uint64)]


class isoc_ct_geometry(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("order", c.c_uint32), ("views", c.c_int64), ("bins", c.c_int64),
                ("rows", c.c_int64), ("angles", c.c_void_p), ("axis", c.c_void_p), ("axis_count", c.c_int64),
                ("bin_pitch", c.c_double), ("pixel_size", c.c_double), ("nx", c.c_int64), ("ny", c.c_int64),
                ("x_offset", c.c_double), ("y_offset", c.c_double), ("first_row", c.c_int64), ("slices", c.c_int64)]


class isoc_ct_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("filter", c.c_uint32), ("interpolation", c.c_uint32),
                ("padding", c.c_uint32), ("weighted_backprojection", c.c_uint32), ("kernel", c.c_uint32),
                ("cutoff", c.c_double), ("butterworth_order", c.c_double), ("response", c.c_void_p),
                ("response_count", c.c_int64), ("minimum_transmission", c.c_double), ("precision", c.c_uint32),
                ("input", c.c_uint32), ("tolerance", c.c_double), ("projector", c.c_uint32), ("algorithm", c.c_uint32)]


class isoc_ct_outliers(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("unit", c.c_uint32), ("side", c.c_uint32), ("window", c.c_int64),
                ("depth", c.c_int64), ("threshold", c.c_double)]


class isoc_ct_distortion(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("radial", c.c_void_p),
                ("radial_count", c.c_int64), ("x_centre", c.c_double), ("y_centre", c.c_double),
                ("perspective", c.c_void_p), ("tilt", c.c_double), ("x_shifts", c.c_void_p), ("y_shifts", c.c_void_p),
                ("shift_count", c.c_int64)]


class isoc_ct_phase(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("method", c.c_uint32), ("energy_kev", c.c_double),
                ("distance_mm", c.c_double), ("pixel_um", c.c_double), ("delta_beta", c.c_double),
                ("length_um", c.c_double), ("alpha", c.c_double), ("unsharp_sigma", c.c_double),
                ("unsharp_amount", c.c_double)]


class isoc_device(c.Structure):
    _fields_ = [("device_type", c.c_int32), ("device_id", c.c_int32)]


class isoc_dtype(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class isoc_tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", isoc_device), ("ndim", c.c_int32), ("dtype", isoc_dtype),
                ("shape", c.c_void_p), ("strides", c.c_void_p), ("byte_offset", c.c_uint64)]


class isoc_ct_flat_field_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("combine", c.c_uint32), ("group_frames", c.c_void_p),
                ("group_positions", c.c_void_p), ("group_monitor", c.c_void_p), ("group_count", c.c_int64),
                ("monitor", c.c_void_p), ("monitor_count", c.c_int64), ("bad_pixels", c.c_double),
                ("outliers", c.POINTER(isoc_ct_outliers)), ("eigenflats", c.c_int64)]


class isoc_ct_flat_fit_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("binning", c.c_int64)]


class isoc_ct_flat_fit(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("components", c.c_int64),
                ("explained", c.c_void_p), ("weights", c.c_void_p), ("component_count", c.c_int64),
                ("weight_count", c.c_int64), ("variation_before", c.c_double), ("variation_after", c.c_double)]


class isoc_ct_stripes(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("method", c.c_uint32), ("snr", c.c_double), ("large_window", c.c_int64),
                ("small_window", c.c_int64), ("drop_ratio", c.c_double), ("alpha", c.c_double), ("sigma", c.c_double),
                ("levels", c.c_int64), ("wavelet", c.c_int64)]


class isoc_ct_half_acquisition(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("rise", c.c_uint32), ("overlap", c.c_double)]


class isoc_ct_output(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_uint32), ("low", c.c_double), ("high", c.c_double),
                ("low_percentile", c.c_double), ("high_percentile", c.c_double), ("histogram_slices", c.c_int64),
                ("mask_radius", c.c_double), ("mask_value", c.c_double), ("histogram_bins", c.c_int64)]


class isoc_ct_output_info(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_uint32), ("slope", c.c_double), ("offset", c.c_double),
                ("low", c.c_double), ("high", c.c_double), ("clipped_low", c.c_int64), ("clipped_high", c.c_int64),
                ("histogram_slices", c.c_int64)]


class isoc_ct_info(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("evenly_spaced", c.c_uint32), ("distinct_angles", c.c_int64),
                ("angular_spacing", c.c_double), ("angle_covered", c.c_double), ("missing_wedges", c.c_int64),
                ("largest_gap_start", c.c_double), ("largest_gap", c.c_double), ("padded_bins", c.c_int64),
                ("slab_slices", c.c_int64), ("replaced_values", c.c_int64), ("period", c.c_int64),
                ("outliers", c.c_int64), ("bad_pixels", c.c_int64), ("computed_bins", c.c_int64),
                ("overlap", c.c_double)]


class isoc_ct_iterative(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("start", c.c_uint32), ("iterations", c.c_int64), ("subsets", c.c_int64),
                ("relaxation", c.c_double), ("bounds", c.c_uint32), ("normal", c.c_uint32), ("lower", c.c_double),
                ("upper", c.c_double), ("mask_radius", c.c_double), ("regularisation", c.c_double),
                ("tolerance", c.c_double), ("huber", c.c_double), ("weighting", c.c_uint32), ("fit", c.c_uint32),
                ("variation", c.c_uint32), ("reserved", c.c_uint32), ("ring_weight", c.c_double)]


class isoc_ct_iteration(c.Structure):
    _fields_ = [("iteration", c.c_int64), ("objective", c.c_double), ("gap", c.c_double), ("slices", c.c_int64)]


class isoc_ct_ellipse(c.Structure):
    _fields_ = [("value", c.c_double), ("x", c.c_double), ("y", c.c_double), ("semi_x", c.c_double),
                ("semi_y", c.c_double), ("angle", c.c_double)]


isoc_ct_read_fn = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_int64, c.c_int64, c.POINTER(isoc_tensor))


isoc_ct_write_fn = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_int64, c.c_int64, c.POINTER(isoc_tensor))


class isoc_ct_axis_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("method", c.c_uint32), ("low", c.c_double), ("high", c.c_double),
                ("rows", c.c_int64), ("tilt", c.c_uint32), ("reserved", c.c_uint32)]


class isoc_ct_axis(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("method", c.c_uint32), ("axis", c.c_double), ("tilt", c.c_double),
                ("error", c.c_double), ("confidence", c.c_double), ("half_acquisition", c.c_uint32),
                ("reserved", c.c_uint32), ("curve", c.c_void_p), ("curve_count", c.c_int64),
                ("curve_first", c.c_double), ("curve_step", c.c_double)]


class isoc_mri_geometry(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("unit", c.c_uint32), ("precision", c.c_uint32), ("axes", c.c_uint32),
                ("nx", c.c_int64), ("ny", c.c_int64), ("nz", c.c_int64), ("samples", c.c_int64), ("coils", c.c_int64)]


class isoc_mri_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("method", c.c_uint32), ("normal", c.c_uint32), ("penalty", c.c_uint32),
                ("warm_start", c.c_uint32), ("sines", c.c_uint32), ("iterations", c.c_int64), ("tolerance", c.c_double),
                ("upsampling", c.c_double), ("lambda", c.c_double), ("residual", c.c_double), ("algorithm", c.c_uint32),
                ("wavelet", c.c_uint32), ("levels", c.c_uint32), ("fixed_grid", c.c_uint32), ("huber", c.c_double),
                ("block", c.c_int64), ("joint", c.c_uint32), ("reserved", c.c_uint32), ("imaginary", c.c_double)]


class isoc_mri_info(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("has_q", c.c_uint32), ("images", c.c_int64), ("fine_nx", c.c_int64),
                ("fine_ny", c.c_int64), ("fine_nz", c.c_int64), ("width", c.c_int64), ("q_nx", c.c_int64),
                ("q_ny", c.c_int64), ("q_nz", c.c_int64), ("replaced_values", c.c_int64), ("field_terms", c.c_int64),
                ("field_error", c.c_double), ("normal_terms", c.c_int64), ("normal_error", c.c_double),
                ("lambda_limit", c.c_double)]


isoc_mri_read_fn = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_int64, c.c_int64, c.POINTER(isoc_tensor))


class isoc_mri_delay_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("readout", c.c_int64), ("range", c.c_double),
                ("voxel_x", c.c_double), ("voxel_y", c.c_double), ("voxel_z", c.c_double)]


class isoc_mri_delays(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("axes", c.c_uint32), ("xx", c.c_double), ("yy", c.c_double),
                ("zz", c.c_double), ("xy", c.c_double), ("xz", c.c_double), ("yz", c.c_double),
                ("xx_error", c.c_double), ("yy_error", c.c_double), ("zz_error", c.c_double), ("xy_error", c.c_double),
                ("xz_error", c.c_double), ("yz_error", c.c_double), ("confidence", c.c_double)]


class isoc_mri_maps_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("steps", c.c_int64), ("iterations", c.c_int64),
                ("residual", c.c_double), ("alpha", c.c_double), ("reduction", c.c_double), ("scale", c.c_double),
                ("order", c.c_double)]


class isoc_mri_ellipsoid(c.Structure):
    _fields_ = [("value", c.c_double), ("x", c.c_double), ("y", c.c_double), ("z", c.c_double), ("semi_x", c.c_double),
                ("semi_y", c.c_double), ("semi_z", c.c_double), ("angle", c.c_double)]


class isoc_coil_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("method", c.c_uint32), ("kernel_x", c.c_int64), ("kernel_y", c.c_int64),
                ("kernel_z", c.c_int64), ("window", c.c_int64), ("threshold", c.c_double), ("crop", c.c_double)]


class isoc_pet_prior(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("potential", c.c_uint32), ("strength", c.c_double), ("gamma", c.c_double),
                ("epsilon", c.c_double), ("edge", c.c_double), ("anatomy_sigma", c.c_double)]


class isoc_pet_geometry(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("tilts", c.c_uint32), ("nx", c.c_int64), ("ny", c.c_int64),
                ("nz", c.c_int64), ("voxel_x", c.c_double), ("voxel_y", c.c_double), ("voxel_z", c.c_double),
                ("azimuths", c.c_int64), ("max_tilt", c.c_double)]


class isoc_pet_response(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("profile", c.c_uint32), ("cut", c.c_uint32),
                ("radial_table_count", c.c_uint32), ("tof_fwhm", c.c_double), ("radial_fwhm", c.c_double),
                ("axial_fwhm", c.c_double), ("radial_table", c.c_void_p), ("step", c.c_double),
                ("cut_width", c.c_double), ("ratio", c.c_double), ("shift", c.c_double), ("share", c.c_double)]


class isoc_pet_blocks(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("blocks", c.c_int64),
                ("block_rings", c.c_int64), ("across", c.c_int64), ("along", c.c_int64), ("diameter", c.c_double),
                ("pitch_across", c.c_double), ("pitch_along", c.c_double), ("block_pitch", c.c_double),
                ("first_azimuth", c.c_double)]


class isoc_pet_scanner(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("time_bins", c.c_uint32), ("crystal_width", c.c_double),
                ("crystal_height", c.c_double), ("time_edges", c.c_void_p), ("crystal_sizes", c.POINTER(isoc_tensor))]


class isoc_pet_dropped(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("events", c.c_uint64),
                ("not_finite", c.c_uint64), ("equal_positions", c.c_uint64), ("outside_tilts", c.c_uint64),
                ("outside_lattice", c.c_uint64), ("overflow", c.c_uint64), ("unknown", c.c_uint64),
                ("not_measured", c.c_uint64)]


class isoc_pet_table_sizes(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("kernels", c.c_int64), ("offsets", c.c_int64),
                ("least_mass", c.c_double), ("greatest_mass", c.c_double)]


class isoc_pet_tables(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("map", c.c_void_p), ("map_capacity", c.c_int64),
                ("map_count", c.c_int64), ("offsets", c.c_void_p), ("offset_capacity", c.c_int64),
                ("offset_count", c.c_int64), ("values", c.c_void_p), ("value_capacity", c.c_int64),
                ("value_count", c.c_int64), ("mass", c.c_void_p), ("mass_capacity", c.c_int64),
                ("mass_count", c.c_int64)]


class isoc_pet_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("algorithm", c.c_uint32), ("order", c.c_uint32),
                ("projector", c.c_uint32), ("warm_start", c.c_uint32), ("subsets", c.c_uint32),
                ("iterations", c.c_int64), ("first_iteration", c.c_int64), ("seed", c.c_uint64),
                ("relaxation", c.c_double), ("relaxation_decay", c.c_double), ("tolerance", c.c_double),
                ("stop_change", c.c_double), ("stop_region_change", c.c_double)]


class isoc_pet_info(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("views", c.c_int64),
                ("replaced_values", c.c_int64), ("iterations", c.c_int64)]


class isoc_pet_iteration(c.Structure):
    _fields_ = [("log_likelihood", c.c_double), ("penalty", c.c_double), ("change", c.c_double),
                ("region_change", c.c_double), ("skipped_voxels", c.c_uint64)]


class isoc_pet_lost(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("events", c.c_uint64), ("missed", c.c_uint64),
                ("undetected", c.c_uint64), ("outside_window", c.c_uint64)]


class isoc_pet_factor_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("directions", c.c_uint32), ("duration", c.c_double),
                ("branching", c.c_double), ("half_life", c.c_double), ("delay", c.c_double), ("live", c.c_double),
                ("map_voxel_x", c.c_double), ("map_voxel_y", c.c_double), ("map_voxel_z", c.c_double),
                ("map_centre_x", c.c_double), ("map_centre_y", c.c_double), ("map_centre_z", c.c_double)]


class isoc_pet_scatter_options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("factors", c.POINTER(isoc_pet_factor_options)),
                ("energy_resolution", c.c_double), ("energy_lower", c.c_double), ("energy_upper", c.c_double),
                ("tof_fwhm", c.c_double), ("spacing", c.c_double)]


class isoc_pet_scatter_found(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("scatter", c.c_double), ("scale", c.c_double),
                ("tails", c.c_double), ("tails_scatter", c.c_double), ("places", c.c_uint64),
                ("scale_error", c.c_double)]


class isoc_pet_list(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("first_event", c.c_uint64),
                ("crystals", c.POINTER(isoc_tensor)), ("first_positions", c.POINTER(isoc_tensor)),
                ("second_positions", c.POINTER(isoc_tensor)), ("times", c.POINTER(isoc_tensor)),
                ("tof_fwhm", c.POINTER(isoc_tensor))]


class isoc_pet_body(c.Structure):
    _fields_ = [("shape", c.c_uint32), ("reserved", c.c_uint32), ("x", c.c_double), ("y", c.c_double),
                ("z", c.c_double), ("half_x", c.c_double), ("half_y", c.c_double), ("half_z", c.c_double),
                ("activity", c.c_double), ("attenuation", c.c_double)]


class isoc_pet_scan(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("radial_table_count", c.c_uint32), ("bodies", c.POINTER(isoc_pet_body)),
                ("body_count", c.c_int64), ("diameter", c.c_double), ("axial_length", c.c_double),
                ("tof_fwhm", c.c_double), ("radial_fwhm", c.c_double), ("axial_fwhm", c.c_double),
                ("radial_table", c.c_void_p), ("randoms", c.c_double), ("random_window", c.c_double),
                ("scatter", c.c_double), ("scatter_sigma", c.c_double), ("seed", c.c_uint64),
                ("energy_resolution", c.c_double), ("energy_lower", c.c_double), ("energy_upper", c.c_double),
                ("attenuation", c.POINTER(isoc_tensor)), ("map_voxel_x", c.c_double), ("map_voxel_y", c.c_double),
                ("map_voxel_z", c.c_double), ("map_centre_x", c.c_double), ("map_centre_y", c.c_double),
                ("map_centre_z", c.c_double)]


class isoc_pet_tally(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("trues", c.c_uint64), ("scatter", c.c_uint64),
                ("randoms", c.c_uint64), ("decays", c.c_uint64), ("scatter_draws", c.c_uint64),
                ("random_draws", c.c_uint64)]


# Result and arguments of each function.
FUNCTIONS = {
    "isoc_context_create": (c.c_int32, [c.POINTER(isoc_context_options), c.c_void_p]),
    "isoc_context_destroy": (c.c_int32, [c.c_void_p]),
    "isoc_last_error": (c.c_char_p, []),
    "isoc_status_string": (c.c_char_p, [c.c_int32]),
    "isoc_version": (c.c_char_p, []),
    "isoc_abi_version": (c.c_uint32, []),
    "isoc_build_info": (c.c_char_p, []),
    "isoc_host_alloc": (c.c_int32, [c.c_void_p, c.c_uint64, c.c_void_p]),
    "isoc_host_free": (c.c_int32, [c.c_void_p]),
    "isoc_ct_create": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_ct_destroy": (c.c_int32, [c.c_void_p]),
    "isoc_ct_set_geometry": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_geometry)]),
    "isoc_ct_region": (c.c_int32, [c.POINTER(isoc_ct_geometry), c.c_int64, c.c_int64, c.c_int64, c.c_int64]),
    "isoc_ct_set_stream": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_ct_tune": (c.c_int32, [c.c_void_p]),
    "isoc_ct_set_options": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_options)]),
    "isoc_ct_set_outliers": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_outliers)]),
    "isoc_ct_set_distortion": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_distortion)]),
    "isoc_ct_set_phase": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_phase)]),
    "isoc_ct_set_flat_field": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                           c.POINTER(isoc_ct_flat_field_options)]),
    "isoc_ct_fit_flat_field": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.c_int64,
                                           c.POINTER(isoc_ct_flat_fit_options), c.POINTER(isoc_ct_flat_fit)]),
    "isoc_ct_set_stripes": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_stripes)]),
    "isoc_ct_set_half_acquisition": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_half_acquisition)]),
    "isoc_ct_set_output": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_output)]),
    "isoc_ct_get_output": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_output_info)]),
    "isoc_ct_get_histogram": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_int64, c.c_void_p]),
    "isoc_ct_get_info": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_info)]),
    "isoc_ct_get_angular_weights": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_int64, c.c_void_p]),
    "isoc_ct_set_angular_weights": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_int64]),
    "isoc_ct_memory": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_ct_set_iterative": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_iterative)]),
    "isoc_ct_set_ray_weights": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_ct_history": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_iteration), c.c_int64, c.c_void_p]),
    "isoc_ct_filter": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_ct_backproject": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_ct_forward": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_ct_adjoint": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_ct_reconstruct": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_ct_shepp_logan": (c.c_int32, [c.c_uint32, c.c_double, c.POINTER(isoc_ct_ellipse), c.c_int64, c.c_void_p]),
    "isoc_ct_reconstruct_stream": (c.c_int32, [c.c_void_p, isoc_dtype, isoc_ct_read_fn, isoc_ct_write_fn, c.c_void_p]),
    "isoc_ct_phantom_volume": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_ellipse), c.c_int64, c.POINTER(isoc_tensor)]),
    "isoc_ct_phantom_projections": (c.c_int32, [c.c_void_p, c.POINTER(isoc_ct_ellipse), c.c_int64,
                                                c.POINTER(isoc_tensor)]),
    "isoc_ct_find_axis": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_ct_axis_options),
                                      c.POINTER(isoc_ct_axis)]),
    "isoc_ct_find_bad_views": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.c_void_p, c.c_int64]),
    "isoc_ct_suggest_regularisation": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.c_void_p, c.c_void_p]),
    "isoc_mri_create": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_mri_destroy": (c.c_int32, [c.c_void_p]),
    "isoc_mri_set_geometry": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_geometry), c.POINTER(isoc_tensor)]),
    "isoc_mri_set_options": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_options)]),
    "isoc_mri_set_stream": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_mri_set_weights": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_compute_weights": (c.c_int32, [c.c_void_p, c.c_uint32, c.c_int64]),
    "isoc_mri_get_weights": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_set_maps": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_set_field": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                       c.POINTER(isoc_tensor)]),
    "isoc_mri_set_positions": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_set_difference_weights": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_set_matrix": (c.c_int32, [c.c_void_p, c.c_int64, c.c_void_p, c.c_void_p, c.c_int64,
                                        c.POINTER(isoc_tensor)]),
    "isoc_mri_set_frames": (c.c_int32, [c.c_void_p, c.c_int64, c.c_void_p, c.c_void_p]),
    "isoc_mri_set_windows": (c.c_int32, [c.c_void_p, c.c_int64, c.c_int64]),
    "isoc_mri_set_basis": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.c_void_p]),
    "isoc_mri_set_shots": (c.c_int32, [c.c_void_p, c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_get_info": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_info)]),
    "isoc_mri_memory": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_mri_forward": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_mri_adjoint": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_mri_gridding": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_mri_normal": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_mri_reconstruct": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_mri_history": (c.c_int32, [c.c_void_p, c.c_int64, c.c_void_p, c.c_int64, c.c_void_p]),
    "isoc_mri_objective": (c.c_int32, [c.c_void_p, c.c_int64, c.c_void_p, c.c_int64, c.c_void_p]),
    "isoc_mri_gap": (c.c_int32, [c.c_void_p, c.c_int64, c.c_void_p, c.c_int64, c.c_void_p]),
    "isoc_mri_reconstruct_stream": (c.c_int32, [c.c_void_p, isoc_dtype, c.c_int64, isoc_mri_read_fn, c.c_void_p,
                                                c.POINTER(isoc_tensor)]),
    "isoc_mri_gridding_stream": (c.c_int32, [c.c_void_p, isoc_dtype, c.c_int64, isoc_mri_read_fn, c.c_void_p,
                                             c.POINTER(isoc_tensor)]),
    "isoc_mri_stream_memory": (c.c_int32, [c.c_void_p, isoc_dtype, c.c_int64, c.c_void_p, c.c_void_p]),
    "isoc_mri_find_delays": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_mri_delay_options),
                                         c.POINTER(isoc_mri_delays)]),
    "isoc_mri_delayed_trajectory": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_delay_options),
                                                c.POINTER(isoc_mri_delays), c.POINTER(isoc_tensor)]),
    "isoc_mri_find_maps": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_maps_options), c.POINTER(isoc_tensor),
                                       c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_mri_maps_memory": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_maps_options), c.c_void_p]),
    "isoc_mri_compute_q": (c.c_int32, [c.c_void_p]),
    "isoc_mri_export_q": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_import_q": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_mri_shepp_logan": (c.c_int32, [c.c_uint32, c.c_double, c.c_double, c.POINTER(isoc_mri_ellipsoid), c.c_int64,
                                         c.c_void_p]),
    "isoc_mri_phantom_samples": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_ellipsoid), c.c_int64,
                                             c.POINTER(isoc_tensor)]),
    "isoc_mri_phantom_image": (c.c_int32, [c.c_void_p, c.POINTER(isoc_mri_ellipsoid), c.c_int64,
                                           c.POINTER(isoc_tensor)]),
    "isoc_mri_compare": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.c_void_p,
                                     c.c_void_p]),
    "isoc_coil_whitening": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_coil_compression": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.c_void_p]),
    "isoc_coil_geometric_compression": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                                    c.c_void_p]),
    "isoc_coil_apply": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                    c.POINTER(isoc_tensor)]),
    "isoc_coil_apply_geometric": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                              c.POINTER(isoc_tensor)]),
    "isoc_coil_maps": (c.c_int32, [c.c_void_p, c.POINTER(isoc_coil_options), c.POINTER(isoc_tensor),
                                   c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_create": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_pet_destroy": (c.c_int32, [c.c_void_p]),
    "isoc_pet_set_prior": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_prior), c.POINTER(isoc_tensor),
                                       c.POINTER(isoc_tensor)]),
    "isoc_pet_prior_gradient": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.c_void_p]),
    "isoc_pet_set_regions": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor)]),
    "isoc_pet_set_geometry": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_geometry), c.POINTER(isoc_tensor)]),
    "isoc_pet_get_views": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_int64, c.c_void_p]),
    "isoc_pet_set_response": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_response)]),
    "isoc_pet_block_crystals": (c.c_int32, [c.POINTER(isoc_pet_blocks), c.c_void_p, c.c_void_p, c.c_int64, c.c_void_p]),
    "isoc_pet_set_scanner": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_scanner), c.POINTER(isoc_tensor),
                                         c.POINTER(isoc_tensor)]),
    "isoc_pet_deposit_crystals": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                              c.POINTER(isoc_tensor), c.c_uint64, c.POINTER(isoc_tensor),
                                              c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_set_pairs": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                       c.POINTER(isoc_tensor)]),
    "isoc_pet_set_tables": (c.c_int32, [c.c_void_p, c.c_int64, c.c_void_p, c.c_int64, c.c_void_p, c.c_int64, c.c_void_p,
                                        c.c_int64]),
    "isoc_pet_get_table_sizes": (c.c_int32, [c.c_void_p, c.c_int64, c.POINTER(isoc_pet_table_sizes)]),
    "isoc_pet_get_tables": (c.c_int32, [c.c_void_p, c.c_int64, c.POINTER(isoc_pet_tables)]),
    "isoc_pet_set_options": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_options)]),
    "isoc_pet_set_order": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_int64]),
    "isoc_pet_set_stream": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_pet_get_info": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_info)]),
    "isoc_pet_memory": (c.c_int32, [c.c_void_p, c.c_void_p]),
    "isoc_pet_forward": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_int64, c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor)]),
    "isoc_pet_adjoint": (c.c_int32, [c.c_void_p, c.c_void_p, c.c_int64, c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor)]),
    "isoc_pet_sensitivity": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_reconstruct": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                         c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_history": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_iteration), c.c_int64, c.c_void_p]),
    "isoc_pet_deposit": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor), c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_detect": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                    c.POINTER(isoc_tensor), c.c_uint64, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                    c.POINTER(isoc_pet_lost)]),
    "isoc_pet_factors": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_factor_options), c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_attenuation": (c.c_int32, [c.c_void_p, c.c_double, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_fan_sums": (c.c_int32, [c.c_void_p, c.c_double, c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                      c.POINTER(isoc_tensor), c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_singles": (c.c_int32, [c.c_void_p, c.c_double, c.c_double, c.c_double, c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor)]),
    "isoc_pet_efficiencies": (c.c_int32, [c.c_void_p, c.c_double, c.c_double, c.POINTER(isoc_pet_factor_options),
                                          c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                          c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_randoms": (c.c_int32, [c.c_void_p, c.c_double, c.c_double, c.c_uint32, c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor)]),
    "isoc_pet_scatter": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_scatter_options), c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                     c.POINTER(isoc_pet_scatter_found)]),
    "isoc_pet_factors_memory": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_factor_options), c.POINTER(isoc_tensor),
                                            c.c_void_p, c.c_void_p]),
    "isoc_pet_randoms_memory": (c.c_int32, [c.c_void_p, c.c_uint32, c.c_void_p, c.c_void_p]),
    "isoc_pet_scatter_memory": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_scatter_options), c.POINTER(isoc_tensor),
                                            c.c_void_p, c.c_void_p]),
    "isoc_pet_forward_lines": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_list), c.POINTER(isoc_tensor),
                                           c.POINTER(isoc_tensor), c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_adjoint_lines": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_list), c.POINTER(isoc_tensor),
                                           c.POINTER(isoc_tensor), c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_line_factors": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_list), c.POINTER(isoc_pet_factor_options),
                                          c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                          c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_line_sensitivity": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_factor_options), c.POINTER(isoc_tensor),
                                              c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_line_randoms": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_list), c.c_double, c.c_double,
                                          c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_sample_lines": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_list), c.POINTER(isoc_tensor),
                                          c.POINTER(isoc_tensor), c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_reconstruct_lines": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_list), c.POINTER(isoc_tensor),
                                               c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                               c.POINTER(isoc_pet_dropped)]),
    "isoc_pet_lines_memory": (c.c_int32, [c.c_void_p, c.c_uint64, c.c_void_p]),
    "isoc_pet_phantom_image": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_body), c.c_int64, c.c_uint32,
                                           c.POINTER(isoc_tensor)]),
    "isoc_pet_simulate": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_scan), c.POINTER(isoc_tensor),
                                      c.POINTER(isoc_tensor), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor),
                                      c.POINTER(isoc_pet_tally)]),
    "isoc_pet_expect": (c.c_int32, [c.c_void_p, c.POINTER(isoc_pet_scan), c.POINTER(isoc_tensor),
                                    c.POINTER(isoc_pet_tally), c.POINTER(isoc_tensor), c.POINTER(isoc_tensor)]),
    "isoc_pet_contrast_recovery": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.c_void_p, c.c_int64, c.c_double,
                                               c.c_void_p]),
    "isoc_pet_noise": (c.c_int32, [c.c_void_p, c.POINTER(isoc_tensor), c.c_void_p]),
}

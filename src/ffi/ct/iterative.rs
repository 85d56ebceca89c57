//! Iterative reconstruction: how it goes on, and what it found.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{OutList, Sized32, count, read_struct};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{Fit, Iterated, Iterative, MAX_ITERATIONS, Normal, Start, Variation, Weighting};

/// Bounds that each step keeps values within.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_bounds {
    /// None.
    None = 0,
    /// 0 or more.
    NonNegative = 1,
    /// isoc_ct_iterative.lower to upper; infinite ones are none.
    Box = 2,
}

/// What the first iteration begins with.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_start {
    /// Zeros; ones for ISOC_CT_ALGORITHM_MLEM, whose second image does not depend on them.
    Uniform = 0,
    /// What the volume holds, f32: an earlier result, or that of filtered back projection; moved into the bounds. Not for streams, nor
    /// with isoc_ct_set_output.
    Volume = 1,
}

/// How A^T A is applied where a method has no other use for A: ISOC_CT_ALGORITHM_CGLS and ISOC_CT_ALGORITHM_FISTA.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_normal {
    /// By the pair; for ISOC_CT_ALGORITHM_FISTA as a convolution where it is one but for what a detector's ends cut off. The log says which, and why.
    Auto = 0,
    /// By A, then A^T.
    Pair = 1,
    /// As a convolution: one padded FFT each way, whatever the number of views. That is what A^T A is of the band-limited pair
    /// (isoc_ct_options.projector) where all pixels, or those inside the circle of mask_radius, fall on the detector in all views; else
    /// ISOC_STATUS_OUT_OF_RANGE. ISOC_CT_ALGORITHM_FISTA takes the gradient from the pair after each 20 iterations, comes to the pair's minimum, and tells the
    /// pair's objective; ISOC_CT_ALGORITHM_CGLS comes to the convolution's minimum, and tells the convolution's.
    Toeplitz = 2,
}

/// How much each ray counts in least squares: with weights W it is (b - A x)^T W (b - A x).
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_weighting {
    /// All alike.
    Uniform = 0,
    /// By its transmission: exp(-b), b the line integral, at most 1. N photons leave a variance of 1 / N in it, so that this is right where
    /// those of the beam are the same in all rays; the objective then counts variances of the open beam.
    Transmission = 1,
    /// By isoc_ct_set_ray_weights.
    Given = 2,
}

/// How total variation measures what an image leaves of the data.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_fit {
    /// By squares: |b - A x|^2 / 2.
    Squares = 0,
    /// By Poisson's law: sum of A x - b + b ln(b / A x), for counts of emission or fluorescence, which must not be negative. Rays whose sum
    /// is less than a thousandth of a pixel are left out. Needs two bounds of 0 or more.
    Poisson = 1,
}

/// Whose differences total variation counts.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_variation {
    /// Of pixels next to each other in a slice: slices are independent.
    Slices = 0,
    /// Of neighbouring slices, too, times pixel_size / bin_pitch, since rows of the detector are as far apart as its bins: |D x| is the length
    /// of three differences. All slices have one objective and one gap, and are worked on together: they must fit the processor's memory_cap.
    /// Where they do not fit a GPU, or where several GPUs share them, they are in host memory, within memory_cap, and pieces of them on a GPU
    /// in turn, each with 22 slices of its neighbours on either side: results are the same to the bit. What is needed is told with
    /// ISOC_STATUS_MEMORY_CAP. Not with percentiles (isoc_ct_set_output).
    Volume = 1,
}

/// How iterative algorithms go on. Set `struct_size` and `iterations`, and zero the rest for the defaults. A field that the algorithm has
/// no use for must keep its default: else ISOC_STATUS_OUT_OF_RANGE, when it is used.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_iterative {
    /// sizeof(isoc_ct_iterative).
    pub struct_size: u32,
    /// An isoc_ct_start.
    pub start: u32,
    /// Maximum number of iterations, 1 to 10^6, each over all views.
    pub iterations: i64,
    /// SIRT, MLEM: number of subsets of the views, up to the number of views; 0 means 1. Subset s of S has every S-th of the views sorted
    /// by angle modulo pi, from number s on (one subset: all views in their order). An iteration takes them all, one after the other, about
    /// a golden section of S apart, from subset 0 on.
    pub subsets: i64,
    /// SIRT: factor of each step, above 0 and below 2; 0 means 1.
    pub relaxation: f64,
    /// SIRT, MLEM, FISTA: an isoc_ct_bounds. Total variation: the same, but ISOC_CT_BOUNDS_NONE, or without a lower one; with an upper one the gap
    /// is found sooner.
    pub bounds: u32,
    /// CGLS, FISTA: an isoc_ct_normal.
    pub normal: u32,
    /// ISOC_CT_BOUNDS_BOX: the smallest value; 0 with other bounds.
    pub lower: f64,
    /// ISOC_CT_BOUNDS_BOX: the largest, above `lower`; 0 with other bounds.
    pub upper: f64,
    /// Pixels outside a circle about the centre of the slice stay 0, and rays meet nothing there; the circle is that of
    /// isoc_ct_output.mask_radius. 0: no mask.
    pub mask_radius: f64,
    /// CGLS, FISTA: weight of |x|^2, 0 or more, in squares of the length unit: the objective adds squares of line integrals, which have no unit.
    /// Total variation: weight of the sum of |D x|, above 0, in the length unit.
    pub regularisation: f64,
    /// CGLS: a slice ends when its gradient's length is at most this part of the first one's; 0 or more, below 1; 0: not before a gradient
    /// of 0. Total variation: when its duality gap is at most this part of its objective; 0 means 1e-4. FISTA: the same; 0: not before a gap
    /// of 0; above 0 with two bounds or a regularisation. The gap is looked at after each 20 iterations.
    pub tolerance: f64,
    /// Total variation: |D x| below this, in attenuation a length unit, counts |D x|^2 / (2 huber), and |D x| - huber / 2 above: slopes are
    /// kept, too. 0 or more.
    pub huber: f64,
    /// CGLS, FISTA, total variation: an isoc_ct_weighting. Total variation then needs two bounds.
    pub weighting: u32,
    /// Total variation: an isoc_ct_fit.
    pub fit: u32,
    /// Total variation: an isoc_ct_variation.
    pub variation: u32,
    /// Zero.
    pub reserved: u32,
    /// Total variation: weight of the sum of |r|, r an offset of each bin and slice that all views share, which is found with the image and taken
    /// off the data, as rings are that a detector's gain leaves: the objective is |b - A x - r|^2 / 2 + regularisation sum of |D x| +
    /// ring_weight sum of |r|. One to three times the noise of a line integral times the square root of the number of views. Needs two bounds;
    /// not with Poisson's law. 0: none.
    pub ring_weight: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_iterative {
    const NAME: &'static str = "isoc_ct_iterative";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_iterative {
    fn to_iterative(self) -> Result<Iterative> {
        let Self { lower, upper, mask_radius, regularisation, ring_weight, huber, tolerance, .. } = self;
        let start = match self.start {
            0 => Start::Uniform,
            1 => Start::Volume,
            v => fail!(UnknownValue, "iterative.start is {v}; it must be 0 or 1 (isoc_ct_start)"),
        };
        let normal = match self.normal {
            0 => Normal::Auto,
            1 => Normal::Pair,
            2 => Normal::Toeplitz,
            v => fail!(UnknownValue, "iterative.normal is {v}; it must be 0 to 2 (isoc_ct_normal)"),
        };
        let weighting = match self.weighting {
            0 => Weighting::Uniform,
            1 => Weighting::Transmission,
            2 => Weighting::Given,
            v => fail!(UnknownValue, "iterative.weighting is {v}; it must be 0 to 2 (isoc_ct_weighting)"),
        };
        let fit = match self.fit {
            0 => Fit::Squares,
            1 => Fit::Poisson,
            v => fail!(UnknownValue, "iterative.fit is {v}; it must be 0 or 1 (isoc_ct_fit)"),
        };
        let variation = match self.variation {
            0 => Variation::Slices,
            1 => Variation::Volume,
            v => fail!(UnknownValue, "iterative.variation is {v}; it must be 0 or 1 (isoc_ct_variation)"),
        };
        let given = (lower, upper) != (0.0, 0.0);
        let bounds = match self.bounds {
            kind @ 0..=1 if given => {
                let kind = ["0 (none)", "1 (non_negative)"][kind as usize];
                fail!(
                    OutOfRange,
                    "iterative.lower is {lower:?} and upper {upper:?}; both must be 0 where bounds is {kind}, and not 2 (box)"
                )
            }
            0 => [f64::NEG_INFINITY, f64::INFINITY],
            1 => [0.0, f64::INFINITY],
            2 => [lower, upper],
            v => fail!(UnknownValue, "iterative.bounds is {v}; it must be 0 to 2 (isoc_ct_bounds)"),
        };
        let subsets = count(self.subsets, "iterative.subsets", 0, i32::MAX as usize)?.max(1);
        let iterations = count(self.iterations, "iterative.iterations", 1, MAX_ITERATIONS)?;
        let relaxation = if self.relaxation == 0.0 { 1.0 } else { self.relaxation };
        Ok(Iterative {
            iterations,
            subsets,
            relaxation,
            bounds,
            mask_radius,
            start,
            normal,
            weighting,
            fit,
            variation,
            regularisation,
            ring_weight,
            huber,
            tolerance,
        })
    }
}

/// What was seen of all slices between iterations: before each, and of total variation and FISTA after each 20 and the last.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_iteration {
    /// Iterations before it: those that made the images that this is of.
    pub iteration: i64,
    /// What the algorithm makes smaller (see isoc_ct_algorithm), summed over slices, of which each counts with its last after its end; with
    /// subsets each subset's part of the image as it was when the subset's turn came. Infinite of ISOC_CT_ALGORITHM_MLEM where a ray with counts meets an image of nothing but 0.
    pub objective: f64,
    /// How far that is above its minimum, at most, summed over slices; infinite where the algorithm does not know.
    pub gap: f64,
    /// Slices that had not ended.
    pub slices: i64,
}

/// Sets how iterative algorithms go on; NULL sets the defaults, 30 iterations. It holds until set again, whatever the geometry. Forgets
/// what isoc_ct_history tells.
///
/// # Safety
/// `iterative` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_iterative(ct: *mut isoc_ct, iterative: *const isoc_ct_iterative) -> Status {
    with_plan(ct, |ct| {
        let iterative = if iterative.is_null() {
            Iterative::default()
        } else {
            // SAFETY: by this function's contract.
            unsafe { read_struct(iterative)? }.to_iterative()?
        };
        ct.set_iterative(iterative)
    })
}

/// Sets the weights of rays, 0 or more and not all 0, for ISOC_CT_WEIGHTING_GIVEN: `weights` is (views, bins) or (views, 1, bins), f32 or f64
/// in host memory, copied; the same in all slices. A weight of 0 leaves a ray out, as of a dead column of the detector or of metal in its
/// way. NULL, and isoc_ct_set_geometry, forget them.
///
/// ISOC_STATUS_NOT_FINITE_DATA, ISOC_STATUS_OUT_OF_RANGE: a weight is NaN or Inf, or below 0, or all are 0.
///
/// # Safety
/// `weights` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_ray_weights(ct: *mut isoc_ct, weights: *const isoc_tensor) -> Status {
    with_plan(ct, |ct| {
        let g = ct.geometry()?;
        let expected = Expected {
            name: "weights",
            shape: [g.views(), 1, g.bins],
            dims: ["views", "1", "bins"],
            optional: &[1],
            dtypes: &[DType::F32, DType::F64],
            gpus: &[],
        };
        // SAFETY: by this function's contract.
        let weights = if weights.is_null() { None } else { Some(unsafe { expected.input(weights)? }) };
        ct.set_ray_weights(weights)
    })
}

/// Writes what the iterations of the last reconstruction saw; ISOC_STATUS_NOT_CONFIGURED before there was one that iterated.
///
/// # Safety
/// `iterations` is NULL or has room for `capacity` elements; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_history(
    ct: *mut isoc_ct,
    iterations: *mut isoc_ct_iteration,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(ct, |ct| {
        let record = |i: &Iterated| isoc_ct_iteration {
            iteration: i.iteration as i64,
            objective: i.objective,
            gap: i.gap,
            slices: i.slices as i64,
        };
        let list = OutList { names: ["iterations", "capacity"], out: iterations, capacity, count };
        // SAFETY: by this function's contract.
        unsafe { list.fill(ct.history()?.iter().map(record)) }
    })
}

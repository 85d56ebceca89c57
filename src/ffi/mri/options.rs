//! How to compute.

use super::plan::{isoc_mri, with_plan};
use crate::ffi::boundary::{Sized32, count, read_struct};
use isocenter_base::error::{Result, Status, fail};
use isocenter_mri::{Algorithm, Method, Normal, Options, Penalty, Wavelet};
use std::ffi::c_void;

/// How Fourier sums are computed.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_method {
    /// By a fast transform, except with voxel positions and with a field of more than 256 turns.
    Auto = 0,
    /// By a non-uniform fast Fourier transform, to isoc_mri_options.tolerance; of samples in planes of constant kz at multiples of 1 / M cycles per
    /// voxel, or these and an offset, M from nz to 2.25 nz, by a fast Fourier transform along z and non-uniform ones in the planes.
    Nufft = 1,
    /// Term by term, to rounding.
    Exact = 2,
}

/// How F^H W F is applied.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_normal_kind {
    /// By Q, but with a field on a GPU alone, if iterations times coils are 134 or more or Q is there, of up to 128 turns and if there is
    /// memory for it; with voxel positions by pairs.
    Auto = 0,
    /// By Q: a multiplication on the grid of isoc_mri_info.q_nx, up to twice the image's; with a field isoc_mri_info.normal_terms of them (isoc_mri_set_field).
    Toeplitz = 1,
    /// By a forward and an adjoint transform.
    Pair = 2,
}

/// What images are preferred: lambda times a penalty is minimised together with |F rho - samples|^2 / 2, in the norm of the density
/// weights.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_penalty {
    /// |R rho|^2 / 2 with R = 1.
    Identity = 0,
    /// |R rho|^2 / 2, R the differences between neighbours along every axis, weighted by isoc_mri_set_difference_weights.
    Differences = 1,
    /// |R rho|^2 / 2, R the matrix of isoc_mri_set_matrix.
    Matrix = 2,
    /// The sum of the absolute values of all coefficients of an orthonormal wavelet transform: images of few wavelets, from few samples.
    Wavelets = 3,
    /// Total variation, the sum over voxels of sqrt(sum over axes |difference|^2), differences weighted by
    /// isoc_mri_set_difference_weights: images of few edges.
    Variation = 4,
    /// The sum of the singular values of blocks of voxels by images: a series (isoc_mri_set_frames, isoc_mri_set_windows,
    /// isoc_mri_set_basis), all of whose images are then reconstructed together, that changes in few ways at each place. Zhang, Pauly and
    /// Levesque, Magn. Reson. Med. 73, 2015.
    LowRank = 5,
}

/// What minimises.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_algorithm {
    /// ConjugateGradient for penalties 0 to 2, Fista for the others.
    Auto = 0,
    /// Conjugate gradient: for penalties 0 to 2.
    ConjugateGradient = 1,
    /// Accelerated proximal gradient with restarts (Beck and Teboulle 2009; O'Donoghue and Candes 2015), its step by the largest
    /// curvature met: for penalties 3 to 5. Total variation's proximal step takes 10 rounds on the dual.
    Fista = 2,
    /// A primal-dual method (Condat 2013; Vu 2013): for penalties 3 to 5. Less work an iteration than Fista with total variation, and
    /// more iterations; wavelets and blocks stay where they are.
    PrimalDual = 3,
}

/// Wavelets, in the field's names.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_wavelet {
    /// Daubechies' with four vanishing moments, eight coefficients: "db4".
    Daubechies4 = 0,
    /// Haar's.
    Haar = 1,
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
    /// Maximum number of iterations; 0 means 30.
    pub iterations: i64,
    /// Largest relative error (l2) of a fast transform: down to about 1e-6 in single and 1e-12 in double precision; 0 means 1e-5
    /// and 1e-9.
    pub tolerance: f64,
    /// Minimum size of the fast transform's grid relative to the image, 1.1 to 4; 0 takes the fastest.
    pub upsampling: f64,
    /// Weight of the penalty, relative to nothing. Penalties 0 to 2: the unit is that of F^H W F, whose diagonal is the sum of the
    /// weights. 3 to 5: that times the image's; 3e-3 of isoc_mri_info.lambda_limit is where to begin.
    pub lambda: f64,
    /// Stops at this |residual| / |right-hand side|, or, with penalties 3 to 5, |step| / |image|; 0 means 1e-6.
    pub residual: f64,
    /// An isoc_mri_algorithm.
    pub algorithm: u32,
    /// An isoc_mri_wavelet.
    pub wavelet: u32,
    /// Levels of the wavelet transform; 0 means as many as leave averages of 8 voxels an axis. A line of odd length passes its last
    /// element on, so that any size will do.
    pub levels: u32,
    /// 0: the grid of wavelets or blocks moves from iteration to iteration, so that it does not show. Else it stays, and the objective is
    /// one of a fixed problem.
    pub fixed_grid: u32,
    /// Differences shorter than this count by their square over twice this in total variation (Huber's function); 0: none. In the
    /// image's unit.
    pub huber: f64,
    /// Voxels along an edge of a block of ISOC_MRI_PENALTY_LOW_RANK, up to 64; 0 means 8. A GPU's shared memory takes blocks of as many voxels,
    /// or series of as many images, as fit: 80 of the fewer of both on an H100.
    pub block: i64,
    /// 0: each image of a series (isoc_mri_set_basis, isoc_mri_set_frames, isoc_mri_set_windows), or of several sets of maps, has wavelets or edges of its own. Else
    /// ISOC_MRI_PENALTY_WAVELETS and ISOC_MRI_PENALTY_VARIATION sum the length over all images of what is at one place, so that images share
    /// their wavelets or edges; frames are then solved together.
    pub joint: u32,
    /// Zero.
    pub reserved: u32,
    /// Weight of |imaginary part of rho|^2 / 2, which is minimised together with the rest, in the unit of lambda of penalties 0 to 2; 0: none;
    /// INFINITY: images are real. So samples of little more than half of k-space tell an image whose phase is known (partial Fourier) and is
    /// put into the sensitivities (isoc_mri_set_maps), each times exp(i phase): small weights, a tenth of the sum of the density
    /// weights, leave what is measured as it is. isoc_mri_reconstruct and isoc_mri_reconstruct_stream alone heed it; several coils without
    /// sensitivities are an error there (ISOC_STATUS_NOT_CONFIGURED), since their images have phases of their own. Noll, Nishimura and
    /// Macovski, IEEE Trans. Med. Imag. 10, 1991; Bydder and Robson, Magn. Reson. Med. 53, 2005.
    pub imaginary: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_options {
    const NAME: &'static str = "isoc_mri_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

pub(super) const MAX_ITERATIONS: usize = 1 << 20;

impl isoc_mri_options {
    pub(super) fn to_options(self) -> Result<Options> {
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
            3 => Penalty::Wavelets,
            4 => Penalty::Variation,
            5 => Penalty::LowRank,
            v => fail!(UnknownValue, "options.penalty is {v}; it must be 0 to 5 (isoc_mri_penalty)"),
        };
        let algorithm = match self.algorithm {
            0 => Algorithm::Auto,
            1 => Algorithm::ConjugateGradient,
            2 => Algorithm::Fista,
            3 => Algorithm::PrimalDual,
            v => fail!(UnknownValue, "options.algorithm is {v}; it must be 0 to 3 (isoc_mri_algorithm)"),
        };
        let wavelet = match self.wavelet {
            0 => Wavelet::Daubechies4,
            1 => Wavelet::Haar,
            v => fail!(UnknownValue, "options.wavelet is {v}; it must be 0 or 1 (isoc_mri_wavelet)"),
        };
        let hardware_sines = match self.sines {
            0 => false,
            1 => true,
            v => fail!(UnknownValue, "options.sines is {v}; it must be 0 or 1 (isoc_mri_sines)"),
        };
        if self.reserved != 0 {
            fail!(UnknownValue, "options.reserved is {}; it must be 0", self.reserved);
        }
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
            algorithm,
            wavelet,
            levels: self.levels as usize,
            fixed_grid: self.fixed_grid != 0,
            joint: self.joint != 0,
            huber: self.huber,
            block: count(self.block, "options.block", 0, 64)?,
            iterations,
            residual,
            warm_start,
            imaginary: self.imaginary,
            hardware_sines,
        })
    }
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

//! How to compute.

use super::plan::{isoc_mri, with_plan};
use crate::error::{Result, Status, fail};
use crate::ffi::boundary::{Sized32, count, read_struct};
use crate::mri::{Method, Normal, Options, Penalty};
use std::ffi::c_void;

/// How Fourier sums are computed.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_mri_method {
    /// By a fast transform, except with voxel positions and with a field of more than 256 turns.
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
    /// By Q, but with a field on a GPU alone, of up to 128 turns if there is memory for it; with voxel positions by pairs.
    Auto = 0,
    /// By Q: a multiplication on the doubled grid; with a field isoc_mri_info.normal_terms of them (isoc_mri_set_field).
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

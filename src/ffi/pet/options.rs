//! How to reconstruct.

use super::geometry::MAX_VIEWS;
use super::plan::{isoc_pet, with_plan};
use crate::ffi::boundary::{Sized32, array, count, read_struct};
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::{Algorithm, Method, Options, Order, Projector};
use std::ffi::c_void;

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
    /// Subsets again, up the gradient of the log-likelihood less a prior (isoc_pet_set_prior): `f = max(f + lambda (f + floor) / (S + 2 f h) (subsets x H'[A (d / e - 1)] - beta R'), 0)`,
    /// sums over a subset, S of all views, h the sum of the prior's second derivatives by the voxel itself. Steps get smaller with the passes, so that it converges. Without warm start the first pass does without the prior, by two subsets at a time.
    Bsrem = 3,
    /// The same, with gradients of subsets corrected by what they were for an earlier image: it converges with steps of the same size, to the same image, in few
    /// passes. After the first pass every third one finds the gradient of all views, which is one step alone. Stored: `subsets` images, if they fit, or one, and gradients are found twice.
    Svrg = 4,
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
    /// OSEM, BSREM, SVRG: subsets of views; 0 means 8 of OSEM, or one a view where there are fewer, of BSREM one for five views, at most 24, of SVRG one for three, at most 40, and fewer where each would have
    /// less than half a count a voxel of the image: two at least, from 1000 counts on.
    pub subsets: u32,
    /// Passes over all views; 0 means 10.
    pub iterations: i64,
    /// Passes made before, by other calls: relaxation and random orders go on from there.
    pub first_iteration: i64,
    /// Of ISOC_PET_ORDER_RANDOM: the same orders for the same seed.
    pub seed: u64,
    /// RAMLA: in pass k, `lambda = relaxation / (1 + relaxation_decay k) / largest A`; BSREM, SVRG: without `/ largest A`. Above 0 and at most 1, which keeps images
    /// of RAMLA positive; 0 means 1.
    pub relaxation: f64,
    /// How fast lambda falls from pass to pass, in the formula of relaxation; 0 or more. 0 means 0.1 of BSREM.
    pub relaxation_decay: f64,
    /// Fourier projector: largest error of a kernel's expansion, relative to its largest value; 0 means 1e-5.
    pub tolerance: f64,
    /// Above 0: passes end, before `iterations` of them, when one has changed the image by no more, `|after - before| / |after|`. Not judged are the first pass from a uniform image, and SVRG's of one step. Where
    /// stop_region_change is set, too, both must hold.
    pub stop_change: f64,
    /// Above 0: the same with the means of the regions of isoc_pet_set_regions, the largest change over the mean of all regions.
    pub stop_region_change: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_options {
    const NAME: &'static str = "isoc_pet_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

const MAX_ITERATIONS: usize = 1 << 20;

impl isoc_pet_options {
    pub(super) fn to_options(self) -> Result<Options> {
        let algorithm = match self.algorithm {
            0 => Algorithm::Ramla,
            1 => Algorithm::Osem,
            2 => Algorithm::Mlem,
            3 => Algorithm::Bsrem,
            4 => Algorithm::Svrg,
            v => fail!(UnknownValue, "options.algorithm is {v}; it must be 0 to 4 (isoc_pet_algorithm)"),
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
            change: self.stop_change,
            region_change: self.stop_region_change,
            warm_start: self.warm_start != 0,
        })
    }
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

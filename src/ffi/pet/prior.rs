//! What images are expected to be like, and when they are good enough.

use super::plan::{isoc_pet, with_plan};
use super::tensors::expect_image;
use crate::ffi::boundary::{Sized32, read_struct, set_out};
use crate::ffi::tensor::{Expected, check_apart, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::{Potential, Prior};

/// What two neighbouring voxels f and g cost.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_potential {
    /// `(f - g)^2 / (f + g + gamma |f - g| + epsilon)`: differences cost by their size relative to the activity about them.
    RelativeDifference = 0,
    /// `(f - g)^2 / 2`; with an edge e, `e^2 (sqrt(1 + ((f - g) / e)^2) - 1)`, which grows as |f - g| beyond it.
    Quadratic = 1,
}

/// A prior: what is taken off the log-likelihood, `beta R(f)`, R the sum over pairs of neighbours, each of the 26 about a voxel once, of `k_f k_g a_fg x / distance` times their
/// potential: x the voxel's side along x, k `weights`, `a = exp(-((A_f - A_g) / anatomy_sigma)^2 / 2)` of the anatomical image A. Set `struct_size` and `strength`, and zero the rest for the
/// relative difference prior.
///
/// Of relative differences with epsilon 0, the optimum explains as many counts less as the prior's value is, isoc_pet_iteration.penalty: of few counts in large bodies up to a tenth.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_prior {
    /// sizeof(isoc_pet_prior).
    pub struct_size: u32,
    /// An isoc_pet_potential.
    pub potential: u32,
    /// beta; 0 or more.
    pub strength: f64,
    /// Relative difference: how early edges are kept; 0 means 2. Twice as large a value keeps smaller ones.
    pub gamma: f64,
    /// Relative difference: makes it smooth about 0, in the unit of the image; 0 or more.
    pub epsilon: f64,
    /// Quadratic: differences beyond it are edges, in the unit of the image; 0 means none are.
    pub edge: f64,
    /// In the unit of the anatomical image: neighbours whose values differ by much more are not told to be alike. Above 0 with an anatomical image, 0 without.
    pub anatomy_sigma: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_prior {
    const NAME: &'static str = "isoc_pet_prior";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_pet_prior {
    fn to_prior(self) -> Result<Prior> {
        let potential = match self.potential {
            0 => Potential::RelativeDifference {
                gamma: if self.gamma == 0.0 { 2.0 } else { self.gamma },
                epsilon: self.epsilon,
            },
            1 => Potential::Quadratic { edge: self.edge },
            v => fail!(UnknownValue, "prior.potential is {v}; it must be 0 or 1 (isoc_pet_potential)"),
        };
        for (name, value, of) in [("gamma", self.gamma, 0), ("epsilon", self.epsilon, 0), ("edge", self.edge, 1)] {
            if value != 0.0 && self.potential != of {
                let words = ["0 (relative_difference)", "1 (quadratic)"];
                let now = words[usize::from(of == 0)];
                fail!(OutOfRange, "prior.{name} is {value}; it must be 0 where prior.potential is {now}");
            }
        }
        Ok(Prior { potential, strength: self.strength, anatomy_sigma: self.anatomy_sigma })
    }
}

/// Sets the prior of ISOC_PET_ALGORITHM_BSREM and SVRG; NULL takes it away. `weights`: f32 (nz, ny, nx), 0 or more, NULL for 1; `anatomy`: f32 (nz, ny, nx), as of a CT or MR image
/// on the lattice, or NULL. Copied; they hold until isoc_pet_set_geometry. Voxels that no view sees are nobody's neighbours.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_prior(
    pet: *mut isoc_pet,
    prior: *const isoc_pet_prior,
    weights: *const isoc_tensor,
    anatomy: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        if prior.is_null() {
            for (tensor, name) in [(weights, "weights"), (anatomy, "anatomy")] {
                if !tensor.is_null() {
                    fail!(OutOfRange, "{name} is given, and prior is NULL");
                }
            }
            return pet.set_prior(None);
        }
        // SAFETY: by this function's contract.
        let (prior, images) = unsafe {
            let of = |tensor: *const isoc_tensor, name| match tensor.is_null() {
                true => Ok(None),
                false => expect_image(pet, name)?.input(tensor).map(Some),
            };
            (read_struct(prior)?.to_prior()?, [of(weights, "weights")?, of(anatomy, "anatomy")?])
        };
        pet.set_prior(Some((prior, images)))
    })
}

/// Gradient of the prior, `beta R'(f)`, of an image f that is not negative, and `value`, `beta R(f)`; either may be NULL. Image and gradient: f32 (nz, ny, nx). After
/// isoc_pet_set_response or set_tables.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_prior_gradient(
    pet: *mut isoc_pet,
    image: *const isoc_tensor,
    gradient: *const isoc_tensor,
    value: *mut f64,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let from = expect_image(pet, "image")?.input(image)?;
            let to = match gradient.is_null() {
                true => None,
                false => Some(expect_image(pet, "gradient")?.output(gradient)?),
            };
            if let Some(to) = &to {
                check_apart((from.layout(), "image"), (to.layout(), "gradient"))?;
            }
            let penalty = pet.prior_gradient(from, to)?;
            if value.is_null() { Ok(()) } else { set_out(value, penalty, "value") }
        }
    })
}

/// Sets the regions whose means isoc_pet_options.stop_region_change is about: u8, u16 or u32 (nz, ny, nx), labels from 1 to 65535, 0 for none; copied. NULL takes them
/// away. They hold until isoc_pet_set_geometry.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_regions(pet: *mut isoc_pet, regions: *const isoc_tensor) -> Status {
    with_plan(pet, |pet| {
        if regions.is_null() {
            return pet.set_regions(None);
        }
        // SAFETY: by this function's contract.
        let regions = unsafe { Expected { dtypes: DType::COUNTS, ..expect_image(pet, "regions")? }.input(regions) }?;
        pet.set_regions(Some(regions))
    })
}

//! Memory of calls that make what a reconstruction is given.

use super::background::{directions_of, isoc_pet_scatter_options, scatter_options};
use super::corrections::{expect_map, factor_options, isoc_pet_factor_options};
use super::plan::{isoc_pet, with_plan};
use crate::ffi::boundary::set_bytes;
use crate::ffi::tensor::isoc_tensor;
use isocenter_base::error::Status;

/// Number of bytes of working memory that isoc_pet_factors needs under the present geometry and scanner. `host_bytes`: of the host, as memory_cap counts them,
/// with what it copies of its input; `gpu_bytes`: of the GPU that it computes on, as gpu_memory_cap does, with what the plan keeps there; 0 on the processor.
/// Either may be NULL. A cap of as many is enough, one of fewer ISOC_STATUS_MEMORY_CAP before anything is computed.
///
/// `attenuation`: as in isoc_pet_factors, but its shape alone counts, `data` may be NULL; NULL for none. `options` may be NULL.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_factors_memory(
    pet: *mut isoc_pet,
    options: *const isoc_pet_factor_options,
    attenuation: *const isoc_tensor,
    host_bytes: *mut u64,
    gpu_bytes: *mut u64,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let options = factor_options(options)?;
            let map = match attenuation.is_null() {
                true => None,
                false => Some(expect_map(attenuation, "attenuation")?.shape),
            };
            let found = pet.factors_memory(&options, map)?;
            set_bytes([host_bytes, gpu_bytes], [found.host, found.gpu]);
            Ok(())
        }
    })
}

/// Number of bytes of working memory that isoc_pet_randoms needs with so many `directions`, 0 for as many as it takes then: see isoc_pet_factors_memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_randoms_memory(
    pet: *mut isoc_pet,
    directions: u32,
    host_bytes: *mut u64,
    gpu_bytes: *mut u64,
) -> Status {
    with_plan(pet, |pet| {
        let found = pet.randoms_memory(directions_of(directions)?)?;
        // SAFETY: by this function's contract.
        unsafe { set_bytes([host_bytes, gpu_bytes], [found.host, found.gpu]) };
        Ok(())
    })
}

/// Number of bytes of working memory that isoc_pet_scatter needs with this attenuation, whatever else it is given: see isoc_pet_factors_memory. It takes the
/// memory of the map and its grids itself, to find the places where photons are scattered.
///
/// `options` and `attenuation`: as in isoc_pet_scatter.
///
/// ISOC_STATUS_MEMORY_CAP: the map and its grids are more than memory_cap.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_scatter_memory(
    pet: *mut isoc_pet,
    options: *const isoc_pet_scatter_options,
    attenuation: *const isoc_tensor,
    host_bytes: *mut u64,
    gpu_bytes: *mut u64,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let options = scatter_options(options)?;
            let map = expect_map(attenuation, "attenuation")?.input(attenuation)?;
            let found = pet.scatter_memory(&options, &map)?;
            set_bytes([host_bytes, gpu_bytes], [found.host, found.gpu]);
            Ok(())
        }
    })
}

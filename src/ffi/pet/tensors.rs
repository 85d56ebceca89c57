//! What the calls expect of their tensors.

use crate::ffi::tensor::Expected;
use isocenter_base::array::DType;
use isocenter_base::error::Result;
use isocenter_pet::Pet;

/// An image.
pub(super) fn expect_image<'p>(pet: &'p Pet, name: &'static str) -> Result<Expected<'p, 3>> {
    let shape = pet.lattice()?.shape();
    Ok(Expected { name, shape, dims: ["nz", "ny", "nx"], optional: &[], dtypes: DType::FLOAT, gpus: pet.gpus() })
}

/// So many histo-images.
pub(super) fn expect_histos<'p>(
    pet: &'p Pet,
    name: &'static str,
    views: usize,
    dtypes: &'static [DType],
) -> Result<Expected<'p, 4>> {
    let [nz, ny, nx] = pet.lattice()?.shape();
    let (shape, dims) = ([views, nz, ny, nx], ["views", "nz", "ny", "nx"]);
    Ok(Expected { name, shape, dims, optional: &[0], dtypes, gpus: pet.gpus() })
}

pub(super) fn expect_host_image<'p>(pet: &'p Pet, name: &'static str) -> Result<Expected<'p, 3>> {
    Ok(Expected { gpus: &[], ..expect_image(pet, name)? })
}

pub(super) fn expect_host_histos<'p>(
    pet: &'p Pet,
    name: &'static str,
    dtypes: &'static [DType],
) -> Result<Expected<'p, 4>> {
    Ok(Expected { gpus: &[], ..expect_histos(pet, name, pet.views()?.len(), dtypes)? })
}

/// What is expected of an array with a value for each crystal.
pub(super) fn of_crystals(pet: &Pet, name: &'static str, dtypes: &'static [DType]) -> Result<Expected<'static, 1>> {
    let shape = [pet.scanner()?.crystals.count()];
    Ok(Expected { name, shape, dims: ["crystals"], optional: &[], dtypes, gpus: &[] })
}

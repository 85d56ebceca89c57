//! Factors of a scanner and an attenuation map.

use super::plan::{isoc_pet, with_plan};
use super::tensors::{expect_histos, of_crystals};
use crate::ffi::boundary::{Sized32, count, read_struct};
use crate::ffi::tensor::{Expected, check_apart, isoc_tensor, sizes};
use isocenter_base::array::{Array, DType, Layout};
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::Pet;
use isocenter_pet::corrections::FactorOptions;
use isocenter_pet::factors::{Acquisition, DIRECTIONS, MAX_DIRECTIONS};

/// What factors are for. Set `struct_size` and zero the rest for an image in decays a voxel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_factor_options {
    /// sizeof(isoc_pet_factor_options).
    pub struct_size: u32,
    /// Of each view, about, 1 to 16384; 0 means 32. Lines about a voxel in each of them make its factor. A view has one for each 0.04 rad by 0.04 rad at least.
    pub directions: u32,
    /// Of the measurement, s: the image is in Bq/ml. 0: it is in decays a voxel that send pairs of photons, and the next four must be 0.
    pub duration: f64,
    /// Part of the decays that send pairs of photons, as of 18F 0.967; 0 means 1.
    pub branching: f64,
    /// s, as of 18F 6586; 0: no decay.
    pub half_life: f64,
    /// From the time that the image's activity is told at to the start of the measurement, s.
    pub delay: f64,
    /// Part of the duration in which the scanner was ready (dead time); 0 means 1.
    pub live: f64,
    /// Size of the attenuation map's voxels, mm; 0 means as in isoc_pet_geometry.
    pub map_voxel_x: f64,
    /// See map_voxel_x.
    pub map_voxel_y: f64,
    /// See map_voxel_x.
    pub map_voxel_z: f64,
    /// Centre of the map, mm from that of the lattice.
    pub map_centre_x: f64,
    /// See map_centre_x.
    pub map_centre_y: f64,
    /// See map_centre_x.
    pub map_centre_z: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_factor_options {
    const NAME: &'static str = "isoc_pet_factor_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Efficiencies and an attenuation map, where the caller gives them.
pub(super) struct Corrections<'a> {
    pub(super) efficiencies: Option<Array<'a, 1>>,
    pub(super) attenuation: Option<Array<'a, 3>>,
}

impl Corrections<'_> {
    /// # Safety
    /// Pointers are NULL or valid.
    pub(super) unsafe fn read(
        pet: &Pet,
        efficiencies: *const isoc_tensor,
        attenuation: *const isoc_tensor,
    ) -> Result<Self> {
        // SAFETY: by this function's contract.
        unsafe {
            let efficiencies = match efficiencies.is_null() {
                true => None,
                false => Some(of_crystals(pet, "efficiencies", DType::REAL)?.input(efficiencies)?),
            };
            let attenuation = match attenuation.is_null() {
                true => None,
                false => Some(expect_map(attenuation, "attenuation")?.input(attenuation)?),
            };
            Ok(Self { efficiencies, attenuation })
        }
    }

    pub(super) fn check_apart<const N: usize>(&self, to: (&Layout<N>, &str)) -> Result<()> {
        if let Some(efficiencies) = &self.efficiencies {
            check_apart((efficiencies.layout(), "efficiencies"), to)?;
        }
        if let Some(attenuation) = &self.attenuation {
            check_apart((attenuation.layout(), "attenuation"), to)?;
        }
        Ok(())
    }
}

impl isoc_pet_factor_options {
    fn to_options(self) -> Result<FactorOptions> {
        let or_one = |v: f64| if v == 0.0 { 1.0 } else { v };
        Ok(FactorOptions {
            acquisition: Acquisition {
                duration: self.duration,
                branching: or_one(self.branching),
                half_life: self.half_life,
                delay: self.delay,
                live: or_one(self.live),
            },
            directions: match self.directions {
                0 => DIRECTIONS,
                n => count(n.into(), "options.directions", 1, MAX_DIRECTIONS)?,
            },
            map_voxel: [self.map_voxel_x, self.map_voxel_y, self.map_voxel_z],
            map_centre: [self.map_centre_x, self.map_centre_y, self.map_centre_z],
        })
    }
}

/// The caller's, or those of NULL.
///
/// # Safety
/// It is NULL or valid.
pub(super) unsafe fn factor_options(options: *const isoc_pet_factor_options) -> Result<FactorOptions> {
    match options.is_null() {
        true => Ok(FactorOptions::default()),
        // SAFETY: by this function's contract.
        false => unsafe { read_struct(options) }?.to_options(),
    }
}

/// A map of any size, `[z][y][x]` in host memory.
///
/// # Safety
/// `tensor` is valid.
pub(super) unsafe fn expect_map(tensor: *const isoc_tensor, name: &'static str) -> Result<Expected<'static, 3>> {
    if tensor.is_null() {
        fail!(NullPointer, "{name} is NULL");
    }
    // SAFETY: by this function's contract.
    let shape = unsafe { sizes(&tensor.read_unaligned(), 3) };
    let [nz, ny, nx] = shape[..] else {
        // SAFETY: as above.
        let ndim = unsafe { tensor.read_unaligned() }.ndim;
        fail!(TensorNdim, "{name}.ndim is {ndim}; it must be 3 (nz, ny, nx), with a shape");
    };
    let side = |n, axis: usize| count(n, &format!("{name}.shape[{axis}]"), 1, MAX_MAP);
    let shape = [side(nz, 0)?, side(ny, 1)?, side(nx, 2)?];
    Ok(Expected { name, shape, dims: ["nz", "ny", "nx"], optional: &[], dtypes: DType::REAL, gpus: &[] })
}

/// Longest side of a map.
const MAX_MAP: usize = 1 << 16;

/// Writes the factors A_v of the plan's scanner, which isoc_pet_reconstruct takes: the part of the decays in a voxel that is measured in each view,
/// times what makes them of activity. It is the mean over lines through the voxel, in any direction, of the efficiencies of both crystals that a line meets,
/// 0 where it meets none, times exp(-integral of the attenuation), where the line is of the view. Of a line that crosses several crystals behind each other, all pairs are added up, each times what
/// isoc_pet_set_pairs says. Crystals need a width and a height.
///
/// `efficiencies`: real (crystals) in host memory, at least 0, the part of all photons along a line across the crystal that it detects; NULL: every photon that meets a crystal is detected, by the first.
/// `attenuation`: real (nz, ny, nx) in host memory, 1/mm at 511 keV, of any size and place (see the options); NULL for none. `options` may be NULL.
/// `factors`: f32 (views, nz, ny, nx), in host memory or on the plan's GPU, which computes them if there is one.
///
/// Values have the noise of the lines that they are the mean of, the same in every call; twice the directions halve its square. Voxels beyond the crystals have 0.
/// The map is averaged over the lattice's planes: ends of bodies along z are as blurred as these are thick.
/// The log warns of a map that seems to be in other units, or elsewhere; negative values and those of no element are errors.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_factors(
    pet: *mut isoc_pet,
    options: *const isoc_pet_factor_options,
    efficiencies: *const isoc_tensor,
    attenuation: *const isoc_tensor,
    factors: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let options = factor_options(options)?;
            let given = Corrections::read(pet, efficiencies, attenuation)?;
            let to = expect_histos(pet, "factors", pet.views()?.len(), DType::FLOAT)?.output(factors)?;
            given.check_apart((to.layout(), "factors"))?;
            pet.factors(&options, given.efficiencies.as_ref(), given.attenuation.as_ref(), to)
        }
    })
}

/// Writes an attenuation map, f32, 1/mm at 511 keV, of a CT in Hounsfield units, real, both (nz, ny, nx) of any size in host memory; they may be the same array.
/// `kilovolts`: the CT tube's peak voltage, 80 to 140. (Carney, Townsend, Rappoport, Bendriem, Med. Phys. 33(4), 2006, table I.)
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_attenuation(
    pet: *mut isoc_pet,
    kilovolts: f64,
    hounsfield: *const isoc_tensor,
    attenuation: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let expected = expect_map(hounsfield, "hounsfield")?;
            let mut to = Expected { name: "attenuation", dtypes: DType::FLOAT, ..expected }.output(attenuation)?;
            pet.attenuation(kilovolts, &expected.input(hounsfield)?, &mut to)
        }
    })
}

//! The response of the scanner.

use super::plan::{isoc_pet, with_plan};
use crate::ffi::boundary::{Sized32, array, count, read_struct};
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::{Cut, Profile, Radial, Response, Shape};

/// Radial profile of the response.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_profile {
    /// A Gaussian.
    Symmetric = 0,
    /// Two Gaussians: isoc_pet_response.ratio, shift and share.
    Asymmetric = 1,
}

/// Where a response is cut off.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_cut {
    /// At a number of sigmas along each of its axes.
    Box = 0,
    /// At an ellipsoid of a number of sigmas.
    Ellipsoid = 1,
}

/// What timing and detectors do to a point: full widths at half maximum.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_response {
    /// sizeof(isoc_pet_response).
    pub struct_size: u32,
    /// An isoc_pet_profile.
    pub profile: u32,
    /// An isoc_pet_cut.
    pub cut: u32,
    /// Pairs of radial_table; 0 means that radial_fwhm holds everywhere.
    pub radial_table_count: u32,
    /// Of the time difference, ps; 0: there is none, as of lists that go along lines (isoc_pet_list).
    pub tof_fwhm: f64,
    /// Across the line in the transverse plane, mm.
    pub radial_fwhm: f64,
    /// Across the line and the radial axis, mm.
    pub axial_fwhm: f64,
    /// Pairs of a signed distance from the axis (mm, ascending) and the radial width there (mm): linear between, constant beyond
    /// the ends. A table that begins at 0 or above holds for either sign.
    pub radial_table: *const f64,
    /// Voxels whose distances from the axis lie in one step of so many mm share a kernel; 0 means 2.
    pub step: f64,
    /// Sigmas at which kernels are cut; 0 means 3.
    pub cut_width: f64,
    /// Asymmetric: sigma of the second Gaussian over that of the first, at least 1.
    pub ratio: f64,
    /// Asymmetric: the second one is moved towards the axis by so many of the first one's sigmas.
    pub shift: f64,
    /// Asymmetric: the second one's share of the mass.
    pub share: f64,
}

// SAFETY: numbers and a pointer; all zero is valid.
unsafe impl Sized32 for isoc_pet_response {
    const NAME: &'static str = "isoc_pet_response";
    const FIRST_SIZE: usize = size_of::<Self>();
}

pub(super) const MAX_ENTRIES: usize = 1 << 20;

/// # Safety
/// The table is NULL or has as many pairs as `number`.
pub(super) unsafe fn radial(number: u32, fwhm: f64, table: *const f64, name: &str) -> Result<Radial> {
    let n = count(number.into(), &format!("{name}_count"), 0, MAX_ENTRIES)?;
    if n == 0 {
        return Ok(Radial::Constant(fwhm));
    }
    // SAFETY: by this function's contract.
    let pairs = unsafe { array(table.cast::<[f64; 2]>(), n, name) }?;
    Ok(Radial::Table { radius: pairs.iter().map(|p| p[0]).collect(), fwhm: pairs.iter().map(|p| p[1]).collect() })
}

impl isoc_pet_response {
    /// # Safety
    /// The radial table has as many pairs as the struct says.
    pub(super) unsafe fn to_response(self) -> Result<Response> {
        let profile = match self.profile {
            0 => Profile::Symmetric,
            1 => Profile::Asymmetric { ratio: self.ratio, shift: self.shift, share: self.share },
            v => fail!(UnknownValue, "response.profile is {v}; it must be 0 or 1 (isoc_pet_profile)"),
        };
        let shape = match self.cut {
            0 => Shape::Box,
            1 => Shape::Ellipsoid,
            v => fail!(UnknownValue, "response.cut is {v}; it must be 0 or 1 (isoc_pet_cut)"),
        };
        // SAFETY: by this function's contract.
        let radial =
            unsafe { radial(self.radial_table_count, self.radial_fwhm, self.radial_table, "response.radial_table") }?;
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        Ok(Response {
            tof_fwhm_ps: self.tof_fwhm,
            radial,
            axial_fwhm: self.axial_fwhm,
            profile,
            step: or(self.step, 2.0),
            cut: Cut { shape, k: or(self.cut_width, 3.0) },
        })
    }
}

/// Sets the response of all views that have no tables of their own, and of lines; copied. A sigma below a voxel is integrated over the voxel. Kernels must fit into the lattice, and no sigma may be
/// below a fiftieth of a voxel, which calls that make kernels look at; lines have none.
///
/// # Safety
/// `response` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_response(pet: *mut isoc_pet, response: *const isoc_pet_response) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        let response = unsafe { read_struct(response)?.to_response() }?;
        pet.set_response(response)
    })
}

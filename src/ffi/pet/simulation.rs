//! Simulated scans.

use super::corrections::expect_map;
use super::events::expect_events;
use super::phantom::{isoc_pet_body, phantom};
use super::plan::{isoc_pet, with_plan};
use super::response::radial;
use super::tensors::{expect_host_histos, expect_host_image};
use crate::ffi::boundary::{Sized32, read_struct, write_struct};
use crate::ffi::tensor::{check_apart, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::Pet;
use isocenter_pet::events::EventArraysMut;
use isocenter_pet::factors::AttenuationMap;
use isocenter_pet::phantom::Phantom;
use isocenter_pet::scatter::EnergyWindow;
use isocenter_pet::simulation::{Background, Resolution, Scan, Scanner, Source, Tally};

/// A scan to simulate: decays in a phantom, measured by a cylinder of detectors about the z axis.
///
/// Lines are isotropic within the plan's largest tilt. Each is moved by the radial and axial blur, lost if it ends beside the
/// detectors or by attenuation along it, and measured with the blur of time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_scan {
    /// sizeof(isoc_pet_scan).
    pub struct_size: u32,
    /// Pairs of radial_table; 0 means that radial_fwhm holds everywhere.
    pub radial_table_count: u32,
    /// Bodies of the phantom.
    pub bodies: *const isoc_pet_body,
    /// How many.
    pub body_count: i64,
    /// Of the detectors, mm; 0 means 930.
    pub diameter: f64,
    /// Of the detectors along z, mm; 0 means 250.
    pub axial_length: f64,
    /// Full widths at half maximum, as in isoc_pet_response: of the time difference, ps; 0 for no blur, here and below.
    pub tof_fwhm: f64,
    /// Across the line in the transverse plane, mm.
    pub radial_fwhm: f64,
    /// Across both, mm.
    pub axial_fwhm: f64,
    /// See isoc_pet_response.
    pub radial_table: *const f64,
    /// The part of all events that are random: ends anywhere on the detectors.
    pub randoms: f64,
    /// Largest time difference of random events, ps; 0 means 3000.
    pub random_window: f64,
    /// The part of all events that are scatter: places of a smooth density, uniform along z and Gaussian across.
    pub scatter: f64,
    /// Standard deviation of that Gaussian, mm; 0 means 120.
    pub scatter_sigma: f64,
    /// Of the random numbers: the same events for the same seed, whatever the threads.
    pub seed: u64,
    /// Of the detectors, as in isoc_pet_scatter_options; with it, one photon of a decay may be scattered once by the bodies' attenuation, and as many events are scatter as there are; `scatter` must then
    /// be 0. 0: no photon is scattered.
    pub energy_resolution: f64,
    /// See energy_resolution, keV; 0 means 435.
    pub energy_lower: f64,
    /// See energy_resolution, keV; 0 means 585.
    pub energy_upper: f64,
    /// What photons meet in place of the bodies' attenuation: real (nz, ny, nx) in host memory, 1/mm, of any size, each voxel the same throughout; NULL: the bodies'.
    pub attenuation: *const isoc_tensor,
    /// Size of its voxels, mm; 0 means as in isoc_pet_geometry.
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

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_pet_scan {
    const NAME: &'static str = "isoc_pet_scan";
    const FIRST_SIZE: usize = std::mem::offset_of!(Self, energy_resolution);
}

/// How many events of each kind a simulated scan measured, and of how many draws: these scale what is expected of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_tally {
    /// sizeof(isoc_pet_tally), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// True events.
    pub trues: u64,
    /// Scatter.
    pub scatter: u64,
    /// Randoms.
    pub randoms: u64,
    /// Decays whose tilt the scanner accepts.
    pub decays: u64,
    /// Draws of scatter; with an energy window, decays in any direction.
    pub scatter_draws: u64,
    /// Draws of randoms.
    pub random_draws: u64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_tally {
    const NAME: &'static str = "isoc_pet_tally";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_pet_scan {
    /// What a scan is but for its source.
    ///
    /// # Safety
    /// The radial table has as many pairs as the struct says.
    pub(super) unsafe fn to_scan<'a>(
        self,
        pet: &Pet,
        source: Source<'a>,
        attenuation: &'a Phantom,
    ) -> Result<Scan<'a>> {
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        let (scanner, background) = (Scanner::default(), Background::default());
        // SAFETY: by this function's contract.
        let radial =
            unsafe { radial(self.radial_table_count, self.radial_fwhm, self.radial_table, "scan.radial_table") }?;
        let window = EnergyWindow::default();
        let compton = EnergyWindow {
            resolution: self.energy_resolution,
            lower: or(self.energy_lower, window.lower),
            upper: or(self.energy_upper, window.upper),
        };
        if self.energy_resolution == 0.0 && (self.energy_lower != 0.0 || self.energy_upper != 0.0) {
            fail!(OutOfRange, "scan.energy_resolution is 0 beside an energy window; it must be above 0");
        }
        Ok(Scan {
            source,
            attenuation,
            map: None,
            scanner: Scanner {
                diameter: or(self.diameter, scanner.diameter),
                axial_length: or(self.axial_length, scanner.axial_length),
                max_tilt: pet.max_tilt()?,
            },
            resolution: Resolution { time: self.tof_fwhm, radial, axial: self.axial_fwhm },
            background: Background {
                randoms: self.randoms,
                window: or(self.random_window, background.window),
                scatter: self.scatter,
                scatter_sigma: or(self.scatter_sigma, background.scatter_sigma),
                compton: (self.energy_resolution != 0.0).then_some(compton),
            },
        })
    }
}

/// The scan that a caller describes, its activity that of the phantom, or an image's.
///
/// # Safety
/// Pointers are NULL or valid.
unsafe fn with_scan<R>(
    pet: &Pet,
    scan: *const isoc_pet_scan,
    activity: *const isoc_tensor,
    run: impl FnOnce(&isoc_pet_scan, &Scan) -> Result<R>,
) -> Result<R> {
    let lattice = *pet.lattice()?;
    // SAFETY: by this function's contract.
    unsafe {
        let given = read_struct(scan)?;
        let phantom = phantom(given.bodies, given.body_count)?;
        let image = if activity.is_null() {
            None
        } else {
            let from = expect_host_image(pet, "activity")?.input(activity)?;
            Some(pet.copy_image(&from, "activity")?)
        };
        let source = match &image {
            Some(values) => Source::Image(values, lattice),
            None => Source::Phantom(&phantom),
        };
        let map = match given.attenuation.is_null() {
            true => {
                let voxel = [given.map_voxel_x, given.map_voxel_y, given.map_voxel_z];
                let centre = [given.map_centre_x, given.map_centre_y, given.map_centre_z];
                if let Some(k) = voxel.iter().chain(&centre).position(|v| *v != 0.0) {
                    let (name, axis) = (["map_voxel", "map_centre"][k / 3], ["x", "y", "z"][k % 3]);
                    fail!(OutOfRange, "scan.{name}_{axis} is set without scan.attenuation; it must be 0");
                }
                None
            }
            false => {
                let from = expect_map(given.attenuation, "attenuation")?.input(given.attenuation)?;
                Some((pet.copy_image(&from, "attenuation")?, from.shape()))
            }
        };
        let map = match &map {
            Some((values, shape)) => {
                let voxel = [given.map_voxel_x, given.map_voxel_y, given.map_voxel_z];
                let centre = [given.map_centre_x, given.map_centre_y, given.map_centre_z];
                Some(AttenuationMap::new((values, *shape), "scan", voxel, centre, lattice.voxel())?)
            }
            None => None,
        };
        run(&given, &Scan { map, ..given.to_scan(pet, source, &phantom)? })
    }
}

/// Simulates as many events as the arrays hold, which are as those of isoc_pet_deposit. `activity`: f32 (nz, ny, nx) in host
/// memory in the place of the bodies' activity, or NULL.
///
/// # Safety
/// Pointers are NULL or valid; `tally` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_simulate(
    pet: *mut isoc_pet,
    scan: *const isoc_pet_scan,
    activity: *const isoc_tensor,
    first_positions: *const isoc_tensor,
    second_positions: *const isoc_tensor,
    time_differences: *const isoc_tensor,
    tally: *mut isoc_pet_tally,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            read_struct(tally)?;
            let ([first, second], times) = expect_events(time_differences, &[])?;
            let time = times.output(time_differences)?;
            let to = EventArraysMut {
                first: first.output(first_positions)?,
                second: second.output(second_positions)?,
                time,
            };
            check_apart((to.first.layout(), "first_positions"), (to.second.layout(), "second_positions"))?;
            check_apart((to.first.layout(), "first_positions"), (to.time.layout(), "time_differences"))?;
            check_apart((to.second.layout(), "second_positions"), (to.time.layout(), "time_differences"))?;
            let found = with_scan(pet, scan, activity, |given, scan| scan.simulate(pet.context(), given.seed, to))?;
            let Tally { trues, scatter, randoms, decays, scatter_draws, random_draws } = found;
            let value = isoc_pet_tally {
                struct_size: 0,
                reserved: 0,
                trues,
                scatter,
                randoms,
                decays,
                scatter_draws,
                random_draws,
            };
            write_struct(tally, &value)
        }
    })
}

/// Writes what is expected of a simulated scan: `factors` and `additive` as isoc_pet_reconstruct takes them, f32
/// (views, nz, ny, nx) in host memory, either NULL to leave it out. With them an image is in the phantom's unit of activity. Of a scan with an energy window,
/// `additive` has randoms alone: isoc_pet_scatter estimates scatter.
///
/// # Safety
/// Pointers are NULL or valid; `tally` is that of isoc_pet_simulate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_expect(
    pet: *mut isoc_pet,
    scan: *const isoc_pet_scan,
    activity: *const isoc_tensor,
    tally: *const isoc_pet_tally,
    factors: *const isoc_tensor,
    additive: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let t = read_struct(tally)?;
            let tally = Tally {
                trues: t.trues,
                scatter: t.scatter,
                randoms: t.randoms,
                decays: t.decays,
                scatter_draws: t.scatter_draws,
                random_draws: t.random_draws,
            };
            let parse = |name, tensor: *const isoc_tensor| {
                if tensor.is_null() {
                    return Ok(None);
                }
                expect_host_histos(pet, name, DType::FLOAT)?.output(tensor).map(Some)
            };
            let (factors, additive) = (parse("factors", factors)?, parse("additive", additive)?);
            if let (Some(a), Some(b)) = (&factors, &additive) {
                check_apart((a.layout(), "factors"), (b.layout(), "additive"))?;
            }
            with_scan(pet, scan, activity, |_, scan| pet.expected_counts(scan, &tally, factors, additive))
        }
    })
}

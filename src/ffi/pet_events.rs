//! `isoc_pet_*`: events, simulated scans, figures of merit.

use super::boundary::{Sized32, array, count, read_struct, set_out, write_struct};
use super::pet::{HISTO, IMAGE, REAL, expect_histos, expect_image, isoc_pet, radial, with_plan};
use super::tensor::{Expected, check_apart, first_size, isoc_tensor};
use crate::array::DType;
use crate::error::{Result, Status, fail};
use crate::pet::Pet;
use crate::pet::deposit::Dropped;
use crate::pet::events::{EventArrays, EventArraysMut};
use crate::pet::phantom::{Object, Phantom, Quantity, Shape};
use crate::pet::simulation::{Background, Resolution, Scan, Scanner, Tally};
use crate::pet::simulation_source::Source;

/// Shape of a body.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_shape {
    /// Along z, circular.
    Cylinder = 0,
    /// A sphere if its axes are equal.
    Ellipsoid = 1,
    /// A box.
    Box = 2,
}

/// A body of a phantom, in mm from the centre of the scanner. Where bodies overlap, values add: one within another holds the
/// differences to its surroundings.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_body {
    /// An isoc_pet_shape.
    pub shape: u32,
    /// Zero.
    pub reserved: u32,
    /// Centre.
    pub x: f64,
    /// Centre.
    pub y: f64,
    /// Centre.
    pub z: f64,
    /// Half its size along x.
    pub half_x: f64,
    /// Along y; 0 means as along x.
    pub half_y: f64,
    /// Along z; 0 means as along x.
    pub half_z: f64,
    /// For a volume, in any unit.
    pub activity: f64,
    /// Linear coefficient, 1/mm: 0.0096 is that of water at 511 keV.
    pub attenuation: f64,
}

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
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_pet_scan {
    const NAME: &'static str = "isoc_pet_scan";
    const FIRST_SIZE: usize = size_of::<Self>();
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
    /// Draws of scatter.
    pub scatter_draws: u64,
    /// Draws of randoms.
    pub random_draws: u64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_tally {
    const NAME: &'static str = "isoc_pet_tally";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Events that are in no histo-image, by the first cause that applies, in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct isoc_pet_dropped {
    /// sizeof(isoc_pet_dropped), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// All of them.
    pub events: u64,
    /// A position or the time difference is NaN or Inf.
    pub not_finite: u64,
    /// Both positions are the same.
    pub equal_positions: u64,
    /// The tilt is beyond isoc_pet_geometry.max_tilt.
    pub outside_tilts: u64,
    /// The place is outside the lattice.
    pub outside_lattice: u64,
    /// The voxel can count no further: 2^32 - 1 in u32, 2^24 in f32.
    pub overflow: u64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_dropped {
    const NAME: &'static str = "isoc_pet_dropped";
    const FIRST_SIZE: usize = size_of::<Self>();
}

const MAX_BODIES: usize = 1 << 20;
const MAX_SPHERES: usize = 1 << 20;

impl isoc_pet_body {
    fn to_object(self, k: usize) -> Result<Object> {
        let or_x = |v: f64| if v == 0.0 { self.half_x } else { v };
        let (centre, semi) = ([self.x, self.y, self.z], [self.half_x, or_x(self.half_y), or_x(self.half_z)]);
        let shape = match self.shape {
            0 if semi[1] != semi[0] => {
                fail!(OutOfRange, "bodies[{k}].half_y is {}; a cylinder's must be half_x or 0", self.half_y)
            }
            0 => Shape::Cylinder { centre, radius: semi[0], length: 2.0 * semi[2] },
            1 => Shape::Ellipsoid { centre, semi },
            2 => Shape::Box { centre, size: semi.map(|s| 2.0 * s) },
            v => fail!(UnknownValue, "bodies[{k}].shape is {v}; it must be 0 to 2 (isoc_pet_shape)"),
        };
        Ok(Object { shape, activity: self.activity, attenuation: self.attenuation })
    }
}

/// # Safety
/// `bodies` is NULL or holds `number`.
unsafe fn phantom(bodies: *const isoc_pet_body, number: i64) -> Result<Phantom> {
    let number = count(number, "body_count", 1, MAX_BODIES)?;
    // SAFETY: by this function's contract.
    let bodies = unsafe { array(bodies, number, "bodies") }?;
    Phantom::new(bodies.iter().enumerate().map(|(k, b)| b.to_object(k)).collect::<Result<_>>()?)
}

impl isoc_pet_scan {
    /// What a scan is but for its source.
    ///
    /// # Safety
    /// The radial table has as many pairs as the struct says.
    unsafe fn to_scan<'a>(self, pet: &Pet, source: Source<'a>, attenuation: &'a Phantom) -> Result<Scan<'a>> {
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        let (scanner, background) = (Scanner::default(), Background::default());
        // SAFETY: by this function's contract.
        let radial =
            unsafe { radial(self.radial_table_count, self.radial_fwhm, self.radial_table, "scan.radial_table") }?;
        Ok(Scan {
            source,
            attenuation,
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
        run(&given, &given.to_scan(pet, source, &phantom)?)
    }
}

fn expect_host_image<'p>(pet: &'p Pet, name: &'static str) -> Result<Expected<'p, 3>> {
    Ok(Expected { gpus: &[], ..expect_image(pet, name)? })
}

fn expect_host_histos<'p>(pet: &'p Pet, name: &'static str, dtypes: &'static [DType]) -> Result<Expected<'p, 4>> {
    Ok(Expected { gpus: &[], ..expect_histos(pet, name, pet.views()?.len(), dtypes)? })
}

/// As many events as the array of times has.
///
/// # Safety
/// The tensor is NULL or valid.
unsafe fn event_count(time: *const isoc_tensor, least: usize) -> Result<usize> {
    if time.is_null() {
        fail!(NullPointer, "time_differences is NULL");
    }
    // SAFETY: by this function's contract.
    let number = unsafe { first_size(time, "time_differences", &["events"]) }?;
    count(number, "time_differences.shape[0]", least, MAX_EVENTS)
}

/// An error unless an array of positions is NULL or has none.
///
/// # Safety
/// The tensor is NULL or valid.
unsafe fn no_events(name: &str, positions: *const isoc_tensor) -> Result<()> {
    if positions.is_null() {
        return Ok(());
    }
    // SAFETY: by this function's contract.
    let number = unsafe { first_size(positions, name, &["events", "axes"]) }?;
    if number != 0 {
        fail!(TensorShape, "{name}.shape[0] is {number}; it must be 0, as that of time_differences");
    }
    Ok(())
}

/// What is expected of a list's arrays: both positions, and times.
///
/// # Safety
/// `time` is NULL or valid.
unsafe fn expect_events(time: *const isoc_tensor) -> Result<([Expected<'static, 2>; 2], Expected<'static, 1>)> {
    // SAFETY: by this function's contract.
    let number = unsafe { event_count(time, 1) }?;
    let positions =
        |name| Expected { name, shape: [number, 3], dims: ["events", "axes"], optional: &[], dtypes: REAL, gpus: &[] };
    let times = Expected {
        name: "time_differences",
        shape: [number],
        dims: ["events"],
        optional: &[],
        dtypes: REAL,
        gpus: &[],
    };
    Ok(([positions("first_positions"), positions("second_positions")], times))
}

/// More events than any list has: a larger number is a mistake.
const MAX_EVENTS: usize = 1 << 40;

/// Adds list-mode events to histo-images, u32 or f32 (views, nz, ny, nx) in host memory, which the caller has set to zeros before
/// the first of several lists. An event is counted in the view of its direction, in the voxel about
/// `(p1 + p2) / 2 + (c / 2)(t2 - t1)(p1 - p2) / |p1 - p2|`.
///
/// `first_positions` and `second_positions`: real (events, 3) of x, y, z in mm; `time_differences`: real (events) of t2 - t1 in ps,
/// positive where the event is nearer to p1. f32 or f64, of any strides, in host memory; a list may be empty. `dropped` may be NULL.
/// After an error (cancel, memory) part of the events may have been added.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_deposit(
    pet: *mut isoc_pet,
    first_positions: *const isoc_tensor,
    second_positions: *const isoc_tensor,
    time_differences: *const isoc_tensor,
    histo_images: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let to = expect_host_histos(pet, "histo_images", HISTO)?.output(histo_images)?;
            if event_count(time_differences, 0)? == 0 {
                for (name, positions) in [("first_positions", first_positions), ("second_positions", second_positions)]
                {
                    no_events(name, positions)?;
                }
                // Nothing may be at NULL.
                return if dropped.is_null() { Ok(()) } else { write_struct(dropped, &isoc_pet_dropped::default()) };
            }
            let ([first, second], times) = expect_events(time_differences)?;
            let time = times.input(time_differences)?;
            let events =
                EventArrays { first: first.input(first_positions)?, second: second.input(second_positions)?, time };
            check_apart((events.first.layout(), "first_positions"), (to.layout(), "histo_images"))?;
            check_apart((events.second.layout(), "second_positions"), (to.layout(), "histo_images"))?;
            check_apart((events.time.layout(), "time_differences"), (to.layout(), "histo_images"))?;
            if !dropped.is_null() {
                read_struct(dropped)?;
            }
            let found = pet.deposit(&events, to)?;
            if dropped.is_null() {
                return Ok(());
            }
            let Dropped { not_finite, equal_positions, outside_tilts, outside_lattice, overflow } = found;
            let value = isoc_pet_dropped {
                struct_size: 0,
                reserved: 0,
                events: found.total(),
                not_finite,
                equal_positions,
                outside_tilts,
                outside_lattice,
                overflow,
            };
            write_struct(dropped, &value)
        }
    })
}

/// Which quantity of a phantom.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_quantity {
    /// Activity.
    Activity = 0,
    /// Attenuation.
    Attenuation = 1,
}

/// Writes the voxel means of a phantom: f32 (nz, ny, nx) in host memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_phantom_image(
    pet: *mut isoc_pet,
    bodies: *const isoc_pet_body,
    body_count: i64,
    quantity: u32,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        let quantity = match quantity {
            0 => Quantity::Activity,
            1 => Quantity::Attenuation,
            v => fail!(UnknownValue, "quantity is {v}; it must be 0 or 1 (isoc_pet_quantity)"),
        };
        // SAFETY: by this function's contract.
        unsafe {
            let to = expect_host_image(pet, "image")?.output(image)?;
            pet.phantom_image(&phantom(bodies, body_count)?, quantity, to)
        }
    })
}

/// Simulates as many events as the arrays hold, which are as those of isoc_pet_deposit. `activity`: f32 (nz, ny, nx) in host
/// memory in the place of the bodies' activity, or NULL; photons meet the bodies' attenuation either way.
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
            let ([first, second], times) = expect_events(time_differences)?;
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
/// (views, nz, ny, nx) in host memory, either NULL to leave it out. With them an image is in the phantom's unit of activity.
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
                expect_host_histos(pet, name, IMAGE)?.output(tensor).map(Some)
            };
            let (factors, additive) = (parse("factors", factors)?, parse("additive", additive)?);
            if let (Some(a), Some(b)) = (&factors, &additive) {
                check_apart((a.layout(), "factors"), (b.layout(), "additive"))?;
            }
            with_scan(pet, scan, activity, |_, scan| pet.expected_counts(scan, &tally, factors, additive))
        }
    })
}

/// Mean over spheres of 10 mm of `((s - b) / b) / (ratio - 1)`: s the mean of a disc of 10 mm about a sphere's centre, b that of the
/// ring about it of 24 to 40 mm, both in the nearest slice; 1 is the true contrast. `centres`: (centre_count, 3) of x, y, z in mm;
/// `ratio`: the spheres' activity over the background's. Image f32 in host memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_contrast_recovery(
    pet: *mut isoc_pet,
    image: *const isoc_tensor,
    centres: *const f64,
    centre_count: i64,
    ratio: f64,
    recovery: *mut f64,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract; three coordinates have the alignment of one.
        unsafe {
            let from = expect_host_image(pet, "image")?.input(image)?;
            let number = count(centre_count, "centre_count", 1, MAX_SPHERES)?;
            let centres = array(centres.cast::<[f64; 3]>(), number, "centres")?;
            if let Some((k, c)) = centres.iter().enumerate().find(|(_, c)| !c.iter().all(|v| v.is_finite())) {
                fail!(NotFiniteParameter, "centres[{k}] is {c:?}");
            }
            set_out(recovery, pet.contrast_recovery(&from, centres, ratio)?, "recovery")
        }
    })
}

/// Standard deviation of voxels over their mean in the central disc of 50 mm. Image f32 in host memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_noise(pet: *mut isoc_pet, image: *const isoc_tensor, noise: *mut f64) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let from = expect_host_image(pet, "image")?.input(image)?;
            set_out(noise, pet.noise(&from)?, "noise")
        }
    })
}

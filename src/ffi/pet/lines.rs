//! Lists of events as lines.

use super::background::accidentals;
use super::corrections::{Corrections, factor_options, isoc_pet_factor_options};
use super::events::{MAX_EVENTS, isoc_pet_dropped};
use super::plan::{isoc_pet, with_plan};
use super::tensors::{expect_histos, expect_image, of_crystals};
use crate::ffi::boundary::{Sized32, count, read_struct, write_struct};
use crate::ffi::tensor::{Expected, check_apart, first_size, isoc_tensor};
use isocenter_base::array::{Array, DType, Layout};
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::dropped::Dropped;
use isocenter_pet::events::EventArrays;
use isocenter_pet::lines::{Ends, LinesOf, ListArrays, no_times};
use isocenter_pet::scanner::CrystalArrays;

/// A list of events for projections along lines, all of whose arrays are in host memory: either `crystals`, or `first_positions` and `second_positions`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_list {
    /// sizeof(isoc_pet_list).
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Number of the list's first event in the scan, by which events of crystals have their places on these: see isoc_pet_deposit_crystals.
    pub first_event: u64,
    /// u8, u16 or u32 (events, 2): the first and the second photon's crystal, counted from 0 (isoc_pet_set_scanner).
    pub crystals: *const isoc_tensor,
    /// Real (events, 3): x, y, z of the first photon's detection, mm from the centre of the lattice.
    pub first_positions: *const isoc_tensor,
    /// Of the second.
    pub second_positions: *const isoc_tensor,
    /// Real (events): t2 - t1 in ps, positive where the event is nearer to the first; or of crystals u8, u16 or u32, time bins of the scanner. NULL: there is no time of flight.
    pub times: *const isoc_tensor,
    /// Real (events): full width at half maximum of each event's time difference, ps, as of pairs of modules that differ; NULL: isoc_pet_response.tof_fwhm.
    pub tof_fwhm: *const isoc_tensor,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_pet_list {
    const NAME: &'static str = "isoc_pet_list";
    const FIRST_SIZE: usize = size_of::<Self>();
}

fn per_event(name: &'static str, events: usize, dtypes: &'static [DType]) -> Expected<'static, 1> {
    Expected { name, shape: [events], dims: ["events"], optional: &[], dtypes, gpus: &[] }
}

fn of_two(
    name: &'static str,
    shape: [usize; 2],
    second: &'static str,
    dtypes: &'static [DType],
) -> Expected<'static, 2> {
    Expected { name, shape, dims: ["events", second], optional: &[], dtypes, gpus: &[] }
}

/// A caller's list.
///
/// # Safety
/// Pointers are NULL or valid.
unsafe fn read_list<'a>(list: *const isoc_pet_list) -> Result<ListArrays<'a>> {
    // SAFETY: by this function's contract.
    let given = unsafe { read_struct(list) }?;
    if given.reserved != 0 {
        fail!(OutOfRange, "list.reserved is {}; it must be 0", given.reserved);
    }
    let timed = !given.times.is_null();
    let positions = [given.first_positions, given.second_positions];
    // SAFETY: by this function's contract.
    unsafe {
        if given.crystals.is_null() {
            if positions.iter().any(|p| p.is_null()) {
                fail!(NullPointer, "list.crystals is NULL, and so is list.first_positions or list.second_positions");
            }
            let events = first_size(given.first_positions, "list.first_positions", &["events", "axes"])?;
            let events = count(events, "list.first_positions.shape[0]", 1, MAX_EVENTS)?;
            let of = |name| of_two(name, [events, 3], "axes", DType::REAL);
            let time = match timed {
                true => per_event("list.times", events, DType::REAL).input(given.times)?,
                false => no_times(events),
            };
            let ends = Ends::Positions(EventArrays {
                first: of("list.first_positions").input(given.first_positions)?,
                second: of("list.second_positions").input(given.second_positions)?,
                time,
            });
            return Ok(ListArrays { ends, timed, tof_fwhm: widths(given.tof_fwhm, events)? });
        }
        if positions.iter().any(|p| !p.is_null()) {
            fail!(OutOfRange, "list has crystals and positions; it must have one of them");
        }
        let events = first_size(given.crystals, "list.crystals", &["events", "crystals"])?;
        let events = count(events, "list.crystals.shape[0]", 1, MAX_EVENTS)?;
        let ends = Ends::Crystals(CrystalArrays {
            crystals: of_two("list.crystals", [events, 2], "crystals", DType::COUNTS).input(given.crystals)?,
            times: match timed {
                true => per_event("list.times", events, DType::TIMES).input(given.times)?,
                false => no_times(events),
            },
            labels: None,
            first: given.first_event,
        });
        Ok(ListArrays { ends, timed, tof_fwhm: widths(given.tof_fwhm, events)? })
    }
}

/// # Safety
/// The tensor is NULL or valid.
unsafe fn widths<'a>(tensor: *const isoc_tensor, events: usize) -> Result<Option<Array<'a, 1>>> {
    match tensor.is_null() {
        true => Ok(None),
        // SAFETY: by this function's contract.
        false => unsafe { per_event("list.tof_fwhm", events, DType::REAL).input(tensor) }.map(Some),
    }
}

/// The list's arrays must not share memory with an output.
fn check_list_apart<const N: usize>(list: &ListArrays, to: (&Layout<N>, &str)) -> Result<()> {
    match &list.ends {
        Ends::Positions(events) => {
            check_apart((events.first.layout(), "list.first_positions"), to)?;
            check_apart((events.second.layout(), "list.second_positions"), to)?;
            check_apart((events.time.layout(), "list.times"), to)?;
        }
        Ends::Crystals(events) => {
            check_apart((events.crystals.layout(), "list.crystals"), to)?;
            check_apart((events.times.layout(), "list.times"), to)?;
        }
    }
    match &list.tof_fwhm {
        Some(widths) => check_apart((widths.layout(), "list.tof_fwhm"), to),
        None => Ok(()),
    }
}

fn events_of(list: &ListArrays) -> usize {
    match &list.ends {
        Ends::Positions(events) => events.time.shape()[0],
        Ends::Crystals(events) => events.times.shape()[0],
    }
}

/// # Safety
/// The struct is NULL or valid, its struct_size set.
unsafe fn tell(dropped: *mut isoc_pet_dropped, call: impl FnOnce() -> Result<Dropped>) -> Result<()> {
    // SAFETY: by this function's contract.
    unsafe {
        if !dropped.is_null() {
            read_struct(dropped)?;
        }
        let found = call()?;
        if dropped.is_null() { Ok(()) } else { write_struct(dropped, &isoc_pet_dropped::of(found)) }
    }
}

/// Values = `J G image`, f32 (events) in host memory: sums along the lines of a list of an image f32 (nz, ny, nx), in host memory or on the plan's GPU, which computes them if there is one.
///
/// J is Joseph's projector: a line is followed from plane to plane of voxels along the axis that it crosses most of, and interpolated linearly between the four voxels about it; it ends at both detectors.
/// Without times a plane counts with the mm from one to the next. With times it counts with the part that is nearer to it than to the next plane of the Gaussian about the event's
/// place, cut at isoc_pet_response.cut_width sigmas: so values are means over lines, not integrals. (P. M. Joseph, IEEE Trans. Med. Imag. 1(3), 1982; G. Schramm, K. Thielemans, Front. Nucl. Med. 3, 2024.)
/// G blurs the image by the response, if one is set: Gaussians of radial_fwhm along x and y and axial_fwhm along z. A response with a radial_table or an asymmetric profile is an error.
///
/// Events of crystals are anywhere on these, by their numbers. Lines that miss the lattice have 0, are told by `dropped`, which may be NULL, as `outside_lattice`, and those that are no lines as in
/// isoc_pet_deposit_crystals. No limit of tilts applies.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_forward_lines(
    pet: *mut isoc_pet,
    list: *const isoc_pet_list,
    image: *const isoc_tensor,
    values: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let list = read_list(list)?;
            let from = expect_image(pet, "image")?.input(image)?;
            let to = per_event("values", events_of(&list), DType::FLOAT).output(values)?;
            check_apart((from.layout(), "image"), (to.layout(), "values"))?;
            check_list_apart(&list, (to.layout(), "values"))?;
            tell(dropped, || pet.forward_lines(&list, from, to))
        }
    })
}

/// Image = `G J' values`: the transpose of isoc_pet_forward_lines.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_adjoint_lines(
    pet: *mut isoc_pet,
    list: *const isoc_pet_list,
    values: *const isoc_tensor,
    image: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let list = read_list(list)?;
            let from = per_event("values", events_of(&list), DType::FLOAT).input(values)?;
            let to = expect_image(pet, "image")?.output(image)?;
            check_apart((from.layout(), "values"), (to.layout(), "image"))?;
            check_list_apart(&list, (to.layout(), "image"))?;
            tell(dropped, || pet.adjoint_lines(&list, from, to))
        }
    })
}

/// Writes what is measured of each event's line, f32 (events) in host memory, which isoc_pet_reconstruct_lines takes as `factors`: `m = c e_a e_b exp(-P) / (2 pi)`, c the decays of a mm^3 of an image's unit
/// (as in isoc_pet_factors), e the efficiencies of both crystals, times that of their pair, P the integral of the attenuation along the line. So counts are densities of a steradian, a mm^2 across the line and with
/// times a mm along it.
///
/// `options`, `efficiencies` and `attenuation` as in isoc_pet_factors; efficiencies must be NULL for a list of positions. 0 for events that are told by `dropped`, which may be NULL.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_line_factors(
    pet: *mut isoc_pet,
    list: *const isoc_pet_list,
    options: *const isoc_pet_factor_options,
    efficiencies: *const isoc_tensor,
    attenuation: *const isoc_tensor,
    factors: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let list = read_list(list)?;
            let options = factor_options(options)?;
            let given = Corrections::read(pet, efficiencies, attenuation)?;
            let to = per_event("factors", events_of(&list), DType::FLOAT).output(factors)?;
            given.check_apart((to.layout(), "factors"))?;
            check_list_apart(&list, (to.layout(), "factors"))?;
            tell(dropped, || {
                pet.line_factors(&list, &options, given.efficiencies.as_ref(), given.attenuation.as_ref(), to)
            })
        }
    })
}

/// Directions of each view where the caller leaves them open: the noise is that of all views' together.
const SUM_DIRECTIONS: usize = 8;

/// Writes what is measured of each voxel by all lines within isoc_pet_geometry.max_tilt, f32 (nz, ny, nx), in host memory or on the plan's GPU, which isoc_pet_reconstruct_lines takes: the sum over views of
/// isoc_pet_factors, whose arguments and memory it has, and one volume more, with a 24th of both neighbours along z in the place of a 12th of each voxel, as J' has it, which is interpolated; `options.directions` of 0 means 8 here, since the sum has the noise of all views' together.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_line_sensitivity(
    pet: *mut isoc_pet,
    options: *const isoc_pet_factor_options,
    efficiencies: *const isoc_tensor,
    attenuation: *const isoc_tensor,
    sensitivity: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let mut chosen = factor_options(options)?;
            if options.is_null() || read_struct(options)?.directions == 0 {
                chosen.directions = SUM_DIRECTIONS;
            }
            let options = chosen;
            let given = Corrections::read(pet, efficiencies, attenuation)?;
            let to = expect_image(pet, "sensitivity")?.output(sensitivity)?;
            given.check_apart((to.layout(), "sensitivity"))?;
            pet.line_sensitivity(&options, given.efficiencies.as_ref(), given.attenuation.as_ref(), to)
        }
    })
}

/// Writes the density of random coincidences about each event of a list of crystals, f32 (events) in host memory: `2 window duration s_a s_b` of two crystals, times the pair's efficiency, over the lines that they measure,
/// and with times over the mm that the window reaches. `duration`, `window` and `singles` as in isoc_pet_randoms; the window has to be finite.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_line_randoms(
    pet: *mut isoc_pet,
    list: *const isoc_pet_list,
    duration: f64,
    window: f64,
    singles: *const isoc_tensor,
    randoms: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let list = read_list(list)?;
            let from = of_crystals(pet, "singles", DType::REAL)?.input(singles)?;
            let to = per_event("randoms", events_of(&list), DType::FLOAT).output(randoms)?;
            check_apart((from.layout(), "singles"), (to.layout(), "randoms"))?;
            check_list_apart(&list, (to.layout(), "randoms"))?;
            pet.line_randoms(&list, &accidentals(pet, duration, window)?, &from, to)
        }
    })
}

/// Writes the sum along each event's line, f32 (events) in host memory, of the histo-image of its view: `histo_images`, f32 (views, nz, ny, nx) in host memory, and sums as in isoc_pet_forward_lines without blur.
///
/// So the scatter of isoc_pet_scatter comes to lines, over isoc_pet_factors without attenuation: what it is of what the crystals of each direction measure changes little from line to line, and isoc_pet_line_factors
/// without attenuation times its sum is the density about each event. A lattice that reaches to the crystals has all of it, in voxels as large as a twentieth of the scanner.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_sample_lines(
    pet: *mut isoc_pet,
    list: *const isoc_pet_list,
    histo_images: *const isoc_tensor,
    values: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let list = read_list(list)?;
            let of_views = expect_histos(pet, "histo_images", pet.views()?.len(), DType::FLOAT)?;
            let from = Expected { gpus: &[], ..of_views }.input(histo_images)?;
            let to = per_event("values", events_of(&list), DType::FLOAT).output(values)?;
            check_apart((from.layout(), "histo_images"), (to.layout(), "values"))?;
            check_list_apart(&list, (to.layout(), "values"))?;
            tell(dropped, || pet.sample_lines(&list, &from, to))
        }
    })
}

/// Reconstructs the image of a list of events along their lines, `factors (J G f + additive / factors)` expected of each: for scanners without time of flight, with so little that it is as long as the object, or with
/// modules of several time resolutions. Others are faster by isoc_pet_deposit_crystals and isoc_pet_reconstruct.
///
/// `factors` and `additive`: f32 (events) in host memory, not negative, as isoc_pet_line_factors, and isoc_pet_line_randoms and isoc_pet_sample_lines make them, or NULL for 1 and 0. `sensitivity`: f32 (nz, ny, nx), as isoc_pet_line_sensitivity
/// writes it, not blurred. `image`: as in isoc_pet_reconstruct. Both in host memory or on the plan's GPU, the first of the context's, which computes alone.
///
/// The options are isoc_pet_reconstruct's, with subsets of events in the place of those of views: runs of 256 or fewer, spread over the list. RAMLA has none of these, and is an error. isoc_pet_history tells of passes: the log-likelihood
/// but for what does not depend on the image, and events of which nothing was expected as `skipped_voxels`.
/// Lines beyond isoc_pet_geometry.max_tilt do not count, nor do events with a factor of 0.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_reconstruct_lines(
    pet: *mut isoc_pet,
    list: *const isoc_pet_list,
    factors: *const isoc_tensor,
    additive: *const isoc_tensor,
    sensitivity: *const isoc_tensor,
    image: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let list = read_list(list)?;
            let given = |name, tensor: *const isoc_tensor| match tensor.is_null() {
                true => Ok(None),
                false => per_event(name, events_of(&list), DType::FLOAT).input(tensor).map(Some),
            };
            let of = LinesOf {
                factors: given("factors", factors)?,
                additive: given("additive", additive)?,
                sensitivity: expect_image(pet, "sensitivity")?.input(sensitivity)?,
            };
            let to = expect_image(pet, "image")?.output(image)?;
            for (array, name) in [(&of.factors, "factors"), (&of.additive, "additive")] {
                if let Some(array) = array {
                    check_apart((array.layout(), name), (to.layout(), "image"))?;
                }
            }
            check_apart((of.sensitivity.layout(), "sensitivity"), (to.layout(), "image"))?;
            check_list_apart(&list, (to.layout(), "image"))?;
            tell(dropped, || pet.reconstruct_lines(&list, &of, to))
        }
    })
}

/// Number of bytes of working memory that isoc_pet_reconstruct_lines needs of so many events under the present geometry, response and options: of the host, or of the GPU that it computes on, where lines are kept if the
/// context's cap has room for them.
///
/// # Safety
/// `bytes` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_lines_memory(pet: *mut isoc_pet, events: u64, bytes: *mut u64) -> Status {
    with_plan(pet, |pet| {
        if bytes.is_null() {
            fail!(NullPointer, "bytes is NULL");
        }
        let events = count(events.try_into().unwrap_or(i64::MAX), "events", 1, MAX_EVENTS)?;
        let found = pet.lines_memory(events)?;
        // SAFETY: by this function's contract.
        unsafe { bytes.write_unaligned(found) };
        Ok(())
    })
}

//! Randoms and scatter.

use super::corrections::{expect_map, factor_options, isoc_pet_factor_options};
use super::events::{MAX_EVENTS, isoc_pet_dropped};
use super::plan::{isoc_pet, with_plan};
use super::scanner::MAX_LABELS;
use super::tensors::{expect_histos, expect_host_image, of_crystals};
use crate::ffi::boundary::{Sized32, count, read_struct, write_struct};
use crate::ffi::tensor::{Expected, check_apart, first_size, isoc_tensor, sizes};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::Pet;
use isocenter_pet::background::{ScatterArrays, ScatterOptions};
use isocenter_pet::factors::{Accidentals, DIRECTIONS, MAX_DIRECTIONS};
use isocenter_pet::normalisation::KnownSource;
use isocenter_pet::scanner::DelayArrays;
use isocenter_pet::scatter::{EnergyWindow, Found, Model};

pub(super) fn accidentals(pet: &Pet, duration: f64, window: f64) -> Result<Accidentals> {
    if !window.is_finite() {
        fail!(NotFiniteParameter, "window is {window}; it must be finite, in ps");
    }
    Ok(Accidentals { duration, window: if window == 0.0 { pet.random_window()? } else { window } })
}

/// Adds delayed coincidences to sums over crystals' fans: 1 to that of either crystal, of each coincidence whose line is near the axis and within the plan's tilts.
/// isoc_pet_singles makes rates of them, and isoc_pet_efficiencies efficiencies of those of prompts of a known source, which are counted as they.
///
/// `field_of_view`: diameter about the axis, mm, that the lines of all pairs within have to be measured by the scanner; 0 means that of the circle in the lattice.
/// `crystals`: u8, u16 or u32 (events, 2); `labels`: u8, u16 or u32 (events), which of several sums a coincidence belongs to, NULL for 0 everywhere: so that prompts,
/// labelled beyond them, are left out, and frames are told apart. `sums`: u32 (labels, crystals), which the caller has set to zeros before the first of several lists; without
/// the first dimension where it is 1. All in host memory; a list may be empty. `dropped` may be NULL: there are crystals and labels that are `unknown`, pairs of one crystal
/// (`equal_positions`), pairs that are `not_measured`, and pairs `outside_tilts` and, beyond the field of view, `outside_lattice`.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_fan_sums(
    pet: *mut isoc_pet,
    field_of_view: f64,
    crystals: *const isoc_tensor,
    labels: *const isoc_tensor,
    sums: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        let of = pet.scanner()?.crystals.count();
        // SAFETY: by this function's contract.
        unsafe {
            let to = Expected {
                name: "sums",
                shape: [sets(sums)?, of],
                dims: ["labels", "crystals"],
                optional: &[0],
                dtypes: &[DType::U32],
                gpus: &[],
            };
            let mut to = to.output(sums)?;
            if crystals.is_null() {
                fail!(NullPointer, "crystals is NULL");
            }
            let number = first_size(crystals, "crystals", &["events", "crystals"])?;
            let number = count(number, "crystals.shape[0]", 0, MAX_EVENTS)?;
            if !dropped.is_null() {
                read_struct(dropped)?;
            }
            let mut found = Default::default();
            // Nothing of a list without events may be at NULL.
            if number > 0 {
                let pairs = Expected {
                    name: "crystals",
                    shape: [number, 2],
                    dims: ["events", "crystals"],
                    optional: &[],
                    dtypes: DType::COUNTS,
                    gpus: &[],
                };
                let per_event = Expected {
                    name: "labels",
                    shape: [number],
                    dims: ["events"],
                    optional: &[],
                    dtypes: DType::COUNTS,
                    gpus: &[],
                };
                let events = DelayArrays {
                    crystals: pairs.input(crystals)?,
                    labels: if labels.is_null() { None } else { Some(per_event.input(labels)?) },
                };
                check_apart((events.crystals.layout(), "crystals"), (to.layout(), "sums"))?;
                if let Some(labels) = &events.labels {
                    check_apart((labels.layout(), "labels"), (to.layout(), "sums"))?;
                }
                found = pet.fan_sums(field_of_view, &events, &mut to)?;
            } else {
                pet.check_field_of_view(field_of_view)?;
            }
            if number == 0 && !labels.is_null() && first_size(labels, "labels", &["events"])? != 0 {
                fail!(TensorShape, "labels.shape[0] is not 0, as that of crystals is");
            }
            if dropped.is_null() { Ok(()) } else { write_struct(dropped, &isoc_pet_dropped::of(found)) }
        }
    })
}

/// The first of two sizes of sums, which the caller chooses; 1 where there is one.
///
/// # Safety
/// `sums` is NULL or valid.
unsafe fn sets(sums: *const isoc_tensor) -> Result<usize> {
    if sums.is_null() {
        fail!(NullPointer, "sums is NULL");
    }
    // SAFETY: by this function's contract.
    let shape = unsafe { sizes(&sums.read_unaligned(), 2) };
    match shape[..] {
        [labels, _] => count(labels, "sums.shape[0]", 1, MAX_LABELS),
        _ => Ok(1),
    }
}

/// Writes the rates of single photons, 1/s, with which two crystals have 2 window duration s_i s_j delayed coincidences: those of the largest likelihood, of sums over fans
/// by isoc_pet_fan_sums with the same `field_of_view` (M. E. Casey, E. J. Hoffman, J. Comput. Assist. Tomogr. 10(5), 1986); of pairs by isoc_pet_set_pairs times their efficiency.
///
/// `duration`: of the measurement, s. `window`: largest time difference of a delayed coincidence, ps; 0 means that of the scanner's time bins.
/// `sums`: real or u32 (crystals); `singles`: f32 (crystals); in host memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_singles(
    pet: *mut isoc_pet,
    field_of_view: f64,
    duration: f64,
    window: f64,
    sums: *const isoc_tensor,
    singles: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let from = of_crystals(pet, "sums", DType::SUMS)?.input(sums)?;
            let mut to = of_crystals(pet, "singles", DType::FLOAT)?.output(singles)?;
            check_apart((from.layout(), "sums"), (to.layout(), "singles"))?;
            pet.singles(field_of_view, &accidentals(pet, duration, window)?, &from, &mut to)
        }
    })
}

/// Writes which part of the photons along a line across it each crystal detects, as isoc_pet_factors takes it, from a scan of a known source: a cylinder, a rod, or any other image.
///
/// Two crystals a and b have the mean count `e_a e_b p g + r`: p the pair's own efficiency (isoc_pet_set_pairs), r randoms, and `g = c / (2 pi) (integral of the image along the line between their middles)
/// exp(-integral of the attenuation) A_a A_b cos_a cos_b / r^2`, c decays of a mm^3 of the image's unit (isoc_pet_factors), A areas, r the distance. The efficiencies e are those of the largest likelihood of
/// the sums less randoms: where these are the expected ones (D. Hogg, K. Thielemans, T. Spinks, N. Spyrou, IEEE NSS-MIC 2001; R. D. Badawi, M. A. Lodge, P. K. Marsden, Phys. Med. Biol. 43(1), 1998; M. Defrise et al.,
/// Phys. Med. Biol. 36(7), 1991), to 1e-4 of each.
///
/// `sums`: real or u32 (crystals), at least 0, of isoc_pet_fan_sums of all prompts, with the same `field_of_view`, pairs and tilts. `image`: f32 or f64 (nz, ny, nx), the source's activity, at least 0; its unit and `options.duration`
/// set the scale: Bq/ml with a duration, or decays that send pairs of photons without; of an image of another scale efficiencies are relative ones, and right but for a common factor. `attenuation`: as in isoc_pet_factors, NULL
/// for none; `options` as there, may be NULL, `directions` has no part in it. `singles`: real (crystals), 1/s, of isoc_pet_singles or the scanner, whose randoms, 2 window duration s_a s_b p, are taken away; it needs
/// a duration; NULL: there are none. `window`: largest time difference of an event, ps; 0 means that of the scanner's time bins; must be 0 without singles. `efficiencies`: f32 (crystals). All in host memory, and on contexts of GPUs,
/// too, it is the processor that computes. Crystals need a width and a height.
///
/// Crystals without counts have 0; those that see less than a hundredth of what half of the crystals see of the source have the mean of the others, since nothing is known of them. The log warns of either, and of efficiencies of
/// which half are above 1. Scatter in the sums counts as trues: take a source in which there is little, or sums less scatter. A source that is thinner than a crystal or a voxel is one of the lines between crystals' middles that meet it.
/// Of two panels, which face each other alone, products of efficiencies are known, not how they are shared: both are taken to detect alike.
///
/// It keeps 4 bytes for each pair of the field of view whose line crosses the source, beside 1 kB for each crystal and the images twice; pairs for which memory_cap has no room are computed again in each of some 20 to 500 sums over them,
/// and the result is the same to the bit.
///
/// ISOC_STATUS_OUT_OF_RANGE: the image is 0, or no line between crystals crosses it; sums are 0, or randoms as many; no efficiencies can have such sums, such as those of a crystal that has more than all others together.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_efficiencies(
    pet: *mut isoc_pet,
    field_of_view: f64,
    window: f64,
    options: *const isoc_pet_factor_options,
    sums: *const isoc_tensor,
    image: *const isoc_tensor,
    attenuation: *const isoc_tensor,
    singles: *const isoc_tensor,
    efficiencies: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let options = factor_options(options)?;
            let of = KnownSource {
                sums: of_crystals(pet, "sums", DType::SUMS)?.input(sums)?,
                image: Expected { dtypes: DType::REAL, ..expect_host_image(pet, "image")? }.input(image)?,
                attenuation: match attenuation.is_null() {
                    true => None,
                    false => Some(expect_map(attenuation, "attenuation")?.input(attenuation)?),
                },
                singles: match singles.is_null() {
                    true if window != 0.0 => {
                        fail!(OutOfRange, "window is {window} ps, of randoms, and there are no singles; it must be 0")
                    }
                    true => None,
                    false => {
                        let singles = of_crystals(pet, "singles", DType::REAL)?.input(singles)?;
                        let duration = options.acquisition.duration;
                        Some((singles, accidentals(pet, duration, window)?.window))
                    }
                },
            };
            let mut to = of_crystals(pet, "efficiencies", DType::FLOAT)?.output(efficiencies)?;
            let written = (to.layout(), "efficiencies");
            check_apart((of.sums.layout(), "sums"), written)?;
            check_apart((of.image.layout(), "image"), written)?;
            if let Some(map) = &of.attenuation {
                check_apart((map.layout(), "attenuation"), written)?;
            }
            if let Some((singles, _)) = &of.singles {
                check_apart((singles.layout(), "singles"), written)?;
            }
            pet.efficiencies(field_of_view, &options, &of, &mut to)
        }
    })
}

/// Writes the histo-images of random coincidences that are expected of crystals with these rates of single photons: 2 window duration s_i s_j of two crystals, times the pair's efficiency
/// of isoc_pet_set_pairs, anywhere on their faces, evenly in time. Crystals need a width and a height.
///
/// `duration`: of the measurement, s. `window`: largest time difference of an event, ps, beyond which there are none; 0 means that of the scanner's time bins, and any without bins. `directions`: of each view, as in
/// isoc_pet_factor_options. `singles`: real (crystals) in host memory, 1/s, as the scanner or isoc_pet_singles tells them. `histo_images`: f32 (views, nz, ny, nx), in host memory or on
/// the plan's GPU, which computes them if there is one.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_randoms(
    pet: *mut isoc_pet,
    duration: f64,
    window: f64,
    directions: u32,
    singles: *const isoc_tensor,
    histo_images: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let from = of_crystals(pet, "singles", DType::REAL)?.input(singles)?;
            let to = expect_histos(pet, "histo_images", pet.views()?.len(), DType::FLOAT)?.output(histo_images)?;
            check_apart((from.layout(), "singles"), (to.layout(), "histo_images"))?;
            pet.randoms(&accidentals(pet, duration, window)?, directions_of(directions)?, &from, to)
        }
    })
}

/// What scatter is estimated by. Set `struct_size` and zero the rest for an image in decays a voxel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_scatter_options {
    /// sizeof(isoc_pet_scatter_options).
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Those with which the image was reconstructed: its unit, and the attenuation map's place; NULL for none.
    pub factors: *const isoc_pet_factor_options,
    /// Full width at half maximum of the energy of unscattered photons over that energy; 0 means 0.11.
    pub energy_resolution: f64,
    /// Of the detectors' energy window, keV; 0 means 435.
    pub energy_lower: f64,
    /// Of the detectors' energy window, keV; 0 means 585.
    pub energy_upper: f64,
    /// Full width at half maximum of the time difference, ps; 0 means that of isoc_pet_response.
    pub tof_fwhm: f64,
    /// Distance of the places where photons are scattered, mm, 1 to 100; 0 means 12, and as much less as a scanner's radius is below 300 mm.
    pub spacing: f64,
}

// SAFETY: numbers and a pointer; all zero is valid.
unsafe impl Sized32 for isoc_pet_scatter_options {
    const NAME: &'static str = "isoc_pet_scatter_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What an estimate of scatter found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_scatter_found {
    /// sizeof(isoc_pet_scatter_found), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Counts of single scatter in all histo-images.
    pub scatter: f64,
    /// By how much they were multiplied: as counts in the tails over single scatter there tell beside their noise, and what is known before, 1 +- 0.2; 1 without tails.
    pub scale: f64,
    /// Counts in the tails less randoms.
    pub tails: f64,
    /// Single scatter in the tails.
    pub tails_scatter: f64,
    /// Places where photons are scattered.
    pub places: u64,
    /// Standard deviation of the scale; 0 without tails.
    pub scale_error: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_scatter_found {
    const NAME: &'static str = "isoc_pet_scatter_found";
    const FIRST_SIZE: usize = std::mem::offset_of!(Self, scale_error);
}

impl isoc_pet_scatter_options {
    /// # Safety
    /// `factors` is NULL or valid.
    unsafe fn to_options(self) -> Result<ScatterOptions> {
        if self.reserved != 0 {
            fail!(OutOfRange, "options.reserved is {}; it must be 0", self.reserved);
        }
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        let window = EnergyWindow::default();
        Ok(ScatterOptions {
            // SAFETY: by this function's contract.
            factors: unsafe { factor_options(self.factors) }?,
            model: Model {
                window: EnergyWindow {
                    resolution: or(self.energy_resolution, window.resolution),
                    lower: or(self.energy_lower, window.lower),
                    upper: or(self.energy_upper, window.upper),
                },
                tof_fwhm: if self.tof_fwhm == 0.0 { None } else { Some(self.tof_fwhm) },
                spacing: if self.spacing == 0.0 { None } else { Some(self.spacing) },
            },
        })
    }
}

/// The caller's, or those of NULL.
///
/// # Safety
/// It is NULL or valid, and so is what it points to.
pub(super) unsafe fn scatter_options(options: *const isoc_pet_scatter_options) -> Result<ScatterOptions> {
    match options.is_null() {
        true => Ok(ScatterOptions::default()),
        // SAFETY: by this function's contract.
        false => unsafe { read_struct(options)?.to_options() },
    }
}

/// The caller's, or those of 0.
pub(super) fn directions_of(directions: u32) -> Result<usize> {
    match directions {
        0 => Ok(DIRECTIONS),
        n => count(n.into(), "directions", 1, MAX_DIRECTIONS),
    }
}

/// Writes what isoc_pet_reconstruct takes as `additive`: single scatter of the image's activity by the attenuation, in the detectors' energy window, by the time of flight, and randoms.
/// It is made of an image that was reconstructed with less of it, and the next image with it; two or three times are enough.
/// (C. C. Watson, IEEE Trans. Nucl. Sci. 54(5), 2007; the attenuation is taken to be Compton scattering.)
///
/// `options` may be NULL. `image`: f32 or f64 (nz, ny, nx) in host memory, at least 0, in the unit that `options.factors` say. `efficiencies` and `attenuation` as in isoc_pet_factors, but an attenuation there
/// must be. `measured`: u32 or f32 (views, nz, ny, nx) counts, by whose tails, beside all that attenuates, scatter is scaled; NULL: it is not. `randoms`: f32 or u32 (views, nz, ny, nx) as isoc_pet_randoms
/// writes them, which are added; NULL for none. `additive`: f32 (views, nz, ny, nx); these three in host memory or on the plan's GPU, which computes it if there is one. `found` may be NULL.
///
/// Detectors are a cylinder about the crystals, whose own factors multiply it. Scattering and activity beyond the map and the lattice are not in it.
/// The log warns where tails tell the scale to no better than 0.15, or of one below 0.7 or above 2.5.
///
/// # Safety
/// Pointers are NULL or valid; `found` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_scatter(
    pet: *mut isoc_pet,
    options: *const isoc_pet_scatter_options,
    image: *const isoc_tensor,
    efficiencies: *const isoc_tensor,
    attenuation: *const isoc_tensor,
    measured: *const isoc_tensor,
    randoms: *const isoc_tensor,
    additive: *const isoc_tensor,
    found: *mut isoc_pet_scatter_found,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let options = scatter_options(options)?;
            let views = pet.views()?.len();
            let histos = |name, tensor: *const isoc_tensor| match tensor.is_null() {
                true => Ok(None),
                false => expect_histos(pet, name, views, DType::HISTOS)?.input(tensor).map(Some),
            };
            let of = ScatterArrays {
                image: Expected { dtypes: DType::REAL, ..expect_host_image(pet, "image")? }.input(image)?,
                efficiencies: match efficiencies.is_null() {
                    true => None,
                    false => Some(of_crystals(pet, "efficiencies", DType::REAL)?.input(efficiencies)?),
                },
                attenuation: expect_map(attenuation, "attenuation")?.input(attenuation)?,
                measured: histos("measured", measured)?,
                randoms: histos("randoms", randoms)?,
            };
            let to = expect_histos(pet, "additive", views, DType::FLOAT)?.output(additive)?;
            let written = (to.layout(), "additive");
            check_apart((of.image.layout(), "image"), written)?;
            if let Some(efficiencies) = &of.efficiencies {
                check_apart((efficiencies.layout(), "efficiencies"), written)?;
            }
            check_apart((of.attenuation.layout(), "attenuation"), written)?;
            for (from, name) in [(&of.measured, "measured"), (&of.randoms, "randoms")] {
                if let Some(from) = from {
                    check_apart((from.layout(), name), written)?;
                }
            }
            if !found.is_null() {
                read_struct(found)?;
            }
            let Found { scatter, scale, scale_error, tails, tails_scatter, places } = pet.scatter(&options, &of, to)?;
            if found.is_null() {
                return Ok(());
            }
            let places = places as u64;
            let value = isoc_pet_scatter_found {
                struct_size: 0,
                reserved: 0,
                scatter,
                scale,
                tails,
                tails_scatter,
                places,
                scale_error,
            };
            write_struct(found, &value)
        }
    })
}

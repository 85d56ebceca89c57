//! Lattice, views and response for a scanner and a map of attenuation.

use super::images::Volume;
use super::options::{LatticeOptions, Projector};
use super::petsird::{Scanner, median};
use super::told::general;
use super::{FWHM, HALF_LIGHT};
use anyhow::{Result, bail, ensure};
use isocenter::context::Context;
use isocenter::pet::{Cut, Lattice as Plan, Pet, Profile, Radial, Response, Views};
use std::f64::consts::PI;
use std::sync::Arc;

/// The largest lattice across, over the scanner's diameter: the square in the circle.
const ACROSS: f64 = 0.7;
/// What photons that are not quite opposite add to the line's width at its middle, full width at half maximum over the diameter.
const NONCOLLINEAR: f64 = 0.0022;
/// The time's width along lines over the lattice's side, at most: kernels have to fit it.
const ALONG: f64 = 0.75;
/// A view's part of all directions, in widths of the line over that of the time along it: what is off within a view blurs a tenth of the line's width.
const STEP: f64 = 1.25;
/// Azimuths, at least.
const AZIMUTHS: usize = 8;
/// Along lines, views are what the sensitivity is a sum over, and scatter is made in: how many azimuths, from one tilt to the next, and the largest.
const LINES: (usize, f64, f64) = (20, 0.08, 1.3);
/// Of a kernel, mm.
const KERNEL_STEP: f64 = 2.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// nz, ny, nx.
    pub shape: [usize; 3],
    /// mm.
    pub voxel: f64,
    /// x, y, z in the scanner's frame, mm.
    pub centre: [f64; 3],
    pub azimuths: usize,
    pub tilts: usize,
    pub max_tilt: f64,
    /// ps; 0 of none.
    pub tof_fwhm: f64,
    /// Radial and axial, mm.
    pub width: f64,
    pub projector: Projector,
}

fn blurred(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

impl Lattice {
    /// What is given as it is, and the rest of the scanner and the map.
    pub fn new(scanner: &Scanner, map: Option<&Volume>, given: &LatticeOptions) -> Result<Self> {
        let (voxel, [width, height]) = (given.voxel, scanner.crystal);
        let along = scanner.positions.iter().map(|place| place[2]);
        let [low, high] = [along.clone().fold(f64::INFINITY, f64::min), along.fold(f64::NEG_INFINITY, f64::max)];
        let [low, high] = [low - height / 2.0, high + height / 2.0];
        let radii: Vec<f64> = scanner.positions.iter().map(|[x, y, _]| x.hypot(*y)).collect();
        let nearest = radii.iter().copied().fold(f64::INFINITY, f64::min);
        let diameter = 2.0 * median(radii);
        let (length, centre) = (high - low, [0.0, 0.0, (low + high) / 2.0]);
        let tof_fwhm = tof_fwhm(scanner, given.tof_fwhm)?;
        // Both ends, each of a photon's own place in the crystal and of the event's.
        let crystal = FWHM * width.max(height) / 12f64.sqrt();
        let line = given.resolution.unwrap_or_else(|| blurred(crystal, NONCOLLINEAR * diameter));
        let [x, y, _] = map.map_or([f64::INFINITY; 3], |map| reaches(map, centre));
        // Within all crystals, of which some may be nearer.
        let reach = (ACROSS * diameter).min(2f64.sqrt() * nearest).min(2.0 * x).min(2.0 * y);
        let slices = given.slices.unwrap_or_else(|| ((length / voxel).round_ties_even() as usize).max(1));
        let size = given.size.unwrap_or((reach / voxel + 1e-6).max(0.0) as usize);
        if size < 1 {
            let middle = map.map_or([0.0; 3], |map| map.centre).map(|v| general(v, 4)).join(", ");
            bail!(
                "the map of attenuation reaches {} mm about the scanner's axis: its centre, {middle} mm, may be in another frame (--map-centre)",
                general(reach, 4)
            );
        }
        let (along, side) = (tof_fwhm * HALF_LIGHT, size as f64 * voxel);
        let is_too_long = along > ALONG * side;
        let is_along = !scanner.times.is_timed() || scanner.times.has_widths() || is_too_long;
        let projector = given.projector.unwrap_or(if is_along { Projector::Lines } else { Projector::HistoImages });
        let views = match projector {
            Projector::HistoImages => {
                check_times(scanner)?;
                ensure!(
                    !is_too_long,
                    "a time resolution of {} ps places events to {} mm along their lines, and the lattice is {} mm: take a larger one (--size, {} voxels at least), or \
                     --projector lines",
                    general(tof_fwhm, 4),
                    general(along, 4),
                    general(side, 4),
                    (along / ALONG / voxel).ceil()
                );
                let (max_tilt, step) = ((length / diameter).atan(), STEP * line.max(voxel) / along);
                (max_tilt, ((PI / step).ceil() as usize).max(AZIMUTHS), step)
            }
            Projector::Lines => {
                // Of all lines that cross the circle within the lattice.
                let chord =
                    2.0 * ((diameter / 2.0).powi(2) - (side / 2.0).powi(2)).max((0.1 * diameter).powi(2)).sqrt();
                let (azimuths, step, most) = LINES;
                ((length / chord).atan().min(most), azimuths, step)
            }
        };
        let (max_tilt, azimuths, step) = views;
        let max_tilt = given.max_tilt.unwrap_or(max_tilt);
        let azimuths = given.azimuths.unwrap_or(azimuths);
        // An odd number: one of them is 0.
        let tilts = given.tilts.unwrap_or_else(|| 2 * (max_tilt / step).floor() as usize + 1);
        let shape = [slices, size, size];
        let made = Self { shape, voxel, centre, azimuths, tilts, max_tilt, tof_fwhm, width: line, projector };
        map.map_or(Ok(()), |map| made.check(map))?;
        Ok(made)
    }

    /// Where there is no map nothing attenuates, of which the image would not tell.
    fn check(&self, map: &Volume) -> Result<()> {
        let reaches = reaches(map, self.centre);
        for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let (reach, n) = (reaches[k], self.shape[2 - k] as f64);
            ensure!(
                2.0 * reach >= (n - 1.0) * self.voxel,
                "the map of attenuation reaches {} mm either way along {axis}, the lattice {} mm: pad the map with what is there, or choose a smaller lattice (--size, --slices)",
                general(reach, 4),
                general(n * self.voxel / 2.0, 4)
            );
        }
        Ok(())
    }

    /// How many values all views have.
    pub fn histo_images(&self) -> Option<usize> {
        [self.azimuths, self.tilts].iter().chain(&self.shape).try_fold(1usize, |n, side| n.checked_mul(*side))
    }

    /// A plan; crystals are about the lattice's centre.
    pub fn plan(&self, context: Arc<Context>, scanner: &Scanner) -> Result<Pet> {
        self.plan_of(context, scanner, self.shape, [self.voxel; 3])
    }

    /// The same of another lattice about this one's centre, with voxels of sides x, y, z, mm.
    pub fn plan_of(&self, context: Arc<Context>, scanner: &Scanner, shape: [usize; 3], voxel: [f64; 3]) -> Result<Pet> {
        let mut pet = Pet::new(context);
        pet.set_geometry(Plan::new(shape, voxel)?, Views::grid(self.azimuths, self.tilts, self.max_tilt)?)?;
        pet.set_response(Response {
            tof_fwhm_ps: self.tof_fwhm,
            radial: Radial::Constant(self.width),
            axial_fwhm: self.width,
            profile: Profile::Symmetric,
            step: KERNEL_STEP,
            cut: Cut::default(),
        })?;
        pet.set_scanner(scanner.plan(self.centre)?);
        Ok(pet)
    }
}

/// How far a map reaches from a place along x, y and z, either way, mm.
fn reaches(map: &Volume, centre: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| map.voxel[k] * map.shape[2 - k] as f64 / 2.0 - (map.centre[k] - centre[k]).abs())
}

/// Of the time difference, full width at half maximum, ps; 0 of a scanner without time of flight.
fn tof_fwhm(scanner: &Scanner, given: Option<f64>) -> Result<f64> {
    let times = &scanner.times;
    if !times.is_timed() {
        return Ok(0.0);
    }
    // An event's own place in its bin, and the one that it is given.
    let of_bins = times.edges.as_ref().map_or(0.0, |edges| {
        let bins = edges.len() - 1;
        FWHM * ((edges[bins] - edges[0]) / bins as f64) / 6f64.sqrt()
    });
    match given {
        Some(given) => Ok(given),
        None if times.fwhm > 0.0 => Ok(blurred(times.fwhm, of_bins)),
        None => bail!("the file does not say its resolution of time: give --tof-fwhm, ps"),
    }
}

/// What histo-images are not of.
fn check_times(scanner: &Scanner) -> Result<()> {
    if let Some([first, last]) = scanner.times.edges.as_deref() {
        let span = general(last - first, 4);
        bail!(
            "the scanner has no time of flight, one time bin of {span} ps: where along its line an event was is not told, without which histo-images cannot be filled: take --projector lines"
        );
    }
    ensure!(
        !scanner.times.has_widths(),
        "pairs of modules have times that differ in how exact they are, and histo-images have one width: take --projector lines"
    );
    Ok(())
}

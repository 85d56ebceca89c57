//! Lattice, views and response for a scanner and a map of attenuation.

use super::HALF_LIGHT;
use super::images::Volume;
use super::options::LatticeOptions;
use super::petsird::{Scanner, median};
use super::told::general;
use anyhow::{Result, bail, ensure};
use isocenter::context::Context;
use isocenter::pet::{Cut, Lattice as Plan, Pet, Profile, Radial, Response, Views};
use std::f64::consts::PI;
use std::sync::Arc;

/// Full width at half maximum over the standard deviation.
const FWHM: f64 = 2.354820;
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
    /// ps.
    pub tof_fwhm: f64,
    /// Radial and axial, mm.
    pub width: f64,
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
        let diameter = 2.0 * median(scanner.positions.iter().map(|[x, y, _]| x.hypot(*y)).collect());
        let (length, centre) = (high - low, [0.0, 0.0, (low + high) / 2.0]);
        let (edges, bins) = (&scanner.time_edges, scanner.bins());
        let span = edges[bins] - edges[0];
        ensure!(
            bins > 1,
            "the scanner has no time of flight, one time bin of {} ps: where along its line an event was is not told, without which histo-images cannot be filled: \
             python -m isocenter.lists takes it along lines",
            general(span, 4)
        );
        // An event's own place in its bin, and the one that it is given.
        let of_bins = FWHM * (span / bins as f64) / 6f64.sqrt();
        let tof_fwhm = match given.tof_fwhm {
            Some(given) => given,
            None if scanner.tof_fwhm > 0.0 => blurred(scanner.tof_fwhm, of_bins),
            None => bail!("the file does not say its resolution of time: give --tof-fwhm, ps"),
        };
        // Both ends, each of a photon's own place in the crystal and of the event's.
        let crystal = FWHM * width.max(height) / 12f64.sqrt();
        let line = given.resolution.unwrap_or_else(|| blurred(crystal, NONCOLLINEAR * diameter));
        let [x, y, _] = map.map_or([f64::INFINITY; 3], |map| reaches(map, centre));
        let reach = (ACROSS * diameter).min(2.0 * x).min(2.0 * y);
        let slices = given.slices.unwrap_or_else(|| ((length / voxel).round_ties_even() as usize).max(1));
        let size = given.size.unwrap_or((reach / voxel + 1e-6).max(0.0) as usize);
        if size < 1 {
            let middle = map.map_or([0.0; 3], |map| map.centre).map(|v| general(v, 4)).join(", ");
            bail!(
                "the map of attenuation reaches {} mm about the scanner's axis: its centre, {middle} mm, may be in another frame (--map-centre)",
                general(reach, 4)
            );
        }
        let along = tof_fwhm * HALF_LIGHT;
        ensure!(
            along <= ALONG * size as f64 * voxel,
            "a time resolution of {} ps places events to {} mm along their lines, and the lattice is {} mm: take a larger one (--size, {} voxels at least), or \
             python -m isocenter.lists, which goes along lines",
            general(tof_fwhm, 4),
            general(along, 4),
            general(size as f64 * voxel, 4),
            (along / ALONG / voxel).ceil()
        );
        let max_tilt = given.max_tilt.unwrap_or((length / diameter).atan());
        let step = STEP * line.max(voxel) / along;
        let azimuths = given.azimuths.unwrap_or_else(|| ((PI / step).ceil() as usize).max(AZIMUTHS));
        // An odd number: one of them is 0.
        let tilts = given.tilts.unwrap_or_else(|| 2 * (max_tilt / step).floor() as usize + 1);
        let made =
            Self { shape: [slices, size, size], voxel, centre, azimuths, tilts, max_tilt, tof_fwhm, width: line };
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
        let mut pet = Pet::new(context);
        pet.set_geometry(
            Plan::new(self.shape, [self.voxel; 3])?,
            Views::grid(self.azimuths, self.tilts, self.max_tilt)?,
        )?;
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

//! Scatter: what is measured of decays of which one photon was scattered once, by the time of flight.
//!
//! C. C. Watson, "Extension of single scatter simulation to scatter correction of time-of-flight PET", IEEE Trans. Nucl. Sci. 54(5), 2007. Of detectors at
//! A and B, and a place S of the volume dV that attenuates by u, the counts a mm^2 sr of lines and a mm along them are
//!
//! `u dV p(angle) / (2 pi) (cos a cos b AB^2) / (cos a' cos b' AS^2 BS^2) exp(-P_A - r P_B) g [activity along SA at s, at s + (BS - AS) / 2 from the middle to A]`
//!
//! and the same with A and B exchanged. p is Klein's and Nishina's part a steradian, r the ratio of the attenuations of scattered and unscattered photons, P the
//! integral of the attenuation, g the part that the energy window takes of scattered photons over that of unscattered ones; a and b are the angles at the
//! detectors of the photons' ways, a' and b' those of the line. All attenuation is Compton's effect.
//!
//! It is computed of places some 12 mm apart, less in small scanners, and detectors on a cylinder, for all pairs of these and times (`Pairs`); from there on a coarse lattice for each
//! view (`Coarse`); and times 2 pi and the factors without attenuation, with all that crystals do to single lines, it is counts of a histo-image. What other
//! scattering there is has much the same shape: tails of the measured histo-images, beside all that attenuates, tell its part (`Tails`) as well as their noise lets them.

#[cfg(test)]
pub(crate) mod cases;
mod coarse;
mod estimate;
mod grid;
mod pairs;
mod places;
mod rays;
mod sizes;
mod tails;
#[cfg(test)]
mod tests;

pub(super) use coarse::{BEYOND, Coarse, Line, edge};
pub use estimate::Found;
pub(super) use estimate::{Additive, Sums};
pub(super) use grid::{Grid, Voxels};
pub(super) use pairs::Pairs;
pub(super) use places::{Nodes, Place, places};
pub(super) use rays::{Ray, Rays};
pub(super) use sizes::{input, of_lines, work};
pub(super) use tails::Tails;

pub use super::compton::EnergyWindow;
use super::compton::Table;
use super::factors::AttenuationMap;
use super::lattice::Lattice;
use super::response::{FWHM_PER_SIGMA, HALF_LIGHT};
use super::scanner::Crystals;
use super::views::Views;
use isocenter_base::error::{Result, fail};

/// Cells of activity and attenuation, mm, of a large scanner.
const CELL: f64 = 8.0;

fn cell(nodes: &Nodes) -> f64 {
    CELL * nodes.fine
}

/// Steps of time, as ways along a line, mm; smaller ones where the time is measured better.
const STEP: f64 = 16.0;
/// Of the time's width; and steps of half the lattice's diagonal at most.
const STEP_PART: f64 = 0.25;
const MOST: f64 = 120.0;

/// What is scattered, and how it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Model {
    /// Of the detectors.
    pub window: EnergyWindow,
    /// Of the time difference, ps, full width at half maximum; None: the response's.
    pub tof_fwhm: Option<f64>,
    /// Places of scattering are so far apart, mm; None: [`Model::SPACING`], and as much less as a scanner's radius is below 300 mm.
    pub spacing: Option<f64>,
}

/// Of the time, ps.
const WIDEST: f64 = 10_000.0;
/// Most places.
const MAX_PLACES: usize = 1 << 20;
/// Largest distance between places, mm, and least.
const SPACINGS: std::ops::RangeInclusive<f64> = 1.0..=100.0;

impl Model {
    /// Where the caller leaves it open, of a large scanner.
    pub const SPACING: f64 = 12.0;

    fn check(&self, tof_fwhm: f64) -> Result<()> {
        self.window.check("options")?;
        let spacing = self.spacing.unwrap_or(Self::SPACING);
        for (name, v) in [("tof_fwhm", tof_fwhm), ("spacing", spacing)] {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
            }
        }
        if !(0.0..=WIDEST).contains(&tof_fwhm) {
            fail!(OutOfRange, "options.tof_fwhm is {tof_fwhm} ps; it must be 0 to {WIDEST}");
        }
        if !SPACINGS.contains(&spacing) {
            let (least, most) = (SPACINGS.start(), SPACINGS.end());
            fail!(OutOfRange, "options.spacing is {spacing} mm; it must be {least} to {most}");
        }
        Ok(())
    }
}

/// All that the estimate is computed of.
#[derive(Debug)]
pub(super) struct Scatter {
    pub(super) activity: Grid,
    pub(super) attenuation: Grid,
    pub(super) nodes: Nodes,
    pub(super) places: Vec<Place>,
    pub(super) table: Table,
    pub(super) times: Times,
    pub(super) lines: Vec<Vec<Line>>,
    pub(super) lattice: Lattice,
    /// Largest tilt of lines, and their largest distance from the axis.
    pub(super) limits: [f64; 2],
}

/// Steps of time, as ways along lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// mm.
    pub(super) step: f64,
    /// Of the way from a place of scattering.
    pub(super) along: usize,
    /// From the middle of a line, of either sign: odd, the middle's own in between.
    pub(super) about: usize,
    /// Of what is blurred yet, mm.
    pub(super) sigma: f64,
}

impl Scatter {
    /// `image`: `[z][y][x]`, on the lattice; None: no activity, for what its size alone tells.
    pub(super) fn new(
        (views, lattice, crystals): (&Views, &Lattice, &Crystals),
        image: Option<&[f32]>,
        map: &AttenuationMap,
        (model, tof_fwhm): (&Model, f64),
    ) -> Result<Self> {
        model.check(tof_fwhm)?;
        let (along, voxel) = (lattice.along(), lattice.voxel());
        let nodes = Nodes::new(crystals)?;
        let (cell, spacing) = (cell(&nodes), model.spacing.unwrap_or(Model::SPACING * nodes.fine));
        let voxels = Voxels { values: image.unwrap_or_default(), count: along, voxel, centre: [0.0; 3] };
        let activity = if image.is_some() { Grid::new(&voxels, cell) } else { Grid::empty(&voxels, cell) }?;
        let [nz, ny, nx] = map.shape;
        let voxels = Voxels { values: map.values, count: [nx, ny, nz], voxel: map.voxel, centre: map.centre };
        let attenuation = Grid::new(&voxels, cell)?;
        let places = places(&attenuation, spacing, nodes.radius)?;
        if places.is_empty() {
            fail!(OutOfRange, "attenuation is next to 0 everywhere: nothing scatters");
        }
        if places.len() > MAX_PLACES {
            let count = places.len();
            fail!(
                OutOfRange,
                "options.spacing is {spacing} mm: {count} places, of {MAX_PLACES} at most; it must be larger"
            );
        }
        let reach = [0, 1, 2].map(|d| 0.5 * voxel[d] * along[d] as f64);
        let across = reach[0].hypot(reach[1]).min(0.95 * nodes.radius);
        let farthest =
            |place: &Place| (0..3).map(|d| (f64::from(place.at[d].abs()) + reach[d]).powi(2)).sum::<f64>().sqrt();
        let blur = HALF_LIGHT * tof_fwhm;
        let diagonal = reach.iter().map(|r| r * r).sum::<f64>().sqrt();
        let step = STEP.min((STEP_PART * blur).max(0.25 * STEP)).max(diagonal / MOST);
        let way = places.iter().map(farthest).fold(0.0, f64::max);
        let sigma = blur / FWHM_PER_SIGMA;
        // A bin's own width, the two bins that an amount is given to, and what is told between two bins: 1/12, 1/6 and 1/6 of its square.
        let sigma = (sigma * sigma - 5.0 / 12.0 * step * step).max(0.0).sqrt();
        let half = (diagonal / step).ceil() as usize + 2;
        Ok(Self {
            times: Times { step, along: (way / step).ceil() as usize + 1, about: 2 * half + 1, sigma },
            lines: Line::of(views)?,
            limits: [views.max_tilt(), across],
            table: Table::new(&model.window),
            lattice: *lattice,
            activity,
            attenuation,
            nodes,
            places,
        })
    }
}

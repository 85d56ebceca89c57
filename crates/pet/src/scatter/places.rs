//! Where photons are scattered, and where they are detected.

use super::grid::Grid;
use crate::scanner::Crystals;
use isocenter_base::cpu::buffer::{reserved, zeros};
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// A place that stands for all that scatters about it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) at: [f32; 3],
    /// Attenuation times volume, mm^2.
    pub(crate) weight: f32,
}

/// Attenuation that is none, 1/mm: a fiftieth of water's.
const AIR: f64 = 2e-4;

/// The centre of what attenuates in each box of about this size, of a cell or more, between detectors.
pub(crate) fn places(of: &Grid, spacing: f64, radius: f64) -> Result<Vec<Place>> {
    let long = [0, 1, 2].map(|d| of.cell[d] * of.count[d] as f64);
    let count = [0, 1, 2].map(|d| ((long[d] / spacing).ceil() as usize).clamp(1, of.count[d]));
    let size = [0, 1, 2].map(|d| long[d] / count[d] as f64);
    let mut sums = zeros::<Sum>(count.iter().product())?;
    for (k, value) in of.values.iter().enumerate() {
        let (value, at) = (f64::from(*value), of.place(k));
        if value <= 0.0 || at[0].hypot(at[1]) > 0.95 * radius {
            continue;
        }
        let index = |d: usize| (((at[d] - of.lowest[d] + 0.5 * of.cell[d]) / size[d]) as usize).min(count[d] - 1);
        let sum = &mut sums[(index(2) * count[1] + index(1)) * count[0] + index(0)];
        let weight = value * of.cell_volume();
        (0..3).for_each(|d| sum[d] += weight * at[d]);
        sum[3] += weight;
    }
    let least = AIR * size.iter().product::<f64>();
    let place =
        |[x, y, z, weight]: [f64; 4]| Place { at: [x, y, z].map(|sum| (sum / weight) as f32), weight: weight as f32 };
    let all = || sums.iter().filter(|sum| sum[3] > least);
    let mut places = reserved(all().count())?;
    places.extend(all().copied().map(place));
    Ok(places)
}

/// Of a box: places of cells times their weights, and these.
type Sum = [f64; 4];

/// Bytes that [`places`] takes at most of a cell.
pub(super) const A_CELL: usize = size_of::<Sum>() + size_of::<Place>();

/// Detectors on a cylinder about the crystals: rings of as many.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    pub(crate) radius: f64,
    /// What lengths at which scatter is sampled are multiplied by, since it goes by angles: 1, and less in scanners smaller than [`LARGE`].
    pub(crate) fine: f64,
    pub(crate) around: usize,
    /// Of the rings, ascending at equal distances.
    pub(crate) heights: Vec<f64>,
}

/// mm: scanners of this radius or more are large.
const LARGE: f64 = 300.0;
/// Of a ring.
const AROUND: usize = 48;
/// Rings of a large scanner are so far apart at most, mm, and there are so many at least, and at most.
const APART: f64 = 40.0;
const RINGS: usize = 4;
const MAX_RINGS: f64 = 256.0;

impl Nodes {
    pub(crate) fn new(crystals: &Crystals) -> Result<Self> {
        let faces = &crystals.faces()[..crystals.count()];
        let radii = faces.iter().map(|face| f64::from(face.centre[0]).hypot(f64::from(face.centre[1])));
        // Up to the outermost crystals' edges.
        let edges =
            |sign: f32| faces.iter().map(move |face| f64::from(face.centre[2] + sign * 0.5 * face.height[2].abs()));
        let (low, high) = (edges(-1.0).fold(f64::INFINITY, f64::min), edges(1.0).fold(f64::NEG_INFINITY, f64::max));
        // A single ring's lines are told between two, too.
        let (low, high) = if high - low < 1.0 { (low - 0.5, high + 0.5) } else { (low, high) };
        if high - low > MAX_RINGS * APART {
            fail!(
                OutOfRange,
                "crystals are from {low} to {high} mm along z; scatter is estimated of {} mm at most",
                MAX_RINGS * APART
            );
        }
        let radius = radii.sum::<f64>() / faces.len() as f64;
        let fine = (radius / LARGE).min(1.0);
        let rings = (((high - low) / (APART * fine)).ceil() as usize + 1).clamp(RINGS, MAX_RINGS as usize + 1);
        let height = |k: usize| low + (high - low) * k as f64 / (rings - 1) as f64;
        Ok(Self { radius, fine, around: AROUND, heights: (0..rings).map(height).collect() })
    }

    pub(crate) fn count(&self) -> usize {
        self.around * self.heights.len()
    }

    pub(crate) fn rings(&self) -> usize {
        self.heights.len()
    }

    /// Between rings.
    pub(crate) fn apart(&self) -> f64 {
        self.heights[1] - self.heights[0]
    }

    /// `[azimuth][ring]`
    pub(crate) fn place(&self, node: usize) -> [f64; 3] {
        let (turn, ring) = (node / self.rings(), node % self.rings());
        let (sin, cos) = (TAU * turn as f64 / self.around as f64).sin_cos();
        [self.radius * cos, self.radius * sin, self.heights[ring]]
    }
}

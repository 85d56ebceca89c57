//! Cells of azimuth and z, in which crystals are seen from the axis.

use super::face::Face;
use super::plane::Plane;
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// Cells across a crystal's smaller side, and most cells along either axis.
const CELLS: f64 = 3.0;
const MOST_CELLS: usize = 1 << 13;
/// Error of faces in f32, in cells of [`MOST_CELLS`].
const ROUNDING: f64 = MOST_CELLS as f64 * f32::EPSILON as f64;
/// How far beyond its face a crystal is seen, in faces: gaps, seen from the side.
pub(super) const MARGIN: f64 = 1.0;

/// A map's cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    /// Along azimuth and z.
    pub(super) count: [usize; 2],
    pub(super) lowest: f64,
    pub(super) per_mm: f64,
    /// Mean of the crystals.
    pub(super) radius: f64,
}

/// The smallest width and height of faces, which must have both.
pub(super) fn smallest(faces: &[Face]) -> Result<[f64; 2]> {
    let [width, height] = faces.iter().map(sides).fold([f64::INFINITY; 2], |a, b| [a[0].min(b[0]), a[1].min(b[1])]);
    if width * height == 0.0 {
        fail!(
            NotConfigured,
            "crystals are points, which no line meets: scanner.crystal_width and scanner.crystal_height must be above 0"
        );
    }
    Ok([width, height])
}

impl Cells {
    /// Crystals must have faces.
    pub(super) fn new(faces: &[Face]) -> Result<Self> {
        let (radius, reach) = extent(faces);
        let [width, height] = smallest(faces)?;
        let cell = width.min(height) / CELLS;
        // Rounding of faces adds no cell: rows that end where crystals do are met without a search.
        let count = |length: f64| ((length / cell - ROUNDING).ceil() as usize).clamp(1, MOST_CELLS);
        let count = [count(TAU * radius), count(2.0 * reach)];
        Ok(Self { count, lowest: -reach, per_mm: count[1] as f64 / (2.0 * reach), radius })
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.count.iter().product()
    }

    /// The one in a place's direction from the axis: along azimuth and z.
    pub(super) fn of(&self, at: [f64; 3]) -> [i64; 2] {
        let turn = at[1].atan2(at[0]) / TAU;
        [(turn * self.count[0] as f64).floor() as i64, ((at[2] - self.lowest) * self.per_mm).floor() as i64]
    }

    /// Its number, row by row; None beyond the ends.
    pub(super) fn number(&self, [column, row]: [i64; 2]) -> Option<usize> {
        let [around, along] = self.count;
        match usize::try_from(row) {
            Ok(row) if row < along => Some(row * around + column.rem_euclid(around as i64) as usize),
            _ => None,
        }
    }

    /// The direction across the axis of a column's middle.
    pub(super) fn along(&self, column: i64) -> [f64; 3] {
        let (sin, cos) = ((column as f64 + 0.5) * TAU / self.count[0] as f64).sin_cos();
        [cos, sin, 0.0]
    }

    /// Place on the axis of a row's middle.
    pub(super) fn height(&self, row: usize) -> [f64; 3] {
        [0.0, 0.0, self.lowest + (row as f64 + 0.5) / self.per_mm]
    }

    /// Those along azimuth and z that a face, and what is beside it up to a margin in faces, may be seen in, from the axis.
    pub(super) fn seen_from(&self, plane: &Plane, margin: f64) -> ([i64; 2], [usize; 2]) {
        let [around, along] = self.count;
        let edges = plane.edges();
        let reach = |of: fn(&[f64; 3]) -> f64| (0.5 + margin) * edges.iter().map(of).sum::<f64>();
        let (across, up) = (reach(|edge| edge[0].hypot(edge[1])), reach(|edge| edge[2].abs()));
        let off_axis = plane.centre[0].hypot(plane.centre[1]);
        // A crystal on the axis is seen from everywhere.
        let half = if off_axis > across { (across / off_axis).asin() } else { TAU / 2.0 };
        let azimuth = plane.centre[1].atan2(plane.centre[0]);
        let step = TAU / around as f64;
        let (first, last) = (((azimuth - half) / step).floor() as i64, ((azimuth + half) / step).ceil() as i64);
        let row = |z: f64| (z - self.lowest) * self.per_mm;
        let low = row(plane.centre[2] - up).floor().max(0.0) as usize;
        let high = row(plane.centre[2] + up).ceil().min(along as f64) as usize;
        ([first, last.min(first + around as i64)], [low, high])
    }
}

/// Width and height.
fn sides(face: &Face) -> [f64; 2] {
    [face.width, face.height].map(|v| v.iter().map(|c| f64::from(*c).powi(2)).sum::<f64>().sqrt())
}

/// Mean radius of crystals, and how far they are seen along z from the middle.
fn extent(faces: &[Face]) -> (f64, f64) {
    let centres = || faces.iter().map(|face| face.centre.map(f64::from));
    let radius = centres().map(|c| c[0].hypot(c[1])).sum::<f64>() / faces.len() as f64;
    let tallest = faces.iter().map(|face| sides(face)[1]).fold(0.0, f64::max);
    (radius, centres().map(|c| c[2].abs()).fold(0.0, f64::max) + tallest * (0.5 + MARGIN))
}

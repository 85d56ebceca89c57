//! Scatter of a view on a coarse lattice: the mean over lines of the view's directions.

use super::Scatter;
use super::pairs::Pairs;
use super::places::Nodes;
use crate::factors::{Direction, cones};
#[cfg(test)]
use crate::lattice::Lattice;
use crate::views::Views;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use std::f64::consts::TAU;

/// Points are so far apart at most in a large scanner, mm.
const APART: f64 = 12.0;

/// mm within the detectors' edge over which a line's end leaves them, of a large scanner.
const EDGE: f64 = 6.0;
/// What a line weighs that ends beyond them: where none do, all are alike.
pub(crate) const BEYOND: f64 = 1e-3;

pub(crate) fn edge(nodes: &Nodes) -> f64 {
    EDGE * nodes.fine
}

/// A direction of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) azimuth: f64,
    /// Of the tilt.
    pub(crate) tangent: f64,
    /// Its part of the view.
    pub(crate) weight: f64,
}

impl Line {
    /// Of each view.
    pub(crate) fn of(views: &Views) -> Result<Vec<Vec<Self>>> {
        let lines = |cell: &Vec<_>| {
            let cones = cones(cell, 1)?;
            let whole: f64 = cones.iter().map(|cone| cone.middle.solid_angle()).sum();
            let line =
                |d: &Direction| Self { azimuth: d.azimuth, tangent: d.tangent(), weight: d.solid_angle() / whole };
            collected(cones.iter().map(|cone| line(&cone.middle)))
        };
        views.cells().iter().map(lines).collect()
    }
}

/// Points from the lattice's first voxels' middles to its last ones'.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coarse {
    /// Along x, y, z.
    pub(crate) count: [usize; 3],
    pub(crate) lowest: [f64; 3],
    pub(crate) apart: [f64; 3],
    /// Voxels' middles, likewise.
    voxels: [usize; 3],
}

impl Coarse {
    pub(crate) fn new(of: &Scatter) -> Self {
        let (lattice, apart) = (&of.lattice, APART * of.nodes.fine);
        let voxels = lattice.along();
        let long = |d: usize| lattice.voxel()[d] * (voxels[d] - 1) as f64;
        let count = [0, 1, 2].map(|d| if voxels[d] == 1 { 1 } else { (long(d) / apart).ceil() as usize + 1 });
        let apart = [0, 1, 2].map(|d| if count[d] == 1 { 1.0 } else { long(d) / (count[d] - 1) as f64 });
        Self { count, lowest: lattice.centre([0; 3]), apart, voxels }
    }

    /// A point for each voxel.
    #[cfg(test)]
    pub(crate) fn of_voxels(lattice: &Lattice) -> Self {
        Self { count: lattice.along(), lowest: lattice.centre([0; 3]), apart: lattice.voxel(), voxels: lattice.along() }
    }

    pub(crate) fn points(&self) -> usize {
        self.count.iter().product()
    }

    pub(crate) fn place(&self, axis: usize, k: usize) -> f64 {
        self.lowest[axis] + k as f64 * self.apart[axis]
    }

    /// The point below a voxel's middle, the last but one at most, and how far beyond it is.
    #[inline(always)]
    fn below(&self, axis: usize, voxel: usize) -> (usize, f32) {
        if self.count[axis] == 1 {
            return (0, 0.0);
        }
        let at = voxel as f64 * (self.count[axis] - 1) as f64 / (self.voxels[axis] - 1) as f64;
        let k = (at as usize).min(self.count[axis] - 2);
        (k, (at - k as f64) as f32)
    }

    /// Values of points `[z][y][x]`, told in a row of voxels along x.
    pub(crate) fn row(&self, values: &[f32], [z, y]: [usize; 2], out: &mut [f32]) {
        let [nx, ny, _] = self.count;
        let ((k, fz), (j, fy)) = (self.below(2, z), self.below(1, y));
        let step = |axis: usize| usize::from(self.count[axis] > 1);
        let rows = [[k, j], [k, j + step(1)], [k + step(2), j], [k + step(2), j + step(1)]];
        let rows = rows.map(|[k, j]| &values[(k * ny + j) * nx..][..nx]);
        let parts = [(1.0 - fz) * (1.0 - fy), (1.0 - fz) * fy, fz * (1.0 - fy), fz * fy];
        let at = |i: usize| (0..4).map(|r| parts[r] * rows[r][i]).sum::<f32>();
        for (x, out) in out.iter_mut().enumerate() {
            let (i, f) = self.below(0, x);
            let (a, b) = (at(i), at(i + step(0)));
            *out = a + f * (b - a);
        }
    }

    /// 2 pi times the counts a mm^2 sr of lines and a mm along them, at all points `[z][y][x]`.
    pub(crate) fn view(&self, of: &Scatter, pairs: &Pairs, view: usize, level: Level) -> Result<Vec<f32>> {
        let mut values = zeros::<f32>(self.points())?;
        let [nx, ny, nz] = self.count;
        // Columns along z one after the other, then as they are wanted.
        let mut columns = zeros::<f32>(self.points())?;
        columns.par_chunks_mut(nz).enumerate().for_each(|(k, column)| {
            vectorised(level, Column { coarse: self, of, pairs, lines: &of.lines[view], at: [k % nx, k / nx], column });
        });
        for (k, column) in columns.chunks_exact(nz).enumerate() {
            for (z, v) in column.iter().enumerate() {
                values[z * nx * ny + k] = *v;
            }
        }
        self.sharpen(&values)
    }

    /// Told between points by straight lines, values are on average larger than they are by a twelfth of the second differences, where they curve upwards: this much less.
    fn sharpen(&self, values: &[f32]) -> Result<Vec<f32>> {
        let [nx, ny, _] = self.count;
        let steps = [1, nx, nx * ny];
        let of = |k: usize| {
            let at = [k % nx, k / nx % ny, k / (nx * ny)];
            let inner = (0..3).filter(|d| at[*d] > 0 && at[*d] + 1 < self.count[*d]);
            let second = |d: usize| values[k - steps[d]] - 2.0 * values[k] + values[k + steps[d]];
            (values[k] - inner.map(second).sum::<f32>() / 12.0).max(0.0)
        };
        collected((0..values.len()).map(of))
    }
}

struct Column<'a> {
    coarse: &'a Coarse,
    of: &'a Scatter,
    pairs: &'a Pairs,
    lines: &'a [Line],
    at: [usize; 2],
    column: &'a mut [f32],
}

/// Weights of four neighbours, the place between the middle two: of the cubic through them.
#[inline(always)]
fn cubic(f: f32) -> [f32; 4] {
    let (a, b, c, d) = (f + 1.0, f, f - 1.0, f - 2.0);
    [-b * c * d / 6.0, a * c * d / 2.0, -a * b * d / 2.0, a * b * c / 6.0]
}

impl Column<'_> {
    /// The neighbours of a place on the detectors, and their weights.
    #[inline(always)]
    fn around(&self, x: f64, y: f64) -> ([usize; 4], [f32; 4]) {
        let around = self.of.nodes.around;
        let at = y.atan2(x) / TAU * around as f64;
        let low = at.floor();
        let node = |k: i64| (low as i64 + k).rem_euclid(around as i64) as usize;
        ([node(-1), node(0), node(1), node(2)], cubic((at - low) as f32))
    }

    /// Whether detectors reach to a height, 0 to 1.
    #[inline(always)]
    fn reach(&self, z: f64) -> f64 {
        let heights = &self.of.nodes.heights;
        let (low, high) = (heights[0], heights[heights.len() - 1]);
        ((z - low).min(high - z) / edge(&self.of.nodes)).clamp(0.0, 1.0)
    }

    /// The lowest of four rings about a height, and their weights.
    #[inline(always)]
    fn rings(&self, z: f64) -> (usize, [f32; 4]) {
        let nodes = &self.of.nodes;
        let last = nodes.rings() - 1;
        let at = ((z - nodes.heights[0]) / nodes.apart()).clamp(0.0, last as f64);
        let low = (at as usize).clamp(1, last - 2);
        (low - 1, cubic((at - low as f64) as f32))
    }
}

impl Plain for Column<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let of = self.of;
        let (radius, about, rings) = (of.nodes.radius, of.times.about, of.nodes.rings());
        let (nodes, middle) = (of.nodes.count(), (about / 2) as f64);
        let [x, y] = [0, 1].map(|d| self.coarse.place(d, self.at[d]));
        let rest = radius * radius - x * x - y * y;
        for k in 0..self.column.len() {
            self.column[k] = 0.0;
        }
        if rest <= 0.0 {
            return;
        }
        // Only lines between detectors count: at the scanner's ends few of a view's directions have any, and tilted ones, which have none, would come through more of the body.
        let mut sums = vec![(0f32, 0f64); self.column.len()];
        // Told between the ends' neighbours about the axis, of pairs of rings: the same for all heights.
        let mut told = vec![0f32; rings * rings];
        for line in self.lines {
            let (sin, cos) = line.azimuth.sin_cos();
            let foot = -(x * cos + y * sin);
            let half = (foot * foot + rest).sqrt();
            let (ahead, behind) = (foot + half, foot - half);
            let (turns_a, weights_a) = self.around(x + ahead * cos, y + ahead * sin);
            let (turns_b, weights_b) = self.around(x + behind * cos, y + behind * sin);
            let time = middle - foot * (1.0 + line.tangent * line.tangent).sqrt() / of.times.step;
            let time = time.clamp(0.0, about as f64 - 1.001);
            let (t, f) = (time as usize, (time - time.floor()) as f32);
            let ends = |k: usize| {
                let z = self.coarse.place(2, k);
                [ahead, behind].map(|along| z + along * line.tangent)
            };
            let mut wanted = vec![(rings, 0); rings];
            for k in 0..self.column.len() {
                let [(ring_a, _), (ring_b, _)] = ends(k).map(|z| self.rings(z));
                for (first, end) in &mut wanted[ring_a..ring_a + 4] {
                    (*first, *end) = (ring_b.min(*first), (ring_b + 4).max(*end));
                }
            }
            for (ring_a, (first, end)) in wanted.iter().enumerate() {
                for ring_b in *first..*end {
                    let mut sum = 0.0;
                    for (turn_a, weight_a) in turns_a.iter().zip(weights_a) {
                        let from = (turn_a * rings + ring_a) * nodes;
                        for (turn_b, weight_b) in turns_b.iter().zip(weights_b) {
                            let values = &self.pairs.values[(from + turn_b * rings + ring_b) * about + t..][..2];
                            sum += weight_a * weight_b * (values[0] + f * (values[1] - values[0]));
                        }
                    }
                    told[ring_a * rings + ring_b] = sum;
                }
            }
            for (k, (value, whole)) in sums.iter_mut().enumerate() {
                let [end_a, end_b] = ends(k);
                let ((ring_a, up_a), (ring_b, up_b)) = (self.rings(end_a), self.rings(end_b));
                let line_weight = line.weight * (self.reach(end_a) * self.reach(end_b)).max(BEYOND);
                *whole += line_weight;
                let mut sum = 0.0;
                for (ring, up) in up_a.iter().enumerate() {
                    let values = &told[(ring_a + ring) * rings + ring_b..][..4];
                    sum += up * (0..4).map(|k| up_b[k] * values[k]).sum::<f32>();
                }
                *value += (TAU * line_weight) as f32 * sum.max(0.0);
            }
        }
        self.column.iter_mut().zip(sums).for_each(|(v, (value, whole))| *v = value / whole as f32);
    }
}

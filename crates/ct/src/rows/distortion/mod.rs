//! Distortion of the detector's optics, tilt, and shifts of views: where in a measured frame a pixel is read, linearly between four.

mod warp;

use crate::geometry::Geometry;
use isocenter_base::error::{Result, fail};
use std::ops::Range;
pub(crate) use warp::Warp;

/// Where the pixels of an undistorted frame lie in the measured one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distortion {
    /// Centre of the radial distortion, in bins and rows.
    pub centre: [f64; 2],
    /// Polynomial in the distance from there, lowest power first: measured = centre + polynomial(r) (undistorted - centre); none for 1.
    pub radial: Vec<f64>,
    /// Eight coefficients of a perspective, before that; None for none.
    pub perspective: Option<[f64; 8]>,
    /// Bins by which the axis moves from a row to the next: frames are turned about the detector's middle, before those, until it is upright.
    pub tilt: f64,
    /// Bins and rows by which each view lies aside on the detector, or none.
    pub shifts: Vec<[f64; 2]>,
}

/// Coefficients of the polynomial, at most.
pub const MAX_RADIAL: usize = 10;
/// Frames are not turned farther than this.
const MAX_TILT: f64 = 0.5;
/// Places along a detector's side that tell how far pixels move.
const PLACES: usize = 33;
/// Pixels of a row that are looked at together.
const BLOCK: usize = 64;

impl Distortion {
    /// Refuses what is out of range, naming the field.
    pub fn check(&self) -> Result<()> {
        let [x, y] = self.centre;
        let perspective = self.perspective.unwrap_or_default();
        for (name, list) in [("radial", self.radial.as_slice()), ("perspective", &perspective)] {
            if let Some((k, v)) = list.iter().enumerate().find(|(_, v)| !v.is_finite()) {
                fail!(NotFiniteParameter, "distortion.{name}[{k}] is {v}; it must be finite");
            }
        }
        for (name, value) in [("x_centre", x), ("y_centre", y), ("tilt", self.tilt)] {
            if !value.is_finite() {
                fail!(NotFiniteParameter, "distortion.{name} is {value}; it must be finite");
            }
        }
        if self.radial.len() > MAX_RADIAL {
            fail!(OutOfRange, "distortion.radial_count is {}; it must be 0 to {MAX_RADIAL}", self.radial.len());
        }
        if self.tilt.abs() > MAX_TILT {
            let tilt = self.tilt;
            fail!(
                OutOfRange,
                "distortion.tilt is {tilt}; it must be within {MAX_TILT} bins a row: it is the tangent of an angle, not degrees"
            );
        }
        for (view, shift) in self.shifts.iter().enumerate() {
            for (name, v) in ["x_shifts", "y_shifts"].iter().zip(shift) {
                if !v.is_finite() {
                    fail!(NotFiniteParameter, "distortion.{name}[{view}] is {v}; it must be finite");
                }
            }
        }
        Ok(())
    }

    /// Refuses what does not go with a scan.
    pub(crate) fn check_size(&self, g: &Geometry) -> Result<()> {
        if !self.shifts.is_empty() && self.shifts.len() != g.views() {
            let (n, views) = (self.shifts.len(), g.views());
            fail!(OutOfRange, "distortion.shift_count is {n}; it must be the number of views, {views}");
        }
        let [across, along] = self.moved([g.rows, g.bins]);
        let most = (g.rows.max(g.bins) / 2).max(16) as f64;
        if across.max(along) > most {
            let (rows, bins) = (g.rows, g.bins);
            fail!(
                OutOfRange,
                "distortion moves pixels by up to {along:.4e} bins and {across:.4e} rows, and the detector has {rows} rows of {bins} bins: are centre, coefficients and shifts of this detector, in pixels?"
            );
        }
        Ok(())
    }

    /// Rows on either side of a row that its pixels are read from.
    pub(crate) fn reach(&self, g: &Geometry) -> usize {
        // Where a call is not refused this is a small number.
        self.moved([g.rows, g.bins])[0].ceil().clamp(0.0, g.rows as f64) as usize + 1
    }

    /// Rows that these are read from.
    pub(crate) fn rows(&self, g: &Geometry, rows: &Range<usize>) -> Range<usize> {
        let reach = self.reach(g);
        rows.start.saturating_sub(reach)..rows.end.saturating_add(reach).min(g.rows)
    }

    /// Rows and bins that pixels of a detector move by at most: of some all over it, and what lies between two of these.
    fn moved(&self, size @ [rows, bins]: [usize; 2]) -> [f64; 2] {
        let spread = |n: usize| {
            let places = PLACES.min(n);
            (0..places).map(move |k| (k * (n - 1)) as f64 / (places - 1).max(1) as f64)
        };
        let extremes = |axis: usize| {
            let of = || self.shifts.iter().map(|shift| shift[axis]);
            [of().reduce(f64::min).unwrap_or(0.0), of().reduce(f64::max).unwrap_or(0.0)]
        };
        let [x_shifts, y_shifts] = [extremes(0), extremes(1)];
        let map = Map::new(self, size);
        let mut moved = [0.0f64; 2];
        let corners = x_shifts.into_iter().flat_map(|x| y_shifts.map(|y| [x, y]));
        // With no shifts all four are one.
        for [x_shift, y_shift] in corners.take(if self.shifts.is_empty() { 1 } else { 4 }) {
            let mut above: Vec<[f64; 2]> = Vec::new();
            for y in spread(rows) {
                let mut row: Vec<[f64; 2]> = Vec::with_capacity(PLACES);
                for x in spread(bins) {
                    let (mut px, mut py) = ([0.0; BLOCK], [0.0; BLOCK]);
                    map.places([x + x_shift, y + y_shift], &mut px, &mut py);
                    let here = [py[0] - y, px[0] - x];
                    let left = row.last().copied().unwrap_or(here);
                    let up = above.get(row.len()).copied().unwrap_or(here);
                    for (k, moved) in moved.iter_mut().enumerate() {
                        let between = (here[k] - left[k]).abs().max((here[k] - up[k]).abs());
                        let far = here[k].abs() + between;
                        *moved = moved.max(if far.is_nan() { f64::INFINITY } else { far });
                    }
                    row.push(here);
                }
                above = row;
            }
        }
        moved
    }

    /// A view's shift.
    fn shift(&self, view: usize) -> [f64; 2] {
        self.shifts.get(view).copied().unwrap_or_default()
    }
}

/// From pixels of an undistorted frame to places in the measured one. `kernels/ct/distortion.cu` has the same formulas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map<'a> {
    distortion: &'a Distortion,
    /// The detector's middle, (bin, row).
    pub(crate) middle: [f64; 2],
    /// Cosine and sine of the tilt.
    pub(crate) turn: [f64; 2],
}

impl<'a> Map<'a> {
    /// For a detector of (rows, bins).
    pub(crate) fn new(distortion: &'a Distortion, [rows, bins]: [usize; 2]) -> Self {
        let (sin, cos) = distortion.tilt.atan().sin_cos();
        Self { distortion, middle: [bins, rows].map(|n| (n as f64 - 1.0) / 2.0), turn: [cos, sin] }
    }

    /// Bins and rows of a place, shifted already, and of those that follow it in steps of a bin.
    #[inline(always)]
    fn places(&self, [x, y]: [f64; 2], px: &mut [f64; BLOCK], py: &mut [f64; BLOCK]) {
        let ([mx, my], [cos, sin]) = (self.middle, self.turn);
        let dy = y - my;
        for (k, (px, py)) in px.iter_mut().zip(py.iter_mut()).enumerate() {
            let dx = x + k as f64 - mx;
            *px = mx + (dx * cos + dy * sin);
            *py = my + (dy * cos - dx * sin);
        }
        if let Some(c) = &self.distortion.perspective {
            for (px, py) in px.iter_mut().zip(py.iter_mut()) {
                let scale = 1.0 / (c[6] * *px + c[7] * *py + 1.0);
                (*px, *py) = ((c[0] * *px + c[1] * *py + c[2]) * scale, (c[3] * *px + c[4] * *py + c[5]) * scale);
            }
        }
        if !self.distortion.radial.is_empty() {
            let [cx, cy] = self.distortion.centre;
            let (mut radius, mut factor) = ([0.0; BLOCK], [0.0; BLOCK]);
            for ((px, py), radius) in px.iter().zip(py.iter()).zip(&mut radius) {
                let (dx, dy) = (px - cx, py - cy);
                *radius = (dx * dx + dy * dy).sqrt();
            }
            for c in self.distortion.radial.iter().rev() {
                factor.iter_mut().zip(&radius).for_each(|(f, r)| *f = *f * r + c);
            }
            for ((px, py), factor) in px.iter_mut().zip(py.iter_mut()).zip(&factor) {
                (*px, *py) = (cx + factor * (*px - cx), cy + factor * (*py - cy));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The axis of frames tilted by so many bins a row is upright in what is read.
    #[test]
    fn tilted_axes_become_upright() {
        let distortion = Distortion { tilt: 0.02, ..Distortion::default() };
        let map = Map::new(&distortion, [101, 201]);
        for y in [0.0, 50.0, 100.0] {
            let (mut px, mut py) = ([0.0; BLOCK], [0.0; BLOCK]);
            map.places([100.0, y], &mut px, &mut py);
            assert!((px[0] - (100.0 + 0.02 * (py[0] - 50.0))).abs() < 1e-12, "{y}: {} {}", px[0], py[0]);
            // Distances stay.
            assert!(((px[0] - 100.0).hypot(py[0] - 50.0) - (y - 50.0).abs()).abs() < 1e-12);
        }
        // 200 bins of a row are 100 sin(atan(0.02)) rows above and below.
        assert_eq!(distortion.moved([101, 201])[0].ceil(), 3.0);
    }

    #[test]
    fn far_is_told() {
        let size = [1000, 1000];
        let shifts = vec![[0.0, -3.0], [2.0, 1.0]];
        let moved = Distortion { shifts, ..Distortion::default() }.moved(size);
        assert_eq!(moved, [3.0, 2.0]);
        // A wrong power of ten is no number of rows.
        let radial = vec![1.0, 0.0, 1e300];
        assert!(Distortion { radial, ..Distortion::default() }.moved(size)[0] > 1e300);
        let perspective = Some([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, f64::MAX, f64::MAX]);
        assert!(Distortion { perspective, ..Distortion::default() }.moved(size)[0] > 500.0);
    }
}

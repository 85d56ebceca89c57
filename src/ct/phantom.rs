//! Analytic phantoms: sums of ellipses, with exact line integrals and exact pixel means.

use super::geometry::Geometry;
use crate::cpu::buffer::collected;
use crate::error::{Result, fail};

/// An ellipse of constant attenuation, in length units about the rotation axis; x along columns, y upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipse {
    /// Attenuation a length unit; overlapping ellipses add.
    pub value: f64,
    /// Centre.
    pub x: f64,
    /// Centre.
    pub y: f64,
    /// Semi-axis along x before rotation.
    pub semi_x: f64,
    /// Semi-axis along y before rotation.
    pub semi_y: f64,
    /// Counter-clockwise rotation in radians.
    pub angle: f64,
}

/// Sets of ten ellipses of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheppLogan {
    /// Shepp and Logan, "The Fourier reconstruction of a head section", 1974.
    Original,
    /// The same ellipses with the contrasts of Toft, "The Radon transform", 1996, appendix B.
    Modified,
}

/// x, y, semi-axes, degrees, original value, modified value; the head's longer half is 0.92.
const HEAD: [[f64; 7]; 10] = [
    [0.0, 0.0, 0.69, 0.92, 0.0, 2.0, 1.0],
    [0.0, -0.0184, 0.6624, 0.874, 0.0, -0.98, -0.8],
    [0.22, 0.0, 0.11, 0.31, -18.0, -0.02, -0.2],
    [-0.22, 0.0, 0.16, 0.41, 18.0, -0.02, -0.2],
    [0.0, 0.35, 0.21, 0.25, 0.0, 0.01, 0.1],
    [0.0, 0.1, 0.046, 0.046, 0.0, 0.01, 0.1],
    [0.0, -0.1, 0.046, 0.046, 0.0, 0.01, 0.1],
    [-0.08, -0.605, 0.046, 0.023, 0.0, 0.01, 0.1],
    [0.0, -0.605, 0.023, 0.023, 0.0, 0.01, 0.1],
    [0.06, -0.605, 0.023, 0.046, 0.0, 0.01, 0.1],
];

impl SheppLogan {
    /// The ellipses, scaled to a circle of this radius.
    pub fn ellipses(self, radius: f64) -> Result<[Ellipse; 10]> {
        if !radius.is_finite() {
            fail!(NotFiniteParameter, "radius is {radius}; it must be finite");
        }
        if radius <= 0.0 {
            fail!(OutOfRange, "radius is {radius}; it must be above 0");
        }
        Ok(HEAD.map(|[x, y, a, b, degrees, original, modified]| Ellipse {
            value: if self == SheppLogan::Original { original } else { modified },
            x: x * radius,
            y: y * radius,
            semi_x: a * radius,
            semi_y: b * radius,
            angle: degrees.to_radians(),
        }))
    }
}

/// Refuses ellipses that have no area or are not finite.
pub(super) fn check(ellipses: &[Ellipse]) -> Result<()> {
    for (k, e) in ellipses.iter().enumerate() {
        if [e.value, e.x, e.y, e.semi_x, e.semi_y, e.angle].iter().any(|v| !v.is_finite()) {
            fail!(NotFiniteParameter, "ellipses[{k}] is {e:?}; all its numbers must be finite");
        }
        if e.semi_x <= 0.0 || e.semi_y <= 0.0 {
            fail!(OutOfRange, "ellipses[{k}] has semi-axes {} and {}; they must be above 0", e.semi_x, e.semi_y);
        }
    }
    Ok(())
}

/// Line integrals of one view at the bins' centres. The chord of an ellipse at distance s from its centre, where its shadow's
/// half-width is w, is 2 a b sqrt(w^2 - s^2) / w^2 (Kak and Slaney, eq. 3.6).
pub(super) fn line_integrals(geometry: &Geometry, ellipses: &[Ellipse], view: usize) -> Result<Vec<f32>> {
    let (sin, cos) = geometry.angles[view].sin_cos();
    let axis = geometry.axis_of(view);
    let bin = |k: usize| {
        let s = (k as f64 - axis) * geometry.bin_pitch;
        let chord = |e: &Ellipse| {
            let (es, ec) = (geometry.angles[view] - e.angle).sin_cos();
            let width2 = (e.semi_x * ec).powi(2) + (e.semi_y * es).powi(2);
            let away = s - (e.x * cos + e.y * sin);
            let half_chord2 = width2 - away * away;
            if half_chord2 <= 0.0 { 0.0 } else { 2.0 * e.value * e.semi_x * e.semi_y * half_chord2.sqrt() / width2 }
        };
        ellipses.iter().map(chord).sum::<f64>() as f32
    };
    collected((0..geometry.bins).map(bin))
}

/// Mean over each pixel of row i.
pub(super) fn pixel_means(geometry: &Geometry, ellipses: &[Ellipse], i: usize) -> Result<Vec<f32>> {
    let (a, (cy, cx)) = (geometry.pixel_size, geometry.centre());
    let y = -(i as f64 - cy) * a;
    let pixel = |j: usize| {
        let x = (j as f64 - cx) * a;
        ellipses.iter().map(|e| e.value * covered(e, x, y, a)).sum::<f64>() as f32
    };
    collected((0..geometry.nx).map(pixel))
}

/// Part of the square of side `side` about (x, y) that an ellipse covers: the ellipse becomes the unit circle, the square a
/// parallelogram, and the area of their intersection is the sum over its edges of the area between edge and centre.
fn covered(e: &Ellipse, x: f64, y: f64, side: f64) -> f64 {
    let whole = e.semi_x * e.semi_y / (side * side);
    if whole < 1e-15 {
        // Less than f64 resolves below.
        return 0.0;
    }
    let (sin, cos) = e.angle.sin_cos();
    let to_circle = |px: f64, py: f64| {
        let (dx, dy) = (px - e.x, py - e.y);
        ((dx * cos + dy * sin) / e.semi_x, (dy * cos - dx * sin) / e.semi_y)
    };
    let (centre, h) = (to_circle(x, y), side / 2.0);
    let corners = [(-h, -h), (h, -h), (h, h), (-h, h)].map(|(dx, dy)| to_circle(x + dx, y + dy));
    let reach = corners.iter().map(|c| (c.0 - centre.0).hypot(c.1 - centre.1)).fold(0.0, f64::max);
    let distance = centre.0.hypot(centre.1);
    if distance >= 1.0 + reach {
        return 0.0;
    }
    if distance + reach <= 1.0 {
        return 1.0;
    }
    let area: f64 = (0..4).map(|k| edge_area(corners[k], corners[(k + 1) % 4])).sum();
    area * whole
}

type Point = (f64, f64);

/// Signed area of the part of the unit disk between the centre and the edge from p to q: triangles where the edge is inside
/// the circle, sectors where it is outside.
fn edge_area(p: Point, q: Point) -> f64 {
    let (dx, dy) = (q.0 - p.0, q.1 - p.1);
    let length2 = dx * dx + dy * dy;
    let along = -(p.0 * dx + p.1 * dy) / length2;
    let inside = along * along - (p.0 * p.0 + p.1 * p.1 - 1.0) / length2;
    let at = |t: f64| (p.0 + t * dx, p.1 + t * dy);
    if inside <= 0.0 {
        return sector(p, q);
    }
    let (enter, leave) = ((along - inside.sqrt()).clamp(0.0, 1.0), (along + inside.sqrt()).clamp(0.0, 1.0));
    let (a, b) = (at(enter), at(leave));
    sector(p, a) + (a.0 * b.1 - a.1 * b.0) / 2.0 + sector(b, q)
}

/// Signed area of the unit disk's sector from p's direction to q's.
fn sector(p: Point, q: Point) -> f64 {
    (p.0 * q.1 - p.1 * q.0).atan2(p.0 * q.0 + p.1 * q.1) / 2.0
}

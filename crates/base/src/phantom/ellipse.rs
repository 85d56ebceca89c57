//! Line integrals and areas of ellipses.

use super::ellipsoid::Ellipse;

impl Ellipse {
    /// Integral along the line at right angles to `angle`, with that angle's sine and cosine, at distance s from the origin. The chord
    /// of an ellipse at distance s from its centre, where its shadow's half-width is w, is 2 a b sqrt(w^2 - s^2) / w^2 (Kak and
    /// Slaney, eq. 3.6).
    pub fn line_integral(&self, angle: f64, (sin, cos): (f64, f64), s: f64) -> f64 {
        let ([x, y], [a, b]) = (self.centre, self.semi);
        let (es, ec) = (angle - self.angle).sin_cos();
        let width2 = (a * ec).powi(2) + (b * es).powi(2);
        let away = s - (x * cos + y * sin);
        let half_chord2 = width2 - away * away;
        if half_chord2 <= 0.0 { 0.0 } else { 2.0 * self.value * a * b * half_chord2.sqrt() / width2 }
    }

    /// Part of the square of side `side` about (x, y) that it covers: the ellipse becomes the unit circle, the square a
    /// parallelogram, and the area of their intersection is the sum over its edges of the area between edge and centre.
    pub fn covered(&self, x: f64, y: f64, side: f64) -> f64 {
        let ([x0, y0], [a, b]) = (self.centre, self.semi);
        let whole = a * b / (side * side);
        if whole < 1e-15 {
            // Less than f64 resolves below.
            return 0.0;
        }
        let (sin, cos) = self.angle.sin_cos();
        let to_circle = |px: f64, py: f64| {
            let (dx, dy) = (px - x0, py - y0);
            ((dx * cos + dy * sin) / a, (dy * cos - dx * sin) / b)
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

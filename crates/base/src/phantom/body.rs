//! Cylinders along z, and ellipsoids and boxes along the axes.

use super::chord::{both, slab, unit_ball};
use std::f64::consts::{PI, TAU};

/// A body; coordinates are x, y, z.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Shape {
    /// Along z.
    Cylinder { centre: [f64; 3], radius: f64, length: f64 },
    /// With its axes along x, y and z; a sphere if they are equal.
    Ellipsoid { centre: [f64; 3], semi: [f64; 3] },
    /// With its edges along x, y and z.
    Box { centre: [f64; 3], size: [f64; 3] },
}

impl Shape {
    /// A sphere.
    pub fn sphere(centre: [f64; 3], radius: f64) -> Self {
        Shape::Ellipsoid { centre, semi: [radius; 3] }
    }

    /// Its middle, and how far it reaches along each axis.
    #[inline(always)]
    pub fn extent(&self) -> ([f64; 3], [f64; 3]) {
        match *self {
            Shape::Cylinder { centre, radius, length } => (centre, [radius, radius, length / 2.0]),
            Shape::Ellipsoid { centre, semi } => (centre, semi),
            Shape::Box { centre, size } => (centre, size.map(|s| s / 2.0)),
        }
    }

    /// Volume.
    pub fn volume(&self) -> f64 {
        let [a, b, c] = self.extent().1;
        match self {
            Shape::Cylinder { .. } => TAU * a * b * c,
            Shape::Ellipsoid { .. } => 4.0 / 3.0 * PI * a * b * c,
            Shape::Box { .. } => 8.0 * a * b * c,
        }
    }

    /// Whether a place lies in it.
    #[inline(always)]
    pub fn contains(&self, place: [f64; 3]) -> bool {
        let (centre, reach) = self.extent();
        let [x, y, z]: [f64; 3] = std::array::from_fn(|d| (place[d] - centre[d]) / reach[d]);
        match self {
            Shape::Cylinder { .. } => x * x + y * y <= 1.0 && z.abs() <= 1.0,
            Shape::Ellipsoid { .. } => x * x + y * y + z * z <= 1.0,
            Shape::Box { .. } => x.abs() <= 1.0 && y.abs() <= 1.0 && z.abs() <= 1.0,
        }
    }

    /// Where the line `from + t * along` is inside: an interval of t, empty unless the first end is below the second.
    #[inline(always)]
    pub fn chord(&self, from: [f64; 3], along: [f64; 3]) -> [f64; 2] {
        let (centre, reach) = self.extent();
        let a: [f64; 3] = std::array::from_fn(|d| (from[d] - centre[d]) / reach[d]);
        let b: [f64; 3] = std::array::from_fn(|d| along[d] / reach[d]);
        match self {
            Shape::Cylinder { .. } => both(self.unending_chord(from, along), self.between_ends(from[2], along[2])),
            Shape::Ellipsoid { .. } => unit_ball(a, b),
            Shape::Box { .. } => both(both(slab(a[0], b[0]), slab(a[1], b[1])), slab(a[2], b[2])),
        }
    }

    /// The same if it had no ends along z.
    #[inline(always)]
    pub fn unending_chord(&self, from: [f64; 3], along: [f64; 3]) -> [f64; 2] {
        let (centre, reach) = self.extent();
        let a: [f64; 2] = std::array::from_fn(|d| (from[d] - centre[d]) / reach[d]);
        unit_ball(a, std::array::from_fn(|d| along[d] / reach[d]))
    }

    /// Where a line from height `from` is between its ends along z.
    #[inline(always)]
    pub fn between_ends(&self, from: f64, along: f64) -> [f64; 2] {
        let (centre, reach) = self.extent();
        slab((from - centre[2]) / reach[2], along / reach[2])
    }
}

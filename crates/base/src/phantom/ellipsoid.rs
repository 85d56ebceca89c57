//! Ellipses and ellipsoids that are turned about z.

use super::chord::unit_ball;
use crate::error::{Result, fail};

/// An ellipsoid (D = 3) or ellipse (D = 2) of constant value. Coordinates are x, y\[, z\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipsoid<const D: usize> {
    /// Value inside; where ellipsoids overlap, values add.
    pub value: f64,
    /// Centre.
    pub centre: [f64; D],
    /// Semi-axes before rotation.
    pub semi: [f64; D],
    /// Rotation about z in radians, from x towards y.
    pub angle: f64,
}

/// An ellipse in the plane.
pub type Ellipse = Ellipsoid<2>;

impl<const D: usize> Ellipsoid<D> {
    const PLANE_OR_SPACE: () = assert!(D == 2 || D == 3);

    /// A vector in the system in which the ellipsoid is a unit ball (as places are mapped).
    pub(super) fn in_ball(&self, v: [f64; D]) -> [f64; D] {
        let turned = turn(v, -self.angle);
        std::array::from_fn(|d| turned[d] / self.semi[d])
    }

    /// Where a line along x through `place` enters and leaves, as distances from there; empty unless it enters before it leaves.
    pub fn chord(&self, place: [f64; D]) -> [f64; 2] {
        let mut along = [0.0; D];
        along[0] = 1.0;
        unit_ball(self.in_ball(std::array::from_fn(|d| place[d] - self.centre[d])), self.in_ball(along))
    }

    /// Refuses those that have no volume or are not finite; `name` is the list's.
    pub fn check(list: &[Self], name: &str) -> Result<()> {
        let () = Self::PLANE_OR_SPACE;
        for (n, e) in list.iter().enumerate() {
            if [e.value, e.angle].iter().chain(&e.centre).chain(&e.semi).any(|v| !v.is_finite()) {
                fail!(NotFiniteParameter, "{name}[{n}] is {e:?}; all its numbers must be finite");
            }
            if e.semi.iter().any(|s| *s <= 0.0) {
                fail!(OutOfRange, "{name}[{n}] has semi-axes {:?}; they must be above 0", e.semi);
            }
        }
        Ok(())
    }
}

impl Ellipsoid<3> {
    /// The ellipse in the plane at z, if it reaches there.
    pub fn slice(&self, z: f64) -> Option<Ellipsoid<2>> {
        let shrunk = 1.0 - ((z - self.centre[2]) / self.semi[2]).powi(2);
        (shrunk > 0.0).then(|| Ellipsoid {
            value: self.value,
            centre: [self.centre[0], self.centre[1]],
            semi: [self.semi[0] * shrunk.sqrt(), self.semi[1] * shrunk.sqrt()],
            angle: self.angle,
        })
    }
}

/// Rotates a vector about z, from x towards y.
pub(super) fn turn<const D: usize>(mut v: [f64; D], angle: f64) -> [f64; D] {
    let (sin, cos) = angle.sin_cos();
    (v[0], v[1]) = (v[0] * cos - v[1] * sin, v[0] * sin + v[1] * cos);
    v
}

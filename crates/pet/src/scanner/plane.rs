//! Faces of crystals, as lines are met with them.

use super::face::Face;

/// A crystal's face, as lines are met with it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub(super) centre: [f64; 3],
    pub(super) normal: [f64; 3],
    /// Along width and height, over their squares: a place's product with these is from -1/2 to 1/2 on the face.
    pub(super) width: [f64; 3],
    pub(super) height: [f64; 3],
}

impl Plane {
    pub(crate) fn new(face: &Face) -> Self {
        let three = |v: [f32; 4]| [v[0], v[1], v[2]].map(f64::from);
        let (centre, width, height) = (three(face.centre), three(face.width), three(face.height));
        let over = |v: [f64; 3]| v.map(|c| c / dot(v, v));
        Self { centre, normal: cross(width, height), width: over(width), height: over(height) }
    }

    /// The face's area as a line sees it.
    pub(crate) fn facing(&self, along: [f64; 3]) -> f64 {
        dot(along, self.normal).abs()
    }

    /// How far along a line from a place its plane is, and where on the face that is.
    pub(super) fn meet(&self, place: [f64; 3], along: [f64; 3]) -> Option<([f64; 3], [f64; 2])> {
        let slope = dot(along, self.normal);
        let t = dot(minus(self.centre, place), self.normal) / slope;
        if !t.is_finite() {
            return None;
        }
        let at = std::array::from_fn(|d| place[d] + t * along[d]);
        let off = minus(at, self.centre);
        Some((at, [dot(off, self.width), dot(off, self.height)]))
    }

    /// Edges of the face.
    pub(super) fn edges(&self) -> [[f64; 3]; 2] {
        [self.width, self.height].map(|v| v.map(|c| c / dot(v, v)))
    }
}

/// Whether a place is on the face.
pub(super) fn on_face(off: [f64; 2]) -> bool {
    off[0].abs() <= 0.5 && off[1].abs() <= 0.5
}

pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|d| a[d] - b[d])
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

//! The table of crystals.

use super::cells::smallest;
use super::face::Face;
use super::layers::layers;
use isocenter_base::cpu::buffer::reserved;
use isocenter_base::error::{Result, fail};
use std::sync::OnceLock;

/// Most crystals of a scanner.
pub const MAX_CRYSTALS: usize = 1 << 24;

/// Crystals, by their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Crystals {
    /// And one more, for those that are none.
    faces: Vec<Face>,
    /// Found when they are first asked for.
    layers: OnceLock<Vec<u8>>,
}

/// Width, tangential, and height of faces, mm.
#[derive(Clone, Copy)]
pub enum Sizes<'a> {
    /// Of all.
    Same([f64; 2]),
    /// Of each.
    Each(&'a dyn Fn(usize) -> [f64; 2]),
}

impl From<[f64; 2]> for Sizes<'_> {
    fn from(size: [f64; 2]) -> Self {
        Self::Same(size)
    }
}

impl Sizes<'_> {
    fn of(&self, k: usize) -> Result<[f64; 2]> {
        let size = match self {
            Self::Same(size) => return Ok(*size),
            Self::Each(size) => size(k),
        };
        for (axis, v) in size.into_iter().enumerate() {
            if !v.is_finite() {
                fail!(NotFiniteData, "crystal_sizes[{k}, {axis}] is {v}; it must be finite, in mm");
            }
            if v < 0.0 {
                fail!(OutOfRange, "crystal_sizes[{k}, {axis}] is {v} mm; it must be at least 0");
            }
        }
        Ok(size)
    }
}

impl Crystals {
    /// Faces about positions from the centre of the lattice; of sizes 0 and 0 they are points. Normals, of any length and either sign, are towards the z axis where there are none.
    pub fn new<'a>(
        count: usize,
        position: impl Fn(usize) -> [f64; 3],
        normal: Option<&dyn Fn(usize) -> [f64; 3]>,
        sizes: impl Into<Sizes<'a>>,
    ) -> Result<Self> {
        let sizes = sizes.into();
        if !(2..=MAX_CRYSTALS).contains(&count) {
            fail!(OutOfRange, "there are {count} crystals; there must be 2 to {MAX_CRYSTALS}");
        }
        let same = if let Sizes::Same(size) = sizes { size } else { [0.0; 2] };
        for (name, size) in ["crystal_width", "crystal_height"].into_iter().zip(same) {
            if !size.is_finite() {
                fail!(NotFiniteParameter, "scanner.{name} is {size}; it must be finite, in mm");
            }
            if size < 0.0 {
                fail!(OutOfRange, "scanner.{name} is {size} mm; it must be at least 0");
            }
        }
        let mut faces = reserved(count + 1)?;
        for k in 0..count {
            let [width, height] = sizes.of(k)?;
            let at = position(k);
            check_finite("positions", k, at)?;
            let normal = match normal {
                Some(normal) => {
                    let n = normal(k);
                    check_finite("normals", k, n)?;
                    n
                }
                None => [at[0], at[1], 0.0],
            };
            let length = normal.iter().map(|v| v * v).sum::<f64>().sqrt();
            // Where it is used alone: points need none.
            if length == 0.0 && (width > 0.0 || height > 0.0) {
                fail!(
                    OutOfRange,
                    "crystal {k} has no normal: {}",
                    "it must not be 0, and where none is given, the crystal must not be on the z axis"
                );
            }
            let [across, up] = axes(normal.map(|v| if length > 0.0 { v / length } else { 0.0 }));
            let four = |v: [f64; 3], scale: f64| [v[0], v[1], v[2], 0.0].map(|v| (v * scale) as f32);
            faces.push(Face { centre: four(at, 1.0), width: four(across, width), height: four(up, height) });
        }
        faces.push(Face::default());
        Ok(Self { faces, layers: OnceLock::new() })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.faces.len() - 1
    }

    /// Where crystal `k` is, mm.
    pub(crate) fn position(&self, k: usize) -> [f64; 3] {
        let [x, y, z, _] = self.faces[k].centre;
        [x, y, z].map(f64::from)
    }

    /// Of each, the layer that it is in, from the axis on: those of one layer are not behind each other. Crystals must have faces.
    pub(super) fn layers(&self) -> Result<&[u8]> {
        if let Some(known) = self.layers.get() {
            return Ok(known);
        }
        let found = layers(&self.faces[..self.count()])?;
        Ok(self.layers.get_or_init(|| found))
    }

    /// An error where some are points.
    pub(crate) fn check_faces(&self) -> Result<()> {
        smallest(&self.faces[..self.count()]).map(|_| ())
    }

    /// All faces, and one more.
    pub(crate) fn faces(&self) -> &[Face] {
        &self.faces
    }
}

fn check_finite(name: &str, k: usize, place: [f64; 3]) -> Result<()> {
    match place.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(d) => fail!(NotFiniteData, "{name}[{k}, {d}] is {}; it must be finite", place[d]),
    }
}

/// Unit vectors of a face: across, in the transverse plane, and up.
fn axes(n: [f64; 3]) -> [[f64; 3]; 2] {
    let flat = n[0].hypot(n[1]);
    let across = if flat > 1e-6 { [-n[1] / flat, n[0] / flat, 0.0] } else { [1.0, 0.0, 0.0] };
    let up =
        [n[1] * across[2] - n[2] * across[1], n[2] * across[0] - n[0] * across[2], n[0] * across[1] - n[1] * across[0]];
    [across, up]
}

#[cfg(test)]
mod tests {
    use super::*;
    use isocenter_base::error::Status;

    #[test]
    fn faces_are_about_their_positions() {
        let positions = [[0.0, 400.0, 10.0], [-300.0, 0.0, -20.0]];
        let crystals = Crystals::new(2, |k| positions[k], None, [4.0, 6.0]).expect("crystals");
        assert_eq!(crystals.count(), 2);
        let [a, b] = [crystals.faces()[0], crystals.faces()[1]];
        assert_eq!(
            (a.centre, a.width, a.height),
            ([0.0, 400.0, 10.0, 0.0], [-4.0, 0.0, 0.0, 0.0], [0.0, 0.0, 6.0, 0.0])
        );
        assert_eq!(
            (b.centre, b.width, b.height),
            ([-300.0, 0.0, -20.0, 0.0], [0.0, -4.0, 0.0, 0.0], [0.0, 0.0, 6.0, 0.0])
        );
        // An end cap, and one that leans.
        let normals = [[0.0, 0.0, -2.0], [3.0, 0.0, 3.0]];
        let crystals = Crystals::new(2, |k| positions[k], Some(&|k| normals[k]), [4.0, 6.0]).expect("crystals");
        let [a, b] = [crystals.faces()[0], crystals.faces()[1]];
        assert_eq!((a.width, a.height), ([4.0, 0.0, 0.0, 0.0], [0.0, -6.0, 0.0, 0.0]));
        let lean = (6.0 * 0.5f64.sqrt()) as f32;
        assert_eq!((b.width, b.height), ([0.0, 4.0, 0.0, 0.0], [-lean, 0.0, lean, 0.0]));
    }

    #[test]
    fn sizes_are_their_own() {
        let positions = [[0.0, 400.0, 10.0], [-300.0, 0.0, -20.0]];
        let sizes = |k: usize| [[4.0, 6.0], [2.0, 3.0]][k];
        let each = Crystals::new(2, |k| positions[k], None, Sizes::Each(&sizes)).expect("crystals");
        for (k, size) in [[4.0, 6.0], [2.0, 3.0]].into_iter().enumerate() {
            let same = Crystals::new(2, |k| positions[k], None, size).expect("crystals");
            assert_eq!(each.faces()[k], same.faces()[k]);
        }
    }

    #[test]
    fn what_is_no_crystal_is_refused() {
        let of = |position: [f64; 3], normal: Option<[f64; 3]>, size: [f64; 2]| {
            let normals = |_| normal.unwrap_or_default();
            let normal: Option<&dyn Fn(usize) -> [f64; 3]> = if normal.is_some() { Some(&normals) } else { None };
            let e = Crystals::new(2, |_| position, normal, size).expect_err("refused");
            (e.status, e.message)
        };
        let (status, message) = of([1.0, f64::NAN, 0.0], None, [0.0; 2]);
        assert_eq!((status, &message[..]), (Status::NotFiniteData, "positions[0, 1] is NaN; it must be finite"));
        assert_eq!(
            of([1.0; 3], Some([0.0, 0.0, f64::INFINITY]), [0.0; 2]).1,
            "normals[0, 2] is inf; it must be finite"
        );
        assert!(of([0.0, 0.0, 5.0], None, [1.0; 2]).1.starts_with("crystal 0 has no normal"));
        assert!(of([1.0; 3], Some([0.0; 3]), [1.0; 2]).1.starts_with("crystal 0 has no normal"));
        assert_eq!(of([1.0; 3], None, [-1.0, 0.0]).1, "scanner.crystal_width is -1 mm; it must be at least 0");
        assert_eq!(of([1.0; 3], None, [0.0, f64::NAN]).0, Status::NotFiniteParameter);
        let sizes = |k: usize| [4.0, if k == 1 { -2.0 } else { 3.0 }];
        let e = Crystals::new(2, |_| [1.0; 3], None, Sizes::Each(&sizes)).expect_err("refused");
        assert_eq!(e.message, "crystal_sizes[1, 1] is -2 mm; it must be at least 0");
        let e = Crystals::new(1, |_| [1.0; 3], None, [0.0; 2]).expect_err("one alone");
        assert_eq!(e.message, format!("there are 1 crystals; there must be 2 to {MAX_CRYSTALS}"));
        assert!(Crystals::new(2, |_| [0.0; 3], None, [0.0; 2]).is_ok(), "points need no normals");
    }
}

//! The axis of a scanner, which files have along x, y or z.

use super::boxes::{Corners, cross, dot, length, minus};
use crate::pet::told::general;
use anyhow::{Result, ensure};
use rayon::prelude::*;

/// How far edges may be off an axis, radians, and how much nearer to z than to another axis crystals may be.
const OFF: f64 = 1e-3;
const NEARER: f64 = 0.99;

/// From a file's axes to those of which z is the scanner's: which of the file's axes x, y and z are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn(pub [usize; 3]);

impl Turn {
    pub const NONE: Self = Self([0, 1, 2]);

    /// To axes of which z is the scanner's.
    ///
    /// Crystals stand about the axis: each has edges along it. Of several such directions the axis is the one that crystals stay farthest from, z if it is among these.
    pub fn of(boxes: &[Corners]) -> Result<Self> {
        let parallel = cos(OFF);
        let mut common = directions(&boxes[0]).to_vec();
        common.retain(|d| {
            boxes.par_iter().all(|one| directions(one).iter().map(|e| dot(*e, *d).abs()).fold(0.0, f64::max) > parallel)
        });
        if common.is_empty() {
            return Ok(Self::NONE); // crystals that are turned each to the middle of a sphere, for one
        }
        let near = |d: &[f64; 3]| {
            let distance = |one: &Corners| {
                let middle = one.middle();
                length(minus(middle, d.map(|v| v * dot(middle, *d))))
            };
            boxes.par_iter().map(distance).reduce(|| f64::INFINITY, f64::min)
        };
        let distances: Vec<_> = common.iter().map(near).collect();
        let farthest = distances.iter().copied().fold(0.0, f64::max);
        let mut found: Vec<_> = common.iter().zip(distances).filter(|(_, near)| *near >= NEARER * farthest).collect();
        found.sort_by_key(|(d, _)| largest(**d) != 2);
        let (axis, most) = (*found[0].0, largest(*found[0].0));
        let told = axis.map(|v| general(v, 3)).join(", ");
        ensure!(
            axis[most].abs() >= parallel,
            "the scanner's axis is along ({told}); it must be along x, y or z of the file"
        );
        // x, y, z in their order, from the one after the axis on.
        Ok(Self([(most + 1) % 3, (most + 2) % 3, most]))
    }

    /// Of x, y, z of the file along the scanner's axes.
    pub fn turned<T: Copy>(self, values: [T; 3]) -> [T; 3] {
        self.0.map(|axis| values[axis])
    }

    /// The other way.
    pub fn back(self) -> Self {
        let mut made = [0; 3];
        self.0.iter().enumerate().for_each(|(new, old)| made[*old] = new);
        Self(made)
    }

    /// An image (nz, ny, nx) along the other axes, and its shape.
    pub fn image(self, image: Vec<f32>, [nz, ny, nx]: [usize; 3]) -> (Vec<f32>, [usize; 3]) {
        if self == Self::NONE {
            return (image, [nz, ny, nx]);
        }
        let [mx, my, mz] = self.turned([nx, ny, nz]);
        let steps = self.turned([1, nx, nx * ny]);
        let at = |k: usize| {
            let [x, y, z] = [k % mx, k / mx % my, k / (mx * my)];
            image[x * steps[0] + y * steps[1] + z * steps[2]]
        };
        ((0..image.len()).into_par_iter().map(at).collect(), [mz, my, mx])
    }
}

fn cos(small: f64) -> f64 {
    1.0 - small * small / 2.0
}

fn largest(d: [f64; 3]) -> usize {
    // The first of equals.
    (0..3).rev().max_by(|a, b| d[*a].abs().total_cmp(&d[*b].abs())).unwrap_or(2)
}

/// Unit vectors along the edges of a box, from its first corner.
fn directions(of: &Corners) -> [[f64; 3]; 3] {
    let ways = of.ways();
    let (one, two) = (ways[0], ways[1]);
    [one, two, cross(one, two)].map(|edge| {
        let size = length(edge);
        edge.map(|v| v / if size > 0.0 { size } else { 1.0 })
    })
}

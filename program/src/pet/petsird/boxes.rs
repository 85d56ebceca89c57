//! Crystals, which files have as boxes of eight corners.

use anyhow::{Result, ensure};

/// How far from the origin crystals are, mm, at most.
pub const FARTHEST: f64 = 1e5;
/// Cosine between edges that are at right angles, at most.
const SKEWED: f64 = 1e-3;

/// A place and its turn: rows of (3, 4).
pub type Rigid = [[f64; 4]; 3];

pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| a[k] - b[k])
}

pub fn length(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// One after the other: the second is done first.
pub fn joined(a: &Rigid, b: &Rigid) -> Rigid {
    a.map(|row| {
        let mut made = [0, 1, 2, 3].map(|k| (0..3).map(|j| row[j] * b[j][k]).sum::<f64>());
        made[3] += row[3];
        made
    })
}

/// Of a crystal, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corners(pub [[f64; 3]; 8]);

/// Where a crystal detects, which way it looks, and the width and height of its face.
pub struct Face {
    pub place: [f64; 3],
    pub normal: [f64; 3],
    pub size: [f64; 2],
}

impl Corners {
    /// Those of a box that is somewhere else.
    pub fn at(self, place: &Rigid) -> Self {
        Self(self.0.map(|c| place.map(|row| dot([row[0], row[1], row[2]], c) + row[3])))
    }

    pub fn middle(&self) -> [f64; 3] {
        [0, 1, 2].map(|k| self.0.iter().map(|c| c[k]).sum::<f64>() / 8.0)
    }

    pub fn is_near(&self) -> bool {
        self.0.as_flattened().iter().all(|v| v.abs() < FARTHEST)
    }

    /// From the first corner to the others, short ways first.
    pub fn ways(&self) -> [[f64; 3]; 7] {
        let mut ways = [0; 7];
        ways.iter_mut().enumerate().for_each(|(k, way)| *way = k + 1);
        let mut ways = ways.map(|k| minus(self.0[k], self.0[0]));
        ways.sort_by(|a, b| length(*a).total_cmp(&length(*b)));
        ways
    }

    /// With places so many mm behind the inner face, or in the middle.
    pub fn face(&self, depth: Option<f64>) -> Result<Face> {
        let middle = self.middle();
        let far = middle[0].hypot(middle[1]);
        ensure!(far > 0.0, "crystals lie on the scanner's axis");
        let inwards = [-middle[0] / far, -middle[1] / far, 0.0];
        // Edges from the first corner: the two shortest ways are edges; the third is at right angles to both.
        let ways = self.ways();
        let (one, two) = (ways[0], ways[1]);
        let three = cross(one, two);
        let area = length(three);
        ensure!(area > 0.0 && dot(one, two).abs() <= SKEWED * dot(one, one), "crystals are no boxes at right angles");
        let three = three.map(|v| v / area);
        let deep = ways.iter().map(|way| dot(*way, three).abs()).fold(0.0, f64::max);
        ensure!(deep > 0.0, "crystals are no boxes: they have no depth");
        let edges = [one, two, three.map(|v| v * deep)];
        let sides = edges.map(length);
        let units = [0, 1, 2].map(|k| edges[k].map(|v| v / sides[k]));
        let deep = first_of_most(units.map(|u| dot(u, inwards).abs()));
        let tall = first_of_most([0, 1, 2].map(|k| units[k][2].abs() - if k == deep { 2.0 } else { 0.0 }));
        let wide = 3 - deep - tall;
        let sign = if dot(units[deep], inwards) < 0.0 { -1.0 } else { 1.0 };
        let normal = units[deep].map(|v| v * sign);
        let behind = depth.map_or(0.0, |depth| sides[deep] / 2.0 - depth);
        let place = [0, 1, 2].map(|k| middle[k] + normal[k] * behind);
        Ok(Face { place, normal, size: [sides[wide], sides[tall]] })
    }
}

fn first_of_most(values: [f64; 3]) -> usize {
    (0..3).rev().max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0)
}

//! Expected counts of a simulated scan: the factors and the background of the model `A_v * (H_v f) + additive_v`.
//!
//! With D decays drawn from an activity f of integral F, directions isotropic within the scanner's tilts, a voxel of volume V
//! emits `D V f / F` of them, and the part `q` of these has a direction of view v: `q` is the view's solid angle over that of
//! all tilts. So `A_v(x) = (D V / F) q <accepted * survival>`, the mean taken over directions of the view, for the lines
//! through x. Counts modelled with these factors have f in the phantom's own unit, whatever the scanner and the attenuation.
//! Survival is constant along a line, and acceptance too: blur along the line leaves both as they are.

use super::lattice::Lattice;
use super::response::HALF_LIGHT;
use super::simulation::{Scan, Source, Tally};
use crate::error::{Result, fail};
use rayon::prelude::*;
use std::f64::consts::{PI, TAU};

/// The directions that belong to a view, in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewCell {
    /// Lowest and highest azimuth, at most half a turn apart.
    pub azimuth: [f64; 2],
    /// Lowest and highest tilt.
    pub tilt: [f64; 2],
    /// Directions that stand for all, along azimuth and tilt: midpoints of equal parts of the solid angle. One each is the
    /// view's middle; the ends' axial cut varies with tilt, and several tilts follow it.
    pub samples: [usize; 2],
}

/// A direction, and the solid angle that it stands for.
struct Sample {
    n: [f64; 3],
    solid_angle: f64,
}

impl Scan<'_> {
    /// `A_v` of a view on a lattice `[z][y][x]`.
    pub fn factors(&self, tally: &Tally, cell: &ViewCell, lattice: &Lattice, out: &mut [f32]) -> Result<()> {
        let activity = match self.source {
            Source::Phantom(phantom) => phantom.total_activity(),
            Source::Image(image, lattice) => image.iter().map(|v| f64::from(*v)).sum::<f64>() * lattice.voxel_volume(),
        };
        let all = TAU * self.scanner.max_tilt.sin();
        let scale = tally.decays as f64 * lattice.voxel_volume() / (activity * all);
        self.fill(cell, lattice, out, |place, sample| match self.scanner.ends(place, sample.n) {
            Some(_) => scale * sample.solid_angle * (-self.attenuation.line_integral(place, sample.n)).exp(),
            None => 0.0,
        })
    }

    /// Scatter and randoms of a view on a lattice `[z][y][x]`.
    pub fn additive(&self, tally: &Tally, cell: &ViewCell, lattice: &Lattice, out: &mut [f32]) -> Result<()> {
        let (scanner, b) = (&self.scanner, &self.background);
        let (length, radius) = (scanner.axial_length, scanner.diameter / 2.0);
        // Scatter: density of its places, and of its directions.
        let spread = b.scatter_sigma * b.scatter_sigma;
        let all = TAU * scanner.max_tilt.sin();
        let scatter = tally.scatter_draws as f64 * lattice.voxel_volume() / (TAU * spread * length * all);
        // Two uniform ends make lines of constant density in the area across them and the solid angle: for two pieces of the
        // cylinder at distance r, `dA1 dA2 = r^2 / (cos cos) dA dO`, r is 2 R cos(b) / cos(tilt) and both cosines are
        // cos(b) cos(tilt), so that the angle b between line and radius cancels. Twice, for either order of the ends.
        let surface = TAU * radius * length;
        let lines = 2.0 * 4.0 * radius * radius / (surface * surface);
        let reach = HALF_LIGHT * b.window;
        let randoms = tally.random_draws as f64 * lattice.voxel_volume() * lines / (2.0 * reach);
        self.fill(cell, lattice, out, |place, sample| {
            let Some((a, b)) = scanner.ends(place, sample.n) else { return 0.0 };
            let [x, y, _] = place;
            let smooth = (-0.5 * (x * x + y * y) / spread).exp();
            let cos = 1.0 - sample.n[2] * sample.n[2];
            let uniform = if 0.5 * (a + b).abs() <= reach { 1.0 / (cos * cos) } else { 0.0 };
            sample.solid_angle * (scatter * smooth + randoms * uniform)
        })
    }

    /// Sums a function of place and direction over a view's directions.
    fn fill(
        &self,
        cell: &ViewCell,
        lattice: &Lattice,
        out: &mut [f32],
        value: impl Fn([f64; 3], &Sample) -> f64 + Sync,
    ) -> Result<()> {
        self.check()?;
        if out.len() != lattice.voxels() {
            fail!(TensorShape, "the array has {} values; {:?} were expected", out.len(), lattice.shape());
        }
        let samples = self.samples(cell)?;
        let [nx, ny, _] = lattice.along();
        out.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
            let (y, z) = (lattice.position(1, row % ny), lattice.position(2, row / ny));
            for (j, out) in out.iter_mut().enumerate() {
                let place = [lattice.position(0, j), y, z];
                *out = samples.iter().map(|s| value(place, s)).sum::<f64>() as f32;
            }
        });
        Ok(())
    }

    fn samples(&self, cell: &ViewCell) -> Result<Vec<Sample>> {
        let ([a0, a1], [t0, t1]) = (cell.azimuth, cell.tilt);
        let limit = self.scanner.max_tilt;
        if !(a0 < a1 && a1 - a0 <= PI + 1e-9 && t0 < t1 && t0 >= -PI / 2.0 && t1 <= PI / 2.0) {
            fail!(OutOfRange, "a view's directions are {cell:?}; ranges must ascend, within half a turn and a quarter");
        }
        if cell.samples.contains(&0) {
            fail!(OutOfRange, "a view's samples are {:?}; each must be at least 1", cell.samples);
        }
        let (s0, s1) = (t0.max(-limit).sin(), t1.min(limit).sin());
        let [na, ns] = cell.samples;
        let solid_angle = (a1 - a0) * (s1 - s0).max(0.0) / (na * ns) as f64;
        let part = |from: f64, to: f64, k: usize, n: usize| from + (to - from) * (k as f64 + 0.5) / n as f64;
        let samples = (0..na * ns).map(|k| {
            let (sin, cos) = part(a0, a1, k % na, na).sin_cos();
            let w = part(s0, s1, k / na, ns);
            let c = (1.0 - w * w).sqrt();
            Sample { n: [c * cos, c * sin, w], solid_angle }
        });
        Ok(samples.collect())
    }
}

//! Coils that are smooth: few coefficients each, of waves that are as long as the weight of a Sobolev norm allows.
//!
//! A coil is `c(r) = sum over k of w(k) c^(k) e_k(r)`, `w(k) = (1 + a |k|^2)^(-b / 2)`, k in cycles per voxel, so that the norm of c^ is
//! that of `(1 - a / (4 pi^2) Laplacian)^(b / 2) c`. M. Uecker, T. Hohage, K. T. Block, J. Frahm, Magn. Reson. Med. 60, 2008, and BART's
//! nlinv, have a = 220 and b = 32. Waves are those of twice the field of view, so that coils need not be the same at its two ends: along
//! an axis of n voxels half a cycle per field of view apart, and as real ones, 1, sqrt(2) cos and sqrt(2) sin, which leave the norm as it is.

use isocenter_base::cpu::buffer::{collected, reserved};
use isocenter_base::error::Result;
use std::f64::consts::{SQRT_2, TAU};

/// The norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sobolev {
    /// a in `(1 + a |k|^2)^(b / 2)`, k in cycles per voxel.
    pub scale: f64,
    /// b.
    pub order: f64,
}

/// Which waves there are on a grid.
pub(crate) struct Smooth {
    /// Voxels along z, y, x.
    pub(crate) grid: [usize; 3],
    /// Waves along z, y, x: an odd number each.
    pub(crate) waves: [usize; 3],
    norm: Sobolev,
}

impl Smooth {
    /// Those whose squared weight is above the rounding of the numbers, which is what a wave counts in the equations.
    pub(crate) fn new(grid: [usize; 3], norm: Sobolev, round_off: f64) -> Self {
        let Sobolev { scale, order } = norm;
        let most = ((round_off.powf(-1.0 / order) - 1.0) / scale).sqrt();
        let waves = grid.map(|n| 2 * ((2.0 * n as f64 * most) as usize).min(n - 1) + 1);
        Self { grid, waves, norm }
    }

    /// Coefficients of a coil.
    pub(crate) fn count(&self) -> usize {
        self.waves.iter().product()
    }

    /// Numbers of a room that holds whatever is between two axes.
    pub(crate) fn room(&self) -> usize {
        let ([_, ny, nx], [mz, my, mx]) = (self.grid, self.waves);
        mz * my.max(ny) * mx.max(nx)
    }

    /// Complex numbers that weights and tables take, and their transposes.
    pub(crate) fn tables(&self) -> usize {
        self.count() + self.grid.iter().zip(self.waves).map(|(n, m)| n * m).sum::<usize>()
    }

    /// Weights, `[z][y][x]`.
    pub(crate) fn weights(&self) -> Result<Vec<f64>> {
        let Sobolev { scale, order } = self.norm;
        let mut out = reserved(self.count())?;
        let square = |axis: usize, wave: usize| frequency(self.grid[axis], wave).powi(2);
        for z in 0..self.waves[0] {
            for y in 0..self.waves[1] {
                let k = |x| square(0, z) + square(1, y) + square(2, x);
                out.extend((0..self.waves[2]).map(|x| (1.0 + scale * k(x)).powf(-order / 2.0)));
            }
        }
        Ok(out)
    }

    /// Waves along an axis, `[voxel][wave]`, each with a mean square of 1 / voxels over twice the field of view.
    pub(crate) fn table(&self, axis: usize) -> Result<Vec<f64>> {
        let (n, waves) = (self.grid[axis], self.waves[axis]);
        let value = |voxel: usize, wave: usize| {
            let place = voxel as f64 - (n / 2) as f64;
            let (sine, cosine) = (TAU * frequency(n, wave) * place).sin_cos();
            let size = 1.0 / (n as f64).sqrt();
            match wave {
                0 => size,
                _ if wave % 2 == 1 => SQRT_2 * size * cosine,
                _ => SQRT_2 * size * sine,
            }
        };
        collected((0..n * waves).map(|i| value(i / waves, i % waves)))
    }
}

/// Cycles per voxel of a wave, on an axis of n voxels: 0, and then two of each.
fn frequency(n: usize, wave: usize) -> f64 {
    wave.div_ceil(2) as f64 / (2 * n) as f64
}

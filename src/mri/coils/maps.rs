//! Coil sensitivities from calibration data, on the processor.

use super::calibration::{self, Calibration};
use super::field::Field;
use super::gram::{gram, virtual_coils};
use super::lags::Lags;
use super::voxels::{Row, Wanted};
use super::{adaptive, espirit};
use crate::context::Job;
use crate::cpu::buffer::{Buffer, collected};
use crate::cpu::level::Level;
use crate::cpu::simd::dispatch;
use crate::error::Result;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

/// How sensitivities are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// ESPIRiT.
    #[default]
    Espirit,
    /// Adaptive combination.
    Adaptive,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Maps {
    /// How.
    pub method: Method,
    /// Elements of ESPIRiT's blocks along z, y, x; 0 takes 6, or 1 along an axis of one element.
    pub kernel: [usize; 3],
    /// Singular values of the calibration matrix that are kept, relative to the largest.
    pub threshold: f64,
    /// Voxels whose eigenvalue is below have no sensitivities; 0 for all.
    pub crop: f64,
    /// Voxels of the adaptive combination's blocks along each axis, odd.
    pub window: usize,
}

impl Default for Maps {
    fn default() -> Self {
        Self { method: Method::Espirit, kernel: [0; 3], threshold: 0.02, crop: 0.95, window: 5 }
    }
}

/// Calibration data and the grid of the sensitivities.
pub(super) struct Problem<'a> {
    /// `[coil][z][y][x]`, frequency 0 at floor(n / 2), the largest of modulus 1.
    pub(super) data: &'a [Complex<f64>],
    pub(super) coils: usize,
    pub(super) shape: [usize; 3],
    pub(super) grid: [usize; 3],
    pub(super) sets: usize,
    /// Whether eigenvalues are asked for.
    pub(super) values: bool,
}

/// Sensitivities `[z][y][set][coil][x]` and eigenvalues `[z][y][set][x]`.
pub(super) struct Found {
    pub(super) maps: Buffer<Complex<f32>>,
    pub(super) values: Buffer<f32>,
}

/// Shares of the work before the voxels.
const CALIBRATION: f64 = 0.5;

impl Problem<'_> {
    /// Of all voxels.
    pub(super) fn solve(&self, maps: &Maps, level: Level, job: &Job) -> Result<Found> {
        let lags = match maps.method {
            Method::Espirit => {
                let data = Calibration::new(self.data, self.coils, self.shape)?;
                let space = espirit::signal_space(&data, maps.kernel, maps.threshold, level, job)?;
                espirit::projection_lags(&space, self.coils, maps.kernel)?
            }
            Method::Adaptive => {
                adaptive::covariance_lags(self.data, (self.coils, self.shape), self.grid, maps.window, job)?
            }
        };
        job.advance(match maps.method {
            Method::Espirit => CALIBRATION - calibration::SHARE - espirit::SHARE,
            Method::Adaptive => CALIBRATION,
        });
        job.check()?;
        // The phase that a voxel's coils have in common is no sensitivity: the strongest virtual coil gets none, since it sees the object
        // wherever one coil does.
        let first = virtual_coils(&gram(self.data, self.coils)?, self.coils)?;
        let reference = collected(first.vectors[..self.coils].iter().map(|v| Complex::new(v.re as f32, v.im as f32)))?;
        let wanted = Wanted {
            sets: self.sets,
            crop: maps.crop as f32,
            relative: maps.method == Method::Adaptive,
            reference: &reference,
            values: self.values,
        };
        self.voxels(&lags, &wanted, level, job)
    }

    fn voxels(&self, lags: &Lags, wanted: &Wanted, level: Level, job: &Job) -> Result<Found> {
        let [nz, ny, nx] = self.grid;
        let row = self.sets * nx;
        let mut maps = Buffer::<Complex<f32>>::zeroed(nz * ny * row * self.coils)?;
        let mut values = Buffer::<f32>::zeroed(nz * ny * row)?;
        let field = Field::new(lags, self.grid)?;
        let share = (1.0 - CALIBRATION) / (nz * ny) as f64;
        let planes = maps.chunks_exact_mut(ny * row * self.coils).zip(values.chunks_exact_mut(ny * row));
        for (z, (maps, values)) in planes.enumerate() {
            let plane = field.plane(z)?;
            let rows = maps.par_chunks_exact_mut(row * self.coils).zip(values.par_chunks_exact_mut(row));
            rows.enumerate().try_for_each_init(Vec::new, |terms, (y, (maps, values))| {
                job.check()?;
                field.row(&plane, y, terms);
                let mut result = Ok(());
                let row = Row { field: &field, terms, wanted, vectors: maps, values, result: &mut result };
                dispatch(level, row);
                job.advance(share);
                result
            })?;
        }
        Ok(Found { maps, values })
    }
}

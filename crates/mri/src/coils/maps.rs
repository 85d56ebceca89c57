//! Coil sensitivities from calibration data: coefficients of a matrix at every voxel on the processor, its eigenvectors there or on a GPU.

use super::arrays::{store, store_rows};
use super::calibration::{self, Calibration};
use super::field::Field;
use super::gram::{gram, virtual_coils};
use super::voxels::{Row, Wanted};
use super::{adaptive, espirit};
use crate::gpu::sensitivities::{Asked, Sensitivities};
use isocenter_base::array::ArrayMut;
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::buffer::{Buffer, collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::dispatch;
use isocenter_base::error::Result;
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
}

/// Sensitivities `[z][y][set][coil][x]` and eigenvalues `[z][y][set][x]`.
struct Found {
    maps: Buffer<Complex<f32>>,
    values: Buffer<f32>,
}

/// Shares of the work before the voxels.
const CALIBRATION: f64 = 0.5;

impl Problem<'_> {
    /// Sensitivities `[set][coil][z][y][x]` and eigenvalues `[set][z][y][x]` of all voxels: on the context's first GPU, if it takes so many
    /// coils, and on the processor otherwise.
    pub(super) fn solve(
        &self,
        maps: &Maps,
        context: &Context,
        job: &Job,
        to: ArrayMut<5>,
        values: Option<ArrayMut<4>>,
    ) -> Result<()> {
        let lags = match maps.method {
            Method::Espirit => {
                let data = Calibration::new(self.data, self.coils, self.shape)?;
                let space = espirit::signal_space(&data, maps.kernel, maps.threshold, context.level(), job)?;
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
            values: values.is_some(),
        };
        let field = Field::new(&lags, self.grid)?;
        let asked = Asked {
            coils: self.coils,
            sets: wanted.sets,
            grid: self.grid,
            reach: [lags.reach[1], lags.reach[2]],
            crop: wanted.crop,
            relative: wanted.relative,
            reference: &reference,
            values: wanted.values,
        };
        if let Some(gpu) = Sensitivities::new(context, asked)? {
            return self.on_gpu(
                &gpu,
                &field,
                job,
                to.permuted([2, 0, 1, 3, 4]),
                values.map(|v| v.permuted([1, 0, 2, 3])),
            );
        }
        let found = self.voxels(&field, &wanted, context.level(), job)?;
        store_rows(context, &found.maps, to.permuted([2, 3, 0, 1, 4]))?;
        if let Some(to) = values {
            let wide = collected(found.values.iter().map(|v| Complex::new(f64::from(*v), 0.0)))?;
            store(context, &wide, to.permuted([1, 2, 0, 3]))?;
        }
        Ok(())
    }

    /// Some planes at a time.
    fn on_gpu(
        &self,
        gpu: &Sensitivities,
        field: &Field,
        job: &Job,
        mut to: ArrayMut<5>,
        mut values: Option<ArrayMut<4>>,
    ) -> Result<()> {
        let (nz, len) = (self.grid[0], field.plane_len());
        let mut sums = zeros::<Complex<f64>>(gpu.planes() * len)?;
        for first in (0..nz).step_by(gpu.planes()) {
            job.check()?;
            let count = gpu.planes().min(nz - first);
            let sums = &mut sums[..count * len];
            sums.chunks_exact_mut(len).enumerate().for_each(|(z, sums)| field.plane(first + z, sums));
            gpu.find(first, sums, &mut to, values.as_mut())?;
            job.advance((1.0 - CALIBRATION) * count as f64 / nz as f64);
        }
        Ok(())
    }

    fn voxels(&self, field: &Field, wanted: &Wanted, level: Level, job: &Job) -> Result<Found> {
        let [nz, ny, nx] = self.grid;
        let row = self.sets * nx;
        let mut maps = Buffer::<Complex<f32>>::zeroed(nz * ny * row * self.coils)?;
        let mut values = Buffer::<f32>::zeroed(nz * ny * row)?;
        let mut plane = zeros(field.plane_len())?;
        let share = (1.0 - CALIBRATION) / (nz * ny) as f64;
        let planes = maps.chunks_exact_mut(ny * row * self.coils).zip(values.chunks_exact_mut(ny * row));
        for (z, (maps, values)) in planes.enumerate() {
            field.plane(z, &mut plane);
            let rows = maps.par_chunks_exact_mut(row * self.coils).zip(values.par_chunks_exact_mut(row));
            rows.enumerate().try_for_each_init(Vec::new, |terms, (y, (maps, values))| {
                job.check()?;
                field.row(&plane, y, level, terms);
                let mut result = Ok(());
                let row = Row { field, terms, wanted, vectors: maps, values, result: &mut result };
                dispatch(level, row);
                job.advance(share);
                result
            })?;
        }
        Ok(Found { maps, values })
    }
}

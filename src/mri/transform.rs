//! Fourier sums between voxels and the trajectory: fast to a tolerance, or exact.

use super::cpu::direct::{self, Direct};
use super::cpu::{Check, separable};
use super::trajectory::Trajectory;
use crate::cpu::buffer::zeros;
use crate::cpu::level::Level;
use crate::cpu::vector::Real;
use crate::error::{Result, fail};
use crate::nufft::{self, Settings};
use rustfft::num_complex::Complex;
use std::sync::{Arc, Mutex, PoisonError};

/// How Fourier sums are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a fast transform where it serves, else exactly.
    Auto,
    /// By a non-uniform fast Fourier transform.
    Fast,
    /// Term by term.
    Exact,
}

/// The options of Fourier sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fourier {
    pub(super) method: Method,
    /// Largest relative l2 error of the fast transform.
    pub(super) tolerance: f64,
    /// Of the fast transform's grid; None takes the fastest.
    pub(super) upsampling: Option<f64>,
}

/// What only exact sums can do.
#[derive(Clone, Debug, Default)]
pub(super) struct Beyond {
    /// Off-resonance: Hz at every voxel, and seconds of every sample.
    pub(super) field: Option<Arc<(Vec<f64>, Vec<f64>)>>,
    /// Places of the voxels, in voxels, `[voxel][axis]`, x first; None for the grid's own.
    pub(super) positions: Option<Arc<Vec<f64>>>,
}

impl Beyond {
    pub(super) fn is_needed(&self) -> bool {
        self.field.is_some() || self.positions.is_some()
    }
}

/// Called with the part done.
pub(super) type Progress<'a> = &'a mut (dyn FnMut(f64) -> Result<()> + Send);

/// See the module.
pub(super) struct Transform<T: Real> {
    level: Level,
    grid: [usize; 3],
    trajectory: Arc<Trajectory>,
    way: Way<T>,
}

enum Way<T: Real> {
    Fast(Box<nufft::Plan<T>>),
    /// On the grid, where sums factorise.
    Separable,
    /// Anywhere.
    Direct {
        positions: Arc<Vec<f64>>,
        field: Option<Arc<(Vec<f64>, Vec<f64>)>>,
    },
}

impl Fourier {
    fn settings(&self, level: Level, grid: [usize; 3], samples: usize) -> Settings {
        let Self { tolerance, upsampling, .. } = *self;
        Settings { shape: grid, tolerance, upsampling, samples, level }
    }

    /// Whether sums are computed exactly.
    fn is_exact(&self, beyond: &Beyond) -> Result<bool> {
        if self.method == Method::Fast && beyond.is_needed() {
            fail!(
                NotConfigured,
                "a fast transform knows no field map and no voxel positions: options.method must be 0 or 2"
            );
        }
        Ok(self.method == Method::Exact || beyond.is_needed())
    }

    /// Most bytes that a transform holds.
    pub(super) fn memory<T: Real>(
        &self,
        level: Level,
        grid: [usize; 3],
        samples: usize,
        beyond: &Beyond,
    ) -> Result<u64> {
        if !self.is_exact(beyond)? {
            return Ok(nufft::Plan::<T>::new(self.settings(level, grid, samples))?.memory(samples));
        }
        if !beyond.is_needed() {
            return Ok(separable::bytes::<T>(grid, samples, 1));
        }
        let voxels = grid.iter().product();
        let places = if beyond.positions.is_some() { 0 } else { 3 * size_of::<f64>() * voxels };
        Ok(direct::bytes::<T>(voxels, samples, 4, 1) + places as u64)
    }
}

impl<T: Real> Transform<T> {
    pub(super) fn new(
        fourier: &Fourier,
        level: Level,
        grid: [usize; 3],
        trajectory: &Arc<Trajectory>,
        beyond: &Beyond,
    ) -> Result<Self> {
        let samples = trajectory.samples();
        let way = if !fourier.is_exact(beyond)? {
            let mut plan = nufft::Plan::new(fourier.settings(level, grid, samples))?;
            plan.set_points(samples, |m| trajectory.zyx(m))?;
            Way::Fast(Box::new(plan))
        } else if beyond.is_needed() {
            let positions = match &beyond.positions {
                Some(p) => p.clone(),
                None => Arc::new(places(grid, trajectory.dims())?),
            };
            Way::Direct { positions, field: beyond.field.clone() }
        } else {
            Way::Separable
        };
        Ok(Self { level, grid, trajectory: trajectory.clone(), way })
    }

    /// samples = sum over voxels of image exp(-2 pi i k . r), for one image.
    pub(super) fn forward(
        &mut self,
        image: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let (level, grid, k) = (self.level, self.grid, self.trajectory.axes());
        match &mut self.way {
            Way::Fast(plan) => plan.forward(image, samples, progress),
            Way::Separable => shared(progress, |check| separable::forward(level, grid, k, image, 1, samples, check)),
            Way::Direct { positions, field } => {
                let direct = sums(positions, &self.trajectory, field);
                shared(progress, |check| direct.forward(level, image, 1, samples, check))
            }
        }
    }

    /// image = sum over samples of value exp(+2 pi i k . r), for one image.
    pub(super) fn adjoint(
        &mut self,
        samples: &[Complex<T>],
        image: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let (level, grid, k) = (self.level, self.grid, self.trajectory.axes());
        match &mut self.way {
            Way::Fast(plan) => plan.adjoint(samples, image, progress),
            Way::Separable => shared(progress, |check| separable::adjoint(level, grid, k, samples, 1, image, check)),
            Way::Direct { positions, field } => {
                let direct = sums(positions, &self.trajectory, field);
                shared(progress, |check| direct.adjoint(level, samples, 1, image, check))
            }
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match &self.way {
            Way::Fast(plan) => (plan.grid_shape(), plan.kernel().width()),
            _ => ([0; 3], 0),
        }
    }
}

fn sums<'a>(
    positions: &'a [f64],
    trajectory: &'a Trajectory,
    field: &'a Option<Arc<(Vec<f64>, Vec<f64>)>>,
) -> Direct<'a> {
    let field = field.as_ref().map(|f| (f.0.as_slice(), f.1.as_slice()));
    Direct { positions, dims: trajectory.dims(), k: trajectory.axes(), field }
}

/// Runs what reports from several threads at once.
fn shared(progress: Progress, run: impl FnOnce(Check) -> Result<()>) -> Result<()> {
    let progress = Mutex::new(progress);
    run(&|part| (progress.lock().unwrap_or_else(PoisonError::into_inner))(part))
}

/// Where the voxels of a grid are.
fn places([nz, ny, nx]: [usize; 3], dims: usize) -> Result<Vec<f64>> {
    let mut out = zeros::<f64>(nz * ny * nx * dims)?;
    for (voxel, place) in out.chunks_exact_mut(dims).enumerate() {
        let at = [(voxel % nx, nx), (voxel / nx % ny, ny), (voxel / nx / ny, nz)];
        place.iter_mut().zip(at).for_each(|(p, (j, n))| *p = j as f64 - (n / 2) as f64);
    }
    Ok(out)
}

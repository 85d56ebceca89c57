//! Fourier sums between a grid and the trajectory: fast to a tolerance, or exact.

use super::engine::Field;
use super::trajectory::Trajectory;
use crate::cpu::level::Level;
use crate::cpu::vector::Real;
use crate::error::{Result, fail};
use crate::nufft::{self, Settings};
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// How Fourier sums are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// See the module.
pub(super) enum Transform<T: Real> {
    Fast(Box<nufft::Plan<T>>),
}

impl Fourier {
    fn settings(&self, level: Level, grid: [usize; 3], samples: usize) -> Settings {
        let Self { tolerance, upsampling, .. } = *self;
        Settings { shape: grid, tolerance, upsampling, samples, level }
    }

    /// Most bytes that a transform holds.
    pub(super) fn memory<T: Real>(&self, level: Level, grid: [usize; 3], samples: usize) -> Result<u64> {
        Ok(nufft::Plan::<T>::new(self.settings(level, grid, samples))?.memory(samples))
    }
}

impl<T: Real> Transform<T> {
    pub(super) fn new(
        fourier: &Fourier,
        level: Level,
        grid: [usize; 3],
        trajectory: &Arc<Trajectory>,
        field: Option<&Arc<Field>>,
    ) -> Result<Self> {
        if field.is_some() || fourier.method == Method::Exact {
            fail!(Internal, "exact sums are not there");
        }
        let samples = trajectory.samples();
        let mut plan = nufft::Plan::new(fourier.settings(level, grid, samples))?;
        plan.set_points(samples, |m| trajectory.zyx(m))?;
        Ok(Self::Fast(Box::new(plan)))
    }

    /// samples = sum over voxels of image exp(-2 pi i k . r).
    pub(super) fn forward(
        &mut self,
        image: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        match self {
            Transform::Fast(plan) => plan.forward(image, samples, progress),
        }
    }

    /// image = sum over samples of value exp(+2 pi i k . r).
    pub(super) fn adjoint(
        &mut self,
        samples: &[Complex<T>],
        image: &mut [Complex<T>],
        progress: &mut dyn FnMut(f64) -> Result<()>,
    ) -> Result<()> {
        match self {
            Transform::Fast(plan) => plan.adjoint(samples, image, progress),
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match self {
            Transform::Fast(plan) => (plan.grid_shape(), plan.kernel().width()),
        }
    }
}

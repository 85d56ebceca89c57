//! Fourier sums on the processor: fast ones, and exact ones with all that acts on them but decay.

use super::direct::{self, Direct};
use super::lines::LineSums;
use super::progress::Check;
use super::separable;
use super::stack::StackSums;
use crate::segments::Field;
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress, places};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_nufft as nufft;
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::sync::{Arc, Mutex, PoisonError};

/// Sums between the voxels of one grid and the samples of one trajectory, both ways.
pub(super) struct Sums<T: Scalar> {
    level: Level,
    grid: [usize; 3],
    trajectory: Arc<Trajectory>,
    algorithm: Algorithm<T>,
}

enum Algorithm<T: Scalar> {
    Fast(Box<nufft::Plan<T>>),
    /// Of samples on lines, for several coils at a time.
    Lines(Box<LineSums>),
    /// Of samples in planes.
    Stack(Box<StackSums<T>>),
    /// On the grid, where sums factorise.
    Separable,
    /// Anywhere.
    Direct {
        positions: Arc<Vec<f64>>,
        field: Option<Arc<Field>>,
    },
}

impl<T: Scalar> Sums<T> {
    /// For so many coils. Allocates little until [`Sums::prepare`].
    pub(super) fn new(
        fourier: &Fourier,
        level: Level,
        grid: [usize; 3],
        (trajectory, effects): (&Arc<Trajectory>, &Effects),
        coils: usize,
    ) -> Result<Self> {
        let algorithm = if !fourier.is_exact(effects)? {
            let settings = fourier.settings(level, grid, trajectory.samples());
            if let Some(stack) = StackSums::new(fourier, level, grid, trajectory)? {
                Algorithm::Stack(Box::new(stack))
            } else if let Some(lines) = LineSums::new::<T>(&settings, trajectory.axes()?, coils)? {
                Algorithm::Lines(Box::new(lines))
            } else {
                Algorithm::Fast(Box::new(nufft::Plan::new(settings)?))
            }
        } else if effects.are_present() {
            let positions = match &effects.positions {
                Some(p) => p.clone(),
                None => Arc::new(places(grid, trajectory.dims())?),
            };
            Algorithm::Direct { positions, field: effects.field.clone() }
        } else {
            Algorithm::Separable
        };
        Ok(Self { level, grid, trajectory: trajectory.clone(), algorithm })
    }

    /// Sorts the samples, unless that is done.
    pub(super) fn prepare(&mut self) -> Result<()> {
        match &mut self.algorithm {
            Algorithm::Fast(plan) if !plan.has_points() => {
                let [x, y, z] = self.trajectory.axes()?;
                plan.set_points(x.len(), |m| [z[m], y[m], x[m]])
            }
            Algorithm::Stack(stack) => stack.prepare(&self.trajectory),
            _ => Ok(()),
        }
    }

    /// Maximum number of bytes that it holds at work.
    pub(super) fn memory(&self) -> u64 {
        let (voxels, samples) = (self.grid.iter().product(), self.trajectory.samples());
        match &self.algorithm {
            Algorithm::Fast(plan) => plan.memory(samples),
            Algorithm::Lines(lines) => lines.memory(),
            Algorithm::Stack(stack) => stack.memory(),
            Algorithm::Separable => separable::bytes::<T>(self.grid, samples, 1),
            Algorithm::Direct { positions, .. } => {
                direct::bytes::<T>(voxels, samples, 4, 1) + size_of_val(&***positions) as u64
            }
        }
    }

    /// Makes it work in less memory, with the same results; false if it cannot.
    pub(super) fn take_less(&mut self) -> bool {
        match &mut self.algorithm {
            Algorithm::Lines(lines) => lines.take_less(),
            Algorithm::Stack(stack) => stack.take_less(),
            _ => false,
        }
    }

    /// Sums over lines, if samples are on them: they take all coils, and [`Sums::forward`] and [`Sums::adjoint`] none.
    pub(super) fn lines(&mut self) -> Option<&mut LineSums> {
        match &mut self.algorithm {
            Algorithm::Lines(lines) => Some(lines),
            _ => None,
        }
    }

    /// samples = sum over voxels of image exp(-2 pi i k . r), for one image.
    pub(super) fn forward(
        &mut self,
        image: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        let (level, grid, k) = (self.level, self.grid, self.trajectory.axes()?);
        match &mut self.algorithm {
            Algorithm::Fast(plan) => plan.forward(image, samples, progress),
            Algorithm::Stack(stack) => stack.forward(image, samples, progress),
            Algorithm::Lines(_) => fail!(Internal, "lines are for all coils"),
            Algorithm::Separable => {
                shared(progress, |check| separable::forward(level, grid, k, image, 1, samples, check))
            }
            Algorithm::Direct { positions, field } => {
                let direct = sums(positions, (self.trajectory.dims(), k), field);
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
        let (level, grid, k) = (self.level, self.grid, self.trajectory.axes()?);
        match &mut self.algorithm {
            Algorithm::Fast(plan) => plan.adjoint(samples, image, progress),
            Algorithm::Stack(stack) => stack.adjoint(samples, image, progress),
            Algorithm::Lines(_) => fail!(Internal, "lines are for all coils"),
            Algorithm::Separable => {
                shared(progress, |check| separable::adjoint(level, grid, k, samples, 1, image, check))
            }
            Algorithm::Direct { positions, field } => {
                let direct = sums(positions, (self.trajectory.dims(), k), field);
                shared(progress, |check| direct.adjoint(level, samples, 1, image, check))
            }
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match &self.algorithm {
            Algorithm::Fast(plan) => (plan.grid_shape(), plan.kernel().width()),
            Algorithm::Lines(lines) => lines.fine_grid(),
            Algorithm::Stack(stack) => stack.fine_grid(),
            _ => ([0; 3], 0),
        }
    }
}

fn sums<'a>(positions: &'a [f64], (dims, k): (usize, [&'a [f64]; 3]), field: &'a Option<Arc<Field>>) -> Direct<'a> {
    let field = field.as_ref().map(|f| (f.hertz.as_slice(), f.seconds.as_slice()));
    Direct { positions, dims, k, field }
}

/// Runs what reports from several threads at once.
fn shared(progress: Progress, run: impl FnOnce(Check) -> Result<()>) -> Result<()> {
    let progress = Mutex::new(progress);
    run(&|part| (progress.lock().unwrap_or_else(PoisonError::into_inner))(part))
}

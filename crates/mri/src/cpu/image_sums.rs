//! Fourier sums of one image on the processor, with a field where there is one.

use super::field::FieldSums;
use super::lines::LineSums;
use super::sums::Sums;
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Sums between the voxels of one grid and the samples of one trajectory, both ways.
pub(super) enum ImageSums<T: Scalar> {
    Plain(Sums<T>),
    Field(Box<FieldSums<T>>),
}

impl<T: Scalar> ImageSums<T> {
    /// For so many coils. Allocates little until [`ImageSums::prepare`].
    pub(super) fn new(
        fourier: &Fourier,
        level: Level,
        grid: [usize; 3],
        (trajectory, effects): (&Arc<Trajectory>, &Effects),
        coils: usize,
    ) -> Result<Self> {
        Ok(match fourier.take_field(effects, T::UNIT)? {
            Some(taken) => Self::Field(Box::new(FieldSums::new(taken, level, grid, trajectory)?)),
            None => Self::Plain(Sums::new(fourier, level, grid, (trajectory, effects), coils)?),
        })
    }

    /// Sorts the samples and makes the field's factors, unless that is done.
    pub(super) fn prepare(&mut self) -> Result<()> {
        match self {
            Self::Plain(sums) => sums.prepare(),
            Self::Field(sums) => sums.prepare(),
        }
    }

    /// Maximum number of bytes that it holds at work.
    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::Plain(sums) => sums.memory(),
            Self::Field(sums) => sums.memory(),
        }
    }

    /// Makes it work in less memory, with the same results; false if it cannot.
    pub(super) fn take_less(&mut self) -> bool {
        match self {
            Self::Plain(sums) => sums.take_less(),
            Self::Field(sums) => sums.take_less(),
        }
    }

    /// Sums over lines, if samples are on them: they take all coils, and [`ImageSums::forward`] and [`ImageSums::adjoint`] none.
    pub(super) fn lines(&mut self) -> Option<&mut LineSums> {
        match self {
            Self::Plain(sums) => sums.lines(),
            Self::Field(_) => None,
        }
    }

    /// samples = sum over voxels of image exp(-2 pi i k . r), for one image.
    pub(super) fn forward(
        &mut self,
        image: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        match self {
            Self::Plain(sums) => sums.forward(image, samples, progress),
            Self::Field(sums) => sums.forward(image, samples, progress),
        }
    }

    /// image = sum over samples of value exp(+2 pi i k . r), for one image.
    pub(super) fn adjoint(
        &mut self,
        samples: &[Complex<T>],
        image: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        match self {
            Self::Plain(sums) => sums.adjoint(samples, image, progress),
            Self::Field(sums) => sums.adjoint(samples, image, progress),
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match self {
            Self::Plain(sums) => sums.fine_grid(),
            Self::Field(sums) => sums.fine_grid(),
        }
    }

    /// Products that a field takes, and their relative l2 error; 0 without.
    pub(super) fn terms(&self) -> (usize, f64) {
        match self {
            Self::Plain(_) => (0, 0.0),
            Self::Field(sums) => sums.terms(),
        }
    }
}

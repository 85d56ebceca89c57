//! The encoding operator of one coil on the processor: Fourier sums, with a field and a basis where there are.

use super::basis::BasisSums;
use super::image_sums::ImageSums;
use super::lines::LineSums;
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Sums between the voxels of one grid and the samples of one trajectory, both ways.
pub(super) enum Transform<T: Scalar> {
    One(ImageSums<T>),
    Basis(BasisSums<T>),
}

impl<T: Scalar> Transform<T> {
    /// For so many coils. Allocates little until [`Transform::prepare`].
    pub(super) fn new(
        fourier: &Fourier,
        level: Level,
        grid: [usize; 3],
        (trajectory, effects): (&Arc<Trajectory>, &Effects),
        coils: usize,
    ) -> Result<Self> {
        let sums = |images| ImageSums::new(fourier, level, grid, (trajectory, effects), images);
        Ok(match &effects.basis {
            Some(basis) => Self::Basis(BasisSums::new(basis, trajectory.samples(), sums(basis.images())?)),
            None => Self::One(sums(coils)?),
        })
    }

    fn of_one(&self) -> &ImageSums<T> {
        match self {
            Self::One(sums) => sums,
            Self::Basis(sums) => sums.of_one(),
        }
    }

    /// Sorts the samples and makes factors of field and basis, unless that is done.
    pub(super) fn prepare(&mut self) -> Result<()> {
        match self {
            Self::One(sums) => sums.prepare(),
            Self::Basis(sums) => sums.prepare(),
        }
    }

    /// Maximum number of bytes that it holds at work.
    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::One(sums) => sums.memory(),
            Self::Basis(sums) => sums.memory(),
        }
    }

    /// Makes it work in less memory, with the same results; false if it cannot.
    pub(super) fn take_less(&mut self) -> bool {
        match self {
            Self::One(sums) => sums.take_less(),
            Self::Basis(sums) => sums.take_less(),
        }
    }

    /// Sums over lines, if samples are on them: they take all coils, and [`Transform::forward`] and [`Transform::adjoint`] none.
    pub(super) fn lines(&mut self) -> Option<&mut LineSums> {
        match self {
            Self::One(sums) => sums.lines(),
            Self::Basis(_) => None,
        }
    }

    /// samples = sum over voxels of image exp(-2 pi i k . r), for one image, or those of a basis.
    pub(super) fn forward(
        &mut self,
        images: &[Complex<T>],
        samples: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        match self {
            Self::One(sums) => sums.forward(images, samples, progress),
            Self::Basis(sums) => sums.forward(images, samples, progress),
        }
    }

    /// image = sum over samples of value exp(+2 pi i k . r), for one image, or those of a basis.
    pub(super) fn adjoint(
        &mut self,
        samples: &[Complex<T>],
        images: &mut [Complex<T>],
        progress: Progress,
    ) -> Result<()> {
        match self {
            Self::One(sums) => sums.adjoint(samples, images, progress),
            Self::Basis(sums) => sums.adjoint(samples, images, progress),
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        self.of_one().fine_grid()
    }

    /// Products that a field takes, and their relative l2 error; 0 without.
    pub(super) fn terms(&self) -> (usize, f64) {
        self.of_one().terms()
    }
}

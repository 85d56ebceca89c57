//! Fourier sums of one image a coil on the GPU, with a field where there is one.

use super::field::FieldSums;
use super::place::Place;
use super::sums::{Sums, SumsBytes};
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress};
use isocenter_base::error::Result;
use isocenter_base::gpu::Queue;
use isocenter_base::gpu::fft::Images;
use isocenter_nufft::Scalar;

/// Sums between the voxels of one grid and the samples of one trajectory, both ways.
pub(super) enum ImageSums<T: Scalar> {
    Plain(Sums<T>),
    Field(FieldSums<T>),
}

/// Bytes of sums for so many coils, before there is one.
pub(super) fn image_sums_bytes<T: Scalar>(
    fourier: &Fourier,
    queue: &Queue,
    grid: [usize; 3],
    (trajectory, effects): (&Trajectory, &Effects),
    coils: usize,
) -> Result<SumsBytes> {
    match fourier.take_field(effects, T::UNIT)? {
        Some(taken) => FieldSums::<T>::bytes_of(&taken, queue, grid, trajectory),
        None => SumsBytes::new::<T>(fourier, queue, grid, (trajectory, effects), coils),
    }
}

impl<T: Scalar> ImageSums<T> {
    /// For so many coils, which decide how sums are fastest; it takes any number.
    pub(super) fn new(
        fourier: &Fourier,
        queue: &Queue,
        grid: [usize; 3],
        (trajectory, effects): (&Trajectory, &Effects),
        coils: usize,
    ) -> Result<Self> {
        Ok(match fourier.take_field(effects, T::UNIT)? {
            Some(taken) => Self::Field(FieldSums::new(&taken, queue, grid, trajectory)?),
            None => Self::Plain(Sums::new(fourier, queue, grid, (trajectory, effects), coils)?),
        })
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Plain(sums) => sums.bytes(),
            Self::Field(sums) => sums.bytes(),
        }
    }

    /// Products that a field takes, and their relative l2 error; 0 without.
    pub(super) fn terms(&self) -> (usize, f64) {
        match self {
            Self::Plain(_) => (0, 0.0),
            Self::Field(sums) => sums.terms(),
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match self {
            Self::Plain(sums) => sums.fine_grid(),
            Self::Field(sums) => sums.fine_grid(),
        }
    }

    /// samples `[coil][m]` = F images: one for each coil, or with maps one that all see.
    ///
    /// # Safety
    /// All are device memory of these sizes until the stream has passed this; the GPU is current.
    pub(super) unsafe fn forward(
        &self,
        place: &Place,
        images: &Images,
        samples: u64,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Self::Plain(sums) => sums.forward(place, images, samples, coils, progress),
                Self::Field(sums) => sums.forward(place, images, samples, coils, progress),
            }
        }
    }

    /// images = F^H samples; with maps the sum of what coils see.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn adjoint(
        &self,
        place: &Place,
        samples: u64,
        images: &Images,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Self::Plain(sums) => sums.adjoint(place, samples, images, coils, progress),
                Self::Field(sums) => sums.adjoint(place, samples, images, coils, progress),
            }
        }
    }
}

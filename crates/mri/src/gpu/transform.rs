//! The encoding operator on the GPU: Fourier sums, with a field and a basis where there are.

use super::basis::BasisSums;
use super::image_sums::{ImageSums, image_sums_bytes};
use super::place::Place;
use super::sums::SumsBytes;
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress};
use isocenter_base::error::Result;
use isocenter_base::gpu::Queue;
use isocenter_base::gpu::fft::Images;
use isocenter_nufft::Scalar;

/// Sums between the voxels of one grid and the samples of one trajectory, both ways.
pub(super) enum Transform<T: Scalar> {
    One(ImageSums<T>),
    Basis(BasisSums<T>),
}

/// Bytes of a transform for so many coils, before there is one.
pub(super) fn transform_bytes<T: Scalar>(
    fourier: &Fourier,
    queue: &Queue,
    grid: [usize; 3],
    of: (&Trajectory, &Effects),
    coils: usize,
) -> Result<SumsBytes> {
    let (trajectory, effects) = of;
    let Some(basis) = &effects.basis else { return image_sums_bytes::<T>(fourier, queue, grid, of, coils) };
    let bytes = image_sums_bytes::<T>(fourier, queue, grid, of, basis.images())?;
    Ok(BasisSums::<T>::before(basis, [grid.iter().product(), trajectory.samples()], bytes))
}

impl<T: Scalar> Transform<T> {
    /// For so many coils, which decide how sums are fastest; it takes any number.
    pub(super) fn new(
        fourier: &Fourier,
        queue: &Queue,
        grid: [usize; 3],
        of: (&Trajectory, &Effects),
        coils: usize,
    ) -> Result<Self> {
        let (trajectory, effects) = of;
        let Some(basis) = &effects.basis else {
            return Ok(Self::One(ImageSums::new(fourier, queue, grid, of, coils)?));
        };
        let sums = ImageSums::new(fourier, queue, grid, of, basis.images())?;
        let sizes = [grid.iter().product(), trajectory.samples()];
        Ok(Self::Basis(BasisSums::new(basis, queue, sizes, sums)?))
    }

    fn of_one(&self) -> &ImageSums<T> {
        match self {
            Self::One(sums) => sums,
            Self::Basis(sums) => sums.of_one(),
        }
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::One(sums) => sums.bytes(),
            Self::Basis(sums) => sums.bytes(),
        }
    }

    /// Products that a field takes, and their relative l2 error; 0 without.
    pub(super) fn terms(&self) -> (usize, f64) {
        self.of_one().terms()
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        self.of_one().fine_grid()
    }

    /// samples `[coil][m]` = F images: one (those of a basis) for each coil, or with maps one that all see.
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
                Self::One(sums) => sums.forward(place, images, samples, coils, progress),
                Self::Basis(sums) => sums.forward(place, images, samples, coils, progress),
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
                Self::One(sums) => sums.adjoint(place, samples, images, coils, progress),
                Self::Basis(sums) => sums.adjoint(place, samples, images, coils, progress),
            }
        }
    }
}

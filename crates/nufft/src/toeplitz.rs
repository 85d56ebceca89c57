//! Grids on which the normal operators of Fourier sums are multiplications.
//!
//! With F the sums from voxels to points and W real weights, element (r, r') of F^H W F is
//! `q(r - r') = sum_m w_m exp(+2 pi i k_m . (r - r'))`, so that F^H W F rho is q convolved with rho. Q, the discrete Fourier transform of q
//! on a grid of at least 2 N - 1 along every axis, is real, since weights are. Where q has a period of N along an axis, as that of samples
//! on the grid of an image's own frequencies has, N do. J. A. Fessler, S. Lee, V. T. Olafsson, H. R. Shi, D. C. Noll,
//! "Toeplitz-based iterative image reconstruction for MRI with correction for magnetic field inhomogeneity", IEEE Trans. Signal Process. 53,
//! 2005.

use crate::kernel::smooth;

/// The grids of a product with a Toeplitz matrix of images, along z, y, x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grids {
    pub image: [usize; 3],
    /// Where q is needed: differences of voxels, 0 at n / 2.
    pub differences: [usize; 3],
    /// Where Q is.
    pub spectrum: [usize; 3],
}

impl Grids {
    /// Along `whole` axes all frequencies are whole numbers of cycles in the field of view: q repeats itself after as many voxels as the
    /// image has, and a transform of that length serves where there is one.
    pub fn new(image: [usize; 3], whole: [bool; 3]) -> Self {
        let (mut differences, mut spectrum) = (differences(image), doubled(image));
        for d in 0..3 {
            if whole[d] && image[d] > 1 && smooth(image[d]) == image[d] {
                (differences[d], spectrum[d]) = (image[d], image[d]);
            }
        }
        Self { image, differences, spectrum }
    }

    /// Voxels of the image, differences, and frequencies.
    pub fn counts(&self) -> [usize; 3] {
        [self.image, self.differences, self.spectrum].map(|grid| grid.iter().product())
    }
}

/// The doubled grid of an image grid; a plane's stays one.
pub fn doubled([nz, ny, nx]: [usize; 3]) -> [usize; 3] {
    let double = |n: usize| smooth(2 * n - 1);
    [if nz == 1 { 1 } else { double(nz) }, double(ny), double(nx)]
}

/// The grid on which q is needed: differences of voxels, 0 in the middle.
pub fn differences(grid: [usize; 3]) -> [usize; 3] {
    grid.map(|n| 2 * n - 1)
}

//! Grids on which the normal operators of Fourier sums are multiplications.
//!
//! With F the sums from voxels to points and W real weights, element (r, r') of F^H W F is
//! `q(r - r') = sum_m w_m exp(+2 pi i k_m . (r - r'))`, so that F^H W F rho is q convolved with rho. Q, the discrete Fourier transform of q
//! on a grid of at least 2 N - 1 along every axis, is real, since weights are. J. A. Fessler, S. Lee, V. T. Olafsson, H. R. Shi, D. C. Noll,
//! "Toeplitz-based iterative image reconstruction for MRI with correction for magnetic field inhomogeneity", IEEE Trans. Signal Process. 53,
//! 2005.

use crate::kernel::smooth;

/// The doubled grid of an image grid; a plane's stays one.
pub fn doubled([nz, ny, nx]: [usize; 3]) -> [usize; 3] {
    let double = |n: usize| smooth(2 * n - 1);
    [if nz == 1 { 1 } else { double(nz) }, double(ny), double(nx)]
}

/// The grid on which q is needed: differences of voxels, 0 in the middle.
pub fn differences(grid: [usize; 3]) -> [usize; 3] {
    grid.map(|n| 2 * n - 1)
}

//! Exact sums between samples and a grid. `exp(2 pi i k . r)` is a product of a factor along each axis, so they are matrix
//! products over the samples: the factors along x by those along y and z.
//!
//! Voxels at x and -x share their products: sums with cosines and with sines of kx x, of the places at x >= 0 only, are a real
//! by complex product of half the work.

use super::axis::Axis;
pub(crate) use super::separable_adjoint::adjoint;
pub(crate) use super::separable_forward::forward;
use super::{separable_adjoint, separable_forward};
use isocenter_nufft::Scalar;

/// Maximum number of bytes that either direction allocates, on this pool's threads.
pub(crate) fn bytes<T: Scalar>(grid: [usize; 3], samples: usize, coils: usize) -> u64 {
    let [z, y, x] = grid.map(Axis);
    let adjoint = separable_adjoint::bytes::<T>([x, y, z], samples, coils);
    adjoint.max(separable_forward::bytes::<T>([x, y, z], coils))
}

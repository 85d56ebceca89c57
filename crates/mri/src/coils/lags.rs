//! Products of pairs of coils, by their distance in k-space.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;

/// Pairs of coils (c, d), c at most d.
pub(super) fn pairs(coils: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..coils).flat_map(move |c| (c..coils).map(move |d| (c, d)))
}

/// How many there are.
pub(super) fn pair_count(coils: usize) -> usize {
    coils * (coils + 1) / 2
}

/// For each pair of coils (c, d) a number for each distance l along z, y, x of -reach to reach: a matrix at each voxel r is the sum of
/// these times exp(2 pi i l.r), Hermitian.
pub(super) struct Lags {
    pub(super) coils: usize,
    /// Along z, y, x.
    pub(super) reach: [usize; 3],
    /// `[pair][z][y][x]`
    pub(super) values: Vec<Complex<f64>>,
}

impl Lags {
    pub(super) fn zero(coils: usize, reach: [usize; 3]) -> Result<Self> {
        let count = reach.iter().map(|r| 2 * r + 1).product::<usize>();
        Ok(Self { coils, reach, values: zeros(pair_count(coils).saturating_mul(count))? })
    }

    /// Distances of a pair.
    pub(super) fn count(&self) -> usize {
        self.reach.iter().map(|r| 2 * r + 1).product()
    }
}

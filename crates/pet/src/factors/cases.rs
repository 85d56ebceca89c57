//! What factors are tested on.

use crate::cases::noise;
use crate::lattice::Lattice;
use crate::scanner::{Blocks, Crystals};
use isocenter_base::array::{ArrayMut, DType, Layout};

pub(super) fn crystals(blocks: &Blocks, size: [f64; 2]) -> Crystals {
    let normal = |k| blocks.crystal(k)[1];
    Crystals::new(blocks.count().expect("blocks"), |k| blocks.crystal(k)[0], Some(&normal), size).expect("crystals")
}

/// Rings of few crystals with gaps between them, and wider ones between blocks.
pub(crate) fn small() -> (Crystals, Vec<f32>) {
    let blocks = Blocks {
        blocks: 24,
        block_rings: 2,
        across: 5,
        along: 6,
        diameter: 200.0,
        pitch_across: 5.0,
        pitch_along: 5.0,
        block_pitch: 33.0,
        first_azimuth: 0.1,
    };
    let crystals = crystals(&blocks, [4.7, 4.6]);
    let mut efficiencies: Vec<f32> = noise(crystals.count(), 5).iter().map(|v| 0.7 + 0.3 * v).collect();
    efficiencies[30..36].fill(0.0);
    (crystals, efficiencies)
}

pub(super) fn gaussian(at: [f64; 3]) -> f64 {
    0.008 * (-0.5 * at.iter().map(|v| v * v).sum::<f64>() / (30.0 * 30.0)).exp()
}

/// Of [`gaussian`], wider than any lattice here.
pub(crate) fn map() -> (Vec<f32>, [usize; 3], [f64; 3]) {
    let (shape, voxel) = ([50, 64, 60], [3.5, 3.0, 4.0]);
    let at = |k: usize| {
        let index = [k % 60, k / 60 % 64, k / 60 / 64];
        [0, 1, 2].map(|a| voxel[a] * (index[a] as f64 + 0.5 - 0.5 * shape[2 - a] as f64))
    };
    ((0..50 * 64 * 60).map(|k| gaussian(at(k)) as f32).collect(), shape, voxel)
}

/// `[view][z][y][x]`, over a vector's elements.
pub(crate) fn histos<'a>(out: &'a mut [f32], views: usize, lattice: &Lattice) -> ArrayMut<'a, 4> {
    let [nz, ny, nx] = lattice.shape();
    assert_eq!(out.len(), views * nz * ny * nx);
    let layout = Layout::new(out.as_mut_ptr().cast(), DType::F32, [views, nz, ny, nx]);
    // SAFETY: elements of the borrowed vector.
    unsafe { ArrayMut::over(layout) }
}

//! What factors are tested on.

use crate::cases::noise;
use crate::lattice::Lattice;
use crate::scanner::{Blocks, Crystals, Pairs, Scanner};
use isocenter_base::array::{ArrayMut, DType, Layout};

pub(super) fn crystals(blocks: &Blocks, size: [f64; 2]) -> Crystals {
    let normal = |k| blocks.crystal(k)[1];
    Crystals::new(blocks.count().expect("blocks"), |k| blocks.crystal(k)[0], Some(&normal), size).expect("crystals")
}

/// Rings of few crystals with gaps between them, and wider ones between blocks.
pub(crate) fn small() -> (Scanner, Vec<f32>) {
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
    (crystals.into(), efficiencies)
}

/// Two layers, of which the outer one's crystals are wider and lie between those of the inner one, and modules of one block of both each: those that face each other alone are measured, and
/// pairs of their elements each have an efficiency.
pub(crate) fn layered() -> (Scanner, Vec<f32>) {
    let layer = |across, diameter, pitch_across| Blocks {
        blocks: 24,
        block_rings: 2,
        across,
        along: 6,
        diameter,
        pitch_across,
        pitch_along: 5.0,
        block_pitch: 33.0,
        first_azimuth: 0.1,
    };
    let layers = [layer(5, 200.0, 5.0), layer(4, 216.0, 6.25)];
    let [inner, outer] = layers.each_ref().map(|blocks| blocks.count().expect("blocks"));
    let crystal = |k: usize| if k < inner { layers[0].crystal(k) } else { layers[1].crystal(k - inner) };
    let normal = |k| crystal(k)[1];
    let crystals = Crystals::new(inner + outer, |k| crystal(k)[0], Some(&normal), [4.9, 4.6]).expect("crystals");
    let module = |k: usize| {
        let (k, across) = if k < inner { (k, 5) } else { (k - inner, 4) };
        (k / (24 * across * 6) * 24 + k % (24 * across) / across) as u32
    };
    let modules: Vec<u32> = (0..inner + outer).map(module).collect();
    let group = |k: usize| {
        let apart = (k / 48 % 24).abs_diff(k % 48 % 24);
        let apart = apart.min(24 - apart);
        if apart < 7 { 0 } else { apart as u32 - 6 }
    };
    // Elements of a module: 5 x 6 and 4 x 6.
    let values = noise(6 * 54 * 54, 6).iter().map(|v| 1.0 + 0.5 * v).collect();
    let pairs = Pairs::new(&modules, (0..48 * 48).map(group).collect(), (54, values)).expect("pairs");
    let mut efficiencies: Vec<f32> = noise(inner + outer, 5).iter().map(|v| 0.5 + 0.3 * v).collect();
    efficiencies[30..36].fill(0.0);
    (Scanner { pairs: Some(pairs), ..crystals.into() }, efficiencies)
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

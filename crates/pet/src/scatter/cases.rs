//! What scatter is tested on.

use super::{Model, Scatter};
use crate::factors::AttenuationMap;
use crate::lattice::Lattice;
use crate::phantom::{Object, Phantom, Quantity};
use crate::scanner::{Blocks, Crystals};
use crate::views::Views;
use isocenter_base::phantom::Shape;
use std::f64::consts::TAU;

pub(crate) const TIME: f64 = 300.0;

/// A ring as a cylinder of detectors is: crystals without gaps.
pub(crate) fn crystals() -> Crystals {
    let blocks = Blocks {
        blocks: 120,
        block_rings: 1,
        across: 2,
        along: 20,
        diameter: 500.0,
        pitch_across: 250.0 * (TAU / 240.0).tan(),
        pitch_along: 8.0,
        block_pitch: 0.0,
        first_azimuth: 0.0,
    };
    let normal = |k| blocks.crystal(k)[1];
    let size = [blocks.pitch_across * 1.0001, 8.0];
    Crystals::new(blocks.count().expect("blocks"), |k| blocks.crystal(k)[0], Some(&normal), size).expect("crystals")
}

/// Water with activity on one side, and a rod of less attenuation.
pub(crate) fn phantom() -> Phantom {
    let water = Shape::Cylinder { centre: [0.0, 10.0, 0.0], radius: 90.0, length: 140.0 };
    let lung = Shape::Cylinder { centre: [-45.0, 10.0, 0.0], radius: 25.0, length: 140.0 };
    let hot = Shape::Cylinder { centre: [40.0, 0.0, 10.0], radius: 35.0, length: 80.0 };
    let object = |shape, activity, attenuation| Object { shape, activity, attenuation };
    Phantom::new(vec![object(water, 0.2, 0.0096), object(lung, -0.2, -0.007), object(hot, 1.0, 0.0)])
        .expect("a phantom")
}

pub(crate) fn lattice() -> Lattice {
    Lattice::new([20, 44, 44], [8.0; 3]).expect("a lattice")
}

pub(crate) fn scatter(views: &Views, spacing: f64) -> Scatter {
    let (lattice, phantom) = (lattice(), phantom());
    let image = phantom.voxel_means(Quantity::Activity, &lattice).expect("activity");
    let values = phantom.voxel_means(Quantity::Attenuation, &lattice).expect("attenuation");
    let map = AttenuationMap { values: &values, shape: lattice.shape(), voxel: lattice.voxel(), centre: [0.0; 3] };
    let model = Model { spacing: Some(spacing), ..Model::default() };
    Scatter::new((views, &lattice, &crystals()), Some(&image), &map, (&model, TIME)).expect("a scatter")
}

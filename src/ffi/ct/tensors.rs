//! What the calls expect of their tensors.

use crate::ffi::tensor::Expected;
use isocenter_base::array::DType;
use isocenter_ct::{Geometry, Order, Output};

/// Projections of the whole detector, in the geometry's order.
pub(super) fn expect_projections(
    geometry: &Geometry,
    name: &'static str,
    dtypes: &'static [DType],
) -> Expected<'static> {
    let (v, r, b) = (geometry.angles.len(), geometry.rows, geometry.bins);
    match geometry.order {
        Order::Frames => {
            Expected { name, shape: [v, r, b], dims: ["views", "rows", "bins"], optional: &[1], dtypes, gpus: &[] }
        }
        Order::Sinograms => {
            Expected { name, shape: [r, v, b], dims: ["rows", "views", "bins"], optional: &[0], dtypes, gpus: &[] }
        }
    }
}

pub(super) fn expect_volume(geometry: &Geometry) -> Expected<'static> {
    let shape = [geometry.slices, geometry.ny, geometry.nx];
    Expected { name: "volume", shape, dims: ["slices", "ny", "nx"], optional: &[0], dtypes: DType::FLOAT, gpus: &[] }
}

/// A volume of the type that was set.
pub(super) fn expect_output(geometry: &Geometry, output: &Output) -> Expected<'static> {
    let of = DType::VOLUMES.iter().position(|d| *d == output.dtype);
    Expected { dtypes: of.map_or(DType::FLOAT, |k| &DType::VOLUMES[k..=k]), ..expect_volume(geometry) }
}

//! Phantoms as a scan samples them, in its length unit about the rotation axis; x along columns, y upwards.

use super::geometry::Geometry;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::phantom::Ellipse;

/// Refuses ellipses that have no area or are not finite.
pub(super) fn check(ellipses: &[Ellipse]) -> Result<()> {
    Ellipse::check(ellipses, "ellipses")
}

/// Line integrals of one view at the bins' centres.
pub(super) fn line_integrals(geometry: &Geometry, ellipses: &[Ellipse], view: usize) -> Result<Vec<f32>> {
    let angle = geometry.angles[view];
    let turn = angle.sin_cos();
    let axis = geometry.axis_of(view);
    let bin = |k: usize| {
        let s = (k as f64 - axis) * geometry.bin_pitch;
        ellipses.iter().map(|e| e.line_integral(angle, turn, s)).sum::<f64>() as f32
    };
    collected((0..geometry.bins).map(bin))
}

/// Mean over each pixel of row i.
pub(super) fn pixel_means(geometry: &Geometry, ellipses: &[Ellipse], i: usize) -> Result<Vec<f32>> {
    let (a, (cy, cx)) = (geometry.pixel_size, geometry.centre());
    let y = -(i as f64 - cy) * a;
    let pixel = |j: usize| {
        let x = (j as f64 - cx) * a;
        ellipses.iter().map(|e| e.value * e.covered(x, y, a)).sum::<f64>() as f32
    };
    collected((0..geometry.nx).map(pixel))
}

//! Analytic objects, and where to look for them in a reconstruction.

use super::{plan, projection_len, volume_len};
use isocenter::array::{Array, ArrayMut};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry};
use isocenter::phantom::Ellipse;
use std::f64::consts::PI;

/// 1.0 inside, well off the axis of rotation, and at an angle to the pixels.
pub const OBJECT: Ellipse = Ellipse { value: 1.0, centre: [9.0, -6.0], semi: [30.0, 18.0], angle: 0.5 };
/// No point of [`OBJECT`] is further from the axis of rotation: 10.8 to its centre and 30 from there.
pub const REACH: f64 = 41.0;

/// `views` angles over half a turn.
pub fn half_turn(views: usize) -> Vec<f64> {
    (0..views).map(|v| PI * v as f64 / views as f64).collect()
}

/// A detector and a slice that [`OBJECT`] fits on with three of each to spare on either side.
pub fn scene(angles: Vec<f64>, pixel_size: f64, bin_pitch: f64) -> Geometry {
    let cells = |size: f64| 2 * (REACH / size).ceil() as usize + 6;
    let mut g = Geometry::new(angles, cells(bin_pitch));
    (g.nx, g.ny, g.pixel_size, g.bin_pitch) = (cells(pixel_size), cells(pixel_size), pixel_size, bin_pitch);
    g
}

/// A plan on all of this machine's instructions.
pub fn best_plan(g: &Geometry) -> Ct {
    plan(g, Level::detect(), 2)
}

/// Exact line integrals.
pub fn line_integrals(ct: &Ct, g: &Geometry, ellipses: &[Ellipse]) -> Vec<f32> {
    let mut projections = vec![f32::NAN; projection_len(g)];
    let out = ArrayMut::new(&mut projections, g.projection_shape()).expect("projections");
    ct.phantom_projections(ellipses, out).expect("line integrals");
    projections
}

/// Exact pixel means.
pub fn pixel_means(ct: &Ct, g: &Geometry, ellipses: &[Ellipse]) -> Vec<f32> {
    let mut volume = vec![f32::NAN; volume_len(g)];
    let out = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
    ct.phantom_volume(ellipses, out).expect("pixel means");
    volume
}

/// Projections to a volume by filtered back projection.
pub fn reconstruct(ct: &mut Ct, g: &Geometry, projections: &[f32]) -> Vec<f32> {
    super::to_volume(ct, g, |ct, p: Array, v: ArrayMut| ct.reconstruct(p, v), projections)
}

/// Length units of the middle of pixel (i, j) from the axis of rotation: x along columns, y upwards.
pub fn pixel_middle(g: &Geometry, i: usize, j: usize) -> (f64, f64) {
    let (cx, cy) = ((g.nx as f64 - 1.0) / 2.0 + g.x_offset, (g.ny as f64 - 1.0) / 2.0 + g.y_offset);
    ((j as f64 - cx) * g.pixel_size, (cy - i as f64) * g.pixel_size)
}

/// Whether a point lies in an ellipse.
pub fn contains(e: &Ellipse, (x, y): (f64, f64)) -> bool {
    let ((s, c), dx, dy) = (e.angle.sin_cos(), x - e.centre[0], y - e.centre[1]);
    ((dx * c + dy * s) / e.semi[0]).powi(2) + ((dy * c - dx * s) / e.semi[1]).powi(2) < 1.0
}

/// Pixels (of one slice) in an ellipse whose middles are at least `margin` from its edge.
pub fn well_inside(g: &Geometry, e: &Ellipse, margin: f64) -> Vec<usize> {
    let (s, c) = e.angle.sin_cos();
    let edge: Vec<(f64, f64)> = (0..720)
        .map(|k| {
            let (v, u) = (PI * f64::from(k) / 360.0).sin_cos();
            let (u, v) = (e.semi[0] * u, e.semi[1] * v);
            (e.centre[0] + u * c - v * s, e.centre[1] + u * s + v * c)
        })
        .collect();
    let far = |p: (f64, f64)| edge.iter().all(|q| (p.0 - q.0).hypot(p.1 - q.1) >= margin);
    (0..g.ny * g.nx)
        .filter(|k| {
            let p = pixel_middle(g, k / g.nx, k % g.nx);
            contains(e, p) && far(p)
        })
        .collect()
}

/// Mean of some pixels of the first slice.
pub fn mean(volume: &[f32], pixels: &[usize]) -> f64 {
    assert!(pixels.len() > 50, "only {} pixels to look at", pixels.len());
    pixels.iter().map(|&k| f64::from(volume[k])).sum::<f64>() / pixels.len() as f64
}

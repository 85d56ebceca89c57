//! The rays of Joseph's method, as they cross the lines of a slice.

use super::geometry::Geometry;

/// Direction of the packed lines: along x (rows, for rays that are closer to y) or along y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Rows,
    Columns,
}

/// Where the ray of a bin crosses a line of the volume: `origin + bin * along + line * across`, in samples of the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ray {
    pub(super) view: usize,
    pub(super) origin: f64,
    pub(super) along: f64,
    pub(super) across: f64,
    /// Length of the ray between two lines.
    pub(super) step: f32,
}

impl Ray {
    /// From h = axis + (a/b) ((j - cx) cos - (i - cy) sin) = bin, solved for the coordinate along the lines.
    pub(super) fn new(g: &Geometry, view: usize) -> (Axis, Self) {
        let line = g.pixel_line(view);
        if line.dx.abs() >= line.dy.abs() {
            let (along, across) = (1.0 / line.dx, -line.dy / line.dx);
            let step = (g.pixel_size * g.ratio() / line.dx.abs()) as f32;
            (Axis::Rows, Self { view, origin: -line.origin / line.dx, along, across, step })
        } else {
            let (along, across) = (1.0 / line.dy, -line.dx / line.dy);
            let step = (g.pixel_size * g.ratio() / line.dy.abs()) as f32;
            (Axis::Columns, Self { view, origin: -line.origin / line.dy, along, across, step })
        }
    }
}

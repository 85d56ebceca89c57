//! What back projectors are asked about, and what they are launched with.

use super::format::Format;
use crate::geometry::Geometry;
use crate::options::Sampling;
use crate::task::Task;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::gpu::mirrored;

/// What the choice of a projector depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) sampling: Sampling,
    /// Shared memory of a block on this GPU.
    pub(super) shared: usize,
    /// The adjoint's tents on the device, or 0.
    pub(super) tents: u64,
}

/// How a gather reads rows; of no account where there is none.
pub(super) fn sampling(task: &Task) -> Sampling {
    task.interpolation.sampling().unwrap_or(Sampling::Linear)
}

/// Mirrors `ViewLine` in `kernels/ct/backproject.cuh`: in samples of the packed rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ViewLine {
    pub(super) origin: f64,
    pub(super) dx: f64,
    pub(super) dy: f64,
}
mirrored!(ViewLine, 24);

/// Mirrors `Backproject`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments {
    pub(super) data: u64,
    pub(super) lines: u64,
    pub(super) scale: u64,
    pub(super) volume: u64,
    pub(super) slice_stride: i64,
    pub(super) row_stride: i64,
    pub(super) views: i32,
    pub(super) bins: i32,
    pub(super) pitch: i32,
    pub(super) slices: i32,
    pub(super) nx: i32,
    pub(super) ny: i32,
}
mirrored!(Arguments, 72);

/// `side_x * |dx| + side_y * |dy|`, the largest over all views, in samples.
pub(super) fn widest(geometry: &Geometry, oversampling: usize, side_x: usize, side_y: usize) -> f64 {
    let span = |v| {
        let line = geometry.pixel_line(v);
        side_x as f64 * line.dx.abs() + side_y as f64 * line.dy.abs()
    };
    oversampling as f64 * (0..geometry.views()).map(span).fold(0.0, f64::max)
}

/// Tiles that a launch may have along y.
const MAX_DOWN: usize = 65_535;

/// Why tiles of `side` rows cannot cover the slice; None if they can.
pub(super) fn too_tall(geometry: &Geometry, side: usize) -> Option<String> {
    let ny = geometry.ny;
    (ny.div_ceil(side) > MAX_DOWN).then(|| format!("ny is {ny}; this kernel takes at most {}", MAX_DOWN * side))
}

/// Lines of all views in samples of the packed rows.
pub(super) fn view_lines(geometry: &Geometry, format: &Format, bins: usize) -> Result<Vec<ViewLine>> {
    let factor = format.oversampling as f64;
    let zero = format.samples(bins).1 as f64;
    let line = |v| {
        let l = geometry.pixel_line(v);
        ViewLine { origin: l.origin * factor + zero, dx: l.dx * factor, dy: l.dy * factor }
    };
    collected((0..geometry.views()).map(line))
}

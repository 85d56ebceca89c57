//! Points that lie evenly on straight lines through the origin, as the frequencies of a projection do, and many images that share them.

use super::choice::choose;
use super::kernel::Kernel;
use super::settings::Settings;
use crate::error::Result;

/// Lines, of which each has points t = -last .. last, at t times its step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lines {
    /// Of each line, along x and y, in cycles per voxel; points beyond half a cycle are those one or more cycles nearer.
    pub(crate) steps: Vec<[f64; 2]>,
    /// The last point on either side of the origin.
    pub(crate) last: usize,
}

/// The spreading function and the fine grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) kernel: Kernel,
    /// Points along y, x.
    pub(crate) grid: [usize; 2],
}

impl Choice {
    /// The fastest on a GPU for an image (ny, nx) and so many points.
    pub(crate) fn new([ny, nx]: [usize; 2], points: u64, tolerance: f64) -> Result<Self> {
        let samples = usize::try_from(points).unwrap_or(usize::MAX);
        let settings = Settings::new([1, ny, nx], tolerance, samples);
        let cost = |kernel: &Kernel, [_, gy, gx]: [usize; 3]| {
            // Nanoseconds of an image on an H200: of the transform for each point of the fine grid, of spreading for each point and grid
            // point that it is looked at for.
            const TRANSFORM: f64 = 12.5e-3;
            const SPREAD: f64 = 0.1e-3;
            let looked_at = (kernel.width() + 3) as f64;
            Some(TRANSFORM * (gy * gx) as f64 + SPREAD * points as f64 * looked_at * looked_at)
        };
        let (kernel, [_, gy, gx]) = choose::<f32>(&settings, cost)?;
        Ok(Self { kernel, grid: [gy, gx] })
    }
}

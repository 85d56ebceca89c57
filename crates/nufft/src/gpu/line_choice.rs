//! Which spreading function and fine grid serve points on lines in the least time on a GPU.

use crate::choice::choose;
use crate::{Kernel, Settings};
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::Transform;

/// What is tried: where a shorter function will just do lies in between the usual ones.
const UPSAMPLINGS: [f64; 11] = [1.25, 1.3, 1.35, 1.4, 1.45, 1.5, 1.5625, 1.625, 1.6875, 1.8, 2.0];

/// Nanoseconds of an image on an H200: of the transform for each point of the fine grid and each time that it is in registers or in global
/// memory, of spreading for each point and grid point that it is looked at for.
const TRANSFORM: f64 = 3.6e-3;
const SPREAD: f64 = 0.14e-3;

/// The spreading function and the fine grid.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChoice {
    pub kernel: Kernel,
    /// Points along y, x.
    pub grid: [usize; 2],
}

impl LineChoice {
    /// The fastest on a GPU for an image (ny, nx) and so many points.
    pub fn new([ny, nx]: [usize; 2], points: u64, tolerance: f64) -> Result<Self> {
        let samples = usize::try_from(points).unwrap_or(usize::MAX);
        let settings = Settings::new([1, ny, nx], tolerance, samples);
        let cost = |kernel: &Kernel, [_, gy, gx]: [usize; 3]| {
            Some(transform_cost([gy, gx])? + spread_cost(kernel.width(), points as f64))
        };
        let (kernel, [_, gy, gx]) = choose::<f32>(&settings, &UPSAMPLINGS, cost)?;
        Ok(Self { kernel, grid: [gy, gx] })
    }
}

/// Nanoseconds; None for a grid that has no transform.
fn transform_cost([gy, gx]: [usize; 2]) -> Option<f64> {
    let passes = (Transform::passes(gy)? + Transform::passes(gx)?) as f64 / 2.0 + 1.0;
    Some(TRANSFORM * passes * (gy * gx) as f64)
}

/// Nanoseconds.
fn spread_cost(width: usize, points: f64) -> f64 {
    let looked_at = (width + 3) as f64;
    SPREAD * points * looked_at * looked_at
}

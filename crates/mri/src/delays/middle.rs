//! The middle of k-space, where readouts in different directions come near each other.

use super::shift::Readouts;
use isocenter_base::cpu::buffer::append;
use isocenter_base::error::{Result, fail};

/// Largest radius in cycles per field of view of readouts that move along two axes and along three: a matrix has a row for each voxel of
/// an image of that resolution.
const RADIUS: [f64; 2] = [8.0, 2.5];
const LEAST_RADIUS: f64 = 1.5;
const STEP: f64 = 0.5;
/// Samples for each voxel of the middle's area, at least.
const DENSITY: f64 = 1.3;
/// At most, of as many readouts as that makes, evenly spread.
const SAMPLES: usize = 1 << 16;
/// Readouts that move less along an axis, in cycles per field of view, say nothing of its delay.
const MOVED: f64 = 0.5;
/// Planes of a stack that are no farther from the one in the middle are taken with it.
const APART: f64 = 0.25;

/// Samples that delays are found from.
pub(super) struct Middle {
    /// Numbers of the samples.
    pub(super) samples: Vec<usize>,
    /// In cycles per field of view.
    pub(super) radius: f64,
    /// Axes that readouts move along: x, y, and z.
    pub(super) axes: Vec<usize>,
    /// Largest step from sample to sample there, in cycles per field of view.
    pub(super) step: f64,
}

impl Middle {
    /// `sides`: voxels along x, y, z.
    pub(super) fn new(readouts: &Readouts, sides: [usize; 3]) -> Result<Self> {
        let length = readouts.length;
        let count = readouts.axes[0].len() / length;
        let cycles = |m: usize| [0, 1, 2].map(|d| readouts.axes[d][m] * sides[d] as f64);
        let moved =
            |d: usize| (0..count).map(|r| spread(&readouts.axes[d][r * length..][..length])).fold(0.0, f64::max);
        let axes: Vec<usize> = (0..3).filter(|d| sides[*d] > 1 && moved(*d) * sides[*d] as f64 > MOVED).collect();
        if axes.len() < 2 {
            let along = axes.first().map_or("no axis", |d| ["x alone", "y alone", "z alone"][*d]);
            fail!(
                OutOfRange,
                "readouts go along {along}; delays are seen where readouts of several directions cross in the middle of k-space, as those of radial and spiral scans do"
            );
        }
        // A stack is told by the plane in the middle of k-space, which has most of the energy.
        let across =
            |r: usize| (0..3).filter(|d| !axes.contains(d)).map(|d| cycles(r * length)[d].abs()).fold(0.0, f64::max);
        let nearest = (0..count).map(across).fold(f64::INFINITY, f64::min);
        let chosen: Vec<usize> = (0..count).filter(|r| across(*r) <= nearest + APART).collect();
        let within = |m: usize, radius: f64| axes.iter().map(|d| cycles(m)[*d].powi(2)).sum::<f64>() <= radius * radius;
        let smallest = axes.iter().map(|d| sides[*d]).min().unwrap_or(1) as f64;
        let most = RADIUS[axes.len() - 2].min(0.45 * smallest);
        let all = |radius: f64, every: usize| -> Result<Vec<usize>> {
            let mut samples = Vec::new();
            for r in chosen.iter().step_by(every) {
                for m in (r * length..).take(length).filter(|m| within(*m, radius)) {
                    append(&mut samples, m)?;
                }
            }
            Ok(samples)
        };
        let every = all(most, 1)?.len().div_ceil(SAMPLES).max(1);
        let mut radius = most;
        loop {
            let samples = all(radius, every)?;
            if samples.len() as f64 >= DENSITY * voxels(radius, axes.len()) {
                let step = samples.windows(2).filter(|m| m[1] == m[0] + 1 && m[1] % length > 0).map(|m| {
                    let [a, b] = [m[0], m[1]].map(cycles);
                    axes.iter().map(|d| (a[*d] - b[*d]).powi(2)).sum::<f64>().sqrt()
                });
                let step = step.fold(0.0, f64::max);
                return Ok(Self { samples, radius, axes, step });
            }
            radius -= STEP;
            if radius < LEAST_RADIUS {
                fail!(
                    OutOfRange,
                    "the middle of k-space has {} samples within {LEAST_RADIUS} cycles per field of view; delays need {:.0}, where readouts of several directions cross",
                    samples.len(),
                    DENSITY * voxels(LEAST_RADIUS, axes.len())
                );
            }
        }
    }
}

/// That a circle or sphere of k-space tells, its edge included.
fn voxels(radius: f64, dims: usize) -> f64 {
    let around = std::f64::consts::PI * (radius + 1.0).powi(2);
    if dims == 2 { around } else { around * (radius + 1.0) * 4.0 / 3.0 }
}

fn spread(values: &[f64]) -> f64 {
    let [low, high] = values.iter().fold([f64::INFINITY, -f64::INFINITY], |[a, b], v| [a.min(*v), b.max(*v)]);
    high - low
}

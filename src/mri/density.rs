//! Density weights: how much of k-space each sample stands for, in (cycles per voxel)^dimensions, so that gridding comes out in
//! the image's own scale.

use super::trajectory::Trajectory;
use super::transform::{Beyond, Fourier, Progress, Transform};
use crate::cpu::buffer::{Buffer, zeros};
use crate::cpu::level::Level;
use crate::error::{Result, fail};
use rustfft::num_complex::Complex;
use std::f64::consts::PI;
use std::sync::Arc;

/// How weights are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Density {
    /// For any trajectory: weights whose convolution with a kernel is 1 at every sample. J. G. Pipe, P. Menon, "Sampling density
    /// compensation in MRI: rationale and an iterative numerical solution", Magn. Reson. Med. 41, 1999, Eq. 10, with this many
    /// iterations. The kernel is the transform of a triangle over the field of view along each axis, a squared sinc.
    Iterative(usize),
    /// For straight spokes through (or from) the centre, each of this many samples evenly spaced: the volume of the shell between
    /// the middles of a sample and its neighbours, shared by the spokes.
    Radial(usize),
}

/// Weights of a trajectory on a grid `[nz, ny, nx]`.
pub(super) fn weights(
    density: Density,
    fourier: &Fourier,
    level: Level,
    grid: [usize; 3],
    trajectory: &Arc<Trajectory>,
    progress: Progress,
) -> Result<Vec<f64>> {
    match density {
        Density::Radial(readout) => radial(readout, trajectory),
        Density::Iterative(iterations) => iterative(iterations, fourier, level, grid, trajectory, progress),
    }
}

fn radial(readout: usize, trajectory: &Trajectory) -> Result<Vec<f64>> {
    let dims = trajectory.dims();
    let samples = trajectory.samples();
    if readout < 2 || !samples.is_multiple_of(readout) {
        fail!(OutOfRange, "readout is {readout}; it must be at least 2 and divide the number of samples, {samples}");
    }
    let spokes = samples / readout;
    let axes = trajectory.axes();
    let point = |m: usize| axes.map(|a| a[m]);
    let length = |p: [f64; 3]| p.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut out = zeros::<f64>(samples)?;
    for (spoke, out) in out.chunks_exact_mut(readout).enumerate() {
        let first = point(spoke * readout);
        let last = point(spoke * readout + readout - 1);
        let step = length([0, 1, 2].map(|d| (last[d] - first[d]) / (readout - 1) as f64));
        if step == 0.0 {
            fail!(OutOfRange, "spoke {spoke} has no length; radial weights need straight spokes");
        }
        for (k, w) in out.iter_mut().enumerate() {
            let at = point(spoke * readout + k);
            let straight = [0, 1, 2].map(|d| first[d] + (last[d] - first[d]) * k as f64 / (readout - 1) as f64 - at[d]);
            if length(straight) > 0.01 * step {
                fail!(
                    OutOfRange,
                    "sample {k} of spoke {spoke} is off its straight line by {:.2} of a step; radial weights need straight spokes of evenly spaced samples",
                    length(straight) / step
                );
            }
            let radius = length(at);
            // Both ends of a full spoke share the circle; of a half spoke there is one end.
            let through = first.iter().zip(&last).map(|(a, b)| a * b).sum::<f64>() < 0.0;
            let ends = if through { 2.0 } else { 1.0 } * spokes as f64;
            let volume = |r: f64| if dims == 2 { PI * r * r } else { 4.0 / 3.0 * PI * r.powi(3) };
            let (outer, inner) = (volume(radius + 0.5 * step), volume((radius - 0.5 * step).abs()));
            // A sample nearer to the centre than half a step has the rest of its interval on the other side.
            *w = if radius >= 0.5 * step {
                (outer - inner) / ends
            } else if through {
                (outer + inner) / ends
            } else {
                outer / ends
            };
        }
    }
    Ok(out)
}

fn iterative(
    iterations: usize,
    fourier: &Fourier,
    level: Level,
    grid: [usize; 3],
    trajectory: &Arc<Trajectory>,
    progress: Progress,
) -> Result<Vec<f64>> {
    let mut transform = Transform::<f64>::new(fourier, level, grid, trajectory, &Beyond::default())?;
    let samples = trajectory.samples();
    let mut weights = zeros::<f64>(samples)?;
    weights.fill(1.0);
    let mut values = Buffer::<Complex<f64>>::zeroed(samples)?;
    let mut image = Buffer::<Complex<f64>>::zeroed(grid.iter().product())?;
    // 1 at the centre, so that the kernel's integral over k-space is 1.
    let triangle = |n: usize| -> Vec<f64> {
        let centre = (n / 2) as f64;
        (0..n).map(|j| if n == 1 { 1.0 } else { 1.0 - (j as f64 - centre).abs() / (centre + 1.0) }).collect()
    };
    let [tz, ty, tx] = grid.map(triangle);
    for iteration in 0..iterations {
        progress(iteration as f64 / iterations as f64)?;
        values.iter_mut().zip(&weights).for_each(|(v, w)| *v = Complex::new(*w, 0.0));
        transform.adjoint(&values, &mut image, &mut |_| Ok(()))?;
        for (row, line) in image.chunks_exact_mut(grid[2]).enumerate() {
            let scale = tz[row / grid[1]] * ty[row % grid[1]];
            line.iter_mut().zip(&tx).for_each(|(v, t)| *v *= scale * t);
        }
        transform.forward(&image, &mut values, &mut |_| Ok(()))?;
        // The kernel is nowhere negative and 1 at a sample itself, so the convolution is at least the weight.
        weights.iter_mut().zip(&*values).for_each(|(w, v)| *w /= v.re.max(*w * f64::EPSILON));
    }
    Ok(weights)
}

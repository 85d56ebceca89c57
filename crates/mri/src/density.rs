//! Density weights: how much of k-space each sample stands for, in (cycles per voxel)^dimensions, so that gridding comes out in
//! the image's own scale.

use super::engine::Engine;
use super::trajectory::Trajectory;
use super::transform::Fourier;
use isocenter_base::context::{Job, Stage};
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::error::{Result, fail};
use isocenter_solve::Vectors;
use rustfft::num_complex::Complex;
use std::f64::consts::PI;

/// How weights are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Density {
    /// For any trajectory: weights whose convolution with a kernel is 1 at every sample. J. G. Pipe, P. Menon, "Sampling density
    /// compensation in MRI: rationale and an iterative numerical solution", Magn. Reson. Med. 41, 1999, Eq. 10, with this many
    /// iterations. The kernel is the squared transform of the field of view, after K. O. Johnson, J. G. Pipe, "Convolution kernel design and
    /// efficient algorithm for sampling density correction", Magn. Reson. Med. 61, 2009. These weights w make |F^H W F - 1| least:
    /// its square is a sum over differences d of two voxels, each as often as it occurs, of |sum_m w_m exp(2 pi i k_m.d) - delta(d)|^2,
    /// and where its derivatives are 0, the convolution is 1.
    Iterative(usize),
    /// For straight spokes through (or from) the centre, each of this many samples evenly spaced: a step times the circle (sphere) on
    /// which a sample lies, shared by the spokes. On a circle that is the ramp |k|, here without what its transform, -1 / (2 pi^2 r^2), has
    /// beyond half a period of the samples, r = 1 / (2 step): within it a spoke's point spread is then right, where |k| itself
    /// takes on the copies' tails (a body would come out some percent too bright or too dark). k^2 has no such tail.
    Radial(usize),
}

/// The integral of cos(x u) / u^2 over u from 1 on.
fn tail(x: f64) -> f64 {
    if x > 12.0 {
        // By parts, four times: off by 1e-3 of the first weight that comes here.
        return -x.sin() / x + 2.0 * x.cos() / x.powi(2) + 6.0 * x.sin() / x.powi(3) - 24.0 * x.cos() / x.powi(4);
    }
    // By parts once, with the sine integral's power series.
    let (mut term, mut sine_integral) = (x, x);
    for n in (3..80).step_by(2) {
        let n = f64::from(n);
        term *= -x * x / (n * (n - 1.0));
        sine_integral += term / n;
    }
    x.cos() - x * (PI / 2.0 - sine_integral)
}

/// Spokes may pass the centre at this part of their length: beyond, they are no spokes through or from it.
const MISS: f64 = 0.25;
/// Steps at which they may pass it without a remark: gradients that start late shift them by about one.
const SHIFT: f64 = 2.0;
/// Steps by which a sample may be off its line.
const OFF: f64 = 0.05;

type Point = [f64; 3];

fn length(p: Point) -> f64 {
    p.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// How far sample c, after b, after a, is from where the step from a to b leads, in such steps.
fn off(a: Point, b: Point, c: Point) -> f64 {
    length([0, 1, 2].map(|d| a[d] - 2.0 * b[d] + c[d])) / length([0, 1, 2].map(|d| b[d] - a[d]))
}

/// Distance of the centre from a spoke.
fn miss(first: Point, last: Point) -> f64 {
    let along = [0, 1, 2].map(|d| last[d] - first[d]);
    let square: f64 = along.iter().map(|v| v * v).sum();
    let nearest = -first.iter().zip(along).map(|(a, b)| a * b).sum::<f64>() / square;
    length([0, 1, 2].map(|d| first[d] + nearest.clamp(0.0, 1.0) * along[d]))
}

/// See [`Density::Radial`]. Beside the weights a remark, if the spokes may be other ones.
pub(super) fn radial(readout: usize, trajectory: &Trajectory) -> Result<(Vec<f64>, Option<String>)> {
    let dims = trajectory.image_dims();
    let samples = trajectory.samples();
    if readout < 2 || !samples.is_multiple_of(readout) {
        fail!(
            OutOfRange,
            "parameter, the samples of a spoke, is {readout}; it must be at least 2 and divide the number of samples, {samples}"
        );
    }
    let spokes = samples / readout;
    let axes = trajectory.axes()?;
    // What lies beyond a plane's two axes makes no difference to its one voxel there.
    let point = |m: usize| [0, 1, 2].map(|d| if d < dims { axes[d][m] } else { 0.0 });
    // Samples from the first on that lie evenly on one line: probably the readout.
    let even = || (2..samples).find(|m| off(point(m - 2), point(m - 1), point(*m)) > OFF).unwrap_or(samples);
    let hint = || {
        let seen = even();
        format!(
            "parameter, the samples of a spoke, is {readout}; from trajectory[0] on {seen} samples lie evenly on one line"
        )
    };
    let (mut joined, mut beside, mut farthest) = (0, 0, 0.0f64);
    let mut out = zeros::<f64>(samples)?;
    for (spoke, out) in out.chunks_exact_mut(readout).enumerate() {
        let first = point(spoke * readout);
        let last = point(spoke * readout + readout - 1);
        let step = length([0, 1, 2].map(|d| (last[d] - first[d]) / (readout - 1) as f64));
        if step == 0.0 {
            fail!(
                OutOfRange,
                "the spoke from trajectory[{}] on has no length; radial weights need straight spokes. {}",
                spoke * readout,
                hint()
            );
        }
        for (k, w) in out.iter_mut().enumerate() {
            let at = point(spoke * readout + k);
            let straight = [0, 1, 2].map(|d| first[d] + (last[d] - first[d]) * k as f64 / (readout - 1) as f64 - at[d]);
            if length(straight) > 0.01 * step {
                fail!(
                    OutOfRange,
                    "trajectory[{}] is off the straight line of its spoke by {:.2} of a step; radial weights need straight spokes of evenly spaced samples. {}",
                    spoke * readout + k,
                    length(straight) / step,
                    hint()
                );
            }
            let radius = length(at);
            // Both ends of a full spoke share the circle; of a half spoke there is one end.
            let through = first.iter().zip(&last).map(|(a, b)| a * b).sum::<f64>() < 0.0;
            let ends = if through { 2.0 } else { 1.0 } * spokes as f64;
            *w = if dims == 2 {
                let x = radius / step;
                // Where half spokes begin near the centre, the next spoke's first sample is a second one there.
                let near = if through { 1.0 } else { (0.5 + x).min(1.0) };
                2.0 * PI * step * step * (x + near * 2.0 / (PI * PI) * tail(PI * x)) / ends
            } else {
                4.0 * PI * radius * radius * step / ends
            };
        }
        let missed = miss(first, last);
        if missed > MISS * step * (readout - 1) as f64 {
            fail!(
                OutOfRange,
                "the spoke from trajectory[{}] on passes the centre at {missed:.4} cycles per voxel, {:.1} of its steps; radial weights need spokes through or from the centre. {}",
                spoke * readout,
                missed / step,
                hint()
            );
        }
        farthest = farthest.max(missed / step);
        beside += usize::from(missed > SHIFT * step);
        if spoke + 1 < spokes {
            let [before, next] = [spoke * readout + readout - 2, (spoke + 1) * readout].map(point);
            joined += usize::from(off(before, last, next) <= OFF);
        }
    }
    let remark = if joined > 0 {
        let (long, n) = (even(), spokes);
        Some(format!(
            "parameter, the samples of a spoke, is {readout}, but {joined} of {n} spokes go on in the next one; from trajectory[0] on {long} samples lie evenly on one line: are these one spoke?"
        ))
    } else if beside > 0 {
        Some(format!(
            "{beside} of {spokes} spokes pass the centre at up to {farthest:.1} steps from sample to sample; radial weights are those of spokes through or from it"
        ))
    } else {
        None
    };
    Ok((out, remark))
}

/// How often differences of voxels occur, divided by the voxels: 1 in the middle, so that the kernel's integral over k-space is 1.
fn occurrence(differences: [usize; 3]) -> Result<Vec<f64>> {
    let triangle = |n: usize| -> Vec<f64> {
        let centre = n / 2;
        (0..n).map(|j| 1.0 - j.abs_diff(centre) as f64 / (centre + 1) as f64).collect()
    };
    let [z, y, x] = differences.map(triangle);
    let mut out = zeros::<f64>(differences.iter().product())?;
    for (row, line) in out.chunks_exact_mut(differences[2]).enumerate() {
        let scale = z[row / differences[1]] * y[row % differences[1]];
        line.iter_mut().zip(&x).for_each(|(v, t)| *v = scale * t);
    }
    Ok(out)
}

/// See [`Density::Iterative`]; the engine's grid is that of differences of voxels, it has one coil and no weights.
pub(super) fn iterative<E: Engine>(
    iterations: usize,
    engine: &mut E,
    fourier: &Fourier,
    job: &Job,
) -> Result<Vec<f64>> {
    job.enter(Stage::Density);
    let (grid, samples) = (engine.scan().grid, engine.scan().samples());
    let window = occurrence(grid)?;
    // The kernel at a sample itself. It is nowhere negative, so that the convolution is at least this times the weight.
    let peak: f64 = window.iter().sum();
    // The convolution is F S S^H F^H w, with the window's root as sensitivity S.
    let root = collected(window.into_iter().map(|v| Complex::new(v.sqrt(), 0.0)))?;
    let sensitivity = engine.upload(&root)?;
    drop(root);
    engine.set_maps(Some(sensitivity))?;
    engine.prepare(fourier)?;
    let mut weights = zeros::<f64>(samples)?;
    weights.fill(1.0);
    let mut image = engine.vectors().uninitialised(grid.iter().product())?;
    for _ in 0..iterations {
        let values = collected(weights.iter().map(|w| Complex::new(*w, 0.0)))?;
        let mut samples = engine.upload(&values)?;
        engine.adjoint(&samples, &mut image, &mut |_| job.check())?;
        engine.forward(&image, &mut samples, &mut |_| job.check())?;
        let sums = engine.download(&samples)?;
        weights.iter_mut().zip(&sums).for_each(|(w, v)| *w /= v.re.max(*w * peak));
        job.advance(1.0 / iterations as f64);
    }
    Ok(weights)
}

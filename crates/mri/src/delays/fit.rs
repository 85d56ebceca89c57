//! A small image for each coil, fitted to the middle of k-space: what samples that it cannot explain say of their places.

use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Error, Result, Status};
use isocenter_nufft::{Plan, Settings};
use isocenter_solve::hermitian::{cholesky, inverse_lower, solve};
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;

type C = Complex<f64>;

/// Tolerance of transforms: below what the ridge leaves.
const TOLERANCE: f64 = 1e-9;

/// Samples, and transforms between them and images of `side` voxels along each axis.
pub(super) struct Fit {
    side: usize,
    dims: usize,
    /// Added to the diagonal of F^H F, relative to it: images have more voxels than the middle of k-space tells, and the others stay small.
    ridge: f64,
    images: Plan<f64>,
    pairs: Plan<f64>,
    /// `[coil][sample]`
    data: Vec<C>,
    coils: usize,
}

/// The best images of samples at some places.
pub(super) struct Solution {
    /// Cholesky's, of F^H F and the ridge.
    factor: Vec<C>,
    /// `[coil][voxel]`
    images: Vec<C>,
    /// |samples - F images|^2 and the ridge's part.
    pub(super) cost: f64,
    /// Minus twice the logarithm of how likely samples are at these places, for a coil and but for a constant, of random images and noise with the ridge as their ratio:
    /// places that are too far apart make images explain anything, and samples that are alike unlikely.
    pub(super) surprise: f64,
}

/// Gauss and Newton's system for what moves places.
pub(super) struct Tangents {
    /// Changes of samples, `[unknown][coil][sample]`.
    changes: Vec<Vec<C>>,
    /// What images cannot follow of their products, `[unknown][unknown]`.
    pub(super) matrix: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    /// F^H of the changes.
    backs: Vec<Vec<C>>,
    /// Samples less F images.
    residual: Vec<C>,
}

fn cube(side: usize, dims: usize) -> [usize; 3] {
    [if dims == 2 { 1 } else { side }, side, side]
}

fn product(a: &[C], b: &[C]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a.conj() * b).re).sum()
}

impl Fit {
    pub(super) fn new(level: Level, [side, dims]: [usize; 2], ridge: f64, data: Vec<C>, coils: usize) -> Result<Self> {
        let samples = data.len() / coils;
        let plan = |side| Plan::new(Settings { level, ..Settings::new(cube(side, dims), TOLERANCE, samples) });
        Ok(Self { side, dims, ridge, images: plan(side)?, pairs: plan(2 * side)?, data, coils })
    }

    pub(super) fn samples(&self) -> usize {
        self.data.len() / self.coils
    }

    pub(super) fn coils(&self) -> usize {
        self.coils
    }

    /// Sum of the squares of all coils' samples.
    pub(super) fn energy(&self) -> f64 {
        product(&self.data, &self.data)
    }

    fn voxels(&self) -> usize {
        self.side.pow(self.dims as u32)
    }

    /// Where a voxel is along z, y, x, in voxels from the first.
    fn index(&self, voxel: usize) -> [usize; 3] {
        [voxel / (self.side * self.side), voxel / self.side % self.side, voxel % self.side]
    }

    /// F^H F and the ridge: sums over samples of exp(2 pi i k.(r - r')), which differences of voxels have.
    fn system(&mut self, points: &[[f64; 3]]) -> Result<Vec<C>> {
        self.pairs.set_points(points.len(), |m| points[m])?;
        let (voxels, wide) = (self.voxels(), 2 * self.side);
        let mut sums = zeros::<C>(wide.pow(self.dims as u32))?;
        self.pairs.adjoint(&vec![C::from(1.0); points.len()], &mut sums, &mut |_| Ok(()))?;
        let mut matrix = zeros::<C>(voxels * voxels)?;
        for (a, row) in matrix.chunks_exact_mut(voxels).enumerate() {
            let from = self.index(a);
            for (b, v) in row.iter_mut().enumerate() {
                let to = self.index(b);
                let [z, y, x] = [0, 1, 2].map(|d| from[d] + self.side - to[d]);
                *v = sums[(if self.dims == 2 { y } else { z * wide + y }) * wide + x];
            }
            row[a] += self.ridge * points.len() as f64;
        }
        Ok(matrix)
    }

    /// The best images of samples taken at these places along z, y, x, in cycles per voxel.
    pub(super) fn solve(&mut self, points: &[[f64; 3]]) -> Result<Solution> {
        let voxels = self.voxels();
        let Ok(factor) = cholesky(&self.system(points)?, voxels, 0.0)? else {
            return Err(Error::new(Status::Internal, "samples and the ridge make no positive matrix".to_owned()));
        };
        self.images.set_points(points.len(), |m| points[m])?;
        let mut images = zeros::<C>(self.coils * voxels)?;
        self.images.adjoint(&self.data, &mut images, &mut |_| Ok(()))?;
        let back = images.clone();
        images.chunks_exact_mut(voxels).for_each(|image| solve(&factor, image));
        let cost = (product(&self.data, &self.data) - product(&back, &images)).max(0.0);
        let samples = self.samples() as f64;
        let determinant: f64 = (0..voxels).map(|k| 2.0 * factor[k * voxels + k].re.ln()).sum();
        let surprise =
            samples * (cost / self.energy()).ln() + determinant - voxels as f64 * (self.ridge * samples).ln();
        Ok(Solution { factor, images, cost, surprise })
    }

    /// Samples of a coil less the voxels that they tell.
    pub(super) fn freedom(&self, solution: &Solution) -> Result<f64> {
        let (samples, voxels) = (self.samples() as f64, self.voxels());
        let inverse = inverse_lower(&solution.factor, voxels)?.iter().map(|v| v.norm_sqr()).sum::<f64>();
        Ok((samples - voxels as f64 + self.ridge * samples * inverse).max(1.0))
    }

    /// What moves of places do to samples, of the solution whose places the plan has: `moves[unknown][sample]`, along z, y, x.
    pub(super) fn tangents(&mut self, solution: &Solution, moves: &[Vec<[f64; 3]>]) -> Result<Tangents> {
        let (voxels, samples) = (self.voxels(), self.samples());
        let mut residual = zeros::<C>(self.data.len())?;
        self.images.forward(&solution.images, &mut residual, &mut |_| Ok(()))?;
        residual.iter_mut().zip(&self.data).for_each(|(r, d)| *r = d - *r);
        let mut changes = vec![zeros::<C>(self.data.len())?; moves.len()];
        for axis in 3 - self.dims..3 {
            let middle = (self.side / 2) as f64;
            let slope =
                |(v, image): (usize, &C)| C::new(0.0, -TAU * (self.index(v % voxels)[axis] as f64 - middle)) * image;
            let weighted = collected(solution.images.iter().enumerate().map(slope))?;
            let mut slopes = zeros::<C>(self.data.len())?;
            self.images.forward(&weighted, &mut slopes, &mut |_| Ok(()))?;
            for (change, moves) in changes.iter_mut().zip(moves) {
                for (k, v) in change.iter_mut().enumerate() {
                    *v += slopes[k] * moves[k % samples][axis];
                }
            }
        }
        let mut backs = vec![zeros::<C>(solution.images.len())?; moves.len()];
        let mut solved = backs.clone();
        for ((change, back), solved) in changes.iter().zip(&mut backs).zip(&mut solved) {
            self.images.adjoint(change, back, &mut |_| Ok(()))?;
            solved.copy_from_slice(back);
            solved.chunks_exact_mut(voxels).for_each(|image| solve(&solution.factor, image));
        }
        let count = moves.len();
        let entry = |k: usize| {
            let (a, b) = (k / count, k % count);
            product(&changes[a], &changes[b]) - product(&backs[a], &solved[b])
        };
        let matrix = (0..count * count).map(entry).collect();
        let gradient = changes.iter().map(|change| product(change, &residual)).collect();
        Ok(Tangents { changes, matrix, gradient, backs: solved, residual })
    }

    /// For each unknown the sum of each readout's part of the gradient, with changes less what images follow; `readout` of each sample.
    pub(super) fn scores(&mut self, tangents: &Tangents, readout: &[usize]) -> Result<Vec<Vec<f64>>> {
        let (samples, readouts) = (self.samples(), readout.iter().max().map_or(0, |r| r + 1));
        let mut out = Vec::new();
        for (change, image) in tangents.changes.iter().zip(&tangents.backs) {
            let mut followed = zeros::<C>(self.data.len())?;
            self.images.forward(image, &mut followed, &mut |_| Ok(()))?;
            let mut scores = zeros::<f64>(readouts)?;
            for (k, ((c, f), r)) in change.iter().zip(&followed).zip(&tangents.residual).enumerate() {
                scores[readout[k % samples]] += ((c - f).conj() * r).re;
            }
            out.push(scores);
        }
        Ok(out)
    }
}

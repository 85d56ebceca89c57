//! Gauss and Newton's steps for image and coils at once, on any engine.
//!
//! Unknowns are x = (image, coefficients of the first coil, of the second, ...), and coil j measures F (image c_j). A step from x solves
//! `(D^H N D + alpha I) h = D^H (F^H W s - N (image c)) + alpha (x_0 - x)` by conjugate gradient, N = F^H W F of each coil and D the
//! derivative of the products image c_j: of the samples only F^H W s is needed. alpha gets smaller from step to step.

use super::engine::Joint;
use super::folds::folded_axis;
use super::options::Joining;
use super::smooth::Smooth;
use crate::engine::{Scan, Solve, Vector};
use crate::normal::{Scratch, normal_of_data};
use isocenter_base::context::{Context, Job, LogLevel};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::{Result, fail};
use isocenter_solve::conjugate_gradient::{LinearSystem, conjugate_gradient};
use isocenter_solve::{Stop, Vectors};
use rustfft::num_complex::Complex;

/// Root mean square of the image that steps work on, which is what alpha weighs against coils of about 1: that of BART's nlinv, whose
/// samples have a norm of 100, for an image of 256 x 256.
const SIZE: f64 = 100.0 / 256.0;
/// Where coils are shorter than this part of their root mean square, maps are shorter than 1: away from the object they fade, where coils are
/// ripples of a few per cent whose direction means nothing.
const SHORTEST: f64 = 0.1;

/// Image and coils, and how much of the samples they leave.
pub(super) struct Found<E: Joint> {
    /// `[coil][voxel]`, of length 1.
    pub(super) maps: Vector<E>,
    pub(super) image: Vector<E>,
    /// |F image c - s| / |s| in the weights' norm, before the first step and after each.
    pub(super) residuals: Vec<f64>,
}

/// What is measured, of a scan.
pub(super) struct Data<E: Joint> {
    /// F^H W s, `[coil][voxel]`.
    pub(super) right: Vector<E>,
    /// |s|^2 in the weights' norm.
    pub(super) square: f64,
    /// The sum of the weights: what N is on its diagonal.
    pub(super) gain: f64,
}

/// Numbers that are kept besides what the engine counts: coils, vectors of conjugate gradient, images of a coil, and what waves take.
pub(super) fn numbers(scan: &Scan, smooth: &Smooth) -> u64 {
    let (coils, voxels) = (scan.coils, scan.voxels());
    let unknowns = voxels + coils * smooth.count();
    // x and where it begins, the right-hand side, a step, its direction and product; an image of a coil, its product, and two more.
    (coils * voxels + 6 * unknowns + 4 * voxels + 2 * smooth.room() + smooth.tables()) as u64
}

pub(super) struct Problem<'a, E: Joint> {
    engine: &'a mut E,
    solve: &'a Solve,
    job: &'a Job,
    scratch: Scratch<'a, E>,
    waves: E::Waves,
    coils: usize,
    voxels: usize,
    /// Coefficients of a coil.
    count: usize,
    /// Where coils are.
    maps: Vector<E>,
    /// An image of a coil, its product with N, and another.
    coil: Vector<E>,
    product: Vector<E>,
    other: Vector<E>,
}

impl<'a, E: Joint> Problem<'a, E> {
    pub(super) fn new(
        engine: &'a mut E,
        context: &Context,
        smooth: &Smooth,
        solve: &'a Solve,
        job: &'a Job,
    ) -> Result<Self> {
        let (coils, voxels) = (engine.scan().coils, engine.scan().voxels());
        let (waves, scratch) = (engine.waves(context, smooth)?, Scratch::new(engine, solve, None)?);
        let maps = engine.vectors().zeros(coils * voxels)?;
        let mut image = || engine.vectors().zeros(voxels);
        let (coil, product, other) = (image()?, image()?, image()?);
        Ok(Self {
            engine,
            solve,
            job,
            scratch,
            waves,
            coils,
            voxels,
            count: smooth.count(),
            maps,
            coil,
            product,
            other,
        })
    }

    /// Where the coefficients of a coil are among the unknowns.
    fn place(&self, coil: usize) -> usize {
        self.voxels + coil * self.count
    }

    /// product = N coil.
    fn apply(&mut self) -> Result<()> {
        let Self { engine, coil, product, scratch, solve, job, .. } = self;
        normal_of_data(*engine, coil, product, scratch, solve, job)?;
        job.check()
    }

    /// out = D^H of what `product` is of a coil, in addition to what is there of coils before.
    fn add_transpose(&mut self, coil: usize, at: &Vector<E>, out: &mut Vector<E>) -> Result<()> {
        let (map, to) = (coil * self.voxels, self.place(coil));
        let Self { engine, maps, product, other, waves, .. } = self;
        engine.multiply_conjugate((maps, map), product, out, coil > 0)?;
        engine.multiply_conjugate((at, 0), product, other, false)?;
        engine.contract(waves, other, (out, to))
    }

    /// The size that samples are divided by: then the gridded image, in the scale that explains most of them, has a root mean square of
    /// [`SIZE`] over its voxels, of all coils together.
    fn size(&mut self, data: &Data<E>) -> Result<f64> {
        let square = self.engine.vectors().dot(&data.right, &data.right)?;
        if !square.is_finite() {
            fail!(
                OutOfRange,
                "samples are so large that their adjoint is beyond the range of this precision; divide them by 1e20"
            );
        }
        let mut energy = 0.0;
        for coil in 0..self.coils {
            self.engine.vectors().copy((&data.right, coil * self.voxels), (&mut self.coil, 0), self.voxels)?;
            self.apply()?;
            energy += self.engine.vectors().dot(&self.coil, &self.product)?;
        }
        if !(square > 0.0 && energy > 0.0) {
            fail!(
                OutOfRange,
                "samples are 0, or so small that their adjoint is 0 in this precision; coils cannot be told from them"
            );
        }
        Ok(square / energy * (square / self.voxels as f64).sqrt() / SIZE)
    }

    /// Makes coils from their coefficients. D^H of what is left of the samples to `left`; of |samples|^2 what is left, for samples of this size.
    fn look(&mut self, at: &Vector<E>, (data, size): (&Data<E>, f64), mut left: Option<&mut Vector<E>>) -> Result<f64> {
        let mut rest = data.square / (size * size);
        for coil in 0..self.coils {
            let (map, from) = (coil * self.voxels, self.place(coil));
            let Self { engine, maps, waves, .. } = self;
            engine.expand(waves, (at, from), (maps, map))?;
            engine.multiply((maps, map), (at, 0), &mut self.coil, false)?;
            self.apply()?;
            // |s - F g|^2 = |s|^2 - g . (2 F^H W s - N g).
            let Self { engine, coil: own, product, other, .. } = self;
            engine.vectors().copy((&data.right, map), (other, 0), self.voxels)?;
            engine.vectors().combine(1.0 / size, other, -1.0, product)?;
            rest -= engine.vectors().dot(own, product)? + engine.vectors().dot(own, other)? / size;
            if let Some(left) = &mut left {
                self.add_transpose(coil, at, left)?;
            }
        }
        Ok(rest.max(0.0))
    }

    /// Warns of samples that cannot tell an image from its fold-overs.
    pub(super) fn doubt(&mut self, context: &Context) -> Result<()> {
        if !context.logs() {
            return Ok(());
        }
        let mut first = zeros::<Complex<f64>>(self.voxels)?;
        first[0].re = 1.0;
        self.coil = self.engine.upload(&first)?;
        self.apply()?;
        let response = self.engine.download(&self.product)?;
        if let Some(axis) = folded_axis(&response, self.engine.scan().grid) {
            context.log(LogLevel::Warning, || {
                format!("along {axis} all samples are on lines that are further apart than the field of view asks for: they cannot tell the image from its fold-overs, and maps and image are likely to be wrong; some lines between those in the middle of k-space would do")
            });
        }
        Ok(())
    }

    /// All steps.
    pub(super) fn run(mut self, data: &Data<E>, joining: &Joining) -> Result<Found<E>> {
        let size = self.size(data)?;
        let relative = |rest: f64| (rest / data.square).sqrt() * size;
        let unknowns = self.voxels + self.coils * self.count;
        let mut start = self.engine.vectors().zeros(unknowns)?;
        let ones = self.engine.vectors().filled(self.voxels, 1.0)?;
        self.engine.vectors().copy((&ones, 0), (&mut start, 0), self.voxels)?;
        drop(ones);
        let mut x = self.engine.vectors().zeros(unknowns)?;
        self.engine.vectors().copy((&start, 0), (&mut x, 0), unknowns)?;
        let (mut residuals, mut alpha) = (Vec::with_capacity(joining.steps + 1), joining.alpha);
        for _ in 0..joining.steps {
            let mut right = self.engine.vectors().zeros(unknowns)?;
            residuals.push(relative(self.look(&x, (data, size), Some(&mut right))?));
            let weight = alpha * data.gain;
            self.engine.vectors().combine(weight, &start, 1.0, &mut right)?;
            self.engine.vectors().combine(-weight, &x, 1.0, &mut right)?;
            self.advance((&mut x, &mut right), weight, joining)?;
            alpha *= joining.reduction;
        }
        residuals.push(relative(self.look(&x, (data, size), None)?));
        let length = self.engine.vectors().dot(&self.maps, &self.maps)? / self.voxels as f64;
        let Self { engine, mut maps, coil: mut image, product, voxels, .. } = self;
        engine.vectors().copy((&x, 0), (&mut image, 0), voxels)?;
        engine.normalise(&mut maps, &mut image, SHORTEST * length.sqrt())?;
        engine.vectors().combine(0.0, &product, size, &mut image)?;
        Ok(Found { maps, image, residuals })
    }

    /// A step from x, where `right` is the right-hand side.
    fn advance(&mut self, (x, right): (&mut Vector<E>, &mut Vector<E>), weight: f64, joining: &Joining) -> Result<()> {
        let Joining { steps, iterations, residual, .. } = *joining;
        let share = 1.0 / (steps * iterations) as f64;
        let mut step = self.engine.vectors().zeros(self.voxels + self.coils * self.count)?;
        let stop = Stop { iterations, tolerance: residual };
        let mut system = System { problem: self, at: x, weight, share };
        let done = conjugate_gradient(&mut system, right, &mut step, true, stop)?.len() - 1;
        self.job.advance(share * (iterations - done) as f64);
        self.engine.vectors().combine(1.0, &step, 1.0, x)
    }
}

/// D^H N D + weight I, at x.
struct System<'s, 'a, E: Joint> {
    problem: &'s mut Problem<'a, E>,
    at: &'s Vector<E>,
    weight: f64,
    /// Of an iteration.
    share: f64,
}

impl<E: Joint> LinearSystem for System<'_, '_, E> {
    type Vectors = E::Vectors;

    fn vectors(&mut self) -> &mut E::Vectors {
        self.problem.engine.vectors()
    }

    fn apply(&mut self, h: &Vector<E>, out: &mut Vector<E>) -> Result<()> {
        for coil in 0..self.problem.coils {
            let (map, from) = (coil * self.problem.voxels, self.problem.place(coil));
            let Problem { engine, waves, maps, coil: image, other, .. } = &mut *self.problem;
            engine.expand(waves, (h, from), (other, 0))?;
            engine.multiply((self.at, 0), (other, 0), image, false)?;
            engine.multiply((maps, map), (h, 0), image, true)?;
            self.problem.apply()?;
            self.problem.add_transpose(coil, self.at, out)?;
        }
        self.problem.engine.vectors().combine(self.weight, h, 1.0, out)
    }

    fn after(&mut self, _: usize, _: f64) -> Result<()> {
        self.problem.job.advance(self.share);
        self.problem.job.check()
    }
}

//! What a plan computes: transforms, the normal operator, reconstruction, Q.

use super::convolutions::fitting;
use super::doubts::are_real;
use super::engine::{Engine, Purpose, Solve};
use super::normal::{Scratch, normal};
use super::penalty::{Penalty, Solver};
use super::plan::{Mri, each};
use super::solver;
use crate::array::{Array, ArrayMut, DType, Layout};
use crate::context::{Job, LogLevel, Stage};
use crate::cpu::buffer::collected;
use crate::error::{Result, fail};
use crate::nufft::toeplitz::doubled;
use crate::solve::Vectors;
use crate::solve::fista::Progress;
use rustfft::num_complex::Complex;

/// What [`Mri::encode`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encode {
    Forward,
    Adjoint,
    Gridding,
}

impl Mri {
    /// An error unless an array has this shape, and numbers where the plan computes.
    pub(super) fn check<const N: usize>(&self, array: &Layout<N>, name: &str, shape: [usize; N]) -> Result<()> {
        array.check(name, shape, DType::NUMBERS, self.gpus())
    }

    fn check_images(&self, array: &Layout<4>) -> Result<()> {
        let [nz, ny, nx] = self.geometry()?.grid;
        self.check(array, "image", [self.images()?, nz, ny, nx])
    }

    fn check_samples(&self, array: &Layout<2>) -> Result<()> {
        self.check(array, "samples", [self.geometry()?.coils, self.samples()?])
    }

    /// Maximum number of bytes of working memory that `reconstruct` needs, on the host or on the GPU that it computes on.
    pub fn memory(&mut self) -> Result<u64> {
        let (solve, fourier, context) = (self.solve_settings()?, self.fourier()?, self.context.clone());
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.memory(&context, &fourier, &solve)))
    }

    /// samples `[coil][m]` = F images `[image][z][y][x]`.
    pub fn forward(&mut self, images: Array<4>, samples: ArrayMut<2>) -> Result<()> {
        self.check_images(images.layout())?;
        self.check_samples(samples.layout())?;
        self.encode((images, "image"), samples, Encode::Forward)
    }

    /// images = F^H samples.
    pub fn adjoint(&mut self, samples: Array<2>, images: ArrayMut<4>) -> Result<()> {
        self.check_samples(samples.layout())?;
        self.check_images(images.layout())?;
        self.encode((samples, "samples"), images, Encode::Adjoint)
    }

    /// images = F^H W samples: density compensation and adjoint.
    pub fn gridding(&mut self, samples: Array<2>, images: ArrayMut<4>) -> Result<()> {
        self.check_samples(samples.layout())?;
        self.check_images(images.layout())?;
        self.doubt_samples(&samples);
        self.encode((samples, "samples"), images, Encode::Gridding)
    }

    fn doubt_samples(&self, samples: &Array<2>) {
        if self.context.logs() && self.context.install(|| are_real(samples)) {
            self.context.log(LogLevel::Warning, || {
                "samples have no imaginary part, as those of an object that is symmetric about the middle: were they taken as magnitude or real part?".to_owned()
            });
        }
    }

    /// Tells of a penalty that was chosen, and has no weight.
    fn tell_of_penalty(&self, solve: &Solve) {
        let name = solve.penalty.word();
        if solve.lambda == 0.0 && solve.penalty != Penalty::Identity {
            self.context
                .log(LogLevel::Info, || format!("options.penalty is {name}, and has no effect: options.lambda is 0"));
        }
    }

    /// Nothing is written unless all of it is there.
    fn encode<const N: usize, const M: usize>(
        &mut self,
        (from, name): (Array<N>, &str),
        mut to: ArrayMut<M>,
        what: Encode,
    ) -> Result<()> {
        if what == Encode::Gridding && each!(&self.plan()?.engine, e => e.scan().weights.is_none()) {
            self.context.log(LogLevel::Warning, || {
                "gridding without density weights: every sample counts as much as every other, so that the image is blurred where samples crowd, and not in its own scale; isoc_mri_compute_weights or isoc_mri_set_weights come first".to_owned()
            });
        }
        let transform =
            Solve { toeplitz: false, warm_start: false, purpose: Purpose::Transform, ..self.solve_settings()? };
        let (fourier, context) = (self.fourier()?, self.context.clone());
        let policy = context.nan_policy();
        self.replaced = each!(&mut self.plan_mut()?.engine, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            e.check_memory(&context, &fourier, &transform)?;
            let mut source = e.read(&from, name, policy)?;
            e.prepare(&fourier)?;
            let mut out = e.vectors().uninitialised(to.layout().count())?;
            let mut progress = portion(job, 1.0);
            job.enter(if what == Encode::Forward { Stage::Forward } else { Stage::Adjoint });
            if what == Encode::Gridding {
                e.weigh(&mut source)?;
            }
            match what {
                Encode::Forward => e.forward(&source, &mut out, &mut progress)?,
                Encode::Adjoint | Encode::Gridding => e.adjoint(&source, &mut out, &mut progress)?,
            }
            e.write(&out, &mut to)
        }).map(|()| e.replaced()))?;
        context.tell_of_replaced(self.replaced, from.layout().count());
        Ok(())
    }

    /// out = (F^H W F + lambda R^H R) image, for each image.
    pub fn normal(&mut self, images: Array<4>, mut out: ArrayMut<4>) -> Result<()> {
        self.check_images(images.layout())?;
        self.check_images(out.layout())?;
        let solve = self.solve_settings()?;
        if solve.solver != Solver::ConjugateGradient {
            fail!(
                NotConfigured,
                "options.penalty is {}, which is no square and has no R^H R: without a penalty (options.lambda = 0), or with penalty 0 to 2, this is a product",
                solve.penalty.word()
            );
        }
        let (warm_start, purpose) = (false, Purpose::Product);
        let solve = Solve { warm_start, purpose, ..solve };
        self.tell_of_penalty(&solve);
        let (fourier, context) = (self.fourier()?, self.context.clone());
        let policy = context.nan_policy();
        self.replaced = each!(&mut self.plan_mut()?.engine, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            let solve = fitting(e, &context, &fourier, &solve)?;
            let source = e.read(&images, "image", policy)?;
            if solve.toeplitz { e.prepare_q(&fourier, job)? } else { e.prepare(&fourier)? }
            job.enter(Stage::Normal);
            let (voxels, count) = (e.scan().voxels(), e.scan().images());
            let mut result = e.vectors().uninitialised(count * voxels)?;
            let mut scratch = Scratch::new(e, &solve)?;
            if count == 1 {
                normal(e, &source, &mut result, &mut scratch, &solve, job)?;
            } else {
                let (mut image, mut product) = (e.vectors().uninitialised(voxels)?, e.vectors().uninitialised(voxels)?);
                for k in 0..count {
                    e.vectors().copy((&source, k * voxels), (&mut image, 0), voxels)?;
                    normal(e, &image, &mut product, &mut scratch, &solve, job)?;
                    e.vectors().copy((&product, 0), (&mut result, k * voxels), voxels)?;
                    job.advance(1.0 / count as f64);
                }
            }
            e.write(&result, &mut out)
        }).map(|()| e.replaced()))?;
        context.tell_of_replaced(self.replaced, images.layout().count());
        Ok(())
    }

    /// Minimises |F image - samples|^2 / 2 in the weights' norm and lambda times the penalty, for each image; where the penalty is a square,
    /// solves `(F^H W F + lambda R^H R) image = F^H W samples`. Nothing is written unless all of it is there.
    pub fn reconstruct(&mut self, samples: Array<2>, mut images: ArrayMut<4>) -> Result<()> {
        self.check_samples(samples.layout())?;
        self.check_images(images.layout())?;
        self.doubt_samples(&samples);
        let (solve, fourier, context) = (self.solve_settings()?, self.fourier()?, self.context.clone());
        self.tell_of_penalty(&solve);
        let policy = context.nan_policy();
        let elements = samples.layout().count() + if solve.warm_start { images.layout().count() } else { 0 };
        let (replaced, solutions) = each!(&mut self.plan_mut()?.engine, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            let solve = fitting(e, &context, &fourier, &solve)?;
            let mut data = e.read(&samples, "samples", policy)?;
            let start = match solve.warm_start {
                true => Some(e.read(&images.as_array(), "image", policy)?),
                false => None,
            };
            e.prepare(&fourier)?;
            if solve.toeplitz {
                e.prepare_q(&fourier, job)?;
            }
            let (voxels, count) = (e.scan().voxels(), e.scan().images());
            job.enter(Stage::Adjoint);
            let squares = match solve.solver {
                Solver::ConjugateGradient => vec![0.0; count],
                _ => solver::data_squares(e, &data)?,
            };
            e.weigh(&mut data)?;
            // Right-hand sides first; a solution takes the place of its own.
            let mut result = e.vectors().uninitialised(count * voxels)?;
            e.adjoint(&data, &mut result, &mut |_| job.check())?;
            drop(data);
            let mut right = e.vectors().uninitialised(voxels)?;
            let mut solutions = Vec::new();
            for (k, square) in squares.into_iter().enumerate() {
                let mut image = e.vectors().zeros(voxels)?;
                if let Some(start) = &start {
                    e.vectors().copy((start, k * voxels), (&mut image, 0), voxels)?;
                }
                e.vectors().copy((&result, k * voxels), (&mut right, 0), voxels)?;
                solutions.push(solver::solve(e, &mut right, &mut image, square, &solve, (job, 1.0 / count as f64))?);
                e.vectors().copy((&image, 0), (&mut result, k * voxels), voxels)?;
            }
            e.write(&result, &mut images)?;
            Ok(solutions)
        }).map(|solutions| (e.replaced(), solutions)))?;
        self.replaced = replaced;
        self.keep(solutions, solve.lambda);
        context.tell_of_replaced(replaced, elements);
        Ok(())
    }

    /// Keeps how solutions went, and warns of a penalty that left nothing.
    fn keep(&mut self, solutions: Vec<(Progress, Option<f64>)>, lambda: f64) {
        let limit = solutions.iter().filter_map(|(_, limit)| *limit).fold(0.0, f64::max);
        if limit > 0.0 && lambda >= limit {
            self.context.log(LogLevel::Warning, || {
                format!("options.lambda is {lambda}: from {limit:.3e} on, the largest wavelet coefficient of F^H W samples, nothing is kept and the image is 0")
            });
        }
        (self.solutions, self.lambda_limit) = (solutions.into_iter().map(|(progress, _)| progress).collect(), limit);
    }

    /// How the last `reconstruct` went, by image: |residual| / |right-hand side| or |step| / |image|, and the objective of penalties that
    /// are no squares, before the first iteration and after each.
    pub fn solutions(&self) -> &[Progress] {
        &self.solutions
    }

    /// The doubled grid of Q, along z, y, x.
    pub fn q_grid(&self) -> Result<[usize; 3]> {
        Ok(doubled(self.geometry()?.grid))
    }

    /// Makes Q of trajectory and weights, unless it is there.
    pub fn compute_q(&mut self) -> Result<()> {
        let solve = Solve { toeplitz: true, warm_start: false, purpose: Purpose::Transform, ..self.solve_settings()? };
        let (fourier, context) = (self.fourier()?, self.context.clone());
        each!(&mut self.plan_mut()?.engine, e => e.run(&context, |e, job| {
            e.check_memory(&context, &fourier, &solve)?;
            e.prepare_q(&fourier, job)
        }))
    }

    /// Copies Q out.
    pub fn export_q(&mut self, to: ArrayMut<3>) -> Result<()> {
        each!(&self.plan()?.engine, e => e.scan().check_one_q())?;
        let context = self.context.clone();
        let Some(q) = each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.q()))? else {
            fail!(NotConfigured, "there is no Q yet; isoc_mri_compute_q makes it");
        };
        let values = collected(q.into_iter().map(|v| Complex::new(v, 0.0)))?;
        self.store(&values, (to, self.q_grid()?))
    }

    /// Takes a Q that was exported from a plan of the same trajectory, weights and grid.
    pub fn import_q(&mut self, from: Array<3>) -> Result<()> {
        each!(&self.plan()?.engine, e => e.scan().check_one_q())?;
        let context = self.context.clone();
        let values = self.fetch(&from, ("q", self.q_grid()?), context.nan_policy())?;
        let q = collected(values.iter().map(|v| v.re))?;
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.set_q(&q)))
    }
}

/// Progress over a part of a job.
fn portion(job: &Job, share: f64) -> impl FnMut(f64) -> Result<()> + Send {
    let mut at = 0.0;
    move |part| {
        // Reports of several threads may overtake each other.
        if part > at {
            job.advance(share * (part - at));
            at = part;
        }
        job.check()
    }
}

//! What a plan computes: transforms, the normal operator, reconstruction, Q.

use super::call::{Call, Encode, read_start};
use super::convolutions::fitting;
use super::doubts::are_real;
use super::engine::{Engine, Imaginary, Purpose, Solve};
use super::frames::{Frames, with_side};
use super::parts::Part;
use super::penalty::{Penalty, Solver};
use super::plan::{Mri, Plan, each};
use super::shared_frames::Flow;
use super::solver::Solution;
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::context::{self, LogLevel, Stage};
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, fail};
use isocenter_solve::Vectors;
use isocenter_solve::history::Progress;
use rustfft::num_complex::Complex;

impl Mri {
    /// An error unless an array has this shape, and numbers where the plan computes.
    pub(super) fn check<const N: usize>(&self, array: &Layout<N>, name: &str, shape: [usize; N]) -> Result<()> {
        array.check(name, shape, DType::NUMBERS, self.gpus())
    }

    pub(super) fn check_images(&self, array: &Layout<4>) -> Result<()> {
        let [nz, ny, nx] = self.geometry()?.grid;
        self.check(array, "image", [self.images()?, nz, ny, nx])
    }

    fn check_samples(&self, array: &Layout<2>) -> Result<()> {
        self.check(array, "samples", [self.geometry()?.coils, self.samples()?])
    }

    /// Works on so many scans of the plan's kind, one after the other, with their progress as one call's; solutions are then those of all, scan by
    /// scan.
    pub fn each_scan(&mut self, scans: usize, mut work: impl FnMut(&mut Self, usize) -> Result<()>) -> Result<()> {
        let (mut replaced, mut limit, mut solutions) = (0, 0.0, Vec::new());
        let share = 1.0 / scans as f64;
        for scan in 0..scans {
            self.part = context::Part { before: scan as f64 * share, share, last: scan + 1 == scans };
            let done = work(self, scan);
            self.part = context::Part::WHOLE;
            done?;
            (replaced, limit) = (replaced + self.replaced, f64::max(limit, self.lambda_limit));
            solutions.append(&mut self.solutions);
        }
        (self.replaced, self.lambda_limit, self.solutions) = (replaced, limit, solutions);
        Ok(())
    }

    /// Maximum number of bytes of working memory that `reconstruct` needs, on the host or on the GPU that it computes on.
    pub fn memory(&mut self) -> Result<u64> {
        let (solve, fourier, context) = (self.solve_settings()?, self.fourier()?, self.context.clone());
        let Plan { engine, frames, .. } = self.plan_mut()?;
        each!(engine, e => e.within(&context, |e| {
            match frames {
                Some(frames) => frames.memory(e, &context, &fourier, &solve),
                None => e.memory(&context, &fourier, &solve),
            }
        }))
    }

    /// samples `[coil][m]` = F images `[image][z][y][x]`; of frames, which must not overlap, 0 where a sample is in none.
    pub fn forward(&mut self, images: Array<4>, samples: ArrayMut<2>) -> Result<()> {
        self.check_images(images.layout())?;
        self.check_samples(samples.layout())?;
        if let Some(frames) = &self.plan()?.frames {
            frames.check_apart()?;
        }
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

    /// Whether there are density weights, of the scan or of its frames.
    fn has_weights(&self) -> Result<bool> {
        let Plan { engine, frames, .. } = self.plan()?;
        let of_frames = frames.as_ref().is_some_and(Frames::have_weights);
        Ok(of_frames || each!(engine, e => e.scan().weights.is_some()))
    }

    /// Warns of gridding without density weights.
    pub(super) fn doubt_weights(&self) -> Result<()> {
        if !self.has_weights()? {
            self.context.log(LogLevel::Warning, || {
                "gridding without density weights: every sample counts as much as every other, so that the image is blurred where samples crowd, and not in its own scale; isoc_mri_compute_weights or isoc_mri_set_weights come first".to_owned()
            });
        }
        Ok(())
    }

    pub(super) fn doubt_samples(&self, samples: &Array<2>) {
        if self.context.logs() && self.context.install(|| are_real(samples)) {
            self.context.log(LogLevel::Warning, || {
                "samples have no imaginary part, as those of an object that is symmetric about the middle: were they taken as magnitude or real part?".to_owned()
            });
        }
    }

    /// Tells of a penalty that was chosen, and has no weight.
    pub(super) fn tell_of_penalty(&self, solve: &Solve) {
        let name = solve.penalty.word();
        if solve.lambda == 0.0 && solve.penalty != Penalty::Identity {
            self.context
                .log(LogLevel::Info, || format!("options.penalty is {name}, and has no effect: options.lambda is 0"));
        }
    }

    /// Images of coils have phases of their own.
    pub(super) fn check_imaginary(&self, solve: &Solve) -> Result<()> {
        let (coils, problems) = each!(&self.plan()?.engine, e => (e.scan().coils, e.scan().problems()));
        if solve.imaginary != Imaginary::Free && problems > 1 {
            fail!(
                NotConfigured,
                "options.imaginary is for images of one object, and {coils} coils without sensitivities have an image each, with its own phase: isoc_mri_set_maps comes first"
            );
        }
        Ok(())
    }

    /// Nothing is written unless all of it is there.
    fn encode<const N: usize, const M: usize>(
        &mut self,
        (from, name): (Array<N>, &str),
        mut to: ArrayMut<M>,
        what: Encode,
    ) -> Result<()> {
        if what == Encode::Gridding {
            self.doubt_weights()?;
        }
        let transform =
            Solve { toeplitz: false, warm_start: false, purpose: Purpose::Transform, ..self.solve_settings()? };
        let (fourier, context, whole) = (self.fourier()?, self.context.clone(), self.part);
        let policy = context.nan_policy();
        let Plan { engine, frames, .. } = self.plan_mut()?;
        self.replaced = each!(engine, e => e.run_part(&context, whole, |e, job| {
            job.enter(Stage::Check);
            let call = Call { context: &context, fourier: &fourier, job };
            let out = match frames {
                None => {
                    call.check(e, &transform)?;
                    let source = e.read(&from, name, policy)?;
                    call.encode(e, source, what, 1.0)?
                }
                Some(frames) => {
                    let solve = frames.beside(e, &fourier, &transform)?;
                    let (source, share) = (e.read(&from, name, policy)?, 1.0 / frames.count() as f64);
                    let mut out = e.vectors().zeros(to.layout().count())?;
                    let [before, after] = match what {
                        Encode::Forward => [Part::Images, Part::Samples],
                        Encode::Adjoint | Encode::Gridding => [Part::Samples, Part::Images],
                    };
                    let flow = Flow { source: (&source, before), start: None, result: (&mut out, after) };
                    frames.share(e, &call, &context, flow, |e, part, _, side| {
                        with_side(e, side, |e| {
                            call.check(e, &solve)?;
                            Ok((call.encode(e, part, what, share)?, ()))
                        })
                    })?;
                    out
                }
            };
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
        let (fourier, context, whole) = (self.fourier()?, self.context.clone(), self.part);
        let policy = context.nan_policy();
        let Plan { engine, frames, .. } = self.plan_mut()?;
        self.replaced = each!(engine, e => e.run_part(&context, whole, |e, job| {
            job.enter(Stage::Check);
            let call = Call { context: &context, fourier: &fourier, job };
            let result = match frames {
                None => {
                    let solve = fitting(e, &context, &fourier, &solve)?;
                    let source = e.read(&images, "image", policy)?;
                    call.normal(e, &source, &solve, 1.0)?
                }
                Some(frames) => {
                    let solve = frames.beside(e, &fourier, &solve)?;
                    let (source, share) = (e.read(&images, "image", policy)?, 1.0 / frames.count() as f64);
                    let mut result = e.vectors().uninitialised(out.layout().count())?;
                    let flow =
                        Flow { source: (&source, Part::Images), start: None, result: (&mut result, Part::Images) };
                    frames.share(e, &call, &context, flow, |e, part, _, side| {
                        with_side(e, side, |e| {
                            let solve = fitting(e, &context, &fourier, &solve)?;
                            Ok((call.normal(e, &part, &solve, share)?, ()))
                        })
                    })?;
                    result
                }
            };
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
        let whole = self.part;
        self.check_imaginary(&solve)?;
        self.tell_of_penalty(&solve);
        let policy = context.nan_policy();
        let elements = samples.layout().count() + if solve.warm_start { images.layout().count() } else { 0 };
        let Plan { engine, frames, .. } = self.plan_mut()?;
        let (replaced, solutions) = each!(engine, e => e.run_part(&context, whole, |e, job| {
            job.enter(Stage::Check);
            let call = Call { context: &context, fourier: &fourier, job };
            let mut solutions = Vec::new();
            let start = |e: &mut _| match solve.warm_start {
                true => read_start(e, &images.as_array(), policy).map(Some),
                false => Ok(None),
            };
            let result = match frames {
                None => {
                    let solve = fitting(e, &context, &fourier, &solve)?;
                    let data = e.read(&samples, "samples", policy)?;
                    let start = start(e)?;
                    call.reconstruct(e, data, start.as_ref(), &solve, (&mut solutions, 1.0))?
                }
                Some(frames) if solve.takes_frames_together() => {
                    let solve = call.fit_frames(e, frames, &solve)?;
                    let (data, start) = (e.read(&samples, "samples", policy)?, start(e)?);
                    let frames = &*frames;
                    let part = move |e: &mut _, frame| Part::Samples.gather(e, &data, (frames, frame));
                    call.reconstruct_frames(e, frames, part, start.as_ref(), &solve, &mut solutions)?
                }
                Some(frames) => {
                    let solve = frames.beside(e, &fourier, &solve)?;
                    let (data, start) = (e.read(&samples, "samples", policy)?, start(e)?);
                    let (share, mut result) =
                        (1.0 / frames.count() as f64, e.vectors().uninitialised(images.layout().count())?);
                    let flow = Flow {
                        source: (&data, Part::Samples),
                        start: start.as_ref(),
                        result: (&mut result, Part::Images),
                    };
                    let of_frames = frames.share(e, &call, &context, flow, |e, part, start, side| {
                        let mut solutions = Vec::new();
                        let made = with_side(e, side, |e| {
                            let solve = fitting(e, &context, &fourier, &solve)?;
                            call.reconstruct(e, part, start, &solve, (&mut solutions, share))
                        })?;
                        Ok((made, solutions))
                    })?;
                    solutions.extend(of_frames.into_iter().flatten());
                    result
                }
            };
            e.write(&result, &mut images)?;
            Ok(solutions)
        }).map(|solutions| (e.replaced(), solutions)))?;
        self.replaced = replaced;
        self.keep(solutions, &solve);
        context.tell_of_replaced(replaced, elements);
        Ok(())
    }

    /// Keeps how solutions went, and warns of a penalty that left nothing.
    pub(super) fn keep(&mut self, solutions: Vec<Solution>, solve: &Solve) {
        let lambda = solve.lambda;
        let limit = solutions.iter().filter_map(|(_, limit)| *limit).fold(0.0, f64::max);
        if limit > 0.0 && lambda >= limit && !solve.solver.is_variation() {
            self.context.log(LogLevel::Warning, || {
                format!("options.lambda is {lambda}: from {limit:.3e} on, the largest wavelet coefficient (or singular value of a block) of F^H W samples, nothing is kept and the image is 0")
            });
        }
        (self.solutions, self.lambda_limit) = (solutions.into_iter().map(|(progress, _)| progress).collect(), limit);
    }

    /// How the last `reconstruct` went, by image: |residual| / |right-hand side| or |step| / |image|, and the objective of penalties that
    /// are no squares, before the first iteration and after each.
    pub fn solutions(&self) -> &[Progress] {
        &self.solutions
    }

    /// The grid of Q, along z, y, x.
    pub fn q_grid(&self) -> Result<[usize; 3]> {
        let fourier = self.fourier()?;
        each!(&self.plan()?.engine, e => e.q_grids(&fourier)).map(|grids| grids.spectrum)
    }

    /// An error if there is no one Q that a caller may have.
    fn check_one_q(&self) -> Result<()> {
        self.check_no_frames()?;
        each!(&self.plan()?.engine, e => e.scan().check_one_q())
    }

    fn check_no_frames(&self) -> Result<()> {
        if self.plan()?.frames.is_some() {
            fail!(
                NotConfigured,
                "with frames (isoc_mri_set_frames) each has a Q of its own, which is made in the calls that need it"
            );
        }
        Ok(())
    }

    /// Makes Q of trajectory and weights, unless it is there.
    pub fn compute_q(&mut self) -> Result<()> {
        self.check_no_frames()?;
        let solve = Solve { toeplitz: true, warm_start: false, purpose: Purpose::Transform, ..self.solve_settings()? };
        let (fourier, context) = (self.fourier()?, self.context.clone());
        each!(&mut self.plan_mut()?.engine, e => e.run(&context, |e, job| {
            e.check_memory(&context, &fourier, &solve)?;
            e.prepare_q(&fourier, job)
        }))
    }

    /// Copies Q out.
    pub fn export_q(&mut self, to: ArrayMut<3>) -> Result<()> {
        self.check_one_q()?;
        let context = self.context.clone();
        let Some(q) = each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.q()))? else {
            fail!(NotConfigured, "there is no Q yet; isoc_mri_compute_q makes it");
        };
        let values = collected(q.into_iter().map(|v| Complex::new(v, 0.0)))?;
        self.store(&values, (to, self.q_grid()?))
    }

    /// Takes a Q that was exported from a plan of the same trajectory, weights and grid.
    pub fn import_q(&mut self, from: Array<3>) -> Result<()> {
        self.check_one_q()?;
        let context = self.context.clone();
        let values = self.fetch(&from, ("q", self.q_grid()?), context.nan_policy())?;
        let q = collected(values.iter().map(|v| v.re))?;
        let fourier = self.fourier()?;
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.set_q(&fourier, &q)))
    }
}

//! The normal operator and its system, on any engine.

use super::engine::{Engine, Solve, Vector};
use crate::context::{Job, Stage};
use crate::error::Result;
use crate::solve::Vectors;
use crate::solve::conjugate_gradient::{LinearSystem, conjugate_gradient};

/// What the normal operator needs besides its input and output: samples of one image's coils, for pairs of transforms.
pub(super) struct Scratch<E: Engine>(Option<Vector<E>>);

impl<E: Engine> Scratch<E> {
    pub(super) fn new(engine: &mut E, solve: &Solve) -> Result<Self> {
        let samples = engine.scan().coils_per_image() * engine.scan().samples();
        Ok(Self(if solve.toeplitz { None } else { Some(engine.vectors().uninitialised(samples)?) }))
    }
}

/// out = (F^H W F + lambda R^H R) image, for one image.
pub(super) fn normal<E: Engine>(
    engine: &mut E,
    image: &Vector<E>,
    out: &mut Vector<E>,
    scratch: &mut Scratch<E>,
    solve: &Solve,
    job: &Job,
) -> Result<()> {
    match &mut scratch.0 {
        Some(samples) => {
            engine.forward(image, samples, &mut |_| job.check())?;
            engine.weigh(samples)?;
            engine.adjoint(samples, out, &mut |_| job.check())?;
        }
        None => engine.apply_q(image, out, job)?,
    }
    if solve.lambda > 0.0 {
        engine.add_penalty(solve.penalty, solve.lambda, image, out)?;
    }
    Ok(())
}

/// Solves `(F^H W F + lambda R^H R) image = right` for one image; `right` is used up. `share`: this image's part of the whole.
/// Returns the residuals' history.
pub(super) fn solve<E: Engine>(
    engine: &mut E,
    right: &mut Vector<E>,
    image: &mut Vector<E>,
    solve: &Solve,
    (job, share): (&Job, f64),
) -> Result<Vec<f64>> {
    job.enter(Stage::Solve);
    let scratch = Scratch::new(engine, solve)?;
    let mut system = System { engine, scratch, solve, job, share };
    let history = conjugate_gradient(&mut system, right, image, !solve.warm_start, solve.stop)?;
    let left = solve.stop.iterations - (history.len() - 1).min(solve.stop.iterations);
    job.advance(share * left as f64 / solve.stop.iterations.max(1) as f64);
    Ok(history)
}

struct System<'a, E: Engine> {
    engine: &'a mut E,
    scratch: Scratch<E>,
    solve: &'a Solve,
    job: &'a Job,
    share: f64,
}

impl<E: Engine> LinearSystem for System<'_, E> {
    type Vectors = E::Vectors;

    fn vectors(&mut self) -> &mut E::Vectors {
        self.engine.vectors()
    }

    fn apply(&mut self, x: &Vector<E>, out: &mut Vector<E>) -> Result<()> {
        normal(self.engine, x, out, &mut self.scratch, self.solve, self.job)
    }

    fn after(&mut self, _: usize, _: f64) -> Result<()> {
        self.job.advance(self.share / self.solve.stop.iterations as f64);
        self.job.check()
    }
}

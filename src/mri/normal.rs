//! The normal operator, on any engine.

use super::engine::{Engine, Solve, Vector};
use crate::context::Job;
use crate::error::Result;
use crate::solve::Vectors;

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
    normal_of_data(engine, image, out, scratch, job)?;
    if solve.lambda > 0.0 {
        engine.add_penalty(solve.penalty, solve.lambda, image, out)?;
    }
    Ok(())
}

/// out = F^H W F image, for one image.
pub(super) fn normal_of_data<E: Engine>(
    engine: &mut E,
    image: &Vector<E>,
    out: &mut Vector<E>,
    scratch: &mut Scratch<E>,
    job: &Job,
) -> Result<()> {
    let Some(samples) = &mut scratch.0 else { return engine.apply_q(image, out, job) };
    engine.forward(image, samples, &mut |_| job.check())?;
    engine.weigh(samples)?;
    engine.adjoint(samples, out, &mut |_| job.check())
}

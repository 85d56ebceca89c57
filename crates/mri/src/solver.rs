//! The image that data and penalty make least, on any engine.

use super::engine::{Engine, Solve, Vector};
use super::normal::{Scratch, normal};
use super::penalty::Solver;
use super::sparse::{Problem, largest_coefficient};
use isocenter_base::context::{Job, Stage};
use isocenter_base::error::{Result, fail};
use isocenter_solve::Vectors;
use isocenter_solve::conjugate_gradient::{LinearSystem, conjugate_gradient};
use isocenter_solve::fista::fista;
use isocenter_solve::history::Progress;
use isocenter_solve::primal_dual::primal_dual;
use std::ops::Range;

/// Lengths of samples that are taken as they are: squares of images, and of F^H W samples, are then in the range of single precision.
const ORDINARY: Range<f64> = 1e-6..1e9;
/// The power of two of the largest unit, whose inverse single precision holds, too.
const LARGEST_UNIT: f64 = 100.0;

/// How a solution went, and the weight from which on its penalty leaves nothing, if that is known.
pub(super) type Solution = (Progress, Option<f64>);

/// |samples|^2 in the weights' norm, by problem, of samples that are not weighed yet.
pub(super) fn data_squares<E: Engine>(engine: &mut E, samples: &Vector<E>) -> Result<Vec<f64>> {
    let (count, coils) = (engine.scan().samples(), engine.scan().coils_per_problem());
    let mut squares = vec![0.0; engine.scan().problems()];
    let (mut plain, mut weighed) = (engine.vectors().uninitialised(count)?, engine.vectors().uninitialised(count)?);
    for (problem, square) in squares.iter_mut().enumerate() {
        for coil in problem * coils..(problem + 1) * coils {
            for copy in [&mut plain, &mut weighed] {
                engine.vectors().copy((samples, coil * count), (copy, 0), count)?;
            }
            engine.weigh(&mut weighed)?;
            *square += engine.vectors().dot(&plain, &weighed)?;
        }
    }
    Ok(squares)
}

/// An error where numbers have left the range of this precision. Squares in f64 are finite where single precision's are.
pub(super) fn finite<E: Engine>(engine: &mut E, of: &Vector<E>, what: &str) -> Result<()> {
    if !engine.vectors().dot(of, of)?.is_finite() {
        fail!(
            OutOfRange,
            "results have left the range of this precision: {what} are too large; divide them, and all options in their unit, by a power of ten"
        );
    }
    Ok(())
}

/// Solves `(F^H W F + lambda R^H R) image = right` for one problem; `right` is used up. `share`: its part of the whole; `frames`: those whose images it is of.
/// `data`: |samples|^2 in the weights' norm. Imaginary parts may count besides, or there are none: equations are then the real parts of these. A penalty that is no square tells the weight from which on it leaves nothing, or that of wavelets, too.
pub(super) fn solve<E: Engine>(
    engine: &mut E,
    right: &mut Vector<E>,
    image: &mut Vector<E>,
    data: f64,
    solve: &Solve,
    frames: Option<&mut [E::Side]>,
    part: (&Job, f64),
) -> Result<Solution> {
    part.0.enter(Stage::Solve);
    solve.imaginary.clear(engine, right)?;
    solve.imaginary.clear(engine, image)?;
    if solve.solver != Solver::ConjugateGradient {
        finite(engine, right, "samples")?;
    }
    let length = data.sqrt();
    let solution = if data == 0.0 || ORDINARY.contains(&length) {
        solve_here(engine, right, image, data, solve, frames, part)?
    } else {
        // Squares of very large or very small images would leave the range of single precision. A power of two takes no digit away.
        let unit = length.log2().round().clamp(-LARGEST_UNIT, LARGEST_UNIT).exp2();
        for vector in [&mut *right, &mut *image] {
            times(engine, 1.0 / unit, vector)?;
        }
        let scaled = solve.divided_by(unit);
        let (mut progress, limit) = solve_here(engine, right, image, data / (unit * unit), &scaled, frames, part)?;
        times(engine, unit, image)?;
        progress.objectives.iter_mut().chain(&mut progress.gaps).for_each(|v| *v *= unit * unit);
        (progress, limit.map(|limit| limit * unit))
    };
    finite(engine, image, "samples")?;
    Ok(solution)
}

fn times<E: Engine>(engine: &mut E, factor: f64, vector: &mut Vector<E>) -> Result<()> {
    let count = engine.vectors().len(vector);
    let zeros = engine.vectors().zeros(count)?;
    engine.vectors().combine(0.0, &zeros, factor, vector)
}

/// See [`solve`].
fn solve_here<E: Engine>(
    engine: &mut E,
    right: &mut Vector<E>,
    image: &mut Vector<E>,
    data: f64,
    solve: &Solve,
    frames: Option<&mut [E::Side]>,
    (job, share): (&Job, f64),
) -> Result<Solution> {
    // Before there is a problem, whose memory is that of this and more.
    let of_wavelets = solve.solver.is_variation().then(|| largest_coefficient(engine, right)).transpose()?;
    let scratch = Scratch::new(engine, solve, frames)?;
    let (progress, limit) = match solve.solver {
        Solver::ConjugateGradient => {
            let mut system = System { engine, scratch, solve, job, share };
            let residuals = conjugate_gradient(&mut system, right, image, !solve.warm_start, solve.stop)?;
            (Progress { residuals, ..Progress::default() }, None)
        }
        Solver::Fista(sparse) => {
            let mut problem = Problem::new(engine, solve, scratch, (sparse, false), (job, share))?;
            let limit = of_wavelets.map_or_else(|| problem.limit(right), Ok)?;
            (fista(&mut problem, right, image, !solve.warm_start, data, solve.stop)?, Some(limit))
        }
        Solver::PrimalDual(sparse) => {
            let mut problem = Problem::new(engine, solve, scratch, (sparse, true), (job, share))?;
            let limit = of_wavelets.map_or_else(|| problem.limit(right), Ok)?;
            (primal_dual(&mut problem, right, image, !solve.warm_start, data, solve.stop)?, Some(limit))
        }
    };
    let left = solve.stop.iterations - (progress.residuals.len() - 1).min(solve.stop.iterations);
    job.advance(share * left as f64 / solve.stop.iterations.max(1) as f64);
    Ok((progress, limit))
}

struct System<'a, E: Engine> {
    engine: &'a mut E,
    scratch: Scratch<'a, E>,
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
        normal(self.engine, x, out, &mut self.scratch, self.solve, self.job)?;
        self.solve.imaginary.add(self.engine, x, out)
    }

    fn after(&mut self, _: usize, _: f64) -> Result<()> {
        self.job.advance(self.share / self.solve.stop.iterations as f64);
        self.job.check()
    }
}

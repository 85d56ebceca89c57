//! The image that data and penalty make least, on any engine.

use super::engine::{Engine, Solve, Vector};
use super::normal::{Scratch, normal};
use super::penalty::Solver;
use super::sparse::{Problem, largest_coefficient};
use isocenter_base::context::{Job, Stage};
use isocenter_base::error::Result;
use isocenter_solve::Vectors;
use isocenter_solve::conjugate_gradient::{LinearSystem, conjugate_gradient};
use isocenter_solve::fista::fista;
use isocenter_solve::history::Progress;
use isocenter_solve::primal_dual::primal_dual;

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

/// Solves `(F^H W F + lambda R^H R) image = right` for one problem; `right` is used up. `share`: its part of the whole; `frames`: those whose images it is of.
/// `data`: |samples|^2 in the weights' norm. Imaginary parts may count besides, or there are none: equations are then the real parts of these. A penalty that is no square tells the weight from which on it leaves nothing, or that of wavelets, too.
pub(super) fn solve<E: Engine>(
    engine: &mut E,
    right: &mut Vector<E>,
    image: &mut Vector<E>,
    data: f64,
    solve: &Solve,
    frames: Option<&mut [E::Side]>,
    (job, share): (&Job, f64),
) -> Result<Solution> {
    job.enter(Stage::Solve);
    solve.imaginary.clear(engine, right)?;
    solve.imaginary.clear(engine, image)?;
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

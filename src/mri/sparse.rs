//! Penalties that are no squares, on any engine: their values and proximal steps, and the problem that they are part of.

use super::engine::{Engine, Solve, Vector};
use super::normal::{Scratch, normal_of_data};
use super::penalty::Sparse;
use super::variation::{self, Raise, rounds};
use super::wavelets::Wavelets;
use crate::context::Job;
use crate::error::Result;
use crate::solve::Vectors;
use crate::solve::fista::Composite;
use crate::solve::primal_dual::Splitting;
use std::mem::swap;

/// |F x - d|^2 / 2 in the weights' norm, + lambda times a penalty, for one image.
pub(super) struct Problem<'a, E: Engine> {
    engine: &'a mut E,
    scratch: Scratch<E>,
    solve: &'a Solve,
    job: &'a Job,
    /// This image's part of the whole job.
    share: f64,
    penalty: Kind<E>,
    /// Room for an image.
    spare: Vector<E>,
}

/// What a penalty keeps.
enum Kind<E: Engine> {
    Wavelets {
        work: E::Wavelets,
        wavelets: Wavelets,
        fixed: bool,
        iteration: usize,
        /// Psi^H p of the primal-dual method, where p is the dual: wavelets are orthonormal.
        dual: Vector<E>,
    },
    Variation {
        fields: E::Fields,
        huber: f64,
    },
}

impl<'a, E: Engine> Problem<'a, E> {
    /// `fixed`: wavelets do not move from iteration to iteration, whatever the settings say.
    pub(super) fn new(
        engine: &'a mut E,
        solve: &'a Solve,
        (sparse, stay): (Sparse, bool),
        (job, share): (&'a Job, f64),
    ) -> Result<Self> {
        let (grid, voxels) = (engine.scan().grid, engine.scan().voxels());
        let penalty = match sparse {
            Sparse::Wavelets { wavelet, levels, fixed } => Kind::Wavelets {
                work: engine.wavelets()?,
                wavelets: Wavelets::new(wavelet, levels, grid)?,
                fixed: fixed || stay,
                iteration: 0,
                dual: engine.vectors().zeros(if stay { voxels } else { 1 })?,
            },
            Sparse::Variation { huber } => Kind::Variation { fields: engine.fields()?, huber },
        };
        let (scratch, spare) = (Scratch::new(engine, solve)?, engine.vectors().uninitialised(voxels)?);
        Ok(Self { engine, scratch, solve, job, share, penalty, spare })
    }

    /// The weight from which on nothing of an image whose F^H W d this is is kept, if that is known.
    pub(super) fn limit(&mut self, right: &Vector<E>) -> Result<Option<f64>> {
        let Self { engine, penalty, spare, .. } = self;
        let Kind::Wavelets { work, wavelets, fixed, iteration, .. } = penalty else { return Ok(None) };
        let voxels = engine.scan().voxels();
        engine.vectors().copy((right, 0), (spare, 0), voxels)?;
        let [_, largest] = engine.coefficient_sizes(work, shifted(wavelets, *fixed, *iteration), spare)?;
        Ok(Some(largest))
    }

    fn norm_square(&self) -> f64 {
        let scan = self.engine.scan();
        variation::norm_square(scan.grid, scan.highest_difference_weight)
    }
}

fn shifted(wavelets: &Wavelets, fixed: bool, iteration: usize) -> (&Wavelets, [usize; 3]) {
    (wavelets, if fixed { [0; 3] } else { wavelets.shift(iteration) })
}

impl<E: Engine> Composite for Problem<'_, E> {
    type Vectors = E::Vectors;

    fn vectors(&mut self) -> &mut E::Vectors {
        self.engine.vectors()
    }

    fn normal(&mut self, x: &Vector<E>, out: &mut Vector<E>) -> Result<()> {
        normal_of_data(self.engine, x, out, &mut self.scratch, self.job)
    }

    fn prox(&mut self, step: f64, v: &mut Vector<E>) -> Result<f64> {
        let (weight, norm) = (step * self.solve.lambda, self.norm_square());
        let Self { engine, penalty, spare, solve, .. } = self;
        let sum = match penalty {
            Kind::Wavelets { work, wavelets, fixed, iteration, .. } => {
                engine.soften(work, shifted(wavelets, *fixed, *iteration), weight, v)?
            }
            Kind::Variation { fields, huber } => {
                for raise in rounds(weight, *huber, norm) {
                    engine.back(fields, weight, v, spare)?;
                    engine.raise(fields, raise, spare)?;
                }
                engine.back(fields, weight, v, spare)?;
                swap(v, spare);
                engine.variation(fields, *huber, v)?
            }
        };
        Ok(solve.lambda * sum)
    }

    fn penalty(&mut self, x: &Vector<E>) -> Result<f64> {
        let Self { engine, penalty, spare, solve, .. } = self;
        let sum = match penalty {
            Kind::Wavelets { work, wavelets, fixed, iteration, .. } => {
                let voxels = engine.scan().voxels();
                engine.vectors().copy((x, 0), (spare, 0), voxels)?;
                engine.coefficient_sizes(work, shifted(wavelets, *fixed, *iteration), spare)?[0]
            }
            Kind::Variation { fields, huber } => engine.variation(fields, *huber, x)?,
        };
        Ok(solve.lambda * sum)
    }

    fn after(&mut self) -> Result<()> {
        if let Kind::Wavelets { iteration, .. } = &mut self.penalty {
            *iteration += 1;
        }
        self.job.advance(self.share / self.solve.stop.iterations as f64);
        self.job.check()
    }
}

impl<E: Engine> Splitting for Problem<'_, E> {
    fn norm_square(&self) -> f64 {
        match self.penalty {
            Kind::Wavelets { .. } => 1.0,
            Kind::Variation { .. } => self.norm_square(),
        }
    }

    fn back(&mut self, step: f64, x: &mut Vector<E>) -> Result<()> {
        let Self { engine, penalty, spare, solve, .. } = self;
        match penalty {
            Kind::Wavelets { dual, .. } => engine.vectors().combine(-step, dual, 1.0, x),
            Kind::Variation { fields, .. } => {
                engine.back(fields, step * solve.lambda, x, spare)?;
                swap(x, spare);
                Ok(())
            }
        }
    }

    fn raise(&mut self, step: f64, x: &Vector<E>) -> Result<()> {
        let Self { engine, penalty, spare, solve, .. } = self;
        match penalty {
            Kind::Wavelets { work, wavelets, dual, .. } => {
                // What a threshold of lambda takes away is what is no longer than lambda.
                let voxels = engine.scan().voxels();
                engine.vectors().combine(step, x, 1.0, dual)?;
                engine.vectors().copy((dual, 0), (spare, 0), voxels)?;
                engine.soften(work, (wavelets, [0; 3]), solve.lambda, spare)?;
                engine.vectors().combine(-1.0, spare, 1.0, dual)
            }
            // Fields are in units of lambda.
            Kind::Variation { fields, huber } => {
                let step = step / solve.lambda;
                let shrink = 1.0 / (1.0 + step * *huber);
                engine.raise(fields, Raise { keep: shrink, step: step * shrink, momentum: 0.0 }, x)
            }
        }
    }
}

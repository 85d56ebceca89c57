//! Penalties that are no squares, on any engine: their values and proximal steps, and the problem that they are part of.

use super::engine::{Engine, Solve, Vector};
use super::normal::{Scratch, normal_of_data};
use super::penalty::Sparse;
use super::variation::{self, Raise, rounds};
use super::wavelets::Wavelets;
use crate::context::Job;
use crate::error::{Result, fail};
use crate::solve::Vectors;
use crate::solve::fista::Composite;
use crate::solve::primal_dual::Splitting;
use std::mem::swap;

/// |F x - d|^2 / 2 in the weights' norm, + lambda times a penalty, for the images of one problem.
pub(super) struct Problem<'a, E: Engine> {
    engine: &'a mut E,
    scratch: Scratch<E>,
    solve: &'a Solve,
    job: &'a Job,
    /// This problem's part of the whole job.
    share: f64,
    penalty: Kind<E>,
    images: Images<E>,
    /// Room for an image.
    spare: Vector<E>,
}

/// The images that a vector holds.
struct Images<E: Engine> {
    count: usize,
    voxels: usize,
    /// Room for one, where there are several.
    part: Option<Vector<E>>,
}

impl<E: Engine> Images<E> {
    fn new(engine: &mut E) -> Result<Self> {
        let (count, voxels) = (engine.scan().effects.images(), engine.scan().voxels());
        let part = if count > 1 { Some(engine.vectors().uninitialised(voxels)?) } else { None };
        Ok(Self { count, voxels, part })
    }

    /// Works on an image of a vector.
    fn change<R>(
        &mut self,
        engine: &mut E,
        k: usize,
        of: &mut Vector<E>,
        work: impl FnOnce(&mut E, &mut Vector<E>) -> Result<R>,
    ) -> Result<R> {
        let Some(part) = &mut self.part else { return work(engine, of) };
        engine.vectors().copy((of, k * self.voxels), (part, 0), self.voxels)?;
        let result = work(engine, part)?;
        engine.vectors().copy((part, 0), (of, k * self.voxels), self.voxels)?;
        Ok(result)
    }

    /// Looks at an image of a vector.
    fn see<R>(
        &mut self,
        engine: &mut E,
        k: usize,
        of: &Vector<E>,
        work: impl FnOnce(&mut E, &Vector<E>) -> Result<R>,
    ) -> Result<R> {
        let Some(part) = &mut self.part else { return work(engine, of) };
        engine.vectors().copy((of, k * self.voxels), (part, 0), self.voxels)?;
        work(engine, part)
    }
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
        /// Of each image.
        fields: Vec<E::Fields>,
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
        let (grid, voxels, unknowns) = (engine.scan().grid, engine.scan().voxels(), engine.scan().unknowns());
        let images = Images::new(engine)?;
        let penalty = match sparse {
            Sparse::Wavelets { wavelet, levels, fixed } => Kind::Wavelets {
                work: engine.wavelets()?,
                wavelets: Wavelets::new(wavelet, levels, grid)?,
                fixed: fixed || stay,
                iteration: 0,
                dual: engine.vectors().zeros(if stay { unknowns } else { 1 })?,
            },
            Sparse::Variation { huber } => {
                let fields = (0..images.count).map(|_| engine.fields()).collect::<Result<_>>()?;
                Kind::Variation { fields, huber }
            }
        };
        let (scratch, spare) = (Scratch::new(engine, solve)?, engine.vectors().uninitialised(voxels)?);
        Ok(Self { engine, scratch, solve, job, share, penalty, images, spare })
    }

    /// The weight from which on nothing of images whose F^H W d these are is kept, if that is known.
    pub(super) fn limit(&mut self, right: &Vector<E>) -> Result<Option<f64>> {
        if matches!(self.penalty, Kind::Variation { .. }) {
            return Ok(None);
        }
        let mut limit = 0.0f64;
        for k in 0..self.images.count {
            limit = limit.max(self.coefficient_sizes(k, right)?[1]);
        }
        Ok(Some(limit))
    }

    /// The sum of absolute values of an image's wavelet coefficients, and the largest.
    fn coefficient_sizes(&mut self, k: usize, x: &Vector<E>) -> Result<[f64; 2]> {
        let Self { engine, penalty, images, spare, .. } = self;
        let Kind::Wavelets { work, wavelets, fixed, iteration, .. } = penalty else { fail!(Internal, "no wavelets") };
        engine.vectors().copy((x, k * images.voxels), (spare, 0), images.voxels)?;
        engine.coefficient_sizes(work, shifted(wavelets, *fixed, *iteration), spare)
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
        let Self { engine, penalty, images, spare, solve, .. } = self;
        let mut sum = 0.0;
        for k in 0..images.count {
            sum += images.change(engine, k, v, |engine, v| match penalty {
                Kind::Wavelets { work, wavelets, fixed, iteration, .. } => {
                    engine.soften(work, shifted(wavelets, *fixed, *iteration), weight, v)
                }
                Kind::Variation { fields, huber } => {
                    let fields = &mut fields[k];
                    for raise in rounds(weight, *huber, norm) {
                        engine.back(fields, weight, v, spare)?;
                        engine.raise(fields, raise, spare)?;
                    }
                    engine.back(fields, weight, v, spare)?;
                    swap(v, spare);
                    engine.variation(fields, *huber, v)
                }
            })?;
        }
        Ok(solve.lambda * sum)
    }

    fn penalty(&mut self, x: &Vector<E>) -> Result<f64> {
        let mut sum = 0.0;
        for k in 0..self.images.count {
            sum += match &self.penalty {
                Kind::Wavelets { .. } => self.coefficient_sizes(k, x)?[0],
                Kind::Variation { fields, huber } => {
                    self.images.see(self.engine, k, x, |engine, x| engine.variation(&fields[k], *huber, x))?
                }
            };
        }
        Ok(self.solve.lambda * sum)
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
        let Self { engine, penalty, images, spare, solve, .. } = self;
        match penalty {
            Kind::Wavelets { dual, .. } => engine.vectors().combine(-step, dual, 1.0, x),
            Kind::Variation { fields, .. } => fields.iter().enumerate().try_for_each(|(k, fields)| {
                images.change(engine, k, x, |engine, x| {
                    engine.back(fields, step * solve.lambda, x, spare)?;
                    swap(x, spare);
                    Ok(())
                })
            }),
        }
    }

    fn raise(&mut self, step: f64, x: &Vector<E>) -> Result<()> {
        let Self { engine, penalty, images, spare, solve, .. } = self;
        match penalty {
            Kind::Wavelets { work, wavelets, dual, .. } => {
                let voxels = images.voxels;
                engine.vectors().combine(step, x, 1.0, dual)?;
                // What a threshold of lambda takes away is what is no longer than lambda.
                (0..images.count).try_for_each(|k| {
                    images.change(engine, k, dual, |engine, dual| {
                        engine.vectors().copy((dual, 0), (spare, 0), voxels)?;
                        engine.soften(work, (wavelets, [0; 3]), solve.lambda, spare)?;
                        engine.vectors().combine(-1.0, spare, 1.0, dual)
                    })
                })
            }
            // Fields are in units of lambda.
            Kind::Variation { fields, huber } => {
                let step = step / solve.lambda;
                let shrink = 1.0 / (1.0 + step * *huber);
                let raise = Raise { keep: shrink, step: step * shrink, momentum: 0.0 };
                fields
                    .iter_mut()
                    .enumerate()
                    .try_for_each(|(k, fields)| images.see(engine, k, x, |engine, x| engine.raise(fields, raise, x)))
            }
        }
    }
}

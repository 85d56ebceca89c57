//! Penalties that are no squares, on any engine: their values and proximal steps, and the problem that they are part of.

use super::engine::{Engine, Solve, Vector};
use super::low_rank::Blocks;
use super::normal::{Scratch, normal_of_data};
use super::penalty::Sparse;
use super::variation::{self, Raise, rounds};
use super::wavelets::{Wavelet, Wavelets};
use isocenter_base::context::Job;
use isocenter_base::error::{Result, fail};
use isocenter_solve::Vectors;
use isocenter_solve::composite::Composite;
use isocenter_solve::primal_dual::Splitting;
use std::mem::swap;

/// |F x - d|^2 / 2 in the weights' norm, + lambda times a penalty, for the images of one problem.
pub(super) struct Problem<'a, E: Engine> {
    engine: &'a mut E,
    scratch: Scratch<'a, E>,
    solve: &'a Solve,
    job: &'a Job,
    /// This problem's part of the whole job.
    share: f64,
    penalty: Kind<E>,
    /// Wavelets and blocks stay where they are.
    fixed: bool,
    iteration: usize,
    /// K^H p of the primal-dual method, where p is the dual and K keeps lengths: of wavelets, which are orthonormal, and of blocks.
    dual: Vector<E>,
    images: Images<E>,
    /// Room for a problem's images.
    spare: Vector<E>,
}

/// The images that a vector holds, each a problem of the penalty's own, or all of them one.
struct Images<E: Engine> {
    /// Problems.
    count: usize,
    /// Voxels of one.
    voxels: usize,
    /// Room for one, where there are several.
    part: Option<Vector<E>>,
}

impl<E: Engine> Images<E> {
    fn new(engine: &mut E, count: usize, voxels: usize) -> Result<Self> {
        let part = if count > 1 { Some(engine.vectors().uninitialised(voxels)?) } else { None };
        Ok(Self { count, voxels, part })
    }

    /// Works on each problem's part of a vector; the sum of what it gives.
    fn change_each(
        &mut self,
        engine: &mut E,
        of: &mut Vector<E>,
        mut work: impl FnMut(&mut E, &mut Vector<E>, usize) -> Result<f64>,
    ) -> Result<f64> {
        let Some(part) = &mut self.part else { return work(engine, of, 0) };
        let mut sum = 0.0;
        for k in 0..self.count {
            engine.vectors().copy((of, k * self.voxels), (part, 0), self.voxels)?;
            sum += work(engine, part, k)?;
            engine.vectors().copy((part, 0), (of, k * self.voxels), self.voxels)?;
        }
        Ok(sum)
    }

    /// Looks at a problem's part of a vector.
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
    },
    Variation {
        /// Of each problem.
        fields: Vec<E::Fields>,
        huber: f64,
    },
    LowRank {
        work: E::Blocks,
        blocks: Blocks,
    },
}

impl<'a, E: Engine> Problem<'a, E> {
    /// `stay`: wavelets and blocks do not move from iteration to iteration, whatever the settings say, and there is a dual.
    pub(super) fn new(
        engine: &'a mut E,
        solve: &'a Solve,
        scratch: Scratch<'a, E>,
        (sparse, stay): (Sparse, bool),
        (job, share): (&'a Job, f64),
    ) -> Result<Self> {
        let (grid, voxels, unknowns) =
            (engine.scan().grid, engine.scan().voxels(), solve.frames * engine.scan().unknowns());
        let count = unknowns / voxels;
        let images = match sparse.takes_all_images() {
            true => Images::new(engine, 1, unknowns)?,
            false => Images::new(engine, count, voxels)?,
        };
        let (penalty, fixed) = match sparse {
            Sparse::Wavelets { wavelet, levels, fixed, .. } => {
                let wavelets = Wavelets::new(wavelet, levels, grid)?;
                (Kind::Wavelets { work: engine.wavelets()?, wavelets }, fixed)
            }
            Sparse::Variation { huber, .. } => {
                let of_one = images.voxels / voxels;
                let fields = (0..images.count).map(|_| engine.fields(of_one)).collect::<Result<_>>()?;
                (Kind::Variation { fields, huber }, true)
            }
            Sparse::LowRank { edge, fixed } => {
                let blocks = Blocks::new(edge, grid)?;
                (Kind::LowRank { work: engine.blocks(&blocks, count)?, blocks }, fixed)
            }
        };
        let has_dual = stay && !matches!(penalty, Kind::Variation { .. });
        let dual = engine.vectors().zeros(if has_dual { unknowns } else { 1 })?;
        let spare = engine.vectors().uninitialised(images.voxels)?;
        let (fixed, iteration) = (fixed || stay, 0);
        Ok(Self { engine, scratch, solve, job, share, penalty, fixed, iteration, dual, images, spare })
    }

    /// The weight from which on nothing of images whose F^H W d these are is kept.
    pub(super) fn limit(&mut self, right: &Vector<E>) -> Result<f64> {
        self.sizes(right).map(|[_, largest]| largest)
    }

    /// The sum of all wavelet coefficients' absolute values, or of all blocks' singular values, and the largest.
    fn sizes(&mut self, x: &Vector<E>) -> Result<[f64; 2]> {
        let Self { engine, penalty, fixed, iteration, images, spare, .. } = self;
        match penalty {
            Kind::Wavelets { work, wavelets } => {
                let mut all = [0.0f64; 2];
                for k in 0..images.count {
                    engine.vectors().copy((x, k * images.voxels), (spare, 0), images.voxels)?;
                    let of = (&*wavelets, shift(wavelets, *fixed, *iteration));
                    let [sum, largest] = engine.coefficient_sizes(work, of, spare)?;
                    all = [all[0] + sum, all[1].max(largest)];
                }
                Ok(all)
            }
            Kind::LowRank { work, blocks } => {
                engine.vectors().copy((x, 0), (spare, 0), images.voxels)?;
                engine.shrink(work, &moved(blocks, *fixed, *iteration), None, spare)
            }
            Kind::Variation { .. } => fail!(Internal, "total variation has no coefficients"),
        }
    }

    fn norm_square(&self) -> f64 {
        let scan = self.engine.scan();
        variation::norm_square(scan.grid, scan.highest_difference_weight)
    }
}

/// The largest wavelet coefficient of images whose F^H W d these are. Weights of total variation are of its order, and have no limit that
/// is known without a solution.
pub(super) fn largest_coefficient<E: Engine>(engine: &mut E, right: &Vector<E>) -> Result<f64> {
    let (grid, voxels) = (engine.scan().grid, engine.scan().voxels());
    let wavelets = Wavelets::new(Wavelet::Daubechies4, 0, grid)?;
    let (mut work, mut image) = (engine.wavelets()?, engine.vectors().uninitialised(voxels)?);
    (0..engine.vectors().len(right) / voxels).try_fold(0.0f64, |largest, k| {
        engine.vectors().copy((right, k * voxels), (&mut image, 0), voxels)?;
        let [_, found] = engine.coefficient_sizes(&mut work, (&wavelets, wavelets.shift(0)), &mut image)?;
        Ok(largest.max(found))
    })
}

fn shift(wavelets: &Wavelets, fixed: bool, iteration: usize) -> [usize; 3] {
    if fixed { [0; 3] } else { wavelets.shift(iteration) }
}

fn moved(blocks: &Blocks, fixed: bool, iteration: usize) -> Blocks {
    if fixed { *blocks } else { blocks.shifted(iteration) }
}

impl<E: Engine> Composite for Problem<'_, E> {
    type Vectors = E::Vectors;

    fn vectors(&mut self) -> &mut E::Vectors {
        self.engine.vectors()
    }

    fn normal(&mut self, x: &Vector<E>, out: &mut Vector<E>) -> Result<()> {
        normal_of_data(self.engine, x, out, &mut self.scratch, self.solve, self.job)?;
        self.solve.imaginary.add(self.engine, x, out)
    }

    fn prox(&mut self, step: f64, v: &mut Vector<E>) -> Result<f64> {
        let (weight, norm) = (step * self.solve.lambda, self.norm_square());
        let Self { engine, penalty, fixed, iteration, images, spare, solve, .. } = self;
        let sum = match penalty {
            Kind::Wavelets { work, wavelets } => {
                let of = (&*wavelets, shift(wavelets, *fixed, *iteration));
                images.change_each(engine, v, |engine, v, _| engine.soften(work, of, weight, v))?
            }
            Kind::Variation { fields, huber } => images.change_each(engine, v, |engine, v, k| {
                let fields = &mut fields[k];
                for raise in rounds(weight, *huber, norm) {
                    engine.back(fields, weight, v, spare)?;
                    engine.raise(fields, raise, spare)?;
                }
                engine.back(fields, weight, v, spare)?;
                swap(v, spare);
                engine.variation(fields, *huber, v)
            })?,
            Kind::LowRank { work, blocks } => {
                engine.shrink(work, &moved(blocks, *fixed, *iteration), Some(weight), v)?[0]
            }
        };
        Ok(solve.lambda * sum)
    }

    fn penalty(&mut self, x: &Vector<E>) -> Result<f64> {
        let sum = match &self.penalty {
            Kind::Wavelets { .. } | Kind::LowRank { .. } => self.sizes(x)?[0],
            Kind::Variation { fields, huber } => {
                let mut sum = 0.0;
                for (k, fields) in fields.iter().enumerate() {
                    sum += self.images.see(self.engine, k, x, |engine, x| engine.variation(fields, *huber, x))?;
                }
                sum
            }
        };
        Ok(self.solve.lambda * sum)
    }

    fn within(&mut self, r: &Vector<E>) -> Result<Option<f64>> {
        if !self.fixed || matches!(self.penalty, Kind::Variation { .. }) {
            return Ok(None);
        }
        let [_, largest] = self.sizes(r)?;
        Ok(Some(self.solve.lambda / largest))
    }

    fn after(&mut self) -> Result<()> {
        self.iteration += 1;
        self.job.advance(self.share / self.solve.stop.iterations as f64);
        self.job.check()
    }
}

impl<E: Engine> Splitting for Problem<'_, E> {
    fn norm_square(&self) -> f64 {
        match self.penalty {
            Kind::Wavelets { .. } | Kind::LowRank { .. } => 1.0,
            Kind::Variation { .. } => self.norm_square(),
        }
    }

    fn back(&mut self, step: f64, x: &mut Vector<E>) -> Result<()> {
        let Self { engine, penalty, dual, images, spare, solve, .. } = self;
        match penalty {
            Kind::Wavelets { .. } | Kind::LowRank { .. } => engine.vectors().combine(-step, dual, 1.0, x),
            Kind::Variation { fields, .. } => {
                images.change_each(engine, x, |engine, x, k| {
                    engine.back(&fields[k], step * solve.lambda, x, spare)?;
                    swap(x, spare);
                    Ok(0.0)
                })?;
                Ok(())
            }
        }
    }

    fn raise(&mut self, step: f64, x: &Vector<E>) -> Result<()> {
        let Self { engine, penalty, dual, images, spare, solve, .. } = self;
        match penalty {
            // What a threshold of lambda takes away is what is no longer than lambda.
            Kind::Wavelets { work, wavelets } => {
                let voxels = images.voxels;
                engine.vectors().combine(step, x, 1.0, dual)?;
                images.change_each(engine, dual, |engine, dual, _| {
                    engine.vectors().copy((dual, 0), (spare, 0), voxels)?;
                    engine.soften(work, (wavelets, [0; 3]), solve.lambda, spare)?;
                    engine.vectors().combine(-1.0, spare, 1.0, dual)?;
                    Ok(0.0)
                })?;
                Ok(())
            }
            Kind::LowRank { work, blocks } => {
                engine.vectors().combine(step, x, 1.0, dual)?;
                engine.vectors().copy((dual, 0), (spare, 0), images.voxels)?;
                engine.shrink(work, blocks, Some(solve.lambda), spare)?;
                engine.vectors().combine(-1.0, spare, 1.0, dual)
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

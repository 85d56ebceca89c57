//! How a minimisation went: steps, objectives, and how far the last is above the minimum at most.
//!
//! A lower bound of |A x - d|^2 / 2 + penalty(x) is a dual's value: the residual A x - d, made so small that A^H of it is one.
//! S.-J. Kim, K. Koh, M. Lustig, S. Boyd, D. Gorinevsky, "An interior-point method for large-scale l1-regularized least squares", IEEE J.
//! Sel. Top. Signal Process. 1, 2007.

use super::composite::{Composite, VectorOf};
use super::{Stop, Survey, Vectors};
use isocenter_base::error::Result;

/// How a solution went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// |step| / |image| of each iteration, after 1 for the start.
    pub residuals: Vec<f64>,
    /// The objective before the first iteration and after each.
    pub objectives: Vec<f64>,
    /// How far each objective is above the minimum at most; empty where no bound is known.
    pub gaps: Vec<f64>,
}

/// A bound is looked for before the first iteration, after every so many, and after the last: it costs a penalty's value.
const LOOK: usize = 10;

/// A [`Progress`] that grows.
pub(super) struct History {
    progress: Progress,
    /// |d|^2.
    data: f64,
    stop: Stop,
    /// The highest lower bound of the minimum.
    bound: Option<f64>,
}

impl History {
    /// Before the first iteration; `product`, 0 when given, is N x afterwards.
    pub(super) fn begin<C: Composite>(
        problem: &mut C,
        right: &VectorOf<C>,
        [x, product, room]: [&mut VectorOf<C>; 3],
        start_is_zero: bool,
        data: f64,
        stop: Stop,
    ) -> Result<Self> {
        let mut seen = Survey::default();
        let mut penalty = 0.0;
        if !start_is_zero {
            problem.normal(x, product)?;
            seen.energy = problem.vectors().dot(x, product)?;
            seen.overlap = problem.vectors().dot(x, right)?;
            penalty = problem.penalty(x)?;
        }
        let mut history = Self { progress: Progress::default(), data, stop, bound: None };
        history.progress.residuals.push(1.0);
        history.told(problem, &seen, penalty, [product, right], room)?;
        Ok(history)
    }

    /// After a step to an image whose N x `product` is; `room` is overwritten.
    pub(super) fn push<C: Composite>(
        &mut self,
        problem: &mut C,
        seen: &Survey,
        penalty: f64,
        [product, right]: [&VectorOf<C>; 2],
        room: &mut VectorOf<C>,
    ) -> Result<()> {
        self.progress.residuals.push(if seen.square > 0.0 { (seen.step / seen.square).sqrt() } else { 0.0 });
        self.told(problem, seen, penalty, [product, right], room)
    }

    /// Whether to go on.
    pub(super) fn goes_on(&self) -> bool {
        let residuals = &self.progress.residuals;
        residuals.len() <= self.stop.iterations && residuals.last().is_none_or(|r| *r > self.stop.tolerance)
    }

    pub(super) fn end(self) -> Progress {
        self.progress
    }

    /// Objective and gap of the newest image.
    fn told<C: Composite>(
        &mut self,
        problem: &mut C,
        seen: &Survey,
        penalty: f64,
        [product, right]: [&VectorOf<C>; 2],
        room: &mut VectorOf<C>,
    ) -> Result<()> {
        let objective = self.data / 2.0 + seen.energy / 2.0 - seen.overlap + penalty;
        self.progress.objectives.push(objective);
        let iteration = self.progress.objectives.len() - 1;
        let known = iteration == 0 || self.bound.is_some();
        if known && (iteration.is_multiple_of(LOOK) || !self.goes_on()) {
            self.look(problem, seen, [product, right], room)?;
        }
        // Rounding may have both change places.
        self.progress.gaps.extend(self.bound.map(|bound| (objective - bound).max(0.0)));
        Ok(())
    }

    /// A s-fold residual's dual value is s (|d|^2 - x.right) - s^2 |A x - d|^2 / 2.
    fn look<C: Composite>(
        &mut self,
        problem: &mut C,
        seen: &Survey,
        [product, right]: [&VectorOf<C>; 2],
        room: &mut VectorOf<C>,
    ) -> Result<()> {
        let count = problem.vectors().len(right);
        problem.vectors().copy((product, 0), (room, 0), count)?;
        problem.vectors().combine(-1.0, right, 1.0, room)?;
        let Some(most) = problem.within(room)? else { return Ok(()) };
        let (square, slope) = (seen.energy - 2.0 * seen.overlap + self.data, self.data - seen.overlap);
        // Where nothing is left of the residual, or nothing may be of a dual, 0 is all that is known.
        let s = if square > 0.0 { (slope / square).min(most).max(0.0) } else { 0.0 };
        let value = s * slope - s * s * square / 2.0;
        self.bound = Some(self.bound.map_or(value, |bound| bound.max(value)));
        Ok(())
    }
}

/// Without data the image is 0, whatever the start.
pub(super) fn nothing<C: Composite>(
    problem: &mut C,
    right: &VectorOf<C>,
    x: &mut VectorOf<C>,
    data: f64,
) -> Result<Progress> {
    let vectors = problem.vectors();
    let zeros = vectors.zeros(vectors.len(x))?;
    vectors.combine(1.0, &zeros, 0.0, x)?;
    let gaps = problem.within(right)?.map(|_| 0.0).into_iter().collect();
    Ok(Progress { residuals: vec![0.0], objectives: vec![data / 2.0], gaps })
}

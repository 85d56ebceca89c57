//! Least squares with a penalty that is not smooth, by accelerated proximal gradient.
//!
//! A. Beck, M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems", SIAM J. Imaging Sci. 2, 2009;
//! momentum begins anew where it points uphill: B. O'Donoghue, E. Candes, "Adaptive restart for accelerated gradient schemes", Found.
//! Comput. Math. 15, 2015. The step is one over the largest curvature that was met: no norm has to be known. N is applied to each image,
//! and N of an extrapolated one is extrapolated, so that the objective of each image is known for nothing.

use super::composite::{Composite, VectorOf};
use super::history::{History, Progress, nothing};
use super::{Course, Momentum, Stop, Vectors};
use isocenter_base::error::{Result, fail};

/// The largest curvature allowed for is so much more than what was met.
pub(super) const MARGIN: f64 = 1.05;
/// Steps shorter than this part of the image are rounding as much as step: their curvature is not believed.
pub(super) const SHORTEST: f64 = 1e-5;

/// The largest power of two that single precision holds with its inverse.
pub(super) const MOST: f64 = 126.0;

/// Minimises from the given x on. `right` is A^H d, and `data` |d|^2.
pub fn fista<C: Composite>(
    problem: &mut C,
    right: &VectorOf<C>,
    x: &mut VectorOf<C>,
    start_is_zero: bool,
    data: f64,
    stop: Stop,
) -> Result<Progress> {
    let count = problem.vectors().len(right);
    let mut next_product = problem.vectors().zeros(count)?;
    let Some(mut curvature) = first_curvature(problem, right, &mut next_product)? else {
        return nothing(problem, right, x, data);
    };
    let mut next = problem.vectors().uninitialised(count)?;
    let mut product = problem.vectors().zeros(count)?;
    let mut before = problem.vectors().uninitialised(count)?;
    let mut before_product = problem.vectors().uninitialised(count)?;
    let mut history = History::begin(problem, right, [x, &mut product, &mut next], start_is_zero, data, stop)?;
    problem.vectors().copy((x, 0), (&mut before, 0), count)?;
    problem.vectors().copy((&product, 0), (&mut before_product, 0), count)?;
    let mut t = 1.0f64;
    let mut momentum = 0.0;
    while history.goes_on() {
        let course = Course { x: [&*x, &product], before: [&before, &before_product] };
        problem.vectors().descend(1.0 / curvature, momentum, course, right, &mut next)?;
        let penalty = problem.prox(1.0 / curvature, &mut next)?;
        problem.normal(&next, &mut next_product)?;
        let seen = problem.vectors().survey(momentum, course, right, [&next, &next_product])?;
        let believed = seen.step > SHORTEST * SHORTEST * seen.square;
        if believed && seen.curvature > curvature * seen.step {
            curvature = MARGIN * seen.curvature / seen.step;
            continue;
        }
        // x, next and before change places: before, which is of no use any more, becomes room for the next.
        std::mem::swap(&mut before, x);
        std::mem::swap(x, &mut next);
        std::mem::swap(&mut before_product, &mut product);
        std::mem::swap(&mut product, &mut next_product);
        history.push(problem, &seen, penalty, [&product, right], &mut next)?;
        problem.after()?;
        if seen.turn > 0.0 {
            (t, momentum) = (1.0, 0.0);
        } else {
            let following = (1.0 + (1.0 + 4.0 * t * t).sqrt()) / 2.0;
            (t, momentum) = (following, (t - 1.0) / following);
        }
    }
    Ok(history.end())
}

/// The curvature of |A x - d|^2 / 2 along A^H d; None if that is 0.
pub(super) fn first_curvature<C: Composite>(
    problem: &mut C,
    right: &VectorOf<C>,
    product: &mut VectorOf<C>,
) -> Result<Option<f64>> {
    let square = problem.vectors().dot(right, right)?;
    if square == 0.0 {
        return Ok(None);
    }
    // N A^H d would leave the range of single precision where N is large. A power of two takes no digit away.
    let scale = (-square.log2() / 2.0).round().clamp(-MOST, MOST).exp2();
    let count = problem.vectors().len(right);
    let mut along = problem.vectors().zeros(count)?;
    problem.vectors().combine(scale, right, 0.0, &mut along)?;
    problem.normal(&along, product)?;
    let curvature = problem.vectors().dot(&along, product)? / (square * scale * scale);
    if !curvature.is_finite() {
        fail!(
            OutOfRange,
            "samples are so large that they leave the range of this precision; divide them, and options.lambda, by 1e20"
        );
    }
    // A^H d is not 0, and neither is A A^H d; rounding might say so.
    Ok((curvature > 0.0).then_some(curvature))
}

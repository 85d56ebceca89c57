//! Least squares with a penalty of K x, by a primal-dual method that needs neither an inverse nor a proximal step of the whole.
//!
//! L. Condat, "A primal-dual splitting method for convex optimization involving Lipschitzian, proximable and linear composite terms", J.
//! Optim. Theory Appl. 158, 2013, algorithm 3.1; B. C. Vu, "A splitting algorithm for dual monotone inclusions involving cocoercive
//! operators", Adv. Comput. Math. 38, 2013.

use super::composite::{Composite, VectorOf};
use super::fista::{MARGIN, SHORTEST, first_curvature};
use super::history::{History, Progress, nothing};
use super::{Course, Momentum, Stop, Vectors};
use isocenter_base::error::Result;

/// A penalty h(K x) with a dual p that the problem keeps.
pub trait Splitting: Composite {
    /// An upper bound of K's squared norm.
    fn norm_square(&self) -> f64;
    /// x = x - step K^H p.
    fn back(&mut self, step: f64, x: &mut VectorOf<Self>) -> Result<()>;
    /// p = what minimises |p - (p + step K x)|^2 / 2 + step h*(p).
    fn raise(&mut self, step: f64, x: &VectorOf<Self>) -> Result<()>;
}

/// Minimises from the given x on. `right` is A^H d, and `data` |d|^2.
pub fn primal_dual<S: Splitting>(
    problem: &mut S,
    right: &VectorOf<S>,
    x: &mut VectorOf<S>,
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
    let mut ahead = problem.vectors().uninitialised(count)?;
    let mut history = History::begin(problem, right, [x, &mut product, &mut next], start_is_zero, data, stop)?;
    while history.goes_on() {
        // 1 / t - s |K|^2 = L / 2 is what convergence asks for; half of 1 / t goes to each.
        let (primal, dual) = (1.0 / curvature, curvature / 2.0 / problem.norm_square());
        let course = Course { x: [&*x, &product], before: [&*x, &product] };
        problem.vectors().descend(primal, 0.0, course, right, &mut next)?;
        problem.back(primal, &mut next)?;
        problem.normal(&next, &mut next_product)?;
        let seen = problem.vectors().survey(0.0, course, right, [&next, &next_product])?;
        let believed = seen.step > SHORTEST * SHORTEST * seen.square;
        if believed && seen.curvature > curvature * seen.step {
            curvature = MARGIN * seen.curvature / seen.step;
            continue;
        }
        problem.vectors().copy((x, 0), (&mut ahead, 0), count)?;
        problem.vectors().combine(2.0, &next, -1.0, &mut ahead)?;
        problem.raise(dual, &ahead)?;
        std::mem::swap(x, &mut next);
        std::mem::swap(&mut product, &mut next_product);
        let penalty = problem.penalty(x)?;
        history.push(problem, &seen, penalty, [&product, right], &mut next)?;
        problem.after()?;
    }
    Ok(history.end())
}

//! Conjugate gradient on (A^T A + w) x = A^T b, with the residual in the rows' space: Å. Björck, "Numerical Methods for Least Squares
//! Problems", 1996, algorithm 7.4.1. Each slice is a system of its own.

use super::Iteration;
use super::options::Start;
use super::space::{DATA, Image, Needs, Rows, Space, Sum, X};
use crate::error::Result;

const GRADIENT: Image = Image(1);
const DIRECTION: Image = Image(2);
const OTHER: Rows = Rows(1);
const SQUARE: Sum = Sum(0);
const FIRST: Sum = Sum(1);
const CURVATURE: Sum = Sum(2);
const OBJECTIVE: Sum = Sum(3);
const NEXT: Sum = Sum(4);

pub(super) const NEEDS: Needs = Needs {
    images: 3,
    rows: 2,
    sums: 5,
    ray_factors: false,
    pixel_factors: false,
    leaves_rays_out: false,
    norms: false,
    start: 0.0,
};

pub(super) fn run<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    let options = iteration.options;
    let weight = options.regularisation;
    space.clear(OBJECTIVE)?;
    let (residual, product) = match options.start {
        Start::Uniform => {
            space.square(DATA, OBJECTIVE)?;
            (DATA, OTHER)
        }
        Start::Volume => {
            space.forward(0, X, OTHER)?;
            space.residual(0, DATA, OTHER, OBJECTIVE)?;
            (OTHER, DATA)
        }
    };
    let (mut square, mut next) = (SQUARE, NEXT);
    space.clear(square)?;
    space.adjoint(0, residual, GRADIENT)?;
    space.descend(GRADIENT, X, weight as f32, square)?;
    space.copy(square, FIRST)?;
    space.clear(next)?;
    // The first direction is the gradient: 0 / square of the one before, which is 0.
    space.turn(DIRECTION, GRADIENT, [next, square])?;
    for k in 0..options.iterations {
        penalise(space, X, weight, OBJECTIVE)?;
        space.record(k, OBJECTIVE, 0.5)?;
        space.forward(0, DIRECTION, product)?;
        space.clear(CURVATURE)?;
        space.square(product, CURVATURE)?;
        penalise(space, DIRECTION, weight, CURVATURE)?;
        space.advance(X, DIRECTION, [square, CURVATURE])?;
        if k + 1 == options.iterations {
            break;
        }
        space.clear(OBJECTIVE)?;
        space.retreat(residual, product, [square, CURVATURE], OBJECTIVE)?;
        space.clear(next)?;
        space.adjoint(0, residual, GRADIENT)?;
        space.descend(GRADIENT, X, weight as f32, next)?;
        space.turn(DIRECTION, GRADIENT, [next, square])?;
        std::mem::swap(&mut square, &mut next);
        // Of the gradient's length, not of its square.
        space.end_where(square, options.tolerance * options.tolerance, FIRST)?;
        if !space.go_on()? {
            return Ok(());
        }
    }
    space.go_on().map(drop)
}

/// sum += weight |image|^2
fn penalise<S: Space>(space: &mut S, image: Image, weight: f64, sum: Sum) -> Result<()> {
    if weight == 0.0 { Ok(()) } else { space.weigh(image, weight, sum) }
}

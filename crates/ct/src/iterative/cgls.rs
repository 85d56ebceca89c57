//! Conjugate gradient on (A^T A + w) x = A^T b. Each slice is a system of its own.
//!
//! By the pair the residual is kept in the rows' space: Å. Björck, "Numerical Methods for Least Squares Problems", 1996, algorithm 7.4.1.
//! Where A^T A is a convolution, the gradient is all that is kept (M. R. Hestenes, E. Stiefel, J. Res. Nat. Bur. Stand. 49, 1952), and each
//! step lowers the objective by the gradient's square, squared, over the direction's curvature.

use super::Iteration;
use super::options::Start;
use super::space::{DATA, Image, Needs, Rows, Space, Sum, X};
use isocenter_base::error::Result;

const GRADIENT: Image = Image(1);
const DIRECTION: Image = Image(2);
/// (A^T A + w) times the direction.
const PRODUCT: Image = Image(3);
const OTHER: Rows = Rows(1);
const SQUARE: Sum = Sum(0);
const FIRST: Sum = Sum(1);
const CURVATURE: Sum = Sum(2);
const OBJECTIVE: Sum = Sum(3);
const NEXT: Sum = Sum(4);
/// What nobody asks for.
const UNUSED: Sum = Sum(5);

pub(super) fn needs(iteration: &Iteration) -> Needs {
    let convolves = iteration.convolution.is_some();
    let begins_with_zeros = iteration.options.start == Start::Uniform;
    Needs {
        images: if convolves { 4 } else { 3 },
        rows: if convolves && begins_with_zeros { 1 } else { 2 },
        sums: 6,
        ..Needs::NOTHING
    }
}

pub(super) fn run<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    let weight = iteration.regularisation();
    space.clear(OBJECTIVE)?;
    let (residual, product) = match iteration.options.start {
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
    space.clear(SQUARE)?;
    space.adjoint(0, residual, GRADIENT)?;
    space.descend(GRADIENT, X, weight as f32, SQUARE)?;
    space.copy(SQUARE, FIRST)?;
    space.clear(NEXT)?;
    // The first direction is the gradient: 0 / square of the one before, which is 0.
    space.turn(DIRECTION, GRADIENT, [NEXT, SQUARE])?;
    match iteration.convolution {
        None => by_pair(space, iteration, [residual, product]),
        Some(_) => by_convolution(space, iteration),
    }
}

fn by_pair<S: Space>(space: &mut S, iteration: &Iteration, [residual, product]: [Rows; 2]) -> Result<()> {
    let options = iteration.options;
    let weight = iteration.regularisation();
    let (mut square, mut next) = (SQUARE, NEXT);
    for k in 0..options.iterations {
        penalise(space, X, weight, OBJECTIVE)?;
        space.record(k, OBJECTIVE, 0.5 * iteration.unit())?;
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
        if !turn(space, iteration, [&mut square, &mut next])? {
            return Ok(());
        }
    }
    space.go_on().map(drop)
}

fn by_convolution<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    let options = iteration.options;
    let weight = iteration.regularisation();
    let (mut square, mut next) = (SQUARE, NEXT);
    penalise(space, X, weight, OBJECTIVE)?;
    for k in 0..options.iterations {
        space.record(k, OBJECTIVE, 0.5 * iteration.unit())?;
        space.convolve(DIRECTION, PRODUCT)?;
        // Outside the mask too the gradient stays 0.
        space.descend(PRODUCT, DIRECTION, -weight as f32, UNUSED)?;
        space.clear(CURVATURE)?;
        space.inner(DIRECTION, PRODUCT, CURVATURE)?;
        space.advance(X, DIRECTION, [square, CURVATURE])?;
        if k + 1 == options.iterations {
            break;
        }
        space.lessen(OBJECTIVE, [square, CURVATURE])?;
        space.clear(next)?;
        space.withdraw(GRADIENT, PRODUCT, [square, CURVATURE], next)?;
        if !turn(space, iteration, [&mut square, &mut next])? {
            return Ok(());
        }
    }
    space.go_on().map(drop)
}

/// The next direction, and whether to go on.
fn turn<S: Space>(space: &mut S, iteration: &Iteration, [square, next]: [&mut Sum; 2]) -> Result<bool> {
    let tolerance = iteration.options.tolerance;
    space.turn(DIRECTION, GRADIENT, [*next, *square])?;
    std::mem::swap(square, next);
    // Of the gradient's length, not of its square.
    space.end_where(*square, tolerance * tolerance, FIRST)?;
    space.go_on()
}

/// sum += weight |image|^2
fn penalise<S: Space>(space: &mut S, image: Image, weight: f64, sum: Sum) -> Result<()> {
    if weight == 0.0 { Ok(()) } else { space.weigh(image, weight, sum) }
}

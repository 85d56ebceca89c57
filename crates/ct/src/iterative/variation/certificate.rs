//! A duality gap is a true bound: with q = A x - b and any fields y no longer than the weight, v = A^T q + D^T y, the objective is above its
//! minimum by no more than
//!
//! - `TV part = weight TV(x) + conjugate(y) - <D x, y>`, and
//! - between bounds `sum of max(v (x - lower), v (x - upper))`: what the best x there would gain by v;
//! - with a lower bound alone, q is moved to q + t, t the largest of -v / C with C = A^T 1, so that v + t C is not below 0, which costs
//!   `<v, x - lower> + t <C, x - lower> + t^2 M / 2` over M rays.
//!
//! With Poisson's law in place of squares, sum of A x - b + b ln(b / A x), the same holds of q = 1 - b / A x between bounds; any other q
//! below 1 adds its conjugate, -sum of b ln(1 - q), and the law at x, less <q, A x>.
//!
//! Of squares any other q adds `|A x - b - q|^2 / 2`, and t times the sum of `q - (A x - b)`. The bound below the minimum that is the highest so far
//! counts.

use super::places::{
    AHEAD, BOUNDS, DIFFERENCE, DISTANCE, DUAL, DUALITY, GRADIENTS, LOWEST, MASS, PROJECTED, REPAIRED, SQUARE,
    VARIATION, base, fields,
};
use super::polish::polishes;
use crate::iterative::Iteration;
use crate::iterative::rings::Rings;
use crate::iterative::space::{Bound, DATA, Penalty, Rows, Space};
use isocenter_base::error::Result;

/// Objective, the highest lower bound that can be told, and, of squares, |A x - b|^2, of each slice at the next image x, which the last step has left in
/// [`GRADIENTS`], less the base, of which the data know nothing either. With the fields as they are each slice has the best q of its own, so that bounds of slices that depend on each other add up.
pub(super) fn bounds<S: Space>(
    space: &mut S,
    iteration: &Iteration,
    rings: Option<&Rings>,
    penalty: Penalty,
) -> Result<Vec<[f64; 3]>> {
    if iteration.is_poisson() {
        by_poisson(space, iteration, penalty)
    } else {
        by_squares(space, iteration, rings, penalty)
    }
}

/// With q = A x - b, and with the method's own.
fn by_squares<S: Space>(
    space: &mut S,
    iteration: &Iteration,
    rings: Option<&Rings>,
    penalty: Penalty,
) -> Result<Vec<[f64; 3]>> {
    space.clear(SQUARE)?;
    space.forward(0, GRADIENTS, PROJECTED)?;
    if let Some(rings) = rings {
        rings.project(space, PROJECTED)?;
    }
    space.residual(0, DATA, PROJECTED, SQUARE)?;
    let square = space.read(SQUARE)?;
    let mut found: Vec<_> = square.iter().map(|square| [0.0, f64::NEG_INFINITY, *square]).collect();
    for mut rows in [PROJECTED, DUAL] {
        let mut of_rings = [vec![0.0; square.len()], vec![0.0; square.len()]];
        if let Some(rings) = rings {
            space.duplicate(rows, REPAIRED)?;
            rings.repair(space, REPAIRED)?;
            (rows, of_rings) = (REPAIRED, rings.sums(space)?);
        }
        for sum in [DISTANCE, DIFFERENCE] {
            space.clear(sum)?;
        }
        if rows != PROJECTED {
            space.apart(rows, PROJECTED, DISTANCE, DIFFERENCE)?;
        }
        let [variation, duality, bounds, mass, lowest] = image_sums(space, iteration, rows, penalty)?;
        let [distance, difference] = [space.read(DISTANCE)?, space.read(DIFFERENCE)?];
        let rays = iteration.rays as f64;
        let between = iteration.options.bounds[1].is_finite();
        for (s, found) in found.iter_mut().enumerate() {
            let t = if between { 0.0 } else { -lowest[s] };
            let moved = if t > 0.0 { t * (mass[s] + difference[s]) + 0.5 * t * t * rays } else { 0.0 };
            let objective = 0.5 * square[s] + variation[s] + of_rings[0][s];
            let gap = 0.5 * distance[s] + duality[s] + bounds[s] + of_rings[1][s] + moved;
            *found = [objective, found[1].max(objective - gap), square[s]];
        }
    }
    Ok(found)
}

/// With the dual that the last step has left in [`PROJECTED`], whose conjugate is -sum of b ln(1 - q), and with q = 1 - b / A x.
fn by_poisson<S: Space>(space: &mut S, iteration: &Iteration, penalty: Penalty) -> Result<Vec<[f64; 3]>> {
    for sum in [DISTANCE, DIFFERENCE, SQUARE] {
        space.clear(sum)?;
    }
    space.conjugate(PROJECTED, DATA, DISTANCE)?;
    let [_, duality, bounds, ..] = image_sums(space, iteration, PROJECTED, penalty)?;
    // -<A^T q, x>
    space.inner(GRADIENTS, AHEAD, DIFFERENCE)?;
    let [conjugate, product] = [space.read(DISTANCE)?, space.read(DIFFERENCE)?];
    space.forward(0, GRADIENTS, PROJECTED)?;
    space.slope(DATA, PROJECTED, SQUARE)?;
    let divergence = space.read(SQUARE)?;
    let [variation, own, own_bounds, ..] = image_sums(space, iteration, PROJECTED, penalty)?;
    let one = |s: usize| {
        let objective = divergence[s] + variation[s];
        let gap = divergence[s] + conjugate[s] + product[s] + duality[s] + bounds[s];
        let gap = if gap.is_nan() { f64::INFINITY } else { gap };
        // Infinite where rays with counts meet nothing yet: no bound comes of that.
        if objective.is_finite() {
            [objective, objective - gap.min(own[s] + own_bounds[s]), 0.0]
        } else {
            [objective, f64::NEG_INFINITY, 0.0]
        }
    };
    Ok((0..divergence.len()).map(one).collect())
}

/// The five sums of [`Bound`] with -q in `rows`.
fn image_sums<S: Space>(space: &mut S, iteration: &Iteration, rows: Rows, penalty: Penalty) -> Result<[Vec<f64>; 5]> {
    let sums = [VARIATION, DUALITY, BOUNDS, MASS, LOWEST];
    for sum in sums {
        space.clear(sum)?;
    }
    // -A^T q
    space.adjoint(0, rows, AHEAD)?;
    let (image, back, fields) = (GRADIENTS, AHEAD, fields(iteration));
    if rows == DUAL && polishes(iteration) {
        space.polish(back, fields.plane, penalty)?;
    }
    let base = base(iteration).map(|apart| apart.base);
    let [variation, duality, bounds, mass, lowest] = sums;
    space.bound(Bound { image, base, back, fields, penalty, variation, duality, bounds, mass, lowest })?;
    Ok([space.read(variation)?, space.read(duality)?, space.read(bounds)?, space.read(mass)?, space.read(lowest)?])
}

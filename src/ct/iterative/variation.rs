//! |A x - b|^2 / 2 + weight TV(x) within bounds, by the primal-dual method of A. Chambolle and T. Pock ("A first-order primal-dual algorithm
//! for convex problems with applications to imaging", J. Math. Imaging Vis. 40, 2011), over-relaxed (L. Condat, "A primal-dual splitting
//! method for convex optimization involving Lipschitzian, proximable and linear composite terms", J. Optim. Theory Appl. 158, 2013), with a
//! step for each of A and the gradient D, both divided by their norms, and a balance between image and duals that follows their moves.
//!
//! Where differences to the next slice count, too, all slices have one step and one gap.
//!
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

use super::Iteration;
use super::history::Iterated;
use super::norms::{DEPTH, GRADIENT, Norms};
use super::rings::Rings;
use super::space::{Bound, DATA, Depth, Dual, Fields, Image, Needs, Penalty, Primal, Rows, Space, Sum, X};
use crate::error::Result;

const GRADIENTS: Image = Image(1);
const AHEAD: Image = Image(2);
const FIELDS: [Image; 2] = [Image(3), Image(4)];
const DEPTH_FIELD: Image = Image(5);
/// -q: residuals are b - A x everywhere.
const DUAL: Rows = Rows(1);
const PROJECTED: Rows = Rows(2);
/// A dual that offsets allow.
const REPAIRED: Rows = Rows(3);

const IMAGE_STEP: Sum = Sum(0);
const FIELD_STEP: Sum = Sum(1);
const ROW_PART: Sum = Sum(2);
const RELAXED: Sum = Sum(3);
const MOVED: [Sum; 3] = [Sum(4), Sum(5), Sum(6)];
const SQUARE: Sum = Sum(7);
const VARIATION: Sum = Sum(8);
const DUALITY: Sum = Sum(9);
const BOUNDS: Sum = Sum(10);
const MASS: Sum = Sum(11);
const LOWEST: Sum = Sum(12);
const ADOPTED: Sum = Sum(13);
const DISTANCE: Sum = Sum(14);
const DIFFERENCE: Sum = Sum(15);
const RINGS: [Sum; 2] = [Sum(16), Sum(17)];

pub(super) fn needs(iteration: &Iteration) -> Needs {
    Needs {
        images: if iteration.depth.is_some() { 6 } else { 5 },
        rows: if iteration.options.ring_weight > 0.0 { 4 } else { 3 },
        sums: 18,
        // Of Poisson's law: rays that meet nothing are left out.
        ray_factors: iteration.is_poisson(),
        pixel_factors: true,
        norms: true,
        watched: true,
        ..Needs::NOTHING
    }
}

/// Iterations from one look at the gap to the next; the balance follows then, too.
const LOOK: usize = 20;
/// The part of the objective that the gap ends at, where nobody says.
const TOLERANCE: f64 = 1e-4;
/// Each step goes so much further than the plain method's.
const RELAXATION: f64 = 1.8;
/// The balance follows less and less from this iteration on, as convergence wants it.
const CALM: f64 = 1500.0;

/// The fields of an iteration.
fn fields(iteration: &Iteration) -> Fields {
    Fields { plane: FIELDS, depth: iteration.depth.map(|scale| Depth { field: DEPTH_FIELD, scale }) }
}

/// Numbers of slices that depend on each other: their sum, in the place of each.
fn together<const N: usize>(iteration: &Iteration, mut values: Vec<[f64; N]>) -> Vec<[f64; N]> {
    if iteration.depth.is_some() {
        let sum = std::array::from_fn(|k| values.iter().map(|v| v[k]).sum());
        values.fill(sum);
    }
    values
}

/// The balance between the steps of the image and of the duals, one a slice.
struct Balance {
    norms: Norms,
    /// At least the largest eigenvalue of D^T D.
    gradient: f64,
    first: Vec<f64>,
    now: Vec<f64>,
}

impl Balance {
    /// `units`: of each slice, how many times as large the unit of its dual is as that of its data.
    fn new(norms: Norms, depth: Option<f32>, units: &[f64]) -> Self {
        let depth = depth.map_or(0.0, |scale| DEPTH * f64::from(scale).powi(2));
        let gradient = GRADIENT + depth;
        // Of a slice's neighbours no more is known, nor is there much to gain.
        let norms = Norms { both: norms.both + depth / gradient, ..norms };
        let first: Vec<f64> = units.iter().map(|u| u * (norms.typical * norms.normal).sqrt()).collect();
        Self { norms, gradient, now: first.clone(), first }
    }

    /// Goes half of the way to where image and duals move alike.
    fn follow(&mut self, iteration: usize, moved: &[[f64; 3]]) {
        let Norms { normal, both, .. } = self.norms;
        let calm = (CALM / iteration as f64).powi(2).min(1.0);
        for (([image, rows, fields], balance), first) in moved.iter().zip(&mut self.now).zip(&self.first) {
            let wanted = ((normal * rows + self.gradient * fields) / (both * image)).sqrt();
            if wanted.is_finite() && wanted > 0.0 {
                let change = (wanted / *balance).powf(0.5 * calm).clamp(0.25, 4.0);
                *balance = (*balance * change).clamp(0.02 * first, 1000.0 * first);
            }
        }
    }

    /// Tells the slices their steps.
    fn apply<S: Space>(&self, space: &mut S, running: &[bool], poisson: bool) -> Result<()> {
        let Norms { normal, both, .. } = self.norms;
        let all = |f: &dyn Fn(f64) -> f64| -> Vec<f64> { self.now.iter().map(|t| f(*t)).collect() };
        space.set(IMAGE_STEP, &all(&|t| 1.0 / (both * t)))?;
        space.set(FIELD_STEP, &all(&|t| t / self.gradient))?;
        let part = |step: f64| if poisson { step } else { RELAXATION * step / (1.0 + step) };
        space.set(ROW_PART, &all(&|t| part(t / normal)))?;
        let relaxed: Vec<f64> = running.iter().map(|runs| if *runs { RELAXATION } else { 0.0 }).collect();
        space.set(RELAXED, &relaxed)
    }
}

pub(super) fn run<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    let options = iteration.options;
    let penalty = Penalty { weight: options.regularisation as f32, huber: options.huber as f32 };
    let tolerance = if options.tolerance == 0.0 { TOLERANCE } else { options.tolerance };
    let mut running = space.running()?;
    let poisson = iteration.is_poisson();
    let units = if poisson { counts(space, iteration)? } else { vec![1.0; running.len()] };
    let norms = iteration.norms(space)?;
    let rings = Rings::new(space, iteration, norms, RINGS)?;
    let norms = if rings.is_some() { Rings::norms(norms) } else { norms };
    let mut balance = Balance::new(norms, iteration.depth, &units);
    let fields = fields(iteration);
    // Objective and gap, and the highest lower bound so far.
    let mut seen = vec![[f64::INFINITY; 2]; running.len()];
    let mut lower = vec![f64::NEG_INFINITY; running.len()];
    // Of Poisson's law the dual begins with 0.
    if !poisson {
        space.forward(0, X, DUAL)?;
        space.residual(0, DATA, DUAL, SQUARE)?;
    }
    moves(space, iteration)?;
    balance.apply(space, &running, poisson)?;
    for k in 1..=options.iterations {
        space.adjoint(0, DUAL, GRADIENTS)?;
        let (image, gradient, ahead) = (X, GRADIENTS, AHEAD);
        space.primal(Primal { image, gradient, ahead, fields, step: IMAGE_STEP, relaxed: RELAXED })?;
        space.forward(0, AHEAD, PROJECTED)?;
        if let Some(rings) = &rings {
            rings.step(space, [DUAL, PROJECTED], [IMAGE_STEP, RELAXED])?;
        }
        if poisson {
            space.count(DUAL, PROJECTED, DATA, [ROW_PART, RELAXED])?;
        } else {
            space.residual(0, DATA, PROJECTED, SQUARE)?;
            space.approach(DUAL, PROJECTED, ROW_PART)?;
        }
        space.dual(Dual { ahead, fields, step: FIELD_STEP, relaxed: RELAXED, penalty })?;
        if k % LOOK == 0 || k == options.iterations {
            let last = k == options.iterations;
            let found = bounds(space, iteration, rings.as_ref(), penalty)?;
            let slices = running.iter().filter(|runs| **runs).count();
            let mut adopted = vec![0.0; running.len()];
            for (s, runs) in running.iter_mut().enumerate().filter(|(_, runs)| **runs) {
                lower[s] = lower[s].max(found[s][1]);
                seen[s] = [found[s][0], found[s][0] - lower[s]];
                if last || seen[s][0].is_finite() && seen[s][1] <= tolerance * seen[s][0] {
                    (*runs, adopted[s]) = (false, 1.0);
                }
            }
            space.set(ADOPTED, &adopted)?;
            space.blend(X, GRADIENTS, ADOPTED)?;
            let ended: Vec<bool> = running.iter().map(|runs| !runs).collect();
            let of = if iteration.depth.is_some() { &seen[..1] } else { &seen[..] };
            let sum = |k: usize| of.iter().map(|f| f[k]).sum();
            space.tell(Iterated { iteration: k, objective: sum(0), gap: sum(1), slices });
            space.end(&ended)?;
            balance.follow(k, &moves(space, iteration)?);
            balance.apply(space, &running, poisson)?;
        }
        if !space.go_on()? {
            break;
        }
    }
    Ok(())
}

/// Of each slice, one over the data's root mean square: what a dual without unit is to data that have one.
fn counts<S: Space>(space: &mut S, iteration: &Iteration) -> Result<Vec<f64>> {
    space.clear(SQUARE)?;
    space.square(DATA, SQUARE)?;
    let rays = iteration.rays as f64;
    let sums = together(iteration, space.read(SQUARE)?.into_iter().map(|sum| [sum, rays]).collect());
    Ok(sums.into_iter().map(|[sum, rays]| if sum > 0.0 { (rays / sum).sqrt() } else { 1.0 }).collect())
}

/// How far image, rows and fields have come since the last time.
fn moves<S: Space>(space: &mut S, iteration: &Iteration) -> Result<Vec<[f64; 3]>> {
    let [image, rows, fields] = MOVED;
    for sum in MOVED {
        space.clear(sum)?;
    }
    space.image_moved(X, image)?;
    space.rows_moved(DUAL, rows)?;
    for field in FIELDS.into_iter().chain(iteration.depth.map(|_| DEPTH_FIELD)) {
        space.image_moved(field, fields)?;
    }
    let [image, rows, fields] = [space.read(image)?, space.read(rows)?, space.read(fields)?];
    let each = image.into_iter().zip(rows).zip(fields).map(|((image, rows), fields)| [image, rows, fields]);
    Ok(together(iteration, each.collect()))
}

/// Objective and the highest lower bound that can be told of each slice, or of all that depend on each other, at the next image x, which
/// the last step has left in [`GRADIENTS`]. With the fields as they are each slice has the best q of its own.
fn bounds<S: Space>(
    space: &mut S,
    iteration: &Iteration,
    rings: Option<&Rings>,
    penalty: Penalty,
) -> Result<Vec<[f64; 2]>> {
    let found = match iteration.is_poisson() {
        true => by_poisson(space, iteration, penalty)?,
        false => by_squares(space, iteration, rings, penalty)?,
    };
    Ok(together(iteration, found))
}

/// With q = A x - b, and with the method's own.
fn by_squares<S: Space>(
    space: &mut S,
    iteration: &Iteration,
    rings: Option<&Rings>,
    penalty: Penalty,
) -> Result<Vec<[f64; 2]>> {
    space.clear(SQUARE)?;
    space.forward(0, GRADIENTS, PROJECTED)?;
    if let Some(rings) = rings {
        rings.project(space, PROJECTED)?;
    }
    space.residual(0, DATA, PROJECTED, SQUARE)?;
    let square = space.read(SQUARE)?;
    let mut found = vec![[0.0, f64::NEG_INFINITY]; square.len()];
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
            *found = [objective, found[1].max(objective - gap)];
        }
    }
    Ok(found)
}

/// With the dual that the last step has left in [`PROJECTED`], whose conjugate is -sum of b ln(1 - q), and with q = 1 - b / A x.
fn by_poisson<S: Space>(space: &mut S, iteration: &Iteration, penalty: Penalty) -> Result<Vec<[f64; 2]>> {
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
            [objective, objective - gap.min(own[s] + own_bounds[s])]
        } else {
            [objective, f64::NEG_INFINITY]
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
    let [variation, duality, bounds, mass, lowest] = sums;
    space.bound(Bound { image, back, fields, penalty, variation, duality, bounds, mass, lowest })?;
    Ok([space.read(variation)?, space.read(duality)?, space.read(bounds)?, space.read(mass)?, space.read(lowest)?])
}

//! |A x - b|^2 / 2 + weight TV(x) within bounds, by the primal-dual method of A. Chambolle and T. Pock ("A first-order primal-dual algorithm
//! for convex problems with applications to imaging", J. Math. Imaging Vis. 40, 2011), over-relaxed (L. Condat, "A primal-dual splitting
//! method for convex optimization involving Lipschitzian, proximable and linear composite terms", J. Optim. Theory Appl. 158, 2013), with a
//! step for each of A and the gradient D, both divided by their norms, and a balance between image and duals that suits the weight, or follows their moves.
//!
//! Where differences to the next slice count, too, all slices have one step and one gap.
mod balance;
mod certificate;
mod places;
pub(crate) mod polish;

use super::Iteration;
use super::base;
use super::history::Iterated;
use super::norms::Norms;
use super::options::Weighting;
use super::rings::{self, Rings};
use super::space::{DATA, Dual, Image, Needs, Offsets, Penalty, Primal, Rows, Space, X};
use balance::Balance;
use isocenter_base::error::Result;
use places::{
    ADOPTED, AHEAD, DUAL, FIELD_STEP, GRADIENTS, IMAGE_STEP, LOOK, MOVED, PROJECTED, RELAXED, RINGS, ROW_STEP, SQUARE,
    SUMS, all_images, fields,
};
use std::ops::Range;

pub(super) fn needs(iteration: &Iteration) -> Needs {
    Needs {
        images: all_images(iteration),
        rows: if iteration.options.ring_weight > 0.0 { 4 } else { 3 },
        sums: SUMS,
        // Of Poisson's law: rays that meet nothing are left out.
        ray_factors: iteration.is_poisson(),
        pixel_factors: true,
        norms: true,
        watched: follows(iteration),
        ..Needs::NOTHING
    }
}

/// Whether the steps' balance follows how far vectors come.
fn follows(iteration: &Iteration) -> bool {
    let transmission = iteration.options.weighting == Weighting::Transmission;
    iteration.is_poisson() || iteration.options.ring_weight > 0.0 || transmission
}

/// A vector of some slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vector {
    Image(Image),
    Rows(Rows),
    Offsets(Offsets),
}

/// The next image, after a stretch.
pub(crate) const NEXT: Image = GRADIENTS;

/// What goes on from stretch to stretch.
pub(crate) fn lasting(iteration: &Iteration) -> impl Iterator<Item = Vector> {
    let base = places::base(iteration).map(|base| base.base);
    let images = [X].into_iter().chain(fields(iteration).all()).chain(base);
    let rings = (iteration.options.ring_weight > 0.0).then_some(Vector::Offsets(rings::FOUND));
    let roots = iteration.roots_of_data().map(Vector::Rows);
    images.map(Vector::Image).chain([DATA, DUAL].map(Vector::Rows)).chain(rings).chain(roots)
}

/// The part of the objective that the gap ends at, where nobody says.
const TOLERANCE: f64 = 1e-4;
/// Numbers of slices that depend on each other: their sum, in the place of each.
fn together<const N: usize>(iteration: &Iteration, mut values: Vec<[f64; N]>) -> Vec<[f64; N]> {
    if iteration.depth.is_some() {
        let sum = std::array::from_fn(|k| values.iter().map(|v| v[k]).sum());
        values.fill(sum);
    }
    values
}

/// What is seen of a slice after a stretch of iterations: objective, the highest lower bound that is known, what is left of the data, squared, and, where the balance
/// follows that, how far image, rows and fields have come.
pub(crate) type Seen = [f64; 6];

/// The iterations of some slices: stretches, between which it is seen how far they are. What slices are in memory at a time is not its
/// business: those that depend on each other may go through memory piece by piece, with [`REACH`] slices more on either side.
pub(crate) struct Course<'a> {
    iteration: &'a Iteration<'a>,
    penalty: Penalty,
    tolerance: f64,
    rings: Option<Rings>,
    balance: Balance,
    running: Vec<bool>,
    /// Objective and gap, and the highest lower bound so far.
    seen: Vec<[f64; 2]>,
    lower: Vec<f64>,
    done: usize,
}

/// An iteration takes what a slice is from its neighbours; what is seen afterwards does so once more.
pub(crate) const REACH: usize = LOOK + 1;

impl<'a> Course<'a> {
    /// `squares`: of each slice, the sum of the squares of [`measured`].
    pub(crate) fn new(iteration: &'a Iteration<'a>, norms: Norms, slices: usize, squares: Option<Vec<f64>>) -> Self {
        let options = iteration.options;
        let penalty = Penalty { weight: iteration.regularisation() as f32, huber: options.huber as f32 };
        let tolerance = if options.tolerance == 0.0 { TOLERANCE } else { options.tolerance };
        let norms = iteration.weighted(norms);
        let rings = Rings::new(iteration, norms, RINGS);
        let norms = if rings.is_some() { Rings::norms(norms) } else { norms };
        let units = squares.map_or_else(|| vec![iteration.mean_root(); slices], |squares| units(iteration, squares));
        let balance = Balance::new((norms, iteration.smooth.is_some()), iteration.depth, &units);
        Self {
            iteration,
            penalty,
            tolerance,
            rings,
            balance,
            running: vec![true; slices],
            seen: vec![[f64::INFINITY; 2]; slices],
            lower: vec![f64::NEG_INFINITY; slices],
            done: 0,
        }
    }

    /// Whether the base moves after the next stretch.
    fn settles(&self) -> bool {
        !self.iteration.is_poisson() && base::settles(self.done / LOOK + 1)
    }

    /// Whether the next stretch changes one of the [`lasting`] vectors.
    pub(crate) fn changes(&self, vector: Vector) -> bool {
        let moves = places::base(self.iteration).map(|base| Vector::Image(base.base));
        let is_settled = vector == Vector::Rows(DATA) || moves == Some(vector);
        let roots = self.iteration.roots_of_data().map(Vector::Rows);
        roots != Some(vector) && (self.settles() || !is_settled)
    }

    /// Iterations of the next stretch, if there is one.
    pub(crate) fn next(&self) -> Option<usize> {
        let left = self.iteration.options.iterations - self.done;
        (left > 0 && self.running.contains(&true)).then_some(left.min(LOOK))
    }

    /// The next stretch of these slices, which are those of the space, and the next image, [`NEXT`]; what is seen of them.
    pub(crate) fn stretch<S: Space>(&self, space: &mut S, slices: Range<usize>) -> Result<Vec<Seen>> {
        let (iteration, penalty, poisson) = (self.iteration, self.penalty, self.iteration.is_poisson());
        let (fields, apart) = (fields(iteration), places::base(iteration));
        let base = apart.map(|apart| apart.base);
        if let Some(rings) = &self.rings {
            rings.begin(space, iteration)?;
        }
        // Of Poisson's law, and where smooth components take smaller steps, the dual begins with 0: what it has of them stays long.
        let by_part = !poisson && iteration.smooth.is_none();
        if self.done == 0 && by_part {
            space.forward(0, X, DUAL)?;
            space.residual(0, DATA, DUAL, SQUARE)?;
        }
        if follows(iteration) {
            moves(space, iteration)?;
        }
        self.balance.apply(space, (slices.clone(), &self.running), by_part)?;
        for _ in 0..self.next().unwrap_or(0) {
            space.adjoint(0, DUAL, GRADIENTS)?;
            let (image, gradient, ahead) = (X, GRADIENTS, AHEAD);
            space.primal(Primal { image, base, gradient, ahead, fields, step: IMAGE_STEP, relaxed: RELAXED })?;
            space.forward(0, AHEAD, PROJECTED)?;
            if let Some(rings) = &self.rings {
                rings.step(space, [DUAL, PROJECTED], [IMAGE_STEP, RELAXED])?;
            }
            if poisson {
                space.count(DUAL, PROJECTED, DATA, [ROW_STEP, RELAXED])?;
            } else {
                space.residual(0, DATA, PROJECTED, SQUARE)?;
                match by_part {
                    true => space.approach(DUAL, PROJECTED, ROW_STEP)?,
                    false => space.approach_smoothly(DUAL, PROJECTED, [ROW_STEP, RELAXED])?,
                }
            }
            space.dual(Dual { ahead, base, fields, step: FIELD_STEP, relaxed: RELAXED, penalty })?;
            space.go_on()?;
        }
        let moved = if follows(iteration) { moves(space, iteration)? } else { vec![[0.0; 3]; slices.len()] };
        let found = certificate::bounds(space, iteration, self.rings.as_ref(), penalty)?;
        if let Some(apart) = apart {
            apart.begin(space, &self.running[slices])?;
            space.join(GRADIENTS, apart.base)?;
            if self.settles() {
                apart.copy(space, GRADIENTS, AHEAD)?;
                apart.settle(space, AHEAD, &[X])?;
            }
        }
        Ok(found.into_iter().zip(moved).map(|([a, b, c], [d, e, f])| [a, b, c, d, e, f]).collect())
    }

    /// Takes what was seen of all slices after the stretch. 1 for each slice that ends there, whose image is the next one, [`GRADIENTS`];
    /// 0 for others.
    pub(crate) fn take(&mut self, seen: Vec<Seen>) -> (Vec<f64>, Iterated) {
        self.done += self.next().unwrap_or(0);
        let found = together(self.iteration, seen);
        let (last, slices) =
            (self.done == self.iteration.options.iterations, self.running.iter().filter(|runs| **runs).count());
        let mut adopted = vec![0.0; found.len()];
        for (s, runs) in self.running.iter_mut().enumerate().filter(|(_, runs)| **runs) {
            let [objective, bound, ..] = found[s];
            self.lower[s] = self.lower[s].max(bound);
            let gap = objective - self.lower[s];
            self.seen[s] = [objective, gap];
            if last || objective.is_finite() && gap <= self.tolerance * objective {
                (*runs, adopted[s]) = (false, 1.0);
            }
        }
        if follows(self.iteration) {
            self.balance.follow(self.done, found.iter().map(|[.., image, rows, fields]| [*image, *rows, *fields]));
        } else if self.balance.settles(self.done) {
            let rays =
                self.iteration.rays as f64 * if self.iteration.depth.is_some() { found.len() as f64 } else { 1.0 };
            self.balance.settle(self.penalty.weight, found.iter().map(|[_, _, left, ..]| left / rays));
        }
        let of = if self.iteration.depth.is_some() { &self.seen[..1] } else { &self.seen[..] };
        let sum = |k: usize| self.iteration.unit() * of.iter().map(|f| f[k]).sum::<f64>();
        (adopted, Iterated { iteration: self.done, objective: sum(0), gap: sum(1), slices })
    }
}

/// On slices that are all in memory.
pub(super) fn run<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    let (slices, norms) = (space.running()?.len(), space.norms()?);
    let squares = match measured(iteration) {
        Some(rows) => {
            space.clear(SQUARE)?;
            space.square(rows, SQUARE)?;
            Some(space.read(SQUARE)?)
        }
        None => None,
    };
    let mut course = Course::new(iteration, norms, slices, squares);
    while course.next().is_some() {
        let seen = course.stretch(space, 0..slices)?;
        let (adopted, found) = course.take(seen);
        space.set(ADOPTED, &adopted)?;
        space.blend(X, GRADIENTS, ADOPTED)?;
        space.tell(found);
    }
    Ok(())
}

/// What the balance begins with is of these: Poisson data, or roots of weights that are made of the data.
pub(crate) fn measured(iteration: &Iteration) -> Option<Rows> {
    if iteration.is_poisson() { Some(DATA) } else { iteration.roots_of_data() }
}

/// Of each slice, one over the Poisson data's root mean square, what a dual without unit is to data that have one; or the root of the rays' mean weight.
fn units(iteration: &Iteration, squares: Vec<f64>) -> Vec<f64> {
    let rays = iteration.rays as f64;
    let sums = together(iteration, squares.into_iter().map(|sum| [sum, rays]).collect());
    let root = |[sum, rays]: [f64; 2]| if sum > 0.0 { (sum / rays).sqrt() } else { 1.0 };
    sums.into_iter().map(|of| if iteration.is_poisson() { 1.0 / root(of) } else { root(of) }).collect()
}

/// How far image, rows and fields have come since the last time.
fn moves<S: Space>(space: &mut S, iteration: &Iteration) -> Result<Vec<[f64; 3]>> {
    let [image, rows, fields] = MOVED;
    for sum in MOVED {
        space.clear(sum)?;
    }
    space.image_moved(X, image)?;
    space.rows_moved(DUAL, rows)?;
    for field in self::fields(iteration).all() {
        space.image_moved(field, fields)?;
    }
    let [image, rows, fields] = [space.read(image)?, space.read(rows)?, space.read(fields)?];
    Ok(image.into_iter().zip(rows).zip(fields).map(|((image, rows), fields)| [image, rows, fields]).collect())
}

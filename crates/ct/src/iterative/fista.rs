//! |A x - b|^2 / 2 + w |x|^2 / 2 within bounds, by accelerated projected gradient: A. Beck, M. Teboulle, "A fast iterative
//! shrinkage-thresholding algorithm for linear inverse problems", SIAM J. Imaging Sci. 2, 2009; begun anew where a step turns back on the
//! one before: B. O'Donoghue, E. Candès, "Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15, 2015.
//!
//! Where A^T A is nearly a convolution T, which is never less than it but for rounding, iterations go by T, and the gradient is the pair's anew at
//! each look: the objective with T in its place is above the pair's, and touches it there, so that they come to the pair's minimum. Objective and
//! gap are always the pair's.
//!
//! With v the gradient at x, the objective at z is v (z - x) + w |z - x|^2 / 2 above that at x, at least: the lowest that this can be for a
//! z within the bounds, pixel after pixel, tells how far x is above the minimum at most. Without w and without two bounds it can be
//! anything, and nobody knows.

use super::Iteration;
use super::base::{Base, settles};
use super::history::Iterated;
use super::space::{DATA, Excess, Hasten, Image, Needs, Rows, Space, Sum, X};
use isocenter_base::error::Result;

const GRADIENT: Image = Image(1);
const AHEAD: Image = Image(2);
const BASE: Image = Image(3);
/// Less T of an image, the gradient there.
const BACK: Image = Image(4);
const PROJECTED: Rows = Rows(1);

const STEP: Sum = Sum(0);
const MOMENTUM: Sum = Sum(1);
const PART: Sum = Sum(2);
const TURNED: Sum = Sum(3);
const SQUARE: Sum = Sum(4);
const EXCESS: Sum = Sum(5);
const LENGTH: Sum = Sum(6);
const ENDED: Sum = Sum(7);
const NUMBERS: [Sum; 4] = [Sum(8), Sum(9), Sum(10), Sum(11)];
const APART: Base = Base { base: BASE, projected: PROJECTED, numbers: NUMBERS, sum: SQUARE };

/// Iterations from one look at objective and gap to the next.
const LOOK: usize = 20;
/// Power iteration comes to the norm from below.
const IN_HAND: f64 = 1.02;

pub(super) fn needs(iteration: &Iteration) -> Needs {
    let images = if iteration.convolution.is_some() { 5 } else { 4 };
    Needs { images, rows: 2, sums: 12, norms: true, ..Needs::NOTHING }
}

pub(super) fn run<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    let options = iteration.options;
    let weight = iteration.regularisation();
    let back = iteration.convolution.as_ref().map(|_| BACK);
    let mut running = space.running()?;
    let slices = running.len();
    let step = 1.0 / (IN_HAND * iteration.weighted(space.norms()?).normal + weight);
    space.set(MOMENTUM, &vec![1.0; slices])?;
    space.clear(TURNED)?;
    APART.begin(space, &running)?;
    if back.is_some() {
        descent(space, X)?;
        refine(space)?;
    }
    // The point ahead is the image itself.
    APART.copy(space, X, AHEAD)?;
    space.set(STEP, &vec![step; slices])?;
    let mut seen = vec![[f64::INFINITY; 2]; slices];
    for k in 1..=options.iterations {
        match back {
            None => descent(space, AHEAD)?,
            Some(_) => space.convolve(AHEAD, GRADIENT)?,
        }
        let (image, base, ahead, gradient) = (X, BASE, AHEAD, GRADIENT);
        space.quicken(MOMENTUM, TURNED, PART)?;
        let weight = weight as f32;
        space.hasten(Hasten { image, base, ahead, gradient, back, weight, step: STEP, part: PART, turned: TURNED })?;
        let last = k == options.iterations;
        if k % LOOK == 0 || last {
            APART.begin(space, &running)?;
            if k % LOOK == 0 && settles(k / LOOK) {
                APART.whole(space, X, GRADIENT)?;
                APART.settle(space, GRADIENT, &[X, AHEAD])?;
            }
            let found = look(space, iteration)?;
            if back.is_some() {
                refine(space)?;
            }
            let before = running.clone();
            for (s, runs) in running.iter_mut().enumerate().filter(|(_, runs)| **runs) {
                seen[s] = found[s];
                *runs = !last && found[s][1] > options.tolerance * found[s][0] && found[s][1] > 0.0;
            }
            let sum = |k: usize| iteration.unit() * seen.iter().map(|f| f[k]).sum::<f64>();
            let went_on = before.iter().filter(|runs| **runs).count();
            space.tell(Iterated { iteration: k, objective: sum(0), gap: sum(1), slices: went_on });
            end(space, (&before, &running), step)?;
        }
        if !space.go_on()? {
            break;
        }
    }
    Ok(())
}

/// Images of slices that end are whole.
fn end<S: Space>(space: &mut S, (before, running): (&[bool], &[bool]), step: f64) -> Result<()> {
    let of = |value: f64, which: &dyn Fn(usize) -> bool| -> Vec<f64> {
        (0..running.len()).map(|s| if which(s) { value } else { 0.0 }).collect()
    };
    APART.whole(space, X, GRADIENT)?;
    space.set(ENDED, &of(1.0, &|s| before[s] && !running[s]))?;
    space.blend(X, GRADIENT, ENDED)?;
    space.set(STEP, &of(step, &|s| running[s]))?;
    let ended: Vec<bool> = running.iter().map(|runs| !runs).collect();
    space.end(&ended)
}

/// gradient = A^T (b - A image); square += |b - A image|^2.
fn descent<S: Space>(space: &mut S, image: Image) -> Result<()> {
    space.forward(0, image, PROJECTED)?;
    space.residual(0, DATA, PROJECTED, SQUARE)?;
    space.adjoint(0, PROJECTED, GRADIENT)
}

/// back = A^T (b - A x) + T x, of which the gradient has the first.
fn refine<S: Space>(space: &mut S) -> Result<()> {
    let [one, ..] = NUMBERS;
    APART.copy(space, GRADIENT, BACK)?;
    space.convolve(X, GRADIENT)?;
    space.advance(BACK, GRADIENT, [one, one])
}

/// Objective and gap of each slice.
fn look<S: Space>(space: &mut S, iteration: &Iteration) -> Result<Vec<[f64; 2]>> {
    for sum in [SQUARE, EXCESS, LENGTH] {
        space.clear(sum)?;
    }
    descent(space, X)?;
    let weight = iteration.regularisation();
    let (image, base, gradient) = (X, BASE, GRADIENT);
    space.excess(Excess { image, base, gradient, weight: weight as f32, excess: EXCESS, length: LENGTH })?;
    let (square, length, excess) = (space.read(SQUARE)?, space.read(LENGTH)?, space.read(EXCESS)?);
    let one = |s: usize| [0.5 * square[s] + 0.5 * weight * length[s], excess[s]];
    Ok((0..square.len()).map(one).collect())
}

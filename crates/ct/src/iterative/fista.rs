//! |A x - b|^2 / 2 + w |x|^2 / 2 within bounds, by accelerated projected gradient: A. Beck, M. Teboulle, "A fast iterative
//! shrinkage-thresholding algorithm for linear inverse problems", SIAM J. Imaging Sci. 2, 2009; begun anew where a step turns back on the
//! one before: B. O'Donoghue, E. Candès, "Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15, 2015.
//!
//! With v the gradient at x, the objective at z is v (z - x) + w |z - x|^2 / 2 above that at x, at least: the lowest that this can be for a
//! z within the bounds, pixel after pixel, tells how far x is above the minimum at most. Without w and without two bounds it can be
//! anything, and nobody knows.

use super::Iteration;
use super::history::Iterated;
use super::space::{DATA, Excess, Hasten, Image, Needs, Rows, Space, Sum, X};
use isocenter_base::error::Result;

const GRADIENT: Image = Image(1);
const AHEAD: Image = Image(2);
/// A^T b, where A^T A is a convolution.
const BACK: Image = Image(3);
const PROJECTED: Rows = Rows(1);

const STEP: Sum = Sum(0);
const MOMENTUM: Sum = Sum(1);
const PART: Sum = Sum(2);
const TURNED: Sum = Sum(3);
const DATA_SQUARE: Sum = Sum(4);
const SQUARE: Sum = Sum(5);
const EXCESS: Sum = Sum(6);
const PRODUCT: Sum = Sum(7);
const LENGTH: Sum = Sum(8);

/// Iterations from one look at objective and gap to the next.
const LOOK: usize = 20;
/// Power iteration comes to the norm from below.
const IN_HAND: f64 = 1.02;

pub(super) fn needs(iteration: &Iteration) -> Needs {
    let convolves = iteration.convolution.is_some();
    Needs {
        images: if convolves { 4 } else { 3 },
        rows: if convolves { 1 } else { 2 },
        sums: 9,
        norms: true,
        ..Needs::NOTHING
    }
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
    space.clear(DATA_SQUARE)?;
    if back.is_some() {
        space.square(DATA, DATA_SQUARE)?;
        space.adjoint(0, DATA, BACK)?;
    }
    // The point ahead is the image itself.
    space.set(PART, &vec![1.0; slices])?;
    space.blend(AHEAD, X, PART)?;
    space.set(STEP, &vec![step; slices])?;
    let mut seen = vec![[f64::INFINITY; 2]; slices];
    for k in 1..=options.iterations {
        descent(space, back, AHEAD, SQUARE)?;
        let (image, ahead, gradient) = (X, AHEAD, GRADIENT);
        space.quicken(MOMENTUM, TURNED, PART)?;
        let weight = weight as f32;
        space.hasten(Hasten { image, ahead, gradient, back, weight, step: STEP, part: PART, turned: TURNED })?;
        if k % LOOK == 0 || k == options.iterations {
            let found = look(space, iteration, back)?;
            let before = running.iter().filter(|runs| **runs).count();
            for (s, runs) in running.iter_mut().enumerate().filter(|(_, runs)| **runs) {
                seen[s] = found[s];
                *runs = found[s][1] > options.tolerance * found[s][0] && found[s][1] > 0.0;
            }
            let sum = |k: usize| iteration.unit() * seen.iter().map(|f| f[k]).sum::<f64>();
            space.tell(Iterated { iteration: k, objective: sum(0), gap: sum(1), slices: before });
            let steps: Vec<f64> = running.iter().map(|runs| if *runs { step } else { 0.0 }).collect();
            space.set(STEP, &steps)?;
            let ended: Vec<bool> = running.iter().map(|runs| !runs).collect();
            space.end(&ended)?;
        }
        if !space.go_on()? {
            break;
        }
    }
    Ok(())
}

/// gradient = A^T (b - A image), of a convolution A^T A image alone; square += |b - A image|^2 by the pair.
fn descent<S: Space>(space: &mut S, back: Option<Image>, image: Image, square: Sum) -> Result<()> {
    if back.is_some() {
        return space.convolve(image, GRADIENT);
    }
    space.forward(0, image, PROJECTED)?;
    space.residual(0, DATA, PROJECTED, square)?;
    space.adjoint(0, PROJECTED, GRADIENT)
}

/// Objective and gap of each slice.
fn look<S: Space>(space: &mut S, iteration: &Iteration, back: Option<Image>) -> Result<Vec<[f64; 2]>> {
    for sum in [SQUARE, EXCESS, PRODUCT, LENGTH] {
        space.clear(sum)?;
    }
    descent(space, back, X, SQUARE)?;
    let weight = iteration.regularisation();
    let (image, gradient) = (X, GRADIENT);
    let of = Excess { image, gradient, back, weight: weight as f32, excess: EXCESS, product: PRODUCT, length: LENGTH };
    space.excess(of)?;
    let square = match back {
        None => space.read(SQUARE)?,
        // |b - A x|^2 = |b|^2 - <x, A^T b + A^T (b - A x)>
        Some(_) => space.read(DATA_SQUARE)?.iter().zip(space.read(PRODUCT)?).map(|(b, p)| (b - p).max(0.0)).collect(),
    };
    let (length, excess) = (space.read(LENGTH)?, space.read(EXCESS)?);
    let one = |s: usize| [0.5 * square[s] + 0.5 * weight * length[s], excess[s]];
    Ok((0..square.len()).map(one).collect())
}

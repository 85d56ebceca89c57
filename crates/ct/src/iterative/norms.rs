//! How large A and the gradient are, by power iteration and Lanczos's method: what the steps of primal-dual methods go by.

use crate::geometry::Geometry;
use crate::output::mask::Mask;
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::{collected, filled};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::random::{OneByOne, Random};
use isocenter_base::error::Result;

/// Of one slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norms {
    /// Largest eigenvalue of A^T A.
    pub(crate) normal: f64,
    /// Largest of A^T A / normal + D^T D / [`GRADIENT`], D the gradient, with something in hand.
    pub(crate) both: f64,
    /// Mean square of what A makes of white noise, over that of the noise.
    pub(crate) typical: f64,
}

/// At least the largest eigenvalue of D^T D in a plane.
pub(crate) const GRADIENT: f64 = 8.0;
/// Of differences between slices alone.
pub(crate) const DEPTH: f64 = 4.0;
/// The mean's eigenvalue is far above the others: a few iterations find it.
const ITERATIONS: usize = 8;
/// Those of A and the gradient together lie close to each other: so many steps of Lanczos's method come to within 2.5 %.
const STEPS: usize = 20;
const IN_HAND: f64 = 1.03;
/// Of the random numbers' streams.
const KIND: u32 = 20;

impl Norms {
    /// `normal` is A^T A of one slice; all else is done on the worker threads.
    pub(crate) fn new(
        context: &Context,
        (g, mask): (&Geometry, &Mask),
        mut normal: impl FnMut(&[f32]) -> Result<Vec<f32>>,
    ) -> Result<Self> {
        let n = g.ny * g.nx;
        let mut random = OneByOne::uniform(Random::new(1, KIND, 0));
        let mut noise = collected((0..n).map(|_| if random.draw() < 0.5 { 1.0f32 } else { -1.0 }))?;
        clear_outside(g, mask, &mut noise);
        let product = normal(&noise)?;
        let typical = context.install(|| dot(&noise, &product) / dot(&noise, &noise));
        // Not a number where nothing is inside the mask.
        if typical.is_nan() || typical <= 0.0 {
            // No ray meets the slice.
            return Ok(Self { normal: 1.0, both: IN_HAND, typical: 1.0 });
        }
        let (mut x, mut largest) = (filled(n, 1.0f32)?, 0.0);
        clear_outside(g, mask, &mut x);
        for _ in 0..ITERATIONS {
            let mut product = normal(&x)?;
            clear_outside(g, mask, &mut product);
            largest = context.install(|| step(&mut x, &product));
        }
        let both = largest_of(context, noise, |x| {
            let product = normal(x)?;
            Ok(context.install(|| {
                let mut sum = with_gradient(g, x, product, largest);
                clear_outside(g, mask, &mut sum);
                sum
            }))
        })?;
        Ok(Self { normal: largest, both: IN_HAND * both.max(1.0), typical })
    }
}

fn clear_outside(g: &Geometry, mask: &Mask, image: &mut [f32]) {
    for (i, row) in image.chunks_exact_mut(g.nx).enumerate() {
        let inside = mask.inside(i);
        row[..inside.start].fill(0.0);
        row[inside.end..].fill(0.0);
    }
}

/// The largest eigenvalue of a symmetric operator by Lanczos's method from a vector on; never more than it, but for rounding.
fn largest_of(context: &Context, mut x: Vec<f32>, mut operator: impl FnMut(&[f32]) -> Result<Vec<f32>>) -> Result<f64> {
    let scale = |x: &mut [f32], factor: f64| x.par_iter_mut().for_each(|v| *v = (f64::from(*v) * factor) as f32);
    let subtract = |y: &mut [f32], factor: f64, x: &[f32]| {
        y.par_iter_mut().zip(x).for_each(|(y, x)| *y = (f64::from(*y) - factor * f64::from(*x)) as f32);
    };
    let mut before = filled(x.len(), 0.0f32)?;
    let (mut diagonal, mut beside) = (Vec::with_capacity(STEPS), Vec::with_capacity(STEPS));
    let length = context.install(|| dot(&x, &x).sqrt());
    context.install(|| scale(&mut x, 1.0 / length));
    for _ in 0..STEPS {
        let mut next = operator(&x)?;
        let length = context.install(|| {
            subtract(&mut next, beside.last().copied().unwrap_or(0.0), &before);
            let along = dot(&next, &x);
            diagonal.push(along);
            subtract(&mut next, along, &x);
            dot(&next, &next).sqrt()
        });
        // What is left is rounding: the vectors so far span all that the operator makes of the first.
        if length <= 1e-6 * diagonal[0].abs() {
            break;
        }
        beside.push(length);
        context.install(|| scale(&mut next, 1.0 / length));
        (before, x) = (x, next);
    }
    Ok(largest_of_tridiagonal(&diagonal, &beside))
}

/// By bisection: as many pivots of T - t are above 0 as T has eigenvalues above t.
fn largest_of_tridiagonal(diagonal: &[f64], beside: &[f64]) -> f64 {
    let squares = || [0.0].into_iter().chain(beside.iter().map(|b| b * b));
    let any_above = |t: f64| {
        let mut pivot = f64::INFINITY;
        diagonal.iter().zip(squares()).any(|(d, square)| {
            pivot = d - t - square / pivot;
            // At 0 the first so many rows have t as an eigenvalue, and all of them one above.
            pivot >= 0.0
        })
    };
    let sides: Vec<f64> = squares().map(f64::sqrt).chain([0.0]).collect();
    let circles = diagonal.iter().enumerate().map(|(k, d)| d + sides[k] + sides[k + 1]);
    // Gershgorin's circles.
    let mut within =
        [diagonal.iter().copied().fold(f64::NEG_INFINITY, f64::max), circles.fold(f64::NEG_INFINITY, f64::max)];
    for _ in 0..60 {
        let middle = 0.5 * (within[0] + within[1]);
        within[usize::from(!any_above(middle))] = middle;
    }
    within[1]
}

/// Numbers that are summed by one task, so that sums do not depend on how many threads there are.
const TOGETHER: usize = 1 << 16;

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let parts = a.par_chunks(TOGETHER).zip(b.par_chunks(TOGETHER));
    let sum = |(a, b): (&[f32], &[f32])| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    parts.map(sum).collect::<Vec<_>>().into_iter().sum()
}

/// Rayleigh's quotient of x and its product; x becomes the product, of the length that ones have.
fn step(x: &mut [f32], product: &[f32]) -> f64 {
    let value = dot(x, product) / dot(x, x);
    let factor = (1.0 / (dot(product, product) / x.len() as f64).sqrt()) as f32;
    x.par_iter_mut().zip(product).for_each(|(x, p)| *x = factor * p);
    value
}

/// product / largest + D^T D x / [`GRADIENT`], differences to the next pixel of a row and of a column.
fn with_gradient(g: &Geometry, x: &[f32], mut product: Vec<f32>, largest: f64) -> Vec<f32> {
    let (ny, nx) = (g.ny, g.nx);
    let (of_product, of_gradient) = ((1.0 / largest) as f32, (1.0 / GRADIENT) as f32);
    product.par_chunks_exact_mut(nx).enumerate().for_each(|(i, row)| {
        let here = &x[i * nx..][..nx];
        let [above, below] = [i.saturating_sub(1), (i + 1).min(ny - 1)].map(|k| &x[k * nx..][..nx]);
        for (j, v) in row.iter_mut().enumerate() {
            let (left, right) = (here[j.saturating_sub(1)], here[(j + 1).min(nx - 1)]);
            // A pixel of the edge is its own neighbour.
            let gradient = 4.0 * here[j] - left - right - above[j] - below[j];
            *v = of_product * *v + of_gradient * gradient;
        }
    });
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second differences of 9 points have eigenvalues 2 - 2 cos(k pi / 10), the largest at k = 9.
    #[test]
    fn the_largest_eigenvalue_of_a_tridiagonal_matrix_is_found() {
        let found = largest_of_tridiagonal(&[2.0; 9], &[-1.0; 8]);
        let right = 2.0 - 2.0 * (0.9 * std::f64::consts::PI).cos();
        assert!((found - right).abs() < 1e-12, "{found} is not {right}");
        assert_eq!(largest_of_tridiagonal(&[3.5], &[]), 3.5);
    }

    /// D^T D of a plane of 40 x 50 has eigenvalues 4 sin^2(k pi / 80) + 4 sin^2(l pi / 100): hardly apart at the top, as those of A and the gradient are.
    #[test]
    fn steps_in_hand_are_enough() {
        let g = Geometry { ny: 40, nx: 50, ..Geometry::new(vec![0.0], 50) };
        let context = Context::new(isocenter_base::context::ContextOptions::default()).expect("a context");
        let mut random = OneByOne::uniform(Random::new(1, KIND, 0));
        let noise: Vec<f32> = (0..2000).map(|_| if random.draw() < 0.5 { 1.0 } else { -1.0 }).collect();
        let found = largest_of(&context, noise, |x| Ok(with_gradient(&g, x, vec![0.0; x.len()], 1.0))).expect("memory");
        let of = |n: f64| 4.0 * ((n - 1.0) * std::f64::consts::PI / (2.0 * n)).sin().powi(2);
        let right = (of(40.0) + of(50.0)) / GRADIENT;
        // From below, but for the rounding of f32.
        assert!(found < right * (1.0 + 1e-6) && IN_HAND * found > right, "{found} of {right}");
    }
}

//! How large A and the gradient are, by power iteration: what the steps of primal-dual methods go by.

use crate::geometry::Geometry;
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
const ITERATIONS: usize = 12;
/// Eigenvalues that lie close together are found to less than a hundredth.
const IN_HAND: f64 = 1.01;
/// Of the random numbers' streams.
const KIND: u32 = 20;

impl Norms {
    /// `normal` is A^T A of one slice; all else is done on the worker threads.
    pub(crate) fn new(
        context: &Context,
        g: &Geometry,
        mut normal: impl FnMut(&[f32]) -> Result<Vec<f32>>,
    ) -> Result<Self> {
        let n = g.ny * g.nx;
        let mut random = OneByOne::uniform(Random::new(1, KIND, 0));
        let noise = collected((0..n).map(|_| if random.draw() < 0.5 { 1.0f32 } else { -1.0 }))?;
        let product = normal(&noise)?;
        let typical = context.install(|| dot(&noise, &product)) / n as f64;
        if typical <= 0.0 {
            // No ray meets the slice.
            return Ok(Self { normal: 1.0, both: IN_HAND, typical: 1.0 });
        }
        let (mut x, mut largest) = (filled(n, 1.0f32)?, 0.0);
        for _ in 0..ITERATIONS {
            let product = normal(&x)?;
            largest = context.install(|| step(&mut x, &product));
        }
        let (mut x, mut both) = (noise, 0.0);
        for _ in 0..ITERATIONS {
            let product = normal(&x)?;
            let value = context.install(|| {
                let sum = with_gradient(g, &x, product, largest);
                step(&mut x, &sum)
            });
            both = f64::max(both, value);
        }
        Ok(Self { normal: largest, both: IN_HAND * both.max(1.0), typical })
    }
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

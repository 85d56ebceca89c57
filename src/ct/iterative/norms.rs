//! How large A and the gradient are, by power iteration: what the steps of primal-dual methods go by.

use crate::cpu::buffer::{collected, filled};
use crate::cpu::random::{OneByOne, Random};
use crate::ct::geometry::Geometry;
use crate::error::Result;

/// Of one slice.
#[derive(Clone, Copy, Debug)]
pub(in crate::ct) struct Norms {
    /// Largest eigenvalue of A^T A.
    pub(in crate::ct) normal: f64,
    /// Largest of A^T A / normal + D^T D / [`GRADIENT`], D the gradient, with something in hand.
    pub(in crate::ct) both: f64,
    /// Mean square of what A makes of white noise, over that of the noise.
    pub(in crate::ct) typical: f64,
}

/// At least the largest eigenvalue of D^T D in a plane.
pub(in crate::ct) const GRADIENT: f64 = 8.0;
/// The mean's eigenvalue is far above the others: a few iterations find it.
const ITERATIONS: usize = 12;
/// Eigenvalues that lie close together are found to less than a hundredth.
const IN_HAND: f64 = 1.01;
/// Of the random numbers' streams.
const KIND: u32 = 20;

impl Norms {
    /// `normal` is A^T A of one slice.
    pub(in crate::ct) fn new(g: &Geometry, mut normal: impl FnMut(&[f32]) -> Result<Vec<f32>>) -> Result<Self> {
        let n = g.ny * g.nx;
        let mut random = OneByOne::uniform(Random::new(1, KIND, 0));
        let noise = collected((0..n).map(|_| if random.next() < 0.5 { 1.0f32 } else { -1.0 }))?;
        let product = normal(&noise)?;
        let typical = dot(&noise, &product) / n as f64;
        if typical <= 0.0 {
            // No ray meets the slice.
            return Ok(Self { normal: 1.0, both: IN_HAND, typical: 1.0 });
        }
        let (mut x, mut largest) = (filled(n, 1.0f32)?, 0.0);
        for _ in 0..ITERATIONS {
            let product = normal(&x)?;
            largest = step(&mut x, product);
        }
        let (mut x, mut both) = (noise, 0.0);
        for _ in 0..ITERATIONS {
            let product = normal(&x)?;
            let gradient = laplacian(g, &x)?;
            let sum = product.iter().zip(&gradient);
            let sum = collected(sum.map(|(a, d)| (f64::from(*a) / largest + f64::from(*d) / GRADIENT) as f32))?;
            both = f64::max(both, step(&mut x, sum));
        }
        Ok(Self { normal: largest, both: IN_HAND * both.max(1.0), typical })
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Rayleigh's quotient of x and its product; x becomes the product, of the length that ones have.
fn step(x: &mut [f32], product: Vec<f32>) -> f64 {
    let value = dot(x, &product) / dot(x, x);
    let length = (dot(&product, &product) / x.len() as f64).sqrt();
    x.iter_mut().zip(product).for_each(|(x, p)| *x = (f64::from(p) / length) as f32);
    value
}

/// D^T D, differences to the next pixel of a row and of a column.
fn laplacian(g: &Geometry, x: &[f32]) -> Result<Vec<f32>> {
    let (ny, nx) = (g.ny, g.nx);
    collected((0..ny * nx).map(|p| {
        let (i, j, v) = (p / nx, p % nx, x[p]);
        let neighbours =
            [(i > 0, p.wrapping_sub(nx)), (i + 1 < ny, p + nx), (j > 0, p.wrapping_sub(1)), (j + 1 < nx, p + 1)];
        neighbours.into_iter().filter(|(there, _)| *there).map(|(_, q)| v - x[q]).sum()
    }))
}

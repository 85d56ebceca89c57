//! Priors on the processor: sums over the 26 neighbours of each voxel, column by column.

use super::columns::{Columns, Layout};
use crate::lattice::Lattice;
use crate::prior::{MIN_SUM, Placed, Potential};
use crate::values::sum;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::elementary::exp;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, widest};
use isocenter_base::error::Result;

/// A potential in single precision.
trait Pair: Copy + Sync {
    /// First and second derivative by the first of two neighbours; the second one may be a bound.
    fn slopes(self, own: f32, other: f32) -> [f32; 2];
    fn value(self, own: f32, other: f32) -> f32;
}

#[derive(Clone, Copy)]
struct RelativeDifference {
    gamma: f32,
    epsilon: f32,
}

impl RelativeDifference {
    /// f - g, gamma |f - g|, 1 / (f + g + gamma |f - g| + epsilon).
    #[inline(always)]
    fn parts(self, own: f32, other: f32) -> [f32; 3] {
        let difference = own - other;
        let edge = self.gamma * difference.abs();
        let sum = own + other + edge + self.epsilon;
        [difference, edge, if sum > MIN_SUM { 1.0 / sum } else { 0.0 }]
    }
}

impl Pair for RelativeDifference {
    #[inline(always)]
    fn slopes(self, own: f32, other: f32) -> [f32; 2] {
        let [difference, edge, inverse] = self.parts(own, other);
        let slope = difference * inverse * ((own + 3.0 * other + edge + 2.0 * self.epsilon) * inverse);
        let part = (2.0 * other + self.epsilon) * inverse;
        [slope, 2.0 * part * part * inverse]
    }

    #[inline(always)]
    fn value(self, own: f32, other: f32) -> f32 {
        let [difference, _, inverse] = self.parts(own, other);
        difference * (difference * inverse)
    }
}

/// Without edges `sharpness` is 0.
#[derive(Clone, Copy)]
struct Quadratic {
    sharpness: f32,
}

impl Quadratic {
    #[inline(always)]
    fn stretch(self, difference: f32) -> f32 {
        let edges = difference * self.sharpness;
        (1.0 + edges * edges).sqrt()
    }
}

impl Pair for Quadratic {
    /// The second is that of the parabola which touches the potential from above.
    #[inline(always)]
    fn slopes(self, own: f32, other: f32) -> [f32; 2] {
        let inverse = 1.0 / self.stretch(own - other);
        [(own - other) * inverse, inverse]
    }

    #[inline(always)]
    fn value(self, own: f32, other: f32) -> f32 {
        (own - other) * ((own - other) / (1.0 + self.stretch(own - other)))
    }
}

/// A column and what its voxels' pairs need.
#[derive(Clone, Copy)]
struct Column<'a, P> {
    pair: P,
    placed: &'a Placed<Columns>,
    coupling: [f32; 8],
    dissimilarity: f64,
    image: &'a Columns,
    layout: Layout,
    x: usize,
    y: usize,
}

impl<P: Pair> Column<'_, P> {
    /// Calls with the values of voxels and of their neighbours, and the weights of such pairs, for one direction after the other; the first is the number
    /// of the first voxel.
    #[inline(always)]
    fn each(&self, weights: &mut [f32], mut call: impl FnMut(usize, &[f32], &[f32], &[f32])) {
        let Self { layout, x, y, image, placed, .. } = *self;
        let [nz, ny, nx] = layout.shape;
        let start = layout.start(x, y);
        for k in (0..27).filter(|k| *k != 13) {
            let [dx, dy, dz] = [k % 3, k / 3 % 3, k / 9];
            // One more than the neighbour's place.
            let (u, v) = (x + dx, y + dy);
            if u == 0 || u > nx || v == 0 || v > ny {
                continue;
            }
            let (low, high) = (usize::from(dz == 0), if dz == 2 { nz - 1 } else { nz });
            if low >= high {
                continue;
            }
            let own = start + low..start + high;
            let there = layout.start(u - 1, v - 1) + low + dz - 1;
            let other = there..there + own.len();
            let weights = &mut weights[..own.len()];
            weights.fill(self.coupling[7 - (dx % 2 + 2 * (dy % 2) + 4 * (dz % 2))]);
            if let Some(of) = &placed.weights {
                let (a, b) = (&of.data()[own.clone()], &of.data()[other.clone()]);
                weights.iter_mut().zip(a).zip(b).for_each(|((w, a), b)| *w *= a * b);
            }
            if let Some(anatomy) = &placed.anatomy {
                let (a, b) = (&anatomy.data()[own.clone()], &anatomy.data()[other.clone()]);
                weights.iter_mut().zip(a).zip(b).for_each(|((w, a), b)| {
                    let d = f64::from(a - b);
                    *w *= exp((-self.dissimilarity * d * d).max(-80.0)) as f32;
                });
            }
            call(low, weights, &image.data()[own], &image.data()[other]);
        }
    }
}

struct Slopes<'a, P> {
    column: Column<'a, P>,
    weights: &'a mut [f32],
    gradient: &'a mut [f32],
    curvature: &'a mut [f32],
}

impl<P: Pair> Plain for Slopes<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { column, weights, gradient, curvature } = self;
        gradient.fill(0.0);
        curvature.fill(0.0);
        column.each(weights, |low, weights, own, other| {
            let sums = gradient[low..].iter_mut().zip(&mut curvature[low..]);
            for (((to, bend), w), (own, other)) in sums.zip(weights).zip(own.iter().zip(other)) {
                let [first, second] = column.pair.slopes(*own, *other);
                *to += w * first;
                *bend += w * second;
            }
        });
    }
}

struct Value<'a, P> {
    column: Column<'a, P>,
    weights: &'a mut [f32],
    terms: &'a mut [f32],
}

impl<P: Pair> Plain for Value<'_, P> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let Self { column, weights, terms } = self;
        terms.fill(0.0);
        column.each(weights, |low, weights, own, other| {
            for ((to, w), (own, other)) in terms[low..].iter_mut().zip(weights).zip(own.iter().zip(other)) {
                *to += w * column.pair.value(*own, *other);
            }
        });
        // Each pair came from both its ends.
        0.5 * sum(terms)
    }
}

/// Runs an expression with the potential in single precision.
macro_rules! with_pair {
    ($potential:expr, $pair:ident => $body:expr) => {
        match $potential {
            Potential::RelativeDifference { gamma, epsilon } => {
                let $pair = RelativeDifference { gamma: gamma as f32, epsilon: epsilon as f32 };
                $body
            }
            Potential::Quadratic { edge } => {
                let $pair = Quadratic { sharpness: if edge > 0.0 { (1.0 / edge) as f32 } else { 0.0 } };
                $body
            }
        }
    };
}

/// Gradient of a prior, and the sum of its second derivatives by the voxel itself.
pub(super) fn slopes(
    level: Level,
    lattice: &Lattice,
    placed: &Placed<Columns>,
    image: &Columns,
    [gradient, curvature]: [&mut Columns; 2],
) -> Result<()> {
    let layout = image.layout();
    let Layout { shape: [nz, _, nx], margin, column, row } = layout;
    let (coupling, dissimilarity) = (placed.prior.coupling(lattice), placed.prior.dissimilarity());
    let rows =
        gradient.data_mut()[margin..].par_chunks_mut(row).zip(curvature.data_mut()[margin..].par_chunks_mut(row));
    with_pair!(placed.prior.potential, pair => {
        rows.take(layout.shape[1]).enumerate().try_for_each_init(
            || zeros(nz),
            |weights, (y, (gradient, curvature))| {
                let weights = weights.as_mut().map_err(|e| e.clone())?;
                for x in 0..nx {
                    let of = Column { pair, placed, coupling, dissimilarity, image, layout, x, y };
                    let (gradient, curvature) = (&mut gradient[x * column..][..nz], &mut curvature[x * column..][..nz]);
                    widest(level, Slopes { column: of, weights, gradient, curvature });
                }
                Ok(())
            },
        )
    })
}

/// What an image costs.
pub(super) fn value(level: Level, lattice: &Lattice, placed: &Placed<Columns>, image: &Columns) -> Result<f64> {
    let layout = image.layout();
    let [nz, ny, nx] = layout.shape;
    let (coupling, dissimilarity) = (placed.prior.coupling(lattice), placed.prior.dissimilarity());
    let rows: Result<Vec<f64>> = with_pair!(placed.prior.potential, pair => {
        (0..ny).into_par_iter().map_init(
            || (zeros(nz), zeros(nz)),
            |(weights, terms), y| {
                let weights = weights.as_mut().map_err(|e| e.clone())?;
                let terms = terms.as_mut().map_err(|e| e.clone())?;
                let of = |x| {
                    let column = Column { pair, placed, coupling, dissimilarity, image, layout, x, y };
                    widest(level, Value { column, weights, terms })
                };
                Ok((0..nx).map(of).sum())
            },
        ).collect()
    });
    // In the order of the rows, whatever the threads.
    Ok(rows?.into_iter().sum())
}

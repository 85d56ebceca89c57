//! Device memory of iterations.

use super::launches::blocks;
use super::pair::packed_bytes;
use crate::geometry::Geometry;
use crate::gpu::toeplitz::DeviceProduct;
use crate::iterative::Iteration;
use crate::iterative::options::Start;
use crate::iterative::smooth::Smooth;

/// Pixels of a slab that fill a GPU whatever the method.
const PIXELS: usize = 1 << 28;
/// Slices that the pair takes together.
const UNIT: usize = 8;

/// Slices of a slab, where memory allows: enough to fill the GPU, and few enough that copies and work of several slabs overlap.
pub(in crate::gpu) fn wanted(g: &Geometry, slices: usize) -> usize {
    (PIXELS / (g.ny * g.nx)).next_multiple_of(UNIT).max(UNIT).min(slices)
}

/// For slabs of `n` slices, `lanes` side by side.
pub(in crate::gpu) fn bytes(g: &Geometry, iteration: &Iteration, n: usize, lanes: usize) -> u64 {
    let needs = iteration.needs();
    let start = usize::from(iteration.options.start == Start::Volume);
    let vectors =
        4 * n * ((needs.images + start) * g.ny * g.nx + needs.rows * g.views() * g.bins + needs.offsets * g.bins);
    vectors as u64
        + packed_bytes(g, iteration, n, lanes)
        + factor_bytes(g, iteration)
        + (n * sum_bytes(g, iteration) + watched_bytes(g, iteration, n)) as u64
}

/// What the convolution of so many slices works in, where there is one.
pub(in crate::gpu) fn convolution_bytes(g: &Geometry, iteration: &Iteration, n: usize) -> u64 {
    iteration.doubled(g).map_or(0, |shape| DeviceProduct::bytes(shape, n))
}

/// What all slices share.
fn factor_bytes(g: &Geometry, iteration: &Iteration) -> u64 {
    let needs = iteration.needs();
    let tables = usize::from(needs.ray_factors) + usize::from(iteration.given.is_some());
    let rays = tables * g.views() * g.bins;
    let pixels = if needs.pixel_factors { iteration.subsets.all().len() } else { 0 } + 2;
    let convolution: u64 = iteration.doubled(g).map_or(0, |shape| DeviceProduct::held_bytes(shape).iter().sum());
    (4 * (rays + pixels * g.ny * g.nx) + iteration.smooth.as_ref().map_or(0, Smooth::bytes)) as u64 + convolution
}

/// Of one slice's numbers: sums, their parts, whether it has ended, and the blocks that are done.
pub(super) fn sum_bytes(g: &Geometry, iteration: &Iteration) -> usize {
    8 * (iteration.needs().sums + parts(g)) + 4 + 4
}

/// Parts of a slice's sum, or of five sums over fewer blocks.
pub(super) fn parts(g: &Geometry) -> usize {
    blocks((g.ny * g.nx).max(g.views() * g.bins)).max(5)
}

/// What watches how far vectors come.
pub(super) fn watched_bytes(g: &Geometry, iteration: &Iteration, slices: usize) -> usize {
    let needs = iteration.needs();
    let of_slice = needs.images * (g.ny * g.nx).div_ceil(EVERY) + needs.rows * (g.views() * g.bins).div_ceil(EVERY);
    if needs.watched { 4 * slices * of_slice } else { 0 }
}

/// Elements of which one is watched.
pub(super) const EVERY: usize = 8;

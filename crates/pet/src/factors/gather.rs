//! From lines to the voxels that they go through.

use super::cones::{Direction, FINE, Lines};
use super::tables::Between;
use crate::lattice::Lattice;
use isocenter_base::cpu::simd::Plain;

/// Adds what a cone's lines measure of a row of voxels along x, at all z.
pub(super) struct Gather<'a> {
    pub(super) lattice: &'a Lattice,
    pub(super) lines: &'a Lines,
    pub(super) directions: &'a [Direction],
    /// `[direction][line along s][even, odd][cell along z]`
    pub(super) tables: &'a [f32],
    /// `[direction][line along s]`
    pub(super) between: &'a [Between],
    /// Factor of a steradian.
    pub(super) scale: f64,
    pub(super) y: usize,
    /// `[x][z]`
    pub(super) sums: &'a mut [f32],
}

impl Plain for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lattice, lines, directions, tables, between, scale, y, sums } = self;
        let nz = lattice.along()[2];
        let y = lattice.position(1, y);
        for (d, direction) in directions.iter().enumerate() {
            let (sin, cos) = direction.azimuth.sin_cos();
            let (weight, longer) = (scale * direction.solid_angle(), 1.0 / direction.cosine());
            let [rows, cells] = lines.count;
            let tables = &tables[d * FINE * FINE * lines.len()..][..FINE * FINE * lines.len()];
            let between = &between[d * FINE * rows..][..FINE * rows];
            let slope = direction.tangent() / lines.pitch[1];
            for (x, sums) in sums.chunks_exact_mut(nz).enumerate() {
                let x = lattice.position(0, x);
                let (s, t) = (y * cos - x * sin, x * cos + y * sin);
                // The first of three lines along either axis that a voxel is over, and how far beyond its middle it begins.
                let u = FINE as f64 * (s / lines.pitch[0] + (rows / 2) as f64);
                let w = FINE as f64 * (lines.below as f64 - t * slope);
                let (i, j) = (u as usize, w as usize);
                let ends = &between[i..i + 3];
                let along = (t * longer) as f32;
                if ends.iter().any(|[behind, ahead]| -along > *behind || along > *ahead) {
                    continue;
                }
                let thirds = |at: f64| [1.0 - at, 1.0, at].map(|part| part / FINE as f64);
                let (across, up) = (thirds(u - i as f64), thirds(w - j as f64));
                for (row, part) in across.iter().enumerate() {
                    let table = &tables[(i + row) * FINE * cells..][..FINE * cells];
                    let line = |k: usize| &table[(j + k) % FINE * cells + (j + k) / FINE..][..nz];
                    let [a, b, c] = [line(0), line(1), line(2)];
                    let [p, q, r] = up.map(|u| (u * part * weight) as f32);
                    for (k, sum) in sums.iter_mut().enumerate() {
                        *sum += p * a[k] + q * b[k] + r * c[k];
                    }
                }
            }
        }
    }
}

//! Volumes as means over coarse cells, sampled between their middles.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;

/// Cells `[z][y][x]`, one of zeros all about.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) values: Vec<f32>,
    /// Along x, y, z.
    pub(crate) count: [usize; 3],
    pub(crate) cell: [f64; 3],
    /// Middle of the first.
    pub(crate) lowest: [f64; 3],
}

/// A volume of voxels `[z][y][x]`, and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voxels<'a> {
    pub(crate) values: &'a [f32],
    /// Along x, y, z.
    pub(crate) count: [usize; 3],
    pub(crate) voxel: [f64; 3],
    pub(crate) centre: [f64; 3],
}

/// Which voxels each cell of an axis overlaps, and by which part of the cell.
fn overlaps(voxels: usize, cells: usize) -> Vec<(usize, Vec<f32>)> {
    let ratio = voxels as f64 / cells as f64;
    let cell = |k: usize| {
        let (low, high) = (k as f64 * ratio, (k + 1) as f64 * ratio);
        let (first, end) = (low.floor() as usize, (high.ceil() as usize).min(voxels));
        let part = |v: usize| ((high.min((v + 1) as f64) - low.max(v as f64)).max(0.0) / ratio) as f32;
        (first, (first..end).map(part).collect())
    };
    (0..cells).map(cell).collect()
}

/// How many cells of about this size there are of such voxels, without those about them.
fn cells(count: [usize; 3], voxel: [f64; 3], size: f64) -> [usize; 3] {
    [0, 1, 2].map(|d| ((voxel[d] * count[d] as f64 / size).round() as usize).clamp(1, count[d]))
}

/// Bytes of a grid of voxels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) grid: u64,
    /// Besides, while it is made.
    pub(super) making: u64,
}

impl Grid {
    /// Bytes that [`Grid::new`] takes.
    pub(super) fn bytes(count: [usize; 3], voxel: [f64; 3], size: f64) -> Bytes {
        let inner = cells(count, voxel, size).map(|n| n as u64);
        let a_float = size_of::<f32>() as u64;
        let of_axes: u64 = (0..3).map(|d| 64 * inner[d] + 2 * a_float * (count[d] as u64 + 2 * inner[d])).sum();
        Bytes {
            grid: inner.iter().fold(a_float, |product, n| product.saturating_mul(n + 2)),
            making: 2 * inner[0] * inner[1] * a_float + of_axes,
        }
    }

    /// Of zeros.
    pub(super) fn empty(of: &Voxels, size: f64) -> Result<Self> {
        let inner = cells(of.count, of.voxel, size);
        let cell = [0, 1, 2].map(|d| of.voxel[d] * of.count[d] as f64 / inner[d] as f64);
        let count = inner.map(|n| n + 2);
        let lowest = [0, 1, 2].map(|d| of.centre[d] - 0.5 * cell[d] * (count[d] - 1) as f64);
        Ok(Self { values: zeros(count[0] * count[1] * count[2])?, count, cell, lowest })
    }

    /// Cells of about this size, none smaller than a voxel, that cover the volume.
    pub(crate) fn new(of: &Voxels, size: f64) -> Result<Self> {
        let mut grid = Self::empty(of, size)?;
        let count = grid.count;
        let inner = count.map(|n| n - 2);
        let parts = [0, 1, 2].map(|d| overlaps(of.count[d], inner[d]));
        let [nx, ny, _] = of.count;
        // Of each row of cells, a row of voxels along x, and their sum along y.
        let mut rows = zeros::<f32>(2 * inner[0] * inner[1])?;
        for (z, (first, of_planes)) in parts[2].iter().enumerate() {
            let from = &of.values[first * nx * ny..];
            let to = grid.values[(z + 1) * count[1] * count[0]..].par_chunks_mut(count[0]).skip(1);
            let each = to.zip(&parts[1]).zip(rows.par_chunks_mut(2 * inner[0]));
            each.for_each(|((to, (first, of_rows)), rows)| {
                let (along_x, along_y) = rows.split_at_mut(inner[0]);
                for (part_z, plane) in of_planes.iter().zip(from.chunks_exact(nx * ny)) {
                    along_y.fill(0.0);
                    for (part_y, row) in of_rows.iter().zip(plane[first * nx..].chunks_exact(nx)) {
                        for ((first, of_voxels), v) in parts[0].iter().zip(&mut *along_x) {
                            *v = of_voxels.iter().zip(&row[*first..]).map(|(part, v)| part * v).sum();
                        }
                        along_y.iter_mut().zip(&*along_x).for_each(|(sum, v)| *sum += part_y * v);
                    }
                    to[1..].iter_mut().zip(&*along_y).for_each(|(to, v)| *to += part_z * v);
                }
            });
        }
        Ok(grid)
    }

    /// Middle of a cell.
    pub(crate) fn place(&self, index: usize) -> [f64; 3] {
        let [nx, ny, _] = self.count;
        let at = [index % nx, index / nx % ny, index / (nx * ny)];
        [0, 1, 2].map(|d| self.lowest[d] + at[d] as f64 * self.cell[d])
    }

    /// Cubic millimetres.
    pub(crate) fn cell_volume(&self) -> f64 {
        self.cell.iter().product()
    }

    /// Of the cell about a place; 0 outside.
    #[inline(always)]
    pub(crate) fn about(&self, place: [f32; 3]) -> f32 {
        let [nx, ny, nz] = self.count;
        let [u, v, w]: [f32; 3] =
            std::array::from_fn(|d| (place[d] - self.lowest[d] as f32) * (1.0 / self.cell[d]) as f32 + 0.5);
        if !(u >= 0.0 && v >= 0.0 && w >= 0.0 && u < nx as f32 && v < ny as f32 && w < nz as f32) {
            return 0.0;
        }
        self.values[(w as usize * ny + v as usize) * nx + u as usize]
    }

    /// Between the middles of cells; 0 outside.
    #[inline(always)]
    pub(crate) fn at(&self, place: [f32; 3]) -> f32 {
        let [nx, ny, nz] = self.count;
        let [u, v, w]: [f32; 3] =
            std::array::from_fn(|d| (place[d] - self.lowest[d] as f32) * (1.0 / self.cell[d]) as f32);
        let inside = u >= 0.0 && v >= 0.0 && w >= 0.0;
        if !(inside && u < (nx - 1) as f32 && v < (ny - 1) as f32 && w < (nz - 1) as f32) {
            return 0.0;
        }
        let (x, y, z) = (u as usize, v as usize, w as usize);
        let (fx, fy, fz) = (u - x as f32, v - y as f32, w - z as f32);
        let row = |y: usize, z: usize| {
            let at = (z * ny + y) * nx + x;
            let (a, b) = (self.values[at], self.values[at + 1]);
            a + fx * (b - a)
        };
        let plane = |z: usize| {
            let (a, b) = (row(y, z), row(y + 1, z));
            a + fy * (b - a)
        };
        let (a, b) = (plane(z), plane(z + 1));
        a + fz * (b - a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::noise;

    /// The volume's integral and its centre stay; so does a cell that is a voxel.
    #[test]
    fn cells_have_the_volume_s_integral() {
        let (count, voxel, centre) = ([11, 7, 9], [2.0, 3.0, 4.0], [5.0, -3.0, 1.0]);
        let values = noise(11 * 7 * 9, 5);
        let voxels = Voxels { values: &values, count, voxel, centre };
        let sum = |values: &[f32]| values.iter().map(|v| f64::from(*v)).sum::<f64>();
        for size in [1.0, 5.0, 7.3, 1000.0] {
            let grid = Grid::new(&voxels, size).expect("a grid");
            let integral = sum(&grid.values) * grid.cell_volume();
            assert!((integral / (sum(&values) * 24.0) - 1.0).abs() < 1e-5, "{size}");
            let last = grid.place(grid.values.len() - 1);
            for d in 0..3 {
                assert!((0.5 * (grid.lowest[d] + last[d]) - centre[d]).abs() < 1e-9);
            }
        }
        let same = Grid::new(&voxels, 1.0).expect("a grid");
        assert_eq!(same.count, [13, 9, 11]);
        for (k, value) in values.iter().enumerate() {
            let at = [k % 11, k / 11 % 7, k / 77];
            let index = ((at[2] + 1) * 9 + at[1] + 1) * 13 + at[0] + 1;
            assert_eq!(same.values[index], *value);
            // Rounding of the place to f32, 1e-6 of a voxel.
            assert!((same.at(same.place(index).map(|v| v as f32)) - value).abs() < 1e-4);
        }
        assert_eq!(same.at([100.0, 0.0, 0.0]), 0.0);
        assert_eq!(same.about([100.0, 0.0, 0.0]), 0.0);
        assert_eq!(same.about([5.9, -4.4, 2.9]), values[(4 * 7 + 3) * 11 + 5]);
        let between = same.at([5.0, -3.0, 3.0]);
        let middle = |z: usize| values[(z * 7 + 3) * 11 + 5];
        assert!((between - 0.5 * (middle(4) + middle(5))).abs() < 1e-5);
    }
}

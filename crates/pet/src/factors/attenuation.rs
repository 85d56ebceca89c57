//! Attenuation maps, as line integrals are taken of them.

use super::cones::{Direction, Lines};
use crate::lattice::Lattice;
use isocenter_base::cpu::buffer::{Buffer, collected};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// A map's values, 1/mm, and where they are.
#[derive(Clone, Copy, Debug)]
pub struct AttenuationMap<'a> {
    /// `[z][y][x]`
    pub values: &'a [f32],
    /// nz, ny, nx.
    pub shape: [usize; 3],
    /// Size along x, y, z, mm.
    pub voxel: [f64; 3],
    /// Centre, mm from the lattice's.
    pub centre: [f64; 3],
}

/// Of a map's voxels, mm, and of its centre: what is more is a mistake.
const LARGEST: f64 = 1000.0;
/// See [`LARGEST`].
const FARTHEST: f64 = 10_000.0;

impl<'a> AttenuationMap<'a> {
    /// Of voxels of this size, those of a lattice where it is 0. `name`: of the struct that a caller has set.
    pub fn new(
        (values, shape): (&'a [f32], [usize; 3]),
        name: &str,
        voxel: [f64; 3],
        centre: [f64; 3],
        lattice: [f64; 3],
    ) -> Result<Self> {
        for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
            for (what, v) in [("map_voxel", voxel[k]), ("map_centre", centre[k])] {
                if !v.is_finite() {
                    fail!(NotFiniteParameter, "{name}.{what}_{axis} is {v}; it must be finite, in mm");
                }
            }
            if !(0.0..=LARGEST).contains(&voxel[k]) {
                fail!(OutOfRange, "{name}.map_voxel_{axis} is {} mm; it must be 0 to {LARGEST}", voxel[k]);
            }
            if centre[k].abs() > FARTHEST {
                fail!(OutOfRange, "{name}.map_centre_{axis} is {} mm; it must be -{FARTHEST} to {FARTHEST}", centre[k]);
            }
        }
        let voxel = std::array::from_fn(|a| if voxel[a] == 0.0 { lattice[a] } else { voxel[a] });
        Ok(Self { values, shape, voxel, centre })
    }
}

/// A map `[y][x][z]`, with zeros about it, whose planes are the lattice's.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) values: Buffer,
    /// Along x, y, z.
    pub(crate) count: [usize; 3],
    pub(crate) voxel: [f64; 3],
    /// Centre of the first along x, y, z.
    pub(crate) lowest: [f64; 3],
    /// The lattice's number of the first plane.
    pub(crate) first: i64,
    /// Whether a column is 0 throughout, `[y][x]`.
    empty: Vec<bool>,
}

/// Which of a map's planes overlap one of the lattice's, and by which part of that.
struct Overlap {
    first: usize,
    parts: Vec<f64>,
}

/// The lattice's number of the first plane that a map overlaps, and how it does that and the next.
fn overlaps(lattice: &Lattice, map: &AttenuationMap) -> Result<(i64, Vec<Overlap>)> {
    let (size, voxel) = (lattice.voxel()[2], map.voxel[2]);
    let count = map.shape[0];
    let start = map.centre[2] - 0.5 * voxel * count as f64;
    let origin = lattice.position(2, 0) - 0.5 * size;
    // What differs by rounding alone is in line.
    let exact = |at: f64| if (at - at.round()).abs() < 1e-6 { at.round() } else { at };
    // In planes of the map, from its first one's lower face.
    let face = |k: i64| exact((origin + k as f64 * size - start) / voxel);
    let first = exact((start - origin) / size).floor() as i64;
    let end = exact((start + voxel * count as f64 - origin) / size).ceil() as i64;
    let overlap = |k: i64| {
        let (low, high) = (face(k).max(0.0), face(k + 1).min(count as f64));
        let (from, to) = (low.floor() as usize, (high.ceil() as usize).min(count));
        let part = |m: usize| ((m + 1) as f64).min(high) - (m as f64).max(low);
        Ok(Overlap { first: from, parts: collected((from..to).map(|m| part(m).max(0.0) * voxel / size))? })
    };
    let all = collected((first..end.max(first + 1)).map(overlap))?;
    Ok((first, all.into_iter().collect::<Result<_>>()?))
}

impl Map {
    /// Most values that it has, and most bytes of host memory that making it takes.
    pub(super) fn size(map: &AttenuationMap, lattice: &Lattice) -> [u64; 2] {
        let [nz, ny, nx] = map.shape.map(|n| n as u64);
        let planes = ((map.voxel[2] * nz as f64 / lattice.voxel()[2]).ceil() as u64).saturating_add(4);
        let columns = (nx + 2) * (ny + 2);
        let values = columns.saturating_mul(planes);
        let of_planes = planes.saturating_mul((size_of::<Overlap>() + 2 * size_of::<f64>()) as u64);
        let others = of_planes.saturating_add(nz * size_of::<f64>() as u64 + columns * size_of::<bool>() as u64);
        [values, values.saturating_mul(size_of::<f32>() as u64).saturating_add(others)]
    }

    /// Means over the lattice's planes of a map, which may reach beyond it.
    pub(crate) fn new(map: &AttenuationMap, lattice: &Lattice) -> Result<Self> {
        let [_, ny, nx] = map.shape;
        let (first, planes) = overlaps(lattice, map)?;
        let count = [nx + 2, ny + 2, planes.len() + 2];
        let mut values = Buffer::<f32>::zeroed(count[0] * count[1] * count[2])?;
        let inner = values.par_chunks_mut(count[0] * count[2]).skip(1).take(ny).enumerate();
        inner.for_each(|(y, slab)| {
            for (x, column) in slab.chunks_mut(count[2]).skip(1).take(nx).enumerate() {
                for (plane, to) in planes.iter().zip(&mut column[1..]) {
                    let from = |m: usize| f64::from(map.values[((plane.first + m) * ny + y) * nx + x]);
                    *to = plane.parts.iter().enumerate().map(|(m, part)| part * from(m)).sum::<f64>() as f32;
                }
            }
        });
        let empty = collected(values.chunks(count[2]).map(|column| column.iter().all(|v| *v == 0.0)))?;
        let voxel = [map.voxel[0], map.voxel[1], lattice.voxel()[2]];
        let edge = |axis: usize| map.centre[axis] - 0.5 * voxel[axis] * (count[axis] - 1) as f64;
        let first = first - 1;
        let lowest = [edge(0), edge(1), lattice.position(2, 0) + first as f64 * voxel[2]];
        Ok(Self { values, count, voxel, lowest, first, empty })
    }

    /// Where a flat line is over the map: from where on, the length of a step and how many. A step is a voxel along the axis that it is more along, or shorter.
    #[inline(always)]
    fn steps(&self, s: f64, [sin, cos]: [f64; 2]) -> Option<(f64, f64, usize)> {
        let (mut from, mut to, mut step) = (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY);
        for (axis, (place, along)) in [(-s * sin, cos), (s * cos, sin)].into_iter().enumerate() {
            let low = self.lowest[axis];
            let high = low + (self.count[axis] - 1) as f64 * self.voxel[axis];
            if along == 0.0 {
                if !(low..=high).contains(&place) {
                    return None;
                }
                continue;
            }
            let (a, b) = ((low - place) / along, (high - place) / along);
            (from, to) = (from.max(a.min(b)), to.min(a.max(b)));
            step = step.min(self.voxel[axis] / along.abs());
        }
        if from >= to {
            return None;
        }
        let count = ((to - from) / step).ceil().max(1.0);
        Some((from, (to - from) / count, count as usize))
    }

    /// Integrals along the middles of cells `i` along `s`, of all along `z`.
    #[inline(always)]
    pub(crate) fn integrals(&self, lines: &Lines, direction: &Direction, i: usize, sums: &mut [f32]) {
        sums.fill(0.0);
        let (sin, cos) = direction.azimuth.sin_cos();
        let (tangent, s) = (direction.tangent(), lines.off_axis(i as f64));
        let Some((from, step, count)) = self.steps(s, [sin, cos]) else { return };
        let [nx, ny, nz] = self.count;
        for k in 0..count {
            let t = from + (k as f64 + 0.5) * step;
            let at = [-s * sin + t * cos, s * cos + t * sin];
            let [u, v] = [0, 1].map(|axis| (at[axis] - self.lowest[axis]) / self.voxel[axis]);
            if !(u >= 0.0 && u < (nx - 1) as f64 && v >= 0.0 && v < (ny - 1) as f64) {
                continue;
            }
            let (x, y) = (u as usize, v as usize);
            let corners = [y * nx + x, y * nx + x + 1, (y + 1) * nx + x, (y + 1) * nx + x + 1];
            if corners.iter().all(|c| self.empty[*c]) {
                continue;
            }
            let (fx, fy) = ((u - x as f64) as f32, (v - y as f64) as f32);
            let parts = [(1.0 - fx) * (1.0 - fy), fx * (1.0 - fy), (1.0 - fx) * fy, fx * fy];
            // The map's plane below the first cell, and how far above it.
            let w = t * tangent / self.voxel[2] - lines.below as f64 - self.first as f64;
            let f = (w - w.floor()) as f32;
            let w = w.floor() as i64;
            let first = (-w).clamp(0, sums.len() as i64) as usize;
            let end = (nz as i64 - 1 - w).clamp(first as i64, sums.len() as i64) as usize;
            let sums = &mut sums[first..end];
            if sums.is_empty() {
                continue;
            }
            let low = (first as i64 + w) as usize;
            let [a, b, c, d] = corners.map(|c| &self.values[c * nz + low..][..sums.len() + 1]);
            for (k, sum) in sums.iter_mut().enumerate() {
                let below = parts[0] * a[k] + parts[1] * b[k] + parts[2] * c[k] + parts[3] * d[k];
                let above = parts[0] * a[k + 1] + parts[1] * b[k + 1] + parts[2] * c[k + 1] + parts[3] * d[k + 1];
                *sum += below + f * (above - below);
            }
        }
        let length = (step / direction.cosine()) as f32;
        sums.iter_mut().for_each(|sum| *sum *= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::noise;

    /// A column's integral along z stays, and its centre to half a plane; planes in line with the lattice's stay as they are.
    #[test]
    fn planes_are_the_lattice_s() {
        let lattice = Lattice::new([4, 6, 5], [4.0, 3.0, 5.0]).expect("lattice");
        for (shape, voxel, centre) in [
            ([4, 6, 5], [4.0, 3.0, 5.0], [0.0; 3]),
            ([2, 3, 3], [2.0, 7.0, 5.0], [4.0, -1.5, 5.0]),
            ([9, 7, 11], [2.3, 3.7, 1.9], [3.0, -40.0, 7.0]),
            ([30, 2, 1], [0.5, 0.5, 0.4], [1.0, 1.0, 1.0]),
            ([1, 1, 1], [0.5, 0.5, 20.0], [1.0, 1.0, -3.0]),
        ] {
            let [mz, my, mx] = shape;
            let values = noise(mz * my * mx, 3);
            let map = Map::new(&AttenuationMap { values: &values, shape, voxel, centre }, &lattice).expect("map");
            let [nx, ny, nz] = map.count;
            assert_eq!([nx, ny], [mx + 2, my + 2]);
            for (k, column) in map.values.chunks(nz).enumerate() {
                let (x, y) = (k % nx, k / nx);
                let is_inner = (1..=mx).contains(&x) && (1..=my).contains(&y);
                let given: Vec<f32> = match is_inner {
                    true => (0..mz).map(|z| values[(z * my + y - 1) * mx + x - 1]).collect(),
                    false => vec![0.0; mz],
                };
                let sum = |values: &[f32]| values.iter().map(|v| f64::from(*v)).sum::<f64>();
                let (before, after) = (sum(&given) * voxel[2], sum(column) * 5.0);
                assert!((after - before).abs() < 1e-5, "{shape:?}: {before} {after}");
                let mean = |values: &[f32], at: &dyn Fn(usize) -> f64| {
                    values.iter().enumerate().map(|(k, v)| f64::from(*v) * at(k)).sum::<f64>() / sum(values)
                };
                if is_inner {
                    let before = mean(&given, &|z| centre[2] + voxel[2] * (z as f64 + 0.5 - 0.5 * mz as f64));
                    let after = mean(column, &|z| map.lowest[2] + 5.0 * z as f64);
                    let slack = if voxel[2] == 5.0 { 1e-4 } else { 2.5 };
                    assert!((before - after).abs() < slack, "{shape:?}: {before} {after}");
                }
                if voxel[2] == 5.0 {
                    assert_eq!(&column[1..nz - 1], &given[..]);
                }
                assert_eq!([column[0], column[nz - 1]], [0.0; 2]);
            }
            assert!((map.lowest[0] - (centre[0] - voxel[0] * 0.5 * (mx + 1) as f64)).abs() < 1e-12);
        }
    }

    /// Lines through a Gaussian. Means over planes add h^2 / 12 to the square of its width, and interpolation adds h^2 / 4 at most, midway between voxels: half of either's
    /// part, which is 0.01 for (h / s)^2, goes from the largest integral, m s sqrt(2 pi), for the two axes across a line 0.003 at most.
    #[test]
    fn integrals_are_those_of_lines() {
        let lattice = Lattice::new([6, 9, 8], [4.0, 3.8, 4.2]).expect("lattice");
        let (sigma, centre, voxel, shape) = (40.0, [10.0, -6.0, 5.0], [4.0, 4.0, 4.0], [100, 90, 95]);
        let middle = [-3.0, 8.0, 1.0];
        let value = |k: usize| {
            let index = [k % 95, k / 95 % 90, k / 95 / 90];
            let square = (0..3).map(|a| {
                let at = centre[a] + voxel[a] * (index[a] as f64 + 0.5 - 0.5 * shape[2 - a] as f64);
                (at - middle[a]).powi(2)
            });
            (-0.5 * square.sum::<f64>() / (sigma * sigma)).exp() as f32
        };
        let values: Vec<f32> = (0..100 * 90 * 95).map(value).collect();
        let map = Map::new(&AttenuationMap { values: &values, shape, voxel, centre }, &lattice).expect("map");
        let most = sigma * (2.0 * std::f64::consts::PI).sqrt();
        for (azimuth, sine) in [(0.0, 0.0), (0.3, 0.1), (1.5, -0.15), (2.9, 0.2)] {
            let direction = Direction { azimuth, width: 0.02, sine, height: 0.02 };
            let lines = Lines::new(&lattice, direction.tangent().abs()).expect("lines");
            let mut sums = vec![0.0; lines.count[1]];
            for i in 0..lines.count[0] {
                map.integrals(&lines, &direction, i, &mut sums);
                for (j, sum) in sums.iter().enumerate() {
                    let (sin, cos) = azimuth.sin_cos();
                    let s = lines.off_axis(i as f64);
                    let along = [cos * direction.cosine(), sin * direction.cosine(), sine];
                    let off: [f64; 3] =
                        std::array::from_fn(|a| [-s * sin, s * cos, lines.height(j as f64)][a] - middle[a]);
                    let t: f64 = off.iter().zip(along).map(|(o, n)| o * n).sum();
                    let square = off.iter().map(|o| o * o).sum::<f64>() - t * t;
                    let expected = most * (-0.5 * square / (sigma * sigma)).exp();
                    assert!((f64::from(*sum) - expected).abs() < 0.003 * most, "{i} {j}: {sum} {expected}");
                }
            }
        }
    }
}

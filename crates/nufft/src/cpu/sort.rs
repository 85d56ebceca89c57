//! Points in the order of the tiles of the grid that they touch: a stable counting sort, the same for any number of threads.

use super::fine_grid::FineGrid;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::Real;
use isocenter_base::error::{Error, Result, Status, fail};

/// Minimum number of rows of a tile, along z and y.
const TILE: usize = 8;
/// Columns whose points come together within a tile.
const COLUMNS: usize = 8;

/// A point on the fine grid; axes are z, y, x.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point<T> {
    /// Between grid points, -1 to 1, for the taps' polynomials.
    pub(super) place: [T; 3],
    /// The first grid point that it touches.
    pub(super) start: [u32; 3],
    /// Which of the caller's points it is.
    pub(super) index: u32,
}

/// Tiles of whole rows, `counts[0]` along z and `counts[1]` along y; both even, unless there is one plane. A point belongs to
/// the tile of its first row, and touches no more than the next tile: tiles at even (or at odd) places along an axis never
/// meet.
#[derive(Debug)]
pub(super) struct Tiling {
    pub(super) counts: [usize; 2],
    /// First row of each tile, and the end.
    pub(super) bounds: [Vec<usize>; 2],
    tile_of_row: [Vec<u32>; 2],
    columns: usize,
}

impl Tiling {
    fn new(fine_grid: &FineGrid) -> Self {
        let axis = |n: usize| if n == 1 { 1 } else { (n / TILE.max(fine_grid.width) / 2 * 2).max(2) };
        let counts = [axis(fine_grid.len[0]), axis(fine_grid.len[1])];
        let bounds = [0, 1].map(|a| (0..=counts[a]).map(|t| t * fine_grid.len[a] / counts[a]).collect::<Vec<_>>());
        let rows = |bounds: &Vec<usize>| {
            bounds.windows(2).zip(0..).flat_map(|(b, t)| std::iter::repeat_n(t, b[1] - b[0])).collect()
        };
        let tile_of_row = [rows(&bounds[0]), rows(&bounds[1])];
        Self { counts, bounds, tile_of_row, columns: fine_grid.len[2].div_ceil(COLUMNS) }
    }

    fn bin(&self, start: [u32; 3]) -> usize {
        let tile = self.tile_of_row[0][start[0] as usize] as usize * self.counts[1]
            + self.tile_of_row[1][start[1] as usize] as usize;
        tile * self.columns + start[2] as usize / COLUMNS
    }
}

/// Points in the order of their tiles.
#[derive(Debug)]
pub struct SortedPoints<T> {
    pub(super) points: Vec<Point<T>>,
    /// The grid that they are on.
    pub(super) fine_grid: FineGrid,
    /// Points of tile t are `ends[t] .. ends[t + 1]`.
    pub(super) ends: Vec<usize>,
    pub(super) tiling: Tiling,
}

impl<T: Real> SortedPoints<T> {
    /// Bytes that `samples` points take, while they are sorted.
    pub fn bytes(samples: usize) -> u64 {
        samples as u64 * (size_of::<Point<T>>() + size_of::<u32>()) as u64
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// `at(m)`: point m in cycles per voxel, along z, y, x.
    pub fn new(fine_grid: &FineGrid, samples: usize, at: &(impl Fn(usize) -> [f64; 3] + Sync)) -> Result<Self> {
        if u32::try_from(samples).is_err() {
            fail!(OutOfRange, "there are {samples} points; at most {} can be", u32::MAX);
        }
        let tiling = Tiling::new(fine_grid);
        let bins = tiling.counts[0] * tiling.counts[1] * tiling.columns;
        let part = samples.div_ceil(rayon::current_num_threads()).max(1);
        let mut keys: Vec<u32> = zeros(samples)?;
        let mut counts: Vec<u32> = zeros(bins * samples.div_ceil(part))?;
        let parts = keys.par_chunks_mut(part).zip(counts.par_chunks_mut(bins)).enumerate();
        let checked: Vec<Result<()>> = parts
            .map(|(n, (keys, counts))| {
                for (m, key) in (n * part..).zip(keys) {
                    let (_, start) = locate::<T>(fine_grid, m, at(m))?;
                    *key = tiling.bin(start) as u32;
                    counts[*key as usize] += 1;
                }
                Ok(())
            })
            .collect();
        checked.into_iter().collect::<Result<()>>()?;

        let mut ends: Vec<usize> = zeros(bins / tiling.columns + 1)?;
        let mut next = 0;
        for bin in 0..bins {
            for count in counts.iter_mut().skip(bin).step_by(bins) {
                next += std::mem::replace(count, next);
            }
            if (bin + 1) % tiling.columns == 0 {
                ends[(bin + 1) / tiling.columns] = next as usize;
            }
        }

        let mut points: Vec<Point<T>> = zeros(samples)?;
        let out = Shared::new(&mut points);
        keys.par_chunks(part).zip(counts.par_chunks_mut(bins)).enumerate().try_for_each(|(n, (keys, next))| {
            for (m, key) in (n * part..).zip(keys) {
                let k = at(m);
                let (place, start) = locate::<T>(fine_grid, m, k)?;
                // Tiles are spread at the same time: a point in the wrong one would write what is another's.
                if tiling.bin(start) as u32 != *key {
                    fail!(
                        OutOfRange,
                        "point {m} is at (z, y, x) = {k:?}, and was elsewhere when it was asked for before"
                    );
                }
                // SAFETY: the counts give every point a place of its own.
                unsafe { *out.at(next[*key as usize] as usize) = Point { place, start, index: m as u32 } };
                next[*key as usize] += 1;
            }
            Ok(())
        })?;
        Ok(Self { points, fine_grid: *fine_grid, ends, tiling })
    }
}

/// Where point m lies between grid points, and the first that it touches.
fn locate<T: Real>(fine_grid: &FineGrid, m: usize, k: [f64; 3]) -> Result<([T; 3], [u32; 3])> {
    let (mut place, mut start) = ([T::zero(); 3], [0; 3]);
    for axis in usize::from(fine_grid.len[0] == 1)..3 {
        // NaN is not within.
        if !(-0.5..=0.5).contains(&k[axis]) {
            return Err(out_of_range(m, k));
        }
        let (n, width) = (fine_grid.len[axis] as f64, fine_grid.width as f64);
        let g = k[axis] * n;
        let first = (g - 0.5 * width).ceil();
        place[axis] = T::of(2.0 * (first - g) + width - 1.0);
        start[axis] = (first as i64).rem_euclid(fine_grid.len[axis] as i64) as u32;
    }
    Ok((place, start))
}

#[cold]
fn out_of_range(m: usize, k: [f64; 3]) -> Error {
    let text = format!("point {m} is at (z, y, x) = {k:?} cycles per voxel; every coordinate must be -0.5 to 0.5");
    Error::new(Status::OutOfRange, text)
}

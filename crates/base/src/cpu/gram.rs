//! Sums of products of all pairs of rows: A A^T of a matrix that comes a panel of columns at a time.

use super::buffer::zeros;
use super::level::Level;
use super::simd::{Kernel, Vector, dispatch};
use crate::error::Result;

/// Lengths of a panel's rows are multiples of this, the lanes of the widest vector.
pub const LANES: usize = 8;
/// Rows of a tile on one side and on the other: as many sums as hide the latency of one, with rows to spare in the registers.
const TILE: [usize; 2] = [4, 2];

/// The sums so far.
#[derive(Debug)]
pub struct Gram {
    count: usize,
    /// (row, row), of which those with the second index at most the first are right.
    sums: Vec<f64>,
}

impl Gram {
    /// Of so many rows.
    pub fn new(count: usize) -> Result<Self> {
        Ok(Self { count, sums: zeros(count.saturating_mul(count))? })
    }

    /// Back to none.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    /// Adds a panel, row after row, all of one length.
    pub fn add(&mut self, panel: &[f64], level: Level) {
        let length = panel.len() / self.count;
        assert!(length.is_multiple_of(LANES) && length * self.count == panel.len());
        dispatch(level, Products { count: self.count, sums: &mut self.sums, panel, length });
    }

    /// Adds sums of other panels.
    pub fn join(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
    }

    /// Of two rows.
    pub fn of(&self, i: usize, j: usize) -> f64 {
        self.sums[i.max(j) * self.count + i.min(j)]
    }
}

struct Products<'a> {
    count: usize,
    sums: &'a mut [f64],
    panel: &'a [f64],
    length: usize,
}

impl Kernel<f64> for Products<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f64>>(self) {
        let Self { count, sums, panel, length } = self;
        let last = count - 1;
        let mut lanes = [0.0; LANES];
        for i in (0..count).step_by(TILE[0]) {
            // Rows beyond the last are the last again.
            let left: [&[f64]; TILE[0]] = std::array::from_fn(|k| &panel[(i + k).min(last) * length..][..length]);
            for j in (0..(i + TILE[0]).min(count)).step_by(TILE[1]) {
                let right: [&[f64]; TILE[1]] = std::array::from_fn(|k| &panel[(j + k).min(last) * length..][..length]);
                // SAFETY: vectors begin at multiples of their lanes, which divide the rows' length, and `lanes` holds the longest; the
                // processor has the instructions, by this function's contract.
                unsafe {
                    let mut tile = [[V::splat(0.0); TILE[1]]; TILE[0]];
                    for at in (0..length).step_by(V::LANES) {
                        let b = right.map(|row| V::load(row.as_ptr().add(at)));
                        for (tile, row) in tile.iter_mut().zip(left) {
                            let a = V::load(row.as_ptr().add(at));
                            for (sum, b) in tile.iter_mut().zip(b) {
                                *sum = a.fma(b, *sum);
                            }
                        }
                    }
                    for (k, tile) in tile.into_iter().enumerate() {
                        for (l, sum) in tile.into_iter().enumerate() {
                            if i + k < count && j + l < count {
                                sum.store(lanes.as_mut_ptr());
                                sums[(i + k) * count + j + l] += lanes[..V::LANES].iter().sum::<f64>();
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs() {
        for (count, length) in [(1, 8), (4, 24), (5, 16), (11, 8), (12, 40)] {
            let value = |row: usize, k: usize| ((row * 31 + k * 17) % 23) as f64 - 11.0;
            for level in Level::available() {
                let mut gram = Gram::new(count).unwrap();
                for (first, part) in [(0, length - 8), (length - 8, 8)] {
                    let panel: Vec<f64> =
                        (0..count).flat_map(|row| (first..first + part).map(move |k| value(row, k))).collect();
                    let mut other = Gram::new(count).unwrap();
                    other.add(&panel, level);
                    gram.join(&other);
                }
                for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
                    // Sums of whole numbers are exact.
                    let expected: f64 = (0..length).map(|k| value(i, k) * value(j, k)).sum();
                    assert_eq!(gram.of(i, j), expected, "{count}, {length}, {level:?}: {i}, {j}");
                }
            }
        }
    }
}

//! Columns of a sinogram, one a bin: which of them are bad, and what takes their place.

use super::median::of_list;
use crate::rows::median::{NORMAL, median};
use isocenter_base::cpu::buffer::{reserved, zeros};
use isocenter_base::error::Result;

/// What replaces a bad column: the nearest good ones on either side, and the weight of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between {
    pub(super) bin: usize,
    pub(super) from: [usize; 2],
    pub(super) weight: f64,
}

impl Between {
    /// Linear between the two, by their values.
    pub(super) fn of(&self, value: impl Fn(usize) -> f64) -> f64 {
        let [a, b] = self.from.map(value);
        a + self.weight * (b - a)
    }
}

/// What replaces bad columns; beyond the last good one that one alone. Nothing where a third of all, or more, are bad: then the test
/// that called them so has failed.
pub(super) fn replacements(bad: &[bool]) -> impl Iterator<Item = Between> {
    let count = bad.iter().filter(|b| **b).count();
    let trusted = 3 * count < bad.len();
    (0..bad.len()).filter(move |&k| trusted && bad[k]).filter_map(move |bin| {
        let below = (0..bin).rev().find(|&k| !bad[k]);
        let above = (bin + 1..bad.len()).find(|&k| !bad[k]);
        let from = [below.or(above)?, above.or(below)?];
        let distance = from[1] - from[0];
        let weight = if distance == 0 { 0.0 } else { (bin - from[0]) as f64 / distance as f64 };
        Some(Between { bin, from, weight })
    })
}

/// Lists of a value a bin that tests work with.
pub(super) struct Lists {
    sorted: Vec<f64>,
    local: Vec<f64>,
    ratio: Vec<f64>,
    shuffled: Vec<f64>,
}

impl Lists {
    /// For windows of up to so many bins.
    pub(super) fn new(bins: usize, window: usize) -> Result<Self> {
        let list = || zeros::<f64>(bins);
        Ok(Self { sorted: reserved(window + 1)?, local: list()?, ratio: list()?, shuffled: list()? })
    }

    /// What they take.
    pub(super) fn bytes(bins: usize, window: usize) -> u64 {
        8 * (window + 1 + 3 * bins) as u64
    }
}

/// Marks the bins whose value stands out from the median over `window` bins around it: whose logarithm of the quotient is farther from
/// all bins' median than `limit` standard deviations of that (robust), and than `floor`. With `both`, values that are too small stand
/// out too.
pub(super) fn stand_out(
    values: &[f64],
    (window, limit, floor, both): (usize, f64, f64, bool),
    lists: &mut Lists,
    bad: &mut [bool],
) {
    let Lists { sorted, local, ratio, shuffled } = lists;
    of_list(values, window, sorted, local);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    if mean <= 0.0 {
        bad.fill(false);
        return;
    }
    for ((r, v), m) in ratio.iter_mut().zip(values).zip(&*local) {
        // Where neighbours are 0, nothing stands out that is no larger than the mean.
        let around = if *m > 0.0 { *m } else { mean };
        *r = (v / around).max(1e-6).ln();
    }
    shuffled.copy_from_slice(ratio);
    let middle = median(shuffled);
    shuffled.iter_mut().for_each(|r| *r = (*r - middle).abs());
    let enough = (limit * NORMAL * median(shuffled)).max(floor);
    for (bad, r) in bad.iter_mut().zip(&*ratio) {
        let away = r - middle;
        *bad = away > enough || both && -away > enough;
    }
}

//! Outliers (zingers): values of raw frames that stand out from the median of their neighbourhood, and become it.

pub(in crate::rows) mod median;

use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::{Result, fail};
use median::{BLOCK, LANES, Lanes, bounds, median};
use std::ops::Range;

/// What a threshold is a multiple of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutlierUnit {
    /// The neighbourhood's noise: 1.4826 times the median distance from its median, or a 200th of that median if it is more.
    #[default]
    Noise,
    /// The neighbourhood's median.
    Median,
    /// Counts.
    Count,
}

/// Which values are outliers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutlierSide {
    /// Those above the median.
    #[default]
    Bright,
    /// Those below.
    Dark,
    /// Either.
    Both,
}

/// How outliers are found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outliers {
    /// Bins and rows of a neighbourhood: 3 or 5.
    pub window: usize,
    /// Views of a neighbourhood: 1 or 3.
    pub depth: usize,
    /// What the threshold is a multiple of.
    pub unit: OutlierUnit,
    /// Distance from the median from which on a value is an outlier.
    pub threshold: f64,
    /// Which values may be.
    pub side: OutlierSide,
}

/// Normal noise has this many times its median distance from its median.
const NORMAL: f32 = 1.4826;
/// Where all neighbours are equal, a value may still differ by this part of them.
const FLOOR: f32 = 0.005;

impl Outliers {
    /// Refuses parameters out of range, naming the field.
    pub fn check(&self) -> Result<()> {
        let Self { window, depth, threshold, .. } = *self;
        if !matches!(window, 3 | 5) {
            fail!(OutOfRange, "outliers.window is {window}; it must be 3 or 5 bins and rows");
        }
        if !matches!(depth, 1 | 3) {
            fail!(OutOfRange, "outliers.depth is {depth}; it must be 1 or 3 views");
        }
        if !threshold.is_finite() {
            fail!(NotFiniteParameter, "outliers.threshold is {threshold}; it must be finite");
        }
        if !(1e-6..=1e9).contains(&threshold) {
            fail!(OutOfRange, "outliers.threshold is {threshold}; it must be 1e-6 to 1e9");
        }
        Ok(())
    }

    /// Rows on either side that a value's neighbourhood reaches to.
    pub(crate) fn reach(&self) -> usize {
        self.window / 2
    }

    /// Views before and after that it reaches to.
    pub(crate) fn views(&self) -> usize {
        self.depth / 2
    }

    /// Values of a row with what stands beside it.
    pub(crate) fn pitch(&self, bins: usize) -> usize {
        (bins + 2 * self.reach()).next_multiple_of(LANES) + LANES
    }

    /// Makes a row, of which the part in the middle has been read, ready: beyond its ends the last values are repeated; values that are
    /// no numbers count as the largest.
    pub(crate) fn pad(&self, bins: usize, row: &mut [f32]) {
        let reach = self.reach();
        for v in &mut row[reach..reach + bins] {
            if !v.is_finite() {
                *v = f32::INFINITY;
            }
        }
        let [first, last] = [row[reach], row[reach + bins - 1]];
        row[..reach].fill(first);
        row[reach + bins..].fill(last);
    }

    /// The part of a row that is read.
    pub(crate) fn middle(&self, bins: usize) -> Range<usize> {
        self.reach()..self.reach() + bins
    }

    /// Writes the row in the middle of `around` without its outliers to `row`, and says how many there were. `around` are the padded
    /// rows of a neighbourhood, those of one view after those of another, the row's own view first.
    pub(crate) fn remove(&self, around: &[&[f32]], row: &mut [f32], level: Level) -> usize {
        match (self.window, self.depth) {
            (3, 1) => vectorised(level, Removal::<9> { outliers: self, around, row }),
            (5, 1) => vectorised(level, Removal::<25> { outliers: self, around, row }),
            (3, 3) => vectorised(level, Removal::<27> { outliers: self, around, row }),
            (5, 3) => vectorised(level, Removal::<75> { outliers: self, around, row }),
            other => unreachable!("neighbourhoods of {other:?} were refused"),
        }
    }

    /// What the threshold is at least, as a part of the median and beside it; a little less, so that rounding has no say.
    fn minimum(&self) -> (f32, f32) {
        let threshold = 0.999 * self.threshold as f32;
        match self.unit {
            OutlierUnit::Noise => (FLOOR * threshold, 0.0),
            OutlierUnit::Median => (threshold, 0.0),
            OutlierUnit::Count => (0.0, threshold),
        }
    }
}

struct Removal<'a, const N: usize> {
    outliers: &'a Outliers,
    around: &'a [&'a [f32]],
    row: &'a mut [f32],
}

impl<const N: usize> Plain for Removal<'_, N> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { outliers, around, row } = self;
        let (window, reach) = (outliers.window, outliers.reach());
        let (part, beside) = outliers.minimum();
        let (bright, dark) = (outliers.side != OutlierSide::Dark, outliers.side != OutlierSide::Bright);
        let centre = around[reach];
        let mut found = 0;
        let [mut low, mut high] = [[0.0; BLOCK]; 2];
        for (block, row) in row.chunks_mut(BLOCK).enumerate() {
            let from = block * BLOCK;
            let values = |k: usize| &around[k / window][from + k % window..];
            bounds::<N>(row.len(), values, [&mut low, &mut high]);
            row.copy_from_slice(&centre[from + reach..][..row.len()]);
            let bounds = low.chunks(LANES).zip(high.chunks(LANES));
            for (group, (row, (low, high))) in row.chunks_mut(LANES).zip(bounds).enumerate() {
                // Most are no outliers by their bounds.
                let mut doubtful = false;
                for ((value, low), high) in row.iter().zip(low).zip(high) {
                    let above = !(*low >= 0.0 && value - low <= part * low + beside);
                    let below = !(*high >= 0.0 && part <= 1.0 && high - value <= part * high + beside);
                    doubtful |= bright & above | dark & below;
                }
                if doubtful {
                    let all: [Lanes; N] = std::array::from_fn(|k| {
                        let from = &values(k)[group * LANES..][..LANES];
                        std::array::from_fn(|l| from[l])
                    });
                    found += outliers.replace(&all, row);
                }
            }
        }
        found
    }
}

impl Outliers {
    /// Replaces outliers among values that stand side by side, each among those of its neighbourhood; gives their number.
    #[inline(always)]
    fn replace<const N: usize>(&self, all: &[Lanes; N], row: &mut [f32]) -> usize {
        let threshold = self.threshold as f32;
        let (bright, dark) = (self.side != OutlierSide::Dark, self.side != OutlierSide::Bright);
        let middle = median(*all);
        let mut value = middle;
        value[..row.len()].copy_from_slice(row);
        // Distance from the median where that may be far, and how many values are much nearer.
        let distance: Lanes = std::array::from_fn(|l| match (value[l] > middle[l], bright, dark) {
            (true, true, _) => value[l] - middle[l],
            (false, _, true) => middle[l] - value[l],
            _ => 0.0,
        });
        let mut near = [0u32; LANES];
        if self.unit == OutlierUnit::Noise {
            let noise = threshold * NORMAL;
            for v in all {
                for l in 0..LANES {
                    near[l] += u32::from(noise * (v[l] - middle[l]).abs() < distance[l]);
                }
            }
        }
        let mut found = 0;
        for (l, v) in row.iter_mut().enumerate() {
            let far = match self.unit {
                // That more than half of the values are is that their median distance is.
                OutlierUnit::Noise => near[l] as usize > N / 2 && distance[l] > threshold * (FLOOR * middle[l].abs()),
                OutlierUnit::Median => distance[l] > threshold * middle[l].abs(),
                OutlierUnit::Count => distance[l] > threshold,
            };
            if far && v.is_finite() {
                *v = middle[l];
                found += 1;
            }
        }
        found
    }
}

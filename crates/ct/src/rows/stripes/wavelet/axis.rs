//! How a sinogram is padded and how long its bands are.

/// Values that padding has at most, on either side.
const MAX_PAD: usize = 150;
/// The padded sinogram's shorter side, of its deepest level but for what filters add.
const MIN_SIDE: usize = 16;

/// On either side, along views and along bins: a tenth of the shorter side.
fn padding(views: usize, bins: usize) -> usize {
    (views.min(bins) / 10).min(MAX_PAD)
}

/// The number of levels that fit: each halves the padded sinogram, whose shorter side stays 16 or more.
pub(super) fn max_levels(views: usize, bins: usize) -> usize {
    let side = views.min(bins) + 2 * padding(views, bins);
    (side / MIN_SIDE).checked_ilog2().unwrap_or(0) as usize
}

/// One side of a sinogram.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Values of the caller's, and padding on either side.
    pub(crate) count: usize,
    pub(crate) pad: usize,
    /// Values after each level, from 0 on: the padded side first.
    pub(crate) lens: Vec<usize>,
}

impl Axis {
    /// Views and bins, for filters of so many taps.
    pub(super) fn both(views: usize, bins: usize, levels: usize, taps: usize) -> [Self; 2] {
        let pad = padding(views, bins);
        [views, bins].map(|count| {
            let mut lens = vec![count + 2 * pad];
            // What a filter sees of a list that goes on in mirror image, every other place.
            (0..levels).for_each(|l| lens.push((lens[l] + taps - 1) / 2));
            Self { count, pad, lens }
        })
    }

    /// The longest there is: filters longer than a band make it longer.
    pub(crate) fn longest(&self) -> usize {
        self.lens.iter().copied().max().unwrap_or(0)
    }
}

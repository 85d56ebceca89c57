//! Parts of a list, which are to events what subsets of views are to histo-images.

use crate::events::BLOCK;

/// Which events of a list: every `count`-th run of `size`, from the `first` run on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// A block's at most.
    pub(crate) size: usize,
}

impl Part {
    /// All of them.
    pub(crate) const ALL: Self = Self { first: 0, count: 1, size: BLOCK };

    /// Of so many parts: runs as long as a block, and shorter ones of few events, so that every part has some of all times of the scan.
    pub(crate) fn of(first: usize, count: usize, events: usize) -> Self {
        Self { first, count, size: (events / (8 * count)).clamp(1, BLOCK) }
    }

    /// How many runs.
    pub(crate) fn runs(&self, events: usize) -> usize {
        events.div_ceil(self.size).saturating_sub(self.first).div_ceil(self.count)
    }

    /// Where a run begins.
    pub(crate) fn start(&self, run: usize) -> usize {
        (self.first + run * self.count) * self.size
    }
}

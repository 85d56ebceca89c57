//! Slices that are worked on together, and side by side in vectors.

use std::ops::Range;

/// Slices first to first + count, in groups of `lanes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) lanes: usize,
}

impl Groups {
    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        self.count.div_ceil(self.lanes)
    }

    /// Slices of one group, relative to the first.
    pub(super) fn slices(&self, group: usize) -> Range<usize> {
        group * self.lanes..self.count.min((group + 1) * self.lanes)
    }
}

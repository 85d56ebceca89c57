//! Slices that are worked on together, and side by side in vectors.

use std::ops::Range;

/// Which slices lie side by side in a group's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// One slice, whose neighbouring elements do: [`super::single`]. Sums are rounded otherwise than side by side.
    Alone,
    /// So many: [`super::interleaved`]. Sums of a slice are rounded alike whatever lies beside it.
    Side(usize),
}

impl Lanes {
    /// Slices of a group.
    pub(super) fn count(self) -> usize {
        match self {
            Self::Alone => 1,
            Self::Side(count) => count,
        }
    }
}

/// Slices first to first + count, in groups of `lanes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) lanes: Lanes,
}

impl Groups {
    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        self.count.div_ceil(self.lanes.count())
    }

    /// Slices of one group, relative to the first.
    pub(super) fn slices(&self, group: usize) -> Range<usize> {
        let lanes = self.lanes.count();
        group * lanes..self.count.min((group + 1) * lanes)
    }
}

//! How the fine grid lies in memory.

use crate::kernel::MAX_WIDTH;

/// Room behind each row's end, so that a point's taps are one run: the widest function, in whole vectors.
const MARGIN: usize = MAX_WIDTH;

/// The fine grid `[z][y][x]`, one plane for a 2-D problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FineGrid {
    pub len: [usize; 3],
    pub width: usize,
}

impl FineGrid {
    /// From plane to plane, and from row to row. Both are odd numbers of cache lines, or twice that: neighbouring rows and planes
    /// would get in each other's way in the first-level cache if they were large powers of two apart.
    pub fn strides(&self) -> [usize; 2] {
        const LINE: usize = 8;
        let row = ((self.len[2] + MARGIN).div_ceil(LINE) | 1) * LINE;
        let rows = if self.len[0] == 1 { self.len[1] } else { self.len[1] | 1 };
        [rows * row, row]
    }

    pub fn grid_len(&self) -> usize {
        self.len[0] * self.strides()[0]
    }

    /// Grid points that a point touches along z and y.
    pub fn reach(&self) -> [usize; 2] {
        [self.len[0].min(self.width), self.width]
    }
}

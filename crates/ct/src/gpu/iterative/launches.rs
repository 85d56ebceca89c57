//! How a slice's elements are shared out.

use isocenter_base::gpu::Launch;

const THREADS: usize = 256;
/// Elements of a block, at least, and blocks of a slice, at most: both fixed, so that sums are the same on every GPU and beside any number
/// of other slices.
const ELEMENTS: usize = 8192;
const BLOCKS: usize = 512;

/// Over numbers, one a slice.
pub(super) const ONE_BLOCK: Launch = Launch { grid: [1, 1, 1], block: [THREADS, 1, 1], shared: 0 };

/// Blocks that share a slice's elements out.
pub(super) fn blocks(count: usize) -> usize {
    count.div_ceil(ELEMENTS).clamp(1, BLOCKS)
}

/// A launch over so many elements of each slice.
pub(super) fn over(count: usize, slices: usize) -> Launch {
    Launch { grid: [blocks(count), slices, 1], block: [THREADS, 1, 1], shared: 0 }
}

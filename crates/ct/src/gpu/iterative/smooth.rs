//! Launches `kernels/ct/smooth.cu`.

use super::resident::Resident;
use super::slab::SmoothTables;
use crate::iterative::space::{Rows, Sum};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Launch, mirrored};

/// Mirrors `Approach`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Approach {
    rows: u64,
    by: u64,
    table: u64,
    parts: u64,
    steps: u64,
    relaxed: u64,
    views: i32,
    bins: i32,
    count: i32,
    rows_of_block: i32,
    staged: i32,
}
mirrored!(Approach, 72);

const THREADS: usize = 256;
/// Rows of a block, at most, and blocks that are worth fewer.
const ROWS: usize = 4;
const BLOCKS: usize = 512;
/// What any GPU has without asking.
const SHARED_BYTES: usize = 48 << 10;

impl Resident<'_> {
    /// See `Space::approach_smoothly`.
    pub(super) fn go_smoothly(&self, rows: Rows, by: Rows, [steps, relaxed]: [Sum; 2]) -> Result<()> {
        let [rows, by] = [rows, by].map(|rows| self.vectors.rows(self.at, rows));
        let Some(tables) = self.smooth else { fail!(Internal, "smooth components that were not made") };
        self.approach(tables, [rows, by], [steps, relaxed].map(|sum| self.sum_at(sum)), self.vectors.slices)
    }

    /// The rows of one slice become those that norms go by.
    pub(super) fn flatten(&self, rows: u64) -> Result<()> {
        self.smooth.map_or(Ok(()), |tables| self.approach(tables, [rows, 0], [0; 2], 1))
    }

    fn approach(
        &self,
        tables: &SmoothTables,
        [rows, by]: [u64; 2],
        [steps, relaxed]: [u64; 2],
        slices: usize,
    ) -> Result<()> {
        let (v, count) = (self.vectors, tables.count);
        let views = v.samples / v.bins;
        let of_row = |staged: bool| 4 * (count + if staged { v.bins } else { 0 });
        let together = (views * slices / BLOCKS).min(SHARED_BYTES / of_row(true)).clamp(1, ROWS);
        let staged = together * of_row(true) <= SHARED_BYTES;
        let approach = Approach {
            rows,
            by,
            table: tables.table.address(),
            parts: tables.parts.address(),
            steps,
            relaxed,
            views: views as i32,
            bins: v.bins as i32,
            count: count as i32,
            rows_of_block: together as i32,
            staged: staged.into(),
        };
        let shared = together * of_row(staged);
        let launch = Launch { grid: [views.div_ceil(together), slices, 1], block: [THREADS, 1, 1], shared };
        self.queue(&self.kernels()?.approach, launch, &approach)
    }
}

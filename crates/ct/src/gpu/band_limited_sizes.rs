//! What band-limited sums take on a GPU, known before there are tables.

use super::format::Format;
use crate::band_limited::BandLimited;
use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_nufft::course::Course;
use isocenter_nufft::gpu::{LineChoice, LineLists, MAX_IMAGES};
use std::sync::Arc;

/// Sizes of all that the sums work on.
#[derive(Clone, Debug)]
pub(super) struct BandLimitedSizes {
    pub(super) plan: BandLimited,
    pub(super) choice: LineChoice,
    /// Pixels along y, x.
    pub(super) image: [usize; 2],
    pub(super) views: usize,
    /// They tell how much memory parts of tiles take.
    pub(super) lists: Arc<LineLists>,
}

impl BandLimitedSizes {
    pub(super) fn new(g: &Geometry, plan: BandLimited) -> Result<Self> {
        let points = (g.views() as u64).saturating_mul(plan.period as u64 + 1);
        let choice = LineChoice::new([g.ny, g.nx], points, plan.tolerance)?;
        let steps = collected((0..g.views()).map(|v| plan.spoke(g, v).step))?;
        let lists = Arc::new(LineLists::new(&steps, Course::symmetric(plan.period / 2), &choice)?);
        Ok(Self { plan, choice, image: [g.ny, g.nx], views: g.views(), lists })
    }

    /// Slices that cost as much as fewer.
    pub(super) const UNIT: usize = 2 * MAX_IMAGES;

    /// Rows as they are read: pairs of slices.
    pub(super) const FORMAT: Format = Format { lanes: 2, half: false, split: false, oversampling: 1, tight: true };

    /// Of so many slices at a time.
    pub(super) fn images(slices: usize) -> usize {
        slices.div_ceil(2).min(MAX_IMAGES).next_multiple_of(2)
    }

    /// Bytes of frequencies (or, later, of the transform half done) and of the grid.
    pub(super) fn parts(&self, slices: usize) -> [u64; 2] {
        let gx = self.choice.grid[1] as u64;
        let values = (self.views as u64).saturating_mul(self.plan.period as u64 + 1);
        let half_done = self.image[0] as u64 * gx;
        [values.max(half_done), self.grid_elements() as u64].map(|n| n.saturating_mul(8 * Self::images(slices) as u64))
    }

    /// Of the fine grid of an image, which has room for a row too.
    pub(super) fn grid_elements(&self) -> usize {
        let [gy, gx] = self.choice.grid;
        (gy * gx).max(self.plan.period)
    }

    /// Bytes of working memory for slabs of so many slices.
    pub(super) fn bytes(&self, slices: usize) -> u64 {
        let [values, grid] = self.parts(slices);
        values.saturating_add(grid).saturating_add(self.lists.part_bytes(Self::images(slices)))
    }
}

//! Stages that look at the neighbours of a value in raw frames: view after view, of some detector rows and those beside them.

use crate::context::Job;
use crate::cpu::buffer::zeros;
use crate::cpu::level::Level;
use crate::ct::geometry::Geometry;
use crate::ct::rows::outliers::Outliers;
use crate::ct::rows::reader::Reader;
use crate::error::Result;

/// Rows of the largest neighbourhood: five of three views.
const MAX_ROWS: usize = 15;

/// Raw rows of the views that are looked at together.
pub(super) struct Frames<'a> {
    outliers: &'a Outliers,
    geometry: &'a Geometry,
    /// (views, rows, pitch): the views in turn.
    ring: Vec<f32>,
}

impl<'a> Frames<'a> {
    /// What it takes for so many slices, in bytes.
    pub(super) fn bytes(outliers: &Outliers, bins: usize, slices: usize) -> u64 {
        4 * (outliers.depth * (slices + 2 * outliers.reach()) * outliers.pitch(bins)) as u64
    }

    pub(super) fn new(outliers: &'a Outliers, geometry: &'a Geometry, slices: usize) -> Result<Self> {
        let ring = zeros(Self::bytes(outliers, geometry.bins, slices) as usize / 4)?;
        Ok(Self { outliers, geometry, ring })
    }

    /// Reads slices from `first` on, removes outliers, and makes line integrals, (slice, view, bin). Gives the number of outliers.
    pub(super) fn read(
        &mut self,
        input: &Reader,
        first: usize,
        sinograms: &mut [f32],
        (level, job): (Level, &Job),
    ) -> Result<u64> {
        let Self { outliers, geometry: g, ring } = self;
        let (reach, depth, pitch) = (outliers.reach(), outliers.depth, outliers.pitch(g.bins));
        let size = g.views() * g.bins;
        let slices = sinograms.len() / size;
        let top = g.first_row + first;
        let rows = slices + 2 * reach;
        // The row of the detector for one of the ring.
        let line = |row: usize| (top + row).saturating_sub(reach).min(g.rows - 1);
        let load = |ring: &mut [f32], view: usize| {
            let at = view % depth * rows * pitch;
            for (row, padded) in ring[at..][..rows * pitch].chunks_exact_mut(pitch).enumerate() {
                input.read_raw(view, line(row), &mut padded[outliers.middle(g.bins)]);
                outliers.pad(g.bins, padded);
            }
        };
        let ahead = outliers.views();
        (0..ahead.min(g.views())).for_each(|view| load(ring, view));
        let mut found = 0;
        for view in 0..g.views() {
            job.check()?;
            if view + ahead < g.views() {
                load(ring, view + ahead);
            }
            for slice in 0..slices {
                let mut around = [&ring[..0]; MAX_ROWS];
                let mut count = 0;
                for neighbour in neighbours(view, ahead, g.views()) {
                    let frame = &ring[neighbour % depth * rows * pitch..][..rows * pitch];
                    for row in frame[slice * pitch..].chunks_exact(pitch).take(outliers.window) {
                        around[count] = row;
                        count += 1;
                    }
                }
                let row = &mut sinograms[slice * size + view * g.bins..][..g.bins];
                found += outliers.remove(&around[..count], row, level) as u64;
                let replaced = input.corrected(view, top + slice, row)?;
                input.count(replaced);
            }
        }
        Ok(found)
    }
}

/// A view, and those around it, of which the first and the last stand for those that there are not.
pub(super) fn neighbours(view: usize, ahead: usize, views: usize) -> impl Iterator<Item = usize> {
    let before = (1..=ahead).map(move |k| view.saturating_sub(k));
    let after = (1..=ahead).map(move |k| (view + k).min(views - 1));
    std::iter::once(view).chain(before).chain(after)
}

//! Raw rows of a detector, view after view, without outliers, for which those beside them are read.

use crate::rows::outliers::Outliers;
use crate::rows::reader::Reader;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use std::ops::Range;

/// Rows of the largest neighbourhood: five of three views.
const MAX_ROWS: usize = 15;

/// Rows of the views that are looked at together.
pub(super) struct Frames<'a> {
    input: &'a Reader<'a>,
    outliers: Option<&'a Outliers>,
    level: Level,
    /// Views, rows and bins of the scan.
    shape: [usize; 3],
    /// Rows of the detector that are wanted.
    rows: Range<usize>,
    /// The view after which none has been read.
    read: usize,
    /// (views, rows, pitch): the views in turn.
    ring: Vec<f32>,
}

/// Values of a ring for so many rows.
fn ring(outliers: Option<&Outliers>, bins: usize, rows: usize) -> usize {
    outliers.map_or(0, |o| o.depth * (rows + 2 * o.reach()) * o.pitch(bins))
}

impl<'a> Frames<'a> {
    /// What it takes for so many rows, in bytes.
    pub(super) fn bytes(outliers: Option<&Outliers>, bins: usize, rows: usize) -> u64 {
        4 * ring(outliers, bins, rows) as u64
    }

    /// Of a scan of (views, rows, bins), of which so many rows at most are wanted at a time.
    pub(super) fn new(
        input: &'a Reader<'a>,
        outliers: Option<&'a Outliers>,
        shape: [usize; 3],
        most: usize,
        level: Level,
    ) -> Result<Self> {
        let ring = zeros(ring(outliers, shape[2], most))?;
        Ok(Self { input, outliers, level, shape, rows: 0..0, read: 0, ring })
    }

    /// From now on these rows, of views from this one on.
    pub(super) fn begin(&mut self, rows: Range<usize>, view: usize) {
        self.rows = rows;
        self.read = view.saturating_sub(self.outliers.map_or(0, Outliers::views));
    }

    /// Rows of the ring.
    fn height(&self, outliers: &Outliers) -> usize {
        self.rows.len() + 2 * outliers.reach()
    }

    /// Reads what a view needs, after those before it.
    pub(super) fn advance(&mut self, view: usize) {
        let Some(outliers) = self.outliers else { return };
        let [views, rows, bins] = self.shape;
        let (height, pitch) = (self.height(outliers), outliers.pitch(bins));
        for view in self.read..(view + outliers.views() + 1).min(views) {
            let at = view % outliers.depth * height * pitch;
            for (k, padded) in self.ring[at..][..height * pitch].chunks_exact_mut(pitch).enumerate() {
                let row = (self.rows.start + k).saturating_sub(outliers.reach()).min(rows - 1);
                self.input.read_raw(view, row, &mut padded[outliers.middle(bins)]);
                outliers.pad(bins, padded);
            }
            self.read = view + 1;
        }
    }

    /// A row of the view that it has advanced to; gives the number of outliers.
    pub(super) fn row(&self, view: usize, row: usize, values: &mut [f32]) -> u64 {
        let Some(outliers) = self.outliers else {
            self.input.read_raw(view, row, values);
            return 0;
        };
        let [views, _, bins] = self.shape;
        let (height, pitch) = (self.height(outliers), outliers.pitch(bins));
        let mut around = [&self.ring[..0]; MAX_ROWS];
        let mut count = 0;
        for neighbour in neighbours(view, outliers.views(), views) {
            let frame = &self.ring[neighbour % outliers.depth * height * pitch..][..height * pitch];
            let rows = frame[(row - self.rows.start) * pitch..].chunks_exact(pitch);
            for row in rows.take(outliers.window) {
                around[count] = row;
                count += 1;
            }
        }
        outliers.remove(&around[..count], values, self.level) as u64
    }
}

/// A view, and those around it, of which the first and the last stand for those that there are not.
fn neighbours(view: usize, reach: usize, views: usize) -> impl Iterator<Item = usize> {
    let before = (1..=reach).map(move |k| view.saturating_sub(k));
    let after = (1..=reach).map(move |k| (view + k).min(views - 1));
    std::iter::once(view).chain(before).chain(after)
}

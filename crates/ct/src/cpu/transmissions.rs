//! Rows of transmissions of a detector, view after view: of raw rows without their outliers, corrected, and as they were without the
//! detector's distortion. Projections that are line integrals stay that.

use super::frames::Frames;
use crate::geometry::Geometry;
use crate::rows::Stages;
use crate::rows::distortion::{Distortion, Warp};
use crate::rows::reader::Reader;
use crate::slab::rows_of;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use std::ops::Range;

/// Some rows of all views in turn.
pub(super) struct Transmissions<'a> {
    measured: Measured<'a>,
    warp: Option<Warp<'a>>,
}

/// Rows as they were measured.
struct Measured<'a> {
    input: &'a Reader<'a>,
    frames: Frames<'a>,
    /// Rows whose outliers and replaced values count.
    own: Range<usize>,
    counts: [u64; 2],
}

impl Measured<'_> {
    fn row(&mut self, view: usize, row: usize, values: &mut [f32]) -> Result<()> {
        let outliers = self.frames.row(view, row, values);
        let own = self.own.contains(&row);
        let replaced = self.input.transmissions(view, row, own, values)?;
        if own {
            self.counts[0] += outliers;
            self.counts[1] += replaced as u64;
        }
        Ok(())
    }
}

impl<'a> Transmissions<'a> {
    /// What it takes for so many views at a time, and rows, in bytes.
    pub(super) fn bytes(stages: &Stages, g: &Geometry, [views, rows]: [usize; 2]) -> u64 {
        let distortion = stages.distortion.as_ref();
        let measured = rows_of(g, rows, distortion.map_or(0, |distortion| distortion.reach(g)));
        let warp = distortion.map_or(0, |distortion| Warp::bytes(distortion, g, [views, rows]));
        Frames::bytes(stages.outliers.as_ref(), g.bins, measured) + warp
    }

    /// Of some rows of the detector, from the first of these views on, so many at a time.
    pub(super) fn new(
        input: &'a Reader<'a>,
        stages: &'a Stages,
        g: &Geometry,
        (rows, own): (Range<usize>, Range<usize>),
        (first, views): (usize, usize),
        level: Level,
    ) -> Result<Self> {
        let distortion = stages.distortion.as_ref();
        let warp = distortion.map(|distortion| Warp::new(distortion, g, (views, rows.clone()), level)).transpose()?;
        let rows = distortion.map_or(rows.clone(), |distortion: &Distortion| distortion.rows(g, &rows));
        let mut frames = Frames::new(input, stages.outliers.as_ref(), [g.views(), g.rows, g.bins], rows.len(), level)?;
        frames.begin(rows, first);
        Ok(Self { measured: Measured { input, frames, own, counts: [0; 2] }, warp })
    }

    /// Gives rows of the views that come next to `take`, with the place of the view among them and what stands beside a row.
    pub(super) fn each(
        &mut self,
        views: Range<usize>,
        rows: impl Iterator<Item = (usize, usize)> + Clone,
        values: &mut [f32],
        mut take: impl FnMut(usize, usize, &mut [f32]),
    ) -> Result<()> {
        let Self { measured, warp } = self;
        for (place, view) in views.clone().enumerate() {
            measured.frames.advance(view);
            if let Some(warp) = warp {
                warp.fill(place, |row, values| measured.row(view, row, values))?;
                continue;
            }
            for (row, beside) in rows.clone() {
                measured.row(view, row, values)?;
                take(place, beside, values);
            }
        }
        if let Some(warp) = warp {
            for (row, beside) in rows {
                warp.read(row, views.clone(), values, |place, values| take(place, beside, values));
            }
        }
        Ok(())
    }

    /// The number of outliers and of values replaced.
    pub(super) fn counts(&self) -> [u64; 2] {
        self.measured.counts
    }
}

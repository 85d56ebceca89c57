//! The stages that see more than a row, on the processor: from the caller's projections to line integrals of some slices.

use crate::context::{Context, Job, Stage};
use crate::ct::geometry::Geometry;
use crate::ct::rows::Stages;
use crate::ct::rows::filter::Padding;
use crate::ct::rows::half_acquisition::Halves;
use crate::ct::rows::reader::Reader;
use crate::ct::task::Task;
use crate::error::Result;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// The stages of a call.
pub(super) struct Preparation<'a> {
    /// Of the rows that it makes, and of those that it reads.
    pub(super) geometry: &'a Geometry,
    pub(super) detector: &'a Geometry,
    pub(super) stages: &'a Stages,
    /// Half acquisition, and whether rows go on as they end.
    pub(super) halves: Option<(&'a Halves, bool)>,
    pub(super) threads: usize,
}

impl<'a> Preparation<'a> {
    /// Of a task that has such stages.
    pub(super) fn of(task: &Task<'a>, threads: usize) -> Option<Self> {
        let Task { geometry, detector, rows, .. } = *task;
        let edge = matches!(rows.filter, Some((_, Padding::Edge)));
        let halves = rows.halves.map(|halves| (halves, edge));
        rows.stages.map(|stages| Self { geometry, detector, stages, halves, threads })
    }

    /// Values of so many slices.
    pub(super) fn len(&self, slices: usize) -> usize {
        slices * self.geometry.views() * self.geometry.bins
    }

    /// Working memory, in bytes, for so many slices.
    pub(super) fn bytes(&self, slices: usize) -> u64 {
        let (views, bins) = (self.detector.views(), self.detector.bins);
        let room = self.stages.stripes.as_ref().map_or(0, |stripes| stripes.bytes(views, bins));
        4 * self.len(slices) as u64 + self.threads.min(slices) as u64 * room
    }

    /// Reads slices, and makes line integrals of them, (slice, view, bin).
    pub(super) fn run(
        &self,
        (context, job): (&Context, &Job),
        input: &Reader,
        slices: Range<usize>,
        prepared: &mut [f32],
    ) -> Result<()> {
        job.enter(Stage::Prepare);
        let g = self.detector;
        let sinograms = prepared.chunks_exact_mut(self.len(1));
        let queue = Mutex::new(slices.clone().zip(sinograms));
        // A task a thread, and no more, so that there is room for each.
        (0..self.threads.min(slices.len())).into_par_iter().try_for_each(|_| {
            let stripes = self.stages.stripes.as_ref();
            let mut remover = stripes.map(|stripes| stripes.remover(g.views(), g.bins)).transpose()?;
            loop {
                let next = queue.lock().unwrap_or_else(|e| e.into_inner()).next();
                let Some((slice, sinogram)) = next else { return Ok(()) };
                job.check()?;
                let measured = &mut sinogram[..g.views() * g.bins];
                for (view, row) in measured.chunks_exact_mut(g.bins).enumerate() {
                    input.read(view, g.first_row + slice, row)?;
                }
                if let Some(remover) = &mut remover {
                    remover.correct(measured, context.level())?;
                }
                if let Some((halves, edge)) = self.halves {
                    halves.widen(edge, sinogram);
                }
            }
        })
    }
}

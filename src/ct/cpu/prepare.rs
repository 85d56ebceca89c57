//! The stages that see more than a row, on the processor: from the caller's projections to line integrals of some slices.

use crate::context::{Context, Job, Stage};
use crate::ct::geometry::Geometry;
use crate::ct::rows::Stages;
use crate::ct::rows::reader::Reader;
use crate::ct::task::Task;
use crate::error::Result;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// The stages of a call.
pub(super) struct Preparation<'a> {
    pub(super) geometry: &'a Geometry,
    pub(super) stages: &'a Stages,
    pub(super) threads: usize,
}

impl<'a> Preparation<'a> {
    /// Of a task that has such stages.
    pub(super) fn of(task: &Task<'a>, threads: usize) -> Option<Self> {
        task.rows.stages.map(|stages| Self { geometry: task.geometry, stages, threads })
    }

    /// Values of so many slices.
    pub(super) fn len(&self, slices: usize) -> usize {
        slices * self.geometry.views() * self.geometry.bins
    }

    /// Working memory, in bytes, for so many slices.
    pub(super) fn bytes(&self, slices: usize) -> u64 {
        let (views, bins) = (self.geometry.views(), self.geometry.bins);
        let stripes = self.stages.stripes.as_ref();
        let room = stripes.map_or(0, |stripes| stripes.bytes(views, bins));
        let tables = stripes.map_or(0, |stripes| stripes.table_bytes(views, bins));
        4 * self.len(slices) as u64 + tables + self.threads.min(slices) as u64 * room
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
        let g = self.geometry;
        let sinograms = prepared.chunks_exact_mut(g.views() * g.bins);
        let queue = Mutex::new(slices.clone().zip(sinograms));
        let (views, bins, stripes) = (g.views(), g.bins, self.stages.stripes.as_ref());
        let tables = stripes.map(|stripes| stripes.tables(views, bins, context.level())).transpose()?.flatten();
        // A task a thread, and no more, so that there is room for each.
        (0..self.threads.min(slices.len())).into_par_iter().try_for_each(|_| {
            let mut remover = stripes.map(|stripes| stripes.remover(views, bins, tables.as_ref())).transpose()?;
            loop {
                let next = queue.lock().unwrap_or_else(|e| e.into_inner()).next();
                let Some((slice, sinogram)) = next else { return Ok(()) };
                job.check()?;
                for (view, row) in sinogram.chunks_exact_mut(g.bins).enumerate() {
                    input.read(view, g.first_row + slice, row)?;
                }
                if let Some(remover) = &mut remover {
                    remover.correct(sinogram, context.level())?;
                }
            }
        })
    }
}

//! The stages that see more than a row, on the processor: from the caller's projections to line integrals of some slices.

use super::frames::Frames;
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

/// Slices that are read together where their rows have neighbours, which are read for all of them.
const TOGETHER: usize = 8;

impl<'a> Preparation<'a> {
    /// Of a task that has such stages.
    pub(super) fn of(task: &Task<'a>, threads: usize) -> Option<Self> {
        task.rows.stages.and_then(Stages::any).map(|stages| Self { geometry: task.geometry, stages, threads })
    }

    /// Values of so many slices.
    pub(super) fn len(&self, slices: usize) -> usize {
        slices * self.geometry.views() * self.geometry.bins
    }

    /// Slices of one task.
    fn together(&self, slices: usize) -> usize {
        if self.stages.reach() == 0 { 1 } else { slices.div_ceil(self.threads).clamp(1, TOGETHER) }
    }

    /// Working memory, in bytes, for so many slices.
    pub(super) fn bytes(&self, slices: usize) -> u64 {
        let (views, bins, together) = (self.geometry.views(), self.geometry.bins, self.together(slices));
        let stripes = self.stages.stripes.as_ref().map_or(0, |stripes| stripes.bytes(views, bins));
        let frames = self.stages.outliers.as_ref().map_or(0, |outliers| Frames::bytes(outliers, bins, together));
        4 * self.len(slices) as u64 + self.threads.min(slices.div_ceil(together)) as u64 * (stripes + frames)
    }

    /// Reads slices, and makes line integrals of them, (slice, view, bin). Gives the number of outliers.
    pub(super) fn run(
        &self,
        (context, job): (&Context, &Job),
        input: &Reader,
        slices: Range<usize>,
        prepared: &mut [f32],
    ) -> Result<u64> {
        job.enter(Stage::Prepare);
        let g = self.geometry;
        let (size, together) = (g.views() * g.bins, self.together(slices.len()));
        let queue = Mutex::new(slices.clone().step_by(together).zip(prepared.chunks_mut(together * size)));
        // A task a thread, and no more, so that there is room for each.
        let tasks = (0..self.threads.min(slices.len().div_ceil(together))).into_par_iter().map(|_| {
            let (stripes, outliers) = (self.stages.stripes.as_ref(), self.stages.outliers.as_ref());
            let mut remover = stripes.map(|stripes| stripes.remover(g.views(), g.bins)).transpose()?;
            let mut frames = outliers.map(|outliers| Frames::new(outliers, g, together)).transpose()?;
            let mut found = 0;
            loop {
                let next = queue.lock().unwrap_or_else(|e| e.into_inner()).next();
                let Some((slice, sinograms)) = next else { return Ok(found) };
                job.check()?;
                match &mut frames {
                    Some(frames) => found += frames.read(input, slice, sinograms, (context.level(), job))?,
                    None => {
                        for (view, row) in sinograms.chunks_exact_mut(g.bins).enumerate() {
                            input.read(view, g.first_row + slice, row)?;
                        }
                    }
                }
                if let Some(remover) = &mut remover {
                    for sinogram in sinograms.chunks_exact_mut(size) {
                        job.check()?;
                        remover.correct(sinogram, context.level())?;
                    }
                }
            }
        });
        tasks.sum()
    }
}

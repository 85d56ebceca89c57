//! The stages that see more than a row, on the processor: from the caller's projections to line integrals of some slices.

use super::frames::Frames;
use super::phase::PhaseFilter;
use super::transmissions::Transmissions;
use crate::geometry::Geometry;
use crate::rows::filter::Padding;
use crate::rows::reader::Reader;
use crate::rows::{Chain, Stages};
use crate::slab::rows_of;
use crate::task::Task;
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::Result;
use std::ops::Range;
use std::sync::Mutex;

/// The stages of a call.
pub(super) struct Preparation<'a> {
    /// Of the rows that it makes, and of those that it reads.
    geometry: &'a Geometry,
    detector: &'a Geometry,
    stages: &'a Stages,
    rows: Chain<'a>,
    threads: usize,
}

/// Slices that are read together where their rows have neighbours, which are read for all of them.
const TOGETHER: usize = 8;
/// Views that share the places of a distortion's pixels.
const VIEWS: usize = 4;

impl<'a> Preparation<'a> {
    /// Of a task that has such stages.
    pub(super) fn of(task: &Task<'a>, threads: usize) -> Option<Self> {
        let Task { geometry, detector, rows, .. } = *task;
        let stages = rows.stages.filter(|stages| stages.any().is_some() || rows.halves.is_some())?;
        Some(Self { geometry, detector, stages, rows, threads })
    }

    /// Values of so many slices.
    pub(super) fn len(&self, slices: usize) -> usize {
        slices * self.geometry.views() * self.geometry.bins
    }

    /// Slices that should be loaded at a time, if they can be: many more than the rows that are read beside them.
    pub(super) fn wanted(&self) -> usize {
        4 * self.stages.reach(self.detector)
    }

    /// Slices of one task.
    fn together(&self, slices: usize) -> usize {
        if self.stages.outliers.is_none() { 1 } else { slices.div_ceil(self.threads).clamp(1, TOGETHER) }
    }

    /// Views that are worked on together: phase is retrieved of two at a time.
    fn block(&self) -> usize {
        if self.stages.phase.is_some() { 2 } else { VIEWS }
    }

    /// Working memory, in bytes, for so many slices.
    pub(super) fn bytes(&self, slices: usize) -> u64 {
        let (views, bins, together) = (self.detector.views(), self.detector.bins, self.together(slices));
        let stripes = self.stages.stripes.as_ref().map_or(0, |stripes| stripes.bytes(views, bins, self.rows.by_angle));
        let outliers = self.stages.outliers.as_ref();
        let rows = if self.stages.on_frames() {
            let [each, all] = match &self.stages.phase {
                Some(phase) => PhaseFilter::bytes(phase, slices, bins),
                None => [4 * bins as u64, 0],
            };
            let rows = rows_of(self.detector, slices, self.stages.phase_reach());
            let frames = each + Transmissions::bytes(self.stages, self.detector, [self.block(), rows]);
            let tasks = self.threads.min(views.div_ceil(self.block())) as u64;
            all + (tasks * frames).max(self.threads.min(slices) as u64 * stripes)
        } else {
            let tasks = self.threads.min(slices.div_ceil(together)) as u64;
            tasks * (stripes + Frames::bytes(outliers, bins, together))
        };
        let tables = self.stages.stripes.as_ref().map_or(0, |stripes| stripes.table_bytes(views, bins));
        4 * self.len(slices) as u64 + tables + rows
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
        if !self.stages.on_frames() {
            return self.slices((context, job), Some(input), slices, prepared);
        }
        let found = self.views((context, job), input, slices.clone(), prepared)?;
        self.slices((context, job), None, slices, prepared)?;
        Ok(found)
    }

    /// Some slices after others: reads them, unless there are line integrals already, removes stripes, and widens rows.
    fn slices(
        &self,
        (context, job): (&Context, &Job),
        input: Option<&Reader>,
        slices: Range<usize>,
        prepared: &mut [f32],
    ) -> Result<u64> {
        let g = self.detector;
        if input.is_none() && self.stages.stripes.is_none() && self.rows.halves.is_none() {
            return Ok(0);
        }
        let together = if input.is_some() { self.together(slices.len()) } else { 1 };
        // Measured rows are at the beginning of what a slice has.
        let (size, measured) = (self.len(1), g.views() * g.bins);
        let (views, bins, stripes) = (g.views(), g.bins, self.stages.stripes.as_ref());
        let tables = stripes.map(|stripes| stripes.tables(views, bins, context.level())).transpose()?.flatten();
        let queue = Mutex::new(slices.clone().step_by(together).zip(prepared.chunks_mut(together * size)));
        // A task a thread, and no more, so that there is room for each.
        let tasks = (0..self.threads.min(slices.len().div_ceil(together))).into_par_iter().map(|_| {
            let outliers = self.stages.outliers.as_ref();
            let remover = stripes.map(|stripes| stripes.remover((views, bins), tables.as_ref(), self.rows.by_angle));
            let mut remover = remover.transpose()?;
            let shape = [g.views(), g.rows, g.bins];
            let frames = input.map(|input| Frames::new(input, outliers, shape, together, context.level()));
            let (mut frames, mut found) = (frames.transpose()?, 0);
            loop {
                let next = queue.lock().unwrap_or_else(|e| e.into_inner()).next();
                let Some((slice, sinograms)) = next else { return Ok(found) };
                job.check()?;
                let count = sinograms.len() / size;
                if let Some((input, frames)) = input.zip(frames.as_mut()) {
                    let top = g.first_row + slice;
                    frames.begin(top..top + count, 0);
                    for view in 0..g.views() {
                        frames.advance(view);
                        for (row, sinogram) in (top..).zip(sinograms.chunks_exact_mut(size)) {
                            let values = &mut sinogram[view * g.bins..][..g.bins];
                            found += frames.row(view, row, values);
                            let replaced = input.corrected(view, row, values)?;
                            input.count(replaced);
                        }
                    }
                }
                for sinogram in sinograms.chunks_exact_mut(size) {
                    job.check()?;
                    if let Some(remover) = &mut remover {
                        remover.correct(&mut sinogram[..measured], context.level())?;
                    }
                    if let Some(halves) = self.rows.halves {
                        halves.widen(matches!(self.rows.filter, Some((_, Padding::Edge))), sinogram);
                    }
                }
            }
        });
        tasks.try_reduce(|| 0, |a, b| Ok(a + b))
    }

    /// Some views after others: whole frames of these slices and their neighbours.
    fn views(
        &self,
        (context, job): (&Context, &Job),
        input: &Reader,
        slices: Range<usize>,
        prepared: &mut [f32],
    ) -> Result<u64> {
        let (g, level, correction) = (self.detector, context.level(), self.rows.correction);
        let own = g.first_row + slices.start..g.first_row + slices.end;
        let filter = |phase| PhaseFilter::new(phase, correction.minimum(), own.clone(), [g.rows, g.bins], level);
        let filter = self.stages.phase.as_ref().map(filter).transpose()?;
        let rows = filter.as_ref().map_or(own.clone(), PhaseFilter::rows);
        let blocks = g.views().div_ceil(self.block());
        let tasks = self.threads.min(blocks);
        let target = Shared::new(prepared);
        let found = (0..tasks).into_par_iter().map(|task| {
            let part = task * blocks / tasks..(task + 1) * blocks / tasks;
            let (from, of) = ((self.block() * part.start, self.block()), (rows.clone(), own.clone()));
            let mut transmissions = Transmissions::new(input, self.stages, g, of, from, level)?;
            let mut room = filter.as_ref().map(PhaseFilter::room).transpose()?;
            let mut line: Vec<f32> = zeros(if filter.is_none() { g.bins } else { 0 })?;
            for block in part {
                job.check()?;
                let first = self.block() * block;
                let views = first..(first + self.block()).min(g.views());
                let write = |k, row, values: &[f32]| {
                    let at = (row - own.start) * self.len(1) + (first + k) * g.bins;
                    // SAFETY: this task alone has these views.
                    unsafe { target.write(at, values) };
                };
                if let Some((filter, room)) = filter.as_ref().zip(room.as_mut()) {
                    filter.run(&mut transmissions, views, room, write)?;
                    continue;
                }
                let rows = own.clone().map(|row| (row, row));
                transmissions.each(views, rows, &mut line, |place, row, values| {
                    correction.finish(values, level);
                    write(place, row, values);
                })?;
            }
            let [outliers, replaced] = transmissions.counts();
            input.count(replaced as usize);
            Ok(outliers)
        });
        found.try_reduce(|| 0, |a, b| Ok(a + b))
    }
}

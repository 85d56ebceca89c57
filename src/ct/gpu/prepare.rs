//! The stages that see more than a row, on a GPU: from a slab's raw rows to line integrals, (slice, view, bin).

use super::format::RawRows;
use super::frames;
use super::half_acquisition::{self, DeviceHalves};
use super::state::{Scratch, State};
use super::{stripes, stripes_vo};
use crate::ct::geometry::Geometry;
use crate::ct::rows::Stages;
use crate::ct::rows::flat_field::FlatField;
use crate::ct::rows::stripes::Stripes;
use crate::ct::task::Task;
use crate::error::Result;
use crate::gpu::{Device, Stream};
use std::sync::Arc;

/// The lists of stages are made for some slices at a time, so that they take no more than this where there is a choice.
const BATCH: u64 = 2 << 30;

fn list_bytes(stages: &Stages, g: &Geometry) -> u64 {
    match stages.stripes.as_ref().map(|stripes| stripes.of(g.bins)) {
        None => 0,
        Some(Stripes::Significant | Stripes::Regularised(_)) => stripes::bytes(g.views(), g.bins, 1),
        Some(Stripes::Vo(vo)) => stripes_vo::bytes(g.views(), g.bins, vo.large.max(vo.small), 1),
        Some(Stripes::Sorting(window)) => stripes_vo::bytes(g.views(), g.bins, window, 1),
    }
}

/// Slices whose lists are there together.
fn batch(stages: &Stages, g: &Geometry, slices: usize) -> usize {
    ((BATCH / list_bytes(stages, g).max(1)) as usize).clamp(1, slices)
}

fn integral_bytes(g: &Geometry, slices: usize) -> u64 {
    4 * (slices * g.views() * g.bins) as u64
}

/// What slabs of so many slices take.
pub(super) fn bytes(task: &Task, slices: usize) -> u64 {
    buffer_bytes(task, slices).iter().sum()
}

/// Stages that line integrals are made for, beside half acquisition.
fn needed<'a>(task: &Task<'a>) -> Option<&'a Stages> {
    let varies = || task.rows.correction.flat().is_some_and(FlatField::varies);
    task.rows.stages.filter(|stages| stages.any().is_some() || varies())
}

/// Of line integrals, lists and widened rows.
fn buffer_bytes(task: &Task, slices: usize) -> [u64; 3] {
    let g = task.detector;
    let [integrals, lists] = match needed(task) {
        Some(stages) => [integral_bytes(g, slices), batch(stages, g, slices) as u64 * list_bytes(stages, g)],
        None => [0; 2],
    };
    [integrals, lists, task.rows.halves.map_or(0, |halves| half_acquisition::bytes(halves, slices))]
}

/// Memory for so many slices, ahead of the work.
pub(super) fn reserve(device: &Arc<Device>, task: &Task, slices: usize, scratch: &mut Scratch) -> Result<()> {
    let Scratch { integrals, lists, widened, .. } = scratch;
    for (slot, bytes) in [integrals, lists, widened].into_iter().zip(buffer_bytes(task, slices)) {
        if bytes > 0 {
            slot.take(device, bytes as usize)?;
        }
    }
    Ok(())
}

/// Has the stages work on a slab, whose line integrals are made first; gives what comes of it as rows.
pub(super) fn run(
    state: &State,
    task: &Task,
    halves: Option<&DeviceHalves>,
    slab: &frames::Slab,
    scratch: &Scratch,
    stream: &Stream,
) -> Result<RawRows> {
    let raw = match needed(task) {
        Some(stages) => staged(state, stages, slab, scratch, stream)?,
        None => slab.raw,
    };
    match halves {
        Some(halves) => halves.run(state, raw, scratch.widened.address(), stream),
        None => Ok(raw),
    }
}

/// Line integrals as the stages leave them.
fn staged(state: &State, stages: &Stages, slab: &frames::Slab, scratch: &Scratch, stream: &Stream) -> Result<RawRows> {
    let (integrals, lists) = (scratch.integrals.address(), scratch.lists.address());
    let (g, raw) = (slab.geometry, slab.raw);
    let (views, bins, slices) = (g.views(), g.bins, raw.slices as usize);
    frames::integrals(state, slab, stages.outliers.as_ref(), integrals, stream)?;
    let kernels = state.kernels.stripes(&state.device)?;
    let batch = batch(stages, g, slices);
    let removal = stages.stripes.as_ref().map(|stripes| stripes.of(bins));
    for first in (0..slices).step_by(batch) {
        let sinograms = integrals + integral_bytes(g, first);
        let part = stripes::Sinograms { address: sinograms, views, bins, slices: batch.min(slices - first) };
        match &removal {
            None => {}
            Some(Stripes::Significant) => stripes::correct(kernels, &part, lists, stream)?,
            Some(Stripes::Regularised(alpha)) => stripes::regularise(kernels, *alpha, &part, lists, stream)?,
            Some(Stripes::Vo(vo)) => stripes_vo::all(state, vo, &part, lists, stream)?,
            Some(Stripes::Sorting(window)) => stripes_vo::sorting(state, *window, &part, lists, stream)?,
        }
    }
    Ok(raw.replaced(integrals, bins))
}

//! The stages that see more than a row, on a GPU: from a slab's raw rows to line integrals, (slice, view, bin).

use super::distortion;
use super::format::RawRows;
use super::frames;
use super::half_acquisition;
use super::phase::{self, DevicePhase};
use super::state::{Scratch, State};
use super::stripes_wavelet::DeviceTables;
use super::tables::Tables;
use super::{stripes, stripes_vo, stripes_wavelet};
use crate::geometry::Geometry;
use crate::rows::Stages;
use crate::rows::flat_field::FlatField;
use crate::rows::stripes::{ByAngle, Stripes};
use crate::slab::rows_of;
use crate::task::Task;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Stream};
use std::sync::Arc;

/// The lists of stages are made for some slices at a time, so that they take no more than this where there is a choice.
const BATCH: u64 = 2 << 30;

fn list_bytes(stages: &Stages, g: &Geometry) -> u64 {
    match stages.stripes.as_ref().map(|stripes| stripes.of(g.bins)) {
        None => 0,
        Some(Stripes::Significant | Stripes::Regularised(_)) => stripes::bytes(g.views(), g.bins, 1),
        Some(Stripes::Vo(vo)) => stripes_vo::bytes(g.views(), g.bins, vo.large.max(vo.small), 1),
        Some(Stripes::Sorting(window)) => stripes_vo::bytes(g.views(), g.bins, window, 1),
        Some(Stripes::Wavelet(wavelet)) => stripes_wavelet::bytes(&wavelet, [g.views(), g.bins], 1),
    }
}

fn table_bytes(stages: &Stages, g: &Geometry) -> u64 {
    match &stages.stripes {
        Some(Stripes::Wavelet(wavelet)) => stripes_wavelet::table_bytes(wavelet, [g.views(), g.bins]),
        _ => 0,
    }
}

/// Makes the tables of stages that have some, unless they are there from an earlier call.
pub(super) fn tables(state: &mut State, stages: &Stages, g: &Geometry, level: Level) -> Result<()> {
    let Some(Stripes::Wavelet(wavelet)) = &stages.stripes else { return Ok(()) };
    let size = [g.views(), g.bins];
    if state.wavelet.as_ref().is_none_or(|tables| !tables.serve(wavelet, size)) {
        state.wavelet = None;
        state.wavelet = Some(DeviceTables::new(&state.device, wavelet, size, level)?);
    }
    Ok(())
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
    let phase = needed(task).and_then(|stages| stages.phase.as_ref());
    let grids = phase.map_or(0, |phase| phase::grid_bytes(phase, task.detector, slices));
    let tables = needed(task).map_or(0, |stages| table_bytes(stages, task.detector));
    let order = task.rows.by_angle.map_or(0, ByAngle::bytes);
    buffer_bytes(task, slices).iter().sum::<u64>() + grids + tables + order
}

/// Stages that line integrals are made for, beside half acquisition.
fn needed<'a>(task: &Task<'a>) -> Option<&'a Stages> {
    let varies = || task.rows.correction.flat().is_some_and(FlatField::varies);
    task.rows.stages.filter(|stages| stages.any().is_some() || varies())
}

/// Of transmissions as measured and without distortion, line integrals, lists and widened rows.
fn buffer_bytes(task: &Task, slices: usize) -> [u64; 5] {
    let g = task.detector;
    let widened = task.rows.halves.map_or(0, |halves| half_acquisition::bytes(halves, slices));
    let Some(stages) = needed(task) else { return [0, 0, 0, 0, widened] };
    let of = |reach: usize| 4 * (rows_of(g, slices, reach) * g.views() * g.bins) as u64;
    let frames = if stages.on_frames() { of(stages.measured_reach(g)) } else { 0 };
    let both = stages.distortion.is_some() && stages.phase.is_some();
    let undistorted = if both { of(stages.phase_reach()) } else { 0 };
    let lists = batch(stages, g, slices) as u64 * list_bytes(stages, g);
    [frames, undistorted, integral_bytes(g, slices), lists, widened]
}

/// Memory for so many slices, ahead of the work.
pub(super) fn reserve(
    device: &Arc<Device>,
    task: &Task,
    filter: Option<&DevicePhase>,
    slices: usize,
    scratch: &mut Scratch,
) -> Result<()> {
    let Scratch { frames, undistorted, grids, integrals, lists, widened, .. } = scratch;
    for (slot, bytes) in [frames, undistorted, integrals, lists, widened].into_iter().zip(buffer_bytes(task, slices)) {
        if bytes > 0 {
            slot.take(device, bytes as usize)?;
        }
    }
    if let Some(filter) = filter {
        // Those of the largest slab.
        grids.take(device, filter.grid_bytes() as usize)?;
    }
    Ok(())
}

/// Has the stages work on a slab, whose line integrals are made first; gives what comes of it as rows.
pub(super) fn run(
    state: &State,
    task: &Task,
    tables: &Tables,
    slab: frames::Slab,
    scratch: &Scratch,
    stream: &Stream,
) -> Result<RawRows> {
    let raw = match needed(task) {
        Some(stages) => staged(state, (stages, tables), slab, scratch, stream)?,
        None => slab.raw,
    };
    match &tables.halves {
        Some(halves) => halves.run(state, raw, scratch.widened.address(), stream),
        None => Ok(raw),
    }
}

/// Line integrals as the stages leave them.
fn staged(
    state: &State,
    (stages, tables): (&Stages, &Tables),
    slab: frames::Slab,
    scratch: &Scratch,
    stream: &Stream,
) -> Result<RawRows> {
    let (integrals, lists) = (scratch.integrals.address(), scratch.lists.address());
    let (g, raw) = (slab.geometry, slab.raw);
    let (views, bins, slices) = (g.views(), g.bins, raw.slices as usize);
    let outliers = stages.outliers.as_ref();
    if stages.on_frames() {
        // As far as the stages on frames reach; what is left beside is for the outliers.
        let own = slab.top - g.first_row..slab.top - g.first_row + slices;
        let [measured, wanted] =
            [stages.measured_reach(g), stages.phase_reach()].map(|reach| g.rows_around(&own, reach));
        let frames = scratch.frames.address();
        let beside = [slab.top - measured.start, measured.end - slab.top - slices];
        let wide = frames::Slab { transmissions: true, ..slab.widened(beside) };
        frames::run(state.kernels.frames(&state.device)?, &wide, outliers, frames, stream)?;
        let phase = stages.phase.as_ref().zip(tables.phase.as_ref());
        let undistorted = match stages.distortion.as_ref().zip(tables.distortion.as_ref()) {
            None => frames,
            Some((distortion, on_device)) => {
                let (to, minimum) = match phase {
                    Some(_) => (scratch.undistorted.address(), None),
                    None => (integrals, raw.corrects().then_some(raw.minimum)),
                };
                let frames =
                    distortion::Frames { measured: frames, there: measured, to, wanted: wanted.clone(), minimum };
                on_device.run(state, distortion, g, &frames, stream)?;
                to
            }
        };
        if let Some((phase, filter)) = phase {
            let slab = phase::Slab {
                frames: undistorted,
                rows: wanted.len(),
                above: slab.top - wanted.start,
                slices,
                grids: scratch.grids.address(),
                sinograms: integrals,
                minimum: raw.minimum,
            };
            let kernels = state.kernels.phase(&state.device)?;
            filter.run((&state.device, kernels), phase, g, &slab, stream)?;
        }
    } else {
        frames::run(state.kernels.frames(&state.device)?, &slab, outliers, integrals, stream)?;
    }
    let kernels = state.kernels.stripes(&state.device)?;
    let batch = batch(stages, g, slices);
    let removal = stages.stripes.as_ref().map(|stripes| stripes.of(bins));
    for first in (0..slices).step_by(batch) {
        let sinograms = integrals + integral_bytes(g, first);
        let part = stripes::Sinograms { address: sinograms, views, bins, slices: batch.min(slices - first) };
        if let Some(order) = &tables.by_angle {
            order.there(kernels, &part, stream)?;
        }
        match &removal {
            None => {}
            Some(Stripes::Significant) => stripes::correct(kernels, &part, lists, stream)?,
            Some(Stripes::Regularised(alpha)) => stripes::regularise(kernels, *alpha, &part, lists, stream)?,
            Some(Stripes::Vo(vo)) => {
                stripes_vo::all((state.kernels.vo(&state.device)?, kernels), vo, &part, lists, stream)?
            }
            Some(Stripes::Sorting(window)) => {
                stripes_vo::sorting(state.kernels.vo(&state.device)?, *window, &part, lists, stream)?;
            }
            Some(Stripes::Wavelet(_)) => {
                let Some(tables) = &state.wavelet else { fail!(Internal, "a method without its tables") };
                stripes_wavelet::correct(state.kernels.wavelet(&state.device)?, tables, &part, lists, stream)?;
            }
        }
        if let Some(order) = &tables.by_angle {
            order.back(kernels, &part, stream)?;
        }
    }
    Ok(raw.replaced(integrals, bins))
}

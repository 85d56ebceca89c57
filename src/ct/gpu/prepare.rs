//! The stages that see more than a row, on a GPU: from a slab's raw rows to line integrals, (slice, view, bin).

use super::format::RawRows;
use super::state::{Scratch, State};
use super::stripes_wavelet::DeviceTables;
use super::{stripes, stripes_vo, stripes_wavelet};
use crate::cpu::level::Level;
use crate::ct::geometry::Geometry;
use crate::ct::rows::Stages;
use crate::ct::rows::stripes::Stripes;
use crate::error::{Result, fail};
use crate::gpu::{Device, Launch, Stream, mirrored};
use std::sync::Arc;

/// Mirrors `Integrals` in `kernels/ct/stripes.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Integrals {
    raw: RawRows,
    sinograms: u64,
}
mirrored!(Integrals, 80);

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
pub(super) fn bytes(stages: &Stages, g: &Geometry, slices: usize) -> u64 {
    integral_bytes(g, slices) + batch(stages, g, slices) as u64 * list_bytes(stages, g) + table_bytes(stages, g)
}

/// Memory for so many slices, ahead of the work.
pub(super) fn reserve(
    device: &Arc<Device>,
    stages: &Stages,
    g: &Geometry,
    slices: usize,
    scratch: &mut Scratch,
) -> Result<()> {
    scratch.integrals.take(device, integral_bytes(g, slices) as usize)?;
    let lists = batch(stages, g, slices) as u64 * list_bytes(stages, g);
    scratch.lists.take(device, lists as usize).map(drop)
}

/// Makes line integrals of raw rows, and has the stages work on them; gives them as rows.
pub(super) fn run(
    state: &State,
    stages: &Stages,
    g: &Geometry,
    raw: RawRows,
    scratch: &Scratch,
    stream: &Stream,
) -> Result<RawRows> {
    let (integrals, lists) = (scratch.integrals.address(), scratch.lists.address());
    let (views, bins, slices) = (g.views(), g.bins, raw.slices as usize);
    let kernels = state.kernels.stripes(&state.device)?;
    let grid = [bins.div_ceil(256), views.min(65535), slices];
    let arguments = Integrals { raw, sinograms: integrals };
    // SAFETY: Integrals mirrors the kernel's struct; the buffers live until the stream is waited for.
    unsafe { kernels.integrals.launch(stream, Launch { grid, block: [256, 1, 1], shared: 0 }, &arguments)? };
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
            Some(Stripes::Wavelet(_)) => {
                let Some(tables) = &state.wavelet else { fail!(Internal, "a method without its tables") };
                stripes_wavelet::correct(state.kernels.wavelet(&state.device)?, tables, &part, lists, stream)?;
            }
        }
    }
    Ok(RawRows {
        data: integrals,
        view_stride: bins as i64,
        slice_stride: (views * bins) as i64,
        bin_stride: 1,
        dark: 0,
        gain: 0,
        minimum: 1.0,
        kind: 0,
        transmission: 0,
        ..raw
    })
}

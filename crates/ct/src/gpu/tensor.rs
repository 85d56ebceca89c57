//! Launches `kernels/ct/tensor.cu`.

use super::case::{Arguments, Case, widest};

use super::state::State;
use crate::options::Sampling;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Launch, Stream, TensorMap, mirrored};

const TILE: [usize; 2] = [32, 24];
const THREADS: usize = 384;
/// Planes of 8 slices that a block holds, and views of a stage.
const PLANES: usize = 8;
const VIEWS: usize = 8;
const MAX_STAGES: usize = 8;
/// Bins of a window that kernels were made for.
const WINDOWS: [usize; 2] = [42, 58];
/// Shared memory besides stages.
const SPARE: usize = 4096;

/// Mirrors `TensorBackproject`.
#[repr(C)]
#[derive(Clone, Copy)]
struct TensorArguments {
    b: Arguments,
    stages: i32,
    planes: i32,
    map: TensorMap,
}
mirrored!(TensorArguments, 256);

/// The smallest window that serves the case.
fn window(case: &Case) -> Option<usize> {
    let oversampling = if case.sampling == Sampling::Oversampled { 4 } else { 1 };
    // 16 pixels of a square: floor(h + span) + 2 bins, at most 8.
    if widest(case.geometry, oversampling, 3, 3) >= 6.0 - 1e-6 {
        return None;
    }
    let span = widest(case.geometry, oversampling, TILE[0] - 1, TILE[1] - 1);
    WINDOWS.into_iter().find(|&w| span + 2.0 <= w as f64)
}

fn stages(window: usize, shared: usize) -> usize {
    (shared.saturating_sub(SPARE) / (VIEWS * PLANES * window * 16)).min(MAX_STAGES)
}

pub(super) fn refusal(case: &Case) -> Option<String> {
    let Some(window) = window(case) else {
        let ratio = case.geometry.ratio();
        return Some(format!(
            "pixels are {ratio:.3} bins wide; tensor kernels take at most 1.41 (0.35 if oversampled)"
        ));
    };
    (stages(window, case.shared) < 2).then(|| "the GPU has too little shared memory for tensor kernels".to_string())
}

pub(super) fn launch(state: &mut State, case: &Case, split: bool, b: Arguments, stream: &Stream) -> Result<()> {
    let window = window(case).unwrap_or(WINDOWS[1]);
    let stages = stages(window, case.shared);
    let parts = if split { 2 } else { 1 };
    let planes = (b.slices as usize).div_ceil(8) * parts;
    let map = if state.device.capability().0 >= 9 {
        TensorMap::new(b.data, [2 * b.pitch as usize, b.views as usize, planes], [2 * window, 1, PLANES])?
    } else {
        TensorMap::NONE
    };
    let linear = case.sampling == Sampling::Linear;
    let name = || {
        let precision = if split { "split" } else { "half" };
        let sampling = if linear { "linear" } else { "nearest" };
        format!("ct_tensor_{precision}_{sampling}_{window}")
    };
    let variant = (&crate::images::TENSOR, [usize::from(split), usize::from(linear), window, 0]);
    let function = state.kernels.projector(&state.device, variant, name)?;
    let arguments = TensorArguments { b, stages: stages as i32, planes: planes as i32, map };
    let grid = [(b.nx as usize).div_ceil(TILE[0]), (b.ny as usize).div_ceil(TILE[1]), planes.div_ceil(PLANES)];
    let shared = stages * VIEWS * PLANES * window * 16 + 8 * 16;
    // SAFETY: TensorArguments mirrors the kernel's struct; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, Launch { grid, block: [THREADS, 1, 1], shared }, &arguments) }
}

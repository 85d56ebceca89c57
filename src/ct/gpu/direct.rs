//! Launches `kernels/ct/direct.cu`.

use super::projector::{Arguments, Case};
use super::state::State;
use crate::ct::options::Interpolation;
use crate::error::Result;
use crate::gpu::{Launch, Stream};

pub(super) fn launch(state: &State, case: &Case, lanes: usize, b: Arguments, stream: &Stream) -> Result<()> {
    let interpolation = if case.interpolation == Interpolation::Linear { "linear" } else { "nearest" };
    let function = state.device.function("ct/direct", &format!("ct_direct_{interpolation}_{lanes}"))?;
    let grid = [(b.nx as usize).div_ceil(32) * (b.ny as usize).div_ceil(8), (b.slices as usize).div_ceil(lanes), 1];
    // SAFETY: the kernel takes what `Arguments` mirrors; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, Launch { grid, block: [32, 8, 1], shared: 0 }, &b) }
}

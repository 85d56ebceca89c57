//! Launches `kernels/ct/direct.cu`.

use super::case::{Arguments, Case};

use super::state::State;
use crate::options::Sampling;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Launch, Stream};

pub(super) fn launch(state: &mut State, case: &Case, lanes: usize, b: Arguments, stream: &Stream) -> Result<()> {
    let linear = case.sampling == Sampling::Linear;
    let name = || format!("ct_direct_{}_{lanes}", if linear { "linear" } else { "nearest" });
    let variant = (&crate::images::DIRECT, [usize::from(linear), lanes, 0, 0]);
    let function = state.kernels.projector(&state.device, variant, name)?;
    let grid = [(b.nx as usize).div_ceil(32) * (b.ny as usize).div_ceil(8), (b.slices as usize).div_ceil(lanes), 1];
    // SAFETY: the kernel takes what `Arguments` mirrors; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, Launch { grid, block: [32, 8, 1], shared: 0 }, &b) }
}

//! Finished slices that are counted on the host, for percentiles.

use crate::output::survey::Survey;
use isocenter_base::context::Context;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Pinned, Rows, Stream};
use std::sync::Arc;

/// Brings contiguous slices, (slices, ny, nx), down one after the other, and counts their values when all that is in the stream has been
/// done. `kept` holds a slice, from call to call.
///
/// # Safety
/// The slices are memory of this GPU, which is current.
pub(super) unsafe fn count(
    (context, device): (&Context, &Arc<Device>),
    survey: &Survey,
    (address, [slices, ny, nx]): (u64, [usize; 3]),
    stream: &Stream,
    kept: &mut Option<Pinned>,
) -> Result<()> {
    let bytes = ny * nx * size_of::<f32>();
    if kept.as_ref().is_none_or(|memory| memory.bytes() < bytes) {
        *kept = None;
    }
    let memory = match kept {
        Some(memory) => memory,
        None => kept.insert(Pinned::new(device, bytes)?),
    };
    for slice in 0..slices {
        let from = Rows::one(address + (slice * bytes) as u64, bytes);
        // SAFETY: by this function's contract; the memory holds a slice.
        unsafe { from.download(memory.data().addr() as u64, bytes, stream)? };
        stream.synchronize()?;
        // SAFETY: as many floats, which nothing writes any more; page-locked memory begins with a page.
        let values = unsafe { std::slice::from_raw_parts(memory.data().cast::<f32>(), ny * nx) };
        context.install(|| values.par_chunks(nx).enumerate().for_each(|(y, row)| survey.add(y, 0, row)));
    }
    Ok(())
}

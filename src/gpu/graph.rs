//! Work that is put into a stream all at once, as often as wanted.

use super::device::Device;
use super::driver::check;
use super::stream::Stream;
use crate::error::Result;
use cudarc::driver::sys::{self, CUstreamCaptureMode};
use std::sync::Arc;

/// Launches recorded once, with the addresses that they had then.
#[derive(Debug)]
pub(crate) struct Graph {
    raw: sys::CUgraphExec,
    device: Arc<Device>,
}

// SAFETY: driver handles may be used from any thread.
unsafe impl Send for Graph {}
// SAFETY: shared access only launches, which the driver serialises by stream.
unsafe impl Sync for Graph {}

impl Graph {
    /// Records what `work` puts into the stream, which runs nothing of it. The GPU is current.
    pub(crate) fn record(device: &Arc<Device>, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        // SAFETY: a live stream. Other threads' calls, and this one's on other streams, stay as they are.
        check("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(stream.raw(), CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
        })?;
        let done = work();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is recording; a local.
        let ended = check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(stream.raw(), &mut graph) });
        let mut raw = std::ptr::null_mut();
        let made = done.and(ended).and_then(|()| {
            // SAFETY: a whole graph and a local.
            check("cuGraphInstantiate", unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, graph, 0) })
        });
        if !graph.is_null() {
            // SAFETY: made above; what was instantiated is a copy.
            unsafe { sys::cuGraphDestroy(graph) };
        }
        made.map(|()| Self { raw, device: device.clone() })
    }

    /// Puts all of it into a stream.
    ///
    /// # Safety
    /// All that its launches point to is valid until the stream has passed it; the GPU is current.
    pub(crate) unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.raw, stream.raw()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: made in `record`; launches that are under way go on.
            unsafe { sys::cuGraphExecDestroy(self.raw) };
        }
    }
}

//! Work that is put into a stream all at once, as often as wanted.

use super::device::Device;
use super::driver::check;
use super::stream::Stream;
use crate::error::Result;
use cudarc::driver::sys::{self, CUstreamCaptureMode};
use std::sync::Arc;

/// Launches recorded once, with the addresses that they had then.
#[derive(Debug)]
pub struct Graph {
    raw: sys::CUgraphExec,
    device: Arc<Device>,
}

// SAFETY: driver handles may be used from any thread.
unsafe impl Send for Graph {}
// SAFETY: shared access only launches, which the driver serialises by stream.
unsafe impl Sync for Graph {}

impl Graph {
    /// Records what `work` puts into the stream, which runs nothing of it. The GPU is current.
    pub fn record(device: &Arc<Device>, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<Self> {
        // SAFETY: a live stream. Other threads' calls, and this one's on other streams, stay as they are.
        check("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(stream.raw(), CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
        })?;
        let mut recording = Recording { stream, graph: std::ptr::null_mut(), ended: false };
        work()?;
        recording.end()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: a whole graph, of which this makes a copy, and a local.
        check("cuGraphInstantiate", unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, recording.graph, 0) })?;
        Ok(Self { raw, device: device.clone() })
    }

    /// Puts all of it into a stream.
    ///
    /// # Safety
    /// All that its launches point to is valid until the stream has passed it; the GPU is current.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: by this function's contract.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.raw, stream.raw()) })
    }
}

/// A stream that records; it ends with this, after an error or a panic too, since a stream that goes on recording runs nothing.
struct Recording<'a> {
    stream: &'a Stream,
    /// What was recorded, once it has ended.
    graph: sys::CUgraph,
    ended: bool,
}

impl Recording<'_> {
    fn end(&mut self) -> Result<()> {
        self.ended = true;
        // SAFETY: the stream is recording; a field to write to.
        check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(self.stream.raw(), &mut self.graph) })
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // What was recorded so far is not wanted, nor is the reason why it is not whole.
            let _ = self.end();
        }
        if !self.graph.is_null() {
            // SAFETY: from the driver, destroyed once.
            unsafe { sys::cuGraphDestroy(self.graph) };
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::testing::gpu;
    use crate::gpu::{DeviceMemory, Event};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_stream_is_as_before_when_recording_fails() {
        let Some(device) = gpu() else { return };
        let (stream, memory) = (Stream::new(&device).expect("stream"), DeviceMemory::new(&device, 64).expect("memory"));
        let _current = device.enter().expect("the GPU");
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            Graph::record(&device, &stream, || {
                memory.fill(1.0, &stream)?;
                panic!("a fault of the library's own")
            })
            .map(drop)
        }));
        std::panic::set_hook(hook);
        assert!(panicked.is_err());
        let failed = Graph::record(&device, &stream, || crate::error::fail!(Internal, "an error"));
        assert_eq!(failed.err().map(|e| e.message).as_deref(), Some("an error"));
        // A stream that records cannot be waited for.
        memory.fill(2.0, &stream).expect("work");
        let mark = Event::new(&device).expect("event");
        mark.record(&stream).expect("mark");
        mark.synchronize().expect("wait");
        assert_eq!(device.read::<f32>(memory.address()).expect("a value"), 2.0);
    }
}

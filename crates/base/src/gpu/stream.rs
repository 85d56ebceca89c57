//! Streams and events.

use super::device::Device;
use super::driver::check;
use crate::error::Result;
use cudarc::driver::sys::{self, CUevent_flags, CUstream_flags};
use std::sync::Arc;

/// An ordered queue of work on one GPU.
#[derive(Debug)]
pub struct Stream {
    raw: sys::CUstream,
    /// None for a caller's stream, which is only borrowed.
    owner: Option<Arc<Device>>,
}

// SAFETY: driver handles may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream of its own, not ordered with the process's default stream.
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        let _current = device.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: a context is current; a local.
        check("cuStreamCreate", unsafe {
            sys::cuStreamCreate(&mut raw, CUstream_flags::CU_STREAM_NON_BLOCKING as u32)
        })?;
        Ok(Self { raw, owner: Some(device.clone()) })
    }

    /// The caller's stream; 0 is the default stream.
    pub fn borrowed(raw: usize) -> Self {
        Self { raw: raw as sys::CUstream, owner: None }
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// Waits until all of its work is done; errors of that work appear here.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: a live stream.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.raw) })
    }

    /// Work put here from now on waits for the event.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: both are live.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.raw, event.raw, 0) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(Ok(_current)) = self.owner.as_ref().map(|d| d.enter()) {
            // Memory that its work uses is freed by others: nothing may be left running.
            let _ = self.synchronize();
            // SAFETY: made in `new`, used no more.
            unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

/// A mark in a stream.
#[derive(Debug)]
pub struct Event {
    raw: sys::CUevent,
    device: Arc<Device>,
}

// SAFETY: driver handles may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// For order only.
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Self::with(device, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32)
    }

    /// For measuring time too.
    pub fn timed(device: &Arc<Device>) -> Result<Self> {
        Self::with(device, CUevent_flags::CU_EVENT_DEFAULT as u32)
    }

    fn with(device: &Arc<Device>, flags: u32) -> Result<Self> {
        let _current = device.enter()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: a context is current; a local.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&mut raw, flags) })?;
        Ok(Self { raw, device: device.clone() })
    }

    /// Marks all work that is in the stream now.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both are live.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.raw, stream.raw()) })
    }

    /// Waits until the marked work is done; at once where nothing was marked.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: a live event.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }

    /// Seconds from this mark to a later one; both are reached.
    pub fn seconds_to(&self, later: &Event) -> Result<f64> {
        let mut ms = 0.0;
        // SAFETY: live events and a local.
        check("cuEventElapsedTime", unsafe { sys::cuEventElapsedTime_v2(&mut ms, self.raw, later.raw) })?;
        Ok(f64::from(ms) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: made in `with`, used no more.
            unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}

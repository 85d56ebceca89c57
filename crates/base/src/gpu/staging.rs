//! Pinned staging between ordinary host memory and a GPU: the host works on one part of a copy while others are under way.

use super::device::Device;
use super::memory::{Pinned, Rows};
use super::stream::{Event, Stream};
use crate::cpu::buffer::Plain;
use crate::error::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pinned chunks, which take turns.
const CHUNKS: usize = 3;
/// Bytes of a chunk: large enough that copies run at full speed.
const LARGEST: usize = 16 << 20;
/// Smaller copies have smaller chunks, down to this, so that there are about so many parts to overlap, and little is pinned.
const SMALLEST: usize = 1 << 20;
const PARTS: usize = 4;

/// Contiguous elements in a GPU's memory.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub address: u64,
    pub count: usize,
    /// So many elements from a multiple of so many on stay together; `count` is a multiple too.
    pub unit: usize,
}

impl Span {
    /// Elements that need not stay together.
    pub fn new(address: u64, count: usize) -> Self {
        Self { address, count, unit: 1 }
    }
}

/// How a copy is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Elements of all, and of each part but the last.
    count: usize,
    step: usize,
    /// Bytes of a chunk.
    chunk: usize,
}

impl Cut {
    fn new<V>(span: &Span) -> Self {
        let (unit, bytes) = (span.unit * size_of::<V>(), span.count * size_of::<V>());
        let chunk = (bytes / PARTS).next_power_of_two().clamp(SMALLEST, LARGEST);
        Self { count: span.count, step: (chunk / unit).max(1) * span.unit, chunk: chunk.max(unit) }
    }

    fn parts(&self) -> usize {
        self.count.div_ceil(self.step)
    }

    /// First element and number of elements.
    fn part(&self, k: usize) -> (usize, usize) {
        let first = k * self.step;
        (first, self.step.min(self.count - first))
    }
}

/// Pinned memory, and the mark of its last copy.
#[derive(Debug)]
struct Chunk {
    memory: Pinned,
    copied: Event,
}

impl Chunk {
    fn address(&self) -> u64 {
        self.memory.data().addr() as u64
    }

    /// # Safety
    /// No copy from or to the chunk is under way.
    unsafe fn values<V: Plain>(&mut self, count: usize) -> &mut [V] {
        assert!(count * size_of::<V>() <= self.memory.bytes());
        // SAFETY: as many bytes of page-locked memory, which begins with a page, ours alone; all bit patterns are values.
        unsafe { std::slice::from_raw_parts_mut(self.memory.data().cast(), count) }
    }
}

/// Chunks, each made when it is first needed.
#[derive(Debug, Default)]
struct Ring {
    chunks: [Option<Chunk>; CHUNKS],
    turn: usize,
}

impl Ring {
    /// The turn of the first of so many parts.
    fn advance(&mut self, parts: usize) -> usize {
        let first = self.turn;
        self.turn = (first + parts) % CHUNKS;
        first
    }

    /// A chunk of at least so many bytes that no copy uses any more.
    fn idle(&mut self, device: &Arc<Device>, turn: usize, bytes: usize) -> Result<&mut Chunk> {
        let chunk = &mut self.chunks[turn % CHUNKS];
        if let Some(chunk) = chunk {
            chunk.copied.synchronize()?;
        }
        if chunk.as_ref().is_none_or(|c| c.memory.bytes() < bytes) {
            *chunk = None;
            *chunk = Some(Chunk { memory: Pinned::new(device, bytes)?, copied: Event::new(device)? });
        }
        Ok(chunk.as_mut().unwrap_or_else(|| unreachable!("just made")))
    }
}

/// The chunks of one stream's copies. They are to outlive what is under way in it: whoever owns both waits for the stream.
#[derive(Debug)]
pub struct Staging {
    device: Arc<Device>,
    ring: Mutex<Ring>,
}

impl Staging {
    pub fn new(device: &Arc<Device>) -> Self {
        Self { device: device.clone(), ring: Mutex::default() }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings elements to the GPU, in the stream's order: `fill` writes those from a number on, part after part. It is done when this
    /// returns, copies may be under way.
    ///
    /// # Safety
    /// The span is memory of this GPU, which is current, until the stream has passed the copy.
    pub unsafe fn upload<V: Plain>(
        &self,
        stream: &Stream,
        to: Span,
        mut fill: impl FnMut(usize, &mut [V]) -> Result<()>,
    ) -> Result<()> {
        let cut = Cut::new::<V>(&to);
        let mut ring = self.ring();
        let turn = ring.advance(cut.parts());
        for k in 0..cut.parts() {
            let (first, count) = cut.part(k);
            let chunk = ring.idle(&self.device, turn + k, cut.chunk)?;
            // SAFETY: it is idle.
            fill(first, unsafe { chunk.values(count) })?;
            let rows = Rows::one(chunk.address(), count * size_of::<V>());
            // SAFETY: this part of the span; the chunk is not touched before its mark is reached.
            unsafe { rows.upload(to.address + (first * size_of::<V>()) as u64, rows.bytes, stream)? };
            chunk.copied.record(stream)?;
        }
        Ok(())
    }

    /// Brings elements from the GPU, once all work before is done: `drain` takes those from a number on, part after part, and may
    /// change its copy. All of it is done when this returns.
    ///
    /// # Safety
    /// As for `upload`.
    pub unsafe fn download<V: Plain>(
        &self,
        stream: &Stream,
        from: Span,
        mut drain: impl FnMut(usize, &mut [V]) -> Result<()>,
    ) -> Result<()> {
        let cut = Cut::new::<V>(&from);
        let mut ring = self.ring();
        let (parts, turn) = (cut.parts(), ring.advance(cut.parts()));
        // Parts that are under way at a time.
        let ahead = parts.min(CHUNKS);
        for k in 0..parts + ahead {
            if let Some(arrived) = k.checked_sub(ahead) {
                let (first, count) = cut.part(arrived);
                let chunk = ring.idle(&self.device, turn + arrived, cut.chunk)?;
                // SAFETY: it is idle.
                drain(first, unsafe { chunk.values(count) })?;
            }
            if k < parts {
                let (first, count) = cut.part(k);
                let chunk = ring.idle(&self.device, turn + k, cut.chunk)?;
                let bytes = count * size_of::<V>();
                let rows = Rows::one(from.address + (first * size_of::<V>()) as u64, bytes);
                // SAFETY: as in `upload`.
                unsafe { rows.download(chunk.address(), bytes, stream)? };
                chunk.copied.record(stream)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "staging_tests.rs"]
mod tests;

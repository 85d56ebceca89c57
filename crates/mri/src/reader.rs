//! The samples of a stream: parts that the calling thread has a callback bring, each ahead of its use.

use super::engine::{Engine, Vector};
use super::frames::Frames;
use isocenter_base::array::{Array, DType, contiguous};
use isocenter_base::context::{Context, Desk, HostMemory, NanPolicy};
use isocenter_base::error::{Result, fail};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Samples of all coils, `[coil][sample]`, that a callback is to bring into contiguous memory.
#[derive(Clone, Copy, Debug)]
pub struct Portion {
    /// The first of them, in the trajectory's order.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Coils.
    pub coils: usize,
    /// Where the first belongs.
    pub data: *mut u8,
    /// Their type.
    pub dtype: DType,
}

/// Buffers at most: one is filled, one is computed with.
const BUFFERS: usize = 2;

/// What parts are read into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    count: usize,
    bytes: usize,
}

impl Buffers {
    /// For the longest part. `held`: bytes of those that there are.
    pub(super) fn new(context: &Context, parts: &Frames, coils: usize, dtype: DType, held: u64) -> Result<Self> {
        let (count, samples) = (BUFFERS.min(parts.count()), parts.range(parts.longest()).len());
        let bytes = coils.checked_mul(samples).and_then(|n| n.checked_mul(dtype.size()));
        let cap = context.memory_cap(held);
        match bytes.filter(|n| (*n as u64).saturating_mul(count as u64) <= cap) {
            Some(bytes) => Ok(Self { count, bytes }),
            None => fail!(
                MemoryCap,
                "memory_cap is {cap} bytes; {count} x {samples} samples of {coils} coils take more: read fewer at once"
            ),
        }
    }

    /// Bytes of all.
    pub(super) fn bytes(&self) -> u64 {
        (self.count * self.bytes) as u64
    }

    /// They; those of an earlier call serve again if they are as large.
    pub(super) fn take(&self, context: &Context, mut earlier: Vec<HostMemory>) -> Result<Vec<HostMemory>> {
        earlier.retain(|buffer| buffer.bytes() == self.bytes);
        earlier.truncate(self.count);
        while earlier.len() < self.count {
            earlier.push(context.host_memory(self.bytes)?);
        }
        Ok(earlier)
    }
}

/// A buffer that the calling thread is to have filled and to give back.
pub(super) struct Request {
    first: usize,
    count: usize,
    coils: usize,
    dtype: DType,
    buffer: HostMemory,
    answer: SyncSender<Result<HostMemory>>,
}

impl Request {
    pub(super) fn serve(self, read: &mut dyn FnMut(Portion) -> Result<()>) {
        let Self { first, count, coils, dtype, buffer, answer } = self;
        let read = read(Portion { first, count, coils, data: buffer.data(), dtype });
        // Work that has failed waits for no answer.
        let _ = answer.send(read.map(|()| buffer));
    }
}

/// Reads parts in their order, each ahead of its use.
pub(super) struct Reader<'a, T> {
    pub(super) desk: &'a Desk<T, Request>,
    pub(super) parts: &'a Frames,
    pub(super) coils: usize,
    pub(super) dtype: DType,
    pub(super) policy: NanPolicy,
    /// Buffers that nobody uses.
    pub(super) free: Vec<HostMemory>,
    /// The next part.
    pub(super) coming: Option<Receiver<Result<HostMemory>>>,
}

impl<T> Reader<'_, T> {
    fn ask(&mut self, part: usize) {
        let Some(range) = self.parts.ranges().get(part) else { return };
        let Some(buffer) = self.free.pop() else { return };
        let (answer, coming) = sync_channel(1);
        let Self { coils, dtype, .. } = *self;
        self.desk.ask(Request { first: range.start, count: range.len(), coils, dtype, buffer, answer });
        self.coming = Some(coming);
    }

    /// The samples of a part.
    pub(super) fn take<E: Engine>(&mut self, e: &mut E, part: usize) -> Result<Vector<E>> {
        if self.coming.is_none() {
            self.ask(part);
        }
        let Some(Ok(read)) = self.coming.take().map(|coming| coming.recv()) else {
            fail!(Internal, "no part was asked for");
        };
        let buffer = read?;
        self.ask(part + 1);
        let range = self.parts.range(part);
        let shape = [self.coils, range.len()];
        // SAFETY: the buffer holds as many elements, filled by the callback, and stays until after this.
        let array = unsafe { Array::from_raw(buffer.data(), self.dtype, shape, contiguous(shape), None) };
        let vector = e.read(&array, &format!("from sample {} on, samples", range.start), self.policy)?;
        self.free.push(buffer);
        Ok(vector)
    }
}

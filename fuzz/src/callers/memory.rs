//! A caller's buffers.

use super::device::gpu;
use isocenter::context::HostMemory;
use std::cell::{Cell, OnceCell};
use std::ptr;

/// How buffers are watched.
#[derive(Clone, Copy, PartialEq)]
pub enum Bounds {
    /// As long as they have to be, for AddressSanitizer.
    Exact,
    /// With bytes on either side that must not change.
    Guarded,
}

const GUARD: usize = 64;
const MARK: u8 = 0xA5;

/// Page-locked bytes of a thread, of which each session takes what it needs from the start on.
struct Arena {
    memory: HostMemory,
    taken: Cell<usize>,
}

const ARENA: usize = 64 << 20;

thread_local! {
    static PAGE_LOCKED: OnceCell<Option<Arena>> = const { OnceCell::new() };
}

/// So many page-locked bytes, aligned to 16, where sessions run on a GPU and there are as many left.
fn page_locked(len: usize) -> Option<*mut u8> {
    let arena = || {
        let memory = gpu()?.host_memory(ARENA).expect("page-locked memory");
        Some(Arena { memory, taken: Cell::new(0) })
    };
    PAGE_LOCKED.with(|cell| {
        let Arena { memory, taken } = cell.get_or_init(arena).as_ref()?;
        let start = taken.get().next_multiple_of(16);
        (start + len <= ARENA).then(|| {
            taken.set(start + len);
            memory.data().wrapping_add(start)
        })
    })
}

/// A buffer with its guards.
struct Block {
    data: *mut u8,
    all: usize,
    start: usize,
    len: usize,
    /// What it lies in, unless that is the arena.
    _own: Option<Vec<u8>>,
}

impl Block {
    fn all(&self) -> &[u8] {
        // SAFETY: as many bytes, initialised when it was made, which calls of the library no longer use.
        unsafe { std::slice::from_raw_parts(self.data, self.all) }
    }
}

pub(crate) struct Memory {
    bounds: Bounds,
    blocks: Vec<Block>,
}

impl Memory {
    /// A session's.
    pub(crate) fn new(bounds: Bounds) -> Self {
        PAGE_LOCKED.with(|cell| {
            if let Some(Some(arena)) = cell.get() {
                arena.taken.set(0);
            }
        });
        Self { bounds, blocks: Vec::new() }
    }

    /// So many bytes of zeros, aligned to 16 and `shift` bytes more; they stay until the memory is dropped.
    pub(crate) fn bytes(&mut self, len: usize, shift: usize) -> *mut u8 {
        let guard = if self.bounds == Bounds::Guarded { GUARD } else { 0 };
        let (start, all) = (guard + shift, guard + shift + len + guard);
        // A third of them is ordinary memory on a GPU, too.
        let locked = if !self.blocks.len().is_multiple_of(3) { page_locked(all) } else { None };
        // One allocation without room to spare, so that a sanitizer sees the first byte beyond it; malloc aligns to 16.
        let mut own = if locked.is_some() { None } else { Some(vec![0u8; all]) };
        let data = locked.or(own.as_mut().map(Vec::as_mut_ptr)).unwrap_or_default();
        // SAFETY: as many bytes, which nobody else has.
        unsafe {
            data.write_bytes(if guard > 0 { MARK } else { 0 }, all);
            data.add(start).write_bytes(0, len);
        }
        self.blocks.push(Block { data, all, start, len, _own: own });
        data.wrapping_add(start)
    }

    /// The same with values.
    pub(crate) fn values<T: Copy>(&mut self, values: &[T], shift: usize) -> *mut T {
        let data = self.bytes(size_of_val(values), shift);
        // SAFETY: as many bytes as were made just now; they cannot overlap with the caller's.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), data, size_of_val(values)) };
        data.cast()
    }

    /// The last buffer but `back`, if there are so many.
    pub(crate) fn earlier(&mut self, back: usize) -> Option<(*mut u8, usize)> {
        let block = self.blocks.iter_mut().rev().nth(back)?;
        Some((block.data.wrapping_add(block.start), block.len))
    }

    /// Panics if anything beside a buffer has changed.
    pub(crate) fn check(&self, call: &str) {
        for block in self.blocks.iter().filter(|_| self.bounds == Bounds::Guarded) {
            let (bytes, start, len) = (block.all(), block.start, block.len);
            let around = bytes[..start].iter().chain(&bytes[start + len..]);
            assert!(around.into_iter().all(|b| *b == MARK), "{call} wrote beside a buffer of {len} bytes");
        }
    }
}

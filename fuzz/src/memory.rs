//! A caller's buffers.

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

struct Block {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

pub(crate) struct Memory {
    bounds: Bounds,
    blocks: Vec<Block>,
}

impl Memory {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, blocks: Vec::new() }
    }

    /// So many bytes of zeros, aligned to 16 and `shift` bytes more; they stay until the memory is dropped.
    pub(crate) fn bytes(&mut self, len: usize, shift: usize) -> *mut u8 {
        let guard = if self.bounds == Bounds::Guarded { GUARD } else { 0 };
        // One allocation without room to spare, so that a sanitizer sees the first byte beyond it; malloc aligns to 16.
        let mut bytes = vec![if guard > 0 { MARK } else { 0 }; guard + shift + len + guard];
        let start = guard + shift;
        bytes[start..start + len].fill(0);
        let data = bytes.as_mut_ptr();
        self.blocks.push(Block { bytes, start, len });
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
        Some((block.bytes.as_mut_ptr().wrapping_add(block.start), block.len))
    }

    /// Panics if anything beside a buffer has changed.
    pub(crate) fn check(&self, call: &str) {
        for Block { bytes, start, len } in self.blocks.iter().filter(|_| self.bounds == Bounds::Guarded) {
            let around = bytes[..*start].iter().chain(&bytes[start + len..]);
            assert!(around.into_iter().all(|b| *b == MARK), "{call} wrote beside a buffer of {len} bytes");
        }
    }
}

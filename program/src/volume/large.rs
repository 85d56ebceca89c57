//! Files in memory in large pages. One thread at a time may add pages to such a file, by whatever call: 5 GB/s at most in small pages, and
//! many times as fast in large ones, of which there are 512 times fewer.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::{NonNull, null_mut};

/// Bytes of a large page.
pub const LARGE: u64 = 2 << 20;

/// All of a file that nobody shortens, in memory, where large pages of the file are large pages of memory.
pub struct Mapped {
    /// Of the file's first byte.
    start: NonNull<u8>,
    bytes: usize,
    /// All that is taken: the file, and what its alignment leaves.
    taken: (NonNull<libc::c_void>, usize),
}

// SAFETY: an address, which is there until it is dropped; whoever writes has a part for itself.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// So many bytes of a file; nothing where that cannot be had.
    pub fn new(file: &File, bytes: u64) -> Option<Self> {
        let bytes = usize::try_from(bytes).ok()?;
        let whole = bytes.checked_add(LARGE as usize)?;
        let (reserved, flags) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new mapping touches nothing that exists.
        let first = unsafe { libc::mmap(null_mut(), whole, reserved, flags, -1, 0) };
        let first = NonNull::new(first).filter(|first| first.as_ptr() != libc::MAP_FAILED)?;
        let lead = first.as_ptr().addr().next_multiple_of(LARGE as usize) - first.as_ptr().addr();
        let start = first.cast::<u8>().map_addr(|at| at.saturating_add(lead));
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        let mapped = Self { start, bytes, taken: (first, whole) };
        // SAFETY: inside what was just taken.
        let there = unsafe { libc::mmap(start.as_ptr().cast(), bytes, access, flags, file.as_raw_fd(), 0) };
        (there != libc::MAP_FAILED).then_some(mapped)
    }

    /// Makes whole large pages from here on, as many bytes, of which the file has at least one small page each; says no where there are none.
    pub fn enlarge(&self, at: u64, bytes: u64) -> bool {
        // Linux' number for it, since 6.1; what the system's settings say of large pages is heeded by others only.
        const MADV_COLLAPSE: libc::c_int = 25;
        let (at, bytes) = (at as usize, bytes as usize);
        assert!(at + bytes <= self.bytes);
        // SAFETY: inside the mapping; what pages hold stays.
        unsafe { libc::madvise(self.start.as_ptr().add(at).cast(), bytes, MADV_COLLAPSE) == 0 }
    }

    /// Writes to a part of the file, which has pages there.
    ///
    /// # Safety
    /// Nobody else writes there.
    pub unsafe fn write(&self, at: u64, part: &[u8]) {
        let at = at as usize;
        assert!(at + part.len() <= self.bytes);
        // SAFETY: inside the mapping, by this function's contract.
        unsafe { self.start.as_ptr().add(at).copy_from_nonoverlapping(part.as_ptr(), part.len()) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let (first, whole) = self.taken;
        // SAFETY: what `new` took, given back once.
        unsafe { libc::munmap(first.as_ptr(), whole) };
    }
}

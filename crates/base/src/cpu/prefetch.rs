//! Memory that will be needed soon.

/// Asks for the cache line of `p` into the second-level cache, where the processor can; nothing is read.
#[inline(always)]
pub fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every processor of the target has it, and any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    let _ = p;
}

/// The same of all lines from `p` on to `bytes` after it.
#[inline(always)]
pub fn prefetch_bytes<T>(p: *const T, bytes: usize) {
    for line in (0..bytes).step_by(64) {
        prefetch(p.cast::<u8>().wrapping_add(line));
    }
}

//! Memory that will be needed soon.

/// Asks for the cache line of `p` into the second-level cache, where the processor can; nothing is read.
#[inline(always)]
pub(crate) fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: every processor of the target has it, and any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    let _ = p;
}

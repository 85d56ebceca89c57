//! Memory whose size a file decides: an allocation that fails is an error.

use anyhow::{Context, Result};
use memmap2::MmapMut;
use rayon::prelude::*;

/// Bytes that a thread copies at a time.
const PART: usize = 1 << 20;

/// Lengthens a buffer to so many bytes; what it holds says nothing.
pub fn at_least(buffer: &mut Vec<u8>, bytes: usize) -> Result<()> {
    if let Some(more) = bytes.checked_sub(buffer.len()) {
        buffer.try_reserve_exact(more).with_context(|| format!("no memory for {bytes} bytes"))?;
        buffer.resize(bytes, 0);
    }
    Ok(())
}

/// So many bytes of zeros.
pub fn zeros(bytes: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    at_least(&mut buffer, bytes)?;
    Ok(buffer)
}

/// Memory that takes room when it is written, in large pages where the system has them.
pub fn reserved(bytes: usize) -> Result<MmapMut> {
    let memory = MmapMut::map_anon(bytes.max(1)).with_context(|| format!("no memory for {bytes} bytes"))?;
    // Advice that a system may not know.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    Ok(memory)
}

/// Copies as many bytes, on all cores.
pub fn copy(from: &[u8], to: &mut [u8]) {
    to.par_chunks_mut(PART).zip(from.par_chunks(PART)).for_each(|(to, from)| to.copy_from_slice(from));
}

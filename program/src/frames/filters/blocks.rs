//! LZ4 in blocks: the length of all and of a block, then for each block its length in the file and its bytes.

use super::{Codec, Codecs};
use anyhow::{Context, Result, ensure};

/// A big-endian number of 4 bytes, and what follows it.
pub fn number(from: &[u8]) -> Result<(usize, &[u8])> {
    let (bytes, rest) = from.split_first_chunk::<4>().context("the data end too early")?;
    Ok((u32::from_be_bytes(*bytes) as usize, rest))
}

/// The lengths in front of the blocks, of all and of one, and what follows them.
pub fn header(from: &[u8], expected: usize) -> Result<(usize, &[u8])> {
    let (total, from) = from.split_first_chunk::<8>().context("the data end too early")?;
    let total = u64::from_be_bytes(*total);
    ensure!(total == expected as u64, "the header tells of {total} bytes where {expected} are needed");
    number(from)
}

/// The next block, and what follows it.
pub fn block(from: &[u8]) -> Result<(&[u8], &[u8])> {
    let (length, from) = number(from)?;
    from.split_at_checked(length).with_context(|| format!("a block of {length} bytes has {}", from.len()))
}

/// Decodes all blocks.
pub fn decode(from: &[u8], to: &mut [u8], codecs: &mut Codecs) -> Result<()> {
    let (size, mut from) = header(from, to.len())?;
    ensure!(size > 0 || to.is_empty(), "blocks of 0 bytes");
    for to in to.chunks_mut(size.max(1)) {
        let (compressed, rest) = block(from)?;
        // What does not become shorter stays as it is.
        if compressed.len() == to.len() {
            to.copy_from_slice(compressed);
        } else {
            Codec::Lz4.decode(compressed, to, codecs)?;
        }
        from = rest;
    }
    Ok(())
}
